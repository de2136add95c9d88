"""Made-up memories of tools that keep Markdown, and what reading them gives."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from zeroclaw_tui.curation.formats.foreign import ForeignFormat
from zeroclaw_tui.curation.formats.old_claude_code import ClaudeCodeMemory
from zeroclaw_tui.curation.formats.old_openclaw import OpenClawWorkspace
from zeroclaw_tui.curation.formats.old_source import Report, Source
from zeroclaw_tui.memory.change import Row

DATA = Path(__file__).parents[2] / "data"
FORMATS: dict[str, ForeignFormat] = {
    "openclaw": OpenClawWorkspace(),
    "claude_code": ClaudeCodeMemory(),
}
"""By the folder of test data each is tried on."""
WRITTEN = "2026-05-28T20:26:40+00:00"
"""When every file of a copied sample was last written."""


@dataclass(frozen=True)
class Imported:
    """What a reader found, by key, with the places, and what it said besides."""

    rows: dict[str, Row]
    places: dict[str, str]
    report: Report

    @property
    def contents(self) -> list[str]:
        return [str(row.values["content"]) for row in self.rows.values()]

    def of(self, content: str) -> Row:
        """The memory whose content begins so."""
        return next(row for row in self.rows.values() if str(row.values["content"]).startswith(content))


def sample(tool: str, folder: Path) -> Path:
    """A copy of a tool's sample, every file with the same time of writing."""
    copied = folder / tool
    shutil.copytree(DATA / "formats" / tool, copied)
    for path in copied.rglob("*"):
        os.utime(path, (1_780_000_000, 1_780_000_000))
    return copied


def read(format: ForeignFormat, path: Path) -> Imported:
    """Everything a reader finds; no key may come twice."""
    report = Report()
    rows: dict[str, Row] = {}
    places: dict[str, str] = {}
    for place, row in format.memories(Source(path), report):
        assert row.key not in rows
        rows[row.key], places[row.key] = row, place
    return Imported(rows, places, report)


def degree(format: ForeignFormat, path: Path) -> float:
    """How far a path looks like a format; 0 for not at all."""
    likeness = format.likeness(Source(path))
    return 0.0 if likeness is None else likeness.degree


def written(folder: Path, **files: str) -> Path:
    """A folder with these files: `memory__a` is memory/a.md."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
