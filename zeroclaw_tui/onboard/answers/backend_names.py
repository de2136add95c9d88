"""The names of backends as people write them, and which of them this ZeroClaw knows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType

from zeroclaw_tui.backends.profiles import BACKENDS, backend_profile
from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.config.setting_table import POSTGRES_AWAY, Target, version_numbers
from zeroclaw_tui.memory.errors import WrongUse

BACKEND_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "sqlite": "SQLite",
        "lucid": "Lucid",
        "postgres": "PostgreSQL",
        "markdown": "Markdown",
        "qdrant": "Qdrant",
        "none": "None",
    }
)
"""What ZeroClaw knows, in the order of its own list, as it is called."""

_QDRANT_SINCE = (0, 1, 7)
_LIKENESS_OF_A_SLIP = 0.6


def known_backends(target: Target) -> tuple[str, ...]:
    """The kinds that may be written: all of ZeroClaw's, but for those that a known version lacks (postgres from 0.6.3
    to 0.7.3, qdrant before 0.1.7)."""
    return tuple(kind for kind in BACKEND_TITLES if _is_known(kind, target))


def _is_known(kind: str, target: Target) -> bool:
    if target.version is None:
        return True
    version = version_numbers(target.version)
    if kind == "postgres":
        return not POSTGRES_AWAY[0] <= version <= POSTGRES_AWAY[1]
    return kind != "qdrant" or version >= _QDRANT_SINCE


def backend_answer(text: str, target: Target) -> str:
    """The kind, or `kind.alias`, that a name stands for; postgresql and md are other names of postgres and markdown.

    Raises WrongUse for what this ZeroClaw would silently take for Markdown: an unknown or misspelt name, a store of
    ours that it does not know, a name with a dot where the config is in the form up to 0.7.5.
    """
    written, dot, alias = text.strip().partition(".")
    profile = backend_profile(written)
    kind = profile.key if profile else written.strip().lower()
    if kind not in BACKEND_TITLES:
        raise _unknown(kind, target)
    if kind not in known_backends(target):
        raise WrongUse(
            f"ZeroClaw {shown(target.version or '')} does not know the backend {kind}; it would silently use Markdown.",
            hint=_choices(target),
        )
    if not dot:
        return kind
    _check_alias(kind, alias, target)
    return f"{kind}.{alias}"


def _check_alias(kind: str, alias: str, target: Target) -> None:
    if not target.has_aliases:
        raise WrongUse(
            f"The name {kind}.{shown(alias)} has a dot, and this config is in the form of ZeroClaw up to 0.7.5: that "
            "install would silently switch to Markdown.",
            hint=f"Give {kind} alone.",
        )
    if kind == "none":
        raise WrongUse("The backend none has no alias.", hint="Give none alone.")
    if not re.fullmatch(r"[A-Za-z0-9_-]+", alias):
        raise WrongUse(
            f'The alias "{shown(alias)}" must be letters, digits, _ and -.', hint=f"Give one like {kind}.default."
        )


def _unknown(kind: str, target: Target) -> WrongUse:
    near = difflib.get_close_matches(kind, known_backends(target), n=1, cutoff=_LIKENESS_OF_A_SLIP)
    if any(profile.key == kind and profile.in_zeroclaw for profile in BACKENDS):
        why = f"Only a few old versions of ZeroClaw knew the backend {kind}; it would silently use Markdown."
    elif near and all(profile.key != kind for profile in BACKENDS):
        why = f"ZeroClaw does not know the backend {shown(kind)}; did you mean {near[0]}?"
    else:
        why = f"ZeroClaw does not know the backend {shown(kind) or '(nothing)'}; it would silently use Markdown."
    return WrongUse(why, hint=_choices(target))


def _choices(target: Target) -> str:
    return f"Choose one of {', '.join(known_backends(target))}."
