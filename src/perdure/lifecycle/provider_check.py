"""What `doctor` says about models: which are set, whether they may be asked, and whether they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from perdure.clock import format_local
from perdure.embed.port import checked_vectors, why_unavailable
from perdure.errors import PerdureError, SettingsInvalid, StoreError
from perdure.lifecycle.vectors import generation_findings
from perdure.llm.port import Question
from perdure.llm.structured import ask
from perdure.model import Finding
from perdure.providers.budget import day_of

if TYPE_CHECKING:
    from perdure.services import Services

_SECONDS: Final = 30.0
_QUESTION: Final = Question(
    purpose="doctor",
    instructions='Answer with the JSON object {"answer": "yes"} and nothing else.',
    text="Do you answer?",
    schema={
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    },
)


def check_providers(services: Services, *, online: bool) -> Iterator[Finding]:
    """`online` sends one question to each model, to see whether it answers."""
    target = services.embedders.target()
    embedder = services.embedder_finding(target, online=online)
    yield embedder
    yield from _readable(lambda: generation_findings(services.store, target.generation))
    if online and embedder.level == "ok" and target.embedder is not None:
        try:
            checked_vectors(target.embedder, _QUESTION.text)
            yield Finding("embedder_answers", "ok", f"{target.embedder.generation.label} answers.")
        except PerdureError as error:
            yield Finding("embedder_answers", "warning", error.sentence, error.cli_remedy)
    yield from _language_model(services, online=online)
    yield from _readable(lambda: _egress(services))


def _readable(check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What it finds in the store. A damaged store has checks of its own, which must have their turn."""
    try:
        return [*check()]
    except StoreError as error:
        sentence = f"What the store keeps about models cannot be read: {error.sentence}"
        return [Finding("models", "warning", sentence, "What follows says what is damaged and how it is repaired.")]


def _language_model(services: Services, *, online: bool) -> Iterator[Finding]:
    name = services.settings.llm
    if name == "none":
        yield Finding("llm", "ok", "No language model is asked: llm is `none`.")
        return
    try:
        llm = services.language_model(name)
        if reason := why_unavailable(llm):
            raise reason
        yield Finding("llm", "ok", f"{name} may be asked.")
        if online:
            ask(llm, _QUESTION, seconds=_SECONDS)
            yield Finding("llm_answers", "ok", f"{name} answers.")
    except PerdureError as error:
        level = "problem" if isinstance(error, SettingsInvalid) else "warning"
        yield Finding("llm", level, error.sentence, error.cli_remedy)


def _egress(services: Services) -> Iterator[Finding]:
    settings, store, now = services.settings, services.store, services.context.clock()
    calls = store.calls(now - timedelta(days=1))
    hosts = ", ".join(settings.egress)
    sentence = f"Texts may be sent to {hosts}" if hosts else "Nothing may leave this machine: egress is `none`"
    failed = [call for call in calls if call.outcome != "ok"]
    if calls:
        sentence += f"; {len(calls):,} requests in the last 24 hours, {len(failed):,} of them failed"
    if failed and failed[0] is calls[0]:
        last = failed[0]
        sentence += f", the last one at {format_local(last.at)} to {last.provider}:{last.model}: {last.outcome}"
        yield Finding("egress", "warning", f"{sentence}.", "`perdure egress` lists them; `perdure work` tries again.")
    else:
        yield Finding("egress", "ok", f"{sentence}.")
    if settings.daily_tokens or settings.daily_cost:
        tokens, cost = store.calls_total(day_of(now)[0])
        most = f" of {settings.daily_tokens:,}" if settings.daily_tokens else ""
        limit = f" of {settings.daily_cost:g}" if settings.daily_cost else ""
        yield Finding("budget", "ok", f"Used today: {tokens:,}{most} tokens, cost {cost:.4f}{limit}.")
