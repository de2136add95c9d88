"""Where the text of memories still lies: cleaning what can be cleaned, or erasing it everywhere for ever."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.changes import Outcome
from zeroclaw_tui.curation.copies.copies import Copy, clean_copies
from zeroclaw_tui.curation.copies.texts import SHORT, Text
from zeroclaw_tui.curation.erase.erase import ErasePlan, EraseReport, erase_texts, plan_erase, rows_to_erase
from zeroclaw_tui.curation.erase.removal import Chosen
from zeroclaw_tui.curation.erase.spellings import Spellings
from zeroclaw_tui.curation.words import cleaned_words, undone_words
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import counted, display_text, mask_secrets, one_line
from zeroclaw_tui.tui.actions import loss_words, tail
from zeroclaw_tui.tui.format import NO_VALUE, count_text, fit, next_line, with_tilde
from zeroclaw_tui.tui.themes import ACCENT, MUTED

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
Stage = Literal["text", "looking", "plan", "typing", "erasing", "report"]
TYPED = "erase"
_ERASE_PANEL, _ERASE_PADDING = 100, 6
_LONGEST_LINE = 600
_STAGE_KEYS: dict[Stage, str] = {
    "text": "enter look for it   esc leave it",
    "looking": "esc leave it",
    "plan": "enter erase …   f with files of the workspace, or without   esc leave it",
    "typing": "enter erase   esc back to the plan",
    "erasing": "",
    "report": "esc done",
}
_FOR_EVER = "Nothing brings it back: erasing also empties the trash of these rows."


class CopiesScreen(ModalScreen[Outcome | None]):
    """Each place with what it holds; nothing is chosen at first. Gives what was done last, None when nothing was."""

    CSS_PATH = "copies.tcss"
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
        super().__init__()
        self.library = library
        self._copies = list(copies)
        self._chosen: set[int] = set()
        self._is_asked = False
        self._is_working = False
        self._outcome: Outcome | None = None

    def compose(self) -> ComposeResult:
        """A sentence, the places, what is asked or was done, keys."""
        with Vertical(id="copies"):
            yield Static(Content(self._sentence()), id="sentence")
            yield OptionList(id="places", markup=False, compact=True)
            yield Static("", id="asked", markup=False)
            yield Static("", id="keys", markup=False)

    def on_mount(self) -> None:
        """Start on the first place that can be cleaned."""
        self._paint_places()
        cleanable = self._cleanable()
        self.query_one(OptionList).highlighted = cleanable[0] if cleanable else 0
        self._say(self.library.read_only_because or "", _KEYS if cleanable else _KEYS_OVER)

    def on_resize(self) -> None:
        """Cut places to the new width."""
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
        """Move like in a list."""
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
        """Choose every place that can be cleaned."""
        self._choose(set(self._cleanable()))

    def action_choose_none(self) -> None:
        """Choose nothing."""
        self._choose(set())

    def action_undo(self) -> None:
        """Take back what was cleaned."""
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

    def _sentence(self) -> str:
        places = "1 place" if len(self._copies) == 1 else f"{count_text(len(self._copies))} places"
        if not self._copies:
            return "The text lies nowhere else."
        can = sum(copy.can_clean for copy in self._copies)
        if len(self._copies) == 1:
            cleaned = "which can be cleaned here" if can else "which cannot be cleaned here"
        else:
            cleaned = "none can be cleaned here" if can == 0 else f"{count_text(can)} can be cleaned here"
        return f"The text may still lie in {places}, {cleaned}"

    def _paint_places(self) -> None:
        options = self.query_one(OptionList)
        at = options.highlighted
        width = min(_PANEL, self.app.size.width * 96 // 100) - _PADDING - 2
        options.clear_options()
        options.add_options([Option(self._place(number, width)) for number in range(len(self._copies))])
        options.highlighted = at

    def _place(self, at: int, width: int) -> Content:
        """Two lines: glyph, kind, place and count; then what it means."""
        copy = self._copies[at]
        can = copy.can_clean and self.library.read_only_because is None
        glyph = _CHOSEN if at in self._chosen else _FREE if can else _FIXED
        kind_cells = max(cell_len(one.kind) for one in self._copies)
        count_words = NO_VALUE if copy.count is None else count_text(copy.count)
        counts = max(cell_len(NO_VALUE if one.count is None else count_text(one.count)) for one in self._copies)
        room = max(8, width - 2 - kind_cells - 2 - 2 - counts - 1)
        place = one_line(mask_secrets(with_tilde(copy.place[:1000])))
        plain = "" if can else MUTED
        remark = "\n  ".join(_wrapped(_remark(copy), max(8, width - 3)))
        return Content.assemble(
            (glyph, ACCENT if can else MUTED),
            " ",
            (fit(copy.kind, kind_cells), plain),
            "  ",
            (fit(tail(place, room), room), plain),
            "  ",
            (fit(count_words, counts, "right"), plain),
            "\n",
            (f"  {remark}", MUTED),
        )


def _wrapped(text: str, width: int) -> list[str]:
    lines, start = [], 0
    while start < len(text):
        line, start = next_line(text, start, width)
        lines.append(line)
    return lines


def _remark(copy: Copy) -> str:
    return one_line(mask_secrets(copy.remark[:_LONGEST_REMARK]))


class EraseScreen(ModalScreen[EraseReport | None]):
    """Asks for a text beside the marked memories, shows where all of it lies, has the answer typed, and tells what was
    done. Gives the report, None when nothing was erased."""

    CSS_PATH = "copies.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "toggle_files", "with files", id="erase.files"),
        Binding("escape", "step_out", "leave it", id="erase.out", priority=True),
        Binding("j", "cursor('down')", "down", show=False),
        Binding("k", "cursor('up')", "up", show=False),
    ]

    def __init__(self, library: Library, marked: Sequence[Text]) -> None:
        super().__init__()
        self.is_final = True
        self.stands_since = inf
        self.library = library
        self._marked = list(marked)
        self._spellings: Spellings | None = None
        self._also_files = False
        self._stage: Stage = "text"
        self._plan: ErasePlan | None = None
        self._report: EraseReport | None = None
        self._losses = ""

    def compose(self) -> ComposeResult:
        """A sentence, places or the report, what is typed, keys."""
        with Vertical(id="erase"):
            yield Static("", id="sentence", markup=False)
            yield OptionList(id="lines", markup=False, compact=True)
            yield Static("", id="asked", markup=False)
            yield Input(id="typed", compact=True)
            yield Static("", id="keys", markup=False)

    def on_mount(self) -> None:
        """Ask for the text first."""
        self._go_to("text")

    def stands(self) -> None:
        """What it asks now has been drawn: keys typed from here on are meant for it."""
        self.stands_since = Message().time

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The text, or the typed answer."""
        event.stop()
        if self._stage == "text":
            self._look_for(event.value)
        elif self._stage == "typing" and event.value == TYPED and self._plan is not None:
            self._work("erasing", self._erase(self._plan))
        elif self._stage == "typing":
            self._say("That is another word.")

    def on_option_list_option_selected(self) -> None:
        """From the plan to the answer."""
        if self._stage == "plan" and self._plan is not None and self._plan.taken:
            self._go_to("typing")

    def action_toggle_files(self) -> None:
        """Look again, with files of the workspace or without."""
        if self._stage == "plan":
            self._also_files = not self._also_files
            self._work("looking", self._look())

    def action_cursor(self, way: str) -> None:
        """Move like in a list."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if way == "down" else options.action_cursor_up()

    def action_step_out(self) -> None:
        """From the answer to the plan, from there out; not while something is being erased."""
        if self._stage == "typing":
            self._go_to("plan")
        elif self._stage != "erasing":
            self.dismiss(self._report)

    def _look_for(self, typed: str) -> None:
        # What is shorter stands in too much: of such a memory only the row goes.
        texts = [text.content for text in self._marked if len(text.content.strip()) >= SHORT]
        try:
            self._spellings = Spellings([*texts, *([typed] if typed.strip() else [])])
        except InspectorError as error:
            self._say(str(error))
            return
        self._work("looking", self._look())

    def _work(self, stage: Stage, work: Coroutine[Any, Any, None]) -> None:
        self._go_to(stage)
        self.run_worker(self._guarded(work), group="erase")

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except InspectorError as error:
            self._go_to("plan" if self._plan is not None else "text")
            self._say(f"✗ {error}")

    async def _look(self) -> None:
        if self._spellings is None:
            return
        ids = frozenset(text.id for text in self._marked)
        self._plan = await plan_erase(self.library, Chosen(self._spellings, ids, self._also_files))
        self._losses = await loss_words(self.library, await rows_to_erase(self.library, self._plan)) or ""
        self._go_to("plan")

    async def _erase(self, plan: ErasePlan) -> None:
        self._report = await erase_texts(self.library, plan)
        self._go_to("report")

    def _go_to(self, stage: Stage) -> None:
        self._stage = stage
        if stage in ("plan", "typing"):
            self.stands_since = inf
            self.call_after_refresh(self.stands)
        self.query_one("#sentence", Static).update(Content(self._sentence()))
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(line) for line in self._lines()])
        options.display = bool(options.option_count)
        typed = self.query_one("#typed", Input)
        typed.display = stage in ("text", "typing")
        typed.value = ""
        self._say(self._question())
        if typed.display:
            typed.focus()
        else:
            options.highlighted = 0 if options.option_count else None
            options.focus()

    def _say(self, sentence: str) -> None:
        asked = self.query_one("#asked", Static)
        asked.display = bool(sentence)
        asked.update(Content(display_text(mask_secrets(sentence))))
        self.query_one("#keys", Static).update(_STAGE_KEYS[self._stage])

    def _sentence(self) -> str:
        plan, report = self._plan, self._report
        its = "its" if len(self._marked) == 1 else "their"
        marked = f"{counted(len(self._marked))} and {its} text" if self._marked else "a text"
        if self._stage == "report" and report is not None:
            return f"✓ {report.outcome}" if report.is_complete else report.outcome
        if self._stage in ("plan", "typing") and plan is not None:
            if not plan.places:
                return f"The text lies nowhere: {count_text(plan.files)} files were looked into"
            places = "1 place" if len(plan.places) == 1 else f"{count_text(len(plan.places))} places"
            return f"The text lies in {places}; to be erased: {count_text(len(plan.taken))}"
        if self._stage == "erasing":
            return "Erasing, then looking at every byte once more …"
        return "Looking into every file …" if self._stage == "looking" else f"Erase {marked} from the whole install"

    def _question(self) -> str:
        if self._stage == "text":
            also = "A text to erase as well, a name perhaps; empty for the marked memories alone:"
            return also if self._marked else "The text to erase, in any case of letters:"
        if self._stage == "plan":
            told = (self._losses, _FOR_EVER) if self._plan is not None and self._plan.taken else ()
            return "\n".join(filter(None, told))
        return f"{_FOR_EVER} Type {TYPED} to do it:" if self._stage == "typing" else ""

    def _lines(self) -> list[Content]:
        if self._stage == "report" and self._report is not None:
            return [Content(display_text(one_line(line[:_LONGEST_LINE]))) for line in self._report.sentences()[:-1]]
        plan = self._plan
        if plan is None or self._stage not in ("plan", "typing"):
            return []
        width = min(_ERASE_PANEL, self.app.size.width * 96 // 100) - _ERASE_PADDING - 2
        kinds = max((cell_len(place.kind) for place in plan.places), default=0)
        counts = max((cell_len(count_text(place.found)) for place in plan.places), default=0)
        lines = []
        for place in plan.places:
            room = max(8, width - kinds - counts - 6)
            where = one_line(mask_secrets(with_tilde(place.place[:_LONGEST_LINE])))
            running = f"open in {place.open_in}: its bytes stay until that stops" if place.open_in else ""
            remark = " ".join(filter(None, (place.why, running)))
            style = "" if place.takes else MUTED
            lines.append(
                Content.assemble(
                    ("●" if place.takes else NO_VALUE, ACCENT if place.takes else MUTED), " ",
                    (fit(place.kind, kinds), style), "  ", (fit(tail(where, room), room), style), "  ",
                    (fit(count_text(place.found), counts, "right"), style),
                    (f"\n  {one_line(remark)}" if remark else "", MUTED),
                )
            )  # fmt: skip
        for near in plan.near:
            text = one_line(mask_secrets(near.text[:_LONGEST_LINE]))
            line = f"  near, and stays ({near.how}): {one_line(near.key[:_LONGEST_LINE])} · {text}"
            lines.append(Content.styled(fit(line, width), MUTED))
        return lines
