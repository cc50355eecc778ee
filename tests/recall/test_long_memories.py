"""A memory that is longer than the model reads is found by any of its passages, and shows which one it was."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from cli.user import User
from store.children import Child, in_child

from perdure import Memory
from perdure.embed.local import LocalEmbedder, unavailable
from perdure.embed.port import Progress, Vectors, checked_vectors
from perdure.testing.embedder import WordEmbedder
from perdure.text.windows import MAX_WINDOWS

NEEDS_MODEL = pytest.mark.skipif(unavailable() is not None, reason="the local model is not installed")

TOPICS = (
    "The garden needs water in the morning, and the tomatoes grow slowly this year because of the rain.",
    "Our build takes eleven minutes on the old runner, and its cache is often cold after a weekend.",
    "The meeting about the budget was moved twice, and nobody has written the minutes so far.",
    "She read three novels on the train to the coast and liked the second of them best.",
)
LAST = "One more thing: the consulate rejected my visa application, so the flight to Tokyo had to be cancelled."
# It has no telling word in common with the paragraph.
QUESTION = "Why did the trip to Japan fall through?"

ZEBRAS = "Seventeen zebras crossed the narrow wooden bridge before sunrise, followed by giggling hyenas."


def long_text(last: str = LAST, size: int = 20_000) -> str:
    paragraphs: list[str] = []
    while sum(map(len, paragraphs)) + len(last) < size:
        number = len(paragraphs)
        paragraphs.append(f"{TOPICS[number % 4]} That was note {number}. {TOPICS[(number + 1) % 4]}")
    return "\n\n".join([*paragraphs, last])


class WindowedWords(WordEmbedder):
    """Words again, but it says that it reads only the beginning of a text."""

    window = 64

    def __init__(self) -> None:
        super().__init__(dimensions=512)
        self.most = 0

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        self.most = max(self.most, len(texts))
        return super().embed_passages(texts, progress)


@pytest.fixture(scope="module")
def local() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with Memory(path, embedder=WindowedWords()) as opened:
        yield opened


def shown(memory: Memory, query: str) -> str:
    """What the passage of the first hit says."""
    hit = memory.recall(query, min_relevance=0)[0]
    assert hit.passage is not None
    start, end = hit.passage
    return hit.text[start:end]


@NEEDS_MODEL
def test_the_last_paragraph_of_a_long_message_is_found_by_its_meaning(path: Path, local: LocalEmbedder):
    text = long_text()
    with Memory(path, embedder=local) as memory:
        memory.import_messages([{"conversation_id": "letters", "role": "user", "content": text}])
        for number in range(20):
            memory.remember(f"Short note {number} about the price of honey in shop {number}.")
        memory.remember("Curry with rice is on the menu on Fridays.")
        memory.work()
        hit, *_ = memory.recall(QUESTION)
        assert hit.text == text
        assert hit.passage is not None
        start, end = hit.passage
        assert start <= text.index(LAST)
        assert end == len(text)
        assert end - start < 1_000
        assert hit.explain["vector"].passage == hit.passage
        item, *_ = memory.context(QUESTION, budget=400).items
        assert item.form == "excerpt"
        assert LAST in item.text


@NEEDS_MODEL
def test_the_last_paragraph_of_what_an_assistant_said_at_length_is_found_too(path: Path, local: LocalEmbedder):
    text = long_text()
    with Memory(path, embedder=local) as memory:
        talk = memory.conversation("letters")
        for role, said in (
            ("user", "Please sum up all my letters of the last months."), ("assistant", text),
            ("user", "Thank you, that is all that I wanted."), ("assistant", "You are welcome."),
        ):  # fmt: skip
            talk.add_message(role, said)
        memory.work()
        (hit,) = (hit for hit in memory.recall(QUESTION) if hit.text == text)
        assert hit.passage is not None
        assert LAST in text[slice(*hit.passage)]
        assert "You are welcome." not in [hit.text for hit in memory.recall(QUESTION)]


@NEEDS_MODEL
def test_the_command_line_shows_the_passage_that_was_found(path: Path, local: LocalEmbedder):
    with Memory(path, embedder=local) as memory:
        memory.remember(long_text())
    user = User({"PERDURE_STORE": str(path), "PERDURE_EMBEDDER": "local"})
    screen = user.screen("recall", QUESTION, "--explain")
    assert "consulate rejected my visa" in " ".join(screen.split())
    assert "passage: characters 19," in screen
    (hit,) = user.done("recall", QUESTION, "--json").json["hits"]
    start, end = hit["explain"]["vector"]["passage"]
    assert LAST in hit["record"]["text"][start:end]
    assert f"passage={start}-{end}" in user.done("recall", QUESTION, "--explain").out


def test_a_long_memory_is_no_nearer_for_its_length_where_the_best_passage_is_the_same(memory: Memory):
    memory.remember(ZEBRAS)
    memory.remember(long_text(ZEBRAS, 4_000))
    short, long = memory.recall(ZEBRAS, min_relevance=0)[:2]
    assert short.text == ZEBRAS
    assert (short.passage, long.passage is not None) == (None, True)


def test_what_fits_has_no_passages(memory: Memory):
    memory.remember("A zebra crossing near the school.")
    (hit,) = memory.recall("zebra")
    assert hit.passage is None
    assert all(signal.passage is None for signal in hit.explain.values())


def test_a_change_of_a_long_text_changes_its_passages(memory: Memory):
    memory.remember("The quokka naps.")
    before = memory.remember(long_text(ZEBRAS, 6_000))
    assert "zebra" in shown(memory, ZEBRAS)
    memory.update(before.record.number, text=long_text("A walrus sings in the harbour.", 6_000))
    assert "walrus" in shown(memory, "walrus sings harbour")
    assert "zebra" not in memory.recall("zebra", min_relevance=0)[0].text
    memory.update(before.record.number, text="Nothing of all that.")
    assert memory.recall("walrus sings harbour", min_relevance=0)[0].passage is None


def test_a_text_with_the_same_words_in_another_order_has_other_passages(memory: Memory):
    paragraphs = long_text(ZEBRAS, 6_000).split("\n\n")
    first, *rest = paragraphs
    done = memory.remember("\n\n".join(paragraphs))
    assert shown(memory, ZEBRAS).endswith(ZEBRAS)
    # Its first window, and its words, are the same as before.
    moved = "\n\n".join([first, *rest[:8], rest[-1], *rest[8:-1]])
    memory.update(done.record.number, text=moved)
    hit = memory.recall(ZEBRAS, min_relevance=0)[0]
    assert hit.passage is not None
    assert hit.passage[0] <= moved.index(ZEBRAS) < hit.passage[1]
    assert hit.passage[1] < len(moved)


def test_another_process_and_a_later_one_find_the_same_passage(path: Path, memory: Memory):
    memory.recall("anything")
    text = long_text(ZEBRAS, 6_000)

    def write() -> None:
        with Memory(path, embedder=WindowedWords()) as other:
            other.remember(text)

    in_child(write)
    assert "zebra" in shown(memory, ZEBRAS)
    memory.close()
    with Memory(path, embedder=WindowedWords()) as later:
        assert "zebra" in shown(later, ZEBRAS)
        assert [finding.level for finding in later.doctor()].count("problem") == 0


def test_a_process_that_is_killed_while_it_embeds_leaves_all_vectors_of_a_memory_or_none(path: Path):
    class Killed(WindowedWords):
        def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
            if self.embedded:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().embed_passages(texts, progress)

    def work() -> None:
        with Memory(path, embedder=Killed()) as memory:
            memory.import_(
                [{"text": long_text(f"Animal{number} crosses yard{number}.", 15_000)} for number in range(20)]
            )
            memory.work()

    assert Child(work).result()[0] is None
    with Memory(path, embedder=WindowedWords()) as memory:
        waiting = sum(space.vectors_pending for space in memory.stats().namespaces)
        assert 0 < waiting < 20
        assert memory.work().vectors_pending == 0
        assert [finding.level for finding in memory.doctor()].count("problem") == 0
        assert "Animal7 " in shown(memory, "animal7 crosses yard7")


def test_an_erased_long_memory_leaves_no_vector_and_no_word(path: Path, memory: Memory):
    canary = "The xylophonic canary sang seventeen operas backwards while juggling crystal teapots."
    text = long_text(canary, 6_000)
    done = memory.remember(text)
    vector = checked_vectors(WindowedWords(), [text[slice(*hit_passage(memory, canary))]])[0].tobytes()
    memory.close()
    assert vector in path.read_bytes()
    with Memory(path, embedder=WindowedWords()) as again:
        again.erase(done.record.number, confirm=True)
        assert not again.recall(canary, min_relevance=0)
    for file in path.parent.iterdir():
        assert vector not in file.read_bytes()
        assert b"xylophonic" not in file.read_bytes()


def hit_passage(memory: Memory, query: str) -> tuple[int, int]:
    passage = memory.recall(query, min_relevance=0)[0].passage
    assert passage is not None
    return passage


def test_the_past_is_found_by_its_passages_as_well(memory: Memory):
    done = memory.remember(long_text(ZEBRAS, 6_000))
    then = done.record.updated_at
    memory.update(done.record.number, text="Nothing of all that.")
    hit = memory.recall(ZEBRAS, known_at=then, min_relevance=0)[0]
    assert hit.passage is not None
    assert "zebra" in hit.text[slice(*hit.passage)]


def test_the_longest_text_is_stored_at_once_and_embedded_by_work_up_to_a_limit(path: Path):
    embedder = WindowedWords()
    with Memory(path, embedder=embedder) as memory:
        done = memory.remember("word " * 200_000)
        assert done.vector_pending
        assert "The text is long" in done.notes[0]
        assert embedder.embedded == 0
        found = memory.recall("word")
        assert found.mode == "keyword"
        assert embedder.most <= 1
        assert memory.work().embedded == 1
        assert embedder.most == MAX_WINDOWS
        assert memory.recall("word").mode == "hybrid"


def test_work_counts_memories_and_not_their_windows(memory: Memory):
    memory.import_([{"text": long_text(f"A zebra number {number}.", 5_000)} for number in range(6)])
    seen: list[tuple[int, int | None]] = []
    done = memory.work(progress=lambda now, total: seen.append((now, total)))
    assert done.embedded == 6
    assert seen[-1] == (6, 6)
    assert all(now <= 6 == total for now, total in seen)


def test_a_store_whose_long_memories_have_one_vector_each_still_answers(path: Path):
    class Whole(WindowedWords):
        window = None

    text = long_text(ZEBRAS, 6_000)
    with Memory(path, embedder=Whole()) as before:
        before.remember(text)
    with Memory(path, embedder=WindowedWords()) as memory:
        hit = memory.recall(ZEBRAS, min_relevance=0)[0]
        assert hit.text == text
        assert hit.passage is None
        memory.remember(long_text("A walrus sings in the harbour.", 6_000))
        assert "walrus" in shown(memory, "walrus sings harbour")


def test_many_long_memories_are_searched_by_signs_as_they_are_exactly(path: Path):
    """So many windows that only those of like signs are compared."""
    with Memory(path, embedder=WindowedWords()) as memory:
        memory.import_([{"text": long_text(f"Animal{number} crosses yard{number}.", 9_000)} for number in range(120)])
        memory.work()
        for number in (3, 60, 119):
            assert f"Animal{number} " in shown(memory, f"animal{number} crosses yard{number}")
