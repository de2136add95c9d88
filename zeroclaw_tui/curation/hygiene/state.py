"""memory_hygiene_state.json: when ZeroClaw's hygiene ran last, what it did, and when it is due."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.curation.files import bytes_now
from zeroclaw_tui.curation.hygiene.rules import ROWS_SINCE
from zeroclaw_tui.memory.errors import Unreadable
from zeroclaw_tui.scoring.profiles import parse_version

INTERVAL_HOURS = 12
NAME = "memory_hygiene_state.json"

_COUNTED = (
    "archived_memory_files", "archived_session_files", "purged_memory_archives", "purged_session_archives",
    "pruned_conversation_rows",
)  # fmt: skip
_COUNTED_LATER = ("pruned_daily_rows", "pruned_core_rows")
_LARGEST = 2**64 - 1
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)\Z", re.ASCII)
_RUNS = "so hygiene runs at the next start of the agent."


@dataclass(frozen=True, slots=True)
class HygieneState:
    """What the state file says. `problem` is one sentence where it is broken, lacks fields or lies in the future.

    `last_run` is None where it cannot be told; `report` holds ZeroClaw's counts by their names in the file. `due` is
    the moment from which the next start of the agent runs hygiene: None means at its very next start.
    """

    file: Path
    last_run: datetime | None
    report: Mapping[str, int]
    due: datetime | None
    problem: str | None = None
    by_us: bool = False
    """Whether the last run was one of ours, as the trash tells."""


def counted_by(version: str) -> tuple[str, ...]:
    """The names of the counts that ZeroClaw of this version writes, in its order."""
    return _COUNTED if parse_version(version) < ROWS_SINCE else (*_COUNTED, *_COUNTED_LATER)


def state_file(root: Path) -> Path:
    """Where it lies, whether or not it exists."""
    return root / "state" / NAME


def read_state(root: Path, version: str, now: datetime) -> HygieneState:
    """Read `<root>/state/memory_hygiene_state.json` as ZeroClaw of that version does. Never raises for its content."""
    file = state_file(root)
    try:
        data = bytes_now(file)
        text = (data or b"").decode()
    except (Unreadable, UnicodeDecodeError) as error:
        why = error.message if isinstance(error, Unreadable) else f"{file} is no UTF-8."
        told = f"{why} ZeroClaw's hygiene fails at every start until it is taken away."
        return HygieneState(file, None, {}, None, told)
    if data is None:
        return HygieneState(file, None, {}, None)
    try:
        found = json.loads(text, object_pairs_hook=_once_each, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return HygieneState(file, None, {}, None, f"{NAME} is no JSON, {_RUNS}")
    return _state_of(file, found, version, now)


def state_bytes(version: str, now: datetime, report: Mapping[str, int]) -> bytes:
    """The file as ZeroClaw of that version writes it: pretty JSON, UTC with nine digits, no final newline."""
    moment = now.astimezone(UTC)
    ran = f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}000+00:00"
    counts = {name: report.get(name, 0) for name in counted_by(version)}
    return json.dumps({"last_run_at": ran, "last_report": counts}, indent=2).encode()


def _state_of(file: Path, found: Any, version: str, now: datetime) -> HygieneState:
    broken = f"{NAME} is not what ZeroClaw {version} writes"
    if not isinstance(found, dict):
        return HygieneState(file, None, {}, None, f"{broken}, {_RUNS}")
    counts = found.get("last_report")
    report = {name: count for name, count in counts.items() if _is_count(count)} if isinstance(counts, dict) else {}
    ran = found.get("last_run_at")
    last = moment(ran) if isinstance(ran, str) and _RFC3339.match(ran) else None
    lacking = [name for name in counted_by(version) if name not in report]
    if lacking:
        return HygieneState(file, last, report, None, f"{broken}: it lacks {', '.join(lacking)}, {_RUNS}")
    if last is None:
        return HygieneState(file, None, report, None, f"{NAME} does not say when hygiene ran, {_RUNS}")
    due = last + timedelta(hours=INTERVAL_HOURS)
    if last > now:
        told = f"{NAME} says that hygiene ran in the future, so it rests until {due.astimezone():%Y-%m-%d %H:%M}."
        return HygieneState(file, last, report, due, told)
    return HygieneState(file, last, report, due if due > now else None)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _once_each(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands there twice")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(name)
