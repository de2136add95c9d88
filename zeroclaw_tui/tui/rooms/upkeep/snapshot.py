"""The snapshot: write it, compare it with the store, and import the marked memories."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, get_args

from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.worker import WorkType

from zeroclaw_tui.curation import snapshot as snapshots
from zeroclaw_tui.curation.formats.snapshot import NAME, Snapshot, load
from zeroclaw_tui.curation.hydrate import Difference, Where, compare, plan_hydrate
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.snapshot import SnapshotPlan
from zeroclaw_tui.curation.transfer.imports import ImportPlan, import_memories
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.days import absolute_time
from zeroclaw_tui.memory.errors import InspectorError, NotFound, Refused
from zeroclaw_tui.memory.text import counted, cut, mask_secrets, one_line
from zeroclaw_tui.memory.text_difference import DiffLine, diff_lines
from zeroclaw_tui.tui.actions import key_words
from zeroclaw_tui.tui.commands import Command, changing, inform, mark_commands, saying, warn
from zeroclaw_tui.tui.dialogs import Answer, Question, choice, path_form, path_typed, yes_or_no
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import shown_line, shown_words
from zeroclaw_tui.tui.rooms.upkeep import UpkeepPane, UpkeepRoom
from zeroclaw_tui.tui.themes import MUTED, STRONG, WARNING
from zeroclaw_tui.tui.transfer import SHORT_KEY, import_answers, plan_body
from zeroclaw_tui.tui.widgets.detail import AboutPane
from zeroclaw_tui.tui.widgets.lines import StatusBar, TabLine, TabName
from zeroclaw_tui.tui.widgets.rows import EMPTY_CONTENT, EMPTY_KEY, cut_key
from zeroclaw_tui.tui.widgets.table_list import Column, Look, TableList

_GLYPHS: dict[Where, tuple[str, Look]] = {
    "only here": ("◂", "bad"),
    "only there": ("▸", "final"),
    "changed": ("≠", "keyword"),
    "same": ("=", "faint"),
}
_PARTS: tuple[tuple[Where | None, str], ...] = ((None, "differences"), *((where, where) for where in get_args(Where)))
_COUNTED: tuple[Where, ...] = ("only here", "only there", "changed")
_LOSSES_NAMED = 4
_LONGEST_NAME, _LONGEST_AGENT, _LONGEST_BEGINNING = 120, 60, 400


@dataclass(frozen=True, slots=True)
class _Compared:
    """A file as it was read, and how it differs from the store."""

    path: Path
    snapshot: Snapshot
    differences: tuple[Difference, ...]

    def having(self, where: Where | None) -> tuple[Difference, ...]:
        """Those of one kind; None: all that differ."""
        if where is not None:
            return tuple(one for one in self.differences if one.where == where)
        return tuple(one for one in self.differences if one.where != "same")


class SnapshotPane(UpkeepPane):
    """The differences of one file from the store, of one kind or of all; some of them marked to be brought in."""

    KEYS: ClassVar[Sequence[Command]] = (
        Command("hydrate", "enter", "import", "Import the marked memories, or this one", True, writes=True,
                shell="hydrate"),
        *mark_commands("the row", "Mark all that can be imported"),
        Command("write", "W", "write", "Write the snapshot as ZeroClaw does", True, writes=True, shell="snapshot"),
        Command("next_part", "F,right", "filter", "Show the next kind", True),
        Command("previous_part", "left", "filter back", "Show the previous kind"),
        Command("copy", "y", "copy", "Copy the content, the snapshot's if it has one", shell="get {key}"),
        Command("open_file", "", "compare", "Compare with another file …"),
    )  # fmt: skip

    def __init__(self, room: UpkeepRoom, *, id: str) -> None:
        super().__init__(room, id=id)
        self._compared: _Compared | None = None
        self._path: Path | None = None
        self._part = 0
        self._shown: Difference | None = None
        self.differences = TableList(
            _COLUMNS, empty="Reading the snapshot …", mark=lambda one: one.key if _can_bring(one) else None
        )

    def compose_lists(self) -> ComposeResult:
        yield TabLine(id="parts")
        yield self.differences

    @property
    def home(self) -> Widget:
        """Where one starts."""
        return self.differences

    def reload(self) -> None:
        """Read file and store again."""
        self.run_worker(self._load(), group="snapshot-load", exclusive=True)

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        """Show the difference under the cursor."""
        event.stop()
        difference = self.differences.selected
        if difference is not self._shown:
            self._shown = difference
            show: WorkType[None] = partial(self._show, difference)
            self.run_worker(show, group="snapshot-diff", exclusive=True)

    def on_table_list_row_opened(self, event: TableList.RowOpened) -> None:
        event.stop()
        self.query_one(AboutPane).focus()

    def on_tab_line_wanted(self, event: TabLine.Wanted) -> None:
        event.stop()
        self._show_part(int(event.tab))

    def action_next_part(self) -> None:
        self._show_next_part(1)

    def action_previous_part(self) -> None:
        self._show_next_part(-1)

    def _show_next_part(self, step: int) -> None:
        """The next kind of difference of which there are any, or the one before."""
        if self._compared is not None:
            others = [(self._part + step * ahead) % len(_PARTS) for ahead in range(1, len(_PARTS))]
            filled = (at for at in others if self._compared.having(_PARTS[at][0]))
            self._show_part(next(filled, self._part))

    def action_mark(self) -> None:
        """Mark or unmark the row, and move to the next."""
        difference = self.differences.selected
        if difference is not None and not _can_bring(difference):
            warn(self, _nothing_to_bring(difference))
        else:
            self.differences.toggle_mark()

    def action_mark_all(self) -> None:
        self.differences.mark_all()

    def action_mark_none(self) -> None:
        self.differences.set_marks(())

    def on_table_list_marks_changed(self) -> None:
        self._paint_status()

    def action_hydrate(self) -> None:
        """Import the marked memories, else the row."""
        difference, marks = self.differences.selected, self.differences.marks
        if self._compared is None or (difference is None and not marks):
            warn(self, "Nothing to import here.")
        elif not marks and difference is not None and not _can_bring(difference):
            warn(self, _nothing_to_bring(difference))
        else:
            keys = sorted(marks or ([difference.key] if difference is not None else []))
            self.begin(partial(self._hydrate, path=self._compared.path, keys=keys))

    async def action_copy(self) -> None:
        difference = self.differences.selected
        entry = (difference.there or difference.here) if difference is not None else None
        if entry is not None:
            inform(self, await copy_text(self.app, entry.content))

    def action_open_file(self) -> None:
        form = path_form("Compare with which file?", "A MEMORY_SNAPSHOT.md, or a JSONL export of this program.")
        self.app.push_screen(form, lambda typed: self._open(path_typed(typed["path"])) if typed else None)

    def _open(self, path: Path) -> None:
        self._path, self._part, self._compared = path, 0, None
        self.differences.set_marks(())
        self.reload()

    async def _load(self) -> None:
        try:
            with saying(self, self.room.pace.patience, self._say_reading, again=True):
                compared = await self._compare()
        except InspectorError as error:
            self._say_why_none(error)
            return
        is_first = self._compared is None
        self._compared = compared
        there = {one.key for one in compared.differences if _can_bring(one)}
        self.differences.set_marks(key for key in self.differences.marks if key in there)
        self.failure.hide()
        self.remove_class("-none")
        self._paint(0 if is_first else self.differences.cursor)

    async def _compare(self) -> _Compared:
        path = self._path
        if path is None:
            path = self._path = await asyncio.to_thread(snapshots.place_of, self.library.config)
        snapshot = await asyncio.to_thread(load, path)
        return _Compared(path, snapshot, await compare(self.library, snapshot))

    def _say_reading(self) -> None:
        self.query_one(StatusBar).say("Comparing …")

    def _say_why_none(self, error: InspectorError) -> None:
        if self._compared is not None:
            self.failure.fail(error)
            self._paint_status()
            return
        is_own = self._path is not None and self._path.name == NAME
        can_write = self.library.read_only_because is None and is_own and isinstance(error, NotFound | Refused)
        hint = error.hint
        if isinstance(error, NotFound) and is_own:
            hint = (
                "ZeroClaw writes a snapshot of all core memories when it starts, if memory.snapshot_enabled and "
                "memory.snapshot_on_hygiene are on."
            )
        ways = ["Press W to write it from the core memories"] if can_write else []
        ways += ["type : compare to read another file", "r to reload"]
        self.say_title("Snapshot")
        self.add_class("-none")
        self.differences.say_empty(
            "\n\n".join(part for part in (shown_words(error.message), shown_words(hint), " · ".join(ways)) if part)
        )
        self.differences.set_rows(())
        self._paint_status()

    def _show_part(self, at: int) -> None:
        if self._compared is not None:
            self._part = at
            self._paint(0)

    def _paint(self, cursor: int) -> None:
        compared = self._compared
        if compared is None:
            return
        where = _PARTS[self._part][0]
        counts = [f"{len(compared.having(kind)):,}" for kind, _ in _PARTS]
        line = self.query_one(TabLine)
        line.tabs = tuple(TabName(str(at), counts[at], name) for at, (_, name) in enumerate(_PARTS))
        line.chosen = str(self._part)
        self.differences.say_empty(_empty_words(where, compared))
        self.differences.set_rows(compared.having(where), cursor=cursor)
        self.say_title(*_title_words(compared))
        self._paint_status()

    def _paint_status(self) -> None:
        marked = self.differences.marks_words
        marked = f"{marked}. Press ⏎ to import, \\ to unmark" if marked else ""
        notes = self._compared.snapshot.notes if self._compared is not None else ()
        self.query_one(StatusBar).say(marked, self.library.read_only_because or "", " ".join(map(shown_words, notes)))

    async def _show(self, difference: Difference | None) -> None:
        parts: list[str | tuple[str, str]] = []
        lines: list[DiffLine] = []
        entry = None
        if difference is not None:
            here, there = difference.here, difference.there
            entry = there or here
            parts = [(key_words(difference.key), STRONG), "\n", (_where_words(difference), MUTED)]
            if difference.lost:
                lost = "; ".join(map(one_line, difference.lost))
                parts += ["\n", (f"! ZeroClaw's own format loses: {lost}.", WARNING)]
            if here is not None and there is not None and difference.where == "changed":
                parts += ["\n", ("- in the store   + in the snapshot", MUTED)]
                found = await asyncio.to_thread(diff_lines, here.content, there.content)
                # Masked once they are compared: two secrets may differ in what is hidden.
                lines = [DiffLine(line.sign, mask_secrets(line.text)) for line in found]
        if difference is self._shown:
            text = "" if lines or entry is None else mask_secrets(entry.content)
            self.query_one(AboutPane).show(Content.assemble(*parts), lines, text)

    @changing
    async def action_write(self, library: Library) -> None:
        plan = await snapshots.plan_snapshot(library)
        if plan.count:
            title = f"Write {counted(plan.count)} to {one_line(plan.file.name)}?"
            if not await self.app.push_screen_wait(yes_or_no(title, _write_body(plan), "Cancel", "Write")):
                return
        if plan.foreign and not await self._replaces_foreign(plan):
            return
        write = partial(snapshots.write_snapshot, library, replaces_foreign=bool(plan.foreign))

        def written(outcome: Outcome) -> str:
            return " ".join(outcome.sentences(plan.done_sentence(outcome, " · u")))

        await self.carry_out(library, "Writing the snapshot", plan.count, lambda on_progress: write(), written)

    async def _replaces_foreign(self, plan: SnapshotPlan) -> bool:
        sentence = f"{' '.join(map(shown_words, plan.foreign))}\n\nThe old file goes to the trash. Press u to undo."
        question = Question(
            "Replace a file of another program?", Content(sentence), "Cancel",
            [Answer("R", "Replace", True)],
        )  # fmt: skip
        return await self.app.push_screen_wait(question) is True

    async def _hydrate(self, library: Library, *, path: Path, keys: Sequence[str]) -> None:
        plan = await self._planned(library, path, keys)
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

        bring = partial(import_memories, library, plan, policy)

        def came(outcome: Outcome) -> str:
            return " ".join(outcome.sentences(outcome.headline(" · u")))

        self.differences.set_marks(())
        await self.carry_out(library, f"Importing {counted(count)}", count, bring, came)

    async def _planned(self, library: Library, path: Path, keys: Sequence[str]) -> ImportPlan | None:
        """What hydrating would do; when the owner is unknown, a person chooses it. None when they left it."""
        try:
            return await plan_hydrate(Target.of(library), path, keys=keys)
        except Refused:
            agents = await _agents(library)
            if len(agents) < 2:
                raise
        answers = [Answer("", shown_line(agent, _LONGEST_AGENT), agent) for agent in agents]
        agent = await self.app.push_screen_wait(choice("Which agent owns the memories?", answers))
        return None if agent is None else await plan_hydrate(Target.of(library), path, keys=keys, agent=agent)


def _key(difference: Difference) -> Content | str:
    name = shown_line(difference.key)
    if name and not difference.lost:
        return name
    lossy = (" !", "keyword") if difference.lost else ""
    return Content.assemble((name, "text") if name else (EMPTY_KEY, "faint"), lossy)


def _beginning(difference: Difference) -> Content:
    entry = difference.there or difference.here
    text = shown_line(entry.content) if entry is not None else ""
    return Content.styled(text or EMPTY_CONTENT, "text" if text else "faint")


_COLUMNS: Sequence[Column[Difference]] = (
    Column("", lambda one: Content.styled(*_GLYPHS[one.where]), width=1),
    Column("where", lambda one: one.where, width=10, look="muted"),
    Column("key", _key, shortened=cut_key),
    Column("memory", _beginning, flex=True),
    Column("lost in the file", lambda one: "; ".join(one.lost), width=30, hidden_below=100, look="muted"),
)


async def _agents(library: Library) -> list[str]:
    if "agents" in library.memory.why_not:
        return []
    return sorted((await library.memory.health()).facts.get("agents") or ())


def _can_bring(difference: Difference) -> bool:
    """Whether the memory can be imported into the store."""
    return difference.there is not None and difference.where != "same"


def _nothing_to_bring(difference: Difference) -> str:
    """Why a row cannot be marked."""
    key = key_words(difference.key)
    if difference.there is None:
        return f"{key} is not in the snapshot. Press W to write it."
    return f"{key} is the same in both, so there is nothing to import."


def _title_words(compared: _Compared) -> tuple[str, str]:
    """Which file of when, how much is in it; and how it differs, which may be left out."""
    name = shown_line(compared.path.name, _LONGEST_NAME)
    of = f" of {absolute_time(compared.snapshot.exported)}" if compared.snapshot.exported else ""
    kind = "core memory" if compared.path.name == NAME else "memory"
    counts = Counter(one.where for one in compared.differences)
    differs = ", ".join(f"{counts[where]:,} {where}" for where in _COUNTED if counts[where])
    return f"{name}{of}: {counted(len(compared.snapshot.rows), kind)}", f"; {differs or 'same as the store'}"


def _where_words(difference: Difference) -> str:
    """What one difference is, in a sentence."""
    here, there = difference.here, difference.there
    if there is None:
        return "Only in the store: the snapshot does not have it."
    if here is None:
        return "Only in the snapshot: the store does not have it."
    if difference.where == "same":
        return "The same in both."
    return f"The content differs. The store's version is from {absolute_time(here.updated_at or here.timestamp)}."


def _empty_words(where: Where | None, compared: _Compared) -> str:
    """Why no row is shown."""
    if where is None and not compared.differences:
        return "Neither the store nor the snapshot has a core memory."
    if where is None:
        return (
            f"Store and snapshot have the same {counted(len(compared.differences))}. Later changes "
            "appear here until you write the snapshot again. Press F to show what is the same."
        )
    return f"Nothing is {where}. Press F for the next kind."


def _write_body(plan: SnapshotPlan) -> Content:
    """What is written, replaced and lost, with the first memories that lose something."""
    parts: list[str | tuple[str, str]] = [shown_words(str(plan.file))]
    parts += [(f"\n! {sentence}", WARNING) for sentence in map(shown_words, plan.foreign)]
    parts += [f"\n{shown_words(sentence)}" for sentence in plan.sentences()]
    for key, lost in plan.lossy[:_LOSSES_NAMED]:
        line = f"\n  {cut(key_words(key), SHORT_KEY)}: {'; '.join(map(one_line, lost))}"
        parts.append((shown_words(line), MUTED))
    if len(plan.lossy) > _LOSSES_NAMED:
        parts.append((f"\n  … and {len(plan.lossy) - _LOSSES_NAMED:,} more", MUTED))
    parts.append(("\n\nPress u to undo.", MUTED))
    return Content.assemble(*parts)
