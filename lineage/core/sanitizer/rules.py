"""The redaction rules as data, written from the vendors' public token formats.

A pattern is RE2 syntax; what is redacted is its group 1 where it has one, else the whole match.
"""

import hashlib
import re
from dataclasses import dataclass

_PLACEHOLDER = re.compile(
    r"(?i)example|placeholder|changeme|your[_-]|dummy|xxxx|\*{3}|<.*>|\$\{|\{\{|redacted|not[_-]a[_-]real"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One credential family. `guess` marks rules that go by the name beside the value, and look at the value too."""

    id: str
    pattern: str
    group: int = 0
    guess: bool = False

    def accepts(self, secret: str) -> bool:
        """Whether a match is a secret at all. Guesses need letters and digits, and nothing of a placeholder."""
        if not self.guess:
            return True
        return bool(re.search(r"[0-9]", secret) and re.search(r"[A-Za-z]", secret)) and not _PLACEHOLDER.search(secret)


_NAMES = r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key|client[_-]?secret|credentials?)"

RULES = (
    Rule("private-key", r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^-]{16,}(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"),
    Rule("aws-access-key-id", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    Rule("anthropic-key", r"\bsk-ant-(?:api|admin|oat|ort)\d{2}-[A-Za-z0-9_-]{32,}"),
    Rule("openai-key", r"\bsk-(?:proj-|svcacct-|admin-|None-)?[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}"),
    Rule("openai-style-key", r"\bsk-[A-Za-z0-9]{32,64}\b"),
    Rule("google-api-key", r"\bAIza[A-Za-z0-9_-]{35}"),
    Rule("google-oauth-token", r"\bya29\.[A-Za-z0-9_-]{30,}"),
    Rule("github-token", r"\bgh[pousr]_[A-Za-z0-9]{36,}\b"),
    Rule("github-fine-grained-token", r"\bgithub_pat_[A-Za-z0-9_]{60,}\b"),
    Rule("gitlab-token", r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[A-Za-z0-9_.-]{20,}"),
    Rule("slack-token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    Rule("slack-webhook", r"https://hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,})", group=1),
    Rule("stripe-key", r"\b(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{16,}\b"),
    Rule("sendgrid-key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}"),
    Rule("npm-token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    Rule("pypi-token", r"\bpypi-[A-Za-z0-9_-]{50,}"),
    Rule("hugging-face-token", r"\bhf_[A-Za-z0-9]{30,}\b"),
    Rule("digitalocean-token", r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    Rule("age-secret-key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b"),
    Rule("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    Rule("authorization-header", r"(?i)\b(?:authorization|proxy-authorization)[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+([A-Za-z0-9._~+/=-]{12,})", group=1),
    Rule("bearer-token", r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{20,})", group=1, guess=True),
    Rule("url-password", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{0,80}:([^\s/@\"'<>]{3,200})@", group=1),
    Rule("assigned-secret", r"(?i)[A-Za-z0-9_.-]{0,40}" + _NAMES + r"[A-Za-z0-9_-]{0,20}[\"']?\s{0,4}(?::=|=>|=|:)\s{0,4}\\?[\"']?([A-Za-z0-9_~+/=.!@#%^&*-]{12,200})", group=1, guess=True),
)  # fmt: skip

DIGEST = hashlib.sha256(
    "\n".join(f"{r.id}\t{r.pattern}\t{r.group}\t{r.guess}" for r in RULES).encode() + _PLACEHOLDER.pattern.encode()
).hexdigest()[:8]
