"""A value behind a strong name is redacted whole or, where it is no secret by the rules, not at all.

Fails when the end of a value is found by the signs that a pattern knows rather than by its carrier, and when a quote
that is escaped or doubled inside of a value ends it; and when what looks a little like code, a variable, a regular
expression or a word is taken for it, or code for a value.
"""

import json
from collections.abc import Callable
from random import Random
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lineage.core.sanitizer import MARKER, Sanitizer

NAMES = ("password", "DB_PASSWORD", "apiKey", "client_secret", "access_token", "passphrase", "Passwort", "secret_key")


def _in_shell(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"


def _doubled(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _in_code(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


# Each writes a name and a value as the syntax demands it, the value between two marks that the test takes out.
CARRIERS: dict[str, Callable[[str, str], str]] = {
    "JSON": lambda name, value: f'{{"user": "ada", {json.dumps(name)}: {_marked(json.dumps(value))}, "port": 5432}}',
    "JSON in JSON": lambda name, value: json.dumps(json.dumps({name: "\0" + value + "\0", "port": 1})).replace(
        "\\\\u0000", "\0"
    ),
    "Python": lambda name, value: f"{name} = {_marked(_in_code(value))}",
    "a Python keyword": lambda name, value: f'connect("db", {name}={_marked(_in_code(value))}, timeout=3)',
    "a Python dictionary": lambda name, value: f"{{'{name}': {_marked(_in_code(value))}, 'port': 1}}",
    "TypeScript": lambda name, value: f"const {name}: string = {_marked(_in_code(value))};",
    "Go": lambda name, value: f"var {name} string = {_marked(_in_code(value))}",
    "Go's short form": lambda name, value: f"\t{name} := {_marked(_in_code(value))}",
    "C++": lambda name, value: f"auto {name} = std::string({_marked(_in_code(value))});",
    "R": lambda name, value: f"{name} <- {_marked(_in_code(value))}",
    "a default": lambda name, value: f'{name} = env("{name}", default={_marked(_in_code(value))})',
    "a list": lambda name, value: f'"{name}s": [{_marked(_in_code(value))}]',
    "export": lambda name, value: f"export {name}={_marked(_in_shell(value))}",
    "a shell's prefix": lambda name, value: f"{name}={_marked(_in_shell(value))} psql -h db",
    "an option": lambda name, value: f"deploy --{name}={_marked(_in_shell(value))} --verbose",
    "YAML": lambda name, value: f"db:\n  {name}: {_marked(_doubled(value))}\n  port: 1",
    "TOML": lambda name, value: f"[db]\n{name} = {_marked(_in_code(value))}\nport = 1",
    "SQL": lambda name, value: f"CREATE USER ada WITH PASSWORD {_marked(_doubled(value))};",
    "an XML attribute": lambda name, value: f'<add key="{name}" value={_marked(quoteattr(value))} />',
    "an XML element": lambda name, value: f"<{name}>\0{escape(value.strip())}\0</{name}>",
    "PHP": lambda name, value: f"$config['{name}'] = {_marked(_in_code(value))};",
    "Terraform": lambda name, value: f'variable "{name}" {{\n  default = {_marked(_in_code(value))}\n}}',
    "a dotenv file": lambda name, value: f"A=b\n{name}={_marked(_in_code(value))}\nC=d",
}

DOUBLED = {"YAML", "SQL"}
UNESCAPED = {"export", "a shell's prefix", "an option", "YAML", "SQL", "an XML attribute", "an XML element"}


def _marked(quoted: str) -> str:
    return f"{quoted[0]}\0{quoted[1:-1]}\0{quoted[-1]}"


VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=6, max_size=60) | st.text(
    st.sampled_from("aB3xK9#mP2$vL5'\"\\`,;(){}<>|&=?[]!@%^*-_.:/~+ é"), min_size=6, max_size=30
)


@pytest.mark.parametrize("carrier", CARRIERS)
@given(name=st.sampled_from(NAMES), value=VALUES)
@example(name="password", value="xK9#mP2$vL5nQ8wR3tY6")
@example(name="password", value="it's 9 o'clock")
@example(name="password", value="ends9in\\")
@example(name="apiKey", value="+ `00;<=A")
@example(name="apiKey", value="`00000012")
@example(name="password", value='"=000"0')
@example(name="password", value='`=000"')
@example(name="password", value="@'000@\"")
@example(name="password", value="'L`00(0")
@example(name="apiKey", value="`a000001122345678")
def test_no_part_of_a_value_stays_beside_its_marker(carrier: str, name: str, value: str) -> None:
    if carrier in UNESCAPED:  # there nobody can tell a backslash that escapes a quote from one that doesn't
        assume("\\" not in value)
    if carrier in DOUBLED:  # `'''x'''` is read as Python's: a value in quotes of its own keeps them
        assume(not (value.startswith("'") and value.endswith("'")))
    before, written, after = CARRIERS[carrier](name, value).split("\0")
    sanitized = Sanitizer().sanitize(before + written + after)
    if sanitized != before + written + after:
        assert sanitized.startswith(before)
        assert sanitized.endswith(after)
        assert MARKER.fullmatch(sanitized[len(before) : len(sanitized) - len(after)])


LONG_TOKENS = {
    "base64": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "base64 for addresses": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    "hex": "0123456789abcdef",
    "parts": "ABCDEFGHIJabcdefghij0123456789.-_~",
    "any signs": "".join(chr(code) for code in range(33, 127) if chr(code) not in "\\\"'`<>[{("),
}
UNQUOTED = {
    "dotenv": lambda name, value: f"A=b\n{name}=\0{value}\0\nC=d",
    "YAML, plain": lambda name, value: f"db:\n  {name}: \0{value}\0\n  port: 1",
    "an address": lambda name, value: f"postgres://ada:\0{value.replace('/', '_')}\0@{name}.example.org/app",
    "PowerShell": lambda name, value: f"${name} = ConvertTo-SecureString '\0{value}\0' -AsPlainText -Force",
    "a cut line": lambda name, value: f'x\n"{name}": "\0{value}\0',
}


@pytest.mark.parametrize("kind", LONG_TOKENS)
@pytest.mark.parametrize("size", [300, 999, 1000, 1200, 5000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_token_of_any_length_is_masked_whole(kind: str, size: int) -> None:
    """Fails where a value is read no further than values mostly go, or judged by what any long text has somewhere."""
    random = Random(size)
    carriers = {**CARRIERS, **UNQUOTED} if kind != "any signs" else CARRIERS
    for carrier, write in carriers.items():
        if size > 5000 and carrier in ("an address", "PowerShell"):
            continue  # found by one pattern up to the closing sign: 16,000 characters at least
        name, value = random.choice(NAMES), "aB3" + "".join(random.choices(LONG_TOKENS[kind], k=size - 4)) + "9"
        before, written, after = write(name, value).split("\0")
        sanitized = Sanitizer().sanitize(before + written + after)
        assert sanitized.startswith(before) and sanitized.endswith(after), carrier
        assert MARKER.fullmatch(sanitized[len(before) : len(sanitized) - len(after)]), carrier


def test_a_long_value_that_is_no_secret_hides_none() -> None:
    """Fails if names are skipped up to the end of a value in which a few have been found."""
    random = Random(7)
    tokens = ["".join(random.choices(LONG_TOKENS["base64"], k=24)) + "aB3" for _ in range(100)]
    sanitized = Sanitizer().sanitize("X_AUTH={" + ",".join(f'"token{at}":"{each}"' for at, each in enumerate(tokens)))
    assert not [token for token in tokens if token in sanitized]


# By what a value was once taken for: each between the two marks is redacted whole.
TAKEN_FOR_ELSE = {
    "a variable": ("CLIENT_SECRET=\0NP2ImJH08HW44$W9L2C\0\nA=b", "api_key = '\0p9e14$paq$DK$q\0'"),
    "a template": ('token = "\0p*+0020{9484)T(rI8b{{7e6NFOp_0:-3qt9X\0"', "secret: '\0Ot:A]VZkpFnBe$(.Vii[>@\0'"),
    "a name in code": (
        "  password: \0Gulcor.239#\0\n",
        "db.password=\0Selpel_433\0\nA=b",
        "  token: \0qZ%u.dlbrN,aK\0\n",
        "setx SMTP_PASSWORD \0Raswick_1930\0\n",
        "redis_password=\0EQd!bLAY+t9{Y.Bye+u\0\n",
    ),
    "the end of a call": (
        "Das Passwort lautet \0a)Lq!N2H&8?(^kIOADw\0 ab heute.",
        "A senha é \0xsoTp)aUzK![\0 até sexta.",
    ),
    "a word and a number": ("The password for staging is \0Gulquin.1870\0 and it expires.",),
    "a call": (
        "  client-secret: \0Q(JDm5B2p[E\0\n",
        "token=\0n)185eS2k7j_n9dfh6AY\0\n",
        "auth_token = \0eZfdZ5Gi(rU/^,w8|\0\n",
    ),
    "a generic type": ("+APP_PASSWORD=\0Yln<qP%<$pz_q]*+i<~z\0\n", "db_password,\0JBOI<SZ-m7+5me\0,ops"),
    "an operator": ("  app_password: \0o<+tOFeukimGHRWrBGOUY\0\n",),
    "a regular expression": (
        "smtp_password = '\0a2N%H@dPW\\DquCm=3w\0'",
        "-e SMTP_PASSWORD='\0m05S6m\\S6gG^KFPX!\0' app",
    ),
    "an identifier": (
        "  password: \0pdSbtvcPwlGsyOrphgmaNJwJnjPXJXHvGGLdv\0\n",
        'apiKey: "\0kTXBqfCiSfKZUQElSUDCpywdNig\0"',
        "GET /items?page=2&passwd=\0YLmZJNJNlyTrZWyEeNyEhpPrdzTVxW\0&sort=name",
    ),
    "a sign in a word": ("jwt_secret = '\0pxW]SNgpQrFO\0'", 'auth_token = "\0WR:nUkhiGQ;Hk\0"'),
    "words": (
        "DB_PASSWORD=\0jinsel-dremcor-gulden-corgul\0\nA=b",
        '"password": "\0correct-horse-battery-staple-42\0"',
    ),
    "a number of a version": ("A senha é \0Marjin$465#\0 até sexta.",),
    "a phrase": ('I set the password to "\0clathap yarulm selbrun jinulm6!\0" so that you can log in.',),
    "a cell": (
        "name,value,owner\nredis_password,\0tX9#k|Q2)v\0,ops",
        "| Kennwort | \0K9VQ;mP051@K2EXv2zvrw2;HP8=s@C1\0 |\n",
    ),
    "the next line": (
        "**Redis password**\n    \x00150a9221-fa68-4b30-b690-c27bcbc2f01a\0\n\nKeep it safe.",
        "Your new github token is:\n\0S5UvYshzJz+9XY++tmYsCs1t7J0=\0\n",
    ),
    "a variable's name": (
        "webapp.ldap.password=\0tigerCat92\0\n",
        "db_password=\0tigerCat9\0\nA=b",
        "  password: \0tigerCat92\0\n",
    ),
    "a foreign word": ('"暗証番号": "\0a=;75wAH@o9\0"', "| clave_secreta | \0NlpcokbEUZYBccIdXPBb\0 |"),
    "what a sentence begins with": ("Use `\0EngUXAY3532lem*xERdz\0` as the root password for now.",),
    "a quoted argument": (
        "mysql -h db -u root -p'\0F4|p/k#!xE)w0FZ)6\0' shop",
        "docker login -u ci -p '\0oB[-0/uh2Fgi(M2Q\0' registry.internal",
        "redis-cli -h cache -a '\0UnY$~76{!.PD1IW\0' ping",
        "sshpass -p '\0N|O?{U;:nqeS+\0' ssh deploy@web-1",
        "keytool -list -storepass \0gm5f8Aj@9BG6hkc\0 -keystore a.jks",
        "curl -sS -u 'app:\0q<Ee3zjpj~(DLyY/v~\0' https://api.internal",
        "curl -sS -u 'app:\0torjin7? yarven balbal\0' https://api.internal",
        "echo 'deploy:\0U3piz(i_<dIV2:xkj0K\0' | sudo chpasswd",
        "echo '\0U3piz(i_<dIV2:xkj0K\0' | sudo -S true",
    ),
    "an escape": (
        '{"c": "It is\\n\0pbkdf2_sha256$600000$ThinG6SRrlmmjjG2$8v0gOPoCJi7MyQE/gFztJtSThvNNXHPHZArrMW46XOF=\0\\n"}',
    ),
    "a wrapped line": ("ENV REMOTE \0hf" + "_XaOMUJjZOfyVTsdCoCdTAPFLqpIryLpvmG\0\nWORKDIR /app\n",),
    "a word behind a setting": (
        "requirepass \x008h2Jk4Lq9Zt1Xw7\0\nport 6379",
        "masteruser replica\nmasterauth \0dVupjaJ4Y_AW9z\0",
        "bindpw \x00u8Rk2LmQx7\0\n",
        "  wpa-psk \x008sKq2LmZx71v\0",
        "auth_pass=\0qFQAhQGbdi3ZAT\0\n",
        "dbpass: \0k7VfZq2mXw\0\n",
        " ppp chap password 0 \0Blue!9eEpK34\0\n",
        "db.internal:5434:orders:app:\0HSsn7k3BNKCtLMWS\0\n",
        "[smtp.corp.io]:587 mailer:\0t7QmZ2wLx9\0",
        'db01 : PSK "\0vG7kLq2mZx91\0"',
        '  master_password                     = "\0Qz7pLw29sVb\0"',
        '    {default_pass, <<"\0qDXW7k3QZPZY\0">>},',
    ),
    "an argument of a command": (
        "grafana-cli admin reset-admin-password \0wT6kQ2mZx\0",
        "rabbitmqctl add_user ada \0JrSiZ.Vk+wTZTs9z\0",
        "redis-cli CONFIG SET requirepass \x00fuTV3LD6wkc\0",
        "net user ada \0Xt3675Y7hEW\0 /add",
        "xfreerdp /u:ada /p:\0Wolf-bFWvz86\0 /v:host",
        "lftp -u ada,\x008c8BCwRkxnfQhkG\0 sftp.corp.io",
        'kinit ada <<< "\0ZsWpad!33tGa9z\0"',
        "ACL SETUSER ada on >\0RhNhC.aRED3p39z\0 ~* +@all",
    ),
    "another setting": (
        "+MASTER_PASSWORD=\0n+q+7;5T@g6OL)w!2o,LS[?6AL*|m%;p4Eu45=]b2\0\n PORT=80",
        "  secret: \0F2$[;%,He33A7=IOyw1$0:?d2BY2rDya8@-W]S1nRk\0\n  port: 1",
        "Enter mysql root password: \0YH%Bppe>C@*/$zQpk;kxtmeO=VM\0\nLogged in.",
        "INFO login user=app account_key=\0T+0|tFk4*Cwb;v_:U0c#F8Y2kDVp.<Tza^6JXBW*%7=jK7S|oh6|6U4sd\0 status=200",
        "INFO login user=app password=\0oC<7t>Lk2mQ9x\0 status=200",
    ),
    "a field of a URL": ("GET /items?passphrase=\0dd9f2503-b2b2-443c-812a-9c44c63908f4\0&sort=name",),
}


@pytest.mark.parametrize("kind", TAKEN_FOR_ELSE)
def test_a_value_that_looks_a_little_like_something_else_is_masked_whole(kind: str) -> None:
    for text in TAKEN_FOR_ELSE[kind]:
        before, value, after = text.split("\0")
        masked = Sanitizer().sanitize(before + value + after)
        assert masked.startswith(before) and masked.endswith(after), text
        assert MARKER.fullmatch(masked[len(before) : len(masked) - len(after)]), text


@pytest.mark.parametrize(
    "text",
    [
        'password = "${DB_PASSWORD:-none}"',
        "password=prefix-$DB_PASSWORD",
        "authorization: `Basic ${Buffer.from(`a`)}`",
        'secret = "{{ vault_secret2 }}"',
        "password = settings.database2_password",
        "password = random_string(20, UNICODE_CHARS)",
        "$token = bin2hex(random_bytes(16));",
        "creds_dict = _ConvertOauth2ClientCredentialsToADC(credentials)",
        "self._token_creds = v1_creds.Token(resp['x-docker-token'])",
        "css$tokens.ColonToken = module$contents$google3$third_party$tokens_ColonToken;",
        "def wrap() -> _PassphraseHelper:\n    @wraps(callback)\n",
        "auth = base64.b64encode(user_pass.encode())",
        "token = auth_header[7:]",
        "Token: tokens[1:-1]",
        "tokenValue = scan(1, 2)",
        "s.password===e.passwordConfirmation,{message:1}",
        "secret: Bug4Secret{1}",
        "token=Token{78af589 ActivityRecord{3b04890",
        "pub api_key: Secret<[u8; 32]>,",
        "#define GRE_KEY __cpu_to_be16(0x2000)",
        "apiKey: getPasswordFromHTTPRequest",
        'accessToken: "fileURLToPath"',
        "(?P<password>[^@\\s/]+)@",
        "password: 'enter-your-new-password'",
        'password = "forgot-password-reset-link"',
        "PASS: linked-other-module-files",
        "token_expiration.strftime('%Y-%m-%dT%H:%M:%SZ')",
        'session_key="main#1"',
        "'redmine'@'localhost' (using password: YES)\\n/var/lib/gems/2.3.0/gems/mysql2-0.5.3/lib/client.rb:90:in "
        "`connect'\\n/var/lib/gems/2.3.0/gems/mysql2-0.5.3/lib/client.rb:90:in `initialize'\\n",
        "import MissingTokenTypeError as MissingTokenTypeError,\n    OAuth2Error as OAuth2Error,\n",
        '"admin-password": "^17.16.8"',
        "this.smtpPassword = smtpPassword;",
        "self.password=userPass2\n",
        "    password=userPass2,\n",
        "password: sha256Utf16,",
        '"tokens": "' + "function(e,t){return e.foo(t),n.bar=2};" * 40 + '"',
        '"token": "data:text/plain;base64,' + "QUJDREVGR0g5" * 100 + '"',
        "gpg: key 3EA1EF54CE8B2812: public key imported",
        "name,token,password\nada,none,optional",
        "**Password**\nRequired\n",
        "Your token is:\nexpired\n",
        "Use OAuth2 as the auth token for now.",
        'mysql -h db -u root -p"$MYSQL_ROOT_PASSWORD" shop',
        "sshpass -p &lt;password&gt; ssh",
        "docker login -u ci -p $TOKEN2 registry.internal",
        "remaining in their original positions--pass `strict=False`.",
        "curl -u username:password https://api.internal",
        "echo 'hello:world' | tee file",
        "Password is correct.&quot;);",
        '"stdout": "/etc/passwd:ada:x:1000:1000::/home/ada:/bin/bash\\n/etc/passwd:bob:x:1001:1001::/home/bob:/bin/sh"',
        '"authority": "dev-container+7b2273657474696e6754797065223a22636f6e7461696e6572222c22227d"',
        '-     "@acme/auth-ui-shared": "^0.1.0"\n+     "next": "^15.0.0",',
        "Loaded X.509 cert 'Build time autogenerated kernel key: de118354fe72448b469776565e76ac30c08e8db2'",
        "ansible-playbook site.yaml --ask-vault-password group_vars9.yaml --skip-tags full",
        '"StartCityKey": "87928c0a-7344-4124-8abe-305115bdf476", "CountryKey": "4AE00AC2-0673-4B13-83FC-E15C72909610"',
        'level=DEBUG msg="sync" sessionId=4e1588fb-3560-4042-92bd-47cd28b30dac requestType=PUT',
        '"cwd":"/home/ada","sessionId":"e8ed2f00-c0b4-43af-8291-147fd5418e95","version":"2.0.76"',
        'sessionID: "019c4cdd-917a-74e3-9b2e-fdb45e9eddc5",',
        '│ "usage":{"input_tokens":8,"cache_cre  │\n│ ation_input_tokens":110,"cache_read_input_tokens":9},',
        "set (`JWT_SECRET=my-super-secret-key`, `SERVICE_URL=http://127.0.0.1:54321`), so nothing else",
        '-H "Authorization: Bearer $TOKEN" "https://$h/api/v1/billing/entitlement" | head',
        "Saved data for key: 2f142FntmmEDKQgg1E2qpCautfXv:snapshot:e3b0c44298fc1c149afbf4c8996fb924 (17 bytes)",
        "image: registry.internal/acme-office-api:deployment-01K0KVQGCVRJEPT50H1W5AT44F",
    ],
)
def test_what_only_looks_like_a_value_stays(text: str) -> None:
    assert Sanitizer().sanitize(text) == text
