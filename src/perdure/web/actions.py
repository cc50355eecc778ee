"""What a person may do on the page: one row for each action. Its rights are those of its verb in the table of
operations, what it asks for are arguments of that verb, and its undo is that of the batch which the verb answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeAlias, Union, cast, get_args, get_origin

from perdure.errors import BadRequest, InvalidInput, NotAllowed, NotFound, shown
from perdure.memory import Memory
from perdure.model import CONTEXT_TYPES, TIERS, Forgotten
from perdure.remote.signatures import arguments_of
from perdure.session.kept import kept_start
from perdure.text.patterns import pattern
from perdure.vocabulary import CATEGORIES
from perdure.web.layout import hidden
from perdure.web.markup import Child, Markup, button, div, form, input_, label, option, page_link, select, text_area
from perdure.web.visit import Visit

Given: TypeAlias = dict[str, Any]
# How it is asked before it is done: not at all, for a yes, after a look at what would be done, or with a count to be
# typed.
Asks: TypeAlias = Literal["", "yes", "look", "count"]

WORDS: Final[Mapping[str, Sequence[str]]] = {"tier": TIERS, "context_type": CONTEXT_TYPES, "category": CATEGORIES}
_LONG: Final = frozenset({"text", "reasoning"})
_LABELS: Final = {
    "add_tags": "Add tags", "related": "Whatever was made of it", "max_items": "Most memories",
    "max_tokens": "Most tokens", "importance": "Importance, from 0 to 1", "key": "Key, such as server:staging",
}  # fmt: skip
# What becomes of what was made of a memory that is erased, as people say it.
_MEANT: Final = {"derived": "goes too", "all": "goes too, with what it was made of", "none": "stays"}
_LONGEST_ADDRESS: Final = 4000
_ADDRESS: Final = pattern(r"(?:\./|[a-z-]+)(?:\?[\w.~%&=+-]*)?", re.ASCII)
_SEVERAL: Final = frozenset({list, tuple, Iterable, Sequence})
# What a call of its own can do without.
_FREE: Final = frozenset({"expected_version", "force"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAction:
    """`name` is its address. `verb` is the verb of `Memory` that it calls, unless it has a `call` of its own; then the
    verb only says which rights it needs. `said` tells that it was done where no batch tells it; `warns` tells before a
    yes what no undo brings back.
    """

    name: str
    verb: str
    title: str
    key: str = ""
    # The arguments that a form shows, in their order.
    fields: tuple[str, ...] = ()
    asks: Asks = ""
    is_for_persons: bool = False
    whole_store: bool = False
    call: Callable[[Visit, Given], Any] | None = None
    said: str = ""
    warns: str = ""

    def is_allowed(self, visit: Visit) -> bool:
        return visit.may(self.verb, whole_store=self.whole_store) and (visit.is_person or not self.is_for_persons)

    def require(self, visit: Visit) -> None:
        visit.authorise(self.verb, whole_store=self.whole_store)
        if self.is_for_persons and not visit.is_person:
            raise NotAllowed(f"Only a person may do this: {self.title.lower()}.")

    def do(self, visit: Visit, given: Given) -> Any:
        if given.get("all_namespaces"):
            visit.authorise(self.verb, whole_store=True)
        return self.call(visit, given) if self.call else getattr(visit.memory, self.verb)(**given)


# -- what no verb does alone -------------------------------------------------------------------------------------------

WORDED: Final = ("text", "title", "abstract", "summary", "reasoning")


def restore_version(visit: Visit, given: Given) -> Any:
    """The words of an earlier version become those of a new one."""
    ref = given["ref"]
    earlier = visit.memory.version(ref, given["n"]).record
    if earlier is None:
        raise InvalidInput("That version was erased.")
    return visit.memory.update(ref, **{name: getattr(earlier, name) for name in WORDED})


def correct(visit: Visit, given: Given) -> Any:
    """Only what the form changed is changed, and only if nobody else was faster."""
    ref = given.pop("ref")
    line = visit.memory.history(ref)[-1].record
    now = {} if line is None else {name: getattr(line, name) for name in given if name != "expected_version"}
    changes = {
        name: value for name, value in given.items() if name == "expected_version" or value != (now[name] or None)
    }
    return visit.memory.update(ref, **cast("Any", changes))


def take_back_session(visit: Visit, given: Given) -> Any:
    """In all namespaces, with what was made of what it said, where all are theirs; else what it wrote here."""
    from perdure.session.listing import forget_session

    session, dry_run, force = given["session"], bool(given.get("dry_run")), bool(given.get("force"))
    if not visit.is_whole_store:
        return visit.memory.undo(session=session, dry_run=dry_run, force=force)
    return forget_session(visit.memory, session, dry_run=dry_run, force=force)


def go_off_record(_: Visit, given: Given) -> Any:
    from perdure.session.privacy import go_off_record

    return go_off_record(given["session"])


def go_on_record(_: Visit, given: Given) -> Any:
    from perdure.session.privacy import go_on_record

    return go_on_record(given["session"])


def make_private(_: Visit, given: Given) -> Any:
    from perdure.session.privacy import make_private

    return make_private(project_of(given["session"]))[1]


def make_shared(_: Visit, given: Given) -> Any:
    from perdure.session.privacy import make_shared

    return make_shared(project_of(given["session"]))[1]


def project_of(session: str) -> str:
    """The folder that a session worked in: a form names the session alone, so it cannot name any other folder."""
    kept = kept_start(session)
    # What a session calls its project may be no path at all.
    with suppress(OSError, ValueError):
        if kept is not None and Path(kept.project).is_absolute() and Path(kept.project).is_dir():
            return kept.project
    raise NotFound(
        "The folder of that session's project is not known, or not there.", remedy="See the screen Sessions."
    )


def examine(visit: Visit, _: Given) -> Any:
    """Check everything that can be wrong with the store."""
    return tuple(visit.memory.doctor())


ACTIONS: Final[Mapping[str, PageAction]] = {
    action.name: action
    for action in (
        PageAction(
            name="remember", verb="remember", title="Remember", fields=("text", "title", "tags", "category", "key")
        ),
        PageAction(
            name="correct", verb="update", title="Correct", key="e", call=correct,
            fields=("text", "title", "tags", "category", "importance"),
        ),
        PageAction(name="restore-version", verb="update", title="Restore this version", call=restore_version),
        PageAction(name="forget", verb="forget", title="Forget", key="f"),
        PageAction(name="restore", verb="restore", title="Bring it back"),
        PageAction(
            name="erase", verb="erase", title="Erase for good", asks="count", is_for_persons=True, fields=("related",)
        ),
        PageAction(name="useful", verb="validate", title="Useful"),
        PageAction(name="promote", verb="promote", title="Promote", key="a", fields=("tier",)),
        PageAction(name="tag", verb="update", title="Tag", fields=("add_tags",)),
        PageAction(name="undo", verb="undo", title="Undo", asks="look"),
        PageAction(name="accept", verb="accept", title="Accept", key="a", is_for_persons=True),
        PageAction(name="reject", verb="reject", title="Keep both", key="r", is_for_persons=True),
        PageAction(name="retry", verb="retry_parked", title="Ask again", said="The model was asked again."),
        PageAction(
            name="discard", verb="discard_parked", title="Discard", asks="yes", said="It was thrown away.",
            warns="What the model said is thrown away, and no undo brings it back.",
        ),
        PageAction(
            name="checkpoint", verb="checkpoint", title="Name this state", fields=("name", "description"),
            said="This state has a name now: going back to it is one step.",
        ),
        PageAction(
            name="go-back", verb="restore_checkpoint", title="Go back to this", asks="look", fields=("clear_existing",)
        ),
        PageAction(
            name="delete-checkpoint", verb="delete_checkpoint", title="Delete the name", asks="yes",
            said="The name is gone; the memories stay.",
            warns="The memories stay. The name goes, and no undo brings it back.",
        ),
        PageAction(
            name="limits", verb="capacity", title="Set the limits", fields=("max_items", "max_tokens"),
            is_for_persons=True, said="The limits are set. A lower one evicts nothing by itself: the next write does.",
        ),
        PageAction(name="work", verb="work", title="Do what is outstanding", said="What was outstanding is done."),
        PageAction(name="consolidate", verb="consolidate", title="Make facts of what waits", said="Nothing waited."),
        PageAction(
            name="take-back", verb="undo", title="Take the session back", asks="look", call=take_back_session,
            warns="What the session was told is not kept any longer, not even if you take this back.",
        ),
        PageAction(
            name="off-record", verb="work", title="Put it off the record", call=go_off_record, whole_store=True,
            said="From now on nothing of this session is stored.",
        ),
        PageAction(
            name="on-record", verb="work", title="Put it on the record", call=go_on_record, whole_store=True,
            said="The session is on the record again.",
        ),
        PageAction(
            name="make-private", verb="work", title="Make its project private", call=make_private, whole_store=True,
            said="From now on what is learned in this project is recalled nowhere else.",
        ),
        PageAction(
            name="make-shared", verb="work", title="Share its project again", call=make_shared, whole_store=True,
            said="What is learned in this project from now on is common again; what was private stays private.",
        ),
        PageAction(name="doctor", verb="work", title="Check the store", call=examine, whole_store=True),
    )
}  # fmt: skip

# What a form may send besides the fields that it shows, by action: what it is about.
ABOUT: Final[Mapping[str, tuple[str, ...]]] = {
    "correct": ("ref", "expected_version"),
    "restore-version": ("ref", "n"),
    "forget": ("what",),
    "restore": ("refs",),
    "erase": ("what",),
    "useful": ("ref", "useful"),
    "promote": ("ref",),
    "tag": ("ref",),
    "undo": ("batch", "session", "actor", "force", "all_namespaces"),
    "accept": ("proposal", "keep"),
    "reject": ("proposal",),
    "retry": ("ids",),
    "discard": ("ids",),
    "go-back": ("name",),
    "delete-checkpoint": ("name",),
    "take-back": ("session", "force"),
    "off-record": ("session",),
    "on-record": ("session",),
    "make-private": ("session",),
    "make-shared": ("session",),
}

# What takes back what no batch does: the action, and what its form says. What stands there was so before.
UNDO_ACTIONS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "limits": ("limits", ("max_items", "max_tokens")),
    "checkpoint": ("delete-checkpoint", ("name",)),
    "off-record": ("on-record", ("session",)),
    "on-record": ("off-record", ("session",)),
    "make-private": ("make-shared", ("session",)),
    "make-shared": ("make-private", ("session",)),
}
# An address has no empty value.
_NO_VALUE: Final = "-"


def before(visit: Visit, action: PageAction, given: Given) -> list[str]:
    """What the form of the way back says, in its order."""
    _, names = UNDO_ACTIONS.get(action.name, ("", ()))
    now: Any = visit.memory.capacity() if action.name == "limits" else None
    return [str(given[name] if now is None else getattr(now, name) or _NO_VALUE) for name in names]


def undo_form(visit: Visit, name: str) -> Child:
    """The undo of what was just done, of which the address says what was before."""
    back, names = UNDO_ACTIONS.get(name, ("", ()))
    was = visit.query.get("was", ())
    if not names or len(was) != len(names):
        return None
    about = {name: "" if value == _NO_VALUE else value for name, value in zip(names, was, strict=True)}
    return action_form(visit, back, about, title="Undo", key="u")


# -- forms -------------------------------------------------------------------------------------------------------------


def read_form(action: PageAction, sent: Mapping[str, Sequence[str]]) -> Given:
    """What a form says, as the verb's own types. What is empty is left out, unless it is a correction or a limit: there
    it takes the entry away. An empty text is refused by the verb.
    """
    given: Given = {}
    hints = {name: argument.hint for name, argument in arguments_of(getattr(Memory, action.verb)).items()}
    hints = {"session": str} | hints | {"n": int, "dry_run": bool}
    for name in (*action.fields, *ABOUT.get(action.name, ())):
        values = [value.replace("\r\n", "\n") for value in sent.get(name, ())]
        if not values:
            continue
        if not "".join(values).strip():
            if name == "text":
                given[name] = ""
            elif action.name in {"correct", "limits"} and name != "importance":
                given[name] = () if name == "tags" else None
            continue
        given[name] = _typed(hints[name], values, name)
    for name in needed_by(action):
        if name not in given:
            raise InvalidInput(
                f"{_LABELS.get(name, name.replace('_', ' ').capitalize())} is empty.",
                remedy="Fill it in and send the form again; nothing was changed.",
            )
    return given


def needed_by(action: PageAction) -> list[str]:
    """What a form has to say: the arguments that the verb cannot do without, and what its own call is about."""
    about = ABOUT.get(action.name, ())
    if action.call is not None:
        return [name for name in about if name not in _FREE]
    arguments = arguments_of(getattr(Memory, action.verb))
    found = ((name, arguments[name]) for name in (*action.fields, *about))
    return [name for name, argument in found if argument.default is Parameter.empty and not argument.is_field]


def _typed(hint: Any, values: Sequence[str], name: str) -> Any:  # noqa: PLR0911 - one for each kind of type
    kinds = get_args(hint) if get_origin(hint) in {UnionType, Union} else (hint,)
    origins = {get_origin(kind) or kind for kind in kinds} - {NoneType}
    text = values[0]
    try:
        if name in {"what", "refs", "ref", "keep", "proposal"}:
            numbers = [int(value.removeprefix("#")) for value in values]
            return numbers if name == "refs" and len(numbers) > 1 else numbers[0]
        if name == "ids":
            return [int(value) for value in values]
        if bool in origins and str not in origins:
            return text in {"on", "true", "yes", "1"}
        if origins & _SEVERAL:
            return tuple(part.strip() for value in values for part in value.split(",") if part.strip())
        if int in origins and str not in origins:
            return int(text)
        if float in origins:
            return float(text)
        return json.loads(text) if origins & {dict, Mapping} else text
    except ValueError as error:
        raise InvalidInput(f"{name} cannot be {shown(text)}.") from error


def action_form(
    visit: Visit,
    name: str,
    about: Mapping[str, object],
    *,
    title: str = "",
    key: str | None = None,
    plain: bool = False,
) -> Child:
    """A button that does it, or shows first what it would do; nothing for those who may not."""
    action = ACTIONS[name]
    if not action.is_allowed(visit):
        return None
    return form(
        hidden(visit, **about, back=_back(visit)),
        button(
            title or action.title,
            type="submit",
            class_="danger" if name == "erase" else "plain" if plain else None,
            data_key=key if key is not None else action.key or None,
        ),
        action=page_link(name),
        method="post",
        class_="act",
    )


def field_form(
    visit: Visit, name: str, about: Mapping[str, object], values: Mapping[str, object] | None = None, *, title: str = ""
) -> Child:
    """A form with the fields of an action, filled in."""
    action = ACTIONS[name]
    if not action.is_allowed(visit):
        return None
    hints = arguments_of(getattr(Memory, action.verb))
    shown_values = values or {}
    # A list may have the same form for each of its rows.
    which = f"-{about['ref']}" if "ref" in about else ""
    fields = [_field(action, field, hints[field].hint, shown_values.get(field), which) for field in action.fields]
    return form(
        hidden(visit, **about, back=_back(visit)),
        fields,
        div(button(title or action.title, type="submit"), class_="row"),
        action=page_link(name),
        method="post",
        class_="stack",
    )


def _field(action: PageAction, name: str, hint: Any, value: object, which: str) -> Markup:
    id = f"{action.name}-{name}{which}"
    told = _LABELS.get(name, name.replace("_", " ").capitalize())
    kinds = get_args(hint) if get_origin(hint) in {UnionType, Union} else (hint,)
    literal = next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ())
    words = WORDS.get(name) or (() if {int, float} & {*kinds} else literal)
    shown_value = "" if value is None else str(value)
    if isinstance(value, tuple | list):
        shown_value = ", ".join(cast("Sequence[str]", value))
    if bool in kinds and str not in kinds:
        return div(
            input_(id=id, name=name, type="checkbox", checked=value is True), label(told, for_=id), class_="check"
        )
    if words:
        chosen = shown_value if shown_value in words or not shown_value else "other"
        meant = _MEANT if name == "related" else {}
        options = [option(meant.get(word, word), value=word, selected=word == chosen) for word in words]
        first = [] if literal else [option("none", value="", selected=not shown_value)]
        if chosen == "other":
            first = [option(shown_value, value=shown_value, selected=True), *first]
        return div(label(told, for_=id), select(first, options, id=id, name=name))
    if name in _LONG:
        return div(label(told, for_=id), text_area(shown_value, id=id, name=name, rows=6, required=name == "text"))
    is_number = bool({int, float} & set(kinds)) and str not in kinds
    number = {"type": "number", "step": "any" if float in kinds else 1, "min": 0} if is_number else {"type": "text"}
    hint_text = "separated by commas" if {get_origin(kind) for kind in kinds} & _SEVERAL else None
    return div(
        label(told, for_=id),
        input_(id=id, name=name, value=shown_value, placeholder=hint_text, **cast("Any", number)),
    )


def _back(visit: Visit) -> str:
    """Where to go once it is done: here, without what was done before."""
    return str(visit.here(done=None, said=None, all=None, was=None))


def check_back(text: str) -> str:
    """An address within the page, and no other."""
    if len(text) > _LONGEST_ADDRESS or _ADDRESS.fullmatch(text) is None:
        raise BadRequest("The form does not say where it stands.")
    return text


def batch_of(result: Any) -> str | None:
    """What an undo takes back; None where nothing was written."""
    if isinstance(result, tuple | list):
        several = cast("Sequence[Any]", result)
        return next((one for one in map(batch_of, several) if one), None)
    return getattr(result, "batch", None)


def is_erasure(result: Any) -> bool:
    return isinstance(result, Forgotten) and result.deletion == "hard"
