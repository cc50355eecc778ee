"""What every request to a provider needs to know about this memory: who may be asked, what may be sent, who counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perdure.clock import Clock, system_clock
from perdure.providers.call import ProviderCall

if TYPE_CHECKING:
    from perdure.providers.client import ProviderClient


def _do_nothing(call: ProviderCall) -> None:
    del call


@dataclass(frozen=True, kw_only=True)
class Access:
    """`egress` names the hosts that may be asked besides this machine. `redact` takes the secrets out of a text.
    `allow` is asked before a request leaves this machine, with the call as it is planned (its tokens are estimated),
    and raises `ProviderUnavailable` if the budget is used up; `record` is told of each request that was made.
    """

    redact: Callable[[str], str]
    egress: tuple[str, ...] = ()
    allow: Callable[[ProviderCall], None] = _do_nothing
    record: Callable[[ProviderCall], None] = _do_nothing
    clock: Clock = system_clock
    # Those to be closed with the memory. Each enters itself.
    clients: set[ProviderClient] = field(default_factory=set["ProviderClient"], repr=False)

    def close(self) -> None:
        for client in list(self.clients):
            client.close()
