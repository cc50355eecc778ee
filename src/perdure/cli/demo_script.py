"""The story that `perdure demo` tells: chapters of commands and checks.

Nothing in it is made up: every remark is checked against what came back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

from perdure.cli.terminal import glyphs

if TYPE_CHECKING:
    from perdure.cli.demo import Demo

Check: TypeAlias = "Callable[[Demo], Iterator[str]]"


class Chapter(NamedTuple):
    """A step is a command line, in which {question} stands for the question of the story, or a check."""

    title: str
    session: str
    narration: str
    steps: tuple[str | Check, ...]


QUESTION: Final = "which snacks are dangerous for our team?"
BY_WORDS: Final = "who gets hives?"
_CORRECTED: Final = "Bob gets hives from peanuts and from shellfish"
_NONSENSE: Final = "Peanuts are safe for everybody"
_NOTES: Final = tuple(f"Note {number}: measurement {number * 7919 % 1000} of the night run" for number in range(1, 601))
_ACKNOWLEDGED: Final = 40


def _found_by_meaning(demo: Demo) -> Iterator[str]:
    from perdure.text.words import query_words, terms

    answer = demo.ask("recall", QUESTION, "--limit", "1")
    if answer["mode"] == "keyword":
        demo.question = BY_WORDS
        yield from demo.remark(
            "There is no model here, so Perdure searches by words alone, and says so. Ask with a word of it:"
        )
        yield from demo.run(f'perdure recall "{BY_WORDS}" --limit 2')
        return
    record = answer["hits"][0]["record"] if answer["hits"] else {"key": "", "text": ""}
    shared = set(terms(" ".join(query_words(QUESTION)))) & set(terms(record["text"]))
    if record["key"] != "person:bob":
        yield from demo.remark("The peanuts should have come first.", good=False)
    elif not shared:
        yield from demo.remark(
            "Question and answer have no word in common: it was found by meaning, by a model on this machine."
        )


def _past_is_kept(demo: Demo) -> Iterator[str]:
    hits = demo.ask("recall", "where is the Osaka office?", "--as-of", "1y")["hits"]
    good = any("Namba" in hit["record"]["text"] for hit in hits) and "Umeda" not in str(hits)
    yield from demo.remark("A year ago it was Namba." if good else "The past got lost!", good=good)


def _is_forgotten(demo: Demo) -> Iterator[str]:
    gone = all(hit["record"]["key"] != "person:bob" for hit in demo.ask("recall", demo.question)["hits"])
    yield from demo.remark("Nothing about Bob." if gone else "It is still there!", good=gone)


def _is_back(demo: Demo) -> Iterator[str]:
    back = any(hit["record"]["text"] == _CORRECTED for hit in demo.ask("recall", demo.question)["hits"])
    yield from demo.remark("It is back, with its correction." if back else "It did not come back!", good=back)


def _session_is_undone(demo: Demo) -> Iterator[str]:
    stored = _stored_texts(demo)
    good = _CORRECTED in stored and _NONSENSE not in stored
    yield from demo.remark(
        "Everything is as it was before that session." if good else "Something of it stayed!", good=good
    )


def _no_file_holds_it(demo: Demo) -> Iterator[str]:
    store = Path(demo.ask("stats")["path"])
    files = [path for path in store.parent.iterdir() if path.name.startswith(store.name)]
    holding = sum(b"quince" in path.read_bytes() for path in files)
    yield from demo.remark(
        f"Of {len(files)} files on disk {holding or 'none'} still holds a word of it.", good=not holding
    )


def _survives_a_kill(demo: Demo) -> Iterator[str]:
    """Every note that was acknowledged before the writer died is in the store."""
    yield from demo.prompt("perdure remember --tag night --lines < notes.txt")
    writer = demo.writer("remember", "--tag", "night", "--lines")
    feed, out = cast("IO[bytes]", writer.stdin), cast("IO[bytes]", writer.stdout)
    with suppress(BrokenPipeError):
        feed.write("\n".join(_NOTES).encode("utf-8"))
        feed.flush()
    lines: list[bytes] = []
    for line in out:
        lines.append(line)
        if len(lines) == _ACKNOWLEDGED:
            writer.kill()
    writer.wait()
    out.close()
    with suppress(BrokenPipeError):
        feed.close()
    # A line that was cut off is no acknowledgement; one that waited in the pipe is.
    acknowledged = [line.decode("utf-8").rstrip() for line in lines if line.endswith(b"\n")]
    yield from demo.show("\n".join([*acknowledged[:2], glyphs().more, *acknowledged[-1:], "Killed"]))
    stored = _stored_texts(demo)
    count, kept = len(acknowledged), sum(note in stored for note in _NOTES[: len(acknowledged)])
    yield from demo.remark(
        f"{count} notes were acknowledged before the kill, and {kept} of them are there.", good=kept == count > 0
    )


def _stored_texts(demo: Demo) -> set[str]:
    return {json.loads(line).get("text") for line in demo.output("export", "-").splitlines()}


STORY: Final = (
    Chapter("Remember", "monday",
            "On Monday an agent learns a few things. Each is on disk before it is acknowledged.", (
        'perdure remember "Bob gets hives from peanuts" --key person:bob --category identity --tag health',
        'perdure remember "Alice keeps every editor on a black background" --category preference --tag ui',
        'perdure remember "The staging database is rebuilt every night at 02:00" --tag ops',
        'perdure remember "Never deploy on a Friday: the last rollback took the weekend" --category anti-patterns',
        'perdure remember "The Osaka office is in Namba" --key office:osaka --valid-at 3y',
    )),
    Chapter("Recall", "monday",
            "Somebody asks, in words of their own.", (
        f'perdure recall "{QUESTION}" --limit 2',
        _found_by_meaning,
    )),
    Chapter("Correct", "tuesday",
            "On Tuesday it turns out to be more. A correction is a new version; the old one stays.", (
        f'perdure update person:bob --text "{_CORRECTED}"',
        "perdure history person:bob",
    )),
    Chapter("Look back", "tuesday",
            "The office moves. What is true now was not always true, and both can be asked for.", (
        'perdure upsert office:osaka "The Osaka office moved to Umeda" --valid-at 5mo',
        'perdure recall "where is the Osaka office?" --limit 1',
        'perdure recall "where is the Osaka office?" --limit 1 --as-of 1y',
        _past_is_kept,
    )),
    Chapter("Forget", "tuesday",
            "What is forgotten is found no more.", (
        "perdure forget person:bob",
        'perdure recall "{question}" --limit 2',
        _is_forgotten,
    )),
    Chapter("Restore", "tuesday",
            "That was a mistake. Forgetting is an entry in the log, so it can be taken back.", (
        "perdure restore person:bob",
        _is_back,
    )),
    Chapter("Take back a session", "tuesday",
            "A hostile web page talks an agent into writing nonsense. One call undoes it.", (
        f'PERDURE_SESSION=mallory perdure remember "{_NONSENSE}"',
        'PERDURE_SESSION=mallory perdure upsert person:bob "Bob may eat whatever he likes"',
        "perdure undo --session mallory --yes",
        _session_is_undone,
    )),
    Chapter("Erase", "tuesday",
            "Some things should never have been written down. What is erased cannot be restored.", (
        'perdure remember "The locker of the Osaka office opens with zebra-quince-4711" --key locker:osaka',
        "perdure erase locker:osaka --yes",
        _no_file_holds_it,
    )),
    Chapter("Outlive the session", "wednesday",
            "Every command here was a process of its own. So is this Python program.", (
        """python -c 'from perdure import Memory; print(Memory().recall("{question}")[0].record.text)'""",
    )),
    Chapter("Survive a crash", "wednesday",
            "A writer takes notes from a pipe, and is killed with SIGKILL in the middle.", (
        _survives_a_kill,
        "perdure doctor",
    )),
    Chapter("See why", "wednesday",
            "Every answer shows what each signal gave to its score.", (
        'perdure recall "is it risky to deploy before the weekend?" --limit 2 --explain',
    )),
    Chapter("Count", "wednesday", "", ("perdure stats",)),
)  # fmt: skip
