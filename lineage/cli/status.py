"""`lineage status`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage.cli import options
from lineage.cli.output import say, say_json
from lineage.core.wording import counted

if TYPE_CHECKING:
    from lineage.errors import LineageError


@click.command("status")
@options.as_json
@options.workspace
def command(root: Path, as_json: bool) -> int:
    """What the workspace holds, what is unfinished, what was counted.

    \b
    Example:
      lineage status --json
    """
    from lineage.app import rules_at, with_house
    from lineage.app.indexing import index_shown
    from lineage.app.places import shown
    from lineage.errors import IndexAway
    from lineage.pipeline.capture.metering import usage
    from lineage.pipeline.embedding import coverage
    from lineage.pipeline.lookup import status
    from lineage.store import StoreAway

    try:
        found = with_house(root, lambda house: {**status(house), "model": usage(house), "embedding": coverage(house)})
    except (IndexAway, StoreAway) as error:
        return _away(root, error, as_json=as_json)
    state = {"workspace": shown(root), "index": index_shown(), **found, "unusable_rules": list(rules_at(root).unusable)}
    if as_json:
        say_json(state)
    else:
        _say(state)
    return 0


def _away(root: Path, error: "LineageError", *, as_json: bool) -> int:
    """What this machine knows by itself, while the workspace's store or the index's server does not answer."""
    from lineage.app.indexing import index_shown
    from lineage.app.places import canon_at, shown
    from lineage.pipeline.lookup import spooled

    state = {"workspace": shown(root), "index": index_shown(), "away": error.message, **spooled(canon_at(root))}
    if as_json:
        say_json(state)
    else:
        _say_places(state)
        say(f"away       {error.message}: {error.hint}")
        _say_spool(state)
    return error.exit_code


def _say(state: dict[str, Any]) -> None:
    _say_places(state)
    say(f"redaction  {state['rules']} rules, {state['sanitizer']}")
    for name in state["unusable_rules"]:
        say(f"  not used: {name}: it goes by a path or a commit, not by a text")
    say(f"artifacts  {_counts(state['artifacts']) or 'none yet'}")
    say(f"agents     {', '.join(state['agents']) or 'none yet'}")
    say(f"counted    {_counts(state['counters'])}")
    if state["not_learned"]:
        say(f"dropped    {_counts(state['not_learned'])}")
    say(f"removed    {state['tombstones']}")
    _say_model(state["model"])
    _say_embedding(state["embedding"])
    for mark, value in state["marks"].items():
        say(f"{mark}: {value}")
    _say_spool(state)
    if state["telemetry_was_damaged"]:
        say("damaged    .lineage/runtime.db was set aside as runtime.db.damaged; counting began anew")


def _say_places(state: dict[str, Any]) -> None:
    say(f"workspace  {state['workspace']}")
    if state["index"]:
        say(f"index      {state['index']}")


def _say_spool(state: dict[str, Any]) -> None:
    for since in dict.fromkeys(state["behind"]):
        say(f"behind     the index, since {since}")
    for job in state["unfinished"]:
        say(f"unfinished {job['flow']} of {job['session_token']}, signalled {job['captured_at']}")
    for rung in state["signals"]:
        say(f"waiting    a signal of {rung['harness']}, {rung['at']}" + (f": {rung['why']}" if rung["why"] else ""))
    for rung in state["given_up"]:
        say(f"given up   a signal of {rung['harness']}, {rung['at']}: {rung['why']}")
    if state["hook_failures"]:
        say(f"hooks      {len(state['hook_failures'])} failed, the last: {state['hook_failures'][-1]}")
    for path in state["damaged_jobs"]:
        say(f"damaged    .lineage/{path}: left as it is")


def _say_model(model: dict[str, Any]) -> None:
    today, lately = model["today"], model["last_30_days"]
    name = f"{model['provider']} {model['name']}" if model["name"] else "none"
    if not (model["name"] or lately["outcomes"] or lately["held_back"]):
        say(f"model      {name}")
        return
    say(f"model      {name}: today {_spent(today)}; last 30 days {_spent(lately)}")
    for outcome, count in lately["outcomes"].items():
        say(f"  {outcome}: {count} in 30 days")
    for why, count in lately["held_back"].items():
        say(f"  not asked, {why}: {count} in 30 days")
    if model["limit_reached"]:
        limits = f"{counted(model['calls_per_day'], 'call')}, {counted(model['tokens_per_day'], 'token')}"
        say(f"  today's limit is reached ({limits}): until tomorrow (UTC) everything is made by rule")


def _say_embedding(state: dict[str, Any]) -> None:
    if not (state["model"] or state["problem"] or state["passages"]):
        return
    where = f" at {state['endpoint']}" if state["endpoint"] else ""
    left = f", {counted(state['files_left'], 'file')} left" if state["files_left"] else ""
    kept = f"{counted(state['passages'], 'passage')} in {state['vectors']}"
    say(f"embedding  {state['model'] or 'none'}{where}: {kept}{left}")
    if state["problem"]:
        say(f"  {state['problem']}")
    for outcome, count in state["outcomes"].items():
        say(f"  {outcome}: {count}")


def _spent(spent: dict[str, Any]) -> str:
    return f"{counted(spent['calls'], 'call')}, {counted(spent['tokens'], 'token')}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
