"""The verbs that prepare what a model should know: a context, what a prompt brings to mind, and the details."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Final, Unpack, cast, get_args

from perdure.errors import InvalidInput, UnknownChoice, shown
from perdure.memory.core import Reference
from perdure.memory.reading import MAX_LIMIT, Reading
from perdure.model import Context, Detail, Format, Level, Record, Triggered
from perdure.validation import Filters, check_int, check_namespaces, check_query

MAX_BUDGET: Final = 1_000_000
_FORMATS: Final[tuple[Format, ...]] = get_args(Format)
_LEVELS: Final[tuple[Level, ...]] = get_args(Level)


class Contextual(Reading):
    def context(  # noqa: PLR0913 - one for each thing a caller may decide
        self,
        query: str,
        *,
        concepts: Sequence[str] | None = None,
        budget: int = 2000,
        limit: int = 50,
        format: Format = "text",
        namespaces: Sequence[str] | None = None,
        recipe: str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        include_constitutional: bool = True,
        **filters: Unpack[Filters],
    ) -> Context:
        """What matters for the query, as one text of at most `budget` tokens to put before a model: what is always
        surfaced, then the best of what recall finds, each with its date, number and origin. What is too long speaks in
        fewer words, what is said twice is said once, and the answer names what it left out.

        The text is data between two marks that no memory can forge. `format` is 'text', or 'json' for one JSON object
        per line.
        """
        from perdure.recall.envelope import Style
        from perdure.recall.pack import Pack, pack

        room = check_int(budget, "budget", 1, MAX_BUDGET)
        if format not in _FORMATS:
            raise UnknownChoice(f"There is no format {shown(format)}.", remedy=f"Use one of {', '.join(_FORMATS)}.")
        names = None if namespaces is None else check_namespaces(namespaces)
        found = self._recalled(
            check_query(query),
            concepts=concepts,
            limit=limit,
            namespaces=names,
            recipe=recipe,
            as_of=as_of,
            known_at=known_at,
            use_decay=None,
            include_constitutional=include_constitutional,
            filters=filters,
        )
        several = names is not None and len(set(names)) > 1
        made = pack(found, Pack(query, room, self._services.tokens, Style(format, several)))
        if as_of is None and known_at is None:
            surfaced = (one.record for one in made.items if one.score is not None)
            self._services.usage.recalled(surfaced, self._services.context.clock())
        return made

    def recall_detail(self, refs: Reference | Sequence[Reference], *, level: Level = "full") -> tuple[Detail, ...]:
        """Memories by reference, in as much detail as is asked for: 'index' is a line of about 20 tokens, 'abstract' a
        few sentences, 'full' everything. It counts as access, not as recall. When one of them is not there, none is
        answered.
        """
        from perdure.text.preview import abstract, one_line_preview

        if level not in _LEVELS:
            raise UnknownChoice(f"There is no level {shown(level)}.", remedy=f"Use one of {', '.join(_LEVELS)}.")
        wanted = _several(refs)
        if len(wanted) > MAX_LIMIT:
            raise InvalidInput(
                f"More than {MAX_LIMIT} memories at once are too many.", remedy=f"Ask for {MAX_LIMIT} at most."
            )
        tell = {"index": one_line_preview, "abstract": abstract, "full": _everything}[level]
        now = self._services.context.clock()
        records = [self._present(ref, now) for ref in wanted]
        for record in records:
            self._services.usage.accessed(record, now)
        return tuple(Detail(record, level, tell(record)) for record in records)

    def match_triggers(
        self, prompt: str, *, limit: int = 3, namespaces: Sequence[str] | None = None
    ) -> tuple[Triggered, ...]:
        """The memories with a trigger phrase in the prompt, whatever its case, accents and inflection: the surest
        first, then the longest phrase, then the most important memory. No model is asked.
        """
        services = self._services
        now = services.context.clock()
        most = check_int(limit, "limit", 1, MAX_LIMIT)
        names = [self._namespace] if namespaces is None else list(dict.fromkeys(check_namespaces(namespaces)))
        found = services.triggers().match(check_query(prompt), names, most, now)
        services.usage.recalled((one.record for one in found), now)
        return tuple(found)


def _several(refs: object) -> list[Reference]:
    if isinstance(refs, int | str):
        return [refs]
    if isinstance(refs, Iterable) and not isinstance(refs, bytes | Mapping):
        return list(islice(cast("Iterable[Reference]", refs), MAX_LIMIT + 1))
    raise InvalidInput("That is no memory.", remedy="Name memories by number, id, hash or key.")


def _everything(record: Record) -> str:
    return record.text
