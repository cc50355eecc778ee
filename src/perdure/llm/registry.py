"""Language models by the name that the settings give them: a provider and its model."""

from __future__ import annotations

from perdure.errors import ModelUnavailable, PerdureError, shown
from perdure.llm.port import LanguageModel
from perdure.providers.access import Access
from perdure.providers.options import Options
from perdure.providers.plugins import load
from perdure.settings import Settings


def open_llm(name: str, settings: Settings, access: Access) -> LanguageModel:
    """No request is made. Raises `ModelUnavailable`, or `SettingsInvalid` if there is no such provider."""
    provider, _, model = name.partition(":")
    # The URL in the settings is meant for the provider in the settings.
    configured = provider == settings.llm.partition(":")[0]
    options = Options(
        access=access,
        own_key="PERDURE_LLM_KEY",
        cache=settings.cache,
        url=settings.llm_url if configured else None,
        seconds=settings.provider_seconds,
    )
    try:
        llm = load("perdure.llms", provider)(model, options)
    except PerdureError:
        raise
    except Exception as error:
        raise ModelUnavailable(f"{name} cannot be opened: {type(error).__name__}: {error}.") from error
    if not callable(getattr(llm, "answer", None)):
        raise ModelUnavailable(f"{name} is {shown(llm)}, which is not a language model.")
    return llm
