"""backup and restore-backup at the command line."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cli.user import User


def test_a_backup_and_its_return_bring_the_memories_back(user: User, tmp_path: Path):
    user.done("remember", "tea in the morning")
    copy = tmp_path / "memories.backup"
    made = user.done("backup", str(copy), "--json").json
    assert (made["path"], made["memory_count"], made["revision_count"]) == (str(copy), 1, 1)
    user.done("remember", "coffee")
    done = user.done("restore-backup", str(copy), "--yes", "--json").json
    assert (done["memory_count"], done["erased"]) == (1, 0)
    assert Path(done["kept"]).exists()
    assert [row[-1] for row in user.done("list").rows] == ["tea in the morning"]
    user.done("restore-backup", done["kept"], "--yes", "--no-keep")
    assert len(user.done("list").rows) == 2


def test_the_checksum_is_one_that_sha256sum_accepts(user: User, tmp_path: Path):
    user.done("remember", "tea")
    user.done("backup", str(tmp_path / "memories.backup"))
    command = ["sha256sum", "--check", "memories.backup.sha256"]
    assert subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).returncode == 0


def test_in_a_pipe_there_are_tabs_and_on_a_screen_a_sentence(user: User, tmp_path: Path):
    user.done("remember", "tea")
    (made,) = user.done("backup", str(tmp_path / "one")).rows
    assert (made[0], len(made[2]), made[3:]) == (str(tmp_path / "one"), 64, ["1", "1"])
    assert "Copied 1 memory to" in user.screen("backup", str(tmp_path / "two"))
    (done,) = user.done("restore-backup", str(tmp_path / "one"), "--yes", "--no-keep").rows
    assert done == [str(tmp_path / "one"), "1", "0", ""]
    assert "Restored 1 memory from" in user.screen("restore-backup", str(tmp_path / "one"), "--yes")


def test_where_there_is_no_store_nothing_is_asked_and_nothing_is_kept(user: User, tmp_path: Path):
    user.done("remember", "tea")
    user.done("backup", str(tmp_path / "one"))
    new = tmp_path / "elsewhere" / "memory.db"
    done = user.done("restore-backup", str(tmp_path / "one"), "--store", str(new), "--json").json
    assert (done["memory_count"], done["kept"]) == (1, None)


def test_a_restore_is_never_done_unasked(user: User, tmp_path: Path):
    user.done("remember", "tea")
    user.done("backup", str(tmp_path / "copy"))
    user.done("remember", "coffee")
    asked = user.fails(4, "restore-backup", str(tmp_path / "copy"))
    assert len(user.done("list").rows) == 2
    user.done(*shlex.split(asked.err.split("Go ahead: perdure ")[1]))
    assert len(user.done("list").rows) == 1


def test_whoever_says_no_keeps_what_is_there_and_that_is_no_error(user: User, tmp_path: Path):
    user.done("remember", "tea")
    user.done("backup", str(tmp_path / "copy"))
    user.done("remember", "coffee")
    code, out, err = user.on_a_terminal(b"n\n", "restore-backup", str(tmp_path / "copy"))
    assert (code, out, "Nothing was changed." in err) == (0, "", True)
    assert len(user.done("list").rows) == 2


def test_a_file_that_is_there_is_replaced_only_when_asked(user: User, tmp_path: Path):
    user.done("remember", "tea")
    (tmp_path / "copy").write_text("precious", encoding="utf-8")
    assert "--overwrite" in user.fails(4, "backup", str(tmp_path / "copy")).err
    assert (tmp_path / "copy").read_text("utf-8") == "precious"
    user.done("backup", str(tmp_path / "copy"), "--overwrite")
    user.done("backup", str(tmp_path / "copy"), "-f")


def test_a_file_that_is_no_backup_is_refused_and_nothing_changes(user: User, tmp_path: Path):
    user.done("remember", "tea")
    (tmp_path / "text").write_text("This is not a database. " * 100, encoding="utf-8")
    user.fails(2, "restore-backup", str(tmp_path / "text"), "--yes")
    user.fails(2, "restore-backup", str(tmp_path / "nothing"), "--yes")
    assert len(user.done("list").rows) == 1


def test_a_backup_opens_a_new_store_elsewhere(user: User, tmp_path: Path):
    user.done("remember", "tea")
    user.done("backup", str(tmp_path / "copy"))
    new = str(tmp_path / "new.db")
    user.done("restore-backup", str(tmp_path / "copy"), "--yes", "--store", new)
    assert len(user.done("list", "--store", new).rows) == 1


def test_a_backup_restored_elsewhere_is_told_what_was_erased_and_no_hint_forgets_it(user: User, tmp_path: Path):
    user.done("remember", "brightwater is the password")
    user.done("remember", "tea")
    user.done("backup", str(tmp_path / "copy"))
    user.done("erase", "1", "--yes")
    elsewhere = ("--store", str(tmp_path / "elsewhere.db"))
    assert "--erased" in user.done("restore-backup", str(tmp_path / "copy"), "--yes", *elsewhere).err
    assert len(user.done("list", *elsewhere).rows) == 2
    (ledger,) = tmp_path.rglob("*-erased")
    asked = user.fails(4, "restore-backup", str(tmp_path / "copy"), "--no-keep", "--erased", str(ledger), *elsewhere)
    (done,) = user.done(*shlex.split(asked.err.split("Go ahead: perdure ")[1])).rows
    assert done[1:] == ["1", "1", ""]
    assert [row[-1] for row in user.done("list", *elsewhere).rows] == ["tea"]
