"""Whether ZeroClaw records its turns by this config, and the change of config.toml that has it do so.

The keys stand in [observability]: `log_persistence` (none, rolling, rotating), `log_persistence_max_entries` and
`log_llm_request_payload` (off, redacted, full; from 0.8.2 on). Up to 0.7.5 they are `runtime_trace_mode` and
`runtime_trace_max_entries`, which later versions still read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.setting_change import SettingChange, Value, planned_change
from zeroclaw_tui.curation.turns.trace import observability
from zeroclaw_tui.scoring.profiles import parse_version

RECORDS_BLOCK_SINCE = (0, 8, 2)
ENTRIES = 10_000
"""How many lines of the trace are kept: a turn has several, and ZeroClaw's own 200 are a few dozen turns at best."""

_USUAL_ENTRIES = 200
_WHY_FULL = (
    'log_llm_request_payload = "full" writes the whole request, the memory block with it; "redacted" cuts it from the'
    " end, where the block stands. Both mask what looks like a credential. The trace then holds your chats."
)
_WHY_ENTRIES = f"A trace of {_USUAL_ENTRIES} lines holds a few dozen turns at best: {ENTRIES:,} are kept."
_NO_BLOCK = "ZeroClaw {version} cannot record what it sends, only when: 0.8.2 and later can."
_RESTART = "ZeroClaw reads this when it starts: restart it afterwards."


@dataclass(frozen=True, slots=True)
class RecordingState:
    """What is recorded from now on by this config. `keys` are the lines that turn on what is missing."""

    traces: bool
    """Whether ZeroClaw writes a trace."""
    traces_block: bool
    """Whether the trace holds what is sent, whole."""
    can_trace_block: bool
    """Whether this version can record it."""
    audits: bool
    """Whether the audit log is written (0.8.4 and later)."""
    keys: tuple[str, ...]
    remark: str
    """A sentence: what is recorded, and what is not."""


def recording_state(config: MemoryConfig, version: str) -> RecordingState:
    """What ZeroClaw of this version records by the config as it is. Raises BrokenConfig."""
    table, numbers = observability(config), parse_version(version)
    is_modern = numbers >= (0, 8, 0)
    mode = _word(table, "log_persistence", "runtime_trace_mode") or ("rolling" if is_modern else "none")
    traces = mode in (("rolling", "full", "rotating") if numbers >= (0, 8, 3) else ("rolling", "full"))
    can = numbers >= RECORDS_BLOCK_SINCE
    payload = _word(table, "log_llm_request_payload") or "off"
    traces_block = traces and can and payload == "full"
    audits = numbers >= (0, 8, 4) and config.values.get("audit_enabled") is True
    keys = tuple(f"{name} = {_written(value)}" for name, value in _wanted(config, version).items())
    return RecordingState(traces, traces_block, can, audits, keys, _remark(version, traces, payload, can, audits))


def recording_change(config: MemoryConfig, version: str) -> SettingChange:
    """The change that has ZeroClaw of this version record its turns, with why as `warnings`.

    What is set already stays. Raises Refused for a store without a config.toml, WrongUse, BrokenConfig.
    """
    wanted = _wanted(config, version)
    why = [_WHY_FULL] if parse_version(version) >= RECORDS_BLOCK_SINCE else [_NO_BLOCK.format(version=version)]
    why += [_WHY_ENTRIES] if any(name.endswith("_max_entries") for name in wanted) else []
    return planned_change(config, wanted, (*why, _RESTART) if wanted else ())


def why_nothing_recorded(config: MemoryConfig, files: Sequence[Path], version: str) -> str:
    """A sentence on why there is no turn, with the lines that turn recording on. Raises BrokenConfig."""
    state = recording_state(config, version)
    if state.traces_block or (not state.keys and state.traces):
        return "No turn is recorded yet." if files else "Nothing is recorded yet: ZeroClaw has written no trace here."
    lines = ", ".join(line.removeprefix("observability.") for line in state.keys)
    how = f" In [observability], {lines} turns it on." if lines else ""
    return f"No turn is recorded. {state.remark}{how}"


def _wanted(config: MemoryConfig, version: str) -> dict[str, Value]:
    """The settings that are missing, by name."""
    table, numbers = observability(config), parse_version(version)
    is_modern = numbers >= (0, 8, 0)
    mode_key = "log_persistence" if is_modern and "runtime_trace_mode" not in table else "runtime_trace_mode"
    most_key = f"{mode_key.removesuffix('_mode')}_max_entries"
    mode = _word(table, "log_persistence", "runtime_trace_mode") or ("rolling" if is_modern else "none")
    wanted: dict[str, Value] = {}
    if mode not in ("rolling", "full", "rotating") or (mode == "rotating" and numbers < (0, 8, 3)):
        wanted[mode_key] = mode = "rolling"
    most = next((table[key] for key in (most_key, "log_persistence_max_entries") if key in table), _USUAL_ENTRIES)
    if mode == "rolling" and (not isinstance(most, int) or isinstance(most, bool) or most < ENTRIES):
        wanted[most_key] = ENTRIES
    if numbers >= RECORDS_BLOCK_SINCE and _word(table, "log_llm_request_payload") != "full":
        wanted["log_llm_request_payload"] = "full"
    return {f"observability.{name}": value for name, value in wanted.items()}


def _word(table: Mapping[str, Any], *names: str) -> str | None:
    return next((value.strip().lower() for name in names if isinstance(value := table.get(name), str)), None)


def _written(value: Value) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _remark(version: str, traces: bool, payload: str, can: bool, audits: bool) -> str:
    if not traces:
        also = " Its audit log has the questions alone." if audits else ""
        return f"ZeroClaw writes no trace by this config.{also}"
    if not can:
        return _NO_BLOCK.format(version=version)
    if payload == "full":
        return "ZeroClaw records what it sends."
    if payload == "redacted":
        return "The trace cuts long requests from the end, where the memory block stands."
    return "The trace leaves out what is sent."
