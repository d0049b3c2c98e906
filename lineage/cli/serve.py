"""`lineage serve`."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from lineage.app import listener
from lineage.app.locations import detect_caller, format_location, load_machine_settings, require_extra, suppress_hooks
from lineage.app.workspace import open_workspace, run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_json, print_text


@options.command("serve")
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=4848, show_default=True, help="0 for any free one.")
@click.option("--allow-host", "names", metavar="NAME", multiple=True, help="A name that browsers call this server by.")
@click.option("--check", is_flag=True, help="Check that it can be served, print the address, and end.")
def command(root: Path, host: str, port: int, names: Sequence[str], check: bool, as_json: bool) -> int:
    """Serve the web page, and the API under /api, until you stop it.

    Only this machine reaches it, unless --host or --allow-host say otherwise: then LINEAGE_WEB_TOKEN has to hold an
    access key, which browsers are asked for. Where it is set, they are asked on this machine, too.

    \b
    Example:
      lineage serve --port 0 --check
    """
    require_extra("web", "starlette", "uvicorn", "jinja2", "pydantic", "markdown_it", "pygments")
    from lineage.web.application import serve
    from lineage.web.service import Service

    caller, is_local = detect_caller(), listener.is_loopback(host) and not names
    configured = load_machine_settings(os.environ).web.token
    access_key = listener.take_access_key(os.environ, is_local=is_local, configured=configured)
    open_workspace(root).close()  # a missing workspace is an error now, not at the first request
    with listener.bind_socket(host, port) as server_socket:
        url, place = listener.format_url(server_socket), format_location(root)
        if as_json:
            print_json({"url": url, "workspace": place, "token": access_key is not None})
        else:
            key = ", with the access key" if access_key is not None else ""
            print_text(f"{place} at {url}{key}" + ("" if check else "; Ctrl-C ends it"))
        if check:
            return 0
        suppress_hooks()
        service = Service(
            root=root, run_in_workspace=run_in_workspace, clock=time.time, access_key=access_key, is_local=is_local,
            caller=caller, host_names=tuple(name.lower() for name in (host, *names)),
        )  # fmt: skip
        with suppress(KeyboardInterrupt):
            serve(service, server_socket)
    return 0
