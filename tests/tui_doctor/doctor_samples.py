"""A doctor that finds what a test tells it, and notes what it was asked to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tui_trash_samples import Sample, ScreenApp

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.curation import reindex
from zeroclaw_tui.curation.doctor import examination, repairs
from zeroclaw_tui.curation.doctor.database import DoctorFinding, DoctorReport
from zeroclaw_tui.curation.doctor.repairs import Repaired
from zeroclaw_tui.curation.reindex import Reindexed, ReindexPlan
from zeroclaw_tui.memory.change import Stamp
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.screens.doctor import DoctorScreen

NOT_FOUND = DoctorFinding(
    "keyword-index",
    "12 of 680 memories are not in the keyword index.",
    "serious",
    "The agent does not find them by their words. They come back with a rebuild.",
    "rebuild keyword index",
    ("Make a backup of the whole database.", "Put ZeroClaw's own triggers back.", "Fill the keyword index anew."),
    details=(("memories", "680"), ("in the index", "668")),
    target="/srv/zeroclaw/workspace/memory/brain.db",
)
HYDRATED = DoctorFinding(
    "hydrated",
    "This database was made by auto-hydrate, and no ZeroClaw opens it.",
    "serious",
    "ZeroClaw stops at its next start with: no such column: accessed_at.",
    "repair hydrated database",
    ("Add the column accessed_at to embedding_cache.", "Rebuild the keyword index."),
)
VECTORS = DoctorFinding(
    "vectors",
    "1,204 memories have no vector.",
    "worth knowing",
    "Recall finds them by their words only.",
    "fill vectors",
    ("Make them with text-embedding-3-small.",),
    details=(("core", "80 of 680"), ("conversation", "1,124 of 12,000")),
)
EMPTY_PAGES = DoctorFinding(
    "free-pages", "41 MB of the file are empty pages.", "worth knowing", "They only take room.", "compact",
    ("Make a backup of the whole database.", "Write the database anew without them."),
)  # fmt: skip
TWO_STORES = DoctorFinding(
    "two-databases",
    "There are two databases, and only one of them is used.",
    "worth knowing",
    "What was remembered before the move to 0.8 is not recalled.",
    by_hand="Open the other one with `zeroclaw memory list --location PATH`, and import what you want to keep.",
    target="/srv/zeroclaw/workspace/memory/brain.db",
)
FINE = tuple(
    DoctorFinding(f"fine-{number}", title, "fine", "")
    for number, title in enumerate(
        ("Every page of the file can be read.", "No memory belongs to an agent that is not there.", "The log is small.")
    )
)
HOSTILE = DoctorFinding(
    "hostile",
    "[/foo] [bold]not bold[/] \x1b[31mred\x1b]0;title\x07 \u202egnp.exe\u202c 全角文字 \x00 " + "long " * 200,
    "serious",
    "宽" * 400 + " sk-abcdefghijklmnopqrstuvwxyz \x9b2J" + "x" * 5000,
    "remove leftover",
    ("Move [/x]\x1b[2J" + "宽字符" * 60 + " away.",),
    details=(("[/name]\x1b", "value\r\n\x00 postgres://user:geheim@host/db"), ("宽字符", "y" * 5000)),
    target="/srv/" + "long/" * 60 + "[/foo]\x1b[31m\u202e宽.db.bak",
    by_hand="[@click=app.bell()]by hand[/] \x07",
)
REPORT = DoctorReport((NOT_FOUND, HYDRATED, VECTORS, EMPTY_PAGES, TWO_STORES, *FINE), False)
HEALTHY = DoctorReport(FINE, False)
PLAN = ReindexPlan(
    tuple(Stamp(f"id-{number}", "") for number in range(1180)),
    tuple(Stamp(f"wrong-{number}", "") for number in range(24)),
    482_000,
    120_500,
    0.00241,
    "text-embedding-3-small",
    True,
)


class Doctor:
    """What is found is `reports`, the last one again and again; `done` is what was asked for."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sample = Sample(folder)
        self.sample.library.config = replace(self.sample.library.config, embedding=EmbeddingConfig("openai"))
        self.reports: list[DoctorReport | Exception] = [REPORT]
        self.done: list[str] = []
        self.plan = PLAN
        self.reindexed: Callable[[Any], Reindexed] = lambda advance: Reindexed(1204, 0)
        self.refusal: Exception | None = None
        self.waits: asyncio.Event | None = None
        monkeypatch.setattr(examination, "examine", self._examine)
        monkeypatch.setattr(repairs, "repair_finding", self._repair)
        monkeypatch.setattr(reindex, "plan_reindex", self._plan)
        monkeypatch.setattr(reindex, "reindex", self._reindex)

    def screen(self) -> DoctorScreen:
        return DoctorScreen(self.sample.library, self.sample.clock, Pace(patience=0.01))

    def app(self) -> ScreenApp:
        return ScreenApp(self.screen)

    async def _examine(self, config: Any, library: Any, *, deep: bool = False) -> DoctorReport:
        self.done.append("deep" if deep else "look")
        if self.waits is not None and deep:
            await self.waits.wait()
        report = self.reports[0] if len(self.reports) == 1 else self.reports.pop(0)
        if isinstance(report, Exception):
            raise report
        return replace(report, is_deep=deep)

    async def _repair(self, config: Any, library: Any, finding: DoctorFinding, now: Any, advance: Any = None) -> Any:
        self.done.append(str(finding.repair))
        if self.refusal is not None:
            raise self.refusal
        return Repaired(("The keyword index is whole again.",), Path("/srv/own/backups/brain-20261120.db"))

    async def _plan(self, library: Any, *, ids: Any = None) -> ReindexPlan:
        return self.plan

    async def _reindex(self, library: Any, plan: Any, *, per_minute: int | None = None, advance: Any = None) -> Any:
        self.done.append(f"vectors at most {per_minute}")
        return self.reindexed(advance)
