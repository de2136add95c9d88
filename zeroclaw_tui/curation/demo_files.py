"""The files of the sample workspace beside its database: daily notes, sessions, archives, the state of hygiene."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from zeroclaw_tui.curation.snapshot.text import NAME, snapshot_text
from zeroclaw_tui.memory.entry import MemoryEntry

_LAST_RUN = timedelta(hours=31)
_REPORT = {
    "archived_memory_files": 2,
    "archived_session_files": 1,
    "purged_memory_archives": 1,
    "purged_session_archives": 0,
    "pruned_conversation_rows": 0,
    "pruned_daily_rows": 0,
    "pruned_core_rows": 0,
}
_NOTES = {
    1: "Watered the basil and moved it to the shade.",
    3: "Tomás called about Sunday, he brings the bread.",
    9: "Owl recordings from the botanical garden sorted into three folders.",
    10: "The ferry to Cacilhas was late again; take the metro on Fridays.",
    12: "Cleaned the bicycle chain and ordered a new lamp.",
}
_ARCHIVED = {
    20: "Read two chapters about moss.",
    44: "The plumber came, the tap in the kitchen is mended.",
    61: "Baked with the new flour: less water next time.",
}
_SESSIONS = {2: "telegram_12345", 8: "telegram_12345", 11: "telegram_67890"}
_SNAPSHOT_DAYS = 9
_SINCE_FORGOTTEN = {
    "printer": "The printer in the hall wants black ink only.",
    "old_office": "Works on the third floor of the archive, room 312.",
}
_SINCE_CHANGED = {"tomas_baby": "Tomás and Rita expect a child in spring."}


def make_snapshot(data: Path, now: datetime, core: Iterable[MemoryEntry]) -> None:
    """Write the snapshot of some days ago: of what was core then, with two memories that are no more."""
    then = now - timedelta(days=_SNAPSHOT_DAYS)
    entries = [
        replace(entry, content=_SINCE_CHANGED.get(entry.key, entry.content))
        for entry in core
        if datetime.fromisoformat(entry.timestamp[:26] + entry.timestamp[29:]) < then
    ]
    for number, (key, content) in enumerate(_SINCE_FORGOTTEN.items(), 1):
        made = (then - timedelta(days=30 * number)).isoformat(timespec="microseconds")
        entries.append(MemoryEntry(key, key, content, "core", made, made))
    entries.sort(key=lambda entry: entry.updated_at or "", reverse=True)
    (data / NAME).write_text(snapshot_text(entries, then), encoding="utf-8")


def make_files(data: Path, now: datetime) -> None:
    """Write them into the data folder, each as old as its name says; `now` has a time zone."""
    for path, days, text in _files(data, now):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        moment = (now - timedelta(days=days)).timestamp()
        os.utime(path, (moment, moment))
    state = data / "state" / "memory_hygiene_state.json"
    state.parent.mkdir(parents=True, exist_ok=True)
    last_run = (now - _LAST_RUN).astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "000+00:00")
    state.write_text(json.dumps({"last_run_at": last_run, "last_report": _REPORT}, indent=2), encoding="utf-8")


def _files(data: Path, now: datetime) -> Iterator[tuple[Path, int, str]]:
    for folder, notes in ((data / "memory", _NOTES), (data / "memory" / "archive", _ARCHIVED)):
        for days, text in notes.items():
            day = f"{now - timedelta(days=days):%Y-%m-%d}"
            yield folder / f"{day}.md", days, f"# Daily Log — {day}\n\n- **note**: {text}\n"
    for days, session in _SESSIONS.items():
        line = json.dumps({"role": "user", "content": "Good morning."})
        yield data / "sessions" / f"{session}_{days}.jsonl", days, f"{line}\n"
