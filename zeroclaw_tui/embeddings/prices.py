"""About what vectors cost."""

from __future__ import annotations

PRICES_OF = "early 2025"
"""When these prices held."""
CHARACTERS_A_TOKEN = 4
"""About how many, in English; fewer in other scripts."""

_DOLLARS_A_MILLION = {"text-embedding-3-small": 0.02, "text-embedding-3-large": 0.13, "text-embedding-ada-002": 0.10}
_SELLERS = ("openai", "openrouter")


def tokens_of(characters: int) -> int:
    """About how many tokens so many characters are."""
    return -(-characters // CHARACTERS_A_TOKEN)


def price(provider: str, model: str, tokens: int) -> float | None:
    """About how many US dollars, None where it is not known: another model, or an endpoint of one's own."""
    if provider not in _SELLERS:
        return None
    a_million = _DOLLARS_A_MILLION.get(model.removeprefix("openai/"))
    return None if a_million is None else tokens * a_million / 1_000_000
