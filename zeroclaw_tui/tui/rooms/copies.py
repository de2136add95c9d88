"""Where the text of memories still lies: cleaning what can be cleaned, or erasing it everywhere for ever."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.changes import Outcome
from zeroclaw_tui.curation.copies.copies import Copy, clean_copies
from zeroclaw_tui.curation.copies.texts import SHORT, Text
from zeroclaw_tui.curation.erase.erase import ErasePlan, EraseReport, erase_texts, plan_erase, rows_to_erase
from zeroclaw_tui.curation.erase.removal import Chosen
from zeroclaw_tui.curation.erase.spellings import Spellings
from zeroclaw_tui.curation.words import cleaned_words, undone_words
from zeroclaw_tui.memory.change import Advance
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import counted, display_text, mask_secrets, one_line
from zeroclaw_tui.tui.actions import loss_words, tail
from zeroclaw_tui.tui.dialogs import Answer, Dialog, Field, Form, Question, TypedConfirmation, with_progress
from zeroclaw_tui.tui.format import NO_VALUE, count_text, fit, next_line, with_tilde
from zeroclaw_tui.tui.help import TextScreen
from zeroclaw_tui.tui.themes import ACCENT, MUTED
from zeroclaw_tui.tui.widgets.detail import ReadingPane

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_CHOSEN, _FREE, _FIXED = "●", "○", NO_VALUE
_PANEL = 100
_PADDING = 6
_LONGEST_REMARK = 400
_KEYS = "space choose   * all   enter clean the chosen   esc leave them"
_KEYS_ASKED = "enter clean them   esc leave them"
_KEYS_DONE = "u takes it back   esc done"
_KEYS_OVER = "esc done"
TYPED = "erase"
_LONGEST_LINE = 600
_FOR_EVER = "Nothing brings it back: erasing also empties the trash of these rows."


class CopiesScreen(Dialog[Outcome]):
    """Each place with what it holds; nothing is chosen at first. Gives what was done last, None when nothing was."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "choose", "choose", id="copies.choose"),
        Binding("asterisk", "choose_all", "all that can be cleaned", id="copies.all"),
        Binding("backslash", "choose_none", "none", id="copies.none"),
        Binding("u", "undo", "take it back", id="copies.undo"),
        Binding("escape,q", "step_out", "leave them", id="copies.out"),
        Binding("j", "cursor('down')", "down", show=False),
        Binding("k", "cursor('up')", "up", show=False),
    ]

    def __init__(self, library: Library, copies: Sequence[Copy]) -> None:
        super().__init__(_sentence(copies), None)
        self.library = library
        self._copies = list(copies)
        self._chosen: set[int] = set()
        self._is_asked = False
        self._is_working = False
        self._outcome: Outcome | None = None

    def compose_answers(self) -> ComposeResult:
        yield OptionList(id="places", markup=False, compact=True)
        yield Static("", id="asked", markup=False)

    def on_mount(self) -> None:
        """Start on the first place that can be cleaned."""
        self.add_class("-places")
        self._paint_places()
        cleanable = self._cleanable()
        self.query_one(OptionList).highlighted = cleanable[0] if cleanable else 0
        self._say(self.library.read_only_because or "", _KEYS if cleanable else _KEYS_OVER)

    def on_resize(self) -> None:
        self._paint_places()

    def on_option_list_option_selected(self) -> None:
        """Ask, then clean."""
        if self._is_working or self._outcome is not None or not self._cleanable():
            return
        if not self._chosen:
            self._say("Nothing is chosen yet: space chooses a place.", _KEYS)
        elif not self._is_asked:
            self._is_asked = True
            places = "this place" if len(self._chosen) == 1 else f"these {len(self._chosen)} places"
            self._say(f"Remove the texts from {places}? What goes is kept, and can be taken back.", _KEYS_ASKED)
        else:
            self._work("Cleaning …", self._clean())

    def action_cursor(self, way: str) -> None:
        options = self.query_one(OptionList)
        options.action_cursor_down() if way == "down" else options.action_cursor_up()

    def action_choose(self) -> None:
        """Choose the place, or no longer."""
        at = self.query_one(OptionList).highlighted
        if at in self._cleanable():
            self._choose(self._chosen ^ {at})
        elif at is not None and self._outcome is None:
            self._say(
                "This place cannot be cleaned here; its line says why.", _KEYS if self._cleanable() else _KEYS_OVER
            )

    def action_choose_all(self) -> None:
        self._choose(set(self._cleanable()))

    def action_choose_none(self) -> None:
        self._choose(set())

    def action_undo(self) -> None:
        if self._outcome is not None and self._outcome.action is not None:
            self._work("Taking it back …", self._undo())

    def action_step_out(self) -> None:
        """From the question to the places, from there out; not while something is being written."""
        if self._is_working:
            return
        if self._is_asked and self._outcome is None:
            self._is_asked = False
            self._say("", _KEYS)
        else:
            self.dismiss(self._outcome)

    def _cleanable(self) -> list[int]:
        if self.library.read_only_because is not None or self._outcome is not None:
            return []
        return [at for at, copy in enumerate(self._copies) if copy.can_clean]

    def _choose(self, chosen: set[int]) -> None:
        if self._is_working or self._outcome is not None:
            return
        self._chosen, self._is_asked = chosen, False
        self._paint_places()
        self._say(f"{count_text(len(chosen))} chosen" if chosen else "", _KEYS if self._cleanable() else _KEYS_OVER)

    def _work(self, doing: str, work: Coroutine[Any, Any, None]) -> None:
        if self._is_working:
            work.close()
            return
        self._is_working = True
        self._say(doing, "")
        self.run_worker(self._guarded(work), group="copies-write")

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except InspectorError as error:
            self._is_asked = False
            self._say(f"✗ {error}", _KEYS if self._cleanable() else _KEYS_OVER)
        finally:
            self._is_working = False

    async def _clean(self) -> None:
        outcome = await clean_copies(self.library, [self._copies[at] for at in sorted(self._chosen)])
        self._outcome = outcome
        done = f"✓ {cleaned_words(outcome)}" if outcome.count else cleaned_words(outcome)
        self._paint_places()
        self._say(" ".join([done, *outcome.notes]), _KEYS_DONE if outcome.action is not None else _KEYS_OVER)

    async def _undo(self) -> None:
        done = self._outcome.action if self._outcome is not None else None
        self._outcome = await changes.undo(self.library, expected=done.number if done is not None else None)
        self._say(undone_words(self._outcome), _KEYS_OVER)

    def _say(self, sentence: str, keys: str) -> None:
        asked = self.query_one("#asked", Static)
        asked.display = bool(sentence)
        asked.update(Content(display_text(mask_secrets(sentence))))
        self.query_one("#keys", Static).update(keys)

    def _paint_places(self) -> None:
        options = self.query_one(OptionList)
        at = options.highlighted
        width = min(_PANEL, self.app.size.width * 96 // 100) - _PADDING - 2
        options.clear_options()
        options.add_options([Option(self._place(number, width)) for number in range(len(self._copies))])
        options.highlighted = at

    def _place(self, at: int, width: int) -> Content:
        copy = self._copies[at]
        can = copy.can_clean and self.library.read_only_because is None
        glyph = _CHOSEN if at in self._chosen else _FREE if can else _FIXED
        kinds = max(cell_len(one.kind) for one in self._copies)
        counts = [NO_VALUE if one.count is None else count_text(one.count) for one in self._copies]
        remark = one_line(mask_secrets(copy.remark[:_LONGEST_REMARK]))
        return _place_line(
            glyph, copy.kind, kinds, copy.place, counts[at], max(map(cell_len, counts)), remark, width, is_open=can
        )


def _sentence(copies: Sequence[Copy]) -> str:
    places = "1 place" if len(copies) == 1 else f"{count_text(len(copies))} places"
    if not copies:
        return "The text lies nowhere else."
    can = sum(copy.can_clean for copy in copies)
    if len(copies) == 1:
        cleaned = "which can be cleaned here" if can else "which cannot be cleaned here"
    else:
        cleaned = "none can be cleaned here" if can == 0 else f"{count_text(can)} can be cleaned here"
    return f"The text may still lie in {places}, {cleaned}"


def _wrapped(text: str, width: int) -> list[str]:
    lines, start = [], 0
    while start < len(text):
        line, start = next_line(text, start, width)
        lines.append(line)
    return lines


async def erase(app: App[Any], library: Library, marked: Sequence[Text], patience: float) -> EraseReport | None:
    """Ask for a text beside the marked memories, show where all of it lies, have the answer typed, and tell what was
    done; None when nothing was erased. Runs in a worker. Raises InspectorError kinds."""
    its = "its" if len(marked) == 1 else "their"
    what = f"{counted(len(marked))} and {its} text" if marked else "a text"
    also = "A text to erase as well, a name perhaps; empty for the marked memories alone."
    asks = also if marked else "The text to erase, in any case of letters."

    def below(values: Mapping[str, str]) -> Content:
        _spellings(marked, values["text"])
        return Content(asks)

    title = f"Erase {what} from the whole install"
    typed = await app.push_screen_wait(Form(title, None, [Field("text", "text")], below, does="look for it"))
    if typed is None:
        return None
    spellings, ids = _spellings(marked, typed["text"]), frozenset(text.id for text in marked)
    plan: ErasePlan | None = None
    also_files = False
    while True:
        if plan is None:
            chosen = Chosen(spellings, ids, also_files)

            async def look(advance: Advance, chosen: Chosen = chosen) -> ErasePlan:
                return await plan_erase(library, chosen)

            plan = await with_progress(app, "Looking into every file …", 0, patience, look)
        answer = await app.push_screen_wait(await _plan_question(app, library, plan, also_files=also_files))
        if answer is None:
            return None
        if answer == "files":
            plan, also_files = None, not also_files
            continue
        confirmation = TypedConfirmation(
            _plan_words(plan), Content(_FOR_EVER), TYPED, f"Type {TYPED} to do it:", "erase", is_final=True
        )
        if await app.push_screen_wait(confirmation):
            break
    found = plan

    async def run(advance: Advance) -> EraseReport:
        return await erase_texts(library, found, advance)

    doing = "Erasing, then looking at every byte once more …"
    report = await with_progress(app, doing, len(found.taken), patience, run)
    told = [display_text(one_line(line[:_LONGEST_LINE])) for line in report.sentences()[:-1]]
    head = f"✓ {report.outcome}" if report.is_complete else report.outcome
    await app.push_screen_wait(TextScreen(head, Content("\n".join(told))))
    return report


def _spellings(marked: Sequence[Text], typed: str) -> Spellings:
    # What is shorter stands in too much: of such a memory only the row goes.
    texts = [text.content for text in marked if len(text.content.strip()) >= SHORT]
    return Spellings([*texts, *([typed] if typed.strip() else [])])


async def _plan_question(
    app: App[Any], library: Library, plan: ErasePlan, *, also_files: bool
) -> Question[Literal["erase", "files"]]:
    answers: list[Answer[Literal["erase", "files"]]] = [Answer("y", "Erase …", "erase")] if plan.taken else []
    answers.append(Answer("f", f"Look again with{'out' if also_files else ''} files of the workspace", "files"))
    width = min(_PANEL, app.size.width * 96 // 100) - _PADDING - 2
    losses = await loss_words(library, await rows_to_erase(library, plan))
    told = [one for one in (losses, _FOR_EVER) if one] if plan.taken else []
    body = ReadingPane(
        Static(Content("\n").join([*_plan_lines(plan, width), *(Content(f"\n{one}") for one in told)])), id="places"
    )
    body.styles.width = width
    return Question(_plan_words(plan), body, "Leave it", answers)


def _plan_words(plan: ErasePlan) -> str:
    if not plan.places:
        return f"The text lies nowhere: {count_text(plan.files)} files were looked into"
    places = "1 place" if len(plan.places) == 1 else f"{count_text(len(plan.places))} places"
    return f"The text lies in {places}; to be erased: {count_text(len(plan.taken))}"


def _plan_lines(plan: ErasePlan, width: int) -> list[Content]:
    kinds = max((cell_len(place.kind) for place in plan.places), default=0)
    counts = max((cell_len(count_text(place.found)) for place in plan.places), default=0)
    lines = []
    for place in plan.places:
        running = f"open in {place.open_in}: its bytes stay until that stops" if place.open_in else ""
        remark = one_line(" ".join(filter(None, (place.why, running))))
        glyph = _CHOSEN if place.takes else _FIXED
        lines.append(
            _place_line(
                glyph, place.kind, kinds, place.place, count_text(place.found), counts, remark, width,
                is_open=place.takes,
            )
        )  # fmt: skip
    for near in plan.near:
        text = one_line(mask_secrets(near.text[:_LONGEST_LINE]))
        line = f"  near, and stays ({near.how}): {one_line(near.key[:_LONGEST_LINE])} · {text}"
        lines.append(Content.styled(fit(line, width), MUTED))
    return lines


def _place_line(
    glyph: str, kind: str, kinds: int, place: str, count: str, counts: int, remark: str, width: int, *, is_open: bool
) -> Content:
    """Glyph, kind, the end of a place, how much lies there; then what that means, in lines of so many cells."""
    room = max(8, width - kinds - counts - 7)
    where = one_line(mask_secrets(with_tilde(place[:_LONGEST_LINE])))
    plain = "" if is_open else MUTED
    told = "\n  ".join(_wrapped(remark, max(8, width - 3)))
    return Content.assemble(
        (glyph, ACCENT if is_open else MUTED), " ", (fit(kind, kinds), plain), "  ",
        (fit(tail(where, room), room), plain), "  ", (fit(count, counts, "right"), plain),
        (f"\n  {told}" if told else "", MUTED),
    )  # fmt: skip
