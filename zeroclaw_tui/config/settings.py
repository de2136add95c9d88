"""This program's own settings.toml next to an install: the profiles of stores, confirmed stores, the theme.

ZeroClaw does not use the file. A broken file is read as empty, and `settings_problem` describes the problem.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from zeroclaw_tui.config.locations import Install
from zeroclaw_tui.config.toml import read_toml
from zeroclaw_tui.files.disk import read_bytes, replace_bytes, retry_if_changed
from zeroclaw_tui.memory.errors import BrokenConfig, Refused, Unreadable

NAME = "settings.toml"
_PROFILES = "profiles"
"""A table by the path of the database: two stores of one config dir may need different profiles."""
_THEME = "theme"
_CONFIRMED = "confirmed_stores"
_KINDS: dict[str, type] = {_PROFILES: dict, _THEME: str, _CONFIRMED: list}


def settings_file(install: Install) -> Path:
    """The path of an install's settings, existing or not."""
    return install.own_dir / NAME


def settings_problem(install: Install) -> str | None:
    """Describe in one sentence why an existing file cannot be used, else None."""
    try:
        document = read_toml(settings_file(install)) or {}
    except BrokenConfig as problem:
        return f"{problem.message} It is ignored until it is fixed."
    wrong = [name for name, kind in _KINDS.items() if not isinstance(document.get(name, kind()), kind)]
    if wrong:
        return f"{settings_file(install)}: {' and '.join(wrong)} cannot be read. It is ignored until it is fixed."
    return None


def saved_profile(install: Install) -> str | None:
    """The ZeroClaw version that the user chose for the store of this install, or None."""
    version = _saved(install, _PROFILES).get(str(install.database))
    return version if isinstance(version, str) and version else None


def save_profile(install: Install, version: str) -> None:
    """Save the chosen version. Raises BrokenConfig if the file is broken, Unreadable if it cannot be written."""
    _change(install, (_PROFILES, str(install.database)), version)


def confirmed_stores(install: Install) -> tuple[str, ...]:
    """The names of stores from DATABASE_URL that the user confirmed to be ZeroClaw's."""
    return tuple(name for name in _saved(install, _CONFIRMED) if isinstance(name, str))


def confirm_store(install: Install, name: str) -> None:
    """Save that this store is ZeroClaw's, so that it opens for writing. Raises like `save_profile`.

    `name` is from `load.store_to_confirm`: a URL without its password, schema and table.
    """
    known = confirmed_stores(install)
    if name not in known:
        _change(install, (_CONFIRMED,), [*known, name])


def saved_theme(install: Install) -> str | None:
    """The name of the theme that the user chose, or None."""
    return _saved(install, _THEME) or None


def save_theme(install: Install, theme: str) -> None:
    """Save the chosen theme. Raises like `save_profile`."""
    _change(install, (_THEME,), theme)


def _saved(install: Install, name: str) -> Any:
    """A value of the file, or an empty one if it is missing or the file is broken (see `settings_problem`)."""
    try:
        value = (read_toml(settings_file(install)) or {}).get(name)
    except BrokenConfig:
        value = None
    return value if isinstance(value, _KINDS[name]) else _KINDS[name]()


def _change(install: Install, path: tuple[str, ...], value: str | list[str]) -> None:
    from zeroclaw_tui.config.document import ConfigDocument

    file = settings_file(install)
    problem = settings_problem(install)
    if problem is not None:
        raise BrokenConfig(problem, hint=f"Fix or delete {file}, then choose again.")

    def write() -> None:
        before = read_bytes(file)
        document = ConfigDocument.from_bytes(before or b"", file)
        replace_bytes(file, before, document.with_values({path: value}).to_bytes())

    try:
        retry_if_changed(write, file)
    except (Refused, Unreadable) as error:
        message = f"The choice could not be saved. {error.message}"
        raise Unreadable(message, hint="It applies until the program ends.") from error
