"""The built-in redaction rules as data, written from the vendors' public token formats.

`RULES` lists one family after the other, in the order in which rules win: the id, the pattern, the keywords and the
options. Three builders shorten the common shapes: `_token`, `_word` and `_named`. What each family is, a made-up example
and the vendor's page stand in scripts/benchmarks/rules.toml, which the tests and `scripts/bench sanitize` read.
"""

from typing import Any

from lineage.core.sanitizer.rule import FIRST_GROUP, Allowance, Rule

# A token starts at a word boundary, or behind an escaped line end, as in JSON: `\nAKIA…`.
_TOKEN_START = r"(?:\b|\\[nrt])"

# Between a vendor's name and the value: the rest of the name, and a sign or word that assigns.
_ASSIGNMENT = r"[\w\-. ]{0,24}[\"'`\\\])>]{0,6}\s{0,3}(?::\s?[\w&\[\]?.]{1,16}\s?=|[:=,|]{1,3}>?|\b(?:is|to|as)\b)?\s{0,4}[\"'`\\(\[<]{0,6}(?:(?:Bearer|Basic|[Tt]oken)\s)?"

_SEPARATOR = r"(?:[\s\"'`+,;|>*#&%→│]|\\+[nrt]?|\n-|\\+n-|[0-9]+[→|:│\t])"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# The body of a private key: from its first line to its last, or as far as it goes where it is cut off.
_KEY_BODY = rf"{_SEPARATOR}+(?:[A-Za-z-]+: ?(?:[^\n\\]|\\+[\"'])*{_SEPARATOR}+)*{_SEPARATOR}*[A-Za-z0-9+/=]{{16,}}(?:(?:[A-Za-z0-9+/=]|{_SEPARATOR})*?-{{4,5}} ?END [A-Z0-9 ]+ KEY(?: BLOCK)? ?-{{4,5}}|(?:{_SEPARATOR}+[A-Za-z0-9+/=]{{16,}})*(?:{_SEPARATOR}+[A-Za-z0-9+/]{{1,15}}={{1,2}})?)"

# Names of a password in particular, and of a secret of any kind, in the languages that users write.
_PASSWORD_NAME = r"(?:pass(?:w(?:o?r)?d|phrase|code)?|pwd|pw\b|senha|passwort|kennwort|wachtwoord|contrase(?:ñ|n)a|mot[_ ]?de[_ ]?passe|lösenord|has(?:ł|l)o|parola|пароль|密码|密碼|口令|パスワード|暗証番号|clave[_ ]secreta|비밀번호)"
_PASSWORD_NAME_KEYWORDS = ("pass", "pwd", "pw=", "pw =", "pw:", "pw\"", "pw'", "pw ", "senha", "kennwort", "wachtwoord", "contrase", "senord", "haslo", "parola", "hasło", "hasŁo", "пароль", "Пароль", "ПАРОЛЬ", "密码", "密碼", "口令", "パスワード", "暗証番号", "clave", "비밀번호")  # fmt: skip
# Of any other secret. The lists share no name: few values are judged by both.
_OTHER_NAME = r"(?:secret|token|api[_ -]?key|(?:access|auth|private|signing|encryption|master|account|shared|session|storage|subscription|license|service|server|client|app|admin|webhook|hmac|aes|jwt|deploy|integration|ingest|project|security|consumer)[_ -]?key|credential|(?:\b|\\[nrt])creds?|(?:\b|\\[nrt])auth|_auth)"
_OTHER_NAME_KEYWORDS = ("secret", "token", "key", "cred", "auth")
_SECRET_NAME = f"(?:{_PASSWORD_NAME}|{_OTHER_NAME})"
_SECRET_NAME_KEYWORDS = (*_PASSWORD_NAME_KEYWORDS, *_OTHER_NAME_KEYWORDS)

# A value of a file of settings, behind nothing but a blank.
_SETTING_VALUE = r"([^\s\"'<>\x60\\]{5,63}[^\s\"'<>\x60\\.,;:)\]}*&])"

# Between such a name and the value in a sentence or a table: "is", ":", a cell's border.
_VALUE_INTRODUCTION = r"(?:\s(?:(?:is|was|are|be|ist|lautet|es|est|to|as)\b|é):?|\s?:|\s?\||\s?(?:是|为|は|：)){1,2}(?:\s(?:now|set\sto|still|currently|simply|just):?)?(?:[ \t]|\*\*|[：是为は]){1,3}\*{0,2}"

# What follows a name but is no secret: placeholders, names and expressions in code, paths, versions.
_PLACEHOLDER = r"(?i)^(?:your|my|some|the|user(?:name)?|pass(?:word|wd)?|secret|token|test|foo|bar|base64|encoded|credentials?)(?:[_:.-]?(?:pass(?:word|wd)?|secret|token|key|here|credentials?|base64|encoded|user(?:name)?))*[0-9]?$"
_PATH = r"(?i)^[~.]{0,2}/[a-z._-]+[0-9]{0,2}(?:/|$|\.)|^[a-z]:\\|://|\.(?:json|ya?ml|txt|pem|key|pub|py|[jt]sx?|mjs|go|rs|rb|php|java|md|env|toml|ini|cfg|crt|cer|p12|html?|sh|css|png|svg)$"
_VARIABLE = r"^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$"
_WORDS = r"^[A-Za-z_][A-Za-z_]*[0-9]{0,3}(?:[_.:/-]+[A-Za-z]*[0-9]{0,3})*$"
_CALL = r"^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*[(\[?]"
_SLUG = r"^(?:[A-Za-z][a-z]*[0-9]{0,3}|[0-9]{1,8}[a-z]{0,2}|[a-z][0-9][a-z])(?:[-_.:/@](?:[A-Za-z][a-z]*[0-9]{0,3}|[0-9]{1,8}[a-z]{0,2}|[a-z][0-9][a-z]))+$"
_DOTTED = r"^[A-Za-z_$]+(?:[0-9]{1,2}[A-Za-z_$]*)?(?:\.[A-Za-z_$]+[0-9]{0,2})+$"
_CLASS_NAME = r"^(?:[A-Za-z_]+\.)*[A-Za-z]{1,12}[0-9]{1,5}[A-Z]{0,2}(?:[A-Z][a-z]+)+$"
_KEBAB = r"^[a-z]+(?:[-_](?:[A-Za-z]?[a-z]{0,20}(?:[A-Z][a-z]{1,20})*[0-9]{0,3}|[A-Z]{1,12}|[0-9]{1,4}[a-z]?|[0-9a-f]{6,8}))+$"
_ORACLE_PASSWORD = r"([^\s@/\"'<>\x60\\{}$.;]{3,})"
_FORMAT = r"\{[A-Za-z_][\w.]*\}|%\([a-z]|^%[sd]|\$\("
_NUMBER = r"^v?[0-9]{1,4}[.-][0-9]{1,3}(?:[.-]|$)|^0x[0-9a-fA-F]{1,16}$|^#[0-9a-fA-F]{3,8}$"
_MASK = r"(?i)placeholder|changeme|your[_-]|\*{3}|xxxx|redacted|^[<\[{(%$]|^\.{3}"
_ALLOW_CODE = (Allowance(patterns=(_PLACEHOLDER, _PATH, _VARIABLE, _WORDS, _SLUG, _CALL, _FORMAT, _NUMBER)),)
_ALLOW_NAMES = (Allowance(patterns=(_PLACEHOLDER, _PATH, _VARIABLE, _WORDS, _SLUG, _CALL, _FORMAT, _NUMBER, _DOTTED, _CLASS_NAME)),)  # fmt: skip
_ALLOW_SETTINGS = (
    *_ALLOW_NAMES,
    Allowance(patterns=(_KEBAB, r"^[v~^]?[0-9]{1,4}[.:][0-9]|^20[0-9]{2}-|[()\[\]{}]|^[$%/~]|=")),
)
_ALLOW_MASKS = (Allowance(patterns=(_PLACEHOLDER, _MASK, _VARIABLE, _DOTTED)),)


def _rule(rule_id: str, pattern: str, *keywords: str, **options: Any) -> Rule:
    return Rule(rule_id, pattern, keywords=keywords, **options)


def _token(rule_id: str, secret: str, *keywords: str, **options: Any) -> Rule:
    """Return the rule of a token that starts with a vendor's mark."""
    return _rule(rule_id, f"{_TOKEN_START}({secret})", *keywords, group=1, **options)


def _word(rule_id: str, secret: str, *keywords: str, **options: Any) -> Rule:
    """Return the rule of a marked token of known length: it ends at a word boundary."""
    return _rule(rule_id, rf"{_TOKEN_START}({secret})\b", *keywords, group=1, **options)


def _named(rule_id: str, names: str, secret: str, **options: Any) -> Rule:
    """Return the rule of an unmarked value behind one of the `|`-separated names."""
    return _rule(rule_id, rf"(?i:{names}){_ASSIGNMENT}\b({secret})\b", *names.split("|"), group=1, **options)


# From such a name to the quote that opens its value, or to the value itself: the rest of the name, what closes it, a
# type, a sign that assigns, and a call around the value.
_OPENING_QUOTE = r"\\{0,7}(?:\"\"\"|'''|[\"'\x60])"
_CALL_AROUND = r"(?:[\w.:]{1,30}[(!]{1,2}\s{0,2}(?:[\"'][^\"'\n]{0,60}[\"']\s?,\s?)?(?:default\s?=\s?)?)"
_OPENING = rf"(?:{_OPENING_QUOTE})?"
_LABEL = r"(?:\s(?:is|ist|lautet|es|est))?(?::\*{0,2}|\*\*:?)[ \t]{0,4}\n{1,2}[ \t]{0,8}"  # above the value
_INTRODUCED = rf"(?:{_VALUE_INTRODUCTION}{_OPENING}|{_LABEL})"
_VALUE_OPENING = rf"{_CALL_AROUND}?(?:<<|[$@bBrRfFuUL]{{0,2}})(?:{_OPENING_QUOTE})"
_CLAIM = (
    r"[\w.-]{0,24}(?:[\"'\x60\\\]*]{0,6}|\s?\[[^\[\]\n]{0,24}\])"
    rf"(?:(?:\s?[?!]?:\s?[\w&\[\]<>?|., ']{{1,24}}=\s{{0,2}}|\s[A-Za-z&*:\[\]]{{1,16}}\s{{1,2}}=\s{{0,2}}|\s{{0,2}}(?:,|\(|\|\||\?\?)\s{{0,4}}){_VALUE_OPENING}"
    rf"|(?:\s{{0,4}}|[ \t]{{5,40}})(?::=|\?=|\.=|\+=|<-|=>|={{1,3}}|:)(?:[ \t]{{0,4}}\n[ \t]{{0,24}}-[ \t]{{1,3}}|\s{{0,8}}|[ \t]{{9,40}})(?:\[?\s{{0,4}}{_VALUE_OPENING})?)"
)


def _claim(rule_id: str, names: str, opening: str, *keywords: str, claim: str = "value") -> Rule:
    """Return the rule of a name that claims its whole value: that begins behind the opening."""
    return _rule(rule_id, f"(?i){names}{opening}", *keywords, claim=claim)


RULES = (
    # Private keys, and keys of networks
    _rule("private-key", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----" + _KEY_BODY, "private key-----"),
    _rule("pgp-private-key", r"-----BEGIN PGP (?:PRIVATE|SECRET) KEY BLOCK-----" + _KEY_BODY, "pgp private key block", "pgp secret key block"),
    _rule("ssh2-private-key", r"---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----" + _KEY_BODY, "private key ----"),
    _rule("putty-private-key", r"Private-Lines: [0-9]{1,3}(?:\s|\\+[rn])+([A-Za-z0-9+/=]{16,}(?:(?:\s|\\+[rn]){1,4}[A-Za-z0-9+/=]{16,})*(?:(?:\s|\\+[rn]){1,4}[A-Za-z0-9+/]{1,16}={1,2})?)", "private-lines:", group=1),
    _rule("private-key-base64", r"LS0tLS1CRUdJTiB(?:SU0EgUFJJVkFURS|FQyBQUklWQVRF|QUklWQVRF|PUEVOU1NI|FTkNSWVBURUQg|EU0EgUFJJVkFUR|QR1AgUFJJVkFUR)[A-Za-z0-9+/=_-]{40,}", "ls0tls1crudjtib"),
    _rule("kubernetes-client-key", r"client-key-data[\"'\\]{0,4}\s{0,2}[:=]\s{0,4}[\"'\\|>-]{0,4}\s{0,8}([A-Za-z0-9+/=]{40,})", "client-key-data", group=1),
    _word("openshift-token", r"sha256~[A-Za-z0-9_-]{43}", "sha256~"),
    _rule("age-secret-key", r"(?i)AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{58,}", "age-secret-key-"),
    _rule("age-plugin-identity", r"AGE-PLUGIN-[A-Z0-9]{2,20}-1[A-Z0-9]{20,}", "age-plugin-"),
    _token("minisign-secret-key", r"RW(?:RTY0Iy|QAAEIy|RCSwAA)[A-Za-z0-9+/]{40,}={0,2}", "rwrty0iy", "rwqaaeiy", "rwrcswaa"),
    _rule("wireguard-private-key", r"(?i)" + _TOKEN_START + r"(?:Private|Preshared)_?Key[\"'\\]{0,4}\s{0,3}[=:]\s{0,3}[\"'\\]{0,4}([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)", "privatekey", "presharedkey", "private_key", "preshared_key", group=1),
    _rule("tailscale-key", r"tskey-[a-z]{2,12}-[A-Za-z0-9_]{8,}(?:-[A-Za-z0-9_]{16,})?", "tskey-"),
    _named("zerotier-token", "zerotier|zt_central", r"[A-Za-z0-9]{32}", guess=True),
    _named("ngrok-token", "ngrok|authtoken", r"[A-Za-z0-9]{19,27}_[A-Za-z0-9]{20,22}"),
    _named("teleport-token", "teleport|tctl|tsh", r"[a-f0-9]{32}"),
    # Tokens of open standards
    _rule("jwt", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{8,})?", "eyj"),
    _rule("jwe", r"eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}", "eyj"),
    _token("paseto", r"v[1-4]\.(?:local|public)\.[A-Za-z0-9_-]{40,}(?:\.[A-Za-z0-9_-]{4,})?", ".local.", ".public."),
    _token("macaroon", r"MDAx[A-Za-z0-9_+/-]{60,}={0,2}", "mdax"),
    _rule("totp-secret", r"(?i)otpauth(?:-migration)?://[^\s\"'<>]*?[?&](?:secret|data)=([A-Za-z0-9%+/=_-]{8,})", "otpauth", group=1),
    # Clouds and hosts
    _rule("aws-access-key-id", _TOKEN_START + r"((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b|((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b", "akia", "asia", "abia", "acca", group=FIRST_GROUP),
    _rule("aws-secret-access-key", r"(?i:aws|amazon|s3|secret_?access|ses)" + _ASSIGNMENT + r"\b([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=_-]|$)", "aws", "amazon", "s3", "secretaccess", "secret_access", "ses", group=1, entropy=4.0, guess=True, allow=_ALLOW_CODE),
    _rule("aws-session-token", r"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz|FQoGZXIvYXdz|[AF]QoDYXdz)[A-Za-z0-9/+_%-]{60,}={0,2}", "iqojb3jpz2lu", "fwogzxivyxdz", "fqogzxivyxdz", "qodyxdz"),
    _rule("aws-bedrock-key", r"ABSK[A-Za-z0-9+/]{80,}={0,2}|bedrock-api-key-[A-Za-z0-9+/]{60,}={0,2}", "absk", "bedrock-api-key-"),
    _word("aws-appsync-key", r"da2-[a-z0-9]{26}", "da2-"),
    _rule("aws-ses-smtp-password", r"(?i:ses|smtp)" + _ASSIGNMENT + r"\b((?:A[g-v]|B[A-P])[A-Za-z0-9/+]{42})(?:[^A-Za-z0-9/+=]|$)", "ses", "smtp", group=1, claim="rest", entropy=4.0),
    _rule("aws-signature", r"(?i)(?:X-Amz-Signature|" + _TOKEN_START + r"Signature)(?:=|%3D)([a-f0-9]{64})", "signature=", "signature%3d", group=1),
    _rule("aws-security-token-parameter", r"(?i)X-Amz-Security-Token[\"'\\]{0,4}(?:=|%3D|:\s{0,2}[\"'\\]{0,4})([A-Za-z0-9%/+_=-]{40,})", "x-amz-security-token", group=1),
    _rule("aws-mws-token", r"amzn\.mws\." + _UUID, "amzn.mws."),
    _rule("amazon-oauth-secret", r"amzn1\.oa2-cs\.v1\.[a-f0-9]{64}", "amzn1.oa2-cs."),
    _token("amazon-oauth-token", r"Atz[ar]\|[A-Za-z0-9_=/+-]{40,}", "atza|", "atzr|"),
    _rule("google-api-key", r"AIza[A-Za-z0-9_-]{35}", "aiza"),
    _token("google-bound-api-key", r"AQ\.[A-Za-z0-9_-]{40,}", "aq."),
    _rule("google-oauth-token", r"ya29\.[A-Za-z0-9_-]{30,}", "ya29."),
    _token("google-refresh-token", r"(?:1//0|4/0A)[A-Za-z0-9_-]{38,}", "1//0", "4/0a"),
    _rule("google-oauth-client-secret", r"GOCSPX-[A-Za-z0-9_-]{28}", "gocspx-"),
    _word("google-hmac-key", r"GOOG(?:[A-Z0-9]{57}|[A-Z0-9]{19,20})", "goog", guess=True),
    _rule("google-signature", r"(?i)(?:X-Goog-Signature=|GoogleAccessId=[^\s\"'<>]*?&Signature=)([A-Za-z0-9%/+=_-]{32,})", "x-goog-signature", "googleaccessid", group=1),
    _token("firebase-server-key", r"AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{120,}", "aaaa"),
    _rule("recaptcha-secret", r"(?i)captcha[\w -]{0,16}(?:secret|private)[\w -]{0,10}[\"'\\\])]{0,5}\s{0,3}[:=,]{1,2}\s{0,3}[\"'\\]{0,4}(6L[A-Za-z0-9_-]{38}|0x[A-Za-z0-9_-]{20,})", "captcha", group=1),
    _token("turnstile-secret", r"0x4AAAAAA[A-Za-z0-9_-]{24,}", "0x4aaaaaa"),
    _token("hcaptcha-secret", r"ES_[a-f0-9]{32}\b", "es_"),
    _rule("azure-storage-key", r"(?i)(?:account|storage|cosmos|batch|master|primary|secondary|shared|access)[\w. -]{0,16}key[\w]{0,8}[\"'\\\])]{0,5}\s{0,3}[:=,]{1,2}\s{0,3}[\"'\\]{0,4}([A-Za-z0-9+/]{86}==)", "==", group=1),
    _rule("azure-identifiable-key", r"[A-Za-z0-9+/]{76}(?:\+ASt|\+ABa|\+AMC|ACDb|APIM)[A-Za-z0-9+/]{5,6}==|[A-Za-z0-9+/]{33}(?:\+ASb|\+AEh|\+ARm|AIoT|AzCa|AZEG)[A-Za-z0-9+/]{5,6}=|[A-Za-z0-9]{42}AzSe[A-D][A-Za-z0-9]{5}|[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{5}[AQgw]==|[A-Za-z0-9+/]{42}\+ACR[A-D][A-Za-z0-9+/]{5}", "+ast", "+aba", "+amc", "acdb", "apim", "+asb", "+aeh", "+arm", "aiot", "azca", "azeg", "azse", "azfu", "+acr"),
    _rule("azure-openai-key", r"[A-Za-z0-9]{50,52}JQQJ99[A-Za-z0-9]{10,28}", "jqqj99"),
    _rule("azure-cognitive-key", r"(?i:azure|cognitive|ocp-apim|openai_api|speech_key|bing|subscription.?key)" + _ASSIGNMENT + r"\b([a-f0-9]{32})\b", "azure", "cognitive", "ocp-apim", "openai_api", "speech_key", "bing", "subscription", group=1, entropy=3.0),
    _rule("azure-client-secret", r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,33}[A-Za-z0-9_~-]", "q~"),
    _rule("azure-devops-pat", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}", "azdo"),
    _named("azure-devops-pat-legacy", "azure|devops|vsts|vss|ado|tfs|visualstudio|system_accesstoken", r"[a-z2-7]{52}"),
    _rule("azure-shared-access-key", r"(?i)SharedAccessKey[\"'\\]{0,4}\s{0,2}[=:]\s{0,2}[\"'\\]{0,4}([A-Za-z0-9+/]{40,44}=)", "sharedaccesskey", group=1),
    _rule("azure-shared-access-signature", r"(?i)[?&;\s\"']sig(?:=|%3D)([A-Za-z0-9%+/_-]{40,}={0,2})", "sig=", "sig%3d", group=1),
    _rule("azure-connection-secret", r"(?i);\s?(?:Secret|AccessKey|Access_?Key)=([A-Za-z0-9+/]{36,}={0,2})", ";secret=", ";accesskey=", "; secret=", "; accesskey=", group=1),
    _token("entra-refresh-token", r"[01]\.A[A-Za-z0-9_-]{50,}(?:\.[0-9])?(?:\.[A-Za-z0-9_-]{8,}){1,4}|(?:AwAB|OAAAB)AAA[A-Za-z0-9_-]{50,}", "0.a", "1.a", "awabaaa", "oaaabaaa"),
    _rule("digitalocean-token", r"do[opr]_v1_[a-f0-9]{64}", "dop_v1_", "doo_v1_", "dor_v1_"),
    _word("digitalocean-spaces-key", r"DO(?:00|80)[A-Z0-9]{16}", "do00", "do80"),
    _named("linode-token", "linode", r"[a-f0-9]{64}"),
    _word("akamai-edgegrid", r"ak(?:ab|aa)-[a-z0-9]{16,32}-[a-z0-9]{5,16}", "akab-", "akaa-"),
    _named("vultr-api-key", "vultr", r"[A-Z0-9]{36}", guess=True),
    _rule("heroku-api-key", r"HRKU-[A-Za-z0-9_-]{36,}", "hrku-"),
    _rule("heroku-api-key-legacy", r"(?i)heroku" + _ASSIGNMENT + r"\b([0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12})\b", "heroku", group=1),
    _word("scalingo-token", r"tk-us-[A-Za-z0-9_-]{48}", "tk-us-"),
    _named("hetzner-token", "hetzner|hcloud", r"[A-Za-z0-9]{64}"),
    _rule("flyio-token", r"fm[12][ar]?_[A-Za-z0-9+/=_-]{60,}(?:,fm[12][ar]?_[A-Za-z0-9+/=_-]{60,})*|" + _TOKEN_START + r"(fo1_[A-Za-z0-9_-]{40,})", "fm1_", "fm2_", "fm1a_", "fm1r_", "fo1_", group=FIRST_GROUP),
    _token("render-key", r"rnd_[A-Za-z0-9]{24,}", "rnd_"),
    _rule("railway-token", r"(?i:railway)[\w. -]{0,10}(?i:token|key)" + _ASSIGNMENT + r"\b(" + _UUID + r")\b", "railway", group=1),
    _token("vercel-token", r"vc[piakr]_[A-Za-z0-9]{24,}", "vcp_", "vci_", "vca_", "vck_", "vcr_"),
    _rule("vercel-token-legacy", r"(?i:vercel|zeit)[\w. -]{0,10}(?i:token|key|secret)" + _ASSIGNMENT + r"\b([A-Za-z0-9]{24})\b", "vercel", "zeit", group=1, guess=True),
    _rule("vercel-blob-token", r"vercel_blob_rw_[A-Za-z0-9]{16}_[A-Za-z0-9]{20,}", "vercel_blob_rw_"),
    _token("netlify-token", r"nf[pcobu]_[A-Za-z0-9_]{36,}", "nfp_", "nfc_", "nfo_", "nfb_", "nfu_"),
    _named("netlify-token-legacy", "netlify", r"[A-Za-z0-9_-]{40,46}", entropy=3.8, guess=True),
    _token("cloudflare-prefixed-token", r"cf(?:ut|at|k|oat)_[A-Za-z0-9_-]{38,}", "cfut_", "cfat_", "cfk_", "cfoat_"),
    _rule("cloudflare-api-token", r"(?i:cloudflare|" + _TOKEN_START + r"cf[_-](?:api|token|dns)|wrangler)" + _ASSIGNMENT + r"\b([A-Za-z0-9_-]{40})\b", "cloudflare", "cf_api", "cf-api", "cf_token", "cf-token", "cf_dns", "cf-dns", "wrangler", group=1, entropy=3.8, guess=True),
    _rule("cloudflare-global-key", r"(?i:cloudflare|" + _TOKEN_START + r"cf[_-]|x-auth-key)" + _ASSIGNMENT + r"\b([a-f0-9]{37})\b|(?i:(?:cloudflare|" + _TOKEN_START + r"cf[_-])[\w. -]{0,16}key|x-auth-key)" + _ASSIGNMENT + r"\b([a-f0-9]{38,45})\b", "cloudflare", "cf_", "cf-", "x-auth-key", group=FIRST_GROUP),
    _token("cloudflare-origin-ca-key", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{60,}", "v1.0-"),
    _named("fastly-token", "fastly", r"[A-Za-z0-9_-]{32}", entropy=3.5, guess=True),
    _token("alibaba-access-key-id", r"LTAI[A-Za-z0-9]{12,28}", "ltai"),
    _named("alibaba-access-key-secret", "alibaba|aliyun|alicloud|oss_access", r"[A-Za-z0-9]{30}", guess=True),
    _token("tencent-secret-id", r"AKID[A-Za-z0-9]{32}", "akid"),
    _named("tencent-secret-key", "tencent|qcloud|cos_secret", r"[A-Za-z0-9]{32}", guess=True),
    _token("volcengine-access-key", r"AKLT[A-Za-z0-9_-]{30,}", "aklt"),
    _rule("baidu-api-key", r"bce-v3/ALTAK-[A-Za-z0-9]{12,}/[a-f0-9]{40}", "bce-v3/altak-"),
    _named("huawei-access-key", "huawei|hw_access|hw_secret", r"[A-Z0-9]{20}|[A-Za-z0-9]{40}", guess=True),
    _token("yandex-iam-token", r"t1\.[A-Za-z0-9_-]{20,}={0,2}\.[A-Za-z0-9_-]{80,}={0,2}", "t1."),
    _token("yandex-api-key", r"AQVN[A-Za-z0-9_-]{34,38}", "aqvn"),
    _token("yandex-oauth-token", r"y[0-3]_[A-Za-z0-9_-]{50,}", "y0_", "y1_", "y2_", "y3_"),
    _word("yandex-static-key", r"YC(?:AJE)?[A-Za-z0-9_-]{34,38}", "yc", entropy=4.3, guess=True),
    _named("ibm-cloud-key", "ibm|bluemix|watson", r"[A-Za-z0-9_-]{44}", entropy=3.8, guess=True),
    _word("scaleway-access-key", r"SCW[A-Z0-9]{17}", "scw"),
    _rule("scaleway-secret-key", r"(?i:scw|scaleway)[\w. -]{0,10}(?i:secret|token)" + _ASSIGNMENT + r"\b(" + _UUID + r")\b", "scw", "scaleway", group=1),
    _named("ovh-secret", "ovh|application_secret|consumer_key", r"[A-Za-z0-9]{32}", guess=True),
    _rule("oracle-auth-token", r"(?i:" + _TOKEN_START + r"oci|oracle)[\w. -]{0,16}(?i:token|secret|pass\w*)[\"'\\\])]{0,5}\s{0,3}[:=,]{1,2}\s{0,3}[\"'\\]{0,4}([^\s\"'\\]{20,44})", "oci", "oracle", group=1, entropy=3.5, guess=True),
    _word("exoscale-key", r"EXO[a-f0-9]{24}", "exo"),
    _word("upcloud-token", r"ucat_[A-Z0-9]{26}", "ucat_"),
    _word("backblaze-key", r"K00[0-9][A-Za-z0-9/+]{27}", "k00", guess=True),
    # Databases
    _word("databricks-token", r"(?:dapi|dkea|dose|dsapi)[a-f0-9]{32}(?:-[0-9]{1,2})?", "dapi", "dkea", "dose", "dsapi"),
    _rule("supabase-secret-key", r"sb_secret_[A-Za-z0-9_-]{20,}", "sb_secret_"),
    _word("supabase-token", r"sbp_(?:oauth_|v0_)?[a-f0-9]{40,}", "sbp_"),
    _token("neon-api-key", r"napi_[a-z0-9]{48,}|neon_(?:api|org|project)_key_[a-z0-9]{32,}", "napi_", "neon_api", "neon_org", "neon_project"),
    _token("neon-password", r"npg_[A-Za-z0-9]{12,}", "npg_"),
    _rule("planetscale-token", r"pscale_(?:tkn|pw|oauth|otkn|api)_[A-Za-z0-9_.=-]{31,}[A-Za-z0-9_=-]", "pscale_"),
    _rule("mongodb-atlas-secret", r"mdb_sa_sk_[A-Za-z0-9_-]{32,}", "mdb_sa_sk_"),
    _rule("mongodb-atlas-key", r"(?i:mongo|atlas)[\w. -]{0,20}(?i:private|api|secret)" + _ASSIGNMENT + r"\b(" + _UUID + r")\b", "mongo", "atlas", group=1),
    _rule("upstash-token", r"(?i:upstash|kv_rest|qstash)[\w. -]{0,16}(?i:token|key)" + _ASSIGNMENT + r"\b([A-Za-z0-9+/_=-]{36,})", "upstash", "kv_rest", "qstash", group=1, entropy=3.8, guess=True),
    _rule("cockroach-key", r"CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}", "ccdb1_"),
    _word("clickhouse-cloud-key", r"4b1d[A-Za-z0-9]{38}", "4b1d"),
    _rule("influxdb-token", r"(?i:influx)" + _ASSIGNMENT + r"\b([A-Za-z0-9_-]{86}==|apiv3_[A-Za-z0-9_-]{60,})", "influx", group=1),
    _token("influxdb-v3-token", r"apiv3_[A-Za-z0-9_-]{60,}", "apiv3_"),
    _rule("aiven-password", r"AVNS_[A-Za-z0-9_-]{17,}", "avns_"),
    _token("xata-key", r"xau_[A-Za-z0-9]{32,}", "xau_"),
    _named("fauna-secret", "fauna", r"fn[A-Za-z0-9_-]{36,42}"),
    _token("convex-deploy-key", r"(?:prod|preview|dev|project):[a-z0-9:-]{3,60}\|(?:eyJ[A-Za-z0-9+/=_-]{40,}|[A-Za-z0-9+/=]{60,})", "prod:", "preview:", "dev:", "project:"),
    _token("elastic-cloud-key", r"essu_[A-Za-z0-9+/=_-]{40,}", "essu_"),
    _rule("elasticsearch-api-key", r"(?i)" + _TOKEN_START + r"ApiKey\s+([A-Za-z0-9+/_-]{36,}={0,2})", "apikey", group=1, entropy=3.8),
    _token("confluent-secret", r"cflt[A-Za-z0-9+/]{58,60}", "cflt"),
    _rule("confluent-secret-legacy", r"(?i:confluent|kafka|sasl)" + _ASSIGNMENT + r"\b([A-Za-z0-9+/]{64})(?:[^A-Za-z0-9+/=]|$)", "confluent", "kafka", "sasl", group=1, entropy=4.0, guess=True),
    # Code hosts and continuous integration
    _rule("github-token", r"gh[pousr]_(?:[0-9]{1,12}_eyJ[A-Za-z0-9_.-]{60,}[A-Za-z0-9_-]|[A-Za-z0-9]{36,})", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _rule("github-fine-grained-token", r"github_pat_[A-Za-z0-9_]{36,}", "github_pat_"),
    _rule("github-legacy-token", r"(?i:github|" + _TOKEN_START + r"gh)[\w. -]{0,16}(?i:token|secret|pat|oauth|auth|password|key)" + _ASSIGNMENT + r"\b((?:v1\.)?[a-f0-9]{40})\b", "github", "gh", group=1),
    _rule("github-runner-token", r"(?i:--token|runner[_-]?token)[\s=:\"']{1,4}(A[A-Z2-7]{28})\b", "--token", "runner_token", "runner-token", "runnertoken", group=1, entropy=3.0),
    _rule("gitlab-token", r"gl(?:pat|dt|rtr|rt|cbt|ptt|ft|soat|imt|agent|oas|ffct|wt)-[A-Za-z0-9_.-]{19,}[A-Za-z0-9_-]", "glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-", "glagent-", "gloas-", "glffct-", "glwt-"),
    _rule("gitlab-runner-registration-token", r"GR1348941[A-Za-z0-9_-]{20,}", "gr1348941"),
    _rule("gitlab-session-cookie", r"_gitlab_session[\"'\\]{0,4}[=:]\s{0,2}[\"'\\]{0,4}([a-f0-9]{32})", "_gitlab_session", group=1),
    _rule("gitlab-legacy-token", r"(?i:gitlab|private-token|deploy-token|job-token)[\w. -]{0,16}" + _ASSIGNMENT + r"\b([A-Za-z0-9_-]{20})\b", "gitlab", "private-token", "deploy-token", "job-token", group=1, entropy=3.5, guess=True),
    _word("bitbucket-app-password", r"ATBB[A-Za-z0-9]{32}", "atbb"),
    _rule("bitbucket-access-token", r"ATCTT3[A-Za-z0-9+/=_-]{60,}", "atctt3"),
    _token("bitbucket-data-center-token", r"BBDC-[A-Za-z0-9+/@_-]{40,}", "bbdc-"),
    _rule("bitbucket-client-secret", r"(?i:bitbucket)[\w. -]{0,16}(?i:secret|token|key)" + _ASSIGNMENT + r"\b([A-Za-z0-9_=-]{32,64})\b", "bitbucket", group=1, entropy=3.5, guess=True),
    _named("gitea-token", "gitea|forgejo|gogs|codeberg", r"[a-f0-9]{40}"),
    _named("gitee-token", "gitee", r"[a-f0-9]{32}"),
    _token("sourcegraph-token", r"sg[pd]_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40,}", "sgp_", "sgd_"),
    _word("sourcegraph-license-key", r"slk_[a-f0-9]{64}", "slk_"),
    _word("phabricator-token", r"(?:api|cli|clr)-[a-z0-9]{28}", "api-", "cli-", "clr-", entropy=3.3, guess=True),
    _rule("gerrit-password", r"(?i)(?:\.googlesource|source\.developers\.google)\.com(?:[\s,a-z0-9/]|\\t){1,40}o(?:[\s,]|\\t)(git-[a-z0-9.@_-]{3,60}=[A-Za-z0-9/_-]{20,})", "googlesource.com", "source.developers.google.com", group=1),
    _rule("circleci-token", r"CCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[A-Fa-f0-9]{40}", "ccipat_", "cciprj_"),
    _rule("circleci-token-legacy", r"(?i:circle-?_?ci|circle[_-]token)" + _ASSIGNMENT + r"\b([a-f0-9]{40})\b", "circleci", "circle-ci", "circle_ci", "circle_token", "circle-token", group=1),
    _token("buildkite-token", r"bk(?:ua|ct|a[ajrt]|pat|pt|cp|rt|ps)_[A-Za-z0-9]{32,}", "bkua_", "bkct_", "bkaa_", "bkaj_", "bkar_", "bkat_", "bkpat_", "bkpt_", "bkcp_", "bkrt_", "bkps_"),
    _named("buildkite-agent-token", "buildkite", r"[a-f0-9]{50}"),
    _named("travis-token", "travis", r"[A-Za-z0-9_-]{20,22}", entropy=3.5, guess=True),
    _named("jenkins-token", "jenkins|crumb", r"11[a-f0-9]{32}|[a-f0-9]{32}|[a-f0-9]{64}"),
    _rule("teamcity-token", r"eyJ0eXAiOiAiVENWMiJ9\.[A-Za-z0-9_-]{30,}\.[A-Za-z0-9_-]{40,}", "eyj0exaioiaivenwmij9"),
    _token("jetbrains-token", r"perm[:-][A-Za-z0-9+/=_-]{4,}\.[A-Za-z0-9+/=_-]{2,}\.[A-Za-z0-9]{24,}", "perm:", "perm-"),
    _word("harness-token", r"(?:pat|sat)\.[A-Za-z0-9_-]{22}\.[a-f0-9]{24}\.[A-Za-z0-9]{20}", "pat.", "sat."),
    _rule("drone-token", r"(?i:drone)[\w. -]{0,12}(?i:token|secret)" + _ASSIGNMENT + r"\b([A-Za-z0-9]{32})\b", "drone", group=1, guess=True),
    _word("octopus-api-key", r"API-[A-Z0-9]{25,32}", "api-"),
    _named("codecov-token", "codecov", _UUID + r"|[a-z0-9]{32}", entropy=3.0),
    # Secret stores and infrastructure as code
    _token("doppler-token", r"dp\.(?:pt|st|ct|sa|scim|audit|said)\.(?:[a-z0-9._-]{2,40}\.)?[A-Za-z0-9]{40,44}", "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit.", "dp.said."),
    _token("vault-token", r"hv[sbr]\.[A-Za-z0-9_-]{24,}", "hvs.", "hvb.", "hvr."),
    _rule("vault-token-legacy", r"(?i:vault|x-vault-token)[\w. -]{0,20}[\"'\\\])]{0,5}\s{0,3}[:=,]{0,2}\s{0,3}[\"'\\]{0,4}([sbr]\.[A-Za-z0-9]{24}(?:\.[A-Za-z0-9]{5})?)\b", "vault", group=1, guess=True),
    _rule("vault-unseal-key", r"(?i)(?:operator unseal\s|(?:unseal|recovery) key(?: [0-9]{1,2})?[\"'\\]{0,4}\s{0,2}[:=])\s{0,3}[\"'\\]{0,4}([A-Za-z0-9+/]{43,44}={0,2}|[a-f0-9]{64,66})", "unseal key", "recovery key", "operator unseal", group=1),
    _rule("vault-approle-secret-id", r"(?i)(?:(?:vault|approle|role)[^\n]*?secret[_-]?id[\"'\\]{0,4}\s{0,3}[:=]\s{0,3}[\"'\\]{0,4}|secret_id[ \t]{2,24})(" + _UUID + r")\b", "secret_id", "secret-id", "secretid", group=1),
    _rule("consul-token", r"(?i)(?:secret ?id[\"'\\]{0,4}\s{0,12}[:=]|(?:consul|nomad)[\w. -]{0,12}(?:token|secret)[\w]{0,8}[\"'\\\])]{0,5}\s{0,3}[:=,]{0,2})\s{0,8}[\"'\\]{0,4}(" + _UUID + r")\b", "secretid", "secret id", "consul", "nomad", group=1),
    _word("nats-seed", r"S[ACNOUX][A-Z2-7]{56}", "sa", "sc", "sn", "so", "su", "sx", entropy=3.5),
    _rule("truenas-key", r"(?i:truenas|freenas|login_with_api_key)(?:[^a-z0-9]|\\n|params|api|key|token){1,60}\b([0-9]{1,4}-[A-Za-z0-9]{64})\b", "truenas", "freenas", "login_with_api_key", group=1),
    _rule("terraform-cloud-token", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", ".atlasv1."),
    _word("infracost-key", r"ico-[A-Za-z0-9]{32}", "ico-"),
    _rule("spacelift-token", r"(?i:spacelift|scalr|env0)[\w. -]{0,16}(?i:secret|token|key)" + _ASSIGNMENT + r"\b([A-Za-z0-9_.-]{31,}[A-Za-z0-9_-])", "spacelift", "scalr", "env0", group=1, entropy=3.3, guess=True),
    _word("pulumi-token", r"pul-[a-f0-9]{40}", "pul-"),
    _rule("onepassword-service-token", r"ops_eyJ[A-Za-z0-9+/_-]{60,}={0,3}", "ops_eyj"),
    _token("onepassword-secret-key", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}\b", "a3-"),
    _token("bitwarden-token", r"0\." + _UUID + r"\.[A-Za-z0-9]{30}:[A-Za-z0-9+/]{20,}={0,2}", "0."),
    _word("infisical-token", r"st\.[a-f0-9-]{24,36}\.[a-f0-9]{20,64}\.[a-f0-9]{20,64}", "st."),
    _rule("akeyless-key", r"(?i:akeyless)[\w. -]{0,16}(?i:key|secret|token)" + _ASSIGNMENT + r"\b([A-Za-z0-9+/]{43}=)", "akeyless", group=1),
    # Developer tools
    _word("sonar-token", r"sq[upa]_[a-f0-9]{40}|sqco_[A-Za-z0-9]{59}", "squ_", "sqp_", "sqa_", "sqco_"),
    _rule("sonar-token-legacy", r"(?i:sonar)[\w. -]{0,12}(?i:token|login|secret|key)" + _ASSIGNMENT + r"\b([a-f0-9]{40})\b", "sonar", group=1),
    _word("dependency-track-key", r"odt_(?:[A-Za-z0-9]{8}_)?[A-Za-z0-9]{32,40}", "odt_"),
    _rule("snyk-token", r"(?i)snyk[\w. -]{0,12}(?:token|key|secret|auth)[\"'\\\])]{0,5}\s{0,3}[:=,]{0,2}\s{0,3}[\"'\\]{0,4}(" + _UUID + r")\b", "snyk", group=1),
    _rule("snyk-prefixed-token", r"snyk_(?:uat|sat)\.[a-z0-9]{8}\.[A-Za-z0-9_.-]{40,}[A-Za-z0-9_-]", "snyk_uat.", "snyk_sat."),
    _rule("cypress-key", r"(?i:cypress_record|percy)[\w. -]{0,10}(?i:key|token)" + _ASSIGNMENT + r"\b(" + _UUID + r"|(?:web_|app_|auto_|ss_)?[a-f0-9]{64})\b", "cypress_record", "percy", group=1),
    _token("chromatic-token", r"chpt_[a-f0-9]{12,}", "chpt_"),
    _rule("depot-token", r"depot_(?:org|project|user|ci)_[a-f0-9]{48,}", "depot_"),
    _rule("bitrise-token", r"(?i:bitrise|semaphore)[\w. -]{0,16}(?i:token|key|pat)" + _ASSIGNMENT + r"\b(bitpat_[A-Za-z0-9_-]{20,}|[A-Za-z0-9_-]{20,86})\b", "bitrise", "semaphore", group=1, entropy=3.5, guess=True),
    _named("appveyor-token", "appveyor", r"(?:v2\.)?[a-z0-9]{20}", guess=True),
    _rule("expo-token", r"(?i:expo)[_-](?i:token)" + _ASSIGNMENT + r"\b([A-Za-z0-9_-]{40})\b", "expo_token", "expo-token", group=1, guess=True),
    _word("ionic-token", r"ion_[A-Za-z0-9]{42}", "ion_", entropy=3.8),
    _rule("nx-cloud-token", r"(?i:nx_?cloud)[\w. -]{0,16}(?i:token)" + _ASSIGNMENT + r"\b([A-Za-z0-9+/_-]{60,}={0,2})", "nx_cloud", "nxcloud", group=1),
    _named("semgrep-token", "semgrep", r"[a-f0-9]{64}"),
    _rule("trunk-token", r"(?i:trunk)[\w. -]{0,10}(?i:token)" + _ASSIGNMENT + r"\b([a-f0-9]{40})\b", "trunk", group=1),
    # Messaging and webhooks
    _rule("slack-token", r"(?i)xox[abcdeoprs]-[a-z%+/-]{0,20}[0-9][a-z0-9%+/-]{8,}=?|xox[cd]-[A-Za-z0-9%+/]{60,}={0,2}|xoxe\.xox[bp]-[A-Za-z0-9-]{20,}|xapp-[0-9]-[A-Za-z0-9-]{20,}|xwfp-[A-Za-z0-9-]{20,}", "xox", "xapp-", "xwfp-"),
    _rule("slack-webhook", r"hooks\.slack(?:-gov)?\.com\\?/(?:services|workflows|triggers)\\?/((?:[A-Za-z0-9_-]|\\?/){19,}[A-Za-z0-9])", "hooks.slack", group=1),
    _rule("slack-signing-secret", r"(?i:slack)[\w. -]{0,16}(?i:secret|token)" + _ASSIGNMENT + r"\b([a-f0-9]{32})\b", "slack", group=1),
    _token("discord-token", r"[MNO][A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}", "."),
    _token("discord-mfa-token", r"mfa\.[A-Za-z0-9_-]{80,}", "mfa."),
    _rule("discord-webhook", r"discord(?:app)?\.com\\?/api\\?/(?:v[0-9]{1,2}\\?/)?webhooks\\?/([0-9]{15,20}\\?/[A-Za-z0-9_-]{40,})", "discord", group=1),
    _rule("discord-client-secret", r"(?i:discord)[\w. -]{0,16}(?i:secret)" + _ASSIGNMENT + r"\b([A-Za-z0-9_-]{32})\b", "discord", group=1, guess=True),
    _rule("telegram-bot-token", r"(?:\b|\\[nrt]|bot)([0-9]{6,16}:A[A-Za-z0-9_-]{33,34})", ":a", group=1),
    _rule("teams-webhook", r"(?:webhook\.office\.com|outlook\.office(?:365)?\.com)/webhook(?:b2)?/([0-9a-f-]{36}@[0-9a-f-]{36}/IncomingWebhook/[A-Za-z0-9]{32}/[0-9a-f-]{36}(?:/[A-Za-z0-9_-]{20,})?)", "office.com/webhook", "office365.com/webhook", group=1),
    _rule("google-chat-webhook", r"chat\.googleapis\.com/v1/spaces/[A-Za-z0-9_-]{4,}/messages\?[^\s\"'<>]*?token=([A-Za-z0-9%_-]{30,})", "chat.googleapis.com", group=1),
    _rule("mattermost-webhook", r"(?i)https?://[a-z0-9.-]*(?:mattermost|chat|rocket)[a-z0-9.:-]*/hooks/([a-z0-9]{26}|[a-z0-9]{17,24}/[a-z0-9]{32,64})", "/hooks/", group=1),
    _rule("mattermost-token", r"(?i:mattermost|" + _TOKEN_START + r"mm[_-]token)" + _ASSIGNMENT + r"\b([a-z0-9]{26})\b", "mattermost", "mm_token", "mm-token", group=1, guess=True),
    _rule("zoom-secret", r"(?i:zoom)[\w. -]{0,16}(?i:secret|token|key)" + _ASSIGNMENT + r"\b([A-Za-z0-9_-]{22,36})\b", "zoom", group=1, entropy=3.5, guess=True),
    _word("twilio-key", r"SK[a-f0-9]{32}", "sk"),
    _named("twilio-auth-token", "twilio", r"[a-f0-9]{32}"),
    _rule("twilio-account-auth-token", _TOKEN_START + r"AC[a-f0-9]{32}[\"'\\]{0,4}\s{0,2}[:,]\s{0,2}[\"'\\]{0,4}([a-f0-9]{32})\b", "ac", group=1),
    _rule("vonage-secret", r"(?i:vonage|nexmo)[\w. -]{0,10}(?i:secret|key|token)" + _ASSIGNMENT + r"\b([A-Za-z0-9]{16})\b", "vonage", "nexmo", group=1, guess=True),
    _word("telnyx-key", r"KEY[A-F0-9]{32}_[A-Za-z0-9]{22}", "key"),
    _rule("ably-key", r"(?i:ably)" + _ASSIGNMENT + r"\b([A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{6}:[A-Za-z0-9_-]{40,})", "ably", group=1),
    _word("pushbullet-token", r"o\.[A-Za-z0-9]{32}", "o.", entropy=3.8, guess=True),
    _word("adafruit-io-key", r"aio_[A-Za-z0-9]{28}", "aio_"),
    _word("ubidots-token", r"BB(?:FF|US)-[A-Za-z0-9]{30,36}", "bbff-", "bbus-"),
    _rule("thingsboard-device-token", r"/api/v1/([A-Za-z0-9]{20})/(?:telemetry|attributes|rpc|claim|firmware)\b", "/api/v1/", group=1, entropy=3.2, allow=_ALLOW_NAMES),
    _rule("line-token", r"(?i:" + _TOKEN_START + r"line)[\w. -]{0,16}(?i:token|secret)[\"'\\\])]{0,5}\s{0,3}[:=,]{1,2}\s{0,3}[\"'\\]{0,4}([A-Za-z0-9+/]{100,}={0,2}|[A-Za-z0-9]{43}|[a-f0-9]{32})", "line", group=1),
    _rule("lark-webhook", r"open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook/([A-Za-z0-9-]{16,36})", "open-apis/bot", group=1),
    _rule("lark-secret", r"(?i:lark|feishu)[\w. -]{0,16}(?i:secret|token|key)" + _ASSIGNMENT + r"\b((?:[tu]-)?[A-Za-z0-9]{32,42})\b", "lark", "feishu", group=1, guess=True),
    _rule("dingtalk-webhook", r"oapi\.dingtalk\.com/robot/send\?access_token=([a-f0-9]{64})", "oapi.dingtalk.com", group=1),
    _word("dingtalk-secret", r"SEC[a-f0-9]{64}", "sec"),
    _rule("wecom-webhook", r"qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=([0-9a-f-]{36})", "qyapi.weixin.qq.com", group=1),
    _rule("wechat-secret", r"(?i:wechat|weixin|" + _TOKEN_START + r"wx)[\w. -]{0,16}(?i:secret|token|key)" + _ASSIGNMENT + r"\b([a-f0-9]{32})\b", "wechat", "weixin", "wx", group=1),
    _word("matrix-token", r"sy[trl]_[A-Za-z0-9+/=_-]{1,60}_[A-Za-z0-9]{20}_[A-Za-z0-9]{6}", "syt_", "syr_", "syl_"),
    _word("ntfy-token", r"tk_[A-Za-z0-9]{29}", "tk_", guess=True),
    _rule("zapier-webhook", r"zapier\.com/hooks/(?:catch|standard)/([0-9]{4,9}/[A-Za-z0-9]{5,})", "zapier.com/hooks", group=1),
    _rule("ifttt-webhook", r"maker\.ifttt\.com/(?:trigger/[^\s/\"']{1,60}/(?:json/)?with/key|use)/([A-Za-z0-9_-]{20,})", "maker.ifttt.com", group=1),
    _rule("make-webhook", r"hook\.[a-z]{2}[0-9]?\.(?:make|integromat)\.com/([a-z0-9]{24,})", ".make.com", ".integromat.com", group=1),
    _rule("n8n-key", r"(?i)n8n[a-z0-9.:-]*/webhook(?:-test)?/(" + _UUID + r")", "/webhook", group=1),
    _rule("n8n-api-key", r"n8n_api_[a-f0-9]{40,}", "n8n_api_"),
    _word("voiceflow-key", r"VF\.(?:(?:DM|WS)\.)?[a-fA-F0-9]{24}\.[A-Za-z0-9]{16}", "vf."),
    _rule("pipedream-webhook", _TOKEN_START + r"(e[on][a-z0-9]{10,24})\.m\.pipedream\.net", "pipedream.net", group=1),
    # Payments
    _rule("stripe-key", r"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{16,}", "sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"),
    _token("stripe-organization-key", r"sk_org_(?:live_|test_)?[A-Za-z0-9]{20,}|(?:pi|seti)_[A-Za-z0-9]{14,}_secret_[A-Za-z0-9]{20,}", "sk_org_", "_secret_"),
    _token("webhook-signing-secret", r"(?:whsec|whsk)_[A-Za-z0-9+/]{24,}={0,2}", "whsec_", "whsk_"),
    _rule("square-token", r"sq0(?:atp|csp|idp|ats|cgb)-[A-Za-z0-9_-]{22,}", "sq0atp-", "sq0csp-", "sq0idp-", "sq0ats-", "sq0cgb-"),
    _word("square-personal-token", r"EAAA[A-Za-z0-9_-]{60}", "eaaa", entropy=4.0, guess=True),
    _rule("braintree-token", r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}", "access_token$"),
    _named("braintree-private-key", "braintree|bt_private", r"[a-f0-9]{32}"),
    _named("paypal-secret", "paypal|pp_client", r"[AE][A-Za-z0-9_-]{79}"),
    _token("adyen-key", r"AQE[a-z]hm[A-Za-z0-9+/=-]{40,}", "aqe"),
    _rule("plaid-token", r"access-(?:sandbox|development|production)-" + _UUID, "access-sandbox-", "access-development-", "access-production-"),
    _rule("plaid-secret", r"(?i:plaid)[\w. -]{0,12}(?i:secret|key)" + _ASSIGNMENT + r"\b([a-z0-9]{30,31})\b", "plaid", group=1, guess=True),
    _rule("razorpay-key", r"rzp_(?:live|test)_[A-Za-z0-9]{14,}", "rzp_live_", "rzp_test_"),
    _rule("razorpay-secret", r"(?i:razorpay|rzp)[\w. -]{0,12}(?i:secret)" + _ASSIGNMENT + r"\b([A-Za-z0-9]{20,24})\b", "razorpay", "rzp", group=1, guess=True),
    _word("shopify-token", r"shp(?:at|ca|pa|ss|ua|tka|it)_[A-Fa-f0-9]{32,}", "shpat_", "shpca_", "shppa_", "shpss_", "shpua_", "shptka_", "shpit_"),
    _rule("flutterwave-key", r"FLWSECK(?:_TEST|_LIVE)?-?[A-Za-z0-9]{12,}(?:-X)?", "flwseck"),
    _rule("coinbase-key", r"(?i:coinbase|cdp_api)[\w. -]{0,16}(?i:secret|key|token|passphrase)" + _ASSIGNMENT + r"\b([A-Za-z0-9_-]{64}|[A-Za-z0-9+/]{86}==|[A-Za-z0-9]{16,32})", "coinbase", "cdp_api", group=1, entropy=3.3, guess=True),
    _rule("crypto-exchange-key", r"(?i:binance|kraken|kucoin|bitfinex|bitmex|bybit|okx|bitstamp|bittrex|poloniex)" + _ASSIGNMENT + r"\b([A-Za-z0-9]{32,64}|[A-Za-z0-9+/]{86}==)", "binance", "kraken", "kucoin", "bitfinex", "bitmex", "bybit", "okx", "bitstamp", "bittrex", "poloniex", group=1, entropy=3.3, guess=True),
    _word("gocardless-token", r"(?:live|sandbox)_[A-Za-z0-9_-]{40}", "live_", "sandbox_", entropy=4.0, guess=True),
    _word("mollie-key", r"(?:live|test)_[A-Za-z0-9]{30,36}", "live_", "test_", entropy=3.5, guess=True),
    _word("mollie-access-token", r"access_[A-Za-z0-9]{28,40}", "access_", entropy=4.0, guess=True),
    _token("checkout-key", r"sk_(?:sbox_)?[a-z0-9]{26}[a-z0-9*#$=]|sk_(?:test_)?" + _UUID, "sk_", guess=True),
    _word("lob-key", r"(?:live|test)_(?:pub_)?[a-f0-9]{31,35}", "live_", "test_"),
    _word("easypost-key", r"EZ[AT]K[A-Za-z0-9]{54}", "ezak", "eztk"),
    _rule("shippo-token", r"shippo_(?:live|test)_[a-fA-F0-9]{32,40}", "shippo_"),
    _rule("duffel-token", r"duffel_(?:test|live)_[A-Za-z0-9_=-]{40,}", "duffel_"),
    _named("finicity-token", "finicity", r"[a-f0-9]{32}|[a-z0-9]{20}", guess=True),
    _rule("paddle-key", r"pdl_(?:live_|sdbx_|test_)?apikey_[a-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}|pdl_ntfset_[a-z0-9]{26}_[A-Za-z0-9+/]{32}", "pdl_"),
    _rule("polar-token", r"polar_(?:oat|pat|cst|mst|whs|auth_session|us|c?ev|ci|crt|cs?|[ar]t(?:_[uo])?|ac|[uo]_at)_[A-Za-z0-9]{32,}", "polar_"),
    _rule("xendit-key", r"xnd_(?:production|development)_[A-Za-z0-9]{32,}", "xnd_"),
    _rule("midtrans-key", r"(?:SB-)?(?:Mid|VT)-server-[A-Za-z0-9_-]{20,}", "mid-server-", "vt-server-"),
    _token("mercadopago-token", r"(?:APP_USR|TEST)-[0-9]{10,18}-[0-9]{6}-[a-f0-9]{32}-[0-9]{6,12}", "app_usr-", "test-"),
    _rule("asaas-key", r"\$(aact_[A-Za-z0-9_+/=:-]{40,})", "$aact_", group=1),
    _word("omise-key", r"skey_(?:test_)?[a-z0-9]{19}", "skey_"),
    _word("pagarme-key", r"ak_(?:live|test)_[A-Za-z0-9]{30}", "ak_live_", "ak_test_"),
    _rule("klarna-key", r"klarna_(?:live|test)_api_[A-Za-z0-9_+/=-]{30,}", "klarna_"),
    # Wallets
    _rule("ethereum-private-key", r"(?i)(?:priv(?:ate)?[_-]?key|deployer[_-]?key|wallet[_-]?key)[\w -]{0,16}[\"'\\\])]{0,5}\s{0,3}[:=,]{1,2}\s{0,3}[\"'\\\[]{0,5}((?:0x)?[a-f0-9]{64})\b", "key", group=1),
    _named("bitcoin-wif-key", "priv|wif|btc|bitcoin", r"[5KL][1-9A-HJ-NP-Za-km-z]{50,51}"),
    _token("extended-private-key", r"[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100,112}\b", "prv"),
    _word("wallet-import-key", r"5[HJK][1-9A-HJ-NP-Za-km-z]{49}|[KL][1-9A-HJ-NP-Za-km-z]{51}|[xtyzuv]prv[1-9A-HJ-NP-Za-km-z]{107}", entropy=4.3, allow=_ALLOW_NAMES),
    _rule("solana-key-bytes", r"(?i:secret_?key|private_?key|key_?pair|solana|phantom|wallet)[^\[\]]{0,80}\[(?:\s|\\n)*((?:[0-9]{1,3},(?:\s|\\n)*){63}[0-9]{1,3})\b", "secretkey", "secret_key", "privatekey", "private_key", "keypair", "key_pair", "solana", "phantom", "wallet", group=1),
    _rule("seed-phrase", r"(?i:mnemonic|seed[ _-]?phrase|seed[ _-]?words|recovery[ _-]?phrase|secret[ _-]?recovery[ _-]?phrase)[\w -]{0,8}[\"'\\\])]{0,5}\s{0,3}(?:[:=,]{1,2}|is|are|to)\s{0,3}[\"'\\`(\[]{0,5}([a-z]{3,8}(?: [a-z]{3,8}){11,23})\b", "mnemonic", "seed", "recovery", group=1),
    # Mail
    _token("sendgrid-key", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}", "sg."),
    _word("mailgun-key", r"(?:key|pubkey)-(?:[a-f0-9]{32}|[0-9][a-z][a-z0-9]{30})|[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}", "-"),
    _word("mailchimp-key", r"[a-f0-9]{32}-us[0-9]{1,2}", "-us"),
    _word("mandrill-key", r"md-[A-Za-z0-9_-]{22}", "md-", entropy=3.5, guess=True),
    _rule("postmark-token", r"(?i)postmark[\w. -]{0,16}[\"'\\\])]{0,5}\s{0,3}[:=,]{1,2}\s{0,3}[\"'\\]{0,4}(" + _UUID + r")\b", "postmark", group=1),
    _word("resend-key", r"re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{20,}", "re_", entropy=3.5),
    _rule("brevo-key", r"x(?:keysib|smtpsib)-[a-f0-9]{64}-[A-Za-z0-9]{16}", "xkeysib-", "xsmtpsib-"),
    _rule("mailersend-token", r"mlsn\.[a-f0-9]{64}", "mlsn."),
    _word("klaviyo-key", r"pk_(?:[A-Za-z0-9]{6}_)?[a-f0-9]{34}", "pk_"),
    _rule("onesignal-key", r"os_v2_(?:app|org)_[a-z0-9]{60,}", "os_v2_"),
    _token("nylas-key", r"nyk_(?:v0_)?[A-Za-z0-9]{32,}", "nyk_"),
    _word("smtp2go-key", r"api-[A-F0-9]{32}", "api-"),
    _word("courier-key", r"pk_(?:prod|test)_[A-Z0-9]{28}", "pk_prod_", "pk_test_"),
    # Models and agents
    _token("openai-key", r"sk-(?:(?:proj|svcacct|admin|service|None)-[A-Za-z0-9_-]{40,}|[A-Za-z0-9_-]{16,}T3BlbkFJ[A-Za-z0-9_-]{16,})", "sk-"),
    _word("openai-session-token", r"sess-[A-Za-z0-9]{40}", "sess-"),
    _word("openrouter-key", r"sk-or-(?:v1-)?[a-f0-9]{64}", "sk-or-"),
    _token("anthropic-key", r"sk-ant-(?:api|admin|oat|ort|sid)[0-9]{2}-[A-Za-z0-9_-]{32,}", "sk-ant-"),
    _named("mistral-key", "mistral|codestral", r"[A-Za-z0-9]{32}", guess=True),
    _rule("cohere-key", r"(?i:cohere|" + _TOKEN_START + r"co_api_key)" + _ASSIGNMENT + r"\b([A-Za-z0-9]{40})\b", "cohere", "co_api_key", group=1, guess=True),
    _rule("groq-key", r"gsk_[A-Za-z0-9]{48,}", "gsk_"),
    _token("xai-key", r"xai-(?:token-)?[A-Za-z0-9_-]{70,}", "xai-"),
    _rule("perplexity-key", r"pplx-[A-Za-z0-9]{40,}", "pplx-"),
    _word("replicate-token", r"r8_[A-Za-z0-9_-]{37,40}", "r8_"),
    _token("together-key", r"tgp_v1_[A-Za-z0-9_-]{40,}", "tgp_v1_"),
    _rule("together-key-legacy", r"(?i:together)[\w. -]{0,12}(?i:key|token)" + _ASSIGNMENT + r"\b([a-f0-9]{64})\b", "together", group=1),
    _word("fireworks-key", r"fw_[A-Za-z0-9]{20,30}", "fw_", entropy=3.5, guess=True),
    _word("hugging-face-token", r"(?:hf_|api_org_)[A-Za-z0-9]{30,}", "hf_", "api_org_"),
    _token("cerebras-key", r"csk-[a-z0-9]{40,}", "csk-"),
    _rule("nvidia-key", r"nvapi-[A-Za-z0-9_-]{60,}", "nvapi-"),
    _rule("nvidia-ngc-key", r"(?i:" + _TOKEN_START + r"ngc)" + _ASSIGNMENT + r"\b([A-Za-z0-9]{84})\b", "ngc", group=1),
    _named("deepgram-key", "deepgram", r"[a-f0-9]{40}"),
    _rule("assemblyai-key", r"(?i:assembly_?ai|" + _TOKEN_START + r"aai_api)" + _ASSIGNMENT + r"\b([a-f0-9]{32})\b", "assemblyai", "assembly_ai", "aai_api", group=1),
    _word("voyage-key", r"(?:pa|al)-[A-Za-z0-9_-]{40,}", "pa-", "al-", entropy=4.2, guess=True),
    _rule("jina-key", r"jina_[A-Za-z0-9_-]{40,}", "jina_"),
    _rule("pinecone-key", r"pcsk_[A-Za-z0-9]{5,8}_[A-Za-z0-9]{50,}", "pcsk_"),
    _rule("pinecone-key-legacy", r"(?i)pinecone[\w. -]{0,16}[\"'\\\])]{0,5}\s{0,3}[:=,]{1,2}\s{0,3}[\"'\\]{0,4}(" + _UUID + r")\b", "pinecone", group=1),
    _rule("langsmith-key", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}|" + _TOKEN_START + r"(ls__[a-f0-9]{32})", "lsv2_", "ls__", group=FIRST_GROUP),
    _rule("langfuse-key", r"sk-lf-" + _UUID, "sk-lf-"),
    _token("wandb-key", r"wandb_v1_[A-Za-z0-9_-]{40,}", "wandb_v1_"),
    _named("wandb-key-legacy", "wandb", r"[a-f0-9]{40}"),
    _rule("helicone-key", r"sk-helicone-(?:eu-|cp-)?[a-z0-9]{5,10}-[a-z0-9]{5,10}-[a-z0-9]{5,10}-[a-z0-9]{5,10}", "sk-helicone-"),
    _rule("tavily-key", r"tvly-(?:dev-|prod-)?[A-Za-z0-9_-]{28,}", "tvly-"),
    _rule("exa-key", r"(?i)" + _TOKEN_START + r"exa[_-](?:api[_-]?)?key[\"'\\\])]{0,5}\s{0,3}[:=,]{1,2}\s{0,3}[\"'\\]{0,4}(" + _UUID + r")\b", "exa_", "exa-", group=1),
    _word("brave-search-key", r"BSA[A-Za-z0-9_-]{27,28}", "bsa", entropy=3.8, guess=True),
    _word("firecrawl-key", r"fc-[a-f0-9]{32}", "fc-"),
    _rule("fal-key", r"(?i:(?:" + _TOKEN_START + r"|_)fal)" + _ASSIGNMENT + r"\b(" + _UUID + r":[a-f0-9]{32})\b", "fal", group=1),
    _token("anyscale-key", r"esecret_[A-Za-z0-9]{20,}|aph0_[A-Za-z0-9_-]{20,}", "esecret_", "aph0_"),
    _named("baseten-key", "baseten", r"[A-Za-z0-9]{8}\.[A-Za-z0-9]{32}"),
    _word("modal-token", r"a[ks]-[A-Za-z0-9]{22}", "ak-", "as-", entropy=3.5, guess=True),
    _token("runpod-key", r"rpa_[A-Z0-9]{32}[A-Za-z0-9]{4,}", "rpa_"),
    _word("lambda-cloud-key", r"secret_[A-Za-z0-9_-]{3,40}_[a-f0-9]{32}\.[A-Za-z0-9]{32}", "secret_"),
    _word("zhipu-key", r"[a-f0-9]{32}\.[A-Za-z0-9]{16}", ".", guess=True),
    _token("llama-cloud-key", r"llx-[A-Za-z0-9]{40,}", "llx-"),
    _rule("apify-token", r"apify_(?:api|proxy)_[A-Za-z0-9]{32,}", "apify_"),
    _word("e2b-key", r"(?:e2b|sk_e2b)_[a-f0-9]{40}", "e2b_"),
    _token("browserbase-key", r"bb_(?:live|test)_[A-Za-z0-9_-]{20,}", "bb_live_", "bb_test_"),
    _token("mem0-key", r"m0-[A-Za-z0-9]{36,}", "m0-"),
    _word("cursor-key", r"(?:key|crsr)_[a-f0-9]{60,}", "key_", "crsr_"),
    _token("github-copilot-token", r"tid=[a-f0-9]{32};[^\s\"'\\]*?:[a-f0-9]{64}", "tid="),
    _rule("scale-key", _TOKEN_START + r"(scaleint_[a-f0-9]{32}\b|(?:live|test)_[a-f0-9]{32}\b)|" + _TOKEN_START + r"([A-Za-z0-9]{20,64}\|(?:live|test))(?:[^\w|\s-]|\s*(?:\n|$))", "scaleint_", "live_", "test_", "|live", "|test", group=FIRST_GROUP, entropy=2.5, guess=True),
    # Observability, features, data pipelines
    _rule("datadog-key", r"(?i:datadog|" + _TOKEN_START + r"dd[_-]|dd-api-key|dd-application-key)[\w. -]{0,20}" + _ASSIGNMENT + r"\b([a-f0-9]{40}|[a-f0-9]{32})\b", "datadog", "dd_", "dd-", group=1, entropy=3.0),
    _token("datadog-app-key", r"dd(?:app?|pat|sat|apk)_[A-Za-z0-9]{32,}", "ddap_", "ddapp_", "ddpat_", "ddsat_", "ddapk_"),
    _word("newrelic-key", r"NR(?:AK|II|IQ|RA|AA|SP|JS|AL|BR)-[A-Za-z0-9_-]{19,}|(?:[a-z]{2}[0-9]{2}xx[a-f0-9]{26}|[a-f0-9]{32})(?:FFFF|[a-f0-9]{4})NRAL|(?:[a-z]{2}[0-9]{2}xx[a-f0-9]{36}|AA[a-f0-9]{40})-NRMA", "nrak-", "nrii-", "nriq-", "nrra-", "nraa-", "nrsp-", "nrjs-", "nrbr-", "nral", "-nrma"),
    _rule("sentry-token", r"sntrys_eyJ[A-Za-z0-9+/=_-]{40,}|sntry[uai]_[a-f0-9]{64}", "sntrys_", "sntryu_", "sntrya_", "sntryi_"),
    _rule("sentry-token-legacy", r"(?i:sentry)[\w. -]{0,16}(?i:token|secret|key)" + _ASSIGNMENT + r"\b([a-f0-9]{64}|[a-f0-9]{32})\b", "sentry", group=1),
    _token("grafana-token", r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,}={0,3}", "glsa_", "glc_"),
    _token("grafana-api-key", r"eyJrIjoi[A-Za-z0-9+/_-]{40,}={0,3}", "eyjrijoi"),
    _token("honeycomb-key", r"hc[a-z0-9](?:ik|mk|lk)_[A-Za-z0-9]{26,}", "ik_", "mk_", "lk_"),
    _rule("dynatrace-token", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}", "dt0"),
    _rule("splunk-token", r"(?i)(?:splunk[\w. -]{0,16}[\"'\\\])]{0,5}\s{0,3}[:=,]{0,2}|Authorization:\s?Splunk)\s{0,3}[\"'\\]{0,4}(" + _UUID + r")\b", "splunk", group=1),
    _rule("pagerduty-key", r"(?i:pager_?duty|" + _TOKEN_START + r"pd_(?:api|token)|token token=)" + _ASSIGNMENT + r"\b([A-Za-z0-9_+-]{20}|[a-f0-9]{32}|u\+[A-Za-z0-9_+-]{18})(?:[^A-Za-z0-9_+-]|$)", "pagerduty", "pager_duty", "pd_api", "pd_token", "token token=", group=1, entropy=3.3, guess=True),
    _rule("opsgenie-key", r"(?i)(?:opsgenie|genie_?key)[\w. -]{0,16}[\"'\\\])]{0,5}\s{0,3}[:=,]{0,2}\s{0,3}[\"'\\]{0,4}(" + _UUID + r")\b", "opsgenie", "geniekey", "genie_key", group=1),
    _token("posthog-key", r"ph[xsra]_[A-Za-z0-9_-]{40,}", "phx_", "phs_", "phr_", "pha_"),
    _word("segment-public-api-token", r"sgp_[A-Za-z0-9]{64}", "sgp_"),
    _word("launchdarkly-key", r"(?:sdk|mob|api|rel)-" + _UUID, "sdk-", "mob-", "api-", "rel-"),
    _token("statsig-key", r"(?:secret|console)-[A-Za-z0-9]{40,}", "secret-", "console-", entropy=3.8, guess=True),
    _word("axiom-token", r"xa[ap]t-" + _UUID, "xaat-", "xapt-"),
    _named("sumologic-access-id", "sumo", r"su[A-Za-z0-9]{12}", entropy=3.0, guess=True),
    _word("prefect-key", r"pn[ub]_[A-Za-z0-9]{36}", "pnu_", "pnb_"),
    _word("dagster-token", r"(?:agent|user):[a-z0-9-]{2,40}:[a-f0-9]{32}", "agent:", "user:"),
    _token("dbt-token", r"dbt[csu]_[A-Za-z0-9_=-]{30,}", "dbtc_", "dbts_", "dbtu_"),
    # Work and business applications
    _rule("atlassian-token", r"ATATT3[A-Za-z0-9+/=_-]{60,}|ATSTT3[A-Za-z0-9+/=_-]{60,}", "atatt3", "atstt3"),
    _named("atlassian-token-legacy", "atlassian|jira|confluence", r"[A-Za-z0-9]{24}|[A-Za-z0-9+/]{44}", entropy=3.5, guess=True),
    _word("trello-token", r"ATTA[A-Za-z0-9]{72}", "atta"),
    _named("trello-key", "trello", r"[a-f0-9]{32}|[a-f0-9]{64}"),
    _word("notion-token", r"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}", "ntn_", "secret_"),
    _rule("linear-token", r"lin_(?:api|oauth|wh)_[A-Za-z0-9]{32,}", "lin_api_", "lin_oauth_", "lin_wh_"),
    _word("asana-token", r"[0-2]/[0-9]{12,17}(?:/[0-9]{12,17})?:[A-Za-z0-9]{32,64}", "0/", "1/", "2/"),
    _rule("asana-secret", r"(?i:asana)[\w. -]{0,16}(?i:secret|token|key)" + _ASSIGNMENT + r"\b([a-z0-9]{32})\b", "asana", group=1),
    _token("teamwork-token", r"tkn\.v1_[A-Za-z0-9+/_-]{60,}={0,2}", "tkn.v1_"),
    _word("airtable-token", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", "pat"),
    _named("airtable-key", "airtable", r"key[A-Za-z0-9]{14}", guess=True),
    _rule("figma-token", r"fig[dopur][rh]?_[A-Za-z0-9_-]{36,}", "figd_", "figo_", "figp_", "figu_", "figr_", "figdr_", "figdh_", "figor_", "figoh_", "figur_", "figuh_", "figrr_", "figrh_", "figpr_", "figph_"),
    _token("intercom-token", r"dG9rO[A-Za-z0-9+/]{50,}={0,2}", "dg9ro"),
    _word("hubspot-token", r"pat-(?:na|eu|ap)[0-9]-" + _UUID + r"|(?:na[1-3]|eu1|ap1)-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "pat-na", "pat-eu", "pat-ap", "na1-", "na2-", "na3-", "eu1-", "ap1-"),
    _rule("hubspot-key", r"(?i)(?:hubspot|hapi_?key)[\w. -]{0,16}[\"'\\\])]{0,5}\s{0,3}[:=,]{1,2}\s{0,3}[\"'\\]{0,4}((?:(?:na|eu)[0-9]-)?[0-9a-f]{4,8}(?:-[0-9a-f]{4}){2,3}-[0-9a-f]{12})\b", "hubspot", "hapikey", "hapi_key", group=1),
    _word("zoho-token", r"1000\.[a-f0-9]{32}\.[a-f0-9]{32}", "1000."),
    _token("dropbox-token", r"sl\.(?:u\.)?[A-Za-z0-9_-]{130,}", "sl."),
    _rule("dropbox-secret", r"(?i:dropbox|" + _TOKEN_START + r"box_)[\w. -]{0,16}(?i:secret|token|key)" + _ASSIGNMENT + r"\b([A-Za-z0-9_-]{64}|[A-Za-z0-9]{32}|[a-z0-9]{15})\b", "dropbox", "box_", group=1, entropy=3.0, guess=True),
    _rule("contentful-token", r"CFPAT-[A-Za-z0-9_-]{40,}", "cfpat-"),
    _named("contentful-delivery-token", "contentful", r"[A-Za-z0-9_-]{43}", guess=True),
    _named("sanity-token", "sanity", r"sk[A-Za-z0-9]{78,180}"),
    _rule("storyblok-token", r"(?i:storyblok|prismic|dato_?cms|hygraph|ghost_(?:admin|content))[\w. -]{0,16}(?i:key|token|secret)" + _ASSIGNMENT + r"\b([a-f0-9]{24}:[a-f0-9]{64}|[A-Za-z0-9_.-]{22,80})\b", "storyblok", "prismic", "datocms", "dato_cms", "hygraph", "ghost_admin", "ghost_content", group=1, entropy=3.5, guess=True),
    _named("algolia-key", "algolia|docsearch", r"[a-f0-9]{32}"),
    # Identity, social networks, media
    _rule("okta-token", r"(?i:okta|ssws)" + _ASSIGNMENT + r"\b(00[A-Za-z0-9_-]{40})(?:[^A-Za-z0-9_-]|$)", "okta", "ssws", group=1, guess=True),
    _rule("auth0-secret", r"(?i:auth0|clerk|workos|stytch|keycloak|kinde|logto|fusionauth|onelogin|pingone|descope|cognito)[\w. -]{0,16}(?i:secret|token|key)" + _ASSIGNMENT + r"\b([A-Za-z0-9_-]{30,80})\b", "auth0", "clerk", "workos", "stytch", "keycloak", "kinde", "logto", "fusionauth", "onelogin", "pingone", "descope", "cognito", group=1, entropy=3.5, guess=True),
    _token("workos-key", r"sk_(?:live|test)_[A-Za-z0-9_-]{30,}|secret-(?:live|test)-[A-Za-z0-9_=-]{36,}", "sk_live_", "sk_test_", "secret-live-", "secret-test-"),
    _token("typeform-token", r"tfp_[A-Za-z0-9_.=-]{39,}[A-Za-z0-9_=-]", "tfp_"),
    _token("readme-key", r"rdme_[a-z0-9]{60,}", "rdme_"),
    _rule("postman-key", r"PMA[KT]-[A-Za-z0-9]{24,}(?:-[a-f0-9]{34})?", "pmak-", "pmat-"),
    _rule("frameio-token", r"fio-u-[A-Za-z0-9_=-]{60,}", "fio-u-"),
    _token("salesforce-token", r"00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,}[A-Za-z0-9_]", "00d"),
    _token("salesforce-consumer-secret", r"3MVG9[A-Za-z0-9._]{60,}[A-Za-z0-9_]|5Aep861[A-Za-z0-9._]{40,}[A-Za-z0-9_]", "3mvg9", "5aep861"),
    _named("twitch-token", "twitch|oauth:", r"[a-z0-9]{30,31}", entropy=3.3, guess=True),
    _rule("twitter-bearer-token", r"AAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9%]{60,}", "aaaaaaaaaaaaaaaaaaaaa", entropy=3.5, guess=True),
    _rule("twitter-secret", r"(?i:twitter|" + _TOKEN_START + r"x_(?:api|consumer|access)|consumer)[\w. -]{0,16}(?i:secret|token|key)" + _ASSIGNMENT + r"\b([0-9]{5,20}-[A-Za-z0-9]{20,42}|[A-Za-z0-9]{50}|[A-Za-z0-9]{40,45}|[A-Za-z0-9]{25})\b", "twitter", "x_api", "x_consumer", "x_access", "consumer", group=1, guess=True),
    _token("facebook-token", r"EAA[A-Za-z0-9]{80,}|IG[QA]{1,2}[A-Za-z0-9_-]{80,}", "eaa", "igq", "iga", entropy=4.3, guess=True),
    _rule("facebook-secret", r"(?i:facebook|instagram|meta_app|" + _TOKEN_START + r"fb_?(?:app|secret|client))" + _ASSIGNMENT + r"\b((?:[0-9]{14,17}(?:\||%7C))?[a-f0-9]{32}|[0-9]{14,17}(?:\||%7C)[A-Za-z0-9_-]{27})\b", "facebook", "instagram", "meta_app", "fb_", "fbapp", "fbsecret", "fbclient", group=1),
    _token("linkedin-secret", r"WPL_AP[01]\.[A-Za-z0-9]{16}\.[A-Za-z0-9+/=]{8,}|AQ[TUVWX][A-Za-z0-9_-]{150,}", "wpl_ap", "aqt", "aqu", "aqv", "aqw", "aqx"),
    _token("tiktok-token", r"(?:act|rft|clt)\.[A-Za-z0-9!_*.-]{40,}[A-Za-z0-9_-]|pin[ar]_[A-Za-z0-9]{60,}", "act.", "rft.", "clt.", "pina_", "pinr_", entropy=3.8, guess=True),
    _token("mapbox-token", r"[st]k\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{16,}", "sk.eyj", "tk.eyj"),
    _word("maxmind-key", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29,40}_mmk", "_mmk"),
    _word("clickup-token", r"pk_[0-9]{5,9}_[A-Z0-9]{32}", "pk_"),
    _named("todoist-token", "todoist|toggl|harvest|clockify", r"[a-f0-9]{40}|[a-f0-9]{32}|[A-Za-z0-9]{48}", guess=True),
    _word("calcom-key", r"cal_(?:[a-z]{2,10}_)?[a-f0-9]{32}", "cal_"),
    _rule("cloudinary-url", r"cloudinary://[0-9]{12,18}:([A-Za-z0-9_-]{20,})@", "cloudinary://", group=1),
    # Package registries
    _rule("docker-token", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}", "dckr_pat_", "dckr_oat_"),
    _rule("docker-swarm-token", r"SWMTKN-(?:1|2-[01])-[a-z0-9]{50}-[a-z0-9]{25}|SWMKEY-1-[A-Za-z0-9+/]{43}", "swmtkn-", "swmkey-"),
    _rule("docker-config-auth", r"\\{0,3}[\"'](?:auth|identitytoken|registrytoken)\\{0,3}[\"']\s{0,3}:\s{0,3}\\{0,3}[\"']([A-Za-z0-9+/_.-]{12,}={0,2})", "auth", "identitytoken", "registrytoken", group=1, entropy=3.0, guess=True),
    _word("jfrog-token", r"AKCp[A-Za-z0-9]{10,}|cmVmdGtu[A-Za-z0-9]{50,}", "akcp", "cmvmdgtu", entropy=3.8, guess=True),
    _word("npm-token", r"npm_[A-Za-z0-9]{36,}", "npm_"),
    _rule("npmrc-auth", r"(?::|" + _TOKEN_START + r")_(?:authToken|auth|password)[\"'\\]{0,4}\s{0,3}=\s{0,3}[\"'\\]{0,4}([A-Za-z0-9+/_.=-]{7,}[A-Za-z0-9+/_=-])", "_auth", "_password", group=1, claim="rest", entropy=2.8),
    _token("pypi-token", r"pypi-[A-Za-z0-9_-]{50,}", "pypi-"),
    _rule("rubygems-key", r"rubygems_[a-f0-9]{48}", "rubygems_"),
    _word("nuget-key", r"oy2[a-z0-9]{43}", "oy2"),
    _word("crates-token", r"cio[A-Za-z0-9]{32}", "cio"),
    _rule("clojars-token", r"CLOJARS_[A-Za-z0-9]{40,}", "clojars_"),
    _token("packagist-token", r"packagist_[a-z]{2,5}_[a-f0-9]{60,}", "packagist_"),
    _rule("hex-pm-key", r"(?i:hex_api_key|hex[ _.-](?:pm|key))" + _ASSIGNMENT + r"\b([a-f0-9]{32})\b", "hex_api_key", "hex pm", "hex_pm", "hex.pm", "hex-pm", "hex key", "hex_key", "hex.key", "hex-key", group=1),
    _rule("maven-password", r"<(?:password|passphrase|privateKey|master)>\s{0,3}\{([A-Za-z0-9+/=]{16,})\}", "<pass", "<privatekey", "<master", group=1, claim="rest"),
    _named("registry-token", "buf_token|cloudsmith|gemfury|anaconda", r"[a-f0-9]{40,64}|[A-Za-z0-9-]{20,42}", entropy=3.3, guess=True),
    _token("open-vsx-token", r"(?:ovsxat|ovsxp|jsrp|jsrd)_[A-Za-z0-9-]{32,}", "ovsxat_", "ovsxp_", "jsrp_", "jsrd_"),
    # Headers, addresses, commands and configuration files, by their syntax
    _rule("authorization-header", r"(?i)" + _TOKEN_START + r"(?:proxy-)?authorization[\"'\\\])]{0,6}\s{0,3}[:=,]\s{0,3}[\"'\\]{0,4}(?:Basic|Negotiate|NTLM)(?:\s|%20|\+){1,2}([A-Za-z0-9+/_-]{8,}={0,2})", "authorization", group=1, entropy=2.8, allow=(Allowance(patterns=(_PLACEHOLDER,)),)),
    _rule("authorization-digest", r"(?i)Digest\s[^\n]*?\bresponse=[\"'\\]{0,4}([a-f0-9]{32,64})", "response=", group=1),
    _rule("authorization-oauth1", r"(?i)oauth_(?:signature|token|consumer_key|token_secret)=[\"'\\]{0,4}([A-Za-z0-9%+/=_-]{16,})", "oauth_", group=1, entropy=3.0, guess=True),
    _rule("url-password", r"(?i)" + _TOKEN_START + r"[a-z][a-z0-9+.-]{1,20}:\\?/\\?/[^\s/:@\"'<>\x60\\|?#,;()]{0,80}:((?:[^\s/@\"'<>\x60\\{}$%*\[(#?.,;|]|%[0-9a-f]{2})[^\s/@\"'<>\x60\\{}]{2,}(?:@[^\s/@?#=&\"'<>\x60\\{}]{1,60})?)@(?:[a-z0-9\[_$({%-]|\\{0,3}[\"'])", "://", ":\\\\/\\\\/", group=1, claim="rest", allow=(Allowance(patterns=(_MASK, _PLACEHOLDER, r"(?i)^(?:pass|pw|pwd)$", r"^(?:[0-9]{1,5}|port)$")),)),
    _rule("url-user-token", r"(?i)" + _TOKEN_START + r"(?:https?|git|ssh|ftp)://([A-Za-z0-9_.~-]{20,})(?::x-oauth-basic|:)?@[a-z0-9](?:[a-z0-9.:-]{2,80}/[0-9]{1,20}(?:[^\w/.-]|$))?", "://", group=1, entropy=3.5, guess=True, allow=(Allowance(patterns=(r"//[a-f0-9]{32}@[^/]+/[0-9]+(?:[^\w/.-]|$)",), over="match"),)),
    _rule("connection-string-password", r"(?i)" + _PASSWORD_NAME + r"=([^\s;\"'<>\x60\\{}$,&()]{4,})\s?;", *_PASSWORD_NAME_KEYWORDS, group=1, claim="rest", allow=_ALLOW_MASKS),
    _rule("libpq-password", r"(?i)" + _TOKEN_START + r"(?:host|user|dbname|port)=[^\s\"']{1,80}\s(?:[^\n\"']{0,80}\s)?password=((?:[^\s\"'<>\x60\\{}$]|<[^\s\"'/])(?:[^\s\"'<\x60\\{}$]|<[^\s\"'/]){2,}[^\s\"'<>\x60\\{}$,;)\].:])", "password=", group=1, claim="rest", allow=_ALLOW_MASKS),
    _rule("dsn-password", r"(?i)[\"'\x60\s=][a-z0-9_.-]{1,40}:([^\s:@/\"'<>\x60\\{}$%]{4,64})@(?:(?:tcp|unix|cloudsql)\(|/[a-z])", "@tcp(", "@unix(", "@cloudsql(", "@/", group=1, claim="rest", allow=(*_ALLOW_MASKS, Allowance(patterns=(r":[a-z-]+@/",), over="match"))),
    _rule("oracle-connect-password", r"(?i)" + _TOKEN_START + r"(?:sqlplus|expdp|impdp|rman|sqlldr|jdbc:oracle:(?:thin|oci8?):)[^\n]{0,20}?[a-z0-9_]{1,30}/([^\s@/\"'<>\x60\\{}$]{4,})@|" + _TOKEN_START + r"(?:sqlplus|expdp|impdp|rman\s+target|sqlldr)(?:\s+-[a-z]{1,2})*\s+[\"']?[a-z][\w$#]{0,29}/" + _ORACLE_PASSWORD + r"[\"']?(?:[ \t]*(?:$|\n|[<|;&@])|[ \t]+(?:as\s+sys|[a-z_]{3,20}=))|(?:SQL>[ \t]*conn(?:ect)?|(?-i:(?:^|\n)[ \t]*CONN(?:ECT)?))[ \t]+[a-z][\w$#]{0,29}(?:\[\w{1,30}\])?/" + _ORACLE_PASSWORD + r"(?:@\S{1,80})?(?:[ \t]+as[ \t]+sys\w{2,6})?;?[ \t]*(?:\n|$)", "sqlplus", "expdp", "impdp", "rman", "sqlldr", "jdbc:oracle:", "sql>", "conn", group=FIRST_GROUP, claim="rest", allow=_ALLOW_MASKS),
    _claim("sql-password", r"(?:identified\s(?:with\s[a-z0-9_\"']{3,40}\s)?(?:by|as)(?:\spassword)?|" + _TOKEN_START + r"(?:password|psk|xauth|eap)|[\w:.-](?:pass(?:w(?:or)?d|phrase)?|pwd|pw|psk)|with\s(?:encrypted\s)?password(?:\s?=)?|set\spassword[^\n;=]{0,60}=)", r"\s{1,8}[\"']", "identified", "pass", "pwd", "pw ", "psk", "xauth", "eap"),
    _rule("curl-user", r"(?i)" + _TOKEN_START + r"(?:curl|wget|https?|xh)\b[^\n|;]*?\s(?:-[a-z]{0,6}u|--user|--proxy-user|-a|--auth)[\s=]{0,2}(?:[\"'\\]{0,4}[^\s:\"'<>{}$]{0,60}:([^\s\"'<>\x60\\{}$/:][^\s\"'<>\x60\\{}$]{3,})|'[^\s:'<>{}$]{0,60}:([^'\n]{4,})')", "curl", "wget", "http", "xh", group=FIRST_GROUP, claim="rest", allow=_ALLOW_MASKS),
    _rule("sudo-password", r"(?i)" + _TOKEN_START + r"echo\s(?:-n\s)?(?:'([^'\n]{4,})'|[\"'\\]{0,8}([^\s\"'<>\x60\\{}$|;]{4,})[\"'\\]{0,8})\s{0,2}\|\s{0,2}(?:sudo\s-[a-z]*S|passwd\s--stdin|docker\slogin[^\n]*--password-stdin|cryptsetup|gh\sauth\slogin)", "echo", group=FIRST_GROUP, claim="rest", allow=_ALLOW_MASKS),
    _rule("chpasswd-password", r"(?i)" + _TOKEN_START + r"echo\s(?:-e\s|-n\s)?(?:'[a-z_][a-z0-9_-]{0,31}:([^'\n]{4,})'|[\"'\\]{0,8}[a-z_][a-z0-9_-]{0,31}:([^\s\"'<>\x60\\{}$|;:]{4,})[\"'\\]{0,8})\s{0,2}\|\s{0,2}(?:sudo\s)?chpasswd", "chpasswd", group=FIRST_GROUP, claim="rest"),
    _rule("powershell-secure-string", r"(?i)ConvertTo-SecureString\s+(?:-[a-z]{1,16}\s+){0,3}(?:'([^'\n]{4,})'|\\{0,7}\"([^\"\n<>\x60\\{}$]{4,})\\{0,7}\")", "convertto-securestring", group=FIRST_GROUP, allow=_ALLOW_MASKS),
    _rule("netrc-password", r"(?i)" + _TOKEN_START + r"machine\s+\S{1,80}\s+(?:login\s+\S{1,80}\s+)?password\s+([^\s\"'<>\x60\\]{3,}[^\s\"'<>\x60\\.,;:)\]*])", "machine", group=1, claim="rest"),
    _rule("pgpass-password", r"(?m)(?:^|[\s\"'\x60>(+=]|\\[nrt])[A-Za-z0-9.*-]{1,80}:(?:543[0-9]|6432|6543|\*):[\w*-]{1,40}:[\w*-]{1,40}:([^\s:\"'<>\x60\\]{3,}[^\s:\"'<>\x60\\.,;)*&])", "5430:", "5431:", "5432:", "5433:", "5434:", "5435:", "5436:", "5437:", "5438:", "5439:", "6432:", "6543:", "*:", group=1, claim="rest"),
    _rule("password-hash", r"\$2[abxy]?\$[0-9]{2}\$[A-Za-z0-9./]{53}|\$argon2(?:id|i|d)\$v=[0-9]{1,3}\$[a-z0-9=,]{5,40}\$[A-Za-z0-9+/]{8,}\$[A-Za-z0-9+/]{16,}|\$(?:1|5|6|8|9|y|gy|7|apr1|md5(?:,rounds=[0-9]{1,10})?)\$(?:rounds=[0-9]{1,9}\$)?[A-Za-z0-9./$]{0,100}\$[A-Za-z0-9./]{22,}|\$sha1\$[0-9]{1,10}\$[A-Za-z0-9./]{1,64}\$[A-Za-z0-9./]{28,96}|\$3\$\$[a-f0-9]{32}|" + _TOKEN_START + r"(pbkdf2_sha(?:1|256|512)\$[0-9]{1,8}\$[A-Za-z0-9+/=]{4,}\$[A-Za-z0-9+/]{20,}={0,2})|" + _TOKEN_START + r"((?:scrypt:[0-9:]{3,20}|pbkdf2:sha[0-9]{1,3}(?::[0-9]{1,8})?)\$[A-Za-z0-9+/]{4,}\$[a-f0-9]{32,})|" + _TOKEN_START + r"(scrypt\$[0-9]{3,8}\$[A-Za-z0-9+/]{4,}\$[0-9]{1,3}\$[0-9]{1,3}\$[A-Za-z0-9+/]{40,}={0,2})|" + _TOKEN_START + r"((?:sha1|md5)\$[A-Za-z0-9]{4,}\$(?:[a-f0-9]{40}|[a-f0-9]{32}))|" + _TOKEN_START + r"(SCRAM-SHA-(?:1|256|512)\$[0-9]{3,8}:[A-Za-z0-9+/]{8,}={0,2}\$[A-Za-z0-9+/]{26,}={0,2}:[A-Za-z0-9+/]{26,}={0,2})|\$scrypt\$[a-z0-9=,]{5,40}\$[A-Za-z0-9+/]{4,}\$[A-Za-z0-9+/]{16,}|\$[PH]\$[A-Za-z0-9./]{31}|\{(?:SSHA|SHA|SMD5|SSHA256|SSHA512|CRYPT)\}[A-Za-z0-9+/$.]{24,}={0,2}", "$2", "$argon2", "$1$", "$3$$", "$5$", "$6$", "$8$", "$9$", "$y$", "$gy$", "$7$", "$apr1$", "$md5", "pbkdf2", "scrypt", "sha1$", "md5$", "scram-sha-", "$p$", "$h$", "{ssha", "{sha", "{smd5", "{crypt", group=FIRST_GROUP),
    _rule("kerberos-hash", r"\$krb5(?:asrep|tgs|pa)\$[0-9]{1,2}\$(?:(?:\*[^*\n]{1,200}\*|[\w.@-]{1,100}(?:\$[\w.@-]{1,100})?)[$:])?[a-f0-9]{12,}(?:\$[a-f0-9]{64,})?", "$krb5"),
    _rule("cisco-password", r"(?i)" + _TOKEN_START + r"(?:enable\s(?:secret|password)(?:\slevel\s[0-9]{1,2})?|username\s\S{1,40}\s(?:privilege\s[0-9]{1,2}\s)?(?:secret|password)|snmp-server\scommunity|(?:tacacs|radius)(?:-server)?\s(?:host\s[^\n]{1,80}?\s|server\s[^\n]{1,60}\n(?:[ \t]+[^\n]{1,80}\n){0,4}?[ \t]+)?key|pre-shared-key|wpa-psk\sascii|key-string)\s(?:[0-9]\s)?([^\s\"'<>\x60\\]{3,}[^\s\"'<>\x60\\.,;:)\]*&])", "enable", "username", "snmp-server", "tacacs", "radius", "pre-shared-key", "wpa-psk", "key-string", group=1, claim="rest", guess=True),
    _rule("wifi-password", r"(?i)" + _TOKEN_START + r"(?:wpa_passphrase|psk|wpa_psk|wep_key0|passphrase)=(?:[\"'\\]{0,4}([^\s\"'<>\\{}$&]{8,63})|\\?\"([^\"\n\\<>{}$]{8,63})\\?\")|" + _TOKEN_START + r"WIFI:(?:[TSH]:[^;]{0,32};){1,3}P:([^;]{8,63});", "psk=", "wpa_passphrase", "wep_key", "wifi:", "passphrase=", group=FIRST_GROUP, claim="rest", allow=_ALLOW_MASKS),
    _rule("ansible-vault", r"\$ANSIBLE_VAULT;[0-9.]{3};AES(?:256)?(?:;[\w.-]{1,40})?(?:(?:\s|\\+[nrt]|[|\"'+]){1,12}[0-9a-f]{60,80})+", "$ansible_vault"),
    _rule("rails-master-key", r"(?i)(?:rails_master_key|secret_key_base|master\.key)[\"'\\\])]{0,5}\s{0,3}[:=]{0,2}\s{0,3}[\"'\\]{0,4}([a-f0-9]{128}|[a-f0-9]{32})\b", "rails_master_key", "secret_key_base", "master.key", group=1),
    _rule("laravel-app-key", r"(?i)" + _TOKEN_START + r"APP_KEY[\"'\\]{0,4}\s{0,3}[:=]\s{0,3}[\"'\\]{0,4}(base64:[A-Za-z0-9+/]{22,44}={0,2})", "app_key", group=1),
    _rule("django-secret-key", r"(?i)" + _TOKEN_START + r"SECRET_KEY[\"'\\\])]{0,5}\s{0,3}(?::\s?\w{1,8}\s?)?[:=,]{1,2}\s{0,3}[bru]?[\"'\\]{1,4}((?:django-insecure-)?[^\s\"'\\]{24,})", "secret_key", group=1, entropy=3.3, guess=True, allow=_ALLOW_CODE),
    _rule("dotnet-machine-key", r"(?i)" + _TOKEN_START + r"(?:validationKey|decryptionKey)\s{0,2}=\s{0,2}\\{0,3}[\"']([A-F0-9]{32,128})", "validationkey", "decryptionkey", group=1),
    _rule("wordpress-salt", r"(?i)(?:AUTH|SECURE_AUTH|LOGGED_IN|NONCE)_(?:KEY|SALT)[\"'],\s{0,10}[\"']([^'\"\n]{40,80})[\"']", "_key'", "_salt'", "_key\"", "_salt\"", group=1, guess=True),
    # Vendors by a common prefix or by the name beside the value
    _token("openai-like-prefixed-key", r"sk-[a-z]{2,12}(?:-v?[0-9a-z]{1,6})?-[A-Za-z0-9_-]{32,}", "sk-", entropy=3.8, guess=True),
    _rule("openai-style-key", _TOKEN_START + r"(?:(sk-[A-Za-z0-9]{32,})|(sk-[A-Za-z0-9_-]{22})(?:[^A-Za-z0-9_=/-]|$))", "sk-", group=FIRST_GROUP, entropy=3.0, allow=(Allowance(patterns=(_PLACEHOLDER, _MASK, _KEBAB)),)),
    _token("sk-underscore-key", r"sk_(?:[a-z]{2,8}_)?[A-Za-z0-9]{32,}", "sk_"),
    _rule("observability-vendor-key", r"(?i:(?:" + _TOKEN_START + r"|_)(?:rollbar|bugsnag|logdna|mezmo|loggly|papertrail|sumo_?logic|appsignal|scout|raygun|airbrake|mixpanel|amplitude|segment|logz_?io|coralogix|axiom|better_?stack|logtail|statsig|checkly|uptimerobot|statuspage|instana|signalfx|lightstep|heap|fullstory|hotjar|rudderstack|snowplow|split_?io|optimizely|configcat|flagsmith|growthbook|unleash))[\w. -]{0,16}(?i:key|token|secret|auth)" + _ASSIGNMENT + r"\b([A-Za-z0-9+/_-]{20,90})(?:[^A-Za-z0-9+/_-]|$)", "rollbar", "bugsnag", "logdna", "mezmo", "loggly", "papertrail", "sumologic", "sumo_logic", "appsignal", "scout", "raygun", "airbrake", "mixpanel", "amplitude", "segment", "logzio", "logz_io", "coralogix", "axiom", "betterstack", "better_stack", "logtail", "statsig", "checkly", "uptimerobot", "statuspage", "instana", "signalfx", "lightstep", "heap", "fullstory", "hotjar", "rudderstack", "snowplow", "splitio", "split_io", "optimizely", "configcat", "flagsmith", "growthbook", "unleash", group=1, entropy=3.2, guess=True),
    _rule("model-vendor-key", r"(?i:(?:" + _TOKEN_START + r"|_)(?:ai21|clarifai|novita|sambanova|hyperbolic|deepinfra|lepton|lambda_?(?:labs|cloud)?|nebius|scale_?ai|huggingface|stability|luma|runway|ideogram|cartesia|rime|hume|unstructured|llama_?cloud|dashscope|moonshot|zhipu|minimax|baichuan|siliconflow|volc|ark|serpapi|serper|scrapingbee|browserbase|apify|e2b|mem0|letta|cohere|portkey|braintrust|arize|galileo|comet|neptune|clearml|roboflow))[_. -](?i:[\w. -]{0,12}(?:api|token|key|secret))" + _ASSIGNMENT + r"\b([A-Za-z0-9_|.-]{20,128})\b", "ai21", "clarifai", "novita", "sambanova", "hyperbolic", "deepinfra", "lepton", "lambda", "nebius", "scale", "huggingface", "stability", "luma", "runway", "ideogram", "cartesia", "rime", "hume", "unstructured", "llama", "dashscope", "moonshot", "zhipu", "minimax", "baichuan", "siliconflow", "volc", "ark", "serpapi", "serper", "scrapingbee", "browserbase", "apify", "e2b", "mem0", "letta", "cohere", "portkey", "braintrust", "arize", "galileo", "comet", "neptune", "clearml", "roboflow", group=1, entropy=3.3, guess=True),
    _rule("mail-vendor-key", r"(?i:mailjet|" + _TOKEN_START + r"mj_api|sparkpost|loops|customer_?io|elastic_?email|sendpulse|mailerlite|active_?campaign|iterable|braze|socketlabs|mailtrap|smtp2go)[\w. -]{0,20}(?i:secret|token|key|private|password)" + _ASSIGNMENT + r"\b([A-Za-z0-9_-]{20,72})\b", "mailjet", "mj_api", "sparkpost", "loops", "customerio", "customer_io", "elasticemail", "elastic_email", "sendpulse", "mailerlite", "activecampaign", "active_campaign", "iterable", "braze", "socketlabs", "mailtrap", "smtp2go", group=1, entropy=3.2, guess=True),
    _rule("messaging-vendor-key", r"(?i:plivo|sinch|messagebird|infobip|clicksend|textmagic|pushover|pusher|sendbird|getstream|stream_api)[\w. -]{0,16}(?i:secret|token|key|password|auth)" + _ASSIGNMENT + r"\b([A-Za-z0-9_-]{20,60})\b", "plivo", "sinch", "messagebird", "infobip", "clicksend", "textmagic", "pushover", "pusher", "sendbird", "getstream", "stream_api", group=1, entropy=3.3, guess=True),
    _rule("payment-vendor-key", r"(?i:chargebee|recurly|dwolla|payu|paymongo|iyzico|transferwise|truelayer|marqeta|authorize_?net|worldpay|paymill|paysafe)[\w. -]{0,16}(?i:secret|token|key)" + _ASSIGNMENT + r"\b([A-Za-z0-9_-]{20,64})\b", "chargebee", "recurly", "dwolla", "payu", "paymongo", "iyzico", "transferwise", "truelayer", "marqeta", "authorizenet", "authorize_net", "worldpay", "paymill", "paysafe", group=1, entropy=3.3, guess=True),
    _rule("business-vendor-key", r"(?i:zendesk|freshdesk|freshservice|freshworks|help_?scout|gorgias|pipedrive|copper|zoho|freshbooks|quickbooks|xero|netsuite|bamboo_?hr|workday|greenhouse|gusto|rippling|docusign|hellosign|pandadoc)[\w. -]{0,16}(?i:key|token|secret)" + _ASSIGNMENT + r"\b([A-Za-z0-9._-]{20,64})\b", "zendesk", "freshdesk", "freshservice", "freshworks", "helpscout", "help_scout", "gorgias", "pipedrive", "copper", "zoho", "freshbooks", "quickbooks", "xero", "netsuite", "bamboohr", "bamboo_hr", "workday", "greenhouse", "gusto", "rippling", "docusign", "hellosign", "pandadoc", group=1, entropy=3.3, guess=True),
    _rule("social-vendor-key", r"(?i:linkedin|spotify|reddit|tiktok|pinterest|snapchat|flickr|tumblr|vimeo|strava|fitbit|soundcloud|unsplash|giphy|foursquare|yelp|uber|lyft|ebay|etsy|steam)[\w. -]{0,16}(?i:secret|token|key|password)" + _ASSIGNMENT + r"\b([A-Za-z0-9_-]{16,64})\b", "linkedin", "spotify", "reddit", "tiktok", "pinterest", "snapchat", "flickr", "tumblr", "vimeo", "strava", "fitbit", "soundcloud", "unsplash", "giphy", "foursquare", "yelp", "uber", "lyft", "ebay", "etsy", "steam", group=1, entropy=3.2, guess=True),
    _rule("quality-vendor-token", r"(?i:coveralls|codacy|code_?climate|cc_test_reporter|deepsource)" + _ASSIGNMENT + r"\b([a-f0-9]{32,64}|[A-Za-z0-9]{32,37})\b", "coveralls", "codacy", "codeclimate", "code_climate", "cc_test_reporter", "deepsource", group=1, guess=True),
    _rule("vector-store-key", r"(?i:weaviate|qdrant|zilliz|milvus|typesense|meili|chroma)[\w. -]{0,16}(?i:key|token|secret)" + _ASSIGNMENT + r"\b(ck-[A-Za-z0-9]{40,}|[A-Za-z0-9_|.-]{20,100})\b", "weaviate", "qdrant", "zilliz", "milvus", "typesense", "meili", "chroma", group=1, entropy=3.5, guess=True),
    _rule("vendor-key", r"(?i:(?:" + _TOKEN_START + r"|_)(?:here|heremaps|tomtom|open_?weather(?:_?map)?|weather|accuweather|ipinfo|ipstack|ipgeolocation|ipdata|max_?mind|etherscan|infura|alchemy|moralis|quicknode|helius|shodan|virus_?total|censys|abuseipdb|greynoise|alienvault|otx|securitytrails|urlscan|hunter_?io|clearbit|fullcontact|news_?api|alpha_?vantage|polygon_?io|finnhub|quandl|iex_?cloud|coinmarketcap|coingecko|coinapi|cryptocompare|fixer|exchange_?rate|tmdb|omdb|rapid_?api|mashape|pexels|pixabay|imgur|cloudinary|imagekit|uploadcare|filestack|transloadit|mux|bunny(?:cdn)?|keycdn|stackpath|wasabi|storj|pinata|web3_?storage|livekit|agora|daily_?co|opentok|tokbox|deepl|wit_?ai|wolfram|monday|clickup|todoist|calendly|miro|canva|webflow|wix|squarespace|bitly|rebrandly|cloudconvert|pdfshift|shipengine|aftership|taxjar|avalara|smarty(?:streets)?|lokalise|crowdin|phrase|transifex|snowflake|looker|tableau|metabase|mode|hightouch|fivetran|airbyte|census|retool|appsmith|budibase|gitbook|confluent|redpanda|kong|apigee|tyk|zuplo|mandrill|mailosaur|testrail|browser_?stack|sauce(?:_?labs)?|lambda_?test|applitools|launchable|datocms|crates|packagist|gemfury|cloudsmith|anaconda|conda|nexus|artifactory))[_. -]?(?i:[\w. -]{0,14}(?:key|token|secret|password|appid|auth))" + _ASSIGNMENT + r"\b([A-Za-z0-9_-]{16,90})\b", "key", "token", "secret", "password", "appid", "auth", group=1, entropy=3.2, guess=True),
    # Any secret, by the name beside it
    _rule("session-cookie-name", r"(?i)" + _TOKEN_START + r"(?:PHPSESSID|JSESSIONID|ASP\.NET_SessionId|ASPXAUTH|connect\.sid|laravel_session|ci_session|(?-i:sessionid)|csrftoken|XSRF-TOKEN|__Secure-[A-Za-z0-9.-]{2,40}|__Host-[A-Za-z0-9.-]{2,40}|AWSALB|li_at|auth_token|d_c0|sid|SSID|HSID|SAPISID)[\"'\\]{0,4}[=:]\s{0,2}[\"'\\]{0,4}((?:s%3A|s:)?[A-Za-z0-9%_.+/|=-]{19,}[A-Za-z0-9%_+/|=-])", "phpsessid", "jsessionid", "sessionid", "aspxauth", "connect.sid", "_session", "csrftoken", "xsrf-token", "__secure-", "__host-", "awsalb", "li_at", "auth_token", "d_c0", "sid", group=1, entropy=3.0, guess=True, allow=_ALLOW_CODE),
    _claim("url-parameter-password", r"[?&;](?:amp;|u0026)?[a-z0-9_.-]{0,16}(?:passw(?:or)?d|pwd|passphrase|senha|" + _TOKEN_START + r"pass)", "=", "password=", "passwd=", "pwd=", "passphrase=", "senha=", "pass="),
    _rule("url-parameter-secret", r"(?i)[?&;#](?:amp;|u0026)?(?:[a-z0-9_.-]{0,20}(?:token|api_?-?key|apikey|secret|passw(?:or)?d|passphrase|pwd|auth|signature|credential|session_?id)|key|sig|code|hash|sid|access_?key|license_?key|appid|pass|pw|subscription-key|jwt|assertion|ticket|sign)(?:=|%3D)([A-Za-z0-9%._~+/=-]{11,}[A-Za-z0-9_~+/=-])", "token", "key", "secret", "pass", "pwd", "auth", "signature", "credential", "session", "sig", "code", "hash", "sid", "appid", "pw", "jwt", "assertion", "ticket", "sign", group=1, entropy=3.0, guess=True, allow=_ALLOW_CODE),
    _rule("authorization-token", r"(?i)" + _TOKEN_START + r"(?:proxy-)?authorization[\"'\\\])]{0,6}\s{0,3}[:=,]\s{0,3}[\"'\\\x60]{0,4}(?:[A-Za-z][A-Za-z0-9_-]{1,20}(?:\s|%20|=)(?:token=)?[\"'\\]{0,4})?([A-Za-z0-9._~+/!:=-]{15,}[A-Za-z0-9_~+/=-])", "authorization", group=1, entropy=3.0, guess=True, allow=_ALLOW_NAMES),
    _rule("bearer-token", r"(?i)" + _TOKEN_START + r"bearer(?:\s|%20|[=:]){1,3}[\"'\\\x60]{0,4}([A-Za-z0-9._~+/=|:-]{15,}[A-Za-z0-9_~+/=-])", "bearer", group=1, entropy=3.0, guess=True, allow=_ALLOW_NAMES),
    _rule("cryptographic-key", r"(?i)" + _TOKEN_START + r"(?:hmac|aes|des|encrypt(?:ion)?|decrypt(?:ion)?|crypto|cipher|jwt|signing|master|private|secret|fernet|nacl|vapid_private|kms)[_ -]?(?:secret|key|seed|iv)[\w]{0,8}[\"'\\\])]{0,5}\s{0,3}(?::=|=>|[:=,(]{1,2})\s{0,3}[brx]?[\"'\\\x60]{0,4}((?:0x)?[a-f0-9]{32,128}|[A-Za-z0-9+/_-]{42,88}={0,2})(?:[^A-Za-z0-9+/=_-]|$)", "key", "secret", "seed", "iv", group=1, entropy=3.0, guess=True, allow=_ALLOW_CODE),
    _claim("terraform-variable", r"variable\s+\\{0,3}\"[\w-]{0,40}(?:" + _PASSWORD_NAME + r"|secret|token|key|credential)", r"[\w-]{0,20}\\{0,3}\"(?:\s|\\+[nrt])*\{[^}]*?default\s*=\s*" + _OPENING, "variable"),
    _claim("named-value-pair", r"(?:name|key|parameter(?:_?key)?|id|variable)[\"'\\]{0,4}\s{0,3}[=:]\s{0,3}[\"'\\]{0,4}[\w.:/-]{0,40}(?:" + _PASSWORD_NAME + r"|secret|token|key|credential|auth)", r"[\w.-]{0,20}[\"'\\]{0,4}[,;]?(?:\s|\\+[nrt]){0,24}-?\s?[\"'\\]{0,4}(?:string_?)?(?:value|parameter_?value|default)[\"'\\]{0,4}\s{0,3}[=:]\s{0,3}" + _OPENING, "value", "default"),
    _claim("plist-secret", r"<key>[\w.: -]{0,30}(?:" + _PASSWORD_NAME + r"|secret|token|api_?-?key)", r"[\w. -]{0,20}</key>(?:\s|\\+[nrt]){0,40}<string>", "<key>"),
    _claim("xml-secret", r"<[\w.:-]{0,30}(?:" + _PASSWORD_NAME + r"|secret|token|credentials?|key|auth)", r"[\w.-]{0,20}(?:\s[^<>]{0,60})?>\s{0,4}(?:<!\[CDATA\[|<string>)?\s{0,4}", "<"),
    _claim("set-variable-secret", r"(?:#define|" + _TOKEN_START + r"(?:setx|env|arg|set\s-[a-z]{1,3}|set-item\senv:|git\sconfig(?:\s--[a-z]+)*|heroku\sconfig:set|npm\sconfig\sset|aws\sconfigure\sset|setenv|gh\ssecret\sset|putenv|pip\sconfig\sset))\s+[\"']?[\w./:-]{0,40}(?:" + _PASSWORD_NAME + r"|secret|token|key|credential|auth)", r"[\w.-]{0,20}[\"']?[ \t=,]{1,3}(?:-Value\s|--body\s|-b\s)?" + _OPENING, "set", "config", "putenv", "#define", "env", "arg"),
    _claim("command-password", r"(?:" + _TOKEN_START + r"sshpass\s+-p\s?|" + _TOKEN_START + r"(?:mysql|mariadb)(?:dump|admin|import)?\b[^\n|;]*?\s-p|" + _TOKEN_START + r"mongo(?:sh|dump|restore)?\b[^\n|;]*?\s-p\s|" + _TOKEN_START + r"redis-cli\b[^\n|;]*?\s-a\s|" + _TOKEN_START + r"(?:docker|podman|helm|az|oc|crane|skopeo|nerdctl)\b[^\n|;]*?login\b[^\n|;]*?\s-p\s|" + _TOKEN_START + r"smbclient\b[^\n|;]*?%|" + _TOKEN_START + r"(?:7z|7za|zip|unzip|rar)\b[^\n|;]*?\s-(?:p|P\s)|" + _TOKEN_START + r"ldap\w+\b[^\n|;]*?\s-w\s|" + _TOKEN_START + r"htpasswd\s-[a-z]*b[a-z]*\s\S{1,60}\s\S{1,40}\s|\s--?(?:(?:dest|src)?(?:store|key))?pass(?:in|out)?\s(?:pass:)?|" + _TOKEN_START + r"sqlcmd\b[^\n|;]*?\s-P\s|" + _TOKEN_START + r"l?ftp\b[^\n|;]*?\s(?:-p\s|-u\s[\w.@-]{1,40},)|" + _TOKEN_START + r"(?:mosquitto_[a-z]{3}|cqlsh|bcp|ipmitool|rdesktop)\b[^\n|;]*?\s-[pP]\s|" + _TOKEN_START + r"openssl\senc\b[^\n|;]*?\s-k\s|" + _TOKEN_START + r"net\suser\s\S{1,40}\s|\s/u:\S{1,60}\s(?:[^\n|;]{0,80}\s)?/p:|\s/pass(?:word)?:|(?:passwd|kinit)\b[^\n|;<]{0,60}<<<\s?|user\s\S{1,40}\son\s>|assword[^\n\"]{0,8}\"?[^\n\"]{0,12}\bsend\s(?:--\s)?)", _OPENING, "sshpass", "mysql", "mariadb", "mongo", "redis-cli", "login", "smbclient", "7z", "zip", "rar", "ldap", "htpasswd", "-pass", "storepass", "keypass", "sqlcmd", "ftp", "mosquitto_", "cqlsh", "bcp", "ipmitool", "rdesktop", "openssl enc", "net user", "/p:", "/pass", "<<<", "on >", "send "),
    _claim("command-option-password", r"(?:\s|^|[\"'\x60,(\[=])--?[\w-]{0,24}" + _PASSWORD_NAME, r"[\w-]{0,10}[\"']{0,1}(?:(?:=|[ \t]{1,3})" + _OPENING + r"|,\s{0,2}" + _OPENING_QUOTE + ")", *_PASSWORD_NAME_KEYWORDS),
    _claim("command-option-secret", r"(?:\s|^|[\"'\x60,(\[=])--?[\w-]{0,24}(?:secret|token|auth|credentials?|key)", r"(?:[_-]?(?:secret|value|data))?[\"']{0,1}(?:(?:=|[ \t]{1,3})" + _OPENING + r"|,\s{0,2}" + _OPENING_QUOTE + ")", "secret", "token", "key", "auth", "credential"),
    _rule("login-argument", r"(?i)" + _TOKEN_START + r"(?:\w{0,30}(?:login|authenticate|basic_?auth|sign_?in|(?:set|change\w{0,12}|reset\w{0,12})_?password|with_?credentials|password_?authentication|set_?basic_?auth|plainauth|usernamepassword\w{0,24}|network_?credential|connect|get_?connection)|auth)\s{0,2}(?:=\s{0,2})?\(\s{0,4}(?:(?:\\{0,3}[\"'][^\"'\s\\]{0,200}\\{0,3}[\"']|[a-z_][\w.]{0,30}(?:\(\))?)\s{0,2},\s{0,4}){0,2}\\{0,3}[\"']([^\s\"'<>\x60\\{}$%/]{6,64})\\{0,3}[\"']", "login", "auth", "signin", "sign_in", "password", "credential", "connect", group=1, entropy=2.5, guess=True, allow=_ALLOW_CODE),
    _rule("api-key-header", r"(?i)" + _TOKEN_START + r"(?:x[_-][a-z0-9_-]{0,24}(?:key|token|secret|auth|signature|session|password|credential)[a-z0-9_-]{0,12}|(?:api|app|access|auth|private|deploy|job|session|subscription|functions|ocp-apim-subscription)[_-]?(?:key|token))[\"'\\\])]{0,6}\s{0,3}[:=,]\s{0,3}[\"'\\\x60]{0,4}([A-Za-z0-9._~+/=|-]{15,}[A-Za-z0-9_~+/=-])", "key", "token", "x-", "x_", group=1, entropy=3.0, guess=True, allow=(*_ALLOW_NAMES, Allowance(patterns=(r"^[a-z]{2,12}=[^=]",)))),
    _rule("cookie", r"(?i)(?:[a-z0-9_.-]{0,24}(?:sess|sid\b|auth|token|jwt|csrf|xsrf|login|remember|secret|connect\.sid|phpsessid|identity|credential|" + _TOKEN_START + r"li_at)[a-z0-9_.-]{0,24})=(?:s%3A)?([A-Za-z0-9%_~.+/|=:-]{15,}[A-Za-z0-9%_~+/|=-])(?:;|[\"'\\]|$)", "sess", "sid", "auth", "token", "jwt", "csrf", "xsrf", "login", "remember", "secret", "identity", "credential", "li_at", group=1, entropy=3.0, guess=True, allow=_ALLOW_CODE),
    _rule("call-argument", r"(?i)(?:client|api|auth|token|key|secret|credentials?|bearer|signer|sdk|apikey)\w{0,12}\(\s{0,4}\\{0,3}[\"'\x60]([A-Za-z0-9_+/.=-]{19,}[A-Za-z0-9_+/=-])\\{0,3}[\"'\x60]", "client", "api", "auth", "token", "key", "secret", "credential", "bearer", "signer", "sdk", group=1, entropy=3.4, guess=True, allow=_ALLOW_NAMES),
    _rule("key-value", r"(?i)(?:key|[a-z0-9](?:[_-](?:api|sid|pat|dsn|salt|pin|sk|webhook|seed|psk|otp|bearer|jwt)|(?-i:Pat|Salt|Seed|Dsn|Jwt)))[0-9]{0,2}[\"'\x60\\\])]{0,6}\s{0,3}(?:: ?&?(?:'static )?(?:str|string) ?=|[=:]{1,2}|=>|:=|,|\|\||\?\?)\s{0,4}[\"'\x60\\]{0,8}([A-Za-z0-9_+/.-]{19,}[A-Za-z0-9_+/-]={0,2})(?:[^A-Za-z0-9(\[_.{=]|\.(?:[^A-Za-z0-9]|$)|$)", "key", "api", "sid", "pat", "dsn", "salt", "pin", "sk", "webhook", "seed", "psk", "otp", "bearer", "jwt", group=1, entropy=3.4, guess=True, allow=_ALLOW_NAMES),
    _rule("setting-password", r"(?im)(?:(?:[\w:.-]" + _PASSWORD_NAME + r"|psk|masterauth)[\w-]{0,12}[ \t]+(?:-b[ \t]+\S{1,60}[ \t]+)?(?:[a-z_][a-z_-]{2,20}[ \t]+|[0-9][ \t]+)?|" + _PASSWORD_NAME + r"[ \t]+[0-9][ \t]+|add_user[ \t]+[\w.@-]{1,60}[ \t]+)[\"'\x60]?" + _SETTING_VALUE + r"|^[ \t]*(?:[+>|$#-][ \t]{1,2})?(?:(?-i:[a-z][\w-]{0,20}[ \t]{1,2}))?(?:" + _PASSWORD_NAME + r")[\w-]{0,12}[ \t]+[\"'\x60]?" + _SETTING_VALUE + r"(?:[\"'\x60]|[ \t;]*(?:\r|\\r)?$)", *_PASSWORD_NAME_KEYWORDS, "psk", "masterauth", "add_user", group=FIRST_GROUP, entropy=2.3, guess=True, allow=_ALLOW_SETTINGS),
    _rule("mail-map-password", r"(?i)(?:^|[\s\"'\x60(>*=+])\[?[\w.-]*(?:smtp|mail|relay|mx)[\w-]*(?:\.[\w-]+)+\]?(?::[0-9]{2,5})?[ \t]+[\w.+-]{1,60}(?:@[\w.-]{1,80})?:" + _SETTING_VALUE, "smtp", "mail", "relay", "mx", group=1, entropy=2.3, guess=True, allow=_ALLOW_SETTINGS),
    _rule("spaced-password", r"(?i)" + _PASSWORD_NAME + r"[ \t]{1,2}(?:\|\s)?[\"'\x60*(]{0,3}([A-Za-z0-9_-]*(?:[0-9][A-Za-z0-9_-]*[!@#$%^+]|[!@#$%^+][A-Za-z0-9_-]*[0-9])(?:[A-Za-z0-9_!@#$%^*+?-]*[A-Za-z0-9_!@#$%^+-])?)", *_PASSWORD_NAME_KEYWORDS, group=1, entropy=2.5, guess=True, allow=(Allowance(patterns=(_PLACEHOLDER, _PATH, _VARIABLE, _CALL, _FORMAT, _DOTTED, r"^[a-z]+(?:_[a-z]+)*_?[0-9]?$", r"^[a-z]+(?:/[a-z0-9_-]+){2,}$")),)),
    _rule("spaced-secret", r"(?i)(?:" + _SECRET_NAME + r"\w{0,12}|(?:[_ -]|" + _TOKEN_START + r")key)[\"'\x60*]{0,2}[ \t]{1,2}(?:\|\s)?[\"'\x60*(\[<]{0,3}([A-Za-z0-9_+/.=-]{0,30}?[0-9][A-Za-z]{1,10}[0-9][A-Za-z0-9_+/.=-]{10,}[A-Za-z0-9_+/=-])", *_SECRET_NAME_KEYWORDS, group=1, entropy=3.3, guess=True, allow=(*(*_ALLOW_NAMES, Allowance(patterns=(rf"(?i)^{_UUID}$",))), Allowance(patterns=(r"gpg: key ",), over="line"))),
    _rule("aws-secret-argument", r"(?:AKIA|ASIA)[A-Z0-9]{16}[\"'\\]{0,3}\s{0,4}[,:;|\s]\s{0,8}(?:[A-Za-z_]{1,24}\s?[=:]\s?)?[\"'\\]{0,3}([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)", "akia", "asia", group=1, entropy=4.1),
    _claim("named-password", _PASSWORD_NAME, _CLAIM, *_PASSWORD_NAME_KEYWORDS),
    _claim("named-secret", _OTHER_NAME, _CLAIM, *_OTHER_NAME_KEYWORDS),
    _claim("csv-secret", r"(?m:^)[\w.-]{0,30}(?:" + _SECRET_NAME + r"|_key)", ",", "password,", "passwd,", "passphrase,", "pass,", "pwd,", "secret,", "token,", "key,", "auth,", "creds,", "credential,"),
    # Secrets in sentences
    _rule("secret-before-name", r"(?i)" + _TOKEN_START + r"use\s(?:\"([^\"\n]{6,80})\"|'([^'\n]{6,80})'|\x60([^\x60\n]{6,80})\x60|([^\s\"'\x60]{6,80}))\sas\s(?:the|your|an?)\s(?:[\w-]{1,20}\s){0,3}" + _SECRET_NAME, "use ", group=FIRST_GROUP, guess=True, allow=_ALLOW_NAMES),
    _claim("prose-password", r"(?:" + _PASSWORD_NAME + r"\w{0,16}|" + _TOKEN_START + r"pin)", r"(?:\s(?:for|of|to|de|da|für|pour)(?:\s[\w@./-]{1,30}){1,4})?" + _INTRODUCED, *_PASSWORD_NAME_KEYWORDS, "pin", claim="prose"),
    _claim("prose-secret", r"(?:" + _OTHER_NAME + r"|key)", r"\w{0,16}(?:\s(?:for|of|to|de|da|für|pour)(?:\s[\w@./-]{1,30}){1,4})?" + _INTRODUCED, *_OTHER_NAME_KEYWORDS, claim="prose"),
    # Personal data
    _rule("email", r"[A-Za-z0-9._%+'-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+(?:xn--[A-Za-z0-9-]{1,58}[A-Za-z0-9]|[A-Za-z]{2,24})", "@", personal=True),
    _rule("user-name", r"(?:/home/|/Users/|(?i:[a-z]:(?:\\{1,4}|/)Users(?:\\{1,4}|/))|(?:^|[\s\"'\x60/])-(?:home|Users)-)([^\s/\\\"'<>\x60:*?|,;()\[\]{}$@-][^\s/\\\"'<>\x60:*?|,;()\[\]{}$@-]{0,63})", "/home/", "/users/", ":\\\\users", ":/users/", "-home-", "-users-", group=1, personal=True),
    _rule("ip-address", r"\b(?:(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\b|\b(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}\b|\b(?:[0-9a-fA-F]{1,4}:){1,6}(?::[0-9a-fA-F]{1,4}){1,6}\b|\b(?:[0-9a-fA-F]{1,4}:){2,7}:", personal=True),
)  # fmt: skip
