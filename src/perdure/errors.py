"""Every way Perdure can refuse, as one tree.

Each class has a stable `code`, an `exit_code` for the command line, and a docstring that is its default sentence.
Code that raises one may give a sharper sentence, and must leave a remedy: what the user can do about it.

    PerdureError
    ├── InvalidInput            bad_input       a value that cannot be stored or asked for
    │   ├── TextTooLong         text_too_long
    │   ├── UnknownChoice       unknown_choice  a category, tier, state … that does not exist
    │   ├── InvalidReference    bad_reference
    │   ├── NotAFile            not_a_file      an address such as postgresql://… where a file is needed
    │   └── BadRequest          bad_request     what a server got is not a request that it can read
    │       └── BodyTooLarge    body_too_large
    ├── NotFound                not_found
    │   └── NoRoute             no_route        a server has nothing at that address
    ├── AmbiguousReference      ambiguous
    ├── Conflict                conflict        the memory changed since, or is in another state
    │   ├── VersionConflict     version_conflict   compare-and-set found another version
    │   ├── NeedsConfirmation   needs_confirmation   look at the list first, then say yes
    │   ├── CapacityExceeded    capacity_exceeded  the namespace is full, and nothing in it may go
    │   └── NotAllowed          not_allowed     only a person may do this
    ├── AccessDenied            access_denied   the token does not allow this
    │   ├── Unauthenticated     unauthenticated   no token, or none that counts
    │   ├── HostRefused         host_refused    the request names a host that the server does not answer for
    │   └── OriginRefused       origin_refused  another web page sent the request
    ├── RateLimited             rate_limited    (retryable) more requests than the token may make
    ├── ImportFailed            import_failed
    ├── ExportFailed            export_failed
    ├── BackupFailed            backup_failed
    ├── SettingsInvalid         bad_settings
    ├── StoreError              store_error
    │   ├── StoreBusy           store_busy      (retryable)
    │   │   └── StoreRolledBack     store_rolled_back   (retryable) nothing was changed
    │   ├── StoreFull           store_full      (retryable)
    │   ├── StoreReadOnly       store_read_only
    │   ├── StoreMissing        store_missing   there is no file, and this does not make one
    │   ├── StoreUnreachable    store_unreachable   (retryable) the server that holds it does not answer
    │   │   └── OutcomeUnknown      outcome_unknown     unknown whether the change was kept
    │   ├── StoreRemote         store_remote    this needs the store's file, and a server has it
    │   ├── StoreUnable         store_unable       the kind of store in use cannot do that
    │   ├── StoreUnreadable     store_unreadable   cannot be opened at all
    │   ├── StoreDamaged        store_damaged
    │   │   └── IndexDamaged    index_damaged   recall goes on without the full-text index
    │   ├── StoreNewer          store_newer     written by a later Perdure
    │   ├── StoreForeign        store_foreign   some other program's database
    │   ├── StoreReplaced       store_replaced  the file was moved or replaced under us
    │   ├── StoreUnsafe         store_unsafe    a symlink, a foreign owner, an unsafe file system
    │   └── StoreClosed         store_closed
    └── ProviderUnavailable     provider_unavailable   (retryable) a model's server did not answer as it should
        ├── ProviderRefused     provider_refused   it does not want this request, now or later
        ├── EgressForbidden     egress_forbidden   the settings do not let texts go there
        ├── BudgetExceeded      budget_exceeded   (retryable) background work has used up what it may send today
        ├── ModelUnavailable    no_llm          (retryable) no language model can be asked
        │   └── ModelOutputInvalid   bad_model_output   what it said is not what was asked for
        └── EmbedderUnavailable     no_embedder     (retryable) recall goes on by keyword
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from perdure.remedies import Flag, Remedy, Run, Words


class PerdureError(Exception):
    """Something went wrong in Perdure."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False
    default_remedy: ClassVar[str | Remedy] = Remedy("Run ", Run("doctor"), " to see what is wrong.")

    def __init__(self, sentence: str | None = None, *, remedy: str | Remedy | None = None) -> None:
        self.sentence = sentence or (self.__doc__ or "").strip()
        self.advice = remedy or self.default_remedy
        super().__init__(self.sentence)

    @property
    def remedy(self) -> str:
        """What to do about it, in the words of Python; `advice` is what every surface says in words of its own."""
        return self.remedy_for("python")

    @property
    def cli_remedy(self) -> str:
        """The remedy in the words of the command line."""
        return self.remedy_for("cli")

    def remedy_for(self, reader: Words) -> str:
        """The remedy in the words of `cli`, `python`, `mcp` or `http`."""
        return self.advice if isinstance(self.advice, str) else self.advice.told(reader)

    @property
    def note(self) -> str:
        """All of it for the notes of an answer, which every surface shows, in the words of the command line."""
        return f"{self.sentence} {self.cli_remedy}"

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), remedy=self.advice), (self.sentence,), self.__dict__

    def as_dict(self, reader: Words = "python") -> dict[str, object]:
        """The shape that every surface shows, with the remedy in its own words."""
        remedy = self.remedy_for(reader)
        return {"code": self.code, "error": self.sentence, "remedy": remedy, "retryable": self.retryable}


class InvalidInput(PerdureError):
    """That value cannot be stored."""

    code = "bad_input"
    exit_code = 2
    default_remedy = "Correct the value and try again; nothing was changed."


class TextTooLong(InvalidInput):
    """The text is longer than one memory may be."""

    code = "text_too_long"
    default_remedy = "Split it into several memories; nothing was changed."


class UnknownChoice(InvalidInput):
    """That is not one of the values allowed here."""

    code = "unknown_choice"
    default_remedy = "Use one of the values listed; nothing was changed."


class InvalidReference(InvalidInput):
    """That does not name a memory."""

    code = "bad_reference"
    default_remedy = Remedy(
        "Give a number, an id, a content hash or a key such as person:alice.",
        mcp="Give the number of the memory, as recall shows it behind the #.",
    )


class NotAFile(InvalidInput):
    """That is an address, and a file is needed. The address may hold a password, so it is shown nowhere."""

    code = "not_a_file"
    default_remedy = Remedy(
        "Give the path of a file, without `file:`. A store may also be the https:// address of a ",
        Run("serve"),
        ", or a postgresql:// database. Nothing was made or changed.",
    )


class BadRequest(InvalidInput):
    """The request cannot be read."""

    code = "bad_request"
    default_remedy = "Send it as /openapi.json describes it; nothing was changed."


class BodyTooLarge(BadRequest):
    """The body of the request is too large."""

    code = "body_too_large"
    default_remedy = "Send less at once; nothing was changed."


class NotFound(PerdureError):
    """No such memory in this namespace."""

    code = "not_found"
    exit_code = 3
    default_remedy = Remedy(
        "Find it with ",
        Run("list"),
        " or ",
        Run("recall"),
        ", or name its namespace with ",
        Flag("namespace"),
        ".",
        mcp="Look for it with recall; its number is behind the #.",
    )


class NoRoute(NotFound):
    """There is nothing at this address."""

    code = "no_route"
    default_remedy = "/openapi.json lists every address, and what may be done there."


class AmbiguousReference(PerdureError):
    """More than one memory goes by that reference."""

    code = "ambiguous"
    exit_code = 3
    default_remedy = "Use the number or the id of the one you mean."


class Conflict(PerdureError):
    """The memory is not in a state that allows this."""

    code = "conflict"
    exit_code = 4
    default_remedy = Remedy(
        "Look at it with ", Run("show"), ", then decide.", mcp="Look at it with recall_detail, then decide."
    )


class VersionConflict(Conflict):
    """The memory has another version than the one expected."""

    code = "version_conflict"
    default_remedy = (
        "It changed meanwhile. Read it again, and retry with the version that it has now; nothing was changed."
    )


class NeedsConfirmation(Conflict):
    """More than one memory would be forgotten."""

    # The `model.Forgotten` that waits for a yes.
    preview: Any = None
    code = "needs_confirmation"
    default_remedy = "Look at the list, and confirm it; nothing was changed."


class CapacityExceeded(Conflict):
    """The namespace is full, and nothing in it may be evicted."""

    code = "capacity_exceeded"
    default_remedy = "Forget something, lower the importance of something, or raise the limit; nothing was changed."


class NotAllowed(Conflict):
    """Only a person may do this."""

    code = "not_allowed"
    default_remedy = "Ask a person to do it; nothing was changed."


class AccessDenied(PerdureError):
    """The token does not allow this."""

    code = "access_denied"
    exit_code = 4
    default_remedy = Remedy("Use a token that allows it: ", Run("token create"), " makes one.")


class Unauthenticated(AccessDenied):
    """A token is needed here."""

    code = "unauthenticated"
    default_remedy = Remedy(
        "Put one into PERDURE_TOKEN; ",
        Run("token create"),
        ", where the server runs, makes one.",
        python="Give one as `Memory(token=…)`, or put it into PERDURE_TOKEN; `perdure token create`, where the server "
        "runs, makes one.",
        http="Send one as `Authorization: Bearer TOKEN`; `perdure token create` makes one. The server's operator can "
        "run that command.",
    )


class HostRefused(AccessDenied):
    """The request names a host that this server does not answer for."""

    code = "host_refused"
    default_remedy = Remedy("Use the address that ", Run("serve"), " printed, or name the host with --allow-host.")


class OriginRefused(AccessDenied):
    """A web page of another origin sent this request."""

    code = "origin_refused"
    default_remedy = "Ask from a program, or from a page of this server; browsers send the origin, programs need not."


class RateLimited(PerdureError):
    """The token makes more requests than it may."""

    # In how many seconds the next request is taken.
    retry_after: float | None = None
    code = "rate_limited"
    exit_code = 6
    retryable = True
    default_remedy = "Wait as long as `Retry-After` says, and try again; nothing was changed."


class ImportFailed(PerdureError):
    """The file could not be imported."""

    code = "import_failed"
    exit_code = 2
    default_remedy = "Correct the line named and import again; nothing was stored from it."


class ExportFailed(PerdureError):
    """The export could not be written."""

    code = "export_failed"
    exit_code = 2
    default_remedy = "Choose another place; whatever was there before is still there."


class BackupFailed(PerdureError):
    """The backup could not be made or used."""

    code = "backup_failed"
    exit_code = 2
    default_remedy = "Choose another place or another backup; the store is as it was."


class SettingsInvalid(PerdureError):
    """A setting has a value that Perdure cannot use."""

    code = "bad_settings"
    exit_code = 2
    default_remedy = Remedy(
        "Correct it; ",
        Run("config show"),
        " lists every setting, ",
        Run("config unset", "NAME"),
        " takes one out.",
    )


class StoreError(PerdureError):
    """The store could not do that."""

    code = "store_error"
    exit_code = 5


class StoreBusy(StoreError):
    """Another process held the store for too long."""

    code = "store_busy"
    exit_code = 6
    retryable = True
    default_remedy = Remedy("Try again; if it persists, ", Run("doctor"), " shows the state of the store.")


class StoreRolledBack(StoreBusy):
    """Others were in the way, or the connection was lost, so the change was not kept."""

    code = "store_rolled_back"
    default_remedy = "Try again; nothing was changed."


class StoreFull(StoreError):
    """The disk is full, so nothing was written."""

    code = "store_full"
    retryable = True
    default_remedy = "Free some space and try again; everything stored before is intact and readable."


class StoreReadOnly(StoreError):
    """The store cannot be written here."""

    code = "store_read_only"
    default_remedy = Remedy(
        "Give yourself write permission on the file and its directory, or choose another with ", Flag("store"), "."
    )


class StoreMissing(StoreError):
    """There is no store there."""

    code = "store_missing"
    default_remedy = Remedy(
        "Check the path; the first ",
        Run("remember"),
        " makes a store.",
        python="Check the path, or leave out create=False to make a store there.",
    )


class StoreUnreachable(StoreError):
    """The server that holds the memory did not answer."""

    code = "store_unreachable"
    retryable = True
    default_remedy = Remedy("Check that ", Run("serve"), " runs there and can be reached, then try again.")


class OutcomeUnknown(StoreUnreachable):
    """The database could not be reached any more when the change was on its way."""

    code = "outcome_unknown"
    retryable = False
    default_remedy = Remedy("Look whether it was kept, with ", Run("log"), ", before you try again.")


class StoreRemote(StoreError):
    """The store is a server's, and this needs its file."""

    code = "store_remote"
    exit_code = 2
    default_remedy = Remedy(
        "Run it on the machine where ", Run("serve"), " runs, and name the file with ", Flag("store"), "."
    )


class StoreUnable(StoreError):
    """The kind of store that is in use cannot do that."""

    code = "store_unable"
    exit_code = 2


class StoreUnreadable(StoreError):
    """The store cannot be opened."""

    code = "store_unreadable"
    default_remedy = Remedy("Check the path and its permissions, or choose another with ", Flag("store"), ".")


class StoreDamaged(StoreError):
    """The store is damaged: what was read is not what was written."""

    code = "store_damaged"
    default_remedy = Remedy("Run ", Run("doctor"), "; export what can be read before you repair.")


class IndexDamaged(StoreDamaged):
    """The full-text index cannot be read."""

    code = "index_damaged"
    default_remedy = Remedy(
        "Run ", Run("doctor", repair=True), ": it is made anew from the memories, which are all there."
    )


class StoreNewer(StoreError):
    """The store was written by a newer Perdure."""

    code = "store_newer"
    default_remedy = "Upgrade Perdure; this version leaves the store as it is."


class StoreForeign(StoreError):
    """The file is not a Perdure store."""

    code = "store_foreign"
    default_remedy = Remedy("Choose another path with ", Flag("store"), "; this file is left as it is.")


class StoreReplaced(StoreError):
    """The store's file was moved, replaced or deleted while it was open."""

    code = "store_replaced"
    default_remedy = "Open the store again; nothing is written to the file that was taken away."


class StoreUnsafe(StoreError):
    """The location is not safe for a store: a symbolic link, a file of another user, or http:// to another machine."""

    code = "store_unsafe"
    default_remedy = "Choose a path on a local disk that belongs to you."


class StoreClosed(StoreError):
    """The memory was closed."""

    code = "store_closed"
    default_remedy = "Open it again with Memory(...)."


class ProviderUnavailable(PerdureError):
    """The provider's server did not answer."""

    # In how many seconds it wants to be asked again, if it said so.
    retry_after: float | None = None
    # The HTTP status of its answer, if it gave one.
    status: int | None = None
    code = "provider_unavailable"
    exit_code = 8
    retryable = True
    default_remedy = Remedy("Check that the server runs and can be reached; ", Run("work"), " tries again.")


class ProviderRefused(ProviderUnavailable):
    """The provider refused the request."""

    code = "provider_refused"
    retryable = False
    default_remedy = Remedy(
        "Check the model's name and the key in the environment; ", Run("config show"), " says which keys are there."
    )


class EgressForbidden(ProviderUnavailable):
    """The settings do not let texts leave this machine."""

    code = "egress_forbidden"
    retryable = False
    default_remedy = "Name the host in the setting `egress` if texts may be sent there."


class BudgetExceeded(ProviderUnavailable):
    """Background work has used up what it may send today."""

    code = "budget_exceeded"
    default_remedy = Remedy("It goes on by itself tomorrow; ", Run("egress"), " shows what was used, and for what.")


class ModelUnavailable(ProviderUnavailable):
    """No language model can be asked."""

    code = "no_llm"
    default_remedy = Remedy(
        "Check the setting `llm`, and that the server runs; ", Run("doctor", online=True), " asks it."
    )


class ModelOutputInvalid(ModelUnavailable):
    """The language model did not answer in the form that was asked for."""

    # Everything that it said, the first answer first.
    outputs: tuple[str, ...] = ()
    code = "bad_model_output"
    default_remedy = Remedy(Run("parked"), " shows what it said, and asks again.")


class EmbedderUnavailable(ProviderUnavailable):
    """No embedding model is available, so recall works by keyword alone."""

    # The vectors of the other texts by their place, when it is only some of the texts that get none.
    good: Mapping[int, Any] | None = None
    code = "no_embedder"
    default_remedy = Remedy(
        "Check the embedder that was given; ", Run("work"), " then makes the vectors that are missing."
    )


def shown(value: object, most: int = 60) -> str:
    """A value as it may stand in a sentence: short, without secrets, and whatever it is, never an error of its own."""
    from perdure.text.secrets import redact

    try:
        text = repr(redact(value).text) if isinstance(value, str) else redact(repr(value)).text
    except Exception:  # noqa: BLE001 - a __repr__ of the caller's may do anything
        return f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 1]}…"


def all_errors() -> list[type[PerdureError]]:
    """The whole tree, base first, for the reference page and the tests that keep it true."""
    classes: list[type[PerdureError]] = [PerdureError]
    for cls in classes:
        classes.extend(cls.__subclasses__())
    return classes
