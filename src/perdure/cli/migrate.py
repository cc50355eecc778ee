"""`perdure migrate`."""

from __future__ import annotations

from typing import Final

from perdure.cli.command import Target, command, option
from perdure.cli.render import View
from perdure.cli.terminal import safe

_EXAMPLES: Final = (
    "perdure migrate --store postgresql://perdure_owner@db/team --role perdure_app",
    "perdure migrate --store postgresql://perdure_owner@db/team --print",
)


@command("migrate", examples=_EXAMPLES)
@option("--role", metavar="NAME", help="Give this role of the database the rights that Perdure needs, and no more.")
@option("--partitions", type=int, default=0, metavar="N", help="Make new tables of N parts, by namespace.")
@option("--shards", type=int, default=0, metavar="N", help="Have Citus spread new tables in N parts over its machines.")
@option("--rewrite", is_flag=True, help="Write every table anew, so that none has bytes of what was erased.")
@option("--print", "print_only", is_flag=True, help="Print the statements for an empty database, and run none.")
def main(target: Target, *, role: str | None, partitions: int, shards: int, rewrite: bool, print_only: bool) -> View:
    """Make the tables of a store in a database, or bring them up to date.

    Nothing else makes or changes tables. Run it with a role that may, before a newer Perdure uses the store: programs
    of this version and the one before go on meanwhile. It can be run again at any time. Where the database has the
    extension pgvector, it can search by meaning itself from then on.

    With --rewrite the dead rows of the tables go, and with them what was erased: whoever uses a table waits meanwhile.
    The server's log, its standbys and its backups keep it for as long as they are kept.
    """
    from perdure.services import migrate_store, migration_statements

    settings = target.settings()
    if print_only:
        statements = migration_statements(settings, partitions=partitions, shards=shards, role=role)
        return View(json={"statements": statements}, lines=statements)
    migrated = migrate_store(settings, partitions=partitions, shards=shards, role=role, rewrite=rewrite)
    before, now = migrated.schema_before, migrated.schema
    what = "made" if not before else "up to date" if before == now else "renewed"
    shown = safe(settings.store.shown)
    by_meaning = "with" if migrated.pgvector else "without"
    lines = [f"The tables in {shown} are {what}: schema {now}, {by_meaning} pgvector."]
    if migrated.rewritten:
        lines.append("Every table was rewritten: what was erased is in none of them any more.")
    return View(json=migrated, lines=lines)
