"""Made-up tokens of popular vendors: each family is the public form of its tokens, drawn at random.

A form is written like a regular expression: text, `[A-Z0-9]`, `{3}` and `{3,5}` behind them, `(a|b)`. No token stands
in this file, so that no scanner reports it.
"""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import NamedTuple

_ALNUM = "A-Za-z0-9"
_BASE58 = "1-9A-HJ-NP-Za-km-z"
_DASHES = "-" * 5
Draw = Callable[[Random], str]


class Family(NamedTuple):
    """Tokens of one form. With a `name`, only that name beside the token tells what it is."""

    id: str
    kind: str
    draw: Draw
    name: str = ""
    lines: bool = False
    secret: Callable[[str], tuple[int, int]] = lambda token: (0, len(token))
    """The place of what is secret, where the token has other parts: a host, a user."""


def fill(form: str, random: Random) -> str:
    """Draw a text of the form."""
    parts = _read(form)
    return "".join(_write(part, random) for part in parts)


class _Part(NamedTuple):
    choices: tuple[str, ...]
    forms: bool
    least: int
    most: int


def _write(part: _Part, random: Random) -> str:
    count = random.randint(part.least, part.most)
    drawn = [random.choice(part.choices) for _ in range(count)]
    return "".join(fill(text, random) for text in drawn) if part.forms else "".join(drawn)


@cache
def _read(form: str) -> tuple[_Part, ...]:
    return tuple(_parts(form))


def _parts(form: str) -> Iterator[_Part]:
    position = 0
    while position < len(form):
        first = form[position]
        if first == "[":
            end = form.index("]", position)
            choices, forms = tuple(_members(form[position + 1 : end])), False
        elif first == "(":
            end = form.index(")", position)
            choices, forms = tuple(form[position + 1 : end].split("|")), True
        else:
            position += first == "\\"
            end, choices, forms = position, (form[position],), False
        position = end + 1
        least = most = 1
        if form[position : position + 1] == "{":
            end = form.index("}", position)
            bounds = form[position + 1 : end].split(",")
            least, most = int(bounds[0]), int(bounds[-1])
            position = end + 1
        yield _Part(choices, forms, least, most)


def _members(text: str) -> Iterator[str]:
    position = 0
    while position < len(text):
        if text[position + 1 : position + 2] == "-" and position + 2 < len(text):
            yield from map(chr, range(ord(text[position]), ord(text[position + 2]) + 1))
            position += 3
        else:
            yield text[position]
            position += 1


def _form(form: str) -> Draw:
    form = form.replace("[w]", f"[{_ALNUM}]").replace("[u]", f"[{_ALNUM}_-]").replace("[x]", "[0-9a-f]")
    form = form.replace("[58]", f"[{_BASE58}]").replace(
        "(uuid)", "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    )
    return lambda random: fill(form, random)


def _base64(least: int, most: int = 0) -> Draw:
    return lambda random: b64encode(random.randbytes(random.randint(least, most or least))).decode()


def _joined(*draws: str | Draw) -> Draw:
    forms = [_form(draw) if isinstance(draw, str) else draw for draw in draws]
    return lambda random: "".join(draw(random) for draw in forms)


def _encoded_json(value: object) -> str:
    return urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def _jwt(random: Random) -> str:
    head = _encoded_json({"alg": random.choice(("HS256", "RS256", "ES256")), "typ": "JWT"})
    who = {"sub": f"user-{random.randint(1, 99999)}", "iat": random.randint(1_600_000_000, 1_800_000_000)}
    body = _encoded_json({**who, "scope": random.choice(("read", "write", "admin"))})
    return f"{head}.{body}.{urlsafe_b64encode(random.randbytes(32)).decode().rstrip('=')}"


def _json_behind(prefix: str, *keys: str, tail: str = "") -> Draw:
    def draw(random: Random) -> str:
        value = {key: fill(f"[{_ALNUM}]{{24,40}}", random) for key in keys}
        return prefix + _encoded_json(value) + fill(tail, random)

    return draw


def _armoured(kind: str, size: int, head: str = "") -> Draw:
    def draw(random: Random) -> str:
        body = b64encode(head.encode() + random.randbytes(random.randint(size, size + 60))).decode()
        width = 70 if kind.startswith("OPENSSH") else 64
        rows = [body[start : start + width] for start in range(0, len(body), width)]
        blank = [""] if kind.startswith("PGP") else []
        return "\n".join([f"{_DASHES}BEGIN {kind}{_DASHES}", *blank, *rows, f"{_DASHES}END {kind}{_DASHES}"])

    return draw


def _armour_body(token: str) -> tuple[int, int]:
    return token.index("\n") + 1, token.rindex("\n")


def _userinfo(token: str) -> tuple[int, int]:
    end = token.rindex("@")
    return token.index(":", token.index("//")) + 1, end


def _last_path(token: str) -> tuple[int, int]:
    return token.rindex("/") + 1, len(token)


def _after(sign: str) -> Callable[[str], tuple[int, int]]:
    return lambda token: (token.rindex(sign) + len(sign), len(token))


def _words(count: int) -> Draw:
    def draw(random: Random) -> str:
        return " ".join(random.choice(_SEED_WORDS.split()) for _ in range(count))

    return draw


_SEED_WORDS = """
    abandon ability absorb acid acoustic actor adapt advice aerobic afraid agent album alley anchor ankle apple
    april arch arena armor artist atom autumn awake bacon badge balcony bamboo basket beach beauty bench bicycle
    blanket bless blossom board bonus bottom bracket brave bridge broom bubble bundle butter cabin cactus camera
    candy canyon carbon castle cattle ceiling cement cereal chair cherry chimney circle citizen clever cliff
    clock cloth coconut coffee column comfort copper coral cotton couch cradle crater crisp crouch crystal
    cushion dance decade deer denial desert
"""


def _bytes_list(random: Random) -> str:
    return '{"secretKey": [' + ",".join(str(random.randrange(256)) for _ in range(64)) + "]}"


def _in_brackets(token: str) -> tuple[int, int]:
    return token.index("[") + 1, token.index("]")


def _families() -> Iterator[Family]:
    for kind, lines in _FORMS.items():
        for line in lines.strip().splitlines():
            name, _, form = line.strip().partition(" ")
            identifier, _, beside = name.partition("=")
            yield Family(identifier, kind, _form(form.strip()), beside)


_FORMS = {
    "cloud": """
        aws-access-key-id           (AKIA|ASIA)[A-Z2-7]{16}
        aws-secret=AWS_SECRET_ACCESS_KEY    [A-Za-z0-9/+]{40}
        aws-session=AWS_SESSION_TOKEN       (IQoJb3JpZ2luX2Vj|FwoGZXIvYXdz)[A-Za-z0-9/+]{280,420}==
        aws-bedrock                 ABSK[A-Za-z0-9+/]{109}=
        google-api-key              AIza[u]{35}
        google-oauth-secret         GOCSPX-[u]{28}
        google-oauth-access         ya29.a0[u]{120,180}
        google-refresh              1//0[0-9a-g][u]{40,60}
        azure-client-secret         [w]{3}[0-9]Q~[A-Za-z0-9_.~-]{31,34}
        azure-devops                [w]{76}AZDO[w]{4}
        azure-storage=AccountKey    [A-Za-z0-9+/]{86}==
        digitalocean                (dop|doo|dor)_v1_[x]{64}
        heroku                      HRKU-AA[u]{58}
        cloudflare=CLOUDFLARE_API_TOKEN     [u]{40}
        cloudflare-origin-ca        v1.0-[x]{24}-[x]{146}
        fly                         fm2_[A-Za-z0-9+/]{120,200}={0,2}
        fly-org                     fo1_[u]{43}
        vercel                      vc(p|a|k|i|r)_[w]{56}
        netlify                     nfp_[w]{36}
        render                      rnd_[w]{32}
        alibaba                     LTAI5t[w]{18}
        tencent                     AKID[w]{32}
        yandex                      AQVN[u]{35,38}
        pulumi                      pul-[x]{40}
        terraform-cloud             [w]{14}.atlasv1.[u]{60,70}
        vault-service               hvs.CAES[u]{90,110}
        vault-batch                 hvb.AAAAAQ[u]{140,180}
        doppler                     dp.(pt|ct|st.prd|sa).[w]{43}
        databricks                  dapi[x]{32}
        planetscale                 pscale_(tkn|pw|oauth)_[u]{43}
        tailscale                   tskey-(auth|api|client)-k[w]{10}CNTRL-[w]{32}
    """,
    "source hosting": """
        github-personal             ghp_[w]{36}
        github-oauth                gho_[w]{36}
        github-server               gh(s|u)_[w]{36}
        github-refresh              ghr_[w]{76}
        github-fine-grained         github_pat_11[A-Z0-9]{20}_[w]{59}
        gitlab-personal             glpat-[u]{20}
        gitlab-routable             glpat-[u]{27}.01.[0-9a-z]{9}
        gitlab-deploy               gldt-[u]{20}
        gitlab-runner               glrt-[u]{20}
        gitlab-trigger              glptt-[x]{40}
        bitbucket-app               ATBB[w]{24}[A-F0-9]{8}
        bitbucket-repository        ATCTT3xFfGN0[u]{150,175}=[A-F0-9]{8}
        bitbucket-data-center       BBDC-[A-Za-z0-9+/]{44}
        atlassian                   ATATT3xFfGF0[u]{170,178}=[A-F0-9]{8}
        sourcegraph                 sgp_[x]{16}_[x]{40}
    """,
    "AI": """
        openai                      sk-[w]{20}T3BlbkFJ[w]{20}
        openai-project              sk-proj-[u]{74}T3BlbkFJ[u]{74}
        openai-service              sk-(svcacct|admin)-[u]{58}T3BlbkFJ[u]{58}
        anthropic                   sk-ant-api03-[u]{93}AA
        anthropic-oauth             sk-ant-o(a|r)t01-[u]{93}AA
        anthropic-admin             sk-ant-admin01-[u]{93}AA
        hugging-face                hf_[A-Za-z]{34}
        replicate                   r8_[w]{37}
        groq                        gsk_[w]{52}
        openrouter                  sk-or-v1-[x]{64}
        xai                         xai-[w]{80}
        perplexity                  pplx-[w]{48}
        together                    tgp_v1_[u]{43}
        fireworks                   fw_[w]{24}
        deepseek                    sk-[x]{32}
        elevenlabs                  sk_[x]{48}
        langsmith                   lsv2_(pt|sk)_[x]{32}_[x]{10}
        langfuse                    sk-lf-(uuid)
        pinecone                    pcsk_[w]{6}_[w]{63}
        tavily                      tvly-(dev|prod)-[w]{32}
        jina                        jina_[x]{32}[u]{28}
        voyage                      pa-[u]{43}
        firecrawl                   fc-[x]{32}
        nvidia                      nvapi-[u]{64}
        cerebras                    csk-[0-9a-z]{48}
        mistral=MISTRAL_API_KEY     [w]{32}
        cohere=COHERE_API_KEY       [w]{40}
        wandb=WANDB_API_KEY         [x]{40}
        exa=EXA_API_KEY             (uuid)
    """,
    "payment": """
        stripe-secret               sk_(live|test)_51[w]{97}
        stripe-short                sk_live_[w]{24}
        stripe-restricted           rk_(live|test)_[w]{99}
        stripe-webhook              whsec_[w]{32}
        square-access               EAAAl[u]{59}
        square-secret               sq0csp-[u]{43}
        braintree                   access_token$production$[0-9a-z]{16}$[x]{32}
        shopify                     shp(at|ss|ca|pa)_[x]{32}
        plaid                       access-(production|sandbox)-(uuid)
        paystack                    sk_live_[x]{40}
        flutterwave                 FLWSECK-[x]{32}-X
        mercado-pago                APP_USR-[0-9]{16}-[0-9]{6}-[x]{32}-[0-9]{9}
        paddle                      pdl_live_apikey_[0-9a-z]{26}_[w]{22}_[w]{3}
        razorpay=RAZORPAY_KEY_SECRET    [w]{24}
        paypal=PAYPAL_CLIENT_SECRET     E[u]{79}
    """,
    "chat and mail": """
        slack-bot                   xoxb-[0-9]{12}-[0-9]{13}-[w]{24}
        slack-user                  xoxp-[0-9]{12}-[0-9]{12}-[0-9]{13}-[x]{32}
        slack-rotating              xoxe.xoxp-1-[w]{166}
        slack-refresh               xoxe-1-[w]{147}
        slack-client                xoxc-[0-9]{12}-[0-9]{12}-[0-9]{13}-[x]{64}
        slack-cookie                xoxd-[A-Za-z0-9]{80,120}
        slack-legacy                xox(o|s|r)-[0-9]{11}-[0-9]{11}-[0-9]{11}-[x]{10}
        slack-app                   xapp-1-A[A-Z0-9]{10}-[0-9]{13}-[x]{64}
        discord-bot                 M[TzDjN][w]{24}.G[w]{5}.[u]{38}
        telegram                    [0-9]{10}:AA[u]{33}
        twilio-key                  SK[x]{32}
        twilio-token=TWILIO_AUTH_TOKEN  [x]{32}
        sendgrid                    SG.[u]{22}.[u]{43}
        mailgun                     key-[x]{32}
        mailgun-new                 [x]{32}-[x]{8}-[x]{8}
        mailchimp                   [x]{32}-us[1-9]
        resend                      re_[w]{8}_[w]{24}
        brevo                       xkeysib-[x]{64}-[w]{16}
        postmark=X-Postmark-Server-Token    (uuid)
        facebook                    EAAG[w]{150,190}
        twitter-bearer              AAAAAAAAAAAAAAAAAAAAA[w]{10}%[23]B[w]{50,60}
        linear                      lin_api_[w]{40}
        notion                      ntn_[0-9]{11}[w]{35}
        notion-old                  secret_[w]{43}
        airtable                    pat[w]{14}.[x]{64}
        figma                       figd_[u]{40}
        hubspot                     pat-na1-(uuid)
        typeform                    tfp_[u]{44}_[w]{14}
        salesforce                  00D[w]{12}![w]{8}[A-Za-z0-9._]{88}
        adafruit                    aio_[A-Za-z]{4}[0-9]{2}[w]{22}
        dropbox                     sl.u.A[u]{130,150}
        mapbox                      sk.eyJ1Ijoi[w]{60,70}.[u]{22}
    """,
    "database": """
        supabase-personal           sbp_[x]{40}
        supabase-secret             sb_secret_[u]{22}_[w]{8}
        neon-key                    napi_[0-9a-z]{64}
        neon-password               npg_[w]{12}
        aiven                       AVNS_[u]{19}
        clickhouse                  4b1d[w]{38}
        contentful                  CFPAT-[u]{43}
        nats-user-seed              SU[A-Z2-7]{56}
        nats-account-seed           SA[A-Z2-7]{56}
        mongodb-service-account     mdb_sa_sk_[u]{40}
        confluent                   cflt[w]{60}
        influx=INFLUX_TOKEN         [u]{86}==
        algolia=ALGOLIA_ADMIN_KEY   [x]{32}
        elastic=ELASTIC_API_KEY     [w]{59}Q==
    """,
    "CI and monitoring": """
        circleci                    CCIPAT_[w]{22}_[x]{40}
        buildkite                   bkua_[x]{40}
        sonar                       sq(p|u|a)_[x]{40}
        sentry-user                 sntryu_[x]{64}
        new-relic                   NRAK-[A-Z0-9]{27}
        new-relic-license           (eu|us)01xx[x]{30}NRAL
        dependency-track            odt_[w]{32}
        grafana-service             glsa_[w]{32}_[x]{8}
        dynatrace                   dt0c01.[A-Z2-7]{24}.[A-Z2-7]{64}
        launchdarkly                (api|sdk)-(uuid)
        postman                     PMAK-[x]{24}-[x]{34}
        honeycomb                   hcaik_[0-9a-z]{26}[0-9a-z]{32}
        prefect                     pnu_[w]{36}
        datadog=DD_API_KEY          [x]{32}
        datadog-app=DD_APP_KEY      [x]{40}
        jenkins=JENKINS_API_TOKEN   11[x]{32}
        codecov=CODECOV_TOKEN       (uuid)
        snyk=SNYK_TOKEN             (uuid)
        okta=OKTA_API_TOKEN         00[u]{40}
        auth0=AUTH0_CLIENT_SECRET   [u]{64}
    """,
    "package registry": """
        npm                         npm_[w]{36}
        npm-old=_authToken          (uuid)
        pypi                        pypi-AgEIcHlwaS5vcmc[u]{140,170}
        rubygems                    rubygems_[x]{48}
        crates-io                   cio[w]{32}
        nuget                       oy2[a-z0-9]{43}
        docker-hub                  dckr_(pat|oat)_[u]{27}
        artifactory                 AKCp[w]{69}
        artifactory-reference       cmVmdGtu[w]{56}
        clojars                     CLOJARS_[x]{60}
        nexus=NEXUS_PASSWORD        [w]{20}
    """,
    "hashes": """
        bcrypt                      $2(a|b|y)$1[0-2]$[A-Za-z0-9./]{53}
        sha512-crypt                $6$[A-Za-z0-9./]{16}$[A-Za-z0-9./]{86}
        yescrypt                    $y$j9T$[A-Za-z0-9./]{22}$[A-Za-z0-9./]{43}
        argon2                      $argon2id$v=19$m=65536,t=3,p=4$[A-Za-z0-9+/]{22}$[A-Za-z0-9+/]{43}
        django-pbkdf2               pbkdf2_sha256$(260000|600000|870000)$[w]{22}$[A-Za-z0-9+/]{43}=
        werkzeug-scrypt             scrypt:32768:8:1$[w]{16}$[x]{128}
        werkzeug-pbkdf2             pbkdf2:sha256:(260000|600000)$[w]{16}$[x]{64}
        scram                       SCRAM-SHA-256$4096:[A-Za-z0-9+/]{22}==$[A-Za-z0-9+/]{43}=:[A-Za-z0-9+/]{43}=
        apr1                        $apr1$[A-Za-z0-9./]{8}$[A-Za-z0-9./]{22}
        phpass                      $P$B[A-Za-z0-9./]{30}
        ldap-ssha                   \\{SSHA\\}[A-Za-z0-9+/]{38}==
        cisco-8                     $8$[A-Za-z0-9./]{14}$[A-Za-z0-9./]{43}
        cisco-9                     $9$[A-Za-z0-9./]{14}$[A-Za-z0-9./]{43}
        kerberos-roast              $krb5(asrep|tgs)$23$[x]{32}$[x]{200,400}
    """,
    "wallets": """
        bitcoin-wif                 [KL][58]{51}
        extended-private            xprv9[58]{106}
        ethereum=PRIVATE_KEY        0x[x]{64}
    """,
}  # fmt: skip

FAMILIES: tuple[Family, ...] = (
    *_families(),
    Family("json-web-token", "sign-on", _jwt),
    Family("one-password-service", "sign-on", _json_behind("ops_", "signInAddress", "userAuth", "deviceUuid")),
    Family("grafana-cloud", "CI and monitoring", _json_behind("glc_", "o", "n", "k")),
    Family("sentry-org", "CI and monitoring", _json_behind("sntrys_", "iat", "url", tail=f"_[{_ALNUM}]{{43}}")),
    Family("rsa-private", "private keys", _armoured("RSA PRIVATE KEY", 600), lines=True, secret=_armour_body),
    Family("private", "private keys", _armoured("PRIVATE KEY", 600), lines=True, secret=_armour_body),
    Family("ec-private", "private keys", _armoured("EC PRIVATE KEY", 118), lines=True, secret=_armour_body),
    Family(
        "openssh", "private keys", _armoured("OPENSSH PRIVATE KEY", 250, "openssh-key-v1\0"), lines=True,
        secret=_armour_body,
    ),
    Family("pgp-private", "private keys", _armoured("PGP PRIVATE KEY BLOCK", 700), lines=True, secret=_armour_body),
    Family("age", "private keys", _form("AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}")),
    Family("wireguard", "private keys", _base64(32), name="PrivateKey"),
    Family("solana", "wallets", _bytes_list, secret=_in_brackets),
    Family("seed-phrase", "wallets", _words(12), name="mnemonic"),
    Family("slack-webhook", "chat and mail",
           _form("https://hooks.slack.com/services/T[A-Z0-9]{10}/B[A-Z0-9]{10}/[w]{24}"), secret=_last_path),
    Family("discord-webhook", "chat and mail",
           _form("https://discord.com/api/webhooks/[0-9]{19}/[u]{68}"), secret=_last_path),
    Family("teams-webhook", "chat and mail",
           _form("https://acme.webhook.office.com/webhookb2/(uuid)@(uuid)/IncomingWebhook/[x]{32}/(uuid)"),
           secret=_after("IncomingWebhook/")),
    Family("azure-sas", "cloud", _joined(
        "https://[a-z]{8}.blob.core.windows.net/data/report.csv?sv=2023-11-03&sr=b&se=2026-12-01T00:00:00Z&sp=r&sig=",
        "[w]{20}%2B[w]{18}%3D"), secret=_after("sig=")),
    Family("mongodb-url", "database",
           _form("mongodb+srv://app:[w]{16}@cluster0.[a-z0-9]{5}.mongodb.net/shop"), secret=_userinfo),
    Family("postgres-url", "database",
           _form("postgres(ql|)://app:[w]{12,20}@db.internal:5432/shop"), secret=_userinfo),
    Family("redis-url", "database",
           _form("redis(s|)://(default|):[w]{20,32}@cache-1.internal:6379/0"), secret=_userinfo),
    Family("amqp-url", "database", _form("amqps://worker:[u]{16,32}@mq.internal/jobs"), secret=_userinfo),
)  # fmt: skip
