from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli.user import Answer, User


@pytest.fixture
def filled(user: User):
    user.done("remember", "Alice prefers dark mode", "--tag", "ui", "--tag", "editor", "--category", "preference")
    user.done(
        "remember", "The dark room opens at nine", "--tag", "photo", "--title", "Opening hours", "--source", "mail"
    )
    user.done("remember", "Bob plays chess", "--valid-at", "2020-05-01")
    return user


def texts(answer: Answer):
    return [hit["record"]["text"] for hit in answer.json["hits"]]


def test_a_hit_in_a_pipe_is_one_line_of_eight_fields(filled: User):
    answer = filled.done("recall", "chess")
    ((number, score, namespace, time, category, tags, title, text),) = answer.rows
    assert (number, namespace, time, category, tags, title, text) == (
        "3", "default", "2020-05-01T00:00:00Z", "", "", "", "Bob plays chess",
    )  # fmt: skip
    assert 0 < float(score) <= 1


def test_a_text_of_several_lines_stays_one_line_in_a_pipe(filled: User):
    filled.done("remember", "zebra\tfirst\nsecond \\ third")
    ((*_, text),) = filled.done("recall", "zebra").rows
    assert text == "zebra\\tfirst\\nsecond \\\\ third"


def test_unquoted_words_are_one_question(filled: User):
    assert "Bob plays chess" in filled.done("recall", "who", "plays", "chess?").out


def test_the_same_question_asked_before_is_no_answer(filled: User):
    said = '{"conversation_id": "c", "role": "user", "content": "Who plays chess?"}\n'
    filled.done("chat", "import", "-", stdin=said)
    assert texts(filled.done("recall", "who plays chess", "--json")) == ["Bob plays chess"]


def test_a_question_can_be_piped_in(filled: User):
    assert "Bob plays chess" in filled.done("recall", stdin="who plays chess?\n").out


def test_json_answers_mode_notes_and_hits_with_their_reasons(filled: User):
    answer = filled.done("recall", "dark mode", "--json")
    assert set(answer.json) == {"mode", "notes", "hits", "constitutional", "min_relevance", "nearest", "compared"}
    assert answer.json["mode"] == "keyword"
    hit = answer.json["hits"][0]
    assert set(hit) == {"relevance", "score", "explain", "record", "concepts", "contradicts", "outdated"}
    assert hit["record"]["text"] == "Alice prefers dark mode"
    for signal in hit["explain"].values():
        assert set(signal) == {"raw", "rank", "normalised", "weight", "contribution", "about", "passage"}


def test_hits_are_narrowed_by_tag_category_source_and_time(filled: User):
    assert texts(filled.done("recall", "dark", "--tag", "ui", "--json")) == ["Alice prefers dark mode"]
    assert texts(filled.done("recall", "dark", "--category", "preference", "--json")) == ["Alice prefers dark mode"]
    assert texts(filled.done("recall", "dark", "--source", "mail", "--json")) == ["The dark room opens at nine"]
    assert texts(filled.done("recall", "chess", "--until", "2020-05-01", "--json")) == ["Bob plays chess"]
    assert texts(filled.done("recall", "chess", "--since", "1d", "--json")) == []


def test_limit_is_the_most_there_are(filled: User):
    assert len(filled.done("recall", "dark", "--limit", "1").rows) == 1


def test_several_namespaces_are_searched_when_named(filled: User):
    filled.done("remember", "Chess club on Tuesdays", "-n", "team")
    found = filled.done("recall", "chess", "-n", "default", "-n", "team").rows
    assert {row[2] for row in found} == {"default", "team"}
    assert "team #1" in filled.screen("recall", "chess", "-n", "default", "-n", "team")


def test_on_a_terminal_a_hit_shows_number_score_facts_and_text(filled: User):
    screen = filled.screen("recall", "dark mode", "--limit", "1")
    first, second = screen.splitlines()
    assert first.split()[0] == "#1"
    assert "preference · ui, editor · just now" in first
    assert second == "    Alice prefers dark mode"


def test_explain_draws_a_bar_for_each_signal(filled: User):
    answer = filled.done("recall", "dark mode", "--limit", "1", "--json")
    screen = filled.screen("recall", "dark mode", "--limit", "1", "--explain")
    for name, signal in answer.json["hits"][0]["explain"].items():
        (line,) = [line for line in screen.splitlines() if line.strip().startswith(name)]
        assert f"{signal['contribution']:.3f}" in line
    assert "█" in screen


def test_explain_in_a_pipe_is_one_more_field(filled: User):
    ((*_, text, signals),) = filled.done("recall", "chess", "--explain").rows
    assert text == "Bob plays chess"
    assert all("=" in signal for signal in signals.split(","))


def test_a_long_text_is_cut_on_a_terminal_and_whole_in_a_pipe(filled: User):
    filled.done("remember", "zebra " * 300 + "end")
    assert "end" not in filled.screen("recall", "zebra")
    assert filled.done("recall", "zebra").out.rstrip().endswith("end")


def test_an_empty_answer_says_what_was_tried_and_what_to_try_next(filled: User):
    answer = filled.done("recall", "xylophone")
    assert answer.out == ""
    assert "Nothing found for 'xylophone' (searched by words alone)." in answer.err
    assert "perdure list" in answer.err


def test_an_empty_answer_behind_filters_offers_to_drop_them(filled: User):
    answer = filled.done("recall", "chess", "--tag", "ui", "-n", "default")
    assert "among memories with tags ui" in answer.err
    assert "perdure recall chess --namespace default" in answer.err


def test_an_empty_memory_says_how_to_begin(user: User):
    answer = user.done("recall", "anything")
    assert answer.out == ""
    assert "There is no memory here yet." in answer.err


def test_an_empty_answer_is_an_empty_list_in_json(filled: User):
    answer = filled.done("recall", "xylophone", "--json")
    assert answer.json["hits"] == []
    assert answer.err == ""


def test_an_unknown_recipe_is_refused_with_the_names_there_are(filled: User):
    assert "balanced" in filled.fails(2, "recall", "chess", "--recipe", "nonsense").err


def test_a_limit_out_of_range_is_refused(filled: User):
    assert "limit" in filled.fails(2, "recall", "chess", "--limit", "0").err


# -- the past ------------------------------------------------------------------------------------------------------


@pytest.fixture
def moved(user: User):
    """Alice moved in 2025, and that was written down just now."""
    user.done("remember", "Alice lives in Osaka", "--key", "person:alice", "--valid-at", "2020-01-01")
    user.done("update", "person:alice", "--text", "Alice lives in Tokyo", "--valid-at", "2025-01-01")
    return user


def test_what_was_true_at_a_time_is_found_and_the_answer_says_that_it_is_past(moved: User):
    answer = moved.done("recall", "Alice", "--as-of", "2022-06-01")
    assert [row[-1] for row in answer.rows] == ["Alice lives in Osaka"]
    assert "This was true on 2022-06-01" in answer.err
    assert [row[-1] for row in moved.done("recall", "Alice").rows] == ["Alice lives in Tokyo"]
    assert "This was true" not in moved.done("recall", "Alice").err


def test_what_was_known_at_a_time_is_found(moved: User):
    assert texts(moved.done("recall", "Alice", "--known-at", "now", "--json")) == ["Alice lives in Tokyo"]
    answer = moved.done("recall", "Alice", "--known-at", "2024-06-01")
    assert answer.out == ""
    assert "as it was known on 2024-06-01" in answer.err
    assert "Try without the time: perdure recall Alice" in answer.err


def test_both_times_can_be_asked_about(moved: User):
    answer = moved.done("recall", "Alice", "--as-of", "2022-06-01", "--known-at", "now")
    assert "This was true on 2022-06-01" in answer.err
    assert "as it was known on" in answer.err
    assert [row[-1] for row in answer.rows] == ["Alice lives in Osaka"]


def test_json_says_which_time_it_is_about(moved: User):
    answer = moved.done("recall", "Alice", "--as-of", "2022-06-01", "--json")
    assert answer.json["as_of"] == "2022-06-01T00:00:00Z"
    assert "known_at" not in answer.json
    assert answer.json["hits"][0]["record"]["version"] == 1


def test_on_a_terminal_a_hit_of_the_past_says_its_version(moved: User):
    assert "version 1" in moved.screen("recall", "Alice", "--as-of", "2022-06-01")
    assert "version" not in moved.screen("recall", "Alice")


def test_a_list_of_the_past_shows_what_was_known(moved: User):
    assert [row[-1] for row in moved.done("list", "--known-at", "now").rows] == ["Alice lives in Tokyo"]
    answer = moved.done("list", "--known-at", "2024-06-01")
    assert answer.out == ""
    assert "There was no memory here then." in answer.err
    assert moved.done("list", "--known-at", "2024-06-01", "--json").json["known_at"] == "2024-06-01T00:00:00Z"


def test_the_next_page_of_a_past_list_is_of_the_same_time(moved: User):
    moved.done("remember", "tea")
    answer = moved.done("list", "--limit", "1", "--known-at", "2090-06-01")
    assert "--known-at 2090-06-01T00:00:00Z" in answer.err


def test_what_is_no_time_is_refused(filled: User):
    assert "as_of" in filled.fails(2, "recall", "chess", "--as-of", "nonsense").err


# -- tiers ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def ruled(filled: User):
    filled.done("remember", "Never push to main", "--tier", "constitutional")
    return filled


def test_constitutional_memories_come_first_under_their_own_mark(ruled: User):
    first, second = ruled.done("recall", "chess").rows
    assert (first[0], first[1], first[-1]) == ("4", "constitutional", "Never push to main")
    assert second[-1] == "Bob plays chess"
    lines = ruled.screen("recall", "chess").splitlines()
    assert lines[0].startswith("#4  constitutional")
    assert lines[1] == "    Never push to main"


def test_a_constitutional_memory_that_is_also_a_hit_is_shown_once(ruled: User):
    assert ruled.screen("recall", "push to main").count("Never push to main") == 1
    assert ruled.screen("recall", "push to main", "--explain").count("Never push to main") == 2


def test_constitutional_memories_are_apart_in_json(ruled: User):
    answer = ruled.done("recall", "chess", "--json")
    assert [record["text"] for record in answer.json["constitutional"]] == ["Never push to main"]
    assert texts(answer) == ["Bob plays chess"]


def test_constitutional_memories_can_be_left_out(ruled: User):
    assert len(ruled.done("recall", "chess", "--no-constitutional").rows) == 1
    assert ruled.done("recall", "chess", "--no-constitutional", "--json").json["constitutional"] == []


def test_the_tiered_recipe_explains_tier_decay_and_anchor(filled: User):
    screen = filled.screen("recall", "chess", "--recipe", "tiered", "--explain")
    for name in ("keyword", "tier", "decay", "anchor"):
        assert any(line.strip().startswith(name) for line in screen.splitlines())
    ((_, relevance, *_, signals),) = filled.done(
        "recall", "chess", "--recipe", "tiered", "--no-decay", "--explain"
    ).rows
    score = signals.split(",")[0].removeprefix("score=")
    assert float(score) == pytest.approx(40 + 25 / 3 + 20, abs=1e-3)
    assert 0.3 <= float(relevance) <= 1


@pytest.mark.parametrize("command", ["recall", "context"])
def test_where_nothing_fits_the_answer_is_empty_and_says_what_came_nearest(filled: User, command: str):
    question = "which of the seven dwarfs from the northern mines would lose at chess against a dragon in winter?"
    answer = filled.done(command, question)
    assert answer.out == ""
    assert "Bob plays chess" in answer.err
    assert "--min-relevance 0" in answer.err
    document = filled.done(command, question, "--json").json
    assert document["nearest"]["record"]["text"] == "Bob plays chess"
    assert document["nearest"]["relevance"] < 0.3
    assert "Bob plays chess" in filled.done(command, question, "--min-relevance", "0").out
    filled.fails(2, command, "chess", "--min-relevance", "2")


def test_concepts_need_no_question_and_each_hit_says_what_it_contains(filled: User):
    filled.done("remember", "OAuth errors: oauth failed")
    screen = filled.screen("recall", "--concept", "oauth", "--concept", "error")
    assert "Contains: oauth (2), error (1)" in screen
    ((*_, text, contains),) = filled.done("recall", "--concept", "oauth", "--concept", "error").rows
    assert (text, contains) == ("OAuth errors: oauth failed", "oauth (2), error (1)")
    answer = filled.done("recall", "what failed?", "--concept", "oauth", "--concept", "error", "--json")
    assert answer.json["hits"][0]["concepts"] == {"oauth": 2, "error": 1}


def test_one_concept_is_refused_with_a_remedy(filled: User):
    answer = filled.fails(2, "recall", "--concept", "oauth")
    assert "2 to 5 different concepts" in answer.err


def test_a_phrase_in_quotation_marks_is_meant_word_for_word(filled: User):
    assert texts(filled.done("recall", '"dark mode"', "--json")) == ["Alice prefers dark mode"]
    assert texts(filled.done("recall", '"mode dark"', "--json")) == []


def test_a_time_in_words_is_a_filter(filled: User):
    assert texts(filled.done("recall", "chess", "--when", "in May 2020", "--json")) == ["Bob plays chess"]
    assert texts(filled.done("recall", "chess", "--when", "today", "--json")) == []
    assert "when is not a time" in filled.fails(2, "recall", "chess", "--when", "banana").err


def test_an_empty_namespace_names_those_that_are_not(filled: User):
    assert "Namespaces with memories: default" in filled.done("recall", "chess", "-n", "nobody").err
