"""Erases again what a list of erased memories names: a database that was restored to an earlier moment has it back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from perdure.errors import InvalidInput, NotAllowed, NotFound, StoreDamaged
from perdure.files import read_regular
from perdure.lifecycle.secret_sweep import log_pages, scrub_bytes
from perdure.lifecycle.write import update_tombstones
from perdure.model import Finding
from perdure.store.erasure import ERASE, LedgerLines, fingerprint, parse_ledger

if TYPE_CHECKING:
    from perdure.services import Services

_MOST_BYTES: Final = 256 << 20
_NAME_LIST: Final = "Name the file beside the store that it was erased from; its name ends in -erased."


def erase_again(services: Services, path: str) -> Iterator[Finding]:
    """In all namespaces. What is erased already is left alone, so the list can be applied at any time."""
    if not services.context.is_person:
        raise NotAllowed("A model cannot erase memories.", remedy="Ask a person to do it.")
    listed = _listed(path)
    erased = 0
    for namespace in services.store.namespaces():
        if numbers := _back_again(services, namespace, listed):
            erased += _erase(services, namespace, numbers)
            services.drop(namespace)
    yield Finding("repair_erased", "ok", f"Memories that were erased and had come back, erased again: {erased}.")
    if erased:
        yield from scrub_bytes(services, "repair_erased")


def _listed(path: str) -> LedgerLines:
    try:
        content = read_regular(path, _MOST_BYTES)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} cannot be read.", remedy=_NAME_LIST) from error
    listed = parse_ledger(content)
    if not listed or len(content) > _MOST_BYTES:
        raise InvalidInput(f"{path} is not a list of erased memories.", remedy=_NAME_LIST)
    return listed


def _back_again(services: Services, namespace: str, listed: LedgerLines) -> list[int]:
    """The numbers of memories that the list names and the log has not erased."""
    found: dict[int, bool] = {}
    for page, *_ in log_pages(services.store, namespace):
        for line in page:
            if fingerprint(line.memory) in listed:
                found[line.number] = line.change.operation != ERASE
    return [number for number, is_back in found.items() if is_back]


def _erase(services: Services, namespace: str, numbers: list[int]) -> int:
    batch = services.context.batch()
    erased = 0
    with services.store.write(namespace, frees_space=True) as writer:
        for number in numbers:
            try:
                record = writer.by_number(number)
            except StoreDamaged:
                record = None
            try:
                writer.erase(number, batch.change("erase"))
            except NotFound:
                # Somebody was quicker.
                continue
            update_tombstones(writer, "erase", record, None, batch.at)
            erased += 1
    return erased
