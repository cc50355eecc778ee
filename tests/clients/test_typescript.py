"""The TypeScript client: its types are checked, and what is built is run in Node against a real server and against one
that loses answers. `make test-clients` has the compiler.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from serve.running import RunningServer
from transcripts import fences

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
PACKAGE = REPOSITORY / "packages" / "typescript"
PAGE = (REPOSITORY / "docs" / "typescript.md").read_text(encoding="utf-8")
CLIENTS = Path(os.environ.get("PERDURE_CLIENTS", "none")).absolute()
TSC = CLIENTS / "node" / "node_modules" / "typescript" / "bin" / "tsc"
NODE = CLIENTS / "bin" / "node"
STRICT = ("--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom")
# What the page's programs use of Node.
NAMES = "declare const process: { env: { [name: string]: string | undefined } };\n"

pytestmark = pytest.mark.skipif("PERDURE_CLIENTS" not in os.environ, reason="`make test-clients` runs these")


def run(*command: object, cwd: Path, **environment: str) -> str:
    environ = {"PATH": f"{CLIENTS / 'bin'}:/usr/bin:/bin", **environment}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has the package as `npm install` would leave it, and a program made of the blocks of the page."""
    folder = tmp_path_factory.mktemp("project")
    package = folder / "node_modules" / "perdure-client"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("lib"))
    run(NODE, TSC, cwd=package)
    blocks = [fence.text for fence in fences(PAGE) if fence.language == "ts"]
    (folder / "page.ts").write_text(NAMES + "\n".join(blocks), encoding="utf-8")
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    shutil.copy(HERE / "typescript_losses.mjs", folder)
    run(NODE, TSC, *STRICT, "page.ts", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def losses(project: Path) -> dict[str, Any]:
    """What the client did at a server that loses answers, by the name of what was tried."""
    return json.loads(run(NODE, "typescript_losses.mjs", cwd=project))


def test_the_programs_of_the_page_have_its_types_and_print_what_it_says(project: Path, tmp_path: Path):
    with RunningServer(tmp_path / "memory.db", environment={"PERDURE_EMBEDDER": "local"}) as server:
        known = {"PERDURE_URL": server.started["url"], "PERDURE_TOKEN": server.owner}
        printed = run(NODE, "page.js", cwd=project, **known)
    assert printed.splitlines() == re.findall(r"console\.log\(.*\n *// (.*)", PAGE)


def test_every_line_that_is_wrong_is_an_error_of_the_compiler(project: Path):
    wrong = [
        'await memory.remember({ texto: "Ann" });', "await memory.recall({ query: 5 });",
        'const number: number = (await memory.get("person:ann")).text;', '(await memory.get("person:ann")).nothing;',
        'await memory.update("person:ann", { text: "Bo" }, { expectedVersion: "1" });',
        'await memory.upsert("person:ann", { tags: ["a"] });', "await memory.forgett({});", "new Perdure({});",
        'if (new PerdureError("not_found", "", "").code === "no_such_code") throw 1;',
    ]  # fmt: skip
    before = [
        'import { Perdure, PerdureError } from "perdure-client";',
        'const memory = new Perdure({ url: "http://[::1]" });',
    ]
    (project / "wrong.ts").write_text("\n".join([*before, *wrong]), encoding="utf-8")
    command = [NODE, TSC, *STRICT, "--noEmit", "wrong.ts"]
    done = subprocess.run(list(map(str, command)), cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode
    lines = {int(line) for line in re.findall(r"^wrong\.ts\((\d+),", done.stdout, re.MULTILINE)}
    assert lines == set(range(len(before) + 1, len(before) + len(wrong) + 1)), done.stdout


def test_what_reads_and_what_has_a_key_is_sent_once_more_and_nothing_else(losses: dict[str, Any]):
    assert losses["recall"] == {"sent": 2, "answer": "found"}
    assert losses["remember"] == {"sent": 2, "answer": "stored", "keys": 1}
    lost = losses["update"]
    assert (lost["sent"], lost["code"], lost["retryable"]) == (1, "store_unreachable", True)
    assert "unknown whether it was done" in lost["remedy"]


def test_a_server_that_wants_fewer_requests_is_waited_for(losses: dict[str, Any]):
    assert losses["crowded"] == {"sent": 2, "answer": "found"}


def test_an_event_stream_that_breaks_off_goes_on_behind_the_last_event(losses: dict[str, Any]):
    assert losses["events"] == {"seen": [7, 8], "asked_after": [None, "7"]}


def test_a_token_is_sent_to_no_other_address_and_not_in_the_clear(losses: dict[str, Any]):
    assert losses["redirect"] == {"sent": 1, "code": "store_foreign", "followed": 0}
    assert losses["clear"] == "store_unsafe"


def test_a_key_that_holds_a_word_of_an_address_and_letters_of_any_script_arrive(project: Path, tmp_path: Path):
    program = """
        import { Perdure } from "perdure-client";
        const { PERDURE_URL: url, PERDURE_TOKEN: token } = process.env;
        const memory = new Perdure({ url, token, session: "Montag früh 日本" });
        await memory.upsert("doc:a/history", { text: "Straße 東京" }, { expectedVersion: 0 });
        const again = await memory.upsert("doc:a/history", { text: "x" }, { expectedVersion: 0 }).catch((e) => e.code);
        const one = await memory.get("doc:a/history");
        const lines = [];
        for await (const line of memory.export()) lines.push(line);
        const log = await memory.log({ limit: 1 });
        const missing = await memory.get(99).catch((e) => [e.code, e.message, e.remedy.length > 0, e.status]);
        console.log(JSON.stringify([one.text, again, lines.length > 0, log.revisions[0].change.session, missing]));
    """
    (project / "letters.mjs").write_text(program, encoding="utf-8")
    with RunningServer(tmp_path / "memory.db") as server:
        said = run(NODE, "letters.mjs", cwd=project, PERDURE_URL=server.started["url"], PERDURE_TOKEN=server.owner)
    missing = ["not_found", "No memory '99' in namespace 'default'.", True, 404]
    assert json.loads(said) == ["Straße 東京", "version_conflict", True, "Montag früh 日本", missing]
