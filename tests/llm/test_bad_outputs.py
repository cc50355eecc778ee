"""300 answers that cannot be used, as `perdure work` gets them: no memory is lost, nothing is raised, all is seen.

A local server stands for Ollama. Its model is asked for keywords, as any other would be.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from llm.bad_outputs import BAD_OUTPUTS
from llm.wires import message
from providers.server import FaultServer, ok

from perdure import Memory
from perdure.settings import load

OF_EACH = 30
# So many answers of no use in a row, and a model is not asked again in the same run.
OF_A_RUN = 3
GOOD = '{"keywords": ["turnstile", "ferry", "timetable"]}'


@pytest.fixture
def memory(tmp_path: Path, server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    with Memory(tmp_path / "m.db", settings=load(embedder="none", llm="ollama:qwen3")) as memory:
        yield memory


@pytest.mark.parametrize("kind", BAD_OUTPUTS)
def test_none_of_300_bad_outputs_costs_a_memory_or_goes_unseen(memory: Memory, server: FaultServer, kind: str):
    texts: dict[int, str] = {}
    outputs: dict[int, str] = {}
    for seed in range(OF_EACH):
        text = f"The ferry to island {seed} leaves when turnstile {seed * 7} is closed by the timetable"
        stored = memory.remember(text, category="patterns").record
        texts[stored.number] = text
        # More of ten megabytes would only take longer: what is longer than a million characters is not read.
        outputs[stored.number] = BAD_OUTPUTS[kind](random.Random(seed))[:1_000_001]
        server.next(*[ok(message(outputs[stored.number]))] * 3)
        if seed % OF_A_RUN == OF_A_RUN - 1:
            assert any(note.startswith("3 answers") and "`perdure parked`" in note for note in memory.work().notes)
    # Three requests for each, the first answer and two repairs.
    assert len(server.requests) == 3 * OF_EACH
    # Every memory is there, word for word, and has keywords: those that Perdure chose itself.
    for number, text in texts.items():
        assert memory.get(number).text == text
        assert memory.get(number).keywords
    # Every output can be seen, and what is wrong with it.
    parked = memory.parked()
    assert [item.memory for item in parked] == list(texts)
    for item in parked:
        assert item.memory is not None
        said = (
            outputs[item.memory][:1000]
            .encode("utf-8", "backslashreplace")
            .decode()
            .replace("\0", "\N{REPLACEMENT CHARACTER}")
        )
        assert said in item.output
        assert (item.purpose, item.model) == ("keywords", "ollama:qwen3")
        assert "in another form than was asked for: " in item.error
    # When the model does better, it is asked again for each, once.
    server.always(ok(message(GOOD)))
    server.requests.clear()
    done = memory.retry_parked()
    assert (len(done.answered), done.still_parked, done.notes) == (OF_EACH, (), ())
    assert len(server.requests) == OF_EACH
    assert memory.parked() == []
    assert {memory.get(number).keywords for number in texts} == {("turnstile", "ferry", "timetable")}
