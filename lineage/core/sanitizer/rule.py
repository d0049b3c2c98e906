"""What a redaction rule is. The rules themselves are data: `rules.py`, and the files that users name."""

import re
from dataclasses import dataclass

_PLACEHOLDER = re.compile(
    r"(?i)example|placeholder|changeme|your[_-]|dummy|xxxx|\*{3}|<.*>|\$\{|\{\{|redacted|not[_-]a[_-]real"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One family of credentials or personal data.

    `pattern` is RE2 syntax over UTF-8 text; what is redacted is its group `group`, 0 for the whole match. `keywords`
    are ASCII in lower case: unless one of them is in the lower-cased text the rule cannot match and is not tried; a
    rule without any is always tried. `entropy` is the least Shannon entropy of the secret, in bits a character.
    `guess` marks rules that go by the name beside the value, and look at the value too. `example` is made up for the
    purpose and matches; `source` is the vendor's page that the format follows.
    """

    id: str
    description: str = ""
    pattern: str
    keywords: tuple[str, ...] = ()
    group: int = 0
    entropy: float = 0.0
    guess: bool = False
    personal: bool = False
    example: str = ""
    source: str = ""

    def accepts(self, secret: str) -> bool:
        """Whether a match is a secret at all. Guesses need letters and digits, and nothing of a placeholder."""
        if not self.guess:
            return True
        return bool(re.search(r"[0-9]", secret) and re.search(r"[A-Za-z]", secret)) and not _PLACEHOLDER.search(secret)
