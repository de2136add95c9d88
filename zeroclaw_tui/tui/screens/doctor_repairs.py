"""Doing what the doctor found: a repair, compacting with the store let go of, and filling vectors in."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.curation import reindex as reindexing
from zeroclaw_tui.curation.doctor import repairs
from zeroclaw_tui.curation.doctor.database import DoctorFinding
from zeroclaw_tui.curation.doctor.repairs import Repaired
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.reindex import Reindexed, ReindexPlan
from zeroclaw_tui.files.database import why_not_writable
from zeroclaw_tui.memory.change import Advance
from zeroclaw_tui.tui.handing_over import with_store_closed
from zeroclaw_tui.tui.screens.confirm import NumberInput
from zeroclaw_tui.tui.screens.doctor_words import filled_words, repaired_words, vectors_body, vectors_title
from zeroclaw_tui.tui.screens.progress import with_progress
from zeroclaw_tui.tui.screens.working import WorkingScreen
from zeroclaw_tui.tui.widgets.status_bar import StatusBar

_MOST_PER_MINUTE = 100_000
_FOLLOWED = 0.2


def why_not_repaired(library: Library) -> str | None:
    """Why nothing can be repaired, in a sentence. Blocks for two looks at the folder."""
    because, memory = library.read_only_because, library.memory
    if because is None or library.config.read_only or memory.file is None:
        return because
    return why_not_writable(memory.file)


async def repaired(screen: WorkingScreen, finding: DoctorFinding) -> str:
    """Do the repair of a finding; gives what was done. Raises InspectorError kinds."""
    library, now = screen.library, screen.clock()
    done = await repairs.repair_finding(library.config, library, finding, now)
    return repaired_words(done)


async def compacted(screen: WorkingScreen, finding: DoctorFinding) -> str:
    """Compact the database while nothing here has it open; gives what was done and how many bytes that won."""
    library, now = screen.library, screen.clock()
    steps: list[str] = []

    def follow() -> None:
        if steps:
            screen.query_one(StatusBar).say(steps[-1])

    async def compact() -> Repaired:
        # Called on another thread: only the list passes between the two.
        return await repairs.compact(library.config, now, steps.append)

    following = screen.set_interval(_FOLLOWED, follow)
    try:
        return repaired_words(await with_store_closed(screen.app, library, compact))
    finally:
        following.stop()


async def vectors_filled(screen: WorkingScreen) -> str | None:
    """Ask, then make the vectors that lack; gives how it went, None when a person left it."""
    library = screen.library
    plan = await reindexing.plan_reindex(library)
    if not plan.count:
        return "No vector is missing by now."
    wish = await screen.app.push_screen_wait(ReindexScreen(plan, library.config.embedding))
    if wish is None:
        return None
    if library.memory.file is not None:
        await repairs.back_up(library.config, screen.clock())

    async def fill(advance: Advance) -> Reindexed:
        return await reindexing.reindex(library, plan, per_minute=wish or None, advance=advance)

    done = await with_progress(screen.app, "Making vectors", plan.count, screen.pace.patience, fill)
    return filled_words(done, plan.count)


class ReindexScreen(ModalScreen[int | None]):
    """What making vectors would send, where, and for how much. Gives the most requests a minute, 0 for no limit."""

    CSS_PATH = "asking.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,n", "dismiss(None)", "leave it", priority=True),
    ]

    def __init__(self, plan: ReindexPlan, embedding: EmbeddingConfig) -> None:
        super().__init__()
        self._plan = plan
        self._embedding = embedding

    def compose(self) -> ComposeResult:
        """The plan, the limit, the keys."""
        with Vertical(id="asking", classes="-typed"):
            yield Static(Content(vectors_title(self._plan)), id="title")
            yield Static(vectors_body(self._plan, self._embedding), id="body")
            with Horizontal(classes="field"):
                yield Static("at most", classes="name", markup=False)
                yield NumberInput(placeholder="no limit", compact=True, restrict="[0-9,]*", id="limit")
                yield Static("requests a minute", classes="remark", markup=False)
            yield Static("What is made is kept: it can be stopped and gone on with at any time.", id="remark")
            yield Static("enter make them   esc leave it", id="keys", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Begin with this limit."""
        event.stop()
        typed = event.value.replace(",", "")
        self.dismiss(min(int(typed), _MOST_PER_MINUTE) if typed else 0)
