"""Project identity: one key for every way to reach the same work (usefulness: Which project).

The key of a repository with a remote is `host/owner/name`, that of any other folder its path, the same below every home
directory. The hook path imports this module, so it imports nothing.
"""

_WORKTREES = ("/.worktrees/", "/.claude/worktrees/")
_HOSTS = {
    "www.github.com": "github.com", "ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org", "ssh.dev.azure.com": "dev.azure.com",
    "vs-ssh.visualstudio.com": "dev.azure.com",
}  # fmt: skip
_IGNORE_CASE = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "dev.azure.com"})
_AZURE = "dev.azure.com"
_MAX_LENGTH = 512


def normalize_remote(url: str) -> str | None:
    r"""Return the repository of a remote as `host/owner/name`; None for a path and for a remote without a repository.

    Credentials, ports, queries and `.git` are left out, and so are the differences between a host's addresses.

    >>> normalize_remote("https://ada:secret@GitHub.com:443/Ada/Demo.git/"), normalize_remote("git@github.com:ada/demo")
    ('github.com/ada/demo', 'github.com/ada/demo')
    >>> normalize_remote("/srv/git/demo.git"), normalize_remote("C:\\git\\demo")
    (None, None)
    """
    scheme, is_address, rest = url.strip().rpartition("://")
    if scheme.lower().endswith("file") or not (is_address or is_scp_form(url)):
        return None
    # A password may hold any sign: whatever stands before the last `@` goes.
    rest = rest.rpartition("@")[2].partition("?")[0].partition("#")[0].replace("\\", "/")
    if rest[:1] == "[":  # an IPv6 address, or a host with its port
        host, _, path = rest[1:].partition("]")
        host = host if host.count(":") > 1 else host.partition(":")[0]
        path = path.lstrip(":") if not is_address else path.partition("/")[2]
    elif is_address:
        host, _, path = rest.partition("/")
        host = host.partition(":")[0]
    else:
        host, _, path = rest.partition(":")
    host = host.lower().rstrip(".")
    parts = [part for part in path.split("/") if part not in ("", ".", "_git", "_ssh")]
    if parts and parts[-1][-4:].lower() == ".git":
        parts[-1:] = [parts[-1][:-4]] if parts[-1][:-4] else []
    host, parts = _unify_host(host, parts)
    if host in _IGNORE_CASE:
        parts = [part.lower() for part in parts]
    name = "/".join((host, *parts))
    is_usable = host and parts and ".." not in parts and name.isprintable() and " " not in host
    return name if is_usable and len(name) <= _MAX_LENGTH else None


def _unify_host(host: str, parts: "list[str]") -> "tuple[str, list[str]]":
    """Return the name that all addresses of a host share, and the path below it."""
    if host.endswith(".visualstudio.com") and host not in _HOSTS:
        parts = [host.partition(".")[0], *(part for part in parts if part.lower() != "defaultcollection")]
        host = _AZURE
    host = _HOSTS.get(host, host)
    if host == _AZURE:
        if parts and parts[0].lower() in ("v1", "v2", "v3"):
            parts = parts[1:]
        if len(parts) == 2:  # a repository with the name of its project
            parts = [*parts, parts[1]]
    return host, parts


def is_scp_form(url: str) -> bool:
    """Return whether a remote has the form `[user@]host:path`: no `/` before the colon, and no drive's letter."""
    host, colon, _ = url.strip().rpartition("@")[2].partition(":")
    return bool(colon) and len(host) > 1 and "/" not in host and "\\" not in host and "::" not in url


def build_project_key(project: str | None, repository: str | None = None) -> str:
    r"""Return the key of a project: its repository, else its path below the home directory; "" for none.

    A worktree's path is its repository's, also after the worktree is gone.

    >>> build_project_key("/home/ada/code/demo/"), build_project_key("C:\\Users\\ada\\code\\demo")
    ('~/code/demo', '~/code/demo')
    >>> build_project_key("/home/ada/demo/.claude/worktrees/x/src"), build_project_key("/srv/x", "github.com/ada/demo")
    ('~/demo', 'github.com/ada/demo')
    """
    path = strip_worktree((repository or project or "").replace("\\", "/")).rstrip("/")
    parts = path.split("/")
    first, second = parts[0].lower(), parts[1].lower() if len(parts) > 1 else ""
    is_drive = len(first) == 2 and "a" <= first[0] <= "z" and first[1] == ":"
    if not first and second == "root":
        return "/".join(("~", *parts[2:]))
    if len(parts) > 2 and ((not first and second in ("home", "users")) or (is_drive and second == "users")):
        return "/".join(("~", *parts[3:]))
    return path


def strip_worktree(path: str) -> str:
    """Return the path before a folder of worktrees, else the path."""
    normal = path.replace("\\", "/")
    ends = [normal.find(mark) for mark in _WORKTREES if normal.find(mark) > 0]
    return path[: min(ends)] if ends else path


def is_absolute(path: str) -> bool:
    r"""Return whether a path names a folder of a machine, this or another one.

    >>> is_absolute("/srv/demo"), is_absolute("C:\\demo"), is_absolute("packages/api")
    (True, True, False)
    """
    return path[:1] in ("/", "\\") or path[1:2] == ":"


def strip_worktree_name(path: str) -> str:
    """Return a path below a repository's root without the worktree that it leads through.

    >>> strip_worktree_name(".claude/worktrees/mend/packages/api"), strip_worktree_name("packages/api")
    ('packages/api', 'packages/api')
    """
    mark = next((mark[1:] for mark in _WORKTREES if path.startswith(mark[1:])), "")
    return path[len(mark) :].partition("/")[2] if mark else path


def strip_project(path: str, project: str | None) -> str:
    r"""Return a path below the root of its project or of a worktree in it, any other as it is.

    >>> strip_project("C:\\demo\\src\\x.py", "C:\\demo"), strip_project("/demo/.worktrees/a/x.py", "/demo")
    ('src/x.py', 'x.py')
    """
    normal, root = path.replace("\\", "/"), f"{(project or '').replace(chr(92), '/').rstrip('/')}/"
    return strip_worktree_name(normal[len(root) :]) if root != "/" and normal.startswith(root) else path


def normalize_subfolder(path: str) -> str:
    r"""Return a path below a repository's root in its shortest form; "" for the root and for a path outside of it.

    >>> normalize_subfolder("./packages\\api/"), normalize_subfolder("a/../b"), normalize_subfolder("../demo")
    ('packages/api', 'b', '')
    """
    parts = list[str]()
    for part in path.replace("\\", "/").split("/"):
        if part == ".." and not parts:
            return ""
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def relate_path(path: str, root: str, subfolder: str = "") -> str:
    """Return a path below the root of a repository, "" for one outside of it; others are relative to the subfolder.

    >>> relate_path("/srv/demo/.worktrees/x/a.py", "/srv/demo"), relate_path("a.py", "/srv/demo", "web")
    ('a.py', 'web/a.py')
    >>> relate_path("/etc/hosts", "/srv/demo"), relate_path("~/a.py", "/srv/demo")
    ('', '')
    """
    inside = strip_project(path, root)
    if is_absolute(inside) or inside.startswith("~"):
        return ""
    return normalize_subfolder(inside if inside != path else f"{subfolder}/{path}")


def is_repository(key: str) -> bool:
    """Return whether a key is that of a remote, not of a path or a bare name.

    >>> is_repository("github.com/ada/demo"), is_repository("~/demo"), is_repository("demo")
    (True, False, False)
    """
    return "/" in key and key[0] not in "/~" and key[1:2] != ":"


def has_project(key: str) -> bool:
    """Return whether a key is a project's: the home directory and the root are none."""
    return key not in ("", "~")


def label_projects(keys: "list[str]") -> "dict[str, str]":
    """Return a short name for each key: its last part, the last two if several share it, else the whole key.

    >>> label_projects(["github.com/ada/cli", "github.com/eve/cli", "~/demo"])
    {'github.com/ada/cli': 'ada/cli', 'github.com/eve/cli': 'eve/cli', '~/demo': 'demo'}
    """
    unique = sorted(set(keys))
    labels = dict.fromkeys(unique, "")
    for depth in (1, 2):
        names = {key: "/".join(key.split("/")[-depth:]) or key for key in unique if not labels[key]}
        counts = list(names.values())
        labels |= {key: name for key, name in names.items() if counts.count(name) == 1}
    return {key: labels[key] or key for key in unique}


def join_projects(known: "list[tuple[str, str]]") -> "dict[str, str]":
    """Return the project's key for each key in pairs of key and path.

    A path without a remote belongs to the repository that was there since, unless several were.
    """
    pairs = set(known)
    repositories: dict[str, set[str]] = {}
    for key, path in pairs:
        if is_repository(key):
            repositories.setdefault(build_project_key(path), set()).add(key)
    joined = {path: next(iter(keys)) for path, keys in repositories.items() if len(keys) == 1 and has_project(path)}
    return {key: joined.get(key, key) for key, _ in pairs} | joined
