"""What Python shows of a memory: short where it is printed, a small table in a notebook."""

from __future__ import annotations

from pathlib import Path

from perdure import Memory


def test_what_a_verb_answers_is_shown_on_one_short_line(memory: Memory):
    assert repr(memory.remember("Alice prefers dark mode")) == "<Remembered inserted #1 'Alice prefers dark mode'>"
    assert repr(memory.get(1)) == "<Record #1 'Alice prefers dark mode'>"
    assert repr(memory.list()) == "Page(records=(<Record #1 'Alice prefers dark mode'>,), next=None)"


def test_a_hit_is_shown_with_its_relevance_and_has_its_text(memory: Memory):
    memory.remember("Alice prefers dark mode")
    answer = memory.recall("dark mode")
    assert repr(answer[0]) == f"<Hit {answer[0].relevance:.2f} #1 'Alice prefers dark mode'>"
    assert repr(answer) == f"<Recall {answer.mode} [{answer[0]!r}]>"
    assert answer[0].text == "Alice prefers dark mode"


def test_a_long_text_is_cut_and_a_long_answer_counted(memory: Memory):
    for number in range(12):
        memory.remember(f"note {number}\n" + "and so on " * 50)
    assert len(repr(memory.get(1))) < 100
    assert repr(memory.recall("note", limit=12)).endswith(", … 2 more]>")


def test_a_context_is_its_text_where_a_text_is_wanted(memory: Memory):
    memory.remember("Alice prefers dark mode")
    context = memory.context("dark mode", budget=500)
    assert str(context) == context.text
    assert repr(context) == f"<Context {context.tokens} of 500 tokens, 1 memories>"


def test_a_notebook_shows_a_recall_as_a_table_in_which_nothing_is_markup(memory: Memory):
    memory.remember("<script>alert('dark mode')</script>")
    table = memory.recall("dark mode")._repr_html_()
    assert "<script>" not in table
    assert "&lt;script&gt;alert" in table
    assert table.count("#1 ") == 1


def test_a_memory_says_where_it_is(tmp_path: Path):
    with Memory(tmp_path / "m.db") as memory:
        assert repr(memory) == f"<Memory 'default' in '{tmp_path / 'm.db'}'>"
