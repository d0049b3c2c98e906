"""Lines that look like secrets and hold none: each must come out as it went in."""

from base64 import b64encode
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from benchmarks.redaction_carriers import CARRIERS, PASSWORDS_ONLY, Carrier
from benchmarks.redaction_disguises import MARGINS, row
from benchmarks.redaction_families import fill
from benchmarks.redaction_marks import MAY_OPEN, unmarked
from benchmarks.redaction_values import FOREIGN_NAMES, NAMES, PASSWORD_NAMES, camel, kebab, snake, title, upper

_DASHES = "-" * 5


PLACEHOLDERS = (
    "changeme", "xxxxxxxxxxxxxxxx", "********", "REPLACE_ME", "your-key-here", "your_password", "placeholder",
    "dummy-password", "none", "XXXXXXXX", "CHANGE_ME", "your-secret-here",
)  # fmt: skip
_READABLE = [carrier for carrier in CARRIERS if carrier.id not in {"Secret data", "basic header"}]


class Harmless(NamedTuple):
    """A text without a secret, and what kind of text it is."""

    text: str
    kind: str


def harmless(random: Random, count: int) -> Iterator[Harmless]:
    """The lines of every kind in turn, each time with other names, words and numbers."""
    forms = [(kind, line) for kind, lines in _LINES.items() for line in lines.strip("\n").split("\n")]
    for place in range(count):
        if place % 20 == 10:
            yield Harmless(_in_margin(random), "lines in a margin")
        elif place % 4:
            kind, line = forms[(place - place // 4) % len(forms)]
            yield Harmless(_fill(line.strip(), random), kind)
        else:
            yield Harmless(_twin(_READABLE[place // 4 % len(_READABLE)], random), "carriers of a placeholder")


def _in_margin(random: Random) -> str:
    """Some lines that lie beside each other in a box, a log or a listing, long ones wrapped."""
    lines = [_fill(random.choice(_QUIET_LINES), random) for _ in range(random.randint(4, 8))]
    width = random.randint(60, 76)
    wrapped = [text[start : start + width] for text in lines for start in range(0, len(text), width)]
    margin, end = random.choice(list(MARGINS.values()))
    return "\n".join(row(margin(place + 1, random), text, end, width) for place, text in enumerate(wrapped))


def _twin(carrier: Carrier, random: Random) -> str:
    """Write a placeholder where a secret would stand."""
    names = PASSWORD_NAMES if carrier.id in PASSWORDS_ONLY else NAMES
    text = None
    while text is None or MAY_OPEN in text:  # some carry an access key's id, which is one
        text = carrier.write(random.choice(names), random.choice(PLACEHOLDERS), random)
        carrier = random.choice(_READABLE) if text is None or MAY_OPEN in text else carrier
    return unmarked(text)


def _fill(line: str, random: Random) -> str:
    name = random.choice(NAMES)
    values = {
        "NAME": upper(name), "name": snake(name), "camel": camel(name), "kebab": kebab(name), "title": title(name),
        "Camel": "".join(word.capitalize() for word in name), "foreign": random.choice(FOREIGN_NAMES),
        "hex32": fill("[0-9a-f]{32}", random), "hex40": fill("[0-9a-f]{40}", random),
        "hex64": fill("[0-9a-f]{64}", random), "hex7": fill("[0-9a-f]{7}", random),
        "number": str(random.randint(2, 999)), "version": ".".join(str(random.randint(0, 30)) for _ in range(3)),
        "word": random.choice(_WORDS.split()), "Word": random.choice(_WORDS.split()).capitalize(),
        "uuid": fill("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}", random),
        "alnum24": fill("[A-Za-z0-9]{24}", random), "alnum43": fill("[A-Za-z0-9_-]{43}", random),
        "sha512": b64encode(random.randbytes(64)).decode(), "sha256": b64encode(random.randbytes(32)).decode(),
        "unpadded": b64encode(random.randbytes(32)).decode().rstrip("="),
        "colour": fill("[0-9A-F]{6}", random),
        "der": "MIIB" + fill("[A-Za-z0-9+/]{380}", random) + "IDAQAB", "d": _DASHES, "n": "\n",
        "rows": "\n".join(fill("[A-Za-z0-9+/]{64}", random) for _ in range(6)),
        "ed25519": fill("[A-Za-z0-9+/]{43}", random), "base58": fill("[1-9A-HJ-NP-Za-km-z]{44}", random),
        "colons": ":".join(fill("[0-9a-f]{2}", random) for _ in range(16)), "keyid": fill("[0-9A-F]{16}", random),
    }  # fmt: skip
    for key, value in values.items():
        line = line.replace(f"«{key}»", value)
    return line


_WORDS = "chapter invoice window parser bridge session folder harbour ticket planet basket engine report garden"

# «word» and the like are filled in.
_LINES = {
    "placeholders": """
        «NAME»=your-«kebab»-here
        «NAME»=<your «name»>
        «NAME»=changeme
        «NAME»=
        «name»: "xxxxxxxxxxxxxxxx"
        «NAME»=${«NAME»}
        "«camel»": "<«NAME»>"
        «name» = "REPLACE_ME_WITH_YOUR_KEY"
        export «NAME»="..."
        «NAME»=********
        Password: ************
        «kebab»: [hidden]
        curl -H "Authorization: Bearer <token>" https://api.internal/v1
        curl -H "Authorization: Bearer YOUR_API_KEY" https://api.internal/v1
        curl -u username:password https://api.internal/v1
        postgresql://user:password@localhost:5432/shop
        postgres://USER:PASS@HOST:PORT/NAME
        «foreign»: ********
    """,
    "variables": """
        «NAME»=$«NAME»
        «NAME»="$(pass show shop/«kebab»)"
        export «NAME»="${«NAME»:-}"
        «NAME»: ${{ secrets.«NAME» }}
        «name»: {{ .Values.«camel» }}
        «name»: "{{ vault_«name» }}"
        «name» = var.«name»
        password: !Ref DatabasePassword
        --«kebab»="$«NAME»"
        --«kebab» "${«NAME»}"
        mysql -h db -u root -p"$MYSQL_ROOT_PASSWORD" shop
        curl -u "$USER:$PASSWORD" https://api.internal
        curl -H "Authorization: Bearer $TOKEN" https://api.internal
        curl -H "Authorization: token ${GITHUB_TOKEN}" https://api.github.com
        postgres://app:${DB_PASSWORD}@db.internal/shop
        $env:«NAME» = $args[0]
        set «NAME»=%«NAME»%
        ENV «NAME»=${«NAME»}
        «NAME» ?= $(shell cat .«kebab»)
        docker run -e «NAME» -p 80:80 app
        docker run -e «NAME»="$«NAME»" app
    """,
    "code": """
        «name» = os.environ["«NAME»"]
        «name» = os.environ.get("«NAME»")
        const «camel» = process.env.«NAME»;
        const «camel» = config.get('«kebab»');
        «camel»: string;
        «camel»?: string | null;
        «name»: str | None = None
        «name»: SecretStr = Field(default=...)
        def set_«name»(self, «name»: str) -> None:
        func (c *Client) With«Camel»(«camel» string) *Client {
        «camel» := os.Getenv("«NAME»")
        let «name» = env::var("«NAME»")?;
        private String «camel»;
        this.«camel» = «camel»;
        self.«name» = «name»
        return connect(host, user, «name»=«name»)
        client = Client(«name»=settings.«NAME»)
        if «name» != expected_«name»:
        if (!«camel») throw new Error("«title» is required");
        assert response.json()["«name»"] == «name»
        «name» = generate_«name»(length=32)
        «name» = get_secret("prod/shop/«kebab»")
        «camel»: z.string().min(8).max(64),
        «name» = models.CharField(max_length=128)
        «name» VARCHAR(255) NOT NULL,
        token = lexer.next_token()
        tokens = tokenizer.encode(text, add_special_tokens=False)
        public static final String «NAME»_HEADER = "X-«Camel»";
        @Value("${spring.datasource.password}")
        import { «camel» } from './«kebab»';
        bearer_scheme = HTTPBearer(auto_error=False)
        key={item.id}
        <input type="password" name="«name»" placeholder="«title»" autocomplete="new-password">
        <label for="password">Password</label>
        for key, value in options.items():
        «camel»={this.state.«camel»}
        keyboard_shortcut = "ctrl+shift+p"
        primary_key = True
        foreign_key: "users.id"
        sort_key = lambda item: item.created_at
        passwordField.setText(user.getPassword());
    """,
    "messages": """
        Password must be at least 12 characters long
        "password": "must contain at least one digit"
        password: This field is required.
        error: «title» is invalid or has expired
        Invalid «title»: expected 40 characters, got «number»
        «title» updated successfully.
        Passwort: mindestens 8 Zeichen
        Passwort vergessen? Bitte wende dich an die Verwaltung.
        La contraseña es obligatoria.
        Le mot de passe doit contenir au moins 8 caractères.
        密码不能为空
        パスワードを入力してください。
        The password is stored in the vault, ask the team.
        The secret is to begin early.
        token: unexpected end of input at line «number»
        SyntaxError: Unexpected token '}' at position «number»
        WARNING: the token expires in «number» days
        fatal: Authentication failed for 'https://github.com/acme/shop.git/'
        usage: 12,«number» tokens in, «number» tokens out
        "max_tokens": 4096, "prompt_tokens": «number», "completion_tokens": «number»
        Enter passphrase for key '/home/app/.ssh/id_ed25519':
        Access token: valid until 2026-12-31
        Authorization: required
        bearer authentication is on
        secret: true
        passwords: 12 checked, 0 reused
        key: value
        api_key: str, optional
    """,
    "tests": """
        --- PASS: TestFoo«number» (0.00s)
        --- PASS: Test«Word»Parser2x/with_«word»_«number» (0.02s)
        ok  	example.org/shop/pass«number»	0.013s
        PASSED tests/unit/test_«word».py::test_password_«number»
        PASS src/«word»/Password2.test.ts (5.«number» s)
        ✓ test_token_«word»_«number» passed in 0.«number»s
        test result: ok. «number» passed; 0 failed; 0 ignored
        Pass: Test«Word»With«number»Rows
        pass: Sha256Test«number»
        PASS: test-«word»-«number»b
        [       OK ] PasswordTest.Holds«number»Rows («number» ms)
        pass 2: linked «number» modules of «word»-v2
        PASS [   0.«number»s] shop::«word»::token_2_is_read
        # Subtest: pass-through«number»
    """,
    "styles and words": """
        pass: "#«colour»"
        --pass-color: #«colour»;
        passage: chapter«number»
        passage_id=chapter12v«number»
        passenger: seat14C
        compass: heading«number»deg
        bypass=route66x
        tokenizer: gpt2bpe«number»k
        secretary: anna2
        keyframes: fade2in
        monkey: banana42
        turkey: region7b
        keyword: «word»«number»
        key: "«word»-«number»"
        apiVersion: networking.k8s.io/v1beta1
        author: jane1984
        pwd: /home/app/src/«word»«number»
        PWD=/home/app/work/«word»-«number»
        OLDPWD=/var/lib/«word»2/releases
        passing_score=85
    """,
    "paths and versions": """
        «name»_file: /run/secrets/«name»
        «NAME»_FILE=/run/secrets/«name»_v2
        ssl_key = /etc/ssl/private/shop-«number».pem
        IdentityFile ~/.ssh/id_ed25519_«word»2
        key_path: ./certs/«word»-v«version».key
        "«kebab»": "^«version»"
        password-hash v«version» (registry+https://github.com/rust-lang/crates.io-index)
        npm:passport@«version»
        secretstorage==«version»
        jsonwebtoken@«version»
        tokenizers==0.«number».1
        https://docs.internal/guides/access-tokens?version=«version»
        DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus
        DBUS_SESSION_BUS_ADDRESS=unix:abstract=/tmp/dbus-«alnum24»,guid=«hex32»
        SSH_AUTH_SOCK=/tmp/ssh-XXXX«word»/agent.«number»
        XAUTHORITY=/run/user/1000/.mutter-Xwaylandauth.«colour»
        GPG_KEY_FILE=/etc/apt/keyrings/«word»2.gpg
    """,
    "hashes and ids": """
        commit «hex40»
        «hex7» Rotate the «title» of the «word»
        index «hex7»..«hex7» 100644
        From «hex40» Mon Sep 17 00:00:00 2001
        actions/checkout@«hex40»
        Digest: sha256:«hex64»
        image: registry.internal/shop@sha256:«hex64»
        Cache restored from key: Linux-node-«hex64»
        key: linux-pip-«hex64»
        cache-key: deps-v2-«hex64»
        Cache saved with key: setup-python-Linux-x64-22.04-python-3.11-pip-«hex64»
        "integrity": "sha512-«sha512»"
        integrity sha512-«sha512»
        --hash=sha256:«hex64» \\
        github.com/acme/shop v«version» h1:«sha256»
        checksum = "«hex64»"
        hash = "sha256-«sha256»"
        <script src="a.js" integrity="sha256-«sha256»" crossorigin="anonymous"></script>
        ETag: "«hex32»"
        md5sum: «hex32»  dist/«word».tar.gz
        «hex64»  dist/«word»-«version».tar.gz
        request_id=«uuid»
        "id": "«uuid»"
        session_id: «uuid»
        correlation-id: «uuid»
        key_id=«uuid»
        user_id: "«uuid»"
        trace_id=«hex32» span_id=«hex7»«colour»
        traceparent: 00-«hex32»-«hex7»b1d2c3a4e-01
        idempotency-key: «uuid»
        primary key ('«uuid»')
        "cacheKey": "«hex64»"
        container «hex64» started
        build-id: «hex40»
        "token_count": «number», "digest": "«hex64»"
    """,
    "public keys": """
        «d»BEGIN PUBLIC KEY«d»«n»«rows»«n»«d»END PUBLIC KEY«d»
        «d»BEGIN CERTIFICATE«d»«n»«rows»«n»«d»END CERTIFICATE«d»
        «d»BEGIN PGP PUBLIC KEY BLOCK«d»«n»«n»«rows»«n»«d»END PGP PUBLIC KEY BLOCK«d»
        public_key = "«der»"
        "key": "«der»"
        ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI«ed25519» app@web-1
        256 SHA256:«unpadded» app@web-1 (ED25519)
        The key fingerprint is: SHA256:«unpadded»
        MD5:«colons»
        gpg: using EDDSA key «keyid»«keyid»
        gpg: key «keyid»: public key "Jane Doe" imported
        pub   rsa4096/«keyid» 2024-01-01 [SC]
        Key fingerprint = 2A61 7F52 90BC 11D9 88A1  D9C2 6E0F 5D1B 7A34 9C0E
        ssb   cv25519/«keyid» 2024-01-01
        X509v3 Subject Key Identifier: «colons»
        signed with key ID «keyid»
        PublicKey = «sha256»
        public-key: «sha256»
        untrusted comment: minisign public key «keyid»
        "publicKey": "«base58»"
        NEXT_PUBLIC_STRIPE_KEY=pk_live_«alnum24»
        publishableKey: "pk_test_«alnum24»"
        posthog.init("phc_«alnum43»")
        NEXT_PUBLIC_POSTHOG_KEY=phc_«alnum43»
        VITE_SUPABASE_PUBLISHABLE_KEY=sb_publishable_«alnum24»
        mapboxgl.accessToken = "pk.«word»"
        googletag: G-«keyid»
        ca-pub-«number»4567890123
    """,
    "schemas and options": """
        type: password
        grant_type=password
        auth_method: token
        token_type: bearer
        "token_type": "Bearer"
        bearerFormat: JWT
        securitySchemes: bearerAuth
        "password": {"type": "string", "minLength": 8}
        "«camel»": {"type": "string", "format": "password"}
        "«name»": "string"
        "«name»": null
        «name»: string (required)
        password: Optional[str] = None
        secretName: shop-tls-«word»
        secretKeyRef: { name: shop-db-«word», key: password }
        key: «kebab»
        password_policy: strong
        password_reset_url: /accounts/reset
        token_url: https://login.internal/oauth2/token
        token_endpoint: "https://login.internal/oauth2/v2.0/token"
        api_key_header: X-Api-Key
        "tokens": ["the", "quick", "brown", "fox"]
        "keys": ["id", "name", "created_at"]
        keys: [ctrl+k, cmd+shift+p]
        "passwordHash": null
        secret_rotation_days: «number»
        tokens_per_minute: «number»000
        auth: basic
        password-stdin
        --password <password>   The password of the account
        -p, --password string   Password or personal access token
        --«kebab» string   «title» (default "")
        PGPASSWORD behaves the same as the password connection parameter.
        primary_key: user_id
        partition_key = "tenant_id"
        hash_key        = "LockID"
        key_name = "deploy-«word»"
        public_key_path: ~/.ssh/id_ed25519.pub
        private_key_type: ed25519
        key_algorithm = "RSA_2048"
        password_encryption = scram-sha-256
        encryption: aes-256-gcm
        <string name="password_hint">Enter your password</string>
        <dt>Password</dt><dd>At least 12 characters</dd>
        <key>NSAppTransportSecurity</key>
        <add key="PasswordFormat" value="Hashed" />
    """,
    "interface texts": """
        "password": "Passwort"
        "password": "Mot de passe"
        "forgot_password": "Forgot your password?"
        password: 'Enter a password with «number» characters'
        msgid "Password"
        placeholder="Enter password"
        data-testid="password-input"
        password: t('form.password.label'),
        passwordLabel: 'Confirm your new password',
        token: "Token",
        "apiKey": "API key"
        "secret": "Secret (shown once)"
        «foreign»: obligatoire
        Passwort: erforderlich
        contraseña: obligatoria
        密码：必填
        パスワード：必須
    """,
    "calls": """
        password = getpass.getpass("Password: ")
        password = input("New password: ")
        secret = secrets.token_hex(32)
        token = "".join(random.choices(string.ascii_letters, k=32))
        api_key = st.secrets["openai"]["key"]
        token = jwt.encode(payload, settings.SECRET_KEY, algorithm="HS256")
        password = bcrypt.hashpw(raw.encode(), bcrypt.gensalt())
        «name» = request.headers.get("X-«Camel»")
        «camel»: await vault.read(`secret/data/${name}`),
        const «camel» = await getSecret('shop/«kebab»');
        «camel» := viper.GetString("auth.«kebab»")
        «name» = config["auth"]["«name»"]
        «name» = data.aws_secretsmanager_secret_version.shop.secret_string
        «name» = random_password.db.result
        $password = $_POST['password'];
        $token = bin2hex(random_bytes(16));
        password: ENV.fetch("DB_PASSWORD")
        password: process.env.DB_PASSWORD!,
        token=$(cat /run/secrets/token)
        TOKEN=$(curl -s https://login.internal/token | jq -r .access_token)
        expect(password).toBeDefined();
        password: str = Field(min_length=8, max_length=64)
        private readonly tokenService: TokenService;
        password = PasswordField(_("Password"), validators=[DataRequired()])
        <PasswordInput value={password} onChange={setPassword} />
    """,
    "logs of sign-on": """
        Accepted password for deploy from 10.0.0.«number» port 51«number» ssh2
        Failed password for root from 203.0.113.9 port «number» ssh2
        debug1: Next authentication method: publickey
        debug1: Offering public key: /home/app/.ssh/id_ed25519 ED25519 SHA256:«unpadded» agent
        ERROR 1045 (28000): Access denied for user 'app'@'localhost' (using password: YES)
        FATAL:  password authentication failed for user "app"
        Password for user app:
        NOAUTH Authentication required.
        [sudo] password for app:
        remote: Support for password authentication was removed on August 13, 2021.
        Token refreshed for user «number» in 12ms
        authentication method: password
        token=null user=app
        token: expired, signed out
        secret shop/«kebab» rotated at 2026-03-04T05:06:07Z
        key «word»-«number» not found in cache
        api key of tenant «number» created
        password=*** user=app status=200
        Warning: Using a password on the command line interface can be insecure.
    """,
}
_QUIET = ("variables", "messages", "schemas and options", "interface texts", "calls", "logs of sign-on")
_QUIET_LINES = [line.strip() for kind in _QUIET for line in _LINES[kind].strip("\n").split("\n")]
