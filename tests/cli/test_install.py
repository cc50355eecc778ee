"""`perdure install`: what a person wrote stays, twice is as once, and uninstalling leaves what was there before."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import Conflict
from perdure.hosts.edits import drop_hooks, edit_json, edit_toml, edit_yaml, put_hooks
from perdure.hosts.host import HOSTS, claude_hooks
from perdure.text.jsonc import parse_jsonc

if TYPE_CHECKING:
    from cli.user import User

HOOKS = claude_hooks("perdure", "user")
EVERY_FILE = {
    "claude-code": (".claude.json", ".claude/settings.json"),
    "codex": (".codex/config.toml", ".codex/hooks.json"),
    "copilot": (".copilot/mcp-config.json",),
    "gemini": (".gemini/settings.json",),
    "opencode": (".config/opencode/opencode.json",),
    "continue": (".continue/config.yaml",),
    "cursor": (".cursor/mcp.json",),
    "vscode": (".config/Code/User/mcp.json",),
    "windsurf": (".codeium/windsurf/mcp_config.json",),
    "claude-desktop": (".config/Claude/claude_desktop_config.json",),
}


@pytest.fixture
def home(stranger: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory; `perdure` is on the PATH, and no host is."""
    programs = stranger / "bin"
    programs.mkdir()
    (programs / "perdure").write_text("#!/bin/sh\n", encoding="utf-8")
    (programs / "perdure").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return stranger


@pytest.mark.parametrize(("host", "folder"), [("claude-desktop", "Claude"), ("vscode", "Code/User")])
def test_on_macos_the_files_of_applications_are_below_the_library(
    newcomer: User, home: Path, monkeypatch: pytest.MonkeyPatch, host: str, folder: str
):
    monkeypatch.setattr("perdure.hosts.install.sys.platform", "darwin")
    newcomer.done("install", host)
    name = EVERY_FILE[host][0]
    assert (home / "Library/Application Support" / folder / Path(name).name).exists()
    assert not (home / name).exists()


@pytest.mark.parametrize("place", ["above", "below"])
def test_what_codex_writes_beside_our_lines_changes_nothing(newcomer: User, home: Path, place: str):
    newcomer.done("install", "codex")
    path = home / ".codex" / "config.toml"
    own, theirs = path.read_text(encoding="utf-8"), '[model_providers.x]\nname = "x"\n'
    path.write_text(f"{theirs}\n{own}" if place == "above" else f"{own}\n{theirs}", encoding="utf-8")
    kept = path.read_bytes()
    told = newcomer("doctor", "codex")
    assert "is not in the configuration" not in told.out + told.err
    newcomer.done("install", "codex")
    assert path.read_bytes() == kept


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not {"bin", ".local"} & set(path.parts)
    }


@pytest.mark.parametrize("host", HOSTS)
def test_installing_writes_the_hosts_own_files_and_twice_is_as_once(newcomer: User, home: Path, host: str):
    newcomer.done("install", host)
    once = files(home)
    assert set(once) == set(EVERY_FILE[host])
    assert all(b"perdure" in content for content in once.values())
    again = newcomer.done("install", host, "--json").json
    assert {change["outcome"] for change in again["changes"]} == {"unchanged"}
    assert files(home) == once


@pytest.mark.parametrize("host", HOSTS)
def test_uninstalling_takes_everything_out_again(newcomer: User, home: Path, host: str):
    newcomer.done("install", host)
    newcomer.done("uninstall", host)
    assert files(home) == {}


@pytest.mark.parametrize("host", HOSTS)
def test_a_dry_run_shows_what_it_would_write_and_writes_nothing(newcomer: User, home: Path, host: str):
    assert "perdure" in newcomer.screen("install", host, "--dry-run")
    assert files(home) == {}


def test_a_dry_run_shows_the_lines_that_change_and_not_what_else_a_file_holds(newcomer: User, home: Path):
    held = {f"key{number}": "held" for number in range(9)} | {"token": "my own"}
    (home / ".claude.json").write_text(json.dumps({"mine": held, "other": {"a": 1, "b": 2}}, indent=2), "utf-8")
    shown = newcomer.screen("install", "claude-code", "--dry-run")
    assert '+    "perdure": {' in shown
    assert "my own" not in shown
    newcomer.done("install", "claude-code")
    taken_out = newcomer.screen("uninstall", "claude-code", "--dry-run")
    assert '-    "perdure": {' in taken_out
    assert "perdure doctor" not in newcomer.screen("uninstall", "claude-code")


@pytest.mark.parametrize("host", HOSTS)
def test_a_program_in_a_folder_whose_name_has_a_space_is_called_and_found_again(
    newcomer: User, home: Path, host: str, monkeypatch: pytest.MonkeyPatch
):
    programs = home / "bin" / "my programs"
    programs.mkdir()
    (home / "bin" / "perdure").rename(programs / "perdure")
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    newcomer.done("install", host)
    once = files(home)
    assert str(programs / "perdure").encode() in b"".join(once.values())
    if host in {"claude-code", "codex", "gemini"}:
        hooks = json.loads(next(text for text in once.values() if b"SessionStart" in text))["hooks"]
        assert shlex.split(hooks["SessionStart"][0]["hooks"][0]["command"]) == [str(programs / "perdure"), "hook"]
    newcomer.done("install", host)
    assert files(home) == once
    newcomer.done("uninstall", host)
    assert "perdure" not in "".join(map(bytes.decode, files(home).values()))


def test_the_command_to_paste_is_one_that_the_shell_finds(newcomer: User, home: Path, monkeypatch: pytest.MonkeyPatch):
    assert newcomer.done("install", "cursor").err.strip().endswith("To check: perdure doctor cursor")
    monkeypatch.setenv("PATH", str(home))
    monkeypatch.setattr(sys, "argv", ["my clone/.venv/bin/perdure"])
    assert newcomer.done("install", "gemini").err.strip().endswith("'my clone/.venv/bin/perdure' doctor gemini")
    running = newcomer.start("install", "windsurf", stderr=subprocess.PIPE)
    assert f"{sys.executable} -m perdure doctor windsurf" in running.communicate()[1].decode()


def test_what_a_person_wrote_stays(newcomer: User, home: Path):
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    mine = {"model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}
    settings.write_text(json.dumps(mine, indent=4), encoding="utf-8")
    newcomer.done("install", "claude-code")
    installed = json.loads(settings.read_text(encoding="utf-8"))
    assert installed["model"] == "opus"
    assert installed["hooks"]["Stop"][0] == mine["hooks"]["Stop"][0]  # pyright: ignore[reportArgumentType]
    assert len(installed["hooks"]["Stop"]) == 2
    newcomer.done("uninstall", "claude-code")
    assert json.loads(settings.read_text(encoding="utf-8")) == mine


@pytest.mark.parametrize("host", ["claude-code", "copilot", "gemini"])
@pytest.mark.parametrize("text", ["", "{ }\n", '{"hooks": { "Stop": [ ]}, // mine\r\n "mcpServers": {}, "version": 1}'])
def test_a_file_that_nobody_changed_meanwhile_is_there_again_byte_for_byte(
    newcomer: User, home: Path, host: str, text: str
):
    for name in EVERY_FILE[host]:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(text.encode())
    before = files(home)
    newcomer.done("install", host)
    assert all(b"perdure" in content for content in files(home).values())
    newcomer.done("install", host)
    assert {change["outcome"] for change in newcomer.done("uninstall", host, "--json").json["changes"]} == {"changed"}
    assert files(home) == before
    newcomer.done("uninstall", host)
    assert files(home) == before
    assert not list((home / ".local").rglob("installed/*"))


@pytest.mark.parametrize(
    ("host", "name", "text"),
    [
        ("codex", ".codex/config.toml", ""), ("codex", ".codex/config.toml", "\n"),
        ("codex", ".codex/config.toml", "model = 'x'"), ("continue", ".continue/config.yaml", ""),
        ("continue", ".continue/config.yaml", "models: []"),
        ("continue", ".continue/config.yaml", "name: My configuration\nversion: 1.0.0\nschema: v1\n"),
    ],
)  # fmt: skip
def test_a_file_of_another_form_is_there_again_byte_for_byte(
    newcomer: User, home: Path, host: str, name: str, text: str
):
    (home / name).parent.mkdir(parents=True)
    (home / name).write_bytes(text.encode())
    newcomer.done("install", host)
    newcomer.done("uninstall", host)
    assert files(home) == {name: text.encode()}


def test_what_a_host_wrote_meanwhile_stays(newcomer: User, home: Path):
    """Claude Code counts in this file whenever it starts."""
    file = home / ".claude.json"
    file.write_text('{"starts": 1}', encoding="utf-8")
    newcomer.done("install", "claude-code")
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | {"starts": 2}), encoding="utf-8")
    newcomer.done("uninstall", "claude-code")
    assert files(home) == {".claude.json": b'{"starts": 2}'}


def test_a_file_that_was_gone_meanwhile_is_ours(newcomer: User, home: Path):
    file = home / ".claude.json"
    file.write_text("{}", encoding="utf-8")
    newcomer.done("install", "claude-code")
    file.unlink()
    newcomer.done("install", "claude-code")
    newcomer.done("uninstall", "claude-code")
    assert files(home) == {}


def test_a_backup_of_the_file_as_it_was_is_kept_for_its_owner_alone(newcomer: User, home: Path):
    before = b'{"token": "my own"}'
    (home / ".claude.json").write_bytes(before)
    newcomer.done("install", "claude-code")
    newcomer.done("install", "claude-code", PERDURE_LEARN_FROM_TOOLS="true")
    [backup] = (home / ".local").rglob("installed/*")
    assert (backup.read_bytes(), backup.stat().st_mode & 0o777) == (before, 0o600)


def test_a_server_of_the_same_name_that_is_not_ours_is_left_alone(newcomer: User, home: Path):
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"perdure": {"command": "something-else"}}}', encoding="utf-8")
    before = file.read_bytes()
    answer = newcomer.fails(4, "install", "cursor")
    assert "it is not ours" in answer.err
    assert file.read_bytes() == before
    newcomer.done("uninstall", "cursor")
    assert file.read_bytes() == before


def test_a_server_that_a_person_put_in_with_options_stays_as_it_is(newcomer: User, home: Path):
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    mine = {"mcpServers": {"perdure": {"command": "perdure", "args": ["mcp", "--tools", "all"]}}}
    file.write_text(json.dumps(mine), encoding="utf-8")
    newcomer.done("install", "cursor")
    newcomer.done("uninstall", "cursor")
    assert json.loads(file.read_text(encoding="utf-8")) == mine


COMMENTED = """\
// Mine.
{
\t"theme": "dark", /* at night */
\t"mcp": {
\t\t// none but this
\t\t"other": {"command": ["x"],  "n": 1.50} // the fast one
\t},
\t"list": [1,2, 3,],
}
"""


@pytest.mark.parametrize(
    "text",
    [
        COMMENTED, COMMENTED.replace("\n", "\r\n"), f"\ufeff{COMMENTED}", COMMENTED.rstrip(), '{"theme":"dark"}',
        "{\n  // nothing yet\n}\n", '{"mcp": {"other": {}}}\n',
    ],
    ids=["comments", "Windows", "mark", "no line end", "one line", "empty", "nested"],
)  # fmt: skip
def test_comments_spacing_and_line_ends_of_a_file_stay_as_they_are(newcomer: User, home: Path, text: str):
    file = home / ".config" / "opencode" / "opencode.jsonc"
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode())
    newcomer.done("install", "opencode")
    installed = file.read_bytes().decode()
    assert parse_jsonc(installed)["mcp"]["perdure"]["command"] == ["perdure", "mcp"]
    written = ("// Mine.", "/* at night */", "// none but", "1.50}", "// the fast one\n", "[1,2, 3,]", "// nothing yet")
    assert [one for one in written if one in text] == [one for one in written if one in installed]
    assert installed.count("\n") == installed.count("\r\n") or "\r" not in installed
    newcomer.done("install", "opencode")
    assert file.read_bytes().decode() == installed
    newcomer.done("uninstall", "opencode")
    assert file.read_bytes().decode() == text


def test_what_a_person_pasted_into_a_file_with_comments_is_found(newcomer: User, home: Path):
    file = home / ".config" / "opencode" / "opencode.jsonc"
    file.parent.mkdir(parents=True)
    entry = {"type": "local", "command": ["perdure", "mcp"], "enabled": True}
    file.write_text(f'// mine\n{{"mcp": {{"perdure": {json.dumps(entry)}}}}}', encoding="utf-8")
    again = newcomer.done("install", "opencode", "--json").json
    assert [change["outcome"] for change in again["changes"]] == ["unchanged"]
    assert "opencode is configured for the user" in newcomer("doctor", "opencode").out


@pytest.mark.parametrize("text", ["{,}", "[]", '{"a": NaN}', "{'a': 1}"])
def test_a_file_that_is_no_json_is_not_touched_and_the_lines_to_paste_are_shown(newcomer: User, home: Path, text: str):
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    assert '"perdure"' in newcomer.fails(4, "install", "cursor").err
    assert "add this" not in newcomer.fails(4, "uninstall", "cursor").err
    assert file.read_text(encoding="utf-8") == text


def may_write(path: str | Path, _: int) -> bool:
    return bool(Path(path).stat().st_mode & 0o200)


def test_a_file_that_was_made_read_only_is_not_replaced(newcomer: User, home: Path, monkeypatch: pytest.MonkeyPatch):
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text("{}", encoding="utf-8")
    file.chmod(0o400)
    if os.geteuid() == 0:
        # Root may write everywhere, whatever a file says.
        monkeypatch.setattr(os, "access", may_write)
    assert "cannot be written: Permission denied" in newcomer.fails(2, "install", "cursor").err
    assert file.read_text(encoding="utf-8") == "{}"


def test_nothing_is_written_when_one_of_the_files_cannot_be_changed(newcomer: User, home: Path):
    (home / ".codex").mkdir()
    (home / ".codex" / "hooks.json").write_text("not JSON", encoding="utf-8")
    newcomer.fails(4, "install", "codex")
    assert set(files(home)) == {".codex/hooks.json"}


def test_a_file_that_is_a_link_stays_one(newcomer: User, home: Path):
    kept = home / "dotfiles" / "settings.json"
    kept.parent.mkdir()
    kept.write_text("{}", encoding="utf-8")
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").symlink_to(kept)
    newcomer.done("install", "gemini")
    assert (home / ".gemini" / "settings.json").is_symlink()
    assert "perdure" in kept.read_text(encoding="utf-8")


def test_a_host_that_was_moved_is_found(newcomer: User, home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "moved"))
    newcomer.done("install", "claude-code")
    assert set(files(home)) == {"moved/.claude.json", "moved/settings.json"}


def test_a_project_gets_files_of_its_own(newcomer: User, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    answer = newcomer.done("install", "claude-code", "--scope", "project")
    assert set(files(project)) == {".mcp.json", ".claude/settings.json"}
    assert files(home) == {}
    assert "approval of the project's server" in answer.err
    newcomer.fails(2, "install", "windsurf", "--scope", "project")
    (project / "opencode.jsonc").write_text("{}  // mine", encoding="utf-8")
    newcomer.done("install", "opencode", "--scope", "project")
    assert not (project / "opencode.json").exists()


def test_a_host_that_is_not_configured_is_a_problem_with_the_remedy(newcomer: User, home: Path):
    answer = newcomer("doctor", "claude-code")
    assert answer.code == 7
    assert "perdure install claude-code" in answer.out
    newcomer.done("install", "claude-code")
    assert "Claude Code cannot be asked here, for `claude` is not on the PATH" in newcomer("doctor", "claude-code").out


ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
GROUPS = st.lists(
    st.fixed_dictionaries({"hooks": st.lists(st.fixed_dictionaries({"command": st.text(max_size=20)}), max_size=2)}),
    max_size=3,
)


@given(
    others=st.dictionaries(st.text(max_size=8).filter(lambda key: key != "hooks"), ANYTHING, max_size=3),
    events=st.none() | st.dictionaries(st.sampled_from(["SessionStart", "Stop", "PreToolUse"]), GROUPS, max_size=3),
)
def test_whatever_stands_in_a_file_of_hooks_is_there_again_afterwards(
    others: dict[str, Any], events: dict[str, Any] | None
):
    before = {**others, **({} if events is None else {"hooks": events})}
    for indent in (None, 2, "\t"):
        text = json.dumps(before, indent=indent)
        installed = edit_json(text, put_hooks(HOOKS), "")
        assert installed is not None
        assert edit_json(installed, put_hooks(HOOKS), "") == installed
        left = json.loads(edit_json(installed, drop_hooks, "") or "{}")
        assert without_empty_events(left) == without_empty_events(before)


def without_empty_events(content: dict[str, Any]) -> dict[str, Any]:
    events = {event: groups for event, groups in content.get("hooks", {}).items() if groups}
    return {**content, "hooks": events}


@pytest.mark.parametrize("text", ["", "model = 'x'\n", "[mcp_servers.other]\ncommand = 'y'\n", "# only a comment\n\n"])
def test_a_toml_file_is_what_it_was_after_uninstalling(text: str):
    block = '[mcp_servers.perdure]\ncommand = "perdure"\nargs = ["mcp"]\n'
    installed = edit_toml(text, block)
    assert installed is not None
    assert tomllib.loads(installed)["mcp_servers"]["perdure"]["args"] == ["mcp"]
    assert edit_toml(installed, block) == installed
    assert (edit_toml(installed, None) or "") == text


def test_a_toml_file_into_which_our_lines_do_not_fit_is_refused():
    with pytest.raises(Conflict):
        edit_toml("mcp_servers = {}\n", '[mcp_servers.perdure]\ncommand = "perdure"\n')


@pytest.mark.parametrize(
    "text",
    ["models: []\n", "name: x\nmcpServers:\n  - name: other\n    command: y\n", "a: 1\nmcpServers:\n- name: z\n"],
)
def test_a_yaml_file_is_what_it_was_after_uninstalling(text: str):
    installed = edit_yaml(text, "- name: perdure\n  command: perdure", "name: new\n")
    assert installed is not None
    assert "- name: perdure" in installed
    assert edit_yaml(installed, None, "name: new\n") == text
    with pytest.raises(Conflict):
        edit_yaml("mcpServers: [{name: other}]\n", "- name: perdure", "")


def test_a_hook_that_a_person_added_to_one_of_our_groups_stays_and_ours_goes():
    own = {"type": "command", "command": "echo mine"}
    content: dict[str, Any] = {}
    put_hooks(HOOKS)(content)
    content["hooks"]["Stop"][0]["hooks"].append(own)
    again: dict[str, Any] = json.loads(json.dumps(content))
    put_hooks(HOOKS)(again)
    assert again["hooks"]["Stop"] == [{**content["hooks"]["Stop"][0], "hooks": [own]}, *HOOKS["Stop"]]
    drop_hooks(content)
    assert [group["hooks"] for group in content["hooks"].pop("Stop")] == [[own]]
    assert content == {"hooks": {}}


@pytest.mark.parametrize("odd", [{"command": "perdure", "args": 5}, {"command": [], "args": None}, 7])
def test_an_odd_entry_of_our_name_is_left_alone(newcomer: User, home: Path, odd: object):
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"perdure": odd}}), encoding="utf-8")
    before = files(home)
    assert "not ours" in newcomer.fails(4, "install", "claude-code").err
    newcomer.done("uninstall", "claude-code")
    assert files(home) == before


def test_claude_code_tells_of_tools_only_while_the_setting_asks_for_it(newcomer: User, home: Path):
    path = home / ".claude" / "settings.json"
    newcomer.done("install", "claude-code")
    without = path.read_text(encoding="utf-8")
    newcomer.done("install", "claude-code", PERDURE_LEARN_FROM_TOOLS="true")
    hooks = json.loads(path.read_text(encoding="utf-8"))["hooks"]
    for event in ("PostToolUse", "PostToolUseFailure"):
        [group] = hooks[event]
        assert group["matcher"] == "Bash|Edit|MultiEdit|NotebookEdit|Write"
        assert group["hooks"][0]["command"] == "perdure hook"
    newcomer.done("install", "claude-code")
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(without)
    assert "PostToolUse" not in without
