"""Who turns texts into vectors, so that memories are found by their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zeroclaw_tui.config.setting_names import is_read
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.questions.making import for_backends, make_question
from zeroclaw_tui.onboard.questions.names import CUSTOM, PROVIDER
from zeroclaw_tui.onboard.questions.question import Choice
from zeroclaw_tui.onboard.questions.values import check_web_address, version_of

MODEL = "memory.embedding_model"
DIMENSIONS = "memory.embedding_dimensions"
API_KEY = "memory.embedding_api_key"
_GROUP = "Embeddings"
_CHOSEN_CUSTOM = "custom"
_NONE = "none"
_HOSTED = ("openai", "openrouter")
_HINT = "hint:"
_OWN_VARIABLE = (0, 2, 1)
_DROPS_VECTORS_SINCE = (0, 8, 3)
_REINDEXES_SINCE = (0, 7, 5)
_LONGEST_NAME = 24

searches_vectors = for_backends("sqlite", "lucid", "qdrant")
"""The backends that ever look at a vector."""


def provider_of(answers: Answers) -> str:
    """The provider answered for, "none" where nothing is said."""
    return (answers.value(PROVIDER) or _NONE).strip() or _NONE


def makes_vectors(answers: Answers) -> bool:
    """True when ZeroClaw makes vectors with these answers."""
    if not searches_vectors(answers):
        return False
    route = _route(answers)
    provider, dimensions = provider_of(answers), answers.value(DIMENSIONS)
    if route is not None:
        provider = str(route.get("model_provider", route.get("provider", "")))
        dimensions = route.get("dimensions", dimensions)
    return bool(dimensions) and (provider in _HOSTED or provider.startswith(CUSTOM) or _is_reference(answers, provider))


def _is_reference(answers: Answers, provider: str) -> bool:
    """True for `<type>.<alias>`, which ZeroClaw >= 0.8.0 looks up in its provider profiles."""
    return answers.situation.target.is_modern and "." in provider


def _route(answers: Answers) -> Mapping[str, Any] | None:
    """The embedding route of the file that the model's `hint:` picks, None where it picks none."""
    model = str(answers.value(MODEL) or "").strip()
    if not model.startswith(_HINT):
        return None
    target, document = answers.situation.target, answers.situation.document
    below_providers = ("providers", "embedding_routes")
    path = below_providers if target.schema == 2 and not target.is_modern else ("embedding_routes",)
    routes = document.get(path) or (document.get(below_providers) if target.is_modern else None)
    found = [route for route in routes if isinstance(route, Mapping)] if isinstance(routes, list) else []
    hint = model.removeprefix(_HINT).strip()
    return next((route for route in found if str(route.get("hint", "")).strip() == hint), None)


def _asks_details(answers: Answers) -> bool:
    return searches_vectors(answers) and (provider_of(answers) != _NONE or _route(answers) is not None)


def _is_own_choice(provider: str) -> bool:
    return provider == _NONE or provider in _HOSTED or provider.startswith(CUSTOM)


def _present_provider(answers: Answers) -> str:
    provider = provider_of(answers)
    return _CHOSEN_CUSTOM if provider.startswith(CUSTOM) else provider


def _provider_choices(answers: Answers) -> tuple[Choice, ...]:
    without = "Qdrant then cannot store anything" if answers.backend() == "qdrant" else "search by words only"
    written = [provider_of(answers), (answers.current(PROVIDER) or _NONE).strip() or _NONE]
    others = dict.fromkeys(provider for provider in written if not _is_own_choice(provider))
    return (
        *(Choice(name, f"keep {one_line(name)[:_LONGEST_NAME]}", _about_other(answers, name)) for name in others),
        Choice(_NONE, "none", without),
        Choice("openai", "openai", "api.openai.com; texts leave this machine"),
        Choice("openrouter", "openrouter", "openrouter.ai; texts leave this machine"),
        Choice(_CHOSEN_CUSTOM, "custom", "any OpenAI-compatible address, such as a local server"),
    )


def _about_other(answers: Answers, provider: str) -> str:
    return "a provider of this config" if _is_reference(answers, provider) else "unknown to ZeroClaw: no vectors"


def _about_provider(answers: Answers) -> str:
    if _route(answers) is not None:
        return (
            "The model is a hint: that picks an [[embedding_routes]] entry, whose provider counts in place of this one."
        )
    if is_read(API_KEY, answers.situation.target):
        return "Vectors find memories by meaning too; the key for them is asked for below."
    if answers.situation.target.is_modern:
        return "Vectors find memories by meaning too; the key sent is that of its profile, else the chat provider's."
    if version_of(answers) >= _OWN_VARIABLE:
        return (
            "Vectors find memories by meaning too; the key sent is that of OPENAI_API_KEY or OPENROUTER_API_KEY, "
            "else the chat provider's."
        )
    return "Vectors find memories by meaning too; the key sent is the chat provider's."


def _read_provider(answers: Answers, text: str) -> Any:
    chosen = text.strip()
    if chosen == _present_provider(answers):
        return answers.value(PROVIDER) or _NONE
    if chosen == _CHOSEN_CUSTOM:
        written = str(answers.current(PROVIDER) or "")
        return written if written.startswith(CUSTOM) else CUSTOM
    offered = [choice.value for choice in _provider_choices(answers)]
    if chosen not in offered:
        raise WrongUse(
            f"The provider must be one of {', '.join(offered)}.", hint="An address is asked for after custom."
        )
    return chosen


def _present_address(answers: Answers) -> str:
    return provider_of(answers).removeprefix(CUSTOM)


def _read_address(answers: Answers, text: str) -> Any:
    address = text.strip().removeprefix(CUSTOM)
    if not address:
        raise WrongUse("A custom provider needs its address.", hint="Such as http://localhost:11434/v1.")
    if CUSTOM + address == provider_of(answers):
        return answers.value(PROVIDER)
    check_web_address("The provider's address", address)
    return CUSTOM + address


def _about_model(answers: Answers) -> str:
    if answers.backend() == "qdrant":
        return "Its vectors must be as long as those already in the collection, and of the same model to compare."
    if version_of(answers) >= _DROPS_VECTORS_SINCE:
        return (
            "Another model than before makes ZeroClaw drop every stored vector, until `zeroclaw memory reindex` is run."
        )
    end = "`zeroclaw memory reindex`" if version_of(answers) >= _REINDEXES_SINCE else "they are stored again"
    return f"Vectors already stored stay those of the model before, and mislead the search until {end}."


def _about_dimensions(answers: Answers) -> str:
    if answers.backend() == "qdrant":
        return "It must be the length the model gives, and of the collection; with 0 nothing can be stored."
    return "It must be the length the model gives, which ZeroClaw does not check; 0 turns vectors off."


EMBEDDING_QUESTIONS = (
    make_question(
        PROVIDER,
        _GROUP,
        "Who turns texts into vectors?",
        _about_provider,
        when=searches_vectors,
        kind="choice",
        present=_present_provider,
        read=_read_provider,
        choices=_provider_choices,
    ),
    make_question(
        PROVIDER,
        _GROUP,
        "At which address are vectors made? (http://host:port/v1)",
        "Without a path /v1/embeddings is added, with one /embeddings, unless it already ends so.",
        when=lambda answers: searches_vectors(answers) and provider_of(answers).startswith(CUSTOM),
        id="embedding_address",
        present=_present_address,
        default=lambda answers: "",
        read=_read_address,
    ),
    make_question(MODEL, _GROUP, "Which embedding model?", _about_model, when=_asks_details),
    make_question(DIMENSIONS, _GROUP, "How long are its vectors?", _about_dimensions, when=_asks_details),
    make_question(
        API_KEY,
        _GROUP,
        "Which key for the embedding service?",
        "A route's own key goes before it; without it the provider profile's is sent, else the chat provider's.",
        when=_asks_details,
        empty="none",
        no_default="none",
    ),
)
