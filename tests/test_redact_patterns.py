"""Patterns of one's own: what they match never reaches a file, and none of them can hold up a write."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure import Memory, errors, settings
from perdure.text.secrets import redact, redactor

BADGE = "BDG-" + "204417"


def loaded(directory: Path, patterns: str) -> settings.Settings:
    return settings.load({"HOME": str(directory), "PERDURE_REDACT_PATTERNS": patterns})


def test_what_a_pattern_of_ones_own_matches_reaches_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PERDURE_REDACT_PATTERNS", "{badge = 'BDG-[0-9]{6}'}")
    with Memory(tmp_path / "m.db", embedder="none") as memory:
        done = memory.remember(f"Dana's badge is {BADGE}.", title=f"badge {BADGE}", metadata={"badge": [BADGE]})
        assert done.record.text == "Dana's badge is [REDACTED:badge]."
        assert done.record.title == "badge [REDACTED:badge]"
        assert done.notes[0] == "Redacted before storing: badge."
        memory.update(1, text=f"Dana's new badge is {BADGE}")
        with pytest.raises(errors.InvalidInput, match="holds a secret"):
            memory.remember("harmless", key=f"badge:{BADGE}")
    assert [path.name for path in tmp_path.iterdir() if BADGE.encode() in path.read_bytes()] == []


def test_the_file_of_the_settings_has_them_as_a_table(tmp_path: Path):
    (tmp_path / "perdure.toml").write_text("[redact_patterns]\nbadge = 'BDG-[0-9]{6}'\n", encoding="utf-8")
    found = settings.load({"HOME": str(tmp_path), "PERDURE_CONFIG": str(tmp_path / "perdure.toml")})
    assert redactor(found.redact_patterns)(f"badge {BADGE}").found == ("badge",)


def test_a_group_named_secret_leaves_what_stands_around_it():
    apply = redactor({"employee": r"employee (?P<secret>\d{5})"})
    assert apply("employee 20441 called").text == "employee [REDACTED:employee] called"


def test_the_built_in_kinds_are_found_as_well_and_ones_own_name_comes_first():
    apply = redactor({"internal_token": "ghp_[A-Za-z0-9]{36}"})
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    assert apply(f"{token} and password: " + "changeme123").found == ("internal_token", "password")
    assert redact(token).found == ("github_token",)


def test_without_patterns_nothing_is_added():
    assert redactor({}) is redact


@pytest.mark.parametrize("pattern", ["[A-Z]{3,8}", "[^ ]{1,9}", r"\w+", "."])
def test_redacting_twice_is_redacting_once_whatever_the_pattern_matches(pattern: str):
    apply = redactor({"mine": pattern})
    once = apply("REDACTED is a word, and so is BADGE; password: " + "changeme123")
    assert apply(once.text) == once


@pytest.mark.parametrize("length", [6, 900, 5_000, 70_000])
def test_a_long_match_goes_whole_wherever_it_stands(length: int):
    apply = redactor({"badge": "BDG-[0-9]+"})
    for before in (0, 994, 1_000, 1_999, 12_345):
        text = "x" * before + " BDG-" + "7" * length + " end"
        assert apply(text).text == "x" * before + " [REDACTED:badge] end"


@pytest.mark.parametrize(
    ("patterns", "sentence"),
    [
        ("{Badge = 'BDG'}", "names a kind 'Badge'"),
        ("{'badge number' = 'BDG'}", "names a kind 'badge number'"),
        ("{badge = 5}", "is 5, not a text"),
        ("{badge = '(BDG'}", "is not a regular expression"),
        ("{badge = 'B*'}", "can match an empty text"),
        ("{badge = '(?=B)'}", "can match an empty text"),
        ("{badge = '(a+)+b'}", "too many ways"),
        ("{badge = '(a|aa)+b'}", "too many ways"),
        ("{badge = '(.*,){20}x'}", "too many ways"),
        (r"{badge = '\w+\s*\w+x'}", "too many ways"),
        (r"{badge = '([a-z])\1+\1+x'}", "too many ways"),
        ("badge", "redact_patterns"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_when_the_settings_are_read(
    tmp_path: Path, patterns: str, sentence: str
):
    with pytest.raises(errors.SettingsInvalid) as raised:
        loaded(tmp_path, patterns)
    assert sentence in raised.value.sentence
    assert raised.value.remedy


@pytest.mark.parametrize(
    "pattern",
    [
        r"BDG-[0-9]+",
        r"\b[A-Z]{2}\d{6}[A-Z]?\b",
        r"(?i)case[ #-]?\d{4,12}",
        r"(?:[0-9]{4}-){3}[0-9]{4}",
        r"(?<![0-9])cust_(live|test)_[a-z0-9]{8,64}",
        r"patient:\s{0,4}[^\n]{1,80}",
    ],
)
def test_patterns_as_people_write_them_are_taken(tmp_path: Path, pattern: str):
    assert loaded(tmp_path, f"{{mine = '''{pattern}'''}}").redact_patterns == {"mine": pattern}


def test_an_entry_of_metadata_is_told_by_its_name(tmp_path: Path):
    with Memory(tmp_path / "m.db", embedder="none") as memory:
        password, key = "Lantern" + "4471!", "9f8e7d6c5b4a" * 3
        given = {"login": {"user": "dana", "password": password}, "api_key": key, "step": "phase2", "count": 3}
        done = memory.remember("dana logs in", metadata=given)
        assert done.record.metadata == {
            "login": {"user": "dana", "password": "[REDACTED:password]"},
            "api_key": "[REDACTED:api_key]",
            "step": "phase2",
            "count": 3,
        }
        assert done.notes[0] == "Redacted before storing: password, api_key."


def test_a_secret_that_was_found_once_is_taken_out_wherever_it_stands():
    secret = "Lantern" + "4471!"
    found = redact(f"Use {secret} again. The password is {secret}.").text
    assert found == "Use [REDACTED:password] again. The password is [REDACTED:password]."


def test_what_goes_to_a_provider_is_redacted_even_where_what_is_stored_is_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PERDURE_REDACT", "off")
    monkeypatch.setenv("PERDURE_REDACT_PATTERNS", "{badge = 'BDG-[0-9]{6}'}")
    with Memory(":memory:", embedder="none") as memory:
        assert memory.remember(f"Dana's badge is {BADGE}").record.text == f"Dana's badge is {BADGE}"
        assert memory._services.access.redact(f"Dana's badge is {BADGE}") == "Dana's badge is [REDACTED:badge]"
