"""The redaction rules as data, written from the vendors' public token formats."""

import hashlib

from lineage.core.sanitizer.rule import Rule

_NAMES = r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key|client[_-]?secret|credentials?)"

RULES = (
    Rule(id="private-key", pattern=r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^-]{16,}(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"),
    Rule(id="aws-access-key-id", pattern=r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    Rule(id="anthropic-key", pattern=r"\bsk-ant-(?:api|admin|oat|ort)\d{2}-[A-Za-z0-9_-]{32,}"),
    Rule(id="openai-key", pattern=r"\bsk-(?:proj-|svcacct-|admin-|None-)?[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}"),
    Rule(id="openai-style-key", pattern=r"\bsk-[A-Za-z0-9]{32,64}\b"),
    Rule(id="google-api-key", pattern=r"\bAIza[A-Za-z0-9_-]{35}"),
    Rule(id="google-oauth-token", pattern=r"\bya29\.[A-Za-z0-9_-]{30,}"),
    Rule(id="github-token", pattern=r"\bgh[pousr]_[A-Za-z0-9]{36,}\b"),
    Rule(id="github-fine-grained-token", pattern=r"\bgithub_pat_[A-Za-z0-9_]{60,}\b"),
    Rule(id="gitlab-token", pattern=r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[A-Za-z0-9_.-]{20,}"),
    Rule(id="slack-token", pattern=r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    Rule(id="slack-webhook", pattern=r"https://hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,})", group=1),
    Rule(id="stripe-key", pattern=r"\b(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{16,}\b"),
    Rule(id="sendgrid-key", pattern=r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}"),
    Rule(id="npm-token", pattern=r"\bnpm_[A-Za-z0-9]{36}\b"),
    Rule(id="pypi-token", pattern=r"\bpypi-[A-Za-z0-9_-]{50,}"),
    Rule(id="hugging-face-token", pattern=r"\bhf_[A-Za-z0-9]{30,}\b"),
    Rule(id="digitalocean-token", pattern=r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    Rule(id="age-secret-key", pattern=r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b"),
    Rule(id="jwt", pattern=r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    Rule(id="authorization-header", pattern=r"(?i)\b(?:authorization|proxy-authorization)[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+([A-Za-z0-9._~+/=-]{12,})", group=1),
    Rule(id="bearer-token", pattern=r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{20,})", group=1, guess=True),
    Rule(id="url-password", pattern=r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{0,80}:([^\s/@\"'<>]{3,200})@", group=1),
    Rule(id="assigned-secret", pattern=r"(?i)[A-Za-z0-9_.-]{0,40}" + _NAMES + r"[A-Za-z0-9_-]{0,20}[\"']?\s{0,4}(?::=|=>|=|:)\s{0,4}\\?[\"']?([A-Za-z0-9_~+/=.!@#%^&*-]{12,200})", group=1, guess=True),
)  # fmt: skip

DIGEST = hashlib.sha256("\n".join(f"{r.id}\t{r.pattern}\t{r.group}\t{r.guess}" for r in RULES).encode()).hexdigest()[:8]
