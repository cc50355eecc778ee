"""`perdure doctor HOST` where the host is there to be asked: it says what the host would say."""

from __future__ import annotations

import pytest
from hosts.running import Codex, Copilot, Gemini, Host, run
from hosts.test_coding_agent import INSTALLED_AS, install
from hosts.test_plugin import TAKES, add_plugin

TRUSTED = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}


def levels(host: Host, **environment: str) -> dict[str, tuple[str, str]]:
    """What is found, by what was looked at: how good it is, and the sentence."""
    command = ["perdure", "doctor", INSTALLED_AS[host.name]]
    lines = run(command, {**host.environment, **environment}, host.project).stdout.splitlines()
    return {check: (level, sentence) for level, check, sentence, _ in (line.split("\t") for line in lines)}


def test_an_installed_host_says_that_it_is_connected(host: Host):
    install(host)
    found = levels(host, **TRUSTED)
    assert {check: found[check][0] for check in ("configuration", "loop", "host")} == {
        "configuration": "ok",
        "loop": "ok",
        "host": "ok",
    }


def test_a_host_without_perdure_is_a_problem(host: Host):
    assert levels(host)["configuration"][0] == "problem"


def test_hooks_that_codex_does_not_trust_are_named(codex: Codex):
    install(codex)
    level, sentence = levels(codex)["trust"]
    assert level == "warning"
    for event in ("sessionStart", "userPromptSubmit", "stop", "sessionEnd"):
        assert event in sentence


def test_a_folder_that_gemini_does_not_trust_is_a_warning(gemini: Gemini):
    install(gemini)
    level, sentence = levels(gemini)["host"]
    assert (level, "not connected" in sentence) == ("warning", True)


def test_without_hooks_copilot_is_said_to_tell_a_session_nothing(copilot: Copilot):
    install(copilot)
    assert levels(copilot)["hooks"][0] == "warning"
    install(copilot, "project")
    assert "hooks" not in levels(copilot)


@pytest.mark.parametrize("host", TAKES, indirect=True)
def test_the_plugin_is_an_installation_too_and_both_are_one_too_many(host: Host):
    add_plugin(host)
    found = levels(host, **TRUSTED)
    assert (found["configuration"][0], found["loop"][0], found["host"][0]) == ("ok", "ok", "ok")
    assert "hooks" not in found
    install(host)
    assert levels(host, **TRUSTED)["configuration"][0] == "warning"
