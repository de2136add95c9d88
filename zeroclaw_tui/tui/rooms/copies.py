"""Other copies of the text of memories: cleaning them with undo, or erasing the text everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.traces.copies import Copy, Text, clean_copies, cleaned_sentence, matcher_for
from zeroclaw_tui.curation.traces.erase import ErasePlan, EraseReport, erase_texts, plan_erase
from zeroclaw_tui.memory.change import ProgressCallback
from zeroclaw_tui.memory.errors import InspectorError, UsageError
from zeroclaw_tui.memory.text import counted, display_text, mask_secrets, one_line
from zeroclaw_tui.tui.actions import tail
from zeroclaw_tui.tui.commands import start_work
from zeroclaw_tui.tui.dialogs import Answer, Dialog, Field, Form, Question, TypedConfirmation, with_progress
from zeroclaw_tui.tui.format import NO_VALUE, fit, shown_line, with_tilde
from zeroclaw_tui.tui.help import TextScreen
from zeroclaw_tui.tui.themes import ACCENT, MUTED
from zeroclaw_tui.tui.widgets.detail import ReadingPane
from zeroclaw_tui.tui.widgets.growing_text import GrowingText
from zeroclaw_tui.tui.widgets.table_list import Column, TableList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_CHOSEN = "●"
_KEY_CELLS = 30
_MOST_PLACES = 12
_PANEL = 100
_PADDING = 6
TYPED = "erase"
_FOR_EVER = "This cannot be undone: it also deletes these rows from the trash."


class CopiesScreen(Dialog[Outcome]):
    """Each place with what it holds; none is marked at first. Gives what was done last, None when nothing was."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", "choose", id="copies.choose"),
        Binding("asterisk", "mark_all", "all that can be cleaned", id="copies.all"),
        Binding("backslash", "mark_none", "none", id="copies.none"),
        Binding("enter", "go_on", "clean", id="copies.clean"),
        Binding("escape,q", "step_out", "cancel", id="copies.out"),
    ]

    def __init__(self, library: Library, copies: Sequence[Copy]) -> None:
        super().__init__(_sentence(copies), None)
        self.add_class("-places")
        self.library = library
        self._copies = copies
        self._is_asked = False
        self._is_working = False
        self._outcome: Outcome | None = None
        self._places = TableList[Copy](
            (
                Column("", lambda copy: "" if self._mark_of(copy) else NO_VALUE, width=1, look="muted"),
                Column("kind", lambda copy: copy.kind),
                Column("where", lambda copy: with_tilde(copy.place), flex=True, shortened=tail),
                Column("copies", lambda copy: NO_VALUE if copy.count is None else f"{copy.count:,}", right=True),
            ),
            self._copies,
            mark=self._mark_of,
            id="places",
        )
        self._places.styles.height = 1 + min(len(self._copies), _MOST_PLACES)

    def compose_answers(self) -> ComposeResult:
        yield self._places
        yield GrowingText(id="remark")
        yield GrowingText(id="asked")

    def on_mount(self) -> None:
        """Start on the first place that can be cleaned."""
        places = self._places
        places.cursor = next((at for at, copy in enumerate(self._copies) if self._mark_of(copy)), 0)
        places.focus()
        self._say(self.library.read_only_because or "")

    @property
    def keys(self) -> str:
        """What can be done now."""
        if self._is_working:
            return ""
        if self._outcome is not None:
            return "esc done"
        if self._is_asked:
            return "enter clean   esc cancel"
        if any(map(self._mark_of, self._copies)):
            return "space mark   * all   enter clean marked   esc cancel"
        return "esc done"

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        remark = "" if event.row is None else shown_line(event.row.remark)
        self.query_one("#remark", Static).update(Content.styled(remark, MUTED))

    def on_table_list_marks_changed(self) -> None:
        if self._outcome is None:
            self._is_asked = False
            self._say(self._places.marks_words)

    def action_go_on(self) -> None:
        """Ask, then clean."""
        marks = self._places.marks
        if self._is_working or not any(map(self._mark_of, self._copies)):
            return
        if not marks:
            self._say("Press space to mark a place first.")
        elif not self._is_asked:
            self._is_asked = True
            places = "this place" if len(marks) == 1 else f"these {len(marks)} places"
            self._say(f"Remove the texts from {places}? Undo restores them.")
        else:
            self._is_working = True
            self._say("Cleaning …")
            start_work(self, "copies-write", self._clean, exclusive=False)

    def action_mark(self) -> None:
        copy = self._places.selected
        if copy is not None and self._mark_of(copy) is None and self._outcome is None:
            self._say("This place cannot be cleaned here. The line below the list gives the reason.")
        elif not self._is_working:
            self._places.toggle_mark()

    def action_mark_all(self) -> None:
        if not self._is_working and self._outcome is None:
            self._places.mark_all()

    def action_mark_none(self) -> None:
        if not self._is_working and self._outcome is None:
            self._places.set_marks(())

    def action_step_out(self) -> None:
        """From the question to the places, from there out; not while something is being written."""
        if self._is_working:
            return
        if self._is_asked and self._outcome is None:
            self._is_asked = False
            self._say("")
        else:
            self.dismiss(self._outcome)

    def _mark_of(self, copy: Copy) -> tuple[str, str] | None:
        """What a place is marked by; None where it cannot be cleaned."""
        is_open = copy.can_clean and self.library.read_only_because is None and self._outcome is None
        return (copy.kind, copy.place) if is_open else None

    async def _clean(self) -> None:
        marks = self._places.marks
        chosen = [copy for copy in self._copies if self._mark_of(copy) in marks]
        try:
            self._outcome = outcome = await clean_copies(self.library, chosen)
        except InspectorError as error:
            self._is_asked = False
            result_line = f"✗ {error}"
        else:
            sign, after = ("✓ ", "Close this, then press u to undo.") if outcome.count else ("", "")
            result_line = " ".join(filter(None, [f"{sign}{cleaned_sentence(outcome)}", *outcome.notes, after]))
        finally:
            self._is_working = False
        self._places.refresh()
        self._say(result_line)

    def _say(self, sentence: str) -> None:
        asked = self.query_one("#asked", Static)
        asked.display = bool(sentence)
        asked.update(Content(display_text(mask_secrets(sentence))))
        self.say("")


def _sentence(copies: Sequence[Copy]) -> str:
    if not copies:
        return "No other copies were found."
    can = sum(copy.can_clean for copy in copies)
    if len(copies) == 1:
        cleaned = "which can be cleaned here" if can else "which cannot be cleaned here"
    else:
        cleaned = "none can be cleaned here" if can == 0 else f"{can:,} can be cleaned here"
    return f"The text is still in {counted(len(copies), 'place')}, {cleaned}"


async def erase(
    app: App[Any], library: Library, marked: Sequence[Text], patience: float, *, here: Text | None = None
) -> EraseReport | None:
    """Ask for a text to erase with the marked memories, show all places, ask for a typed confirmation, and report the
    result; None when nothing was erased. Without marks and text the memory `here` is erased. Runs in a
    worker. Raises InspectorError kinds."""
    what, asks = "a text", "The text to erase (case-insensitive)."
    if marked:
        what = f"{counted(len(marked))} and {'its' if len(marked) == 1 else 'their'} text"
        asks = "Another text to erase, such as a name. Leave it empty to erase only the marked memories."
    elif here is not None:
        key = shown_line(here.key, _KEY_CELLS)
        asks = f"The text to erase (case-insensitive). Leave it empty to erase the memory {key} and its text."

    def chosen_texts(typed: str) -> Sequence[Text]:
        return [here] if here is not None and not marked and not typed.strip() else marked

    def below(values: Mapping[str, str]) -> Content:
        try:
            matcher_for(chosen_texts(values["text"]), values["text"])
        except UsageError as error:
            raise UsageError(error.message, hint=asks) from error
        return Content(asks)

    title = f"Erase {what} from the whole install"
    typed = await app.push_screen_wait(Form(title, None, [Field("text", "text")], below, does="search"))
    if typed is None:
        return None
    texts = chosen_texts(typed["text"])
    matcher, ids = matcher_for(texts, typed["text"]), frozenset(text.id for text in texts)

    async def look(on_progress: ProgressCallback) -> ErasePlan:
        return await plan_erase(library, matcher, ids)

    plan = await with_progress(app, "Searching every file …", 0, patience, look)
    if await app.push_screen_wait(_plan_question(app, plan)) is None:
        return None
    confirmation = TypedConfirmation(
        _plan_text(plan), Content(_FOR_EVER), TYPED, f"Type {TYPED} to confirm:", "erase", must_be_seen=True
    )
    if not await app.push_screen_wait(confirmation):
        return None
    doing = "Erasing, then searching every file again …"
    report = await with_progress(app, doing, len(plan.taken), patience, partial(erase_texts, library, plan))
    lines = [shown_line(line) for line in report.sentences()[:-1]]
    head = f"✓ {report.outcome}" if report.is_complete else report.outcome
    await app.push_screen_wait(TextScreen(head, Content("\n".join(lines))))
    return report


def _plan_question(app: App[Any], plan: ErasePlan) -> Question[Literal["erase"]]:
    answers: list[Answer[Literal["erase"]]] = [Answer("y", "Erase …", "erase")] if plan.taken else []
    width = min(_PANEL, app.size.width * 96 // 100) - _PADDING - 2
    remark_lines = [Content(f"\n{_FOR_EVER}")] if plan.taken else []
    body = ReadingPane(Static(Content("\n").join([*_plan_lines(plan, width), *remark_lines])))
    body.styles.width = width
    return Question(_plan_text(plan), body, "Cancel", answers)


def _plan_text(plan: ErasePlan) -> str:
    if not plan.places:
        return plan.title
    return f"Found in {counted(len(plan.places), 'place')}; to be erased: {len(plan.taken):,}"


def _plan_lines(plan: ErasePlan, width: int) -> list[Content]:
    """The memories that go; of each place its kind, its end and how often the text is there, then what that means, in
    lines of so many cells."""
    kinds = max((cell_len(place.kind) for place in plan.places), default=0)
    counts = max((cell_len(f"{place.found or 0:,}") for place in plan.places), default=0)
    room = max(8, width - kinds - counts - 7)
    lines = [Content(f"{shown_line(sentence)}\n") for sentence in plan.sentences()]
    for place in plan.places:
        remark = one_line(place.why)
        glyph, plain = ((_CHOSEN, ACCENT), "") if place.takes else ((NO_VALUE, MUTED), MUTED)
        where = tail(shown_line(with_tilde(place.place)), room)
        words = f" {fit(place.kind, kinds)}  {fit(where, room)}  {place.found or 0:>{counts},}"
        remark_lines = "".join(f"\n  {line.plain}" for line in Content(remark).wrap(max(8, width - 3)))
        lines.append(Content.assemble(glyph, (words, plain), (remark_lines if remark else "", MUTED)))
    return lines
