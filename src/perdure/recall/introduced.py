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
    `corrects` says that the names before were wrong. A nickname is another name of whoever has one.
    """

    number: NDArray[np.int64]
    conversation: NDArray[np.int32]
    speaker: NDArray[np.int32]
    name: NDArray[np.int32]
    corrects: NDArray[np.bool_]
    is_nickname: NDArray[np.bool_]
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
        return [
            Person(speaker, self._conversations(speaker, given & (self.speaker == speaker)))
            for speaker in np.unique(self.speaker[given]).tolist()
        ]

    def _conversations(self, speaker: int, given: NDArray[np.bool_]) -> NDArray[np.int32] | None:
        """In which conversations these names hold; None for all."""
        named = self._holds & (self.speaker == speaker) & ~self.is_nickname
        inside = np.isin(self.conversation, self.conversation[given])
        # A nickname holds wherever the name holds that was given beside it.
        inside |= np.isin(self.conversation, self.conversation[named & np.isin(self.name, self.name[named & inside])])
        others = np.unique(self.name[named & ~inside])
        # Who gives a nickname alone is the one who gave a name elsewhere, if there is one only.
        is_one_person = len(others) <= (0 if (named & inside).any() else 1)
        return None if is_one_person else np.unique(self.conversation[inside & (self.speaker == speaker)])
