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
from zeroclaw_tui.tui.dialogs import Dialog, Field, Form, Page, TypedConfirmation, with_progress
from zeroclaw_tui.tui.format import NO_VALUE, shorten_path, shown_line, with_tilde
from zeroclaw_tui.tui.themes import ACCENT, MUTED
from zeroclaw_tui.tui.widgets.growing_text import GrowingText
from zeroclaw_tui.tui.widgets.table_list import MARKED, Column, TableList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_KEY_CELLS = 30
_MAX_PLACES = 12
_WORD = "erase"


class CopiesScreen(Dialog[Sequence[TextPlace]]):
    """Each place with what it holds; none is marked at first. Gives the places that were marked to be cleaned."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", "choose", id="copies.choose"),
        Binding("asterisk", "mark_all", "all that can be cleaned", id="copies.all"),
        Binding("enter", "go_on", "clean", id="copies.clean"),
        Binding("escape,q", "step_out", "cancel", id="copies.out"),
    ]

    def __init__(self, library: Library, copies: Sequence[TextPlace]) -> None:
        self._why_not = library.read_only_because or ""
        self._can_clean = any(map(self._mark_of, copies))
        title = "No other copies were found."
        if copies:
            can = sum(copy.can_clean for copy in copies)
            how_many = "cannot be cleaned here" if can == 0 else "can be cleaned here"
            some = "which" if len(copies) == 1 else f"{can:,} of which" if can else "which"
            title = f"The text is still in {counted(len(copies), 'place')}, {some} {how_many}"
        super().__init__(title, None)
        self.add_class("-places")
        if self._can_clean:
            self.keys = "space mark   * all   enter clean marked   esc cancel"
        columns = (
            Column[TextPlace]("", lambda copy: "" if self._mark_of(copy) else NO_VALUE, width=1, look="muted"),
            Column[TextPlace]("kind", lambda copy: copy.kind),
            Column[TextPlace]("where", lambda copy: with_tilde(copy.place), flex=True, shortened=shorten_path),
            Column[TextPlace]("copies", lambda copy: NO_VALUE if copy.count is None else f"{copy.count:,}", right=True),
        )
        self._places = TableList(columns, copies, mark=self._mark_of, id="places")
        self._places.styles.height = 1 + min(len(copies), _MAX_PLACES)

    def compose_answers(self) -> ComposeResult:
        yield self._places
        yield GrowingText(id="remark")

    def on_mount(self) -> None:
        """Start on the first place that can be cleaned."""
        places = self._places
        places.cursor = next((at for at, copy in enumerate(places.rows) if self._mark_of(copy)), 0)
        places.focus()
        self.say(shown_line(self._why_not))

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        remark = "" if event.row is None else shown_line(event.row.why)
        self.query_one("#remark", Static).update(Content.styled(remark, MUTED))

    def on_table_list_marks_changed(self) -> None:
        self.say(self._places.marks_words)

    def action_go_on(self) -> None:
        """Leave with the places that are marked."""
        chosen = [copy for copy in self._places.rows if self._mark_of(copy) in self._places.marks]
        if chosen:
            self.dismiss(chosen)
        elif self._can_clean:
            self.say("Press space to mark a place first.")

    def action_mark(self) -> None:
        copy = self._places.selected
        if copy is not None and self._mark_of(copy) is None:
            self.say("This place cannot be cleaned here.")
        else:
            self._places.toggle_mark()

    def action_mark_all(self) -> None:
        self._places.mark_all()

    def _mark_of(self, copy: TextPlace) -> tuple[str, str] | None:
        """What a place is marked by; None where it cannot be cleaned."""
        return (copy.kind, copy.place) if copy.can_clean and not self._why_not else None


async def clean(app: App[Any], library: Library, copies: Sequence[TextPlace], patience: float) -> str | None:
    """Show the places, and clean those that are marked; gives the report, None when nothing was tried.

    Runs in a worker. Raises InspectorError kinds.
    """
    chosen = await app.push_screen_wait(CopiesScreen(library, copies))
    if not chosen:
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

    form = Form(f"Erase {what} from the whole install", None, [Field("text", "text")], below, does="search")
    typed = await app.push_screen_wait(form)
    if typed is None:
        return None
    texts = chosen_texts(typed["text"])
    matcher, ids = matcher_for(texts, typed["text"]), frozenset(text.id for text in texts)

    async def search(on_progress: ProgressCallback) -> ErasePlan:
        return await plan_erase(library, matcher, ids)

    plan = await with_progress(app, "Searching every file …", 0, patience, search)
    body = _plan_content(plan)
    if not plan.taken:
        await app.push_screen_wait(Page(plan.title, body))
        return None
    title = f"Found in {counted(len(plan.places), 'place')}; to be erased: {len(plan.taken):,}"
    ask = f"Type {_WORD} to confirm:"
    if not await app.push_screen_wait(TypedConfirmation(title, body, _WORD, ask, _WORD, must_be_seen=True)):
        return None
    sentence = "Erasing, then searching every file again …"
    report = await with_progress(app, sentence, len(plan.taken), patience, partial(erase_texts, library, plan))
    lines = [shown_line(line) for line in report.sentences()[:-1]]
    head = f"✓ {report.outcome}" if report.is_complete else report.outcome
    await app.push_screen_wait(Page(head, Content("\n".join(lines))))
    return report


def _plan_content(plan: ErasePlan) -> Content:
    """The memories that go; of each place its kind, its path and how often the text is there, then what that means."""
    parts: list[str | tuple[str, str]] = [f"{shown_line(sentence)}\n" for sentence in plan.sentences()]
    if plan.taken:
        parts.append("This cannot be undone: it also deletes these rows from the trash.\n")
    for place in plan.places:
        glyph, look = ((MARKED, ACCENT), "") if place.can_clean else ((NO_VALUE, MUTED), MUTED)
        where = f" {place.kind}  {shown_line(with_tilde(place.place))}  {place.count or 0:,}"
        parts += ["\n", glyph, (where, look), (f"\n  {shown_line(place.why)}" if place.why else "", MUTED)]
    return Content.assemble(*parts)
