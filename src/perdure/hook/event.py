"""What a host tells a hook, and in which form it wants to be answered. Nothing of the engine is loaded here.

Claude Code, Codex and Gemini CLI take the context in `hookSpecificOutput`, and Codex drops an answer with any other key
beside it. Copilot CLI takes it at the top level alone. Copilot also runs the hooks that were written for Claude Code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from perdure.vocabulary import HOOK_HOSTS, HookHost

Kind: TypeAlias = Literal["start", "prompt", "stop", "subagent", "compacted", "tool", "end"]

# What hooks that were installed before call a host that has another name now.
_OLD_NAMES: Final = {"claude": "claude-code"}
# Above 10,000 Claude Code shows a file and a short preview instead of the text.
MAX_CONTEXT: Final = 9_500

# Names of events without case, by what they mean here; all others mean nothing.
_KINDS: Final[Mapping[str, Kind]] = {
    "sessionstart": "start",
    "userpromptsubmit": "prompt",
    "userpromptsubmitted": "prompt",
    "beforeagent": "prompt",
    "stop": "stop",
    "agentstop": "stop",
    "afteragent": "stop",
    "subagentstop": "subagent",
    "postcompact": "compacted",
    "posttooluse": "tool",
    "posttoolusefailure": "tool",
    "sessionend": "end",
}
_OF_GEMINI: Final = frozenset({"beforeagent", "afteragent"})
# At any other event a context makes the model go on, or is an error.
_TAKES_CONTEXT: Final = frozenset({"start", "prompt"})


class HookEvent(NamedTuple):
    """`name` is the event as its host calls it, `fields` is everything that the host said."""

    host: HookHost
    name: str
    kind: Kind | None
    fields: Mapping[str, Any]

    def text(self, *names: str) -> str:
        """The first of these fields that is a text and not blank. Copilot's own hooks write `sessionId` for
        `session_id`.
        """
        for name in names:
            first, *rest = name.split("_")
            for spelling in (name, first + "".join(map(str.title, rest))):
                value = self.fields.get(spelling)
                if isinstance(value, str) and value.strip():
                    return value
        return ""


def read_event(
    content: bytes, environ: Mapping[str, str], host: str | None = None, name: str | None = None
) -> HookEvent | None:
    """The event in what a host wrote to standard input; None if that is no JSON object. `host` and `name` are what the
    command line says.
    """
    try:
        parsed: object = json.loads(content.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, dict):
        return None
    return event_of(cast("dict[str, Any]", parsed), environ, host, name)


def event_of(
    fields: Mapping[str, Any], environ: Mapping[str, str], host: str | None = None, name: str | None = None
) -> HookEvent:
    named = name or fields.get("hook_event_name") or fields.get("hookEventName") or detect_event(fields)
    event = named if isinstance(named, str) else ""
    key = event.replace("_", "").lower()
    return HookEvent(detect_host(fields, key, environ, host), event, _KINDS.get(key), fields)


def answer(event: HookEvent, context: str) -> str:
    """What is written to standard output: nothing, or one line of JSON."""
    if not context or event.kind not in _TAKES_CONTEXT:
        return ""
    text = clipped(context)
    if event.host == "copilot":
        return json.dumps({"additionalContext": text})
    return json.dumps({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}})


def clipped(text: str) -> str:
    """At most `MAX_CONTEXT` characters, as hosts in JavaScript count them, in whole lines if there are several."""
    wide = text.encode("utf-16-le", "surrogatepass")
    if len(wide) <= 2 * MAX_CONTEXT:
        return text
    cut = wide[: 2 * MAX_CONTEXT].decode("utf-16-le", "ignore")
    return cut[: cut.rfind("\n")] if "\n" in cut else cut


def detect_event(fields: Mapping[str, Any]) -> str:
    """Copilot's own hooks do not name their event."""
    if isinstance(fields.get("prompt"), str):
        return "userPromptSubmitted"
    if "initialPrompt" in fields or "source" in fields:
        return "sessionStart"
    if "stopReason" in fields:
        return "agentStop"
    return "sessionEnd" if "reason" in fields else ""


def detect_host(fields: Mapping[str, Any], key: str, environ: Mapping[str, str], told: str | None) -> HookHost:
    """Who runs this hook. The variables of a host are inherited by other hosts that are started inside it, so what the
    host says counts more.
    """
    named = _OLD_NAMES.get(told or "", told)
    if named in HOOK_HOSTS:
        return named
    session, transcript = fields.get("session_id", ""), str(fields.get("transcript_path", ""))
    signs: tuple[tuple[HookHost, bool], ...] = (
        ("gemini", key in _OF_GEMINI or session == environ.get("GEMINI_SESSION_ID")),
        ("copilot", "sessionId" in fields or "hook_event_name" not in fields),
        ("claude-code", session == environ.get("CLAUDE_CODE_SESSION_ID")),
        ("codex", "turn_id" in fields or "rollout-" in transcript),
        ("copilot", bool(environ.get("COPILOT_CLI"))),
    )
    hosts: list[HookHost] = [host for host, sign in signs if sign]
    return hosts[0] if hosts else "claude-code"
