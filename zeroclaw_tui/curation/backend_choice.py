"""Why a config's backend was chosen, in one sentence."""

from __future__ import annotations

from zeroclaw_tui.backends.factory import backend_info
from zeroclaw_tui.config.locations import SCHEME
from zeroclaw_tui.config.memory_config import DEFAULT, FILE, OPTION, MemoryConfig, shown
from zeroclaw_tui.config.storage import STORAGE_PROVIDER, source_of

_BACKEND = "memory.backend"


def describe_choice(config: MemoryConfig) -> str:
    """Give the backend, what chose it over what, and what ZeroClaw itself would use if that is another.

    For example `postgres: [storage.provider.config] provider stands above memory.backend = "sqlite".`
    """
    profile = backend_info(config.backend)
    is_known = profile is not None and profile.in_zeroclaw
    line = f"{shown(f'{config.backend}.{config.alias}' if config.alias else config.backend)}: {_choice_reason(config)}"
    if config.install.layout == "lone":
        if profile is None or is_known:
            return f"{line}."
        return f"{line}; ZeroClaw itself does not know that name and would use Markdown."
    if config.zeroclaw_backend == (config.backend if profile is None else profile.key):
        return f"{line}."
    by_option = config.sources.get(_BACKEND) in (OPTION, SCHEME)
    reason = "" if is_known or by_option else ", since it does not know that name"
    return f"{line}; ZeroClaw itself would use {config.zeroclaw_backend}{reason}."


def _choice_reason(config: MemoryConfig) -> str:
    source = config.sources.get(_BACKEND, DEFAULT)
    written = config.values.get("backend")
    setting = f'memory.backend = "{shown(written)}"' if isinstance(written, str) else None
    in_file = source.startswith(FILE)
    if setting and (source in (DEFAULT, FILE) or (in_file and written == config.backend)):
        return f"{setting} in {FILE}"
    if source == DEFAULT:
        return "the default, since memory.backend is not set"
    if (in_file and setting is None) or (source.startswith("environment") and source != source_of(STORAGE_PROVIDER)):
        return source
    if config.install.layout == "lone":
        return "named by --backend" if source == OPTION else source
    chosen = "--backend" if source == OPTION else source.removeprefix(f"{FILE}, ")
    return f"{chosen} stands above {setting or 'the default, sqlite'}"
