"""`perdure demo`."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click

from perdure.cli.command import command
from perdure.cli.exits import FAILED, OK
from perdure.cli.screen import dim, safe, say
from perdure.cli.stage import Stage
from perdure.cli.target import Target, with_target
from perdure.errors import Conflict


@command("demo", examples=("perdure demo", "perdure demo --store story.db    # and look around afterwards"))
@with_target()
@click.pass_context
def main(ctx: click.Context, target: Target) -> None:
    """Watch a short story on a temporary store.

    Remember, recall, correct, forget, undo, and a crash: real commands with their real output, offline, in under a
    minute. With --store the store is kept. Exit code 1 when anything did not come out as promised.
    """
    if target.store and Path(target.store).exists():
        raise Conflict(f"{target.store} exists; the demo wants a store of its own.", remedy="Name a new file.")
    with tempfile.TemporaryDirectory(prefix="perdure-demo-", ignore_cleanup_errors=True) as directory:
        store = Path(target.store).absolute() if target.store else Path(directory) / "memory.db"
        kept = _play(target, store)
    ctx.exit(OK if kept else FAILED)


def _play(target: Target, store: Path) -> bool:
    from perdure.cli.story import tell

    namespace = target.namespaces[0] if target.namespaces else "default"
    stage = Stage(
        {"PERDURE_STORE": str(store), "PERDURE_NAMESPACE": namespace, "PERDURE_LAYOUT": "terminal"}, quiet=target.json
    )
    if not target.json:
        say(click.style("Perdure: memory that outlives the session.", bold=True))
        say(dim(f"export PERDURE_STORE={safe(str(store))}"))
    began = time.monotonic()
    kept = tell(stage)
    seconds = time.monotonic() - began
    if target.json:
        target.answer({"kept_every_promise": kept, "seconds": round(seconds, 1), "chapters": stage.script})
    else:
        say()
        if not kept:
            say(click.style("Not everything came out as promised: see the red lines.", fg="red", bold=True))
        say(f"That took {seconds:.0f} seconds, and no network. Your own begins with:")
        say('  perdure remember "…"')
    return kept
