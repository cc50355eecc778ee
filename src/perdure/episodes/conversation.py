"""One conversation of a memory, as its user sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from perdure.errors import InvalidInput, PerdureError, shown
from perdure.ids import MAX_NUMBER
from perdure.model import Imported, Record, Remembered
from perdure.validation import check_int

if TYPE_CHECKING:
    from perdure.episodes.messages import NewMessage
    from perdure.services import Services

_FIELDS: Final = (
    "role", "content", "at", "speaker", "session_id", "source_project", "channel", "metadata", "idempotency_key",
)  # fmt: skip


class Conversation:
    """What was said in one conversation, message by message. `Memory.conversation` gives one; it holds nothing itself,
    and a conversation begins with its first message.
    """

    def __init__(self, services: Services, namespace: str, id: str) -> None:
        from perdure.episodes.messages import check_conversation

        self.id = check_conversation(services, id)
        self._services = services
        self._namespace = namespace

    def add_message(
        self,
        role: str,
        content: str,
        *,
        at: datetime | str | None = None,
        speaker: str | None = None,
        session_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Store what somebody said: it is on disk before anything else happens. The same words again are another
        message.

        `role` is `user`, `assistant`, `system`, `tool` or any other word; `speaker` is who it was, by name. `at` is
        when it was said, if that is not now. A call repeated with the same `idempotency_key` stores nothing and
        answers what the first one stored.
        """
        from perdure.episodes.messages import add_message, check_message

        said = self._services.context.clock() if at is None else at
        message = check_message(
            self._services, self.id, role=role, content=content, at=said, speaker=speaker, session_id=session_id,
            idempotency_key=idempotency_key,
        )  # fmt: skip
        return add_message(self._services, self._namespace, replace(message, is_live=at is None))

    def add_messages(self, messages: Iterable[Mapping[str, Any]]) -> Imported:
        """Store several messages in their order, all or none, as one batch. Each is a mapping with `role`, `content`
        and, if you like, `at`, `speaker`, `session_id`, `source_project`, `channel`, `metadata` and an
        `idempotency_key`: what was stored with the same key before is not stored again, also when it was forgotten or
        erased since. They are found by words at once, by meaning after `work`.
        """
        from perdure.episodes.messages import add_messages, check_message

        checked: list[NewMessage] = []
        for place, message in enumerate(messages, 1):
            try:
                if unknown := next((name for name in message if name not in _FIELDS), None):
                    raise InvalidInput(
                        f"A message has no field {shown(unknown)}.", remedy=f"Its fields are {', '.join(_FIELDS)}."
                    )
                given = {name: value for name, value in message.items() if value is not None}
                given = {"role": None, "content": None, **given}
                told = check_message(self._services, self.id, **given)
                checked.append(replace(told, is_live="at" not in given))
            except PerdureError as error:
                raise InvalidInput(f"Message {place}: {error.sentence}", remedy=error.advice) from error
        return add_messages(self._services, self._namespace, checked)

    def end(self) -> bool:
        """Say that nothing follows for now, as when a session ends: the next `work` makes an episode of the open
        messages, and facts of it, without waiting for silence. False if nothing was said, or if it had ended already.
        A later message continues the conversation.
        """
        from perdure.episodes.messages import end_conversation

        return end_conversation(self._services, self._namespace, self.id)

    def messages(self, *, limit: int | None = None, episode: Record | None = None) -> list[Record]:
        """List the messages in the order in which they were said, of the whole conversation or of one of its episodes;
        with a limit, the last ones. `metadata` has the role and the speaker of each, `valid_at` when it was said.
        """
        most = None if limit is None else check_int(limit, "limit", 1, MAX_NUMBER)
        if episode is None:
            from perdure.episodes.messages import messages_of

            return messages_of(self._services, self._namespace, self.id, most)
        from perdure.episodes.lookup import messages_of_episode

        with self._services.store.read(self._namespace) as reader:
            found = messages_of_episode(reader, episode) if episode.conversation_id == self.id else []
        return found[-(most or len(found)) :]

    def __repr__(self) -> str:
        return f"<Conversation {self.id!r}>"
