"""What an adapter is given, be it ours or a plugin's: everything that it needs and may know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from perdure.providers.access import Access
from perdure.providers.address import same_server
from perdure.providers.budget import is_background

if TYPE_CHECKING:
    from perdure.providers.client import ProviderClient

BATCH_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """Where a key is and how it is sent, never the key itself: that is read from the environment for each request."""

    variable: str
    header: str = "authorization"
    prefix: str = "Bearer "
    required: bool = True


@dataclass(frozen=True, kw_only=True)
class Options:
    """`url` is the setting `embedder_url` or `llm_url`, `own_key` the variable PERDURE_EMBEDDER_KEY or PERDURE_LLM_KEY.
    `dimensions` is 0 where the user did not choose. `cache` is a folder for files that can be made again.
    """

    access: Access
    own_key: str
    cache: Path
    url: str | None = None
    dimensions: int = 0
    seconds: float = 2.0

    def client(
        self,
        provider: str,
        model: str,
        *,
        url: str,
        api_key: ApiKey | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ProviderClient:
        """The way to the server: the user's own URL, else the provider's, `url`. The provider's key goes to the
        provider's own host alone; to a URL of the user's goes the user's own key, if there is one.
        """
        from perdure.providers.client import ProviderClient

        chosen = self.url or url
        if not same_server(chosen, url):
            api_key = replace(api_key or ApiKey(variable=""), variable=self.own_key, required=False)
        return ProviderClient(
            provider=provider, model=model, url=chosen, headers=headers or {}, api_key=api_key, access=self.access
        )

    def seconds_for(self, items: int) -> float:
        """Background work may wait longer for several texts. Everybody else is a reader or a writer."""
        return max(self.seconds, BATCH_SECONDS) if items > 1 and is_background() else self.seconds
