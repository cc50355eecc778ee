"""Real git repositories for tests: of a feature, shallow, empty, detached, or none."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")


def git(folder: Path, *arguments: str) -> str:
    command = ["git", *IDENTITY, "-c", "commit.gpgsign=false", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=True)
    return done.stdout


def commit(folder: Path, *names: str) -> None:
    """Change these files, and commit them."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{path.read_text(encoding='utf-8') if path.exists() else ''}changed\n", encoding="utf-8")
        git(folder, "add", name)
    git(folder, "commit", "-q", "-m", f"Change {', '.join(names)}")


def make_repository(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    return folder


def make_feature(folder: Path, number: str = "018", slug: str = "import", *, files: tuple[str, ...] = ()) -> Path:
    """A repository whose main branch has one commit, on a branch of an active feature that changed these files."""
    make_repository(folder)
    commit(folder, "README.md", "src/other.py")
    git(folder, "checkout", "-q", "-b", f"feature/{number}-{slug}")
    add_feature(folder, number, slug, status="active")
    commit(folder, *(files or ("src/parser.py", "docs/notes.md")))
    return folder


def add_feature(folder: Path, number: str, slug: str = "feature", *, status: str = "completed") -> None:
    place = folder / "docs" / "features" / f"{number}-{slug}"
    place.mkdir(parents=True, exist_ok=True)
    meta = {"id": number, "slug": slug, "status": status, "branch": f"feature/{number}-{slug}"}
    (place / ".meta.json").write_text(json.dumps(meta), encoding="utf-8")
