"""Other copies of the text of memories: cleaning them with undo, or erasing the text everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.traces.copies import Text, clean_copies, cleaned_sentence, matcher_for
from zeroclaw_tui.curation.traces.erase import ErasePlan, EraseReport, erase_texts, plan_erase
from zeroclaw_tui.curation.traces.files import TextPlace
from zeroclaw_tui.memory.change import ProgressCallback
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import counted
from zeroclaw_tui.tui.actions import tail
from zeroclaw_tui.tui.dialogs import Dialog, Field, Form, TypedConfirmation, with_progress, yes_or_no
from zeroclaw_tui.tui.format import NO_VALUE, shown_line, with_tilde
from zeroclaw_tui.tui.help import TextScreen
from zeroclaw_tui.tui.themes import ACCENT, MUTED
from zeroclaw_tui.tui.widgets.growing_text import GrowingText
from zeroclaw_tui.tui.widgets.table_list import Column, TableList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_CHOSEN = "●"
_KEY_CELLS = 30
_MOST_PLACES = 12
TYPED = "erase"
_FOR_EVER = "This cannot be undone: it also deletes these rows from the trash."


class CopiesScreen(Dialog[Sequence[TextPlace]]):
    """Each place with what it holds; none is marked at first. Gives the places that were marked to be cleaned."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", "choose", id="copies.choose"),
        Binding("asterisk", "mark_all", "all that can be cleaned", id="copies.all"),
        Binding("backslash", "mark_none", "none", id="copies.none"),
        Binding("enter", "go_on", "clean", id="copies.clean"),
        Binding("escape,q", "step_out", "cancel", id="copies.out"),
    ]

    def __init__(self, library: Library, copies: Sequence[TextPlace]) -> None:
        super().__init__(_sentence(copies), None)
        self.add_class("-places")
        self._why_not = library.read_only_because or ""
        self._copies = copies
        self._places = TableList[TextPlace](
            (
                Column("", lambda copy: "" if self._mark_of(copy) else NO_VALUE, width=1, look="muted"),
                Column("kind", lambda copy: copy.kind),
                Column("where", lambda copy: with_tilde(copy.place), flex=True, shortened=tail),
                Column("copies", lambda copy: NO_VALUE if copy.count is None else f"{copy.count:,}", right=True),
            ),
            copies,
            mark=self._mark_of,
            id="places",
        )
        self._places.styles.height = 1 + min(len(copies), _MOST_PLACES)

    def compose_answers(self) -> ComposeResult:
        yield self._places
        yield GrowingText(id="remark")

    def on_mount(self) -> None:
        """Start on the first place that can be cleaned."""
        places = self._places
        places.cursor = next((at for at, copy in enumerate(self._copies) if self._mark_of(copy)), 0)
        places.focus()
        self.say(shown_line(self._why_not))

    @property
    def keys(self) -> str:
        """What can be done now."""
        can_clean = any(map(self._mark_of, self._copies))
        return "space mark   * all   enter clean marked   esc cancel" if can_clean else "esc done"

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        remark = "" if event.row is None else shown_line(event.row.why)
        self.query_one("#remark", Static).update(Content.styled(remark, MUTED))

    def on_table_list_marks_changed(self) -> None:
        self.say(self._places.marks_words)

    def action_go_on(self) -> None:
        """Leave with the places that are marked."""
        chosen = [copy for copy in self._copies if self._mark_of(copy) in self._places.marks]
        if chosen:
            self.dismiss(chosen)
        elif any(map(self._mark_of, self._copies)):
            self.say("Press space to mark a place first.")

    def action_mark(self) -> None:
        copy = self._places.selected
        if copy is not None and self._mark_of(copy) is None:
            self.say("This place cannot be cleaned here.")
        else:
            self._places.toggle_mark()

    def action_mark_all(self) -> None:
        self._places.mark_all()

    def action_mark_none(self) -> None:
        self._places.set_marks(())

    def _mark_of(self, copy: TextPlace) -> tuple[str, str] | None:
        """What a place is marked by; None where it cannot be cleaned."""
        return (copy.kind, copy.place) if copy.can_clean and not self._why_not else None


def _sentence(copies: Sequence[TextPlace]) -> str:
    if not copies:
        return "No other copies were found."
    can = sum(copy.can_clean for copy in copies)
    if len(copies) == 1:
        cleaned = "which can be cleaned here" if can else "which cannot be cleaned here"
    else:
        cleaned = "none can be cleaned here" if can == 0 else f"{can:,} can be cleaned here"
    return f"The text is still in {counted(len(copies), 'place')}, {cleaned}"


async def clean(app: App[Any], library: Library, copies: Sequence[TextPlace], patience: float) -> str | None:
    """Show the places, ask, and clean those that are marked; gives the report, None when nothing was tried.

    Runs in a worker. Raises InspectorError kinds.
    """
    chosen = await app.push_screen_wait(CopiesScreen(library, copies))
    if not chosen:
        return None
    places = "this place" if len(chosen) == 1 else f"these {len(chosen)} places"
    title = f"Remove the texts from {places}?"
    if not await app.push_screen_wait(yes_or_no(title, Content("Undo restores them."), "Cancel", "Remove")):
        return None

    async def work(on_progress: ProgressCallback) -> Outcome:
        return await clean_copies(library, chosen)

    outcome = await with_progress(app, "Cleaning …", 0, patience, work)
    done = f"✓ {cleaned_sentence(outcome)} · u reverses that." if outcome.count else cleaned_sentence(outcome)
    return " ".join([done, *outcome.notes])


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
    body = _plan_content(plan)
    if not plan.taken:
        await app.push_screen_wait(TextScreen(plan.title, body))
        return None
    title = f"Found in {counted(len(plan.places), 'place')}; to be erased: {len(plan.taken):,}"
    ask = f"Type {TYPED} to confirm:"
    confirmation = TypedConfirmation(title, body, TYPED, ask, "erase", must_be_seen=True)
    if not await app.push_screen_wait(confirmation):
        return None
    doing = "Erasing, then searching every file again …"
    report = await with_progress(app, doing, len(plan.taken), patience, partial(erase_texts, library, plan))
    lines = [shown_line(line) for line in report.sentences()[:-1]]
    head = f"✓ {report.outcome}" if report.is_complete else report.outcome
    await app.push_screen_wait(TextScreen(head, Content("\n".join(lines))))
    return report


def _plan_content(plan: ErasePlan) -> Content:
    """The memories that go; of each place its kind, its path and how often the text is there, then what that means."""
    parts: list[str | tuple[str, str]] = [f"{shown_line(sentence)}\n" for sentence in plan.sentences()]
    if plan.taken:
        parts.append(f"{_FOR_EVER}\n")
    for place in plan.places:
        glyph, look = ((_CHOSEN, ACCENT), "") if place.can_clean else ((NO_VALUE, MUTED), MUTED)
        where = f" {place.kind}  {shown_line(with_tilde(place.place))}  {place.count or 0:,}"
        parts += ["\n", glyph, (where, look), (f"\n  {shown_line(place.why)}" if place.why else "", MUTED)]
    return Content.assemble(*parts)
