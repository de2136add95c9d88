"""Whether ZeroClaw records its turns by this config, and the change of config.toml that turns recording on.

The keys are in [observability]: `log_persistence` (none, rolling, rotating), `log_persistence_max_entries` and
`log_llm_request_payload` (off, redacted, full; from 0.8.2 on). ZeroClaw still reads `runtime_trace_mode` and
`runtime_trace_max_entries`, the names of the first two up to 0.7.5.
"""

from __future__ import annotations

import json

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.setting_change import SettingChange, Value, planned_change
from zeroclaw_tui.curation.turn_trace import observability, trace_files
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.scoring.profiles import parse_version

_READ_SINCE = (0, 8, 0)
_REQUEST_SINCE = (0, 8, 2)
_DEFAULT_ENTRIES = 200
_ENTRIES = 10_000
"""Lines of the trace: a turn has several, and ZeroClaw's own 200 are a few dozen turns at best."""
_WHY_FULL = (
    'log_llm_request_payload = "full" writes the whole request, the memory block with it; "redacted" cuts it from the'
    " end, where the block is. Both mask what looks like a credential. The trace then holds your chats."
)
_WHY_ENTRIES = (
    f"A trace of {_DEFAULT_ENTRIES} lines holds a few dozen turns at best, so it is set to {_ENTRIES:,} lines."
)
_NO_REQUEST = "ZeroClaw {version} records when it sends a request, but not the request: 0.8.2 and later can."
_TOO_OLD = "Turns of ZeroClaw {version} cannot be read: they are read from 0.8.0 on."
_RESTART = "ZeroClaw reads this when it starts: restart it afterwards."


def missing_settings(config: MemoryConfig, version: str) -> dict[str, Value]:
    """The settings without which ZeroClaw of this version does not record its turns, by name. Raises BrokenConfig."""
    table, number = observability(config), parse_version(version)
    if number < _READ_SINCE:
        return {}
    mode_key, entries_key = "log_persistence", "log_persistence_max_entries"
    if "runtime_trace_mode" in table:
        mode_key, entries_key = "runtime_trace_mode", "runtime_trace_max_entries"
    missing: dict[str, Value] = {}
    mode = str(table.get("log_persistence") or table.get(mode_key) or "rolling").strip().lower()
    if mode not in ("rolling", "full", "rotating"):
        missing[mode_key] = mode = "rolling"
    entries = table.get(entries_key, table.get("log_persistence_max_entries", _DEFAULT_ENTRIES))
    if mode == "rolling" and (not isinstance(entries, int) or entries < _ENTRIES):
        missing[entries_key] = _ENTRIES
    payload = str(table.get("log_llm_request_payload", "")).strip().lower()
    if number >= _REQUEST_SINCE and payload != "full":
        missing["log_llm_request_payload"] = "full"
    return {f"observability.{name}": value for name, value in missing.items()}


def recording_change(config: MemoryConfig, version: str) -> SettingChange:
    """Plan the change that has ZeroClaw of this version record its turns, with the reasons as `warnings`.

    What is set already stays. Raises Refused for a store without a config.toml and for a version whose turns cannot be
    read, UsageError, BrokenConfig.
    """
    number = parse_version(version)
    if number < _READ_SINCE:
        raise Refused(_TOO_OLD.format(version=version), hint="Update ZeroClaw, or name its version with --profile.")
    missing = missing_settings(config, version)
    reasons = [_WHY_FULL if number >= _REQUEST_SINCE else _NO_REQUEST.format(version=version)]
    if any(name.endswith("_max_entries") for name in missing):
        reasons.append(_WHY_ENTRIES)
    return planned_change(config, missing, (*reasons, _RESTART))


def why_no_turns(config: MemoryConfig, version: str) -> str:
    """Say why no turn is recorded, with the lines that turn recording on. Raises BrokenConfig."""
    if parse_version(version) < _READ_SINCE:
        return f"No turn is recorded. {_TOO_OLD.format(version=version)}"
    missing = missing_settings(config, version)
    if not missing:
        has_trace = bool(trace_files(config))
        return "No turn is recorded yet." if has_trace else "Nothing is recorded yet: ZeroClaw has written no trace."
    lines = [f"{name.removeprefix('observability.')} = {json.dumps(value)}" for name, value in missing.items()]
    return (
        f"No turn is recorded. In [observability], {', '.join(lines)} turns recording on. To write this, press 5 and"
        " then W in the inspector (`zeroclaw-tui`)."
    )
