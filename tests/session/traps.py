"""Repositories that name programs and servers wherever git's manual lets them, and what tells whether one was used."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bank.repositories import commit, git, make_repository

# Settings whose value is a program.
PROGRAMS = """
    core.fsmonitor core.pager core.editor core.askPass core.alternateRefsCommand core.sshCommand core.gitProxy
    credential.helper diff.external diff.trap.command diff.trap.textconv filter.trap.clean filter.trap.smudge
    filter.trap.process gpg.program gpg.ssh.program gpg.x509.program gpg.ssh.defaultKeyCommand
    interactive.diffFilter merge.trap.driver pager.diff pager.ls-files pager.rev-parse pager.diff-tree
    sequence.editor uploadpack.packObjectsHook web.browser sendemail.tocmd difftool.x.cmd mergetool.x.cmd
    man.x.cmd browser.x.cmd guitool.x.cmd remote.origin.receivepack
""".split()
HOOKS = (
    "post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout", "pre-auto-gc", "post-rewrite",
    "update", "pre-receive",
)  # fmt: skip


@dataclass(frozen=True)
class Trap:
    """A program that leaves a trace when it is run, and a server that knows whether somebody came."""

    program: Path
    trace: Path
    listener: socket.socket

    @property
    def server(self) -> str:
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    @property
    def caught(self) -> str:
        """Who fell into it."""
        try:
            self.listener.accept()[0].close()
        except BlockingIOError:
            return self.trace.read_text(encoding="utf-8") if self.trace.exists() else ""
        return "the server was asked"

    def settings(self) -> dict[str, dict[str, str]]:
        """For each way to have a program run, or a server asked, the settings that it takes."""
        program = str(self.program)
        alone = dict.fromkeys(PROGRAMS, program)
        # One that begins with an exclamation mark is a command for the shell.
        alone |= {
            f"alias.{name}": f"!{program}"
            for name in ("diff", "diff-tree", "diff-index", "ls-files", "rev-parse", "merge-base", "symbolic-ref")
        }
        alone |= {"submodule.inner.update": f"!{program}", "credential.https://example.org.helper": f"!{program}"}
        remotes: dict[str, dict[str, str]] = {
            "remote.origin.uploadpack": {"url": "/", "uploadpack": program},
            "remote.origin.vcs": {"url": "/", "vcs": "ext"},
            "a remote by ext": {"url": f"ext::{program}"},
            "a remote by http": {"url": f"http://{self.server}/x"},
            "a remote by git": {"url": f"git://{self.server}/x"},
            "a remote by ssh": {"url": "ssh://127.0.0.1/x"},
        }
        ways = {name: {name: value} for name, value in alone.items()}
        for name, remote in remotes.items():
            ways[name] = {f"remote.origin.{key}": value for key, value in remote.items()}
        ways["a remote by ssh"]["core.sshCommand"] = program
        ways["a remote by git"]["core.gitProxy"] = program
        ways["fetch.bundleURI"] = {"remote.origin.url": "/", "fetch.bundleURI": f"http://{self.server}/x"}
        ways["url.insteadOf"] = {"remote.origin.url": "x:/", f"url.ext::{program} .insteadOf": "x:"}
        included = self.program.with_name("included")
        included.write_text(f"[core]\n\tfsmonitor = {program}\n\tpager = {program}\n", encoding="utf-8")
        ways |= {name: {name: str(included)} for name in ("include.path", "includeIf.gitdir:/.path")}
        ways["core.hooksPath"] = {"core.hooksPath": str(self._hooks(self.program.with_name("hooks")))}
        return ways

    def _hooks(self, folder: Path) -> Path:
        folder.mkdir(exist_ok=True)
        for name in HOOKS:
            shutil.copy(self.program, folder / name)
        return folder

    def set(self, git_folder: Path, settings: dict[str, str]) -> None:
        """Each protocol is allowed by name, which counts more than a general rule; and there are hooks."""
        allowed = {f"protocol.{name}.allow": "always" for name in ("file", "ext", "http", "git", "ssh")}
        with (git_folder / "config").open("a", encoding="utf-8") as config:
            for name, value in {**allowed, **settings}.items():
                section, _, rest = name.partition(".")
                inside, _, key = rest.rpartition(".")
                quoted = f' "{inside}"' if inside else ""
                config.write(f'[{section}{quoted}]\n\t{key} = "{value}"\n')
        self._hooks(git_folder / "hooks")


@contextmanager
def trap_in(folder: Path) -> Generator[Trap]:
    folder.mkdir()
    program, trace = folder / "program", folder / "trace"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> "{trace}"\nexit 1\n', encoding="utf-8")
    program.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield Trap(program, trace, listener)


def strange_repository(folder: Path, *, has_holes: bool) -> Path:
    """Five commits, files that are changed, and a submodule. With holes it says that it is a partial clone, of which a
    part is missing: git asks the remote for it.
    """
    make_repository(folder)
    (folder / ".gitattributes").write_text("* filter=trap diff=trap merge=trap\n", encoding="utf-8")
    commit(make_repository(folder / "inner"), "inner.py")
    for number in range(5):
        commit(folder, ".gitattributes", f"part{number}/file.py")
    git(folder, "add", "inner")
    git(folder, "commit", "-q", "-m", "Inner")
    (folder / "part0" / "file.py").write_text("changed\nand again\n", encoding="utf-8")
    (folder / "part1" / "file.py").touch()
    if has_holes:
        for name in ("HEAD~3^{tree}", "HEAD~1^{tree}"):
            missing = git(folder, "rev-parse", name).strip()
            (folder / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
        git(folder, "config", "core.repositoryformatversion", "1")
        git(folder, "config", "extensions.partialClone", "origin")
        git(folder, "config", "remote.origin.promisor", "true")
    return folder


def plain_clone(repository: Path, folder: Path) -> Path:
    """A clone of something else, in which a folder looks like the repository, without a working tree."""
    inside = folder / "inside"
    commit(make_repository(folder), "README.md")
    for name in ("HEAD", "config", "objects", "refs", "hooks"):
        source = repository / ".git" / name
        if source.is_dir():
            shutil.copytree(source, inside / name)
        else:
            inside.mkdir(exist_ok=True)
            shutil.copy(source, inside / name)
    with (inside / "config").open("a", encoding="utf-8") as config:
        config.write("[core]\n\tbare = true\n")
    return inside
