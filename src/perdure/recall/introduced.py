"""Who is called what, by their own words: the speakers who said `I'm Jonas`, and in which conversations that holds."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perdure.values import value_class

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.recall.conversation import SpeakerIndex


class Person(NamedTuple):
    """The speaker of that code; if it is several people, in those conversations alone."""

    speaker: int
    conversations: NDArray[np.int32] | None


@value_class(slots=False)
class IntroducedNames:
    """Every living message in which a speaker gives their name: `name` is the code in `names` of what is given, and
    `corrects` says that the names before were wrong.
    """

    number: NDArray[np.int64]
    conversation: NDArray[np.int32]
    speaker: NDArray[np.int32]
    name: NDArray[np.int32]
    corrects: NDArray[np.bool_]
    names: SpeakerIndex

    @cached_property
    def _holds(self) -> NDArray[np.bool_]:
        """Whether no later message of the same speaker in the same conversation takes the name back."""
        places = (self.conversation.astype(np.int64) << 32) | self.speaker
        _, place = np.unique(places, return_inverse=True)
        corrected = np.zeros(len(places), np.int64)
        np.maximum.at(corrected, place[self.corrects], self.number[self.corrects])
        return self.number >= corrected[place]

    def called(self, words: Collection[str]) -> list[Person]:
        """Who bears one of these names. Several people may be the same speaker, such as `user`. Where nobody else gave
        another name as that speaker, it holds in every conversation, also where it was not said.
        """
        given = self._holds & np.isin(self.name, self.names.called(words))
        persons: list[Person] = []
        for speaker in np.unique(self.speaker[given]).tolist():
            conversations = np.unique(self.conversation[given & (self.speaker == speaker)])
            others = self._holds & (self.speaker == speaker) & ~np.isin(self.conversation, conversations)
            persons.append(Person(speaker, conversations if others.any() else None))
        return persons
