"""The settings that users can set: their spellings, allowed values, and places in a config.toml.

A name is `memory.<key>` or `storage.<kind>.<key>`, for any version that reads the file; `Setting.old_key` is the
spelling of the latter up to ZeroClaw 0.7.5, and >= 0.8.0 has an alias between kind and key.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.memory_config import NEWEST_SCHEMA, shown
from zeroclaw_tui.config.schema import (
    DAYS_BY_CATEGORY,
    DB_URL_ALIASES,
    NEVER_USED,
    PROVIDER_CONFIG,
    SETTINGS,
    STORE_KINDS,
    WITHOUT_POSTGRES,
    Setting,
    Target,
    fits,
    kind_named,
    kind_of,
    parse_as,
    version_numbers,
)
from zeroclaw_tui.config.toml import KeyPath
from zeroclaw_tui.memory.errors import BrokenConfig, UsageError

BACKEND = "memory.backend"
"""The setting that decides which store is used."""
DEFAULT_ALIAS = "default"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SWITCHES = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_IDENTIFIERS = ("storage.postgres.schema", "storage.postgres.table")
_EMBEDDING_PROVIDERS = ("none", "openai", "openrouter")
_SQLITE_ONLY = ("memory.types.enabled", "memory.consolidation_extract_facts")
_MIN_SIMILARITY = 0.75
_SPELLINGS: Mapping[str, str] = {
    f"{PROVIDER_CONFIG}.provider": BACKEND,
    "db_url": "storage.postgres.db_url",
    **{setting.old_key: name for name, setting in SETTINGS.items() if setting.old_key},
    **{name.partition(".")[2]: name for name in SETTINGS},
    **{setting.old_key.removeprefix("memory."): name for name, setting in SETTINGS.items() if setting.old_key},
    **{name: name for name in SETTINGS},
}
"""The name of a setting by every spelling, except aliases and other spellings of db_url."""


def is_read(name: str, target: Target) -> bool:
    """Whether the target version of ZeroClaw reads the setting from config.toml."""
    setting = SETTINGS.get(name)
    if setting is None:
        return False
    if name.startswith("storage.") and not setting.old_key and target.numbers < (0, 8, 0):
        return False
    if name.startswith("storage.postgres.") and WITHOUT_POSTGRES[0] <= target.numbers <= WITHOUT_POSTGRES[1]:
        return False
    return setting.is_known_to(target)


def variable_of(name: str, target: Target, alias: str = DEFAULT_ALIAS) -> str | None:
    """The variable that takes precedence over config.toml in the target version, None if there is none."""
    if not target.is_modern:
        return SETTINGS[name].variable or None
    if name.startswith(DAYS_BY_CATEGORY):
        return None
    section, kind, *rest = name.split(".")
    return "ZEROCLAW_" + "__".join((section, kind, *([alias] if section == "storage" else []), *rest))


def setting_name(written: str) -> str:
    """Find the name of a setting by any spelling. Raises UsageError for an unknown one, with a similar one."""
    name = _without_alias(written.strip())
    if name in SETTINGS:
        return name
    if name in NEVER_USED:
        raise UsageError(f"ZeroClaw reads {name} but never uses it.", hint="Leave it out.")
    near = difflib.get_close_matches(name, _SPELLINGS, n=1, cutoff=_MIN_SIMILARITY)
    meant = f"; did you mean {_SPELLINGS[near[0]]}?" if near else "."
    raise UsageError(
        f"ZeroClaw knows no setting {shown(written) or '(nothing)'}{meant}",
        hint="Settings are named as in config.toml, such as memory.vector_weight or storage.postgres.db_url.",
    )


def is_left_out(written: str) -> bool:
    """Whether a key in a config is not a setting: ZeroClaw never uses it, or only 0.5.5 and 0.5.6 did (mem0)."""
    return _without_alias(written) in NEVER_USED or written.startswith("memory.mem0.")


def alias_in(written: str) -> str | None:
    """The alias in a spelling such as `storage.postgres.work.db_url`, None if there is none."""
    section, *rest = written.strip().split(".")
    return rest[1] if section == "storage" and len(rest) > 2 and rest[0] in STORE_KINDS else None


def _without_alias(written: str) -> str:
    """Convert a spelling to the name of the setting; an unknown one is only normalised."""
    table, _, key = written.rpartition(".")
    alias = alias_in(written)
    if alias is not None:
        table = ".".join(written.split(".")[:2])
        key = written.removeprefix(f"{table}.{alias}.")
    spelled = ".".join(filter(None, (table, "db_url" if key in DB_URL_ALIASES else key)))
    return _SPELLINGS.get(spelled, spelled.replace(f"{PROVIDER_CONFIG}.", "storage.postgres."))


def parse_assignment(assignment: str, version: str | None = None) -> tuple[str, Any]:
    """Parse `KEY=VALUE` into setting and value. Raises UsageError."""
    written, equals, text = assignment.partition("=")
    if not equals:
        example = "For example --set memory.vector_weight=0.7."
        raise UsageError(f'--set needs KEY=VALUE, but "{shown(assignment)}" has no "=".', hint=example)
    name = setting_name(written)
    return name, parse_setting(name, text, version)


def parse_setting(name: str, text: str, version: str | None = None) -> Any:
    """Parse a typed text. Raises UsageError if it is not a valid value for this setting and version."""
    setting = SETTINGS[name]
    stripped = text.strip()
    value = _SWITCHES.get(stripped.lower()) if setting.kind == "switch" else parse_as(setting.kind, stripped)
    if value is None:
        raise _wrong(setting, f'"{shown(stripped)}" is not' if stripped else "nothing was given")
    return check_setting(name, value, version)


def check_setting(name: str, value: Any, version: str | None = None) -> Any:
    """Check a typed value; a number is returned as float. Raises UsageError, which never contains a secret."""
    setting = SETTINGS[name]
    if not fits(setting.kind, value):
        raise _wrong(setting, f"it is {kind_of(value)}")
    if setting.kind in ("number", "count"):
        number = float(value) if setting.kind == "number" else value
        low, high = setting.bounds(None if version is None else version_numbers(version))
        if not math.isfinite(number) or not low <= number <= high:
            raise _wrong(setting, f"{number} is not")
        return number
    if setting.kind == "texts":
        return [_typeable(setting, item) for item in value]
    return _checked_text(setting, _typeable(setting, value.strip())) if setting.kind == "text" else value


def _typeable(setting: Setting, text: str) -> str:
    """Check that a text has no invisible characters."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(f"The value of {setting.name} is not UTF-8 text.", hint="Type it again.") from error
    if _CONTROL.search(text):
        raise UsageError(f"{setting.name} has a control character or a line end in it.", hint="Leave it out.")
    return text


def _checked_text(setting: Setting, text: str) -> str:
    if not text:
        if setting.is_secret or setting.default is None:
            return text
        raise UsageError(f"{setting.name} must not be empty.", hint=f"Its default is {setting.default}.")
    word = text.lower()
    if setting.choices:
        if word not in setting.choices:
            raise _wrong(setting, f'"{shown(text)}" is not')
        return word
    if setting.name in _IDENTIFIERS and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise UsageError(
            f'{setting.name} must be letters, digits and _, and "{shown(text)}" is not.',
            hint="ZeroClaw accepts no other names for PostgreSQL.",
        )
    if setting.name != "memory.embedding_provider":
        return text
    if word in _EMBEDDING_PROVIDERS:
        return word
    if word.startswith(("http://", "https://")):
        return f"custom:{text}"
    if re.fullmatch("custom:.+", text) or re.fullmatch(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", text):
        return text
    raise UsageError(
        f'"{shown(text)}" is not an embedding provider; ZeroClaw would use none.',
        hint="Give none, openai, openrouter or custom:<url>, from 0.8.0 also <type>.<alias>.",
    )


def _wrong(setting: Setting, found: str) -> UsageError:
    if setting.is_secret:
        return UsageError(f"{setting.name} must be a secret text; the given value is not.", hint=setting.about)
    return UsageError(f"{setting.name} must be {setting.allowed}; {found}.", hint=setting.about)


def place_of(name: str, document: ConfigDocument, target: Target, alias: str = DEFAULT_ALIAS) -> KeyPath:
    """Find the path of a setting in this file, existing or not.

    ZeroClaw >= 0.8.0 reads the old paths as the alias `default`, so a value that is only there is changed there; so is
    one of `[memory.postgres]`, all of whose keys it moves.
    """
    section, kind, *rest = name.split(".")
    if section == "memory":
        return tuple(name.split("."))
    aliased = _spelled(document, (section, kind, alias, *rest))
    if not SETTINGS[name].old_key:
        return aliased
    old = _spelled(document, tuple(SETTINGS[name].old_key.split(".")))
    moved = _spelled(document, ("memory", "postgres", *rest))
    if target.is_modern and kind == "postgres" and document.has(moved):
        old = moved
    if not target.has_aliases:
        return old
    is_moved = target.schema < NEWEST_SCHEMA and alias == DEFAULT_ALIAS
    return old if is_moved and document.has(old) and not document.has(aliased) else aliased


def _spelled(document: ConfigDocument, path: KeyPath) -> KeyPath:
    """Replace db_url in a path by the spelling that the file uses."""
    if path[-1] != "db_url" or document.has(path):
        return path
    others = ((*path[:-1], spelling) for spelling in DB_URL_ALIASES)
    return next((other for other in others if document.has(other)), path)


def written_value(name: str, document: ConfigDocument, target: Target, alias: str = DEFAULT_ALIAS) -> Any:
    """The value of a setting in the file, possibly encrypted; None if there is none.

    Raises BrokenConfig for a value of a wrong type, without the value in the message.
    """
    setting = SETTINGS[name]
    path = place_of(name, document, target, alias)
    for depth in range(1, len(path)):
        table = document.get(path[:depth])
        if table is not None and not isinstance(table, Mapping):
            raise _wrong_type(path[:depth], table, "a table")
    value = document.get(path)
    if value is None:
        return None
    expected = setting.expected_type(value)
    if expected:
        raise _wrong_type(path, value, expected)
    if setting.kind == "number":
        return float(value)
    return value.strip() if name == BACKEND else value


def _wrong_type(path: KeyPath, value: Any, expected: str) -> BrokenConfig:
    return BrokenConfig(
        f"{shown('.'.join(path))} in config.toml is {kind_of(value)} and must be {expected}.",
        hint="Fix it by hand; ZeroClaw <= 0.7.5 refuses such a config, >= 0.8.0 drops the whole section.",
    )


def check_sqlite_only(after: ConfigDocument, changed: Collection[str]) -> None:
    """Raise UsageError if a change makes a config that ZeroClaw refuses, because some settings need sqlite."""
    agents = after.get(("agents",))
    aliases = agents if isinstance(agents, Mapping) else ()
    places = (("memory", "backend"), *(("agents", alias, "memory", "backend") for alias in aliases))
    for place in places:
        kind, where = kind_named(after.get(place)), ".".join(place)
        for name in _SQLITE_ONLY:
            is_on = after.get(tuple(name.split("."))) is True
            if is_on and kind != "sqlite" and (name in changed or where in changed):
                raise UsageError(
                    f"ZeroClaw refuses such a config: {name} = true needs sqlite, and {shown(where)} is {shown(kind)}.",
                    hint=f"Switch it off: --set {name}=false.",
                )
