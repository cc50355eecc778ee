"""The hosts that Perdure can be installed into: which files they read, and what has to stand in them.

A server is a program that the host starts with a session and whose tools its model may call; hooks are programs that it
runs at the events of a session. What is known of the hosts was tried with the hosts themselves, but for Cursor, VS
Code, Windsurf and Claude Desktop, of which only the documentation was read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any, Final, Literal, TypeAlias

from perdure.errors import UnknownChoice, shown
from perdure.hosts.edits import drop_hooks, drop_server, edit_json, edit_toml, edit_yaml, put_hooks, put_server

Scope: TypeAlias = Literal["user", "project"]
Form: TypeAlias = Literal["json", "toml", "yaml"]
Hooks: TypeAlias = Mapping[str, Sequence[dict[str, Any]]]
# A text becomes another one: with Perdure in it, or without it.
Edit: TypeAlias = Callable[[str | None, bool], str | None]

SCOPES: Final = ("user", "project")
# Seconds. The program itself ends after two; at the end of a session Claude Code would not wait for it unless told.
_TIMEOUT: Final = 10
# The tools of Claude Code that run commands and change files.
_TOOLS: Final = "Bash|Edit|MultiEdit|NotebookEdit|Write"
_FIELDS: Final = ("session_id", "prompt_id", "cwd")


@dataclass(frozen=True, slots=True)
class ConfigurationFile:
    """A file of a host and what is to stand in it; `edit` makes its new text of its old one, or takes ours out."""

    path: Path
    about: str
    edit: Edit


@dataclass(frozen=True, slots=True)
class Host:
    """`program` is the host's own command, where it has one that can be asked; `pending` is what a person has to do in
    it before all of it works.
    """

    name: str
    title: str
    servers: Mapping[Scope, str]
    section: str = "mcpServers"
    form: Form = "json"
    entry: Callable[[str], dict[str, Any]] = lambda program: {"command": program, "args": ["mcp"]}
    hook_files: Mapping[Scope, str] = field(default_factory=dict[Scope, str])
    hooks: Callable[[str, Scope], Hooks] | None = None
    # Hooks that are installed only if `learn_from_tools` is set.
    tool_hooks: Callable[[str], Hooks] | None = None
    hook_head: Mapping[str, Any] = field(default_factory=dict[str, Any])
    program: str | None = None
    pending: Mapping[Scope, str] = field(default_factory=dict[Scope, str])

    def places(
        self, scope: Scope, base: Callable[[str], Path], command: str, *, tools: bool = False
    ) -> list[ConfigurationFile]:
        """The files to change. `base` says where a file of the scope is, `command` is how the host calls Perdure;
        `tools` is whether hooks are told of tools as well.
        """
        if scope not in self.servers:
            raise UnknownChoice(f"{self.title} has no file for a {scope}.", remedy="Install it for the user.")
        server = ConfigurationFile(base(self.servers[scope]), "server", self._server_edit(command))
        if self.hooks is None or scope not in self.hook_files:
            return [server]
        wanted = self.hooks(command, scope)
        if tools and self.tool_hooks is not None:
            wanted = {**wanted, **self.tool_hooks(command)}
        hooks = ConfigurationFile(base(self.hook_files[scope]), "hooks", self._hook_edit(wanted))
        if hooks.path != server.path:
            return [server, hooks]
        both = ConfigurationFile(
            hooks.path, "server and hooks", lambda text, keep: hooks.edit(server.edit(text, keep), keep)
        )
        return [both]

    def _hook_edit(self, hooks: Hooks) -> Edit:
        head = dict(self.hook_head)

        def put(content: dict[str, Any]) -> None:
            content |= {name: value for name, value in head.items() if name not in content}
            put_hooks(hooks)(content)

        def drop(content: dict[str, Any]) -> None:
            if content != head:
                drop_hooks(content)
                if content == head:
                    content.clear()

        paste = {**head, "hooks": dict(hooks)}
        return lambda text, keep: edit_json(text, put if keep else drop, file_remedy(paste, keep=keep))

    def _server_edit(self, command: str) -> Edit:
        entry = self.entry(command)
        if self.form == "toml":
            block = f'[mcp_servers.perdure]\ncommand = "{command}"\nargs = ["mcp"]\n'
            return lambda text, keep: edit_toml(text, block if keep else None)
        if self.form == "yaml":
            item = f"- name: perdure\n  command: {command}\n  args: [mcp]"
            head = "name: My configuration\nversion: 1.0.0\nschema: v1\n"
            return lambda text, keep: edit_yaml(text, item if keep else None, head)
        put, drop = put_server(self.section, entry), drop_server(self.section, entry)
        paste = {self.section: {"perdure": entry}}
        return lambda text, keep: edit_json(text, put if keep else drop, file_remedy(paste, keep=keep))


def file_remedy(paste: Mapping[str, Any], *, keep: bool) -> str:
    """What a person can do about a file that we cannot read."""
    if not keep:
        return "Correct it, then uninstall again."
    return f"Correct it, then install again. Or add this to it yourself: {json.dumps(paste)}"


def _command_hook(command: str, **more: object) -> list[dict[str, Any]]:
    return [{"hooks": [{"type": "command", "command": f"{quote(command)} hook", "timeout": _TIMEOUT, **more}]}]


def claude_hooks(command: str, scope: Scope) -> Hooks:
    """At the very start and at the end no server is there, so a program is run; between, the server that runs anyway is
    asked. In a project the server may not be approved yet: there the program is run at every event.
    """
    events = {"UserPromptSubmit": "prompt", "Stop": "last_assistant_message", "PostCompact": "compact_summary"}
    hooks: dict[str, Sequence[dict[str, Any]]] = {"SessionStart": _command_hook(command)}
    for event, told in events.items():
        given = {"hook_event_name": event, **{name: f"${{{name}}}" for name in (*_FIELDS, told)}}
        served = {"type": "mcp_tool", "server": "perdure", "tool": "hook", "timeout": _TIMEOUT, "input": given}
        hooks[event] = [{"hooks": [served]}] if scope == "user" else _command_hook(command)
    return {**hooks, "SubagentStop": _command_hook(command), "SessionEnd": _command_hook(command)}


def claude_tool_hooks(command: str) -> Hooks:
    """Claude Code tells of a command that failed by another event. No other tool is worth a process."""
    [group] = _command_hook(command)
    return {event: [{"matcher": _TOOLS, **group}] for event in ("PostToolUse", "PostToolUseFailure")}


def codex_hooks(command: str, scope: Scope) -> Hooks:  # noqa: ARG001
    events = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    return {event: _command_hook(command) for event in events}


def gemini_hooks(command: str, scope: Scope) -> Hooks:  # noqa: ARG001
    """Its time limits are in milliseconds."""
    events = ("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd")
    limit = _TIMEOUT * 1000
    return {
        event: [
            {"hooks": [{"type": "command", "command": f"{quote(command)} hook", "timeout": limit, "name": "perdure"}]}
        ]
        for event in events
    }


def copilot_hooks(command: str, scope: Scope) -> Hooks:  # noqa: ARG001
    events = ("sessionStart", "userPromptSubmitted", "agentStop", "sessionEnd")
    return {
        event: [
            {"type": "command", "bash": f"{quote(command)} hook --host copilot --event {event}", "timeoutSec": _TIMEOUT}
        ]
        for event in events
    }


_TRUST_FOLDER: Final = (
    "{} runs a project's servers and hooks only in a folder that you trust: it asks when you open it."
)

HOSTS: Final[Mapping[str, Host]] = {
    host.name: host
    for host in (
        Host(
            "claude-code",
            "Claude Code",
            {"user": ".claude.json", "project": ".mcp.json"},
            entry=lambda program: {"type": "stdio", "command": program, "args": ["mcp"]},
            hook_files={"user": ".claude/settings.json", "project": ".claude/settings.json"},
            hooks=claude_hooks,
            tool_hooks=claude_tool_hooks,
            program="claude",
            pending={
                "project": "Claude Code asks for approval of the project's server the next time you start it here."
            },
        ),
        Host(
            "codex",
            "Codex",
            {"user": ".codex/config.toml", "project": ".codex/config.toml"},
            form="toml",
            hook_files={"user": ".codex/hooks.json", "project": ".codex/hooks.json"},
            hooks=codex_hooks,
            program="codex",
            pending={
                "user": "Codex skips hooks that you have not trusted: type /hooks in Codex and trust those of perdure.",
                "project": "Codex reads a project's files only if you trust it, and skips hooks that you have not "
                "trusted: type /hooks in Codex and trust those of perdure.",
            },
        ),
        Host(
            "copilot",
            "Copilot CLI",
            {"user": ".copilot/mcp-config.json", "project": ".github/mcp.json"},
            entry=lambda program: {"type": "local", "command": program, "args": ["mcp"], "tools": ["*"]},
            hook_files={"project": ".github/hooks/perdure.json"},
            hooks=copilot_hooks,
            hook_head={"version": 1},
            program="copilot",
            pending={
                "user": "Copilot reads hooks from projects and plugins alone: use `perdure install copilot --scope "
                "project` too, or the plugin.",
                "project": _TRUST_FOLDER.format("Copilot"),
            },
        ),
        Host(
            "gemini",
            "Gemini CLI",
            {"user": ".gemini/settings.json", "project": ".gemini/settings.json"},
            hook_files={"user": ".gemini/settings.json", "project": ".gemini/settings.json"},
            hooks=gemini_hooks,
            program="gemini",
            pending={scope: _TRUST_FOLDER.format("Gemini") for scope in SCOPES},
        ),
        Host(
            "opencode",
            "opencode",
            {"user": ".config/opencode/opencode.json", "project": "opencode.json"},
            section="mcp",
            entry=lambda program: {"type": "local", "command": [program, "mcp"], "enabled": True},
            program="opencode",
        ),
        Host("continue", "Continue", {"user": ".continue/config.yaml"}, form="yaml"),
        Host("cursor", "Cursor", {"user": ".cursor/mcp.json", "project": ".cursor/mcp.json"}),
        Host(
            "vscode",
            "VS Code",
            {"user": ".config/Code/User/mcp.json", "project": ".vscode/mcp.json"},
            section="servers",
            entry=lambda program: {"type": "stdio", "command": program, "args": ["mcp"]},
        ),
        Host("windsurf", "Windsurf", {"user": ".codeium/windsurf/mcp_config.json"}),
        Host(
            "claude-desktop",
            "Claude Desktop",
            {"user": ".config/Claude/claude_desktop_config.json"},
            pending={"user": "Claude Desktop reads this file when it starts: quit it wholly, then open it again."},
        ),
    )
}


def host_named(name: str) -> Host:
    try:
        return HOSTS[name]
    except KeyError:
        raise UnknownChoice(f"There is no host {shown(name)}.", remedy=f"Use one of: {', '.join(HOSTS)}.") from None
