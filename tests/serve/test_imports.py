"""What people have in other products, taken to a server."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bank.test_products import PRODUCTS, imported, made

from perdure import Memory
from perdure.auth.authorise import SCOPES
from perdure.auth.token_file import TokenFile
from perdure.bank.sections import ImportOptions
from perdure.errors import NotAllowed

if TYPE_CHECKING:
    from serve.running import RunningServer

# Chats and memories, memories alone, and a database, each with when its first memory was made there.
EXPORTS = {"claude.zip": "2026-02-01T00:00Z", "all.json": "2026-03-01T17:00Z", "store.db": "2026-03-01T09:00Z"}


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_imported_into_a_server_as_into_a_file(shared: RunningServer, tmp_path: Path, name: str):
    path, counts = made(tmp_path, name), PRODUCTS[name][2]
    whole = counts.get("messages", 0) + counts.get("memories", 0)
    with Memory(shared.started["url"], token=shared.owner, namespace=f"from-{name.partition('.')[0]}") as memory:
        assert imported(memory, path, ImportOptions(dry_run=True)).inserted == whole
        report = imported(memory, path)
        assert (report.inserted, dict(report.kinds)) == (whole, counts)
        assert imported(memory, path).present == whole
        records = memory.list(limit=100).records
        assert {(record.trust, record.source) for record in records} == {("low", "import")}
        assert min(record.created_at for record in records) == datetime.fromisoformat(EXPORTS[name])
        memory.undo(report.batch)
        assert not memory.list()
        again = imported(memory, path)
        assert again.inserted + again.updated == whole


def test_a_model_s_token_imports_no_export_with_memories_and_not_half_of_it(shared: RunningServer, tmp_path: Path):
    tokens, name = TokenFile(shared.store), "from-a-model"
    token = tokens.create("importing model", scopes=SCOPES, namespaces=(name,), writer="model")[1]
    with Memory(shared.started["url"], token=token, namespace=name) as memory:
        with pytest.raises(NotAllowed):
            imported(memory, made(tmp_path, "claude.zip"))
        assert not memory.list()
        assert imported(memory, made(tmp_path, "chatgpt.zip")).inserted == 6
