"""How real text writes a name and a secret value: each carrier escapes the value as its syntax asks."""

import json
import re
from base64 import b64encode
from collections.abc import Callable
from random import Random
from typing import NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import escape

from benchmarks.redaction_families import fill
from benchmarks.redaction_marks import marked, may
from benchmarks.redaction_values import FOREIGN_NAMES, camel, kebab, snake, title, upper

Name = tuple[str, ...]
Write = Callable[[Name, str, Random], str | None]
_PLAIN = re.compile(r"[^\s\"'`\\]+")
_SHELL_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./^~-]+")


class Carrier(NamedTuple):
    """A way to write a name and its value; None where the value can't be written so."""

    id: str
    kind: str
    write: Write


def _plain(value: str) -> str | None:
    """The value without quotes, as people write it into files that end a value at the line's end."""
    return marked(value) if _PLAIN.fullmatch(value) else None


def _shell(value: str, random: Random) -> str:
    if _SHELL_PLAIN.fullmatch(value) and random.random() < 0.6:
        return marked(value)
    if "'" not in value:
        return f"'{marked(value)}'"
    return _shell_double(value)


def _shell_double(value: str) -> str:
    escaped = re.sub(r"([$`\"\\])", r"\\\1", value)
    return f'"{marked(escaped)}"'


def _double(value: str) -> str:
    """In double quotes, with backslashes, as C, Go, Java, Rust and many more read it."""
    return '"' + marked(value.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _single(value: str) -> str:
    return "'" + marked(value.replace("\\", "\\\\").replace("'", "\\'")) + "'"


def _either(value: str, random: Random) -> str:
    return random.choice((_double, _single))(value)


def _json(value: str) -> str:
    return '"' + marked(json.dumps(value, ensure_ascii=False)[1:-1]) + '"'


def _terraform(value: str) -> str:
    return _double(value.replace("${", "$${").replace("%{", "%%{"))


def _xml(value: str) -> str:
    return marked(escape(value))


def _attribute(value: str) -> str:
    return marked(escape(value, {'"': "&quot;"}))


def _percent(value: str) -> str:
    return marked(quote(value, safe=""))


def _in_url(value: str, random: Random) -> str | None:
    """As a URL asks, or with the signs that people leave as they are."""
    if random.random() < 0.5 and re.fullmatch(r"[A-Za-z0-9!$&*()_+=;,.~^-]+", value):
        return marked(value)
    return _percent(value)


def _framed(before: str, written: str | None, after: str = "") -> str | None:
    return None if written is None else before + written + after


def _any_case(name: Name, random: Random) -> str:
    return random.choice((snake, camel, kebab))(name)


def _env_file(name: Name, value: str, random: Random) -> str | None:
    plain = None if "#" in value and " " in value else _plain(value)
    written = plain if random.random() < 0.7 else _shell_double(value) if "'" in value else _single(value)
    return _framed(f"APP_ENV=production\n{upper(name)}=", written, "\nLOG_LEVEL=info\n")


def _export(name: Name, value: str, random: Random) -> str:
    return f"export {upper(name)}={_shell(value, random)}\nexport EDITOR=vim"


def _prefix(name: Name, value: str, random: Random) -> str:
    command = random.choice(("psql -h localhost -U app shop", "npm run deploy", "./bin/migrate --dry-run", "pytest -q"))
    return f"$ {upper(name)}={_shell(value, random)} {command}"


def _set_windows(name: Name, value: str, random: Random) -> str | None:
    if re.search(r"[\"'&|<>^%\s\\`$]", value):
        return None
    form = random.choice(("set {}={}\n", "setx {} {}\n", '$env:{} = "{}"\n'))
    return form.format(upper(name), marked(value)) + "dir"


def _json_object(name: Name, value: str, random: Random) -> str:
    key = random.choice((snake, camel, kebab, upper))(name)
    if random.random() < 0.5:
        return f'{{"host":"db.internal","{key}":{_json(value)},"port":5432}}'
    return f'{{\n  "host": "db.internal",\n  "{key}": {_json(value)},\n  "port": 5432\n}}'


def _json_in_json(name: Name, value: str, random: Random) -> str:
    return json.dumps({"type": "result", "stdout": _json_object(name, value, random), "code": 0}, ensure_ascii=False)


def _env_in_json(name: Name, value: str, random: Random) -> str | None:
    inner = _env_file(name, value, random)
    return None if inner is None else json.dumps({"stdout": inner, "code": 0}, ensure_ascii=False)


def _yaml_plain(name: Name, value: str, random: Random) -> str | None:
    plain = re.fullmatch(r"[A-Za-z0-9_./~+^$(=;][^\"'\\`\s]*", value) and not re.search(r":$|^[~=]$", value)
    return (
        f"database:\n  host: db.internal\n  {_any_case(name, random)}: {marked(value)}\n  port: 5432\n"
        if plain
        else None
    )


def _yaml_quoted(name: Name, value: str, random: Random) -> str:
    written = _double(value) if random.random() < 0.5 else "'" + marked(value.replace("'", "''")) + "'"
    return f"database:\n  {_any_case(name, random)}: {written}\n  port: 5432\n"


def _toml(name: Name, value: str, random: Random) -> str:
    literal = "'" not in value and random.random() < 0.3
    written = f"'{marked(value)}'" if literal else _double(value)
    return f"[database]\nport = 5432\n{snake(name)} = {written}\npool = 5\n"


def _ini(name: Name, value: str, random: Random) -> str | None:
    sign = random.choice(("=", " = "))
    return _framed(f"[client]\nuser = app\n{snake(name)}{sign}", _plain(value), "\nhost = db.internal\n")


def _properties(name: Name, value: str, random: Random) -> str | None:
    if " " in value:
        return None
    escaped = value.replace("\\", "\\\\")
    return f"spring.datasource.url=jdbc:h2:mem\nspring.datasource.{kebab(name)}={marked(escaped)}\nserver.port=8080\n"


def _keyword(name: Name, value: str, random: Random) -> str:
    return f'client = connect("db.internal", user="app", {snake(name)}={_either(value, random)}, timeout=30)'


def _python_dict(name: Name, value: str, random: Random) -> str:
    return f"options = {{'host': 'db.internal', '{snake(name)}': {_either(value, random)}, 'retries': 3}}"


def _python(name: Name, value: str, random: Random) -> str:
    typed = random.choice(("", ": str", ": Final[str]", ": str | None"))
    return (
        f"{random.choice((upper, snake))(name)}{typed} = {_either(value, random)}\n\n\ndef main() -> None:\n    pass\n"
    )


def _env_default(name: Name, value: str, random: Random) -> str:
    return f'{upper(name)} = env("{upper(name)}", default={_either(value, random)})'


def _environ_get(name: Name, value: str, random: Random) -> str:
    call = random.choice(("os.environ.get", "os.getenv"))
    return f'{snake(name)} = {call}("{upper(name)}", {_either(value, random)})'


def _process_env(name: Name, value: str, random: Random) -> str:
    return f"const {camel(name)} = process.env.{upper(name)} {random.choice(('||', '??'))} {_either(value, random)};"


def _typescript(name: Name, value: str, random: Random) -> str:
    return f"export const {camel(name)}: string = {_either(value, random)};\nexport const port: number = 8080;"


def _javascript_object(name: Name, value: str, random: Random) -> str:
    return f"const db = createPool({{ host: 'db', {camel(name)}: {_either(value, random)}, max: 10 }});"


def _go_var(name: Name, value: str, random: Random) -> str:
    return f"{random.choice(('var', 'const'))} {camel(name)} string = {_double(value)}\n\nfunc main() {{"


def _go_short(name: Name, value: str, random: Random) -> str:
    written = f"`{marked(value)}`" if "`" not in value and random.random() < 0.3 else _double(value)
    return f"\t{camel(name)} := {written}\n\tclient.Connect(ctx)"


def _go_field(name: Name, value: str, random: Random) -> str:
    field = camel(name)[0].upper() + camel(name)[1:]
    return f'\tcfg := Config{{\n\t\tHost:     "db.internal",\n\t\t{field}: {_double(value)},\n\t}}'


def _rust(name: Name, value: str, random: Random) -> str:
    return (
        f"const {upper(name)}: &str = {_double(value)};"
        if random.random() < 0.5
        else (f"    let {snake(name)} = String::from({_double(value)});")
    )


def _java(name: Name, value: str, random: Random) -> str:
    if random.random() < 0.4:
        setter = "set" + "".join(word.capitalize() for word in name)
        return f"config.{setter}({_double(value)});"
    return f"    private static final String {upper(name)} = {_double(value)};"


def _cpp(name: Name, value: str, random: Random) -> str:
    if random.random() < 0.3:
        return f"#define {upper(name)} {_double(value)}\n#define PORT 8080"
    return f"const std::string {snake(name)} = std::string({_double(value)});"


def _swift(name: Name, value: str, random: Random) -> str:
    return f"{random.choice(('let', 'val', 'var'))} {camel(name)}: String = {_double(value)}"


def _ruby(name: Name, value: str, random: Random) -> str:
    return (
        f"client = Client.new(host: 'db', {snake(name)}: {_either(value, random)})"
        if random.random() < 0.5
        else (f"config[:{snake(name)}] = {_either(value, random)}")
    )


def _connection_string(_: Name, value: str, random: Random) -> str | None:
    if "'" in value and '"' in value:
        return None
    sign = '"' if "'" in value else "'"
    around = sign if re.search(r"[;\"'\s={}]", value) else ""
    key = random.choice(("Password", "Pwd"))
    return f"Server=tcp:db.internal,1433;Database=shop;User Id=app;{key}={around}{marked(value)}{around};Encrypt=True;"


def _libpq(_: Name, value: str, random: Random) -> str:
    written = marked(value)
    if re.search(r"[\s'\\]", value):
        written = "'" + marked(value.replace("\\", "\\\\").replace("'", "\\'")) + "'"
    return f"host=db.internal port=5432 user=app password={written} dbname=shop sslmode=require"


def _userinfo(_: Name, value: str, random: Random) -> str | None:
    scheme = random.choice(("postgresql", "mysql", "mongodb", "amqp", "redis", "https"))
    return _framed(f"{scheme}://app:", _in_url(value, random), "@db.internal:5432/shop")


def _query(name: Name, value: str, random: Random) -> str | None:
    return _framed(f"GET https://api.internal/v1/items?page=2&{snake(name)}=", _percent(value), "&sort=name HTTP/1.1")


def _header(name: Name, value: str, random: Random) -> str | None:
    key = random.choice(
        ("X-Api-Key", "X-Auth-Token", "Api-Key", "PRIVATE-TOKEN", "X-Vault-Token", "Authorization: Bearer",
         "Authorization: Token")
    )  # fmt: skip
    joint = " " if ":" in key else ": "
    return _framed(f"Host: api.internal\n{key}{joint}", _plain(value), "\nAccept: */*\n")


def _basic_header(_: Name, value: str, random: Random) -> str:
    encoded = b64encode(f"app:{value}".encode()).decode()
    return f"Authorization: Basic {may(encoded[:6] + marked(encoded[6:]))}\nAccept: */*"


def _curl_user(_: Name, value: str, random: Random) -> str:
    user = random.choice(("app", "admin", "deploy"))
    option = random.choice(("-u ", "--user "))
    pair = _shell(value, random)
    pair = f"{pair[0]}{user}:{pair[1:]}" if pair[0] in "'\"" else f"{user}:{pair}"
    return f"curl -sS {option}{pair} https://api.internal/v1/items | jq .id"


def _curl_header(name: Name, value: str, random: Random) -> str | None:
    key = random.choice(("X-Api-Key", "X-Auth-Token", "PRIVATE-TOKEN"))
    before = random.choice((f"{key}: ", "Authorization: Bearer "))
    if re.search(r"['\s]", value):
        return None
    return f"curl -H '{before}{marked(value)}' -H 'Accept: application/json' https://api.internal/v1/items"


def _option_equals(name: Name, value: str, random: Random) -> str:
    return f"$ deployctl push --host db.internal --{kebab(name)}={_shell(value, random)} --verbose"


def _option_space(name: Name, value: str, random: Random) -> str:
    return f"$ deployctl push --{kebab(name)} {_shell(value, random)} --verbose"


def _mysql(_: Name, value: str, random: Random) -> str:
    program = random.choice(("mysql", "mysqldump"))
    return f"{program} -h db.internal -u root -p{_shell(value, random)} shop"


def _sshpass(_: Name, value: str, random: Random) -> str:
    command = random.choice(
        ("sshpass -p {} ssh deploy@web-1", "redis-cli -h cache -a {} ping", "PGPASSWORD={} pg_dump shop",
         "docker login -u ci -p {} registry.internal", "keytool -list -storepass {} -keystore a.jks")
    )  # fmt: skip
    return command.format(_shell(value, random))


def _xml_element(name: Name, value: str, random: Random) -> str:
    key = _any_case(name, random)
    return f"<server>\n  <id>central</id>\n  <{key}>{_xml(value)}</{key}>\n</server>"


def _xml_attributes(name: Name, value: str, random: Random) -> str:
    key = camel(name)
    if random.random() < 0.5:
        return f'<add key="{key}" value="{_attribute(value)}" />'
    return f'<user name="app" {key}="{_attribute(value)}" roles="admin"/>'


def _plist(name: Name, value: str, random: Random) -> str:
    return f"<dict>\n\t<key>{camel(name)}</key>\n\t<string>{_xml(value)}</string>\n</dict>"


def _secret_data(name: Name, value: str, random: Random) -> str:
    encoded = b64encode(value.encode()).decode()
    return f"kind: Secret\nmetadata:\n  name: shop\ndata:\n  {_any_case(name, random)}: {marked(encoded)}\n"


def _string_data(name: Name, value: str, random: Random) -> str:
    return f"kind: Secret\nmetadata:\n  name: shop\nstringData:\n  {_any_case(name, random)}: {_double(value)}\n"


def _env_list(name: Name, value: str, random: Random) -> str:
    return f"        env:\n        - name: {upper(name)}\n          value: {_double(value)}\n        - name: PORT\n"


def _compose(name: Name, value: str, random: Random) -> str | None:
    return _framed(f"    environment:\n      - {upper(name)}=", _plain(value), "\n      - PORT=8080\n")


def _terraform_line(name: Name, value: str, random: Random) -> str:
    if random.random() < 0.4:
        return f'variable "{snake(name)}" {{\n  type    = string\n  default = {_terraform(value)}\n}}'
    return f'resource "aws_db_instance" "main" {{\n  engine   = "postgres"\n  {snake(name)} = {_terraform(value)}\n}}'


def _dockerfile(name: Name, value: str, random: Random) -> str | None:
    form = random.choice(("ENV {}={}", "ARG {}={}", "ENV {} {}"))
    written = _plain(value) if "$" not in value and random.random() < 0.6 else _shell_double(value)
    return None if written is None else f"FROM python:3.11\n{form.format(upper(name), written)}\nWORKDIR /app\n"


def _docker_run(name: Name, value: str, random: Random) -> str:
    return f"docker run -d -e {upper(name)}={_shell(value, random)} -p 5432:5432 postgres:16"


def _php(name: Name, value: str, random: Random) -> str:
    form = random.choice(
        ("define('{0}', {1});", "define( '{0}', {1} );", "${2} .= {1};", "$config['{2}'] = {1};", "'{2}' => {1},")
    )
    return form.format(upper(name), _single(value), snake(name))


def _r_arrow(name: Name, value: str, random: Random) -> str:
    return f"{random.choice(('.', '_')).join(name)} <- {_either(value, random)}"


def _makefile(name: Name, value: str, random: Random) -> str | None:
    escaped = value.replace("$", "$$").replace("#", "\\#")
    if re.search(r"\s", value):
        return None
    return (
        f"PORT ?= 8080\n{upper(name)} {random.choice(('?=', ':=', '='))} {marked(escaped)}\n\ndeploy:\n\t./deploy.sh\n"
    )


def _csv(name: Name, value: str, random: Random) -> str:
    written = marked(value) if not re.search(r"[,\"\s]", value) else '"' + marked(value.replace('"', '""')) + '"'
    return f"name,value,owner\nregion,eu-west-1,ops\n{snake(name)},{written},ops\n"


def _table(name: Name, value: str, random: Random) -> str:
    escaped = value.replace("|", "\\|")
    tick = "" if "`" in value or (" " not in value and random.random() < 0.5) else "`"
    key = random.choice((title(name), snake(name), *FOREIGN_NAMES[:4]))
    return f"| Setting | Value |\n| --- | --- |\n| Host | db.internal |\n| {key} | {tick}{marked(escaped)}{tick} |\n"


def _next_line(name: Name, value: str, random: Random) -> str | None:
    if " " in value:
        return None
    key = random.choice(
        (title(name) + ":", f"Your new {' '.join(name)} is:", f"**{title(name)}**", "Passwort:", "パスワード:")
    )
    return f"{key}\n{random.choice(('', '    '))}{marked(value)}\n\nKeep it safe."


def _aws_configure(_: Name, value: str, random: Random) -> str:
    identifier = may("AKIA" + fill("[A-Z2-7]{16}", random))
    return (
        f"AWS Access Key ID [None]: {identifier}\nAWS Secret Access Key [None]: {marked(value)}\n"
        "Default region name [None]: eu-west-1"
    )


def _prompt(name: Name, value: str, random: Random) -> str | None:
    if " " in value:
        return None
    return f"{random.choice(('Enter', 'New', 'Current'))} {' '.join(name)}: {marked(value)}\nLogged in."


def _json_list(name: Name, value: str, random: Random) -> str:
    return f'{{"id": 7, "{snake(name)}s": [{_json(value)}], "ok": true}}'


def _yaml_list(name: Name, value: str, random: Random) -> str:
    return f"{snake(name)}s:\n  - {_double(value)}\nhosts:\n  - db.internal\n"


def _second_argument(_: Name, value: str, random: Random) -> str:
    identifier = may("AKIA" + fill("[A-Z2-7]{16}", random))
    call = random.choice(
        ("boto.connect_s3(", "new BasicAWSCredentials(", "credentials.NewStaticCredentials(", "S3Client(")
    )
    return f'{call}"{identifier}", {_double(value)})'


def _english(name: Name, value: str, random: Random) -> str | None:
    words = " ".join(name)
    form = random.choice((
        "The {0} for staging is {1} and it expires on Friday.", "I set the {0} to {1} so that you can log in.",
        "Use {1} as the {0} for now.", "My {0}: {1} (please rotate it).", "the {0} = {1} works, the old one does not",
    ))  # fmt: skip
    return _framed("", _spoken(value, random, form, words))


def _german(_: Name, value: str, random: Random) -> str | None:
    form = random.choice((
        "Das {0} für den Server lautet {1} und gilt ab morgen.", "Dein {0} ist {1} bis Freitag.",
        "{0}: {1}\nBitte ändern.",
    ))  # fmt: skip
    return _spoken(value, random, form, random.choice(("Passwort", "Kennwort", "Zugangspasswort")))


def _other_languages(_: Name, value: str, random: Random) -> str | None:
    form = random.choice((
        "La contraseña es {} hasta mañana.", "contraseña: {}\nusuario: app", "Le mot de passe est {} pour ce serveur.",
        "mot de passe : {}\nutilisateur : app", "密码：{}\n用户名：app", "密码是 {} ，请保密",
        "パスワードは {} です。", "パスワード: {}\nユーザー: app", "A senha é {} até sexta.", "口令: {}\n",
    ))  # fmt: skip
    return _spoken(value, random, form)


def _spoken(value: str, random: Random, form: str, words: str = "") -> str | None:
    quotes = [sign for sign in "\"'`" if sign not in value]
    if (" " in value or random.random() < 0.5) and quotes:
        sign = random.choice(quotes)
        written: str | None = f"{sign}{marked(value)}{sign}"
    else:
        written = _plain(value)
    if written is None:
        return None
    return form.format(words, written) if words else form.format(written)


def _foreign_key(_: Name, value: str, random: Random) -> str:
    key = random.choice([name for name in FOREIGN_NAMES if " " not in name])
    if random.random() < 0.5:
        return f'{{"host": "db", "{key}": {_json(value)}}}'
    return f"host: db.internal\n{key}: {_double(value)}\nport: 5432\n"


def _log_line(name: Name, value: str, random: Random) -> str | None:
    form = f"2026-03-04T05:06:07Z INFO login user=app {snake(name)}="
    return _framed(form, _plain(value), " status=200 took=13ms")


def _netrc(_: Name, value: str, random: Random) -> str | None:
    return _framed("machine api.internal\n  login app\n  password ", _plain(value), "\n")


def _npmrc(_: Name, value: str, random: Random) -> str | None:
    return _framed("//registry.internal/:_authToken=", _plain(value), "\nregistry=https://registry.internal/\n")


def _sql(_: Name, value: str, random: Random) -> str:
    form = random.choice(("CREATE USER app WITH PASSWORD {};", "ALTER ROLE app PASSWORD {};",
                          "CREATE USER 'app'@'%' IDENTIFIED BY {};"))  # fmt: skip
    return form.format("'" + marked(value.replace("'", "''")) + "'")


def _chpasswd(_: Name, value: str, random: Random) -> str | None:
    if re.search(r"['\s]", value):
        return None
    return f"echo 'deploy:{marked(value)}' | sudo chpasswd"


def _cookie(_: Name, value: str, random: Random) -> str | None:
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~/=-]+", value):
        return None
    return f"Cookie: theme=dark; session_token={marked(value)}; lang=de"


def _diff(name: Name, value: str, random: Random) -> str | None:
    return _framed(
        f"@@ -1,2 +1,2 @@\n APP_ENV=production\n-{upper(name)}=\n+{upper(name)}=", _plain(value), "\n PORT=80\n"
    )


def _listing(name: Name, value: str, random: Random) -> str | None:
    return _framed(f"     1→APP_ENV=production\n     2→{upper(name)}=", _plain(value), "\n     3→PORT=8080\n")


_WRITERS: dict[str, dict[str, Write]] = {
    "settings files": {
        ".env": _env_file, "TOML": _toml, "INI": _ini, "properties": _properties, "YAML plain": _yaml_plain,
        "YAML quoted": _yaml_quoted, "netrc": _netrc, ".npmrc": _npmrc, "Makefile": _makefile,
    },
    "JSON and XML": {
        "JSON": _json_object, "JSON in JSON": _json_in_json, ".env in JSON": _env_in_json, "JSON list": _json_list,
        "YAML list": _yaml_list, "XML element": _xml_element, "XML attributes": _xml_attributes, "plist": _plist,
    },
    "code": {
        "Python": _python, "Python keyword": _keyword, "Python dict": _python_dict, "env default": _env_default,
        "environ.get": _environ_get, "process.env": _process_env, "TypeScript": _typescript,
        "JavaScript object": _javascript_object, "Go var": _go_var, "Go :=": _go_short, "Go field": _go_field,
        "Rust": _rust, "Java": _java, "C++": _cpp, "Swift, Kotlin": _swift, "Ruby": _ruby, "PHP": _php, "R": _r_arrow,
        "second argument": _second_argument, "SQL": _sql,
    },
    "commands": {
        "export": _export, "prefix": _prefix, "Windows": _set_windows, "curl -u": _curl_user,
        "curl -H": _curl_header, "--name=value": _option_equals, "--name value": _option_space, "mysql -p": _mysql,
        "password option": _sshpass, "docker run": _docker_run, "chpasswd": _chpasswd,
    },
    "connections, HTTP": {
        "connection string": _connection_string, "libpq": _libpq, "URL userinfo": _userinfo, "URL query": _query,
        "header": _header, "basic header": _basic_header, "cookie": _cookie,
    },
    "deployment": {
        "Secret data": _secret_data, "Secret stringData": _string_data, "env list": _env_list, "compose": _compose,
        "Terraform": _terraform_line, "Dockerfile": _dockerfile,
    },
    "prose and tables": {
        "CSV": _csv, "Markdown table": _table, "next line": _next_line, "English": _english, "German": _german,
        "other languages": _other_languages, "foreign key": _foreign_key,
    },
    "terminals and logs": {
        "aws configure": _aws_configure, "prompt": _prompt, "log line": _log_line, "diff": _diff, "listing": _listing,
    },
}  # fmt: skip
CARRIERS = tuple(Carrier(name, kind, write) for kind, writers in _WRITERS.items() for name, write in writers.items())
PASSWORDS_ONLY = frozenset(
    {"connection string", "libpq", "URL userinfo", "curl -u", "mysql -p", "password option", "netrc", "SQL", "chpasswd",
     "basic header"}
)  # fmt: skip
_TOKENS = (
    "letters, digits", "hex 32", "hex 40", "hex 64", "UUID", "base64, padded", "40 of base64", "random letters",
)  # fmt: skip
TOKENS_ONLY = {
    "header": _TOKENS,
    "curl -H": _TOKENS,
    "cookie": _TOKENS,
    ".npmrc": ("hex 40", "UUID", "base64, padded"),
    "aws configure": ("40 of base64",),
    "second argument": ("40 of base64",),
}
