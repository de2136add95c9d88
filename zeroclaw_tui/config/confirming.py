"""The stores that DATABASE_URL alone names: which, whether a person has said that they are ZeroClaw's, and how to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zeroclaw_tui.config.environment import OTHERS_DB_URL, source_of
from zeroclaw_tui.config.install import Install
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.notes import Notes
from zeroclaw_tui.config.server_url import is_url, without_password
from zeroclaw_tui.config.settings import confirmed_stores

_WHOSE = f"The database is the one {OTHERS_DB_URL} names, which may be another program's"
READ_ONLY = (
    f"{_WHOSE}: read only. Where it is ZeroClaw's, say so once in the inspector with b, or name its URL with "
    "--location each time."
)
CONFIRMED = f"{_WHOSE}; it was confirmed as ZeroClaw's."


def foreign_store(config: MemoryConfig) -> str | None:
    """The name under which the store of this config is confirmed; None where DATABASE_URL does not name it."""
    return None if is_url(config.location) else _name(config.storage, config.sources)


def store_to_confirm(config: MemoryConfig) -> str | None:
    """The name to give to `settings.confirm_store`, where the store is read-only until then; else None."""
    name = foreign_store(config)
    return None if name is None or name in confirmed_stores(config.install) else name


def must_be_read_only(install: Install, storage: Mapping[str, Any], location: str | None, notes: Notes) -> bool:
    """Whether nothing may be written until a person has confirmed the store; how that is done goes to the warnings."""
    name = None if location is not None else _name(storage, notes.sources)
    if name is None:
        return False
    is_confirmed = name in confirmed_stores(install)
    if is_confirmed:
        notes.warn(CONFIRMED, "fact")
    else:
        notes.warn(READ_ONLY, "store")
    return not is_confirmed


def _name(storage: Mapping[str, Any], sources: Mapping[str, str]) -> str | None:
    if sources.get("storage.db_url") != source_of(OTHERS_DB_URL):
        return None
    table = f"{storage.get('schema', 'public')}.{storage.get('table', 'memories')}"
    return f"{without_password(str(storage['db_url']))} {table}"
