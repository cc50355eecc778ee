"""The story that `perdure demo` tells. Nothing in it is made up: every remark is checked against what came back."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, cast

from perdure.cli.screen import glyphs
from perdure.cli.stage import Stage

FACTS: Final = (
    ("Bob gets hives from peanuts", "--key", "person:bob", "--category", "identity", "--tag", "health"),
    ("Alice keeps every editor on a black background", "--category", "preference", "--tag", "ui"),
    ("The staging database is rebuilt every night at 02:00", "--tag", "ops"),
    ("Never deploy on a Friday: the last rollback took the weekend", "--category", "anti-patterns"),
    ("The Osaka office is in Namba", "--key", "office:osaka", "--valid-at", "3y"),
)
_QUESTION: Final = "which snacks are dangerous for our team?"
_BY_WORDS: Final = "who gets hives?"
_RISK: Final = "is it risky to deploy before the weekend?"
_CORRECTED: Final = "Bob gets hives from peanuts and from shellfish"
_BOB: Final = "person:bob"
_NOTES: Final = tuple(f"Note {number}: measurement {number * 7919 % 1000} of the night run" for number in range(1, 601))
_ACKNOWLEDGED: Final = 40
_OFFICE: Final = "where is the Osaka office?"
_INTRUDER: Final = "mallory"
_LOCKER: Final = "The locker of the Osaka office opens with zebra-quince-4711"
_CANARY: Final = "quince"


def tell(stage: Stage) -> bool:
    """The whole story. False when the product did not do what it promises."""
    _remember(stage)
    question, kept = _recall(stage)
    _correct(stage)
    kept &= _look_back(stage)
    kept &= _forget_and_restore(stage, question)
    kept &= _take_back(stage)
    kept &= _erase(stage)
    _outlive(stage, question)
    kept &= _crash(stage)
    _explain(stage)
    return kept


def _remember(stage: Stage) -> None:
    stage.chapter("Remember", "On Monday an agent learns a few things. Each is on disk before it is acknowledged.")
    for fact in FACTS:
        stage.perdure("remember", *fact, session="monday")


def _recall(stage: Stage) -> tuple[str, bool]:
    stage.chapter("Recall", "Somebody asks, in words of their own.")
    stage.perdure("recall", _QUESTION, "--limit", "2")
    answer = stage.ask("recall", _QUESTION, "--limit", "1")
    if answer["mode"] == "keyword":
        stage.remark("There is no model here, so Perdure searches by words alone, and says so. Ask with a word of it:")
        stage.perdure("recall", _BY_WORDS, "--limit", "2")
        return _BY_WORDS, True
    text = answer["hits"][0]["record"]["text"] if answer["hits"] else ""
    shared = _shared_words(_QUESTION, text)
    found = answer["hits"] and answer["hits"][0]["record"]["key"] == _BOB
    if found and not shared:
        stage.remark("Question and answer have no word in common: it was found by meaning, by a model on this machine.")
    elif not found:
        stage.remark("The peanuts should have come first.", good=False)
    return _QUESTION, bool(found)


def _shared_words(question: str, text: str) -> set[str]:
    from perdure.text.words import query_words, terms

    return set(terms(" ".join(query_words(question)))) & set(terms(text))


def _correct(stage: Stage) -> None:
    stage.chapter("Correct", "On Tuesday it turns out to be more. A correction is a new version; the old one stays.")
    stage.perdure("update", _BOB, "--text", _CORRECTED, session="tuesday")
    stage.perdure("history", _BOB)


def _forget_and_restore(stage: Stage, question: str) -> bool:
    stage.chapter("Forget", "What is forgotten is found no more.")
    stage.perdure("forget", _BOB, session="tuesday")
    stage.perdure("recall", question, "--limit", "2")
    gone = all(hit["record"]["key"] != _BOB for hit in stage.ask("recall", question)["hits"])
    stage.remark("Nothing about Bob." if gone else "It is still there!", good=gone)
    stage.chapter("Restore", "That was a mistake. Forgetting is a line in the log, so it can be taken back.")
    stage.perdure("restore", _BOB, session="tuesday")
    back = any(hit["record"]["text"] == _CORRECTED for hit in stage.ask("recall", question)["hits"])
    stage.remark("It is back, with its correction." if back else "It did not come back!", good=back)
    return gone and back


def _look_back(stage: Stage) -> bool:
    stage.chapter("Look back", "The office moves. What is true now was not always true, and both can be asked for.")
    moved = ("upsert", "office:osaka", "The Osaka office moved to Umeda", "--valid-at", "5mo")
    stage.perdure(*moved, session="tuesday")
    stage.perdure("recall", _OFFICE, "--limit", "1")
    stage.perdure("recall", _OFFICE, "--limit", "1", "--as-of", "1y")
    hits = stage.ask("recall", _OFFICE, "--as-of", "1y")["hits"]
    good = any("Namba" in hit["record"]["text"] for hit in hits) and "Umeda" not in str(hits)
    stage.remark("A year ago it was Namba." if good else "The past got lost!", good=good)
    return good


def _take_back(stage: Stage) -> bool:
    stage.chapter("Take back a session", "A hostile web page talks an agent into writing nonsense. One call undoes it.")
    stage.perdure("remember", "Peanuts are safe for everybody", session=_INTRUDER)
    stage.perdure("upsert", _BOB, "Bob may eat whatever he likes", session=_INTRUDER)
    stage.perdure("undo", "--session", _INTRUDER, "--yes", session="tuesday")
    stored = {json.loads(line).get("text") for line in stage.output("export", "-").splitlines()}
    good = _CORRECTED in stored and "Peanuts are safe for everybody" not in stored
    stage.remark("Everything is as it was before that session." if good else "Something of it stayed!", good=good)
    return good


def _erase(stage: Stage) -> bool:
    stage.chapter("Erase", "Some things should never have been written down. What is erased cannot be restored.")
    stage.perdure("remember", _LOCKER, "--key", "locker:osaka", session="tuesday")
    stage.perdure("erase", "locker:osaka", "--yes", session="tuesday")
    store = Path(stage.ask("stats")["path"])
    files = sorted(path for path in store.parent.iterdir() if path.name.startswith(store.name))
    left = sum(_CANARY.encode() in path.read_bytes() for path in files)
    stage.remark(f"Of {len(files)} files on disk {left or 'none'} still holds a word of it.", good=not left)
    return not left


def _outlive(stage: Stage, question: str) -> None:
    stage.chapter("Outlive the session", "Every command here was a process of its own. So is this Python program.")
    stage.python(
        f'from perdure import Memory; print(Memory().recall("{question}")[0].record.text)', session="wednesday"
    )


def _crash(stage: Stage) -> bool:
    stage.chapter("Survive a crash", "A writer takes notes from a pipe, and is killed with SIGKILL in the middle.")
    stage.prompt("perdure remember --tag night --lines < notes.txt")
    said = _killed_writer(stage)
    stage.show("\n".join([*said[:2], glyphs().more, *said[-1:], "Killed"]))
    stored = {json.loads(line).get("text") for line in stage.output("export", "-").splitlines()}
    kept = sum(note in stored for note in _NOTES[: len(said)])
    good = kept == len(said) > 0
    stage.remark(f"{len(said)} notes were acknowledged before the kill, and {kept} of them are there.", good=good)
    stage.perdure("doctor")
    return good


def _killed_writer(stage: Stage) -> list[str]:
    """What it said until it died: one line for each note, in their order."""
    writer = stage.writer("remember", "--tag", "night", "--lines")
    feed, out = cast("IO[bytes]", writer.stdin), cast("IO[bytes]", writer.stdout)
    with suppress(BrokenPipeError):
        feed.write("\n".join(_NOTES).encode("utf-8"))
        feed.flush()
    said: list[bytes] = []
    for line in out:
        said.append(line)
        if len(said) == _ACKNOWLEDGED:
            writer.kill()
    # A line that was cut off is no acknowledgement; one that waited in the pipe is.
    whole = [line.decode("utf-8").rstrip() for line in said if line.endswith(b"\n")]
    writer.wait()
    out.close()
    with suppress(BrokenPipeError):
        feed.close()
    return whole


def _explain(stage: Stage) -> None:
    stage.chapter("See why", "Every answer shows what each signal gave to its score.")
    stage.perdure("recall", _RISK, "--limit", "2", "--explain")
    stage.chapter("Count")
    stage.perdure("stats")
