"""`perdure capacity`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from perdure.cli.command import Target, command, option
from perdure.cli.confirm import YES, can_ask, require_yes
from perdure.cli.render import Column, Table, View
from perdure.cli.terminal import count_memories, dim, safe
from perdure.cli.time_options import age
from perdure.clock import format_time
from perdure.errors import NeedsConfirmation
from perdure.model import Capacity, EvictionCandidate

_EXAMPLES: Final = ("perdure capacity", "perdure capacity --max-items 1000", "perdure capacity --max-tokens 0 -n team")
_COLUMNS: Final[tuple[Column[EvictionCandidate], ...]] = (
    Column("next to go", lambda candidate: f"#{candidate.number}", "bold cyan", number=True),
    Column("state", lambda candidate: candidate.state),
    Column("tier", lambda candidate: candidate.tier),
    Column("importance", lambda candidate: f"{candidate.importance:.2f}", number=True),
    Column("tokens", lambda candidate: f"{candidate.tokens:,}", number=True),
    Column("last used", lambda candidate: age(candidate.last_used), "dim"),
)
_FIGURES: Final = (
    "namespace", "item_count", "max_items", "tokens", "max_tokens", "token_counter", "version_count", "protected",
    "evicted_count",
)  # fmt: skip


@command("capacity", examples=_EXAMPLES)
@option("--max-items", type=int, metavar="COUNT", help="Maximum number of memories; 0: as the settings say.")
@option("--max-tokens", type=int, metavar="COUNT", help="Maximum number of tokens; 0: as the settings say.")
@YES
def main(target: Target, *, max_items: int | None, max_tokens: int | None, yes: bool) -> View:
    """Show how full a namespace is, and set its limits.

    Lowering a limit deletes nothing now. The next write evicts memories and lists them, and `restore` brings them back
    during their grace period; a limit below what is stored needs a yes. In a pipe each figure is one line, name and
    value; the memories that would go first follow as eviction_order, number, state, tier, importance, tokens, time of
    last use.
    """
    limits = {"max_items": max_items, "max_tokens": max_tokens}
    given = {name: value for name, value in limits.items() if value is not None}
    with target.memory() as memory:
        if given and not yes:
            _confirm_evictions(target, memory.capacity(), given)
        capacity = memory.capacity(**given)
    policy, tiers = capacity.policy, "critical, constitutional"
    facts = {
        "namespace": capacity.namespace,
        "memories": _of(capacity.item_count, capacity.max_items),
        "tokens": f"{_of(capacity.tokens, capacity.max_tokens)}, counted by {capacity.token_counter}",
        "versions": f"{capacity.version_count:,}",
        "protected": f"{capacity.protected:,} (importance {policy['importance_high']} or more, {tiers})",
        "evicted": f"{capacity.evicted_count:,} (kept for {policy['grace_days']} days)",
        "importance": ", ".join(f"{name} {value:.2f}" for name, value in capacity.importance_range.items()),
    }
    if policy["over"]:
        facts["full"] = "over the limit: the next write evicts memories to make room"
    rows: list[Sequence[object]] = [(name, getattr(capacity, name)) for name in _FIGURES]
    rows += ((f"importance_range.{name}", f"{value:.2f}") for name, value in capacity.importance_range.items())
    for name, value in policy.items():
        rows.append((f"policy.{name}", ",".join(map(str, value)) if isinstance(value, list) else value))
    for each in capacity.eviction_order:
        used = format_time(each.last_used)
        rows.append((
            "eviction_order", each.number, each.state, each.tier, f"{each.importance:.2f}", each.tokens, used,
        ))  # fmt: skip
    wide, table = max(map(len, facts)), Table(_COLUMNS, capacity.eviction_order)
    return View(
        json=capacity,
        lines=[
            *(f"{dim(name.ljust(wide))}  {safe(value)}" for name, value in facts.items()),
            *(["", table] if capacity.eviction_order else []),
        ],
        rows=rows,
    )


def _confirm_evictions(target: Target, now: Capacity, limits: Mapping[str, int]) -> None:
    """A limit below what is stored is set only after a yes."""
    stored = {"max_items": now.item_count, "max_tokens": now.tokens}
    over = {name: stored[name] - limit for name, limit in limits.items() if 0 < limit < stored[name]}
    if not over:
        return
    said = [count_memories(over["max_items"])] if "max_items" in over else []
    said += [f"{over['max_tokens']:,} tokens of memories"] if "max_tokens" in over else []
    what = " and ".join(said)
    sentence = f"The limit is below what is stored: the next write will evict {what}."
    if not can_ask(target):
        raise NeedsConfirmation(sentence, remedy=f"Go ahead: {target.hint('capacity', yes=True, **limits)}")
    require_yes(f"{sentence} Set it?")


def _of(count: int, most: int | None) -> str:
    return f"{count:,}, no limit" if most is None else f"{count:,} of {most:,}"
