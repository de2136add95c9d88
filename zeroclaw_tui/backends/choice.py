"""Which backend was chosen, and why, in one line."""

from __future__ import annotations

from zeroclaw_tui.backends.profiles import backend_profile
from zeroclaw_tui.config.environment import STORAGE_PROVIDER, source_of
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.notes import DEFAULT, FILE, OPTION, shown
from zeroclaw_tui.config.server_url import SCHEME

_KEY = "memory.backend"


def chosen_line(config: MemoryConfig) -> str:
    """The backend, what chose it over what, and what ZeroClaw itself would use where that is another.

    For example `postgres: [storage.provider.config] provider stands above memory.backend = "sqlite".`
    """
    name = shown(f"{config.backend}.{config.alias}" if config.alias else config.backend)
    line = f"{name}: {_why(config)}"
    differs = config.install.layout != "lone" and config.zeroclaw_backend != _kind(config)
    return f"{line}; ZeroClaw itself would use {config.zeroclaw_backend}{_because(config)}." if differs else f"{line}."


def _why(config: MemoryConfig) -> str:
    source = config.sources.get(_KEY, DEFAULT)
    written = config.values.get("backend")
    below = f'memory.backend = "{shown(written)}"' if isinstance(written, str) else None
    if source == DEFAULT:
        return "the default, since memory.backend is not set" if below is None else f"{below} in {FILE}"
    if source == FILE or (below is None and source.startswith(FILE)):
        return f"{below} in {FILE}" if below else source
    if source.startswith("environment") and source != source_of(STORAGE_PROVIDER):
        return source
    if config.install.layout == "lone":
        return "named by --backend" if source == OPTION else source
    chosen = "--backend" if source == OPTION else source.removeprefix(f"{FILE}, ")
    return f"{chosen} stands above {below or 'the default, sqlite'}"


def _because(config: MemoryConfig) -> str:
    """Why ZeroClaw would: it does not know the name, or it is not told of the option."""
    if config.sources.get(_KEY) in (OPTION, SCHEME):
        return ""
    profile = backend_profile(config.backend)
    known = profile is not None and profile.in_zeroclaw
    return "" if known else ", since it does not know that name"


def _kind(config: MemoryConfig) -> str:
    profile = backend_profile(config.backend)
    return config.backend if profile is None else profile.key
