"""Values of settings as people give them: typed text, variables, answers files. Each is checked before it counts."""

from __future__ import annotations

import difflib
import json
import math
import re
import tomllib
from typing import Any

from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.config.schema import KIND_WORDS, MemoryKey, fits, kind_of
from zeroclaw_tui.config.setting_table import SETTINGS, version_numbers
from zeroclaw_tui.memory.errors import WrongUse

_SWITCHES = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_IDENTIFIERS = ("storage.postgres.schema", "storage.postgres.table")
_EMBEDDING_PROVIDERS = ("none", "openai", "openrouter")
_PROVIDER_WORDS = "none, openai, openrouter or custom:<url>, from 0.8.0 also <type>.<alias>"


def parsed_value(name: str, text: str, version: str | None = None) -> Any:
    """The value that a text given by hand stands for (`--set`, an environment variable, a typed answer).

    A bound that only some versions have counts where `version` has it. Raises WrongUse when it is not of the setting's
    type, outside its range or none of its words; a secret is not shown.
    """
    key = SETTINGS[name]
    stripped = text.strip()
    if key.kind == "switch":
        value: Any = _SWITCHES.get(stripped.lower())
    elif key.kind == "count":
        value = int(stripped) if re.fullmatch(r"\+?[0-9]{1,30}", stripped) else None
    elif key.kind == "number":
        value = _number(stripped)
    elif key.kind == "texts":
        value = _texts(stripped)
    else:
        value = _unquoted(stripped)
    if value is None:
        raise _wrong(key, f'"{shown(stripped)}" is not' if stripped else "nothing was given")
    return checked_value(name, value, version)


def checked_value(name: str, value: Any, version: str | None = None) -> Any:
    """The same check for a value that already has a type (an answers file); numbers as float."""
    key = SETTINGS[name]
    if not fits(key.kind, value):
        raise _wrong(key, f"it is {kind_of(value)}")
    if key.kind == "number":
        return _in_range(key, float(value), version)
    if key.kind == "count":
        return _in_range(key, value, version)
    if key.kind == "texts":
        return [_utf_8(key, item) for item in value]
    return _checked_text(key, _utf_8(key, value).strip()) if key.kind == "text" else value


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _texts(text: str) -> list[str] | None:
    if not text.startswith("["):
        return [item.strip() for item in text.split(",") if item.strip()]
    try:
        items = json.loads(text)
    except ValueError:
        items = _toml(text)
    return items if fits("texts", items) else None


def _unquoted(text: str) -> str:
    """A text without the quotes around it, escapes read as TOML reads them."""
    if len(text) < 2 or text[0] != text[-1] or text[0] not in "\"'":
        return text
    value = _toml(text)
    return value if isinstance(value, str) else text[1:-1]


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return None


def _in_range(key: MemoryKey, value: Any, version: str | None) -> Any:
    low = -math.inf if key.low is None else key.low
    high = _highest(key, version)
    if not math.isfinite(value) or not low <= value <= high:
        raise _wrong(key, f"{value} is not")
    return value


def _highest(key: MemoryKey, version: str | None) -> float:
    """The greatest value that ZeroClaw of a version takes."""
    since = key.bounded_since
    is_free = since is not None and (version is None or version_numbers(version) < version_numbers(since))
    if key.high is None or is_free:
        return key.largest if key.kind == "count" else math.inf
    return key.high


def _utf_8(key: MemoryKey, text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise WrongUse(f"The value of {key.name} is not UTF-8 text.", hint="Type it again.") from error
    return text


def _checked_text(key: MemoryKey, text: str) -> str:
    if not text:
        if key.is_secret or key.default is None:
            return text
        raise WrongUse(f"{key.name} must not be empty.", hint=f"Its default is {key.default}.")
    if key.choices:
        # Words are small letters in ZeroClaw; it refuses a strict one that is not.
        word = text.lower()
        if word not in key.choices:
            raise _wrong(key, f'"{shown(text)}" is not', text)
        return word
    if key.name in _IDENTIFIERS and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise WrongUse(
            f'{key.name} must be letters, digits and _, and "{shown(text)}" is not.',
            hint="ZeroClaw takes no other names for PostgreSQL.",
        )
    return _embedding_provider(text) if key.name == "memory.embedding_provider" else text


def _embedding_provider(text: str) -> str:
    """A provider that ZeroClaw would not take for none; a dot makes it a reference to a provider profile."""
    word = text.lower()
    if word in _EMBEDDING_PROVIDERS:
        return word
    if text.startswith("custom:") or re.fullmatch(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", text):
        return text
    near = difflib.get_close_matches(word, _EMBEDDING_PROVIDERS, n=1)
    meant = f"; did you mean {near[0]}?" if near else "."
    raise WrongUse(
        f'"{shown(text)}" is no embedding provider, ZeroClaw would take it for none{meant}',
        hint=f"Give {_PROVIDER_WORDS}.",
    )


def _wrong(key: MemoryKey, found: str, word: str = "") -> WrongUse:
    what = "a secret text" if key.is_secret else _expected(key)
    near = difflib.get_close_matches(word.lower(), key.choices, n=1)
    hint = f"Did you mean {near[0]}?" if near else key.about
    if key.is_secret:
        found = "what was given is not"
    return WrongUse(f"{key.name} must be {what}; {found}.", hint=hint)


def _expected(key: MemoryKey) -> str:
    if key.choices:
        return f"one of {', '.join(key.choices)}"
    if key.kind == "count":
        return f"a whole number from {int(key.low or 0)} to {key.largest if key.high is None else int(key.high)}"
    if key.kind == "number" and key.low is not None:
        return f"a number from {key.low:g}" + ("" if key.high is None else f" to {key.high:g}")
    return KIND_WORDS[key.kind]
