"""The snapshot: write it, compare it with the store, and import the marked memories."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.content import Content

from zeroclaw_tui.curation import snapshot as snapshots
from zeroclaw_tui.curation.formats.snapshot import load
from zeroclaw_tui.curation.hydrate import Difference, Where, compare, plan_hydrate
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.snapshot import SnapshotPlan
from zeroclaw_tui.curation.transfer.imports import ImportPlan, import_memories
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.days import absolute_time
from zeroclaw_tui.memory.errors import InspectorError, NotFound, Refused
from zeroclaw_tui.memory.text import counted, mask_secrets, one_line
from zeroclaw_tui.memory.text_difference import DiffLine, diff_lines
from zeroclaw_tui.tui.actions import StoreRoom, key_words
from zeroclaw_tui.tui.commands import Command, changing, inform, mark_commands, saying, start_work
from zeroclaw_tui.tui.dialogs import Answer, Question, choice
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import shown_line, shown_words
from zeroclaw_tui.tui.rooms.upkeep.tab import UpkeepTab
from zeroclaw_tui.tui.themes import MUTED, STRONG, WARNING
from zeroclaw_tui.tui.transfer import import_answers, plan_body
from zeroclaw_tui.tui.widgets.detail import AboutPane
from zeroclaw_tui.tui.widgets.lines import StatusBar, TitleLine
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, EMPTY_KEY, Column, Look, TableList, cut_key

_GLYPHS: dict[Where, tuple[str, Look]] = {
    "changed": ("≠", "keyword"),
    "only here": ("◂", "bad"),
    "only there": ("▸", "final"),
}
_MAX_AGENT = 60
_NO_SNAPSHOT = (
    "ZeroClaw writes a snapshot of all core memories when it starts, if memory.snapshot_enabled and "
    "memory.snapshot_on_hygiene are on."
)


class SnapshotTab(UpkeepTab):
    """The differences between MEMORY_SNAPSHOT.md and the store; some of them marked to be imported."""

    TITLES = ("Differences", "Difference")
    KEYS: ClassVar[Sequence[Command]] = (
        Command("hydrate", "enter", "import", "Import the marked memories, or this one", True, writes=True,
                shell="hydrate"),
        *mark_commands("the row", "Mark all that can be imported"),
        Command("write", "W", "write", "Write the snapshot as ZeroClaw does", True, writes=True, shell="snapshot"),
        Command("copy", "y", "copy", "Copy the content, the snapshot's if it has one", shell="get {key}"),
    )  # fmt: skip

    def __init__(self, room: StoreRoom) -> None:
        self.differences = TableList(
            _COLUMNS, empty="Reading the snapshot …", mark=lambda one: one.key if one.there is not None else None
        )
        super().__init__(room, self.differences, id="snapshot")
        self._path: Path | None = None
        """The snapshot that is compared; None before it was read."""
        self._notes: tuple[str, ...] = ()

    async def load(self) -> None:
        """Read file and store, and compare them."""
        try:
            with saying(self, self.room.pace.patience, lambda: self.query_one(StatusBar).say("Comparing …")):
                path = await asyncio.to_thread(snapshots.place_of, self.library.config)
                snapshot = await asyncio.to_thread(load, path)
                differences = await compare(self.library, snapshot)
        except InspectorError as error:
            if self._path is not None:
                raise
            self._say_why_none(error)
            return
        self._path, self._notes = path, snapshot.notes
        when = f" of {absolute_time(snapshot.exported)}" if snapshot.exported else ""
        counts = Counter(one.where for one in differences)
        differs = [f"{counts[where]:,} {where}" for where in _GLYPHS if counts[where]]
        memories = counted(len(snapshot.rows), "core memory")
        self.query_one(TitleLine).say(f"{path.name}{when}: {memories}", *(differs or ["same as the store"]))
        same = f"Store and snapshot have the same {counted(counts['same'])}. Later changes appear here."
        self.differences.say_empty(same if differences else "Neither the store nor the snapshot has a core memory.")
        keys = {one.key for one in differences if one.there is not None and one.where != "same"}
        self.differences.set_marks(key for key in self.differences.marks if key in keys)
        self.differences.set_rows([one for one in differences if one.where != "same"])

    def _say_why_none(self, error: InspectorError) -> None:
        """Say why there is no snapshot to compare, and which keys help."""
        can_write = self.library.read_only_because is None and isinstance(error, NotFound | Refused)
        keys = "Press W to write it from the core memories, r to reload." if can_write else "Press r to reload."
        hint = _NO_SNAPSHOT if isinstance(error, NotFound) else error.hint
        self.query_one(TitleLine).say("Snapshot")
        self.differences.say_empty("\n\n".join(filter(None, (shown_words(error.message), shown_words(hint), keys))))
        self.differences.set_rows(())

    def show_status(self) -> None:
        """How many are marked, and what was noticed in the file."""
        marked = self.differences.marks_words
        marked = f"{marked}. Press ⏎ to import" if marked else ""
        self.query_one(StatusBar).say(marked, self.library.read_only_because or "", *map(shown_words, self._notes))

    def show_row(self) -> None:
        """Compare the two versions of the memory under the cursor."""
        start_work(self, "snapshot-diff", self._show_difference, self.differences.selected)

    async def _show_difference(self, difference: Difference | None) -> None:
        if difference is None:
            self.query_one(AboutPane).show(Content(""))
            return
        here, there = difference.here, difference.there
        parts = [(key_words(difference.key), STRONG), (f"\n{_where_text(difference)}", MUTED)]
        lines: list[DiffLine] = []
        text = mask_secrets(entry.content) if (entry := there or here) is not None else ""
        if here is not None and there is not None:
            parts.append(("\n- in the store   + in the snapshot", MUTED))
            found = await asyncio.to_thread(diff_lines, here.content, there.content)
            # Masked once they are compared: two secrets may differ in what is hidden.
            lines = [DiffLine(line.sign, mask_secrets(line.text)) for line in found]
        self.query_one(AboutPane).show(Content.assemble(*parts), lines, text)

    def why_dimmed(self, action: str) -> str | None:
        """Why an action cannot be done now, in a sentence; None when it can."""
        difference = self.differences.selected
        is_import = action == "mark" or (action == "hydrate" and not self.differences.marks)
        if is_import and difference is not None and difference.there is None:
            return f"{key_words(difference.key)} is not in the snapshot. Press W to write it."
        if action == "hydrate" and difference is None:
            return "Nothing to import here."
        return super().why_dimmed(action)

    async def action_copy(self) -> None:
        difference = self.differences.selected
        entry = (difference.there or difference.here) if difference is not None else None
        if entry is not None:
            inform(self, await copy_text(self.app, entry.content))

    @changing
    async def action_write(self, library: Library) -> None:
        plan = await snapshots.plan_snapshot(library)
        if plan.count and not await self.app.push_screen_wait(_write_question(plan)):
            return
        write = partial(snapshots.write_snapshot, library, replaces_foreign=bool(plan.foreign))

        def report(outcome: Outcome) -> str:
            return " ".join(outcome.sentences(plan.done_sentence(outcome, " · u")))

        await self.carry_out(library, "Writing the snapshot", plan.count, lambda on_progress: write(), report)

    @changing
    async def action_hydrate(self, library: Library) -> None:
        """Import the marked memories, else the row."""
        path, difference, marks = self._path, self.differences.selected, self.differences.marks
        if path is None or difference is None:
            return
        plan = await self._plan(library, path, sorted(marks or [difference.key]))
        if plan is None:
            return
        count = plan.new + plan.taken
        if not count:
            inform(self, "Nothing to import, because the store already has it.")
            self.reload()
            return
        question = Question(f"Import {counted(count)}?", plan_body(plan), "Cancel", import_answers(plan))
        policy = await self.app.push_screen_wait(question)
        if policy is None or policy == "flagged":
            return

        def report(outcome: Outcome) -> str:
            return " ".join(outcome.sentences(outcome.headline(" · u")))

        self.differences.set_marks(())
        bring = partial(import_memories, library, plan, policy)
        await self.carry_out(library, f"Importing {counted(count)}", count, bring, report)

    async def _plan(self, library: Library, path: Path, keys: Sequence[str]) -> ImportPlan | None:
        """What importing would do; when the owner is unknown, a person chooses it. None when they left it."""
        try:
            return await plan_hydrate(Target.of(library), path, keys=keys)
        except Refused:
            agents = sorted((await library.memory.health()).facts.get("agents") or ())
            if len(agents) < 2 or "agents" in library.memory.why_not:
                raise
        answers = [Answer("", shown_line(agent, _MAX_AGENT), agent) for agent in agents]
        agent = await self.app.push_screen_wait(choice("Which agent owns the memories?", answers))
        return None if agent is None else await plan_hydrate(Target.of(library), path, keys=keys, agent=agent)


def _key(difference: Difference) -> Content:
    name = shown_line(difference.key)
    key = (name, "text") if name else (EMPTY_KEY, "faint")
    return Content.styled(*key)


def _beginning(difference: Difference) -> str:
    entry = difference.there or difference.here
    return shown_line(entry.content if entry is not None else "") or EMPTY_CONTENT


_COLUMNS: Sequence[Column[Difference]] = (
    Column("", lambda one: Content.styled(*_GLYPHS[one.where]), width=1),
    Column("where", lambda one: one.where, width=10, look="muted"),
    Column("key", _key, shortened=cut_key),
    Column("memory", _beginning, flex=True),
)


def _where_text(difference: Difference) -> str:
    """What one difference is, in a sentence."""
    here = difference.here
    if difference.there is None:
        return "Only in the store: the snapshot does not have it."
    if here is None:
        return "Only in the snapshot: the store does not have it."
    return f"The content differs. The store's version is from {absolute_time(here.updated_at or here.timestamp)}."


def _write_question(plan: SnapshotPlan) -> Question[bool]:
    """Ask with what is written, replaced and lost; another program's file is only replaced by a key of its own."""
    parts: list[str | tuple[str, str]] = [shown_words(str(plan.file))]
    parts += [(f"\n! {shown_words(sentence)}", WARNING) for sentence in plan.foreign]
    parts += [f"\n{shown_words(sentence)}" for sentence in plan.sentences()]
    old = "The old file goes to the trash. " if plan.foreign else ""
    parts.append((f"\n\n{old}Press u to undo.", MUTED))
    answer = Answer("R", "Replace the file of another program", True) if plan.foreign else Answer("y", "Write", True)
    title = f"Write {counted(plan.count)} to {one_line(plan.file.name)}?"
    return Question(title, Content.assemble(*parts), "Cancel", [answer])
