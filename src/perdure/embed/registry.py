"""Embedders by the name that the settings give them: a provider and its model."""

from __future__ import annotations

from perdure.embed.port import Embedder
from perdure.embed.server import as_embedder_error
from perdure.errors import EmbedderUnavailable, PerdureError, ProviderUnavailable, SettingsInvalid, shown
from perdure.providers.access import Access
from perdure.providers.options import Options
from perdure.providers.plugins import load
from perdure.settings import Settings


def open_embedder(name: str, settings: Settings, access: Access, *, dimensions: int = 0) -> Embedder:
    """No request is made. Raises `EmbedderUnavailable`, whose cause is `SettingsInvalid` if there is no such provider.
    `dimensions` of an earlier generation take the place of those in the settings.
    """
    provider, _, model = name.partition(":")
    # The URL and the dimensions in the settings are meant for the provider in the settings.
    configured = provider == settings.embedder.partition(":")[0]
    options = Options(
        access=access,
        own_key="PERDURE_EMBEDDER_KEY",
        cache=settings.cache,
        url=settings.embedder_url if configured else None,
        dimensions=dimensions or (settings.embedder_dimensions if configured else 0),
        seconds=settings.provider_seconds,
    )
    try:
        open_provider = load("perdure.embedders", provider)
    except ProviderUnavailable as error:
        raise as_embedder_error(error) from error
    except SettingsInvalid as error:
        raise EmbedderUnavailable(error.sentence, remedy=error.advice) from error
    try:
        embedder = open_provider(model, options)
    except EmbedderUnavailable:
        raise
    except PerdureError as error:
        # Whatever a provider does not like, a memory is stored all the same.
        raise EmbedderUnavailable(error.sentence, remedy=error.advice) from error
    except Exception as error:
        raise EmbedderUnavailable(f"{name} cannot be opened: {type(error).__name__}: {error}.") from error
    if not all(callable(getattr(embedder, method, None)) for method in ("embed_query", "embed_passages")):
        raise EmbedderUnavailable(f"{name} is {shown(embedder)}, which is not an embedder.")
    return embedder
