"""The settings a person may answer for, each under one name whatever the generation: what they are, how people and
every ZeroClaw spell them, which values they take, and where a file holds them.

A name is `memory.<key>` or `storage.<kind>.<key>` (`storage.postgres.db_url`); ZeroClaw <= 0.7.5 spells the latter
`storage.provider.config.db_url`, `memory.qdrant.url`, `memory.postgres.vector_enabled`,
`memory.sqlite_open_timeout_secs`, >= 0.8.0 `storage.postgres.<alias>.db_url`.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.memory_config import NEWEST_SCHEMA, shown
from zeroclaw_tui.config.schema import (
    DAYS_BY_CATEGORY,
    DB_URL_ALIASES,
    KIND_WORDS,
    MEMORY_KEYS,
    NEVER_USED,
    NEWEST_MODERN,
    NEWEST_OLD,
    POSTGRES_AWAY,
    PROVIDER_CONFIG,
    SETTINGS,
    STORE_KINDS,
    Setting,
    fits,
    kind_of,
    version_numbers,
)
from zeroclaw_tui.config.toml import KeyPath
from zeroclaw_tui.memory.errors import BrokenConfig, UsageError
from zeroclaw_tui.memory.text import HIDDEN

BACKEND = "memory.backend"
"""The setting everything else depends on."""
_OLD_DEFAULTS: Mapping[str, Any] = {
    "storage.lucid.recall_timeout_ms": 500,
    "storage.lucid.store_timeout_ms": 800,
}
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SWITCHES = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_IDENTIFIERS = ("storage.postgres.schema", "storage.postgres.table")
_EMBEDDING_PROVIDERS = ("none", "openai", "openrouter")
_PROVIDER_WORDS = "none, openai, openrouter or custom:<url>, from 0.8.0 also <type>.<alias>"
DEFAULT_ALIAS = "default"
_LIKENESS_OF_A_SLIP = 0.75
_LIKENESS_OF_A_NAME = 0.85


class Target(NamedTuple):
    """What is written to. `schema` is what the file says; `has_aliases` that it spells storage as
    `[storage.<kind>.<alias>]` and may name `kind.alias` (schema 3, or a file that already does so);
    `is_modern` that ZeroClaw >= 0.8.0 reads it; `version` the installed ZeroClaw's where it is known."""

    schema: int
    has_aliases: bool
    is_modern: bool
    version: str | None = None

    @property
    def reading_version(self) -> str:
        """The version whose rules count: the known one, else the newest of the generation (0.8.4 or 0.7.5)."""
        return self.version or (NEWEST_MODERN if self.is_modern else NEWEST_OLD)


def default_of(name: str, target: Target) -> Any:
    """What this ZeroClaw takes where the file has no value; None where there is no default. Lists are new ones.

    Lucid's time limits were 500 and 800 ms up to 0.8.3; the stages of a search lost `cache` with 0.8.4.
    """
    version = version_numbers(target.reading_version)
    if version < (0, 8, 4) and name in _OLD_DEFAULTS:
        return _OLD_DEFAULTS[name]
    if name == "memory.retrieval_stages" and version >= (0, 8, 4):
        return ["fts", "vector"]
    default = SETTINGS[name].default
    return list(default) if isinstance(default, tuple) else default


def is_read(name: str, target: Target) -> bool:
    """True when a ZeroClaw of this target reads the setting from config.toml (and acts on the key at all).

    With a known version exactly by since and until; without one by the generation. `storage.sqlite.path` and
    `storage.markdown.directory` never are.
    """
    setting = SETTINGS.get(name)
    if setting is None:
        return False
    version = version_numbers(target.reading_version)
    is_only_variable = name.startswith("storage.") and not setting.old_key and version < (0, 8, 0)
    if is_only_variable or (name.startswith("storage.postgres.") and POSTGRES_AWAY[0] <= version <= POSTGRES_AWAY[1]):
        return False
    return version_numbers(setting.since) <= version and (
        setting.until is None or version <= version_numbers(setting.until)
    )


def environment_variable(name: str, target: Target) -> str | None:
    """The variable that this ZeroClaw asks in place of its config for a setting, None where there is none."""
    setting = SETTINGS[name]
    is_old = version_numbers(target.reading_version) < (0, 8, 0)
    return setting.variable if is_old and setting.variable and not setting.old_key else None


def variable_of(name: str, target: Target, alias: str = DEFAULT_ALIAS) -> str | None:
    """The variable that this ZeroClaw prefers to its config for a setting, None where there is none."""
    if not target.is_modern:
        return SETTINGS[name].variable or None
    if name.startswith(DAYS_BY_CATEGORY):
        return None
    section, kind, *rest = name.split(".")
    return "ZEROCLAW_" + "__".join((section, kind, *([alias] if section == "storage" else []), *rest))


def reading_words(name: str) -> str:
    """Which versions read a setting, in words for a sentence: "0.8.4 and later", "up to 0.7.5", "0.1.8"."""
    key = SETTINGS[name]
    if key.until is None:
        return f"{key.since} and later"
    return key.until if key.since == key.until else f"{key.since} to {key.until}"


def parsed_value(name: str, text: str, version: str | None = None) -> Any:
    """The value that a text given by hand stands for (`--set`, an environment variable, a typed answer).

    A bound that only some versions have counts where `version` has it. Raises UsageError when it is not of the
    setting's type, outside its range or none of its words; a secret is not shown.
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


def assigned(assignment: str, version: str | None = None) -> tuple[str, Any]:
    """The setting and the value of `KEY=VALUE`. Raises UsageError for a text without `=`, a setting nobody knows, and a
    value that it does not take."""
    written, equals, text = assignment.partition("=")
    if not equals:
        example = "For example --set memory.vector_weight=0.7."
        raise UsageError(f'--set needs KEY=VALUE, but "{shown(assignment)}" has no "=".', hint=example)
    name = setting_name(written)
    return name, parsed_value(name, text, version)


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
        return [_typeable(key, item) for item in value]
    return _checked_text(key, _typeable(key, value.strip())) if key.kind == "text" else value


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


def _in_range(key: Setting, value: Any, version: str | None) -> Any:
    low, high = key.bounds(None if version is None else version_numbers(version))
    if not math.isfinite(value) or not low <= value <= high:
        raise _wrong(key, f"{value} is not")
    return value


def _typeable(key: Setting, text: str) -> str:
    """A text without anything that nobody types on purpose, and nobody sees in a config."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(f"The value of {key.name} is not UTF-8 text.", hint="Type it again.") from error
    if _CONTROL.search(text):
        raise UsageError(f"{key.name} has a control character or a line end in it.", hint="Leave it out.")
    return text


def _checked_text(key: Setting, text: str) -> str:
    if not text:
        if key.is_secret or key.default is None:
            return text
        raise UsageError(f"{key.name} must not be empty.", hint=f"Its default is {key.default}.")
    if key.choices:
        # Words are small letters in ZeroClaw; it refuses a strict one that is not.
        word = text.lower()
        if word not in key.choices:
            raise _wrong(key, f'"{shown(text)}" is not', text)
        return word
    if key.name in _IDENTIFIERS and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise UsageError(
            f'{key.name} must be letters, digits and _, and "{shown(text)}" is not.',
            hint="ZeroClaw accepts no other names for PostgreSQL.",
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
    raise UsageError(
        f'"{shown(text)}" is not an embedding provider; ZeroClaw would use none{meant}',
        hint=f"Give {_PROVIDER_WORDS}.",
    )


def _wrong(key: Setting, found: str, word: str = "") -> UsageError:
    what = "a secret text" if key.is_secret else _expected(key)
    near = difflib.get_close_matches(word.lower(), key.choices, n=1)
    hint = f"Did you mean {near[0]}?" if near else key.about
    if key.is_secret:
        found = "the given value is not"
    return UsageError(f"{key.name} must be {what}; {found}.", hint=hint)


def _expected(key: Setting) -> str:
    if key.choices:
        return f"one of {', '.join(key.choices)}"
    if key.kind == "count":
        return f"a whole number from {int(key.low or 0)} to {key.largest if key.high is None else int(key.high)}"
    if key.kind == "number" and key.low is not None:
        return f"a number from {key.low:g}" + ("" if key.high is None else f" to {key.high:g}")
    return KIND_WORDS[key.kind]


def place_of(name: str, document: ConfigDocument, target: Target, alias: str = DEFAULT_ALIAS) -> KeyPath:
    """Where the setting lies, or would lie, in this file; another spelling that the file uses (dbURL) is kept.

    ZeroClaw >= 0.8.0 takes what an older file has in the old places for the alias `default`, so that a value found
    there, and nowhere else, is changed there.
    """
    section, kind, *rest = name.split(".")
    if section == "memory":
        return tuple(name.split("."))
    aliased = _spelled(document, (section, kind, alias, *rest))
    if not SETTINGS[name].old_key:
        return aliased
    old = _spelled(document, tuple(SETTINGS[name].old_key.split(".")))
    if not target.has_aliases:
        return old
    is_moved = target.schema < NEWEST_SCHEMA and alias == DEFAULT_ALIAS
    return old if is_moved and document.has(old) and not document.has(aliased) else aliased


def _spelled(document: ConfigDocument, path: KeyPath) -> KeyPath:
    if path[-1] != "db_url" or document.has(path):
        return path
    others = ((*path[:-1], spelling) for spelling in DB_URL_ALIASES)
    return next((other for other in others if document.has(other)), path)


def written_value(name: str, document: ConfigDocument, target: Target, alias: str = DEFAULT_ALIAS) -> Any:
    """The value the file has for a setting, None when it has none. Raises BrokenConfig for a value of a wrong type,
    naming the key but never showing a secret. An encrypted value is returned as it stands. `memory.backend` is
    returned as written, trimmed."""
    key = SETTINGS[name]
    path = place_of(name, document, target, alias)
    _check_tables(document, path)
    value = document.get(path)
    if value is None:
        return None
    if not fits(key.kind, value):
        raise _wrong_type(path, value, KIND_WORDS[key.kind])
    if key.kind == "count" and value > key.largest:
        raise _wrong_type(path, value, f"a whole number from 0 to {key.largest}")
    if key.kind == "number":
        return float(value)
    return _plain(name, value)


def _plain(name: str, value: Any) -> Any:
    """A value free of the document's own types, so that nobody changes the document by it."""
    if isinstance(value, str):
        return str(value).strip() if name == BACKEND else str(value)
    return [str(item) for item in value] if isinstance(value, list) else value


def _check_tables(document: ConfigDocument, path: KeyPath) -> None:
    for depth in range(1, len(path)):
        value = document.get(path[:depth])
        if value is not None and not isinstance(value, Mapping):
            raise _wrong_type(path[:depth], value, "a table")


def _wrong_type(path: KeyPath, value: Any, expected: str) -> BrokenConfig:
    return BrokenConfig(
        f"{shown('.'.join(path))} in config.toml is {kind_of(value)} and must be {expected}.",
        hint="Fix it by hand; ZeroClaw <= 0.7.5 refuses such a config, >= 0.8.0 drops the whole section.",
    )


def setting_name(written: str) -> str:
    """The name of a setting in any spelling of either generation (`vector_weight`, `memory.vector_weight`,
    `storage.provider.config.dbURL`, `storage.postgres.work.db_url`, `memory.qdrant.url`).

    Raises UsageError for a key nobody knows, with the one probably meant.
    """
    name = _canonical(written.strip())
    if name in SETTINGS:
        return name
    if is_left_out(written):
        raise _never_used(name)
    raise _unknown(written.strip())


def is_left_out(written: str) -> bool:
    """True for a key that some ZeroClaw reads but none acts on by now, so that it is no setting."""
    name = _canonical(written.strip())
    return name in NEVER_USED or name.startswith("memory.mem0.")


def alias_in(written: str) -> str | None:
    """The alias in a spelling such as `storage.postgres.work.db_url`, None where it has none."""
    section, *rest = written.strip().split(".")
    return rest[1] if section == "storage" and len(rest) > 2 and rest[0] in STORE_KINDS else None


def _canonical(written: str) -> str:
    """The name a spelling stands for; one that stands for none comes back as `memory.…` or as it is."""
    if written.startswith(f"{PROVIDER_CONFIG}."):
        key = written.removeprefix(f"{PROVIDER_CONFIG}.")
        return BACKEND if key == "provider" else _storage("postgres", key)
    section, *rest = written.split(".")
    if section == "storage" and rest and rest[0] in STORE_KINDS:
        return _storage(rest[0], ".".join(rest[2:] if len(rest) > 2 else rest[1:]))
    if section == "storage":
        return _of_one_store(rest[0]) or written if len(rest) == 1 else written
    key = ".".join(rest) if section == "memory" else written
    kind, dot, below = key.partition(".")
    if key == "sqlite_open_timeout_secs":
        return "storage.sqlite.open_timeout_secs"
    if dot and kind in STORE_KINDS:
        return _storage(kind, below)
    if key in (*DB_URL_ALIASES, "db_url") and section != "memory":
        return _storage("postgres", key)
    if section == "memory" or f"memory.{key}" in SETTINGS or key in MEMORY_KEYS:
        return f"memory.{key}"
    return _of_one_store(key) or written


def _of_one_store(key: str) -> str | None:
    """The setting of this short name where only one backend has one (`schema`, `collection`); `api_key` is the one of
    the whole config."""
    found = [name for name in SETTINGS if name.startswith("storage.") and name.split(".")[2:] == [key]]
    return found[0] if len(found) == 1 and key != "api_key" else None


def _storage(kind: str, key: str) -> str:
    return f"storage.{kind}.{'db_url' if key in DB_URL_ALIASES else key}"


def _never_used(name: str) -> UsageError:
    if name in NEVER_USED:
        return UsageError(f"{NEVER_USED[name]}.", hint="Leave it out.")
    return UsageError(f"{name} is no longer a setting: only ZeroClaw 0.5.5 and 0.5.6 know mem0.", hint="Leave it out.")


def _unknown(written: str) -> UsageError:
    if written in (DAYS_BY_CATEGORY, DAYS_BY_CATEGORY.removeprefix("memory.")):
        names = ", ".join(name for name in SETTINGS if name.startswith(DAYS_BY_CATEGORY))
        return UsageError(f"{DAYS_BY_CATEGORY} is set per category.", hint=f"Its settings are {names}.")
    meant = probably_meant(written)
    if meant is not None:
        return UsageError(
            f"ZeroClaw knows no setting {shown(written)}; did you mean {meant}?", hint=f"Write {meant}=…."
        )
    if written.partition(".")[0] in ("memory", "storage"):
        return UsageError(
            f"ZeroClaw knows no setting {shown(written) or '(nothing)'}.",
            hint="Settings are named as in config.toml, such as memory.vector_weight or storage.postgres.db_url.",
        )
    return UsageError(
        f"{shown(written) or '(nothing)'} is not a memory setting, and only these can be set here.",
        hint="For the rest: `zeroclaw --real onboard` (ZeroClaw <= 0.7.5), `zeroclaw config set` (>= 0.8.0).",
    )


def probably_meant(written: str) -> str | None:
    """The setting that a misspelt name most likely means, None when none is near enough."""
    canonical = _canonical(written)
    section, dot, _ = canonical.partition(".")
    if section not in ("memory", "storage") or not dot:
        known = {name.removeprefix("memory."): name for name in SETTINGS if name.startswith("memory.")}
        return _nearest(canonical, known | {"db_url": "storage.postgres.db_url"}, _LIKENESS_OF_A_SLIP)
    # A key put below the wrong table is meant as well, so its last part alone is looked at when the whole is not near.
    by_last_part = {name.rpartition(".")[2]: name for name in reversed(list(SETTINGS)) if name.startswith(section)}
    near = _nearest(canonical, {name: name for name in SETTINGS}, _LIKENESS_OF_A_NAME)
    return near or _nearest(canonical.rpartition(".")[2], by_last_part, _LIKENESS_OF_A_NAME)


def _nearest(written: str, known: Mapping[str, str], likeness: float) -> str | None:
    near = difflib.get_close_matches(written, known, n=1, cutoff=likeness)
    return known[near[0]] if near else None


def environment_lines(values: Mapping[str, Any], target: Target) -> tuple[str, ...]:
    """`export NAME='value'` lines, shell-quoted, for settings that this generation reads from the environment only
    (Lucid <= 0.7.5); where the value is ZeroClaw's own default, a comment. A secret is shown as four dots.

    A number below the least that ZeroClaw takes is raised to it, as ZeroClaw itself would.
    """
    lines: list[str] = []
    for name, value in values.items():
        variable = environment_variable(name, target)
        if variable is None or value is None:
            continue
        sign = "# " if value == default_of(name, target) else ""
        least = SETTINGS[name].least
        shown_value = HIDDEN if SETTINGS[name].is_secret else str(value if least is None else max(value, least))
        lines.append(f"{sign}export {variable}={_quoted(shown_value)}")
    return tuple(lines)


def _quoted(text: str) -> str:
    """In single quotes always, so that the line looks the same whatever the value."""
    return "'" + text.replace("'", "'\"'\"'") + "'"
