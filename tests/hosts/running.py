"""Real coding agents, run without their user, their login or the network: each has a home directory, a project and a
scripted model for its provider.

    claude.connect()
    run = claude("Which mode does Alice like?", steps=[Call("recall", {"query": "Alice"}), "Dark."])
    assert "dark mode" in run.requests[1].text

Prompts of one run are turns of one session; another run is another session of the same person, or with `resume` the
last one again. What Claude Code asks its model for at `/compact` takes a step, too. `connect` writes the server into
the host's own configuration, as docs/mcp.md tells a user to; without it the configuration is what the test has put into
`home`, by `perdure install` for example.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hosts.scripted_model import Call, ModelRequest, ScriptedModel, Step

PATIENCE = 120
HOSTS = Path(os.environ.get("PERDURE_HOSTS", "none")).absolute()


@dataclass(frozen=True)
class HostRun:
    """What came of a run: the requests that belong to a turn, all requests, and what the host itself said."""

    requests: list[ModelRequest]
    everything: list[ModelRequest]
    exit_code: int
    output: str
    errors: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """What the host printed as lines of JSON."""
        return [json.loads(line) for line in self.output.splitlines() if line.startswith("{")]

    @property
    def session(self) -> str:
        """The host's own name for the session."""
        names = ("session_id", "sessionId", "thread_id")
        return next(event[name] for event in self.events for name in names if event.get(name))


class Host(ABC):
    """A coding agent of one person. Everything it keeps is below `home`."""

    name: str

    def __init__(self, home: Path, project: Path) -> None:
        self.home = home
        self.project = project
        for folder in (home / "tmp", project):
            folder.mkdir(parents=True, exist_ok=True)
        run(["git", "init", "-q"], self.environment, project)
        # The environment would be enough for most, but Codex passes nothing of it on to servers.
        write_text(home / ".config" / "perdure" / "perdure.toml", 'embedder = "none"\n')

    def __call__(
        self,
        *prompts: str,
        steps: Sequence[Step] = (),
        resume: bool = False,
        options: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        project: Path | None = None,
    ) -> HostRun:
        """Run a session of one or more turns to its end."""
        where = project or self.project
        with ScriptedModel(self.named) as model:
            model.steps.extend(steps)
            environ = {**self.environment, **self.provider(model.url), **(env or {})}
            done = self.turns(prompts, model.url, resume=resume, options=options, env=environ, where=where)
            output, errors = ("".join(getattr(each, name) for each in done) for name in ("stdout", "stderr"))
            return HostRun(model.requests, model.everything, done[-1].returncode, output, errors)

    @property
    def environment(self) -> dict[str, str]:
        places = [Path(sys.executable).parent, HOSTS / "node" / "node_modules" / ".bin", HOSTS / "bin"]
        return {
            "PATH": ":".join([*map(str, places), "/usr/bin", "/bin"]),
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "LANG": "C.UTF-8",
        }

    def perdure(self, *arguments: str) -> Any:
        """What the command line answers to the same person, as JSON."""
        done = run(["perdure", *arguments, "--json"], self.environment, self.home)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def turns(
        self,
        prompts: Sequence[str],
        url: str,
        *,
        resume: bool,
        options: Sequence[str],
        env: Mapping[str, str],
        where: Path,
    ) -> list[subprocess.CompletedProcess[str]]:
        """A process for each turn; all but the first go on with the session."""
        return [
            run([*self.command(prompt, url, resume=resume or bool(turn)), *options], env, where)
            for turn, prompt in enumerate(prompts)
        ]

    @abstractmethod
    def connect(self) -> None:
        """Put `perdure mcp` into the configuration."""

    @abstractmethod
    def named(self, call: Call) -> str:
        """What the host's model calls a tool."""

    @abstractmethod
    def command(self, prompt: str, url: str, *, resume: bool) -> list[str]: ...

    def provider(self, url: str) -> dict[str, str]:
        """What the environment must say for the scripted model to be asked."""
        return {}


class Claude(Host):
    name = "claude"

    def connect(self) -> None:
        self._add("perdure", "--", "perdure", "mcp")

    def connect_http(self, url: str, token: str) -> None:
        """Another server instead, by its address."""
        self._add("-t", "http", "perdure", url, "-H", f"Authorization: Bearer {token}")

    def _add(self, *server: str) -> None:
        done = run(["claude", "mcp", "add", "-s", "user", *server], self.environment, self.home)
        assert done.returncode == 0, done.stderr

    def named(self, call: Call) -> str:
        return f"mcp__{call.server}__{call.tool}" if call.server else call.tool

    def provider(self, url: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "sk-ant-scripted",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def command(self, prompt: str, url: str, *, resume: bool) -> list[str]:
        """The prompts come over standard input, so that `/compact` and `/clear` are prompts like others."""
        form = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-hook-events"]
        allowed = ["--allowedTools", "mcp__perdure"]
        return ["claude", "-p", *form, *allowed, *(["--continue"] if resume else [])]

    def turns(
        self,
        prompts: Sequence[str],
        url: str,
        *,
        resume: bool,
        options: Sequence[str],
        env: Mapping[str, str],
        where: Path,
    ) -> list[subprocess.CompletedProcess[str]]:
        """One process for all turns: a prompt is sent when the answer to the one before it is there."""
        command = [*self.command("", url, resume=resume), *options]
        pipe = subprocess.PIPE
        errors = self.home / "tmp" / "stderr"
        with (
            errors.open("w") as stderr,
            subprocess.Popen(command, env=env, cwd=where, stdin=pipe, stdout=pipe, stderr=stderr, text=True) as process,
        ):
            assert process.stdin is not None
            assert process.stdout is not None
            lines: list[str] = []
            for prompt in prompts:
                message = {"type": "user", "message": {"role": "user", "content": prompt}}
                process.stdin.write(json.dumps(message) + "\n")
                process.stdin.flush()
                for line in process.stdout:
                    lines.append(line)
                    if json.loads(line).get("type") == "result":
                        break
            process.stdin.close()
            lines += process.stdout
        return [subprocess.CompletedProcess(command, process.returncode, "".join(lines), errors.read_text())]


class Codex(Host):
    name = "codex"

    def connect(self) -> None:
        write_text(self.home / ".codex" / "config.toml", '[mcp_servers.perdure]\ncommand = "perdure"\nargs = ["mcp"]\n')

    def named(self, call: Call) -> str:
        return f"mcp__{call.server}.{call.tool}" if call.server else call.tool

    def provider(self, url: str) -> dict[str, str]:
        return {"SCRIPTED_KEY": "sk-scripted"}

    def command(self, prompt: str, url: str, *, resume: bool) -> list[str]:
        provider = f'{{name="scripted", base_url="{url}/v1", env_key="SCRIPTED_KEY", wire_api="responses"}}'
        given = [f"model_providers.scripted={provider}", 'model_provider="scripted"', 'model="scripted"']
        settings = [part for each in given for part in ("-c", each)]
        again = ["resume", "--last"] if resume else []
        return ["codex", "exec", "--json", "--skip-git-repo-check", *settings, *again, prompt]


class Copilot(Host):
    name = "copilot"

    def connect(self) -> None:
        server = {"type": "local", "command": "perdure", "args": ["mcp"], "tools": ["*"]}
        write_text(self.home / ".copilot" / "mcp-config.json", json.dumps({"mcpServers": {"perdure": server}}))

    def named(self, call: Call) -> str:
        return f"{call.server}-{call.tool}" if call.server else call.tool

    def provider(self, url: str) -> dict[str, str]:
        return {
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_PROVIDER_API_KEY": "sk-scripted",
            "COPILOT_MODEL": "scripted",
            "COPILOT_OFFLINE": "true",
        }

    def command(self, prompt: str, url: str, *, resume: bool) -> list[str]:
        again = "--continue" if resume else "--trust-folder"
        return [
            "copilot",
            "-p",
            prompt,
            "--allow-all-tools",
            again,
            "--output-format",
            "json",
            "--disable-builtin-mcps",
        ]


class Gemini(Host):
    name = "gemini"

    def __init__(self, home: Path, project: Path) -> None:
        super().__init__(home, project)
        self.settings = home / ".gemini" / "settings.json"
        write_text(self.settings, json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))

    def connect(self) -> None:
        servers = {"mcpServers": {"perdure": {"command": "perdure", "args": ["mcp"]}}}
        write_text(self.settings, json.dumps({**json.loads(self.settings.read_text()), **servers}))

    def named(self, call: Call) -> str:
        return f"mcp_{call.server}_{call.tool}" if call.server else call.tool

    def provider(self, url: str) -> dict[str, str]:
        return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "scripted", "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def command(self, prompt: str, url: str, *, resume: bool) -> list[str]:
        again = ["--resume", "latest"] if resume else []
        return ["gemini", "-p", prompt, "-o", "stream-json", "-m", "gemini-2.5-pro", "--approval-mode", "yolo", *again]


def run(command: Sequence[str], env: Mapping[str, str], where: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=env,
        cwd=where,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
