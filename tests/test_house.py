"""The rules of the house that no linter knows. CONTRIBUTING.md says them in words."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from zipfile import ZipFile

import pytest

from perdure.testing.embedder import WordEmbedder

REPOSITORY = Path(__file__).parent.parent
PACKAGE = REPOSITORY / "src" / "perdure"
MODULES = sorted(PACKAGE.rglob("*.py"))
SHIPPED = [path for path in MODULES if PACKAGE / "testing" not in path.parents]
TOOLS = sorted(path for folder in ("tools", "bench") for path in (REPOSITORY / folder).rglob("*.py"))
TESTS = sorted((REPOSITORY / "tests").rglob("*.py"))

# How many functions in how many files one warm call may pass.
HOPS_OF_A_WRITE = (97, 27)
HOPS_OF_A_READ = (96, 32)
# With the packaged model, a judge compares what is written with what is near it.
HOPS_OF_A_COMPARED_WRITE = (148, 40)
HOPS_OF_A_READ_WITH_CONFLICTS = (120, 35)
# A write that is near nothing looks for neighbours in the index, and enters nothing that compares two memories.
HOPS_OF_A_LONELY_WRITE = (131, 36)
COMPARES_TWO_MEMORIES = {"may_compare", "judge_pairs", "contraries_of", "propose_conflict"}
# What stands in for the standard library, whose own functions nobody counts.
MACHINERY = {"values.py", "patterns.py"}
# Words that name a drawer, not a thing.
DRAWERS = {"base", "common", "helper", "helpers", "manager", "misc", "shared", "util", "utils"}

# Only statements about the connection itself may stand in Python.
SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|SELECT\s+[\w(]+|INSERT\s+(OR\s+\w+\s+)?INTO|REPLACE\s+INTO|UPDATE\s+\w+\s+SET"
    r"|DELETE\s+FROM|CREATE\s+(VIRTUAL\s+|TEMP\s+|UNIQUE\s+)*(TABLE|INDEX|VIEW|TRIGGER)|DROP\s+\w+|ALTER\s+TABLE)\b",
    re.DOTALL,
)
# Who in the store may open a file, and which.
MAY_OPEN = {
    "erasure_ledger.py": "lists what was erased from a database; that of a file goes through `sidecar.py`",
    "log_notes.py": "notes what was written to a database, in a file beside which there is no store",
    "file.py": "creates the store's file, before SQLite has it",
    "filesystem.py": "reads the kernel's table of mounts",
    "queries.py": "reads the packaged SQL",
    "migrate.py": "reads the packaged SQL",
    "schema.py": "reads the packaged SQL",
    "partial_files.py": "creates the file of a copy, before SQLite has it, and the lock beside it",
    "create.py": "syncs and hashes a finished copy, which no connection has open",
    "restore.py": "reads a backup, after making sure that this process has no connection to it",
    "index_folder.py": "opens index files, which have a folder of their own",
    "sidecar.py": "opens our own files beside the store, after making sure that they are not the store",
}
OPENERS = {"open", "os.open", "io.open", "read_bytes", "read_text", "write_bytes", "write_text", "copyfile"}

# What passes or fails by the machine's speed; `time.time` may still date a file.
STOPWATCHES = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "sleep", "thread_time"}

# Written in pieces, so that this file does not find itself.
FORBIDDEN_WORDS = re.compile(
    "|".join(
        [
            "/" + "work/",
            "/" + r"tmp/w\b",
            "/" + "root/",
            "/" + "opt/",
            "py" + "pi.org",
            "python" + "hosted",
            "npm" + "js.org",
        ]
    )
)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def named(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def text_of(node: ast.expr) -> str:
    """A string literal, also an f-string with its holes left out."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value for part in node.values if isinstance(part, ast.Constant) and isinstance(part.value, str)
        )
    return ""


@cache
def docstrings(path: Path) -> set[int]:
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        id(node.body[0].value)
        for node in ast.walk(tree(path))
        if isinstance(node, holders) and node.body and isinstance(node.body[0], ast.Expr)
    }


def callee(call: ast.Call) -> set[str]:
    """`os.open(…)` is both `os.open` and, as the name of a method, `open`."""
    if isinstance(call.func, ast.Name):
        return {call.func.id}
    if isinstance(call.func, ast.Attribute):
        owner = call.func.value.id if isinstance(call.func.value, ast.Name) else ""
        return {f"{owner}.{call.func.attr}", call.func.attr}
    return set()


def tracked() -> list[Path]:
    """The files of the repository: what git tracks or would track."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("not a git repository")
    return [path for name in done.stdout.decode().split("\0") if name and (path := REPOSITORY / name).is_file()]


def test_no_module_is_longer_than_its_ceiling():
    too_long = {
        named(path): lines
        for path in [*MODULES, *TOOLS, *TESTS]
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 900
    }
    assert too_long == {}


def test_no_function_is_longer_than_eighty_lines():
    too_long = {
        f"{named(path)}: {function.name}": length
        for path in [*MODULES, *TOOLS, *TESTS]
        for function in functions(path)
        if (length := (function.end_lineno or 0) - function.lineno + 1) > 80
    }
    assert too_long == {}


def test_no_class_name_means_two_things():
    names = Counter(node.name for path in SHIPPED for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef))
    assert sorted(name for name, count in names.items() if count > 1) == []


@pytest.mark.parametrize(
    ("embedder", "most"),
    [
        (WordEmbedder(), (HOPS_OF_A_WRITE, HOPS_OF_A_READ)),
        ("local", (HOPS_OF_A_COMPARED_WRITE, HOPS_OF_A_READ_WITH_CONFLICTS)),
    ],
    ids=["words", "local"],
)
def test_one_write_and_one_read_pass_few_functions_and_files(
    tmp_path: Path,
    embedder: WordEmbedder | str,
    most: tuple[tuple[int, int], tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
):
    from perdure import Memory
    from perdure.embed import local

    if embedder == "local" and local.unavailable():
        pytest.skip("the packaged model is not installed")
    # The thread that writes use ends after a second without any, and on a slow machine the read would start it again.
    monkeypatch.setattr("perdure.store.use.DELAY", 3600.0)
    with Memory(tmp_path / "m.db", embedder=embedder) as memory:
        for n in range(30):
            memory.remember(f"Memory number {n} speaks of the river and of bridge {n * 7}")
        memory.recall("which bridge?")
        write = functions_passed(lambda: memory.remember("A new bridge crosses the river"))
        memory.recall("which bridge?")
        read = functions_passed(lambda: memory.recall("which bridge is new?"))
    for passed, (most_functions, most_files) in zip((write, read), most, strict=True):
        files = {code.co_filename for code in passed}
        assert len(passed) <= most_functions, sorted(f"{code.co_filename}: {code.co_name}" for code in passed)
        assert len(files) <= most_files, sorted(files)


def test_a_write_that_is_near_nothing_is_compared_with_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from perdure import Memory
    from perdure.embed import local

    if local.unavailable():
        pytest.skip("the packaged model is not installed")
    monkeypatch.setattr("perdure.store.use.DELAY", 3600.0)
    with Memory(tmp_path / "m.db", embedder="local") as memory:
        for n in range(30):
            memory.remember(f"Memory number {n} speaks of the river and of bridge {n * 7}")
        memory.recall("which bridge?")
        compared = {code.co_name for code in functions_passed(lambda: memory.remember("Bridge 8 crosses the river"))}
        memory.recall("which bridge?")
        passed = functions_passed(lambda: memory.remember("Chocolate cake needs four eggs"))
    assert compared >= COMPARES_TWO_MEMORIES - {"propose_conflict"}
    assert COMPARES_TWO_MEMORIES.isdisjoint(code.co_name for code in passed)
    most_functions, most_files = HOPS_OF_A_LONELY_WRITE
    assert len(passed) <= most_functions, sorted(f"{code.co_filename}: {code.co_name}" for code in passed)
    assert len({code.co_filename for code in passed}) <= most_files


def functions_passed(call: Callable[[], object]) -> set[CodeType]:
    passed: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        path = Path(code.co_filename)
        if event == "call" and path in SHIPPED and path.name not in MACHINERY and not code.co_name.startswith("<"):
            passed.add(code)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return passed


def test_every_function_says_what_it_takes_and_gives():
    missing: list[str] = []
    for path in [*MODULES, *TOOLS]:
        for function in functions(path):
            arguments = function.args
            given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            bare = [one.arg for one in given if one and one.annotation is None and one.arg not in {"self", "cls"}]
            is_test = function.name.startswith("test_")
            if bare or (function.returns is None and not is_test):
                missing.append(f"{named(path)}:{function.lineno} {function.name} {bare}")
    assert missing == []


def test_every_module_is_named_by_what_it_holds():
    assert [named(path) for path in MODULES if {path.stem, path.parent.name} & DRAWERS] == []


def test_sql_lives_in_sql_files():
    found = [
        f"{named(path)}:{node.lineno}"
        for path in SHIPPED
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant | ast.JoinedStr)
        and id(node) not in docstrings(path)
        and SQL.search(text_of(node))
    ]
    assert found == []


def test_nothing_in_the_store_opens_a_file_but_the_modules_that_have_a_reason():
    """Closing any other handle on the file would cancel SQLite's locks on it, and lose acknowledged writes."""
    found = [
        f"{named(path)}:{node.lineno}"
        for path in sorted((PACKAGE / "store").rglob("*.py"))
        if path.name not in MAY_OPEN
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and callee(node) & OPENERS and not is_our_own_open(node)
    ]
    assert found == []


def is_our_own_open(call: ast.Call) -> bool:
    """`SqliteStore.open(…)`, `cls.open(…)`: a name with a capital or `cls` opens through SQLite."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(owner, ast.Name) and (owner.id[:1].isupper() or owner.id == "cls")


def test_no_test_sleeps_or_measures_time():
    found = [
        f"{named(path)}:{node.lineno}"
        for path in [*TESTS, *(path for path in MODULES if path not in SHIPPED)]
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.value.id == "time" and node.attr in STOPWATCHES
    ]
    assert found == []


def test_no_file_names_a_machine():
    found: list[str] = []
    for path in tracked():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [f"{named(path)}:{number}" for number, line in enumerate(lines, 1) if FORBIDDEN_WORDS.search(line)]
    assert found == []


def test_every_lock_checks_hashes_and_names_no_host():
    for lock in ("runtime", "dev", "bench", "clients", "clients-1", "api", "web"):
        content = (REPOSITORY / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
        pinned = re.findall(r"^[A-Za-z0-9._-]+==\S+.*$", content, re.MULTILINE)
        assert pinned
        assert [line for line in pinned if not line.endswith("\\")] == []
        assert "://" not in content


def test_what_the_locks_leave_out_is_imported_by_nothing_we_run(tmp_path: Path):
    """requirements/excludes.txt stays honest: the real encoder works with none of those packages in reach."""
    pytest.importorskip("onnxruntime")
    names = re.findall(
        r"^[a-z][a-z0-9-]*$", (REPOSITORY / "requirements" / "excludes.txt").read_text("utf-8"), re.MULTILINE
    )
    modules = [name.replace("-", "_") for name in names]
    script = f"""
import sys
for name in {modules!r}:
    sys.modules[name] = None
from perdure import Memory
with Memory({str(tmp_path / "m.db")!r}) as memory:
    memory.remember("Alice prefers dark mode")
    assert memory.recall("which theme does she like?").mode == "hybrid", memory.recall("theme").notes
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr


def test_the_shipped_graph_is_what_its_script_writes():
    pytest.importorskip("onnx")
    command = [sys.executable, "tools/build_graph.py", "--check"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_holds_everything_that_is_in_the_package(tmp_path: Path):
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = {name for name in ZipFile(wheel).namelist() if name.startswith("perdure/")}
    present = {path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert packed == {path.relative_to(PACKAGE.parent).as_posix() for path in present}
    assert {path.suffix for path in present} >= {".onnx", ".py", ".sql", ".typed"}


def test_the_plugin_has_the_version_of_the_package():
    import perdure
    from perdure.hosts.install import plugin_folder

    manifests = list(plugin_folder().rglob("plugin.json"))
    versions = {json.loads(manifest.read_text(encoding="utf-8"))["version"] for manifest in manifests}
    assert (len(manifests), versions) == (2, {perdure.__version__})


def test_the_version_is_written_once():
    import perdure

    configuration = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in configuration
    assert f"## [{perdure.__version__}]" in (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
