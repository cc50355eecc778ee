"""The story that `perdure demo` tells: chapters of commands and checks.

Nothing in it is made up: every remark is checked against what came back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

from perdure.cli.terminal import dim, glyphs, safe

if TYPE_CHECKING:
    from perdure.cli.demo import Demo


@dataclass(frozen=True, slots=True)
class Check:
    """What has to hold, and the remark for either case."""

    holds: Callable[[Demo], bool]
    good: str
    bad: str


Step: TypeAlias = "str | Check | Callable[[Demo], Iterator[str]]"


class Chapter(NamedTuple):
    """A step is a command line, in which {question} stands for the question of the story, a check, or a scene."""

    title: str
    session: str
    narration: str
    steps: tuple[Step, ...]


QUESTION: Final = "which food is somebody allergic to?"
_BY_WORDS: Final = "who gets hives?"
_OFFICE: Final = "where is the Osaka office?"
_CORRECTED: Final = "Bob gets hives from peanuts and from shellfish"
_NONSENSE: Final = "Peanuts are safe for everybody"
_NOTES: Final = tuple(f"Note {number}: measurement {number * 7919 % 1000} of the night run" for number in range(1, 601))
_ACKNOWLEDGED: Final = 40
# The day, and what Ada and her assistant said then.
_TALKS: Final = (
    ("2026-01-09", ("Hi! I live in Osaka and I work as a nurse.", "Nice to meet you, Ada!",
                    "I'm allergic to shellfish.", "Noted.", "Please always answer in English.")),
    ("2026-02-14", ("I live in Tokyo now, near the river.", "How do you like it?", "My sister Mina is a baker there.",
                    "Then there is always bread.", "I love the quiet streets.")),
    ("2026-03-21", ("Good morning! I started learning the cello.", "Wonderful!", "Mina plays the violin.",
                    "A duet, then?", "One day, yes.")),
    ("2026-04-02", ("Hello again!",)),
)  # fmt: skip


def find_by_meaning(demo: Demo) -> Iterator[str]:
    from perdure.text.words import query_words, terms

    answer = demo.ask("recall", QUESTION, "--limit", "1")
    if answer["mode"] == "keyword":
        demo.question = _BY_WORDS
        says = "There is no model here, so Perdure searches by words alone, and says so. Ask with a word of it:"
        yield from demo.remark(says)
        yield from demo.run(f'perdure recall "{_BY_WORDS}" --limit 2')
        return
    text = answer["hits"][0]["record"]["text"] if answer["hits"] else ""
    shared = set(terms(" ".join(query_words(QUESTION)))) & set(terms(text))
    if "peanuts" not in text:
        yield from demo.remark("The peanuts should have come first.", good=False)
    elif not shared:
        by_meaning = "Question and answer have no word in common: it was found by meaning, by a model on this machine."
        yield from demo.remark(by_meaning)


def kill_a_writer(demo: Demo) -> Iterator[str]:
    """Every note that was acknowledged before the writer died has to be in the store."""
    yield demo.prompt("perdure remember --tag night --lines < notes.txt")
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
    yield from map(safe, [*acknowledged[:2], glyphs().more, *acknowledged[-1:], "Killed"])
    stored = demo.stored()
    count, kept = len(acknowledged), sum(note in stored for note in _NOTES[: len(acknowledged)])
    says = f"{count} notes were acknowledged before the kill, and {kept} of them are there."
    yield from demo.remark(says, good=kept == count > 0)


def write_chat(demo: Demo) -> Iterator[str]:
    """The conversation as JSON Lines, and what of it matters for the story."""
    said = [
        {
            "conversation_id": "ada", "role": "assistant" if place % 2 else "user", "content": text,
            "speaker": "Assistant" if place % 2 else "Ada", "at": f"{day}T09:{place:02}:00Z",
        }
        for day, texts in _TALKS
        for place, text in enumerate(texts)
    ]  # fmt: skip
    demo.file("chat.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in said), "utf-8")
    yield from (dim(f"{one['at'][:10]}  Ada: {one['content']}") for one in said if " live in " in one["content"])


STORY: Final = (
    Chapter("Remember", "monday", "An agent learns a few things. Each is on disk before it is acknowledged.", (
        'perdure remember "Bob gets hives from peanuts" --key person:bob --category identity --tag health',
        'perdure remember "Alice keeps every editor on a black background" --category preference --tag ui',
        'perdure remember "The staging database is rebuilt every night at 02:00" --tag ops',
        'perdure remember "Never deploy on a Friday: the last rollback took the weekend" --category anti-patterns',
        'perdure remember "The Osaka office is in Namba" --key office:osaka --valid-at 3y',
    )),
    Chapter("Recall", "monday", "Somebody asks, in words of their own.", (
        f'perdure recall "{QUESTION}" --limit 2',
        find_by_meaning,
    )),
    Chapter("Correct", "tuesday", "It turns out to be more. A correction is a new version; the old one stays.", (
        f'perdure update person:bob --text "{_CORRECTED}"',
        "perdure history person:bob",
    )),
    Chapter("Look back", "tuesday", "The office moves. What was true before can still be asked for.", (
        'perdure upsert office:osaka "The Osaka office moved to Umeda" --valid-at 5mo',
        f'perdure recall "{_OFFICE}" --limit 1',
        f'perdure recall "{_OFFICE}" --limit 1 --as-of 1y',
        Check(lambda demo: "Namba" in demo.recalled(_OFFICE, "--as-of", "1y")
              and "Umeda" not in demo.recalled(_OFFICE, "--as-of", "1y"),
              "A year ago it was Namba.", "The past got lost!"),
    )),
    Chapter("Forget", "tuesday", "What is forgotten is found no more.", (
        "perdure forget person:bob",
        'perdure recall "{question}" --limit 2',
        Check(lambda demo: "Bob" not in demo.recalled(demo.question), "Nothing about Bob.", "It is still there!"),
    )),
    Chapter("Restore", "tuesday", "That was a mistake. Forgetting is an entry in the log, so it can be taken back.", (
        "perdure restore person:bob",
        Check(lambda demo: _CORRECTED in demo.recalled(demo.question),
              "It is back, with its correction.", "It did not come back!"),
    )),
    Chapter("Take back a session", "tuesday", "A hostile web page makes an agent write nonsense. One call undoes it.", (
        f'PERDURE_SESSION=mallory perdure remember "{_NONSENSE}"',
        'PERDURE_SESSION=mallory perdure upsert person:bob "Bob may eat whatever he likes"',
        "perdure undo --session mallory --yes",
        Check(lambda demo: _CORRECTED in demo.stored() and _NONSENSE not in demo.stored(),
              "Everything is as it was before that session.", "Something of it stayed!"),
    )),
    Chapter("Erase", "tuesday", "Some things should never have been written down. What is erased cannot be restored.", (
        'perdure remember "The locker of the Osaka office opens with zebra-quince-4711" --key locker:osaka',
        "perdure erase locker:osaka --yes",
        Check(lambda demo: not any(b"quince" in content for content in demo.files()),
              "No file on disk holds a word of it any more.", "A file on disk still holds a word of it!"),
    )),
    Chapter("Learn", "wednesday", "Facts are learned from conversations, with no model and no key. Corrections win.", (
        write_chat,
        "perdure chat import chat.jsonl",
        "perdure work",
        "perdure facts --conversation ada --history",
        Check(lambda demo: "Ada lives in Tokyo now, near the river" in demo.facts()
              and "Ada lives in Osaka" not in demo.facts(),
              "She lives in Tokyo, and Osaka is history.", "The old address is still a fact!"),
    )),
    Chapter("Outlive the session", "wednesday", "Every command was a process of its own. So is this Python program.", (
        """python -c 'from perdure import Memory; print(Memory().recall("who gets hives?")[0].text)'""",
    )),
    Chapter("Survive a crash", "wednesday", "A writer takes notes from a pipe, and is killed in the middle.", (
        kill_a_writer,
        "perdure doctor",
    )),
    Chapter("See why", "wednesday", "Every answer shows what each signal gave to its score.", (
        'perdure recall "is it risky to deploy before the weekend?" --limit 2 --explain',
    )),
    Chapter("Count", "wednesday", "And this is what is stored now.", ("perdure stats",)),
)  # fmt: skip
