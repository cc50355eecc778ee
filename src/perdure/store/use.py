"""Use, pending reviews and provider calls that are noted, but not in the store yet.

Counting must not make a read wait for a writer, and no reader of the process may miss a count. So counts are kept in
memory first, for all stores of this process that are the same, and every reader adds them to what it reads. A thread
writes them about a second later, and ends when nothing is left.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from perdure.clock import to_micros
from perdure.errors import PerdureError
from perdure.store.port import Review, Use, UseCount
from perdure.store.rows import ALL_WRITTEN, Row, Unwritten, newest_time

if TYPE_CHECKING:
    from perdure.providers.call import ProviderCall

THREAD: Final = "perdure-use"
# How long a use waits until it is written; two seconds are promised.
DELAY: Final = 1.0
# After an attempt that failed, the thread waits twice as long for the next one, up to this.
LONGEST_DELAY: Final = 8.0
# How long the thread, and a store that is closed, wait for another writer.
PATIENCE: Final = 0.25
# Totals that are kept after they are written, for reads that began before.
_MAX_TOTALS_KEPT: Final = 64
# A store without a thread writes after this many uses.
_USES_PER_WRITE: Final = 64

UsesByNamespace: TypeAlias = Mapping[str, Mapping[int, Unwritten]]
# How often each memory has been recalled and accessed now, by namespace and number; those that are gone are left out.
UseTotals: TypeAlias = Mapping[str, Mapping[int, Row]]
SettleUse: TypeAlias = Callable[[UseTotals], None]
_UNUSED: Final = Unwritten()


class UseBatch(NamedTuple):
    """What is to be written."""

    counts: UsesByNamespace
    calls: Sequence[ProviderCall]
    reviews: Collection[Review]


class UseCounts:
    """The unwritten use of one store, by namespace and number. Readers look into it without a lock, so entries are only
    ever replaced whole.
    """

    def __init__(self) -> None:
        self.unwritten: dict[str, dict[int, Unwritten]] = {}
        self.calls: list[ProviderCall] = []
        self.reviews: dict[tuple[str, int], Review] = {}
        self.added = 0
        self.renew()

    def renew(self) -> None:
        """In a forked child a lock may be held by a thread that does not exist there."""
        self.lock, self.flushing = threading.Lock(), threading.Lock()

    def to_write(self) -> UsesByNamespace:
        found = (
            (namespace, {number: use for number, use in numbers.items() if use.recalls or use.accesses})
            for namespace, numbers in self.unwritten.items()
        )
        return {namespace: numbers for namespace, numbers in found if numbers}

    @property
    def all_written(self) -> bool:
        return not self.calls and not self.reviews and not self.to_write()

    @contextmanager
    def settling(self, taken: UsesByNamespace) -> Generator[SettleUse]:
        settled = False

        def settle(totals: UseTotals) -> None:
            nonlocal settled
            settled = True
            self._settle(taken, totals)

        try:
            yield settle
        except BaseException:
            if settled:
                self._settle(taken, None)
            raise

    def _settle(self, taken: UsesByNamespace, totals: UseTotals | None) -> None:
        """Take what was written off the counts; or, without totals, put it back, because it was not committed."""
        sign = 1 if totals is None else -1
        with self.lock:
            for namespace, numbers in taken.items():
                unwritten = self.unwritten.setdefault(namespace, {})
                for number, use in numbers.items():
                    now = unwritten.get(number, _UNUSED)
                    # A memory that is gone has no total.
                    total = () if totals is None else totals[namespace].get(number, ())
                    unwritten[number] = Unwritten(
                        now.recalls + sign * use.recalls,
                        newest_time(now.recalled_at, use.recalled_at),
                        now.accesses + sign * use.accesses,
                        newest_time(now.accessed_at, use.accessed_at),
                        *(least if isinstance(least, int) else 0 for least in total),
                    )


class UseWriter(ABC):
    """Counts the use of one store. With a `thread`, what is counted is written about a second later. A store that is
    `in_memory` is another one in a forked process, with all it holds.
    """

    def __init__(self, counts: UseCounts, *, thread: bool, in_memory: bool = False) -> None:
        self._counts = counts
        self._in_memory = in_memory
        self._has_thread = thread
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self.unwritten: UsesByNamespace = counts.unwritten

    def count(self, uses: Sequence[Use]) -> None:
        counts = self._counts
        with counts.lock:
            for namespace, number, recalls, recalled_at, accesses, accessed_at in uses:
                numbers = counts.unwritten.setdefault(namespace, {})
                before = numbers.get(number, _UNUSED)
                numbers[number] = Unwritten(
                    before.recalls + recalls,
                    newest_time(before.recalled_at, None if recalled_at is None else to_micros(recalled_at)),
                    before.accesses + accesses,
                    newest_time(before.accessed_at, None if accessed_at is None else to_micros(accessed_at)),
                    before.least_recalls,
                    before.least_accesses,
                )
                counts.added += 1
            many = not self._has_thread and counts.added >= _USES_PER_WRITE
        if self._has_thread and self._thread is None:
            self.resume()
        elif many:
            # Inside a transaction of this thread, counting goes on.
            with suppress(PerdureError, RuntimeError):
                self.flush(patience=0)

    def note_calls(self, calls: Sequence[ProviderCall]) -> None:
        with self._counts.lock:
            self._counts.calls += calls
        self.resume()

    def note_reviews(self, reviews: Sequence[Review]) -> None:
        with self._counts.lock:
            _add_reviews(self._counts.reviews, reviews)
        self.resume()

    @contextmanager
    def unwritten_calls(self) -> Generator[Sequence[ProviderCall]]:
        """Calls that are not in the file, and are not written while somebody looks at both."""
        with self._counts.flushing:
            yield tuple(self._counts.calls)

    def flush(self, *, patience: float) -> None:
        """Write what was counted, waiting so many seconds for another writer. When it fails, the counts are kept."""
        counts = self._counts
        with counts.flushing:
            with counts.lock:
                taken, calls, counts.added = counts.to_write(), tuple(counts.calls), 0
                reviews, counts.reviews = counts.reviews, {}
                if sum(map(len, counts.unwritten.values())) - sum(map(len, taken.values())) > _MAX_TOTALS_KEPT:
                    # Of what was written the last time and before: the reads that began then have ended.
                    for namespace, numbers in counts.unwritten.items():
                        for number in numbers.keys() - taken.get(namespace, ALL_WRITTEN).keys():
                            del numbers[number]
            if not taken and not calls and not reviews:
                return
            try:
                self._write(UseBatch(taken, calls, reviews.values()), patience)
                with counts.lock:
                    del counts.calls[: len(calls)]
            except BaseException:
                with counts.lock:
                    _add_reviews(counts.reviews, reviews.values())
                raise

    @abstractmethod
    def _write(self, batch: UseBatch, patience: float) -> None:
        """Write it, in one transaction or several, each inside `_settling`. Calls and reviews are kept when this fails,
        so what has several transactions writes the calls in the last one.
        """

    def _settling(self, counts: UsesByNamespace) -> AbstractContextManager[SettleUse]:
        """Around a transaction that writes these counts: inside it, before the commit, the totals that it has written
        are handed over. Whoever reads what is committed must not add it once more. What is not committed is put back.
        """
        return self._counts.settling(counts)

    def clear(self) -> None:
        """Drop what was counted: the file is another one now."""
        with self._counts.lock:
            self._counts.unwritten.clear()
            self._counts.reviews.clear()

    def _write_later(self) -> None:
        """What the thread does. It waits longer after each failure, and gives up where a retry cannot help."""
        delay = DELAY
        while not self._ended.wait(delay):
            ending = True
            try:
                self.flush(patience=PATIENCE)
                delay, ending = DELAY, False
            except PerdureError as error:
                delay, ending = min(2 * delay, LONGEST_DELAY), not error.retryable
            finally:
                with self._counts.lock:
                    ending = ending or self._counts.all_written
                    self._thread = None if ending else self._thread
            if ending:
                return

    def resume(self) -> None:
        """Start the thread, if there is something to write."""
        with self._counts.lock:
            if self._has_thread and self._thread is None and not self._counts.all_written:
                thread = threading.Thread(target=self._write_later, name=THREAD, daemon=True)
                # None can be started when the interpreter ends, or when there are too many.
                with suppress(RuntimeError):
                    thread.start()
                    self._thread = thread

    def pause(self) -> None:
        """End the thread. It must not be inside the store when the process forks or ends."""
        if thread := self._thread:
            self._ended.set()
            thread.join()
            self._thread = None
            self._ended.clear()

    def close(self) -> None:
        """Write what was counted, as far as that is possible, and start no thread any more."""
        self._has_thread = False
        self.pause()
        with suppress(PerdureError):
            self.flush(patience=PATIENCE)

    def after_fork_in_child(self) -> None:
        """What was counted is counted by the parent; but a store in memory is another one here, with all it holds."""
        self._counts.renew()
        self._ended = threading.Event()
        if not self._in_memory:
            self._counts.unwritten.clear()
            self._counts.calls.clear()
            self._counts.reviews.clear()


def _add_reviews(noted: dict[tuple[str, int], Review], reviews: Iterable[Review]) -> None:
    for review in reviews:
        place = review.namespace, review.number
        before = noted.get(place, review)
        first, last = min(before.first_at, review.first_at), max(before.at, review.at)
        noted[place] = review._replace(rank=min(before.rank, review.rank), first_at=first, at=last)


def with_unwritten(
    counts: Sequence[UseCount], unwritten: Mapping[int, Unwritten], numbers: Sequence[int] | None
) -> Sequence[UseCount]:
    """What a store has written of these memories, or of all, with what it has not. `unwritten` is looked at after the
    store was read: see `Unwritten`.
    """
    wanted = list(unwritten) if numbers is None else unwritten.keys() & numbers
    if not wanted:
        return counts
    by_number = {count[0]: count for count in counts}
    for number in wanted:
        if use := unwritten.get(number):
            recalls, last_used, _, accessed_at, least, _ = use
            if last_used is None or (accessed_at is not None and accessed_at > last_used):
                last_used = accessed_at or 0
            # Compared by hand: this runs for each memory that was used a moment ago, in every recall that weighs use.
            if in_store := by_number.get(number):
                least = in_store[1] if in_store[1] > least else least  # noqa: FURB136
                last_used = in_store[2] if in_store[2] > last_used else last_used  # noqa: FURB136
            by_number[number] = (number, least + recalls, last_used)
    return list(by_number.values())
