"""The file in which ZeroClaw notes when its hygiene ran, and what it did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from zeroclaw_tui.curation.hygiene_rules import ROWS_SINCE, RuleName
from zeroclaw_tui.files.disk import read_bytes
from zeroclaw_tui.memory.errors import Unreadable
from zeroclaw_tui.scoring.injection import zeroclaw_moment
from zeroclaw_tui.scoring.profiles import parse_version

INTERVAL_HOURS = 12
STATE_FILE = "memory_hygiene_state.json"
COUNTED_AS: Mapping[str, tuple[RuleName, ...]] = {
    "archived_memory_files": ("archive memory files",),
    "archived_session_files": ("archive session files",),
    "purged_memory_archives": ("purge memory archives",),
    "purged_session_archives": ("purge session archives",),
    "pruned_conversation_rows": ("conversation rows",),
    "pruned_daily_rows": ("daily rows", "daily budget"),
    "pruned_core_rows": ("core rows", "core budget"),
}
"""ZeroClaw's counts by their names in its state file, and the rules that each of them counts."""

_LARGEST_COUNT = 2**64 - 1


@dataclass(frozen=True, slots=True)
class HygieneState:
    """What ZeroClaw's state file says. `problem` is a sentence if the file is broken.

    `report` has ZeroClaw's counts by their names. `due` is the time from which the next start of the agent runs
    hygiene; None means the very next start.
    """

    last_run: datetime | None = None
    report: Mapping[str, int] = field(default_factory=dict)
    due: datetime | None = None
    problem: str = ""

    def last_run_text(self, now: datetime) -> str:
        """When hygiene ran last."""
        if self.last_run is None:
            return "last run not known" if self.problem else "never run"
        return f"last run {local_time(self.last_run, now)}"


def counts_of(version: str) -> tuple[str, ...]:
    """The names of the counts that ZeroClaw of a version writes, in its order."""
    return tuple(COUNTED_AS)[: 5 if parse_version(version) < ROWS_SINCE else 7]


def state_file(root: Path) -> Path:
    """Where the state file is, whether or not it exists."""
    return root / "state" / STATE_FILE


def read_state(root: Path, version: str, now: datetime) -> HygieneState:
    """Read the state file as ZeroClaw of a version does; its problems are sentences, not exceptions. It blocks."""
    file = state_file(root)
    try:
        data = read_bytes(file)
        text = (data or b"").decode()
    except (Unreadable, UnicodeDecodeError) as error:
        reason = error.message if isinstance(error, Unreadable) else f"{file} is not UTF-8."
        return HygieneState(problem=f"{reason} ZeroClaw's hygiene fails at every start until you remove it.")
    if data is None:
        return HygieneState()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    values = found if isinstance(found, dict) else {}
    counts, ran = values.get("last_report"), values.get("last_run_at")
    report = {name: value for name, value in counts.items() if _is_count(value)} if isinstance(counts, dict) else {}
    last_run = zeroclaw_moment(ran) if isinstance(ran, str) else None
    if last_run is None or not set(counts_of(version)) <= set(report):
        wrong = f"{STATE_FILE} is not what ZeroClaw {version} writes, so hygiene runs at the next start of the agent."
        return HygieneState(last_run, report, problem=wrong)
    due = last_run + timedelta(hours=INTERVAL_HOURS)
    return HygieneState(last_run, report, due if due > now else None)


def state_bytes(version: str, now: datetime, report: Mapping[str, int]) -> bytes:
    """The state file as ZeroClaw of a version writes it: pretty JSON, UTC with nine digits, no final newline."""
    moment = now.astimezone(UTC)
    ran = f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}000+00:00"
    counts = {name: report.get(name, 0) for name in counts_of(version)}
    return json.dumps({"last_run_at": ran, "last_report": counts}, indent=2).encode()


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST_COUNT


def local_time(moment: datetime, now: datetime, *, short: bool = False) -> str:
    """A time in the zone of `now`; the short form leaves out the date if it is today."""
    local = moment.astimezone(now.tzinfo)
    return f"{local:%H:%M}" if short and local.date() == now.date() else f"{local:%Y-%m-%d %H:%M}"
