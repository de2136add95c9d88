"""The lines round a list: what is searched for, or the message a room is about, the facts, a banner, and the status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.cells import cell_len
from rich.highlighter import Highlighter
from rich.text import Text
from textual.app import ComposeResult, RenderResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, Static

from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.hidden_text import hidden_runs
from zeroclaw_tui.memory.text import display_text, mask_secrets, one_line
from zeroclaw_tui.tui.format import fit, shown_words
from zeroclaw_tui.tui.themes import ACCENT, LIT, MUTED, STRONG
from zeroclaw_tui.tui.view import Chip, Mode
from zeroclaw_tui.tui.widgets.growing_text import GrowingText

BannerKind = Literal["error", "quiet"]
_PLACEHOLDERS = {
    Mode.RECALL: "Type a message to see what your agent would recall",
    Mode.CONTAINS: "a part of a key or a content",
    Mode.REGEX: r"a regular expression, such as \bpasta\b|noodles?",
    Mode.SIMILAR: "memories similar to this text",
}
_NO_SIGN = "\ufffd"
_DOT = " · "
_WIDTH_OF_MODES = 76
"""Cells that the search line has at least where it names every mode."""

MOST_KEYS = 7
"""How many keys the footer shows besides the key that shows all."""
_GAP = "  "
_TAB_GAP = 3


class SearchInput(Input):
    """A line to type in; `down` and `enter` leave it for the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "to the results", id="search.leave"),
        Binding("down", "screen.list_pane", "To the results", show=False),
        Binding("escape", "screen.step_out", "out", id="search.out"),
    ]


class PromptLine(Horizontal):
    """A prompt, a line to type in, and on the right what holds for it, as far as there is room.

    `debounce` is how many seconds the fingers rest before it is asked what was typed; 0 asks at every key.
    """

    DEFAULT_CSS = """
    PromptLine {
        height: 1;
        padding: 0 1;

        & > .prompt { width: auto; color: $primary; padding: 0 1 0 0; }
        & > Input { width: 1fr; min-width: 10; border: none; height: 1; padding: 0; background: transparent; }
        & > Input:focus { border: none; }
        & > .facts { width: auto; color: $text-muted; padding: 0 0 0 2; }
    }
    """
    LINE: ClassVar[type[Input]] = Input
    LEAST_LINE: ClassVar[int] = 28
    """Cells that are left to type in."""
    LEAST_FACTS: ClassVar[int] = 1
    """So many facts stand there whatever room there is."""

    @dataclass
    class Asked(Message):
        """What is typed is another text, and the fingers rest or it should be taken at once."""

        text: str

    def __init__(self, debounce: float, text: str = "", placeholder: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._debounce = debounce
        self._facts: tuple[str, ...] = ()
        self._rest: Timer | None = None
        self.input = self.LINE(text, placeholder, VisibleCharacters(), compact=True, select_on_focus=False)
        """Where one types."""

    def compose(self) -> ComposeResult:
        yield Static("❯", classes="prompt", markup=False)
        yield self.input
        yield Static("", classes="facts", markup=False)

    def type_anew(self) -> None:
        """Take the focus; what is typed next replaces the text."""
        # At once and not after the next refresh: what is typed on goes into the line, however fast.
        self.screen.set_focus(self.input)
        self.input.select_all()

    def put(self, text: str) -> None:
        """Have another text stand there, about which nothing is asked."""
        self._stop_waiting()
        with self.prevent(Input.Changed):
            self.input.value = text

    def finish(self) -> None:
        """Ask at once about what is typed, the keys included that are still on their way to the line."""
        self.input.call_later(self._ask)

    def show_facts(self, *facts: str) -> None:
        """What holds for the text, the weightiest first; the last ones go where there is no room."""
        self._facts = tuple(one_line(fact) for fact in facts if fact)
        self._fit()

    def watch_virtual_size(self) -> None:
        """Textual 8.2.8 posts no Resize for a size that it had to work out for somebody else before."""
        self._fit()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Ask when the fingers rest."""
        event.stop()
        self._stop_waiting()
        if self._debounce:
            self._rest = self.set_timer(self._debounce, self._ask)
        else:
            self._ask()

    def on_click(self, event: Click) -> None:
        self.input.focus()

    def _ask(self) -> None:
        self._stop_waiting()
        self.post_message(self.Asked(self.input.value))

    def _stop_waiting(self) -> None:
        if self._rest is not None:
            self._rest.stop()
            self._rest = None

    def _fit(self) -> None:
        facts = list(self._facts)
        room = self.size.width - self.LEAST_LINE - self.query_one(".prompt").size.width
        while len(facts) > self.LEAST_FACTS and cell_len("   ".join(facts)) > room:
            facts.pop()
        self.query_one(".facts", Static).update(Content("   ".join(facts)))


class SearchBar(PromptLine):
    """What is searched for, behind the modes with the current one lit; on the right the numbers."""

    DEFAULT_CSS = """
    SearchBar { display: none; }
    SearchBar > .prompt { padding: 0 2 0 0; }
    """
    LINE = SearchInput
    LEAST_LINE = 24
    LEAST_FACTS = 0

    class Left(Message):
        """Typing is over; the results stay."""

    @dataclass
    class ModeChosen(Message):
        """The name of a mode was clicked."""

        mode: Mode

    def __init__(self, debounce: float, modes: Sequence[Mode] = tuple(Mode), *, id: str | None = None) -> None:
        super().__init__(debounce, id=id)
        self._modes, self._mode = modes, modes[0]

    def show_mode(self, mode: Mode, facts: tuple[str, ...]) -> None:
        """Light up the mode, and show its numbers from the weightiest to the least."""
        self._mode = mode
        self.input.placeholder = _PLACEHOLDERS[mode]
        self.show_facts(*facts[:1], "as the agent" if mode is Mode.RECALL else "", *facts[1:])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._stop_waiting()
        self.post_message(self.Left())

    def on_click(self, event: Click) -> None:
        """A name is a mode; anywhere else one types on."""
        super().on_click(event)
        end = self.content_region.x - self.region.x + cell_len("❯ ")
        for mode in self._shown_modes():
            if end <= event.x < end + cell_len(mode):
                self.post_message(self.ModeChosen(mode))
            end += cell_len(mode) + cell_len(_DOT)

    def _fit(self) -> None:
        parts: list[str | tuple[str, str]] = ["❯ "]
        for mode in self._shown_modes():
            parts += [(mode.value, LIT if mode is self._mode else MUTED), (_DOT, MUTED)]
        self.query_one(".prompt", Static).update(Content.assemble(*parts[:-1]))
        super()._fit()

    def _shown_modes(self) -> Sequence[Mode]:
        """All modes, or the current one where there is no room for more."""
        return self._modes if self.size.width >= _WIDTH_OF_MODES else [self._mode]


class TitleLine(Static):
    """What a room or a pane shows, in one line."""

    DEFAULT_CSS = "TitleLine { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }"

    def __init__(self, content: Content | str = "", *, id: str | None = None) -> None:
        super().__init__(content, id=id, markup=False)
        self._head = ""
        self._facts: tuple[str, ...] = ()

    def say(self, head: str, *facts: str) -> None:
        """A heading, and behind it the facts that are not empty, as many of them as there is room for."""
        self._head, self._facts = head, tuple(f" · {one_line(mask_secrets(fact))}" for fact in facts if fact)
        self._fit()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        if not self._head:
            return
        room = self.content_size.width - cell_len(self._head)
        facts_shown = "".join(self._facts)
        shown = len(self._facts)
        while shown and cell_len(facts_shown) > room > 0:
            shown -= 1
            facts_shown = "".join(self._facts[:shown]) + " …"
        self.update(Content.assemble((self._head, STRONG), (facts_shown, MUTED)))


class FactLine(Widget):
    """How many memories, the chips that narrow them, and on the right the order."""

    DEFAULT_CSS = """
    FactLine { height: 1; padding: 0 1; pointer: pointer; }
    """

    facts: reactive[tuple[str, ...]] = reactive(())
    """The same fact in ever fewer words."""
    chips: reactive[tuple[Chip, ...]] = reactive(())
    order: reactive[str] = reactive("")

    @dataclass
    class ChipClicked(Message):
        """A chip is to go."""

        chip: Chip

    def render(self) -> RenderResult:
        parts, _ = self._layout()
        return Content.assemble(*parts)

    async def on_click(self, event: Click) -> None:
        """Whatever was drawn there acts."""
        _, places = self._layout()
        x = event.get_content_offset_capture(self).x
        for start, end, does in places:
            if not start <= x < end:
                continue
            if isinstance(does, Chip):
                self.post_message(self.ChipClicked(does))
            else:
                await self.screen.run_action(does)

    def _layout(self) -> tuple[list[str | tuple[str, str]], list[tuple[int, int, Chip | str]]]:
        """What is drawn, and what each stretch of cells does when clicked: takes a chip away, or an action."""
        width = self.content_size.width
        room = width - cell_len(self.order) - 2
        chip_words = [f"{chip.words} ✕" for chip in self.chips]
        needed = sum(cell_len(words) + 3 for words in chip_words)
        fact = next((words for words in self.facts if cell_len(words) + needed <= room), "")
        fact = fact or (self.facts[-1] if self.facts else "")
        first, dot, rest_of_fact = fact.partition(" · ")
        parts: list[str | tuple[str, str]] = [(first, STRONG), (dot + rest_of_fact, MUTED)]
        places: list[tuple[int, int, Chip | str]] = []
        at = cell_len(fact)
        for number, (chip, words) in enumerate(zip(self.chips, chip_words, strict=True)):
            rest = f"+{len(self.chips) - number} more"
            is_last = number == len(self.chips) - 1
            if at + 3 + cell_len(words) + (0 if is_last else 3 + len(rest)) > room:
                parts += [("  ", ""), (f" {rest} ", "reverse")]
                places.append((at + 2, at + 4 + len(rest), "filter"))
                at += 4 + len(rest)
                break
            parts += [" · ", (words, ACCENT)]
            places.append((at + 3, at + 3 + cell_len(words), chip))
            at += 3 + cell_len(words)
        gap = max(2, width - at - cell_len(self.order))
        parts += [" " * gap, (self.order, MUTED)]
        places.append((at + gap, width, "sort"))
        return parts, places


class Banner(GrowingText):
    """One sentence with the key that helps; a click does what the key does."""

    DEFAULT_CSS = """
    Banner { display: none; height: auto; max-height: 3; padding: 0 1; pointer: pointer; }
    Banner.-quiet { display: block; color: $text-muted; }
    Banner.-error { display: block; color: $text-error; background: $error-muted; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._action = ""

    def show(self, kind: BannerKind, sentence: str, key: str, does: str, action: str, *, typed: str = "") -> None:
        """Say a sentence; `key` `does` something about it, or a key with what is `typed` after it."""
        glyph = "✗" if kind == "error" else "●"
        words = one_line(shown_words(sentence))
        pressed = ("type ", (f"{key} {typed}", STRONG)) if typed else ((key, STRONG),)
        self.update(Content.assemble(f"{glyph} {words}  ", *pressed, f" {does}"))
        self.set_classes(f"-{kind}")
        self._action = action

    def fail(self, error: InspectorError) -> None:
        """Say what is wrong; the key of the room that looks again tries it again."""
        self.show("error", str(error), "r", "to retry", "reload")

    def hide(self) -> None:
        """Nothing to say."""
        self.set_classes("")
        self._action = ""

    async def on_click(self, event: Click) -> None:
        event.stop()
        await self.screen.run_action(self._action)


class StatusBar(GrowingText):
    """What the search came to, in one line under the list."""

    DEFAULT_CSS = """
    StatusBar { display: none; height: auto; max-height: 4; padding: 0 1; color: $text-muted; }
    StatusBar.-said { display: block; }
    """

    def say(self, *facts: str) -> None:
        """Show the facts that are not empty, the weightiest first; none hides the line."""
        shown_facts = [one_line(mask_secrets(fact)) for fact in facts if fact]
        self.update(Content(" · ".join(shown_facts)))
        self.set_class(bool(shown_facts), "-said")


class VisibleCharacters(Highlighter):
    """Shows each character that would steer the terminal as a single sign; what is typed stays as it is."""

    def __call__(self, text: str | Text) -> Text:
        """The text as it may be shown."""
        typed = text if isinstance(text, str) else text.plain
        shown = display_text(typed.replace("\n", " ").replace("\t", " "))
        if len(shown) != len(typed):
            hidden = {at for run in hidden_runs(typed) for at in range(run.start, run.end)}
            shown = "".join(_NO_SIGN if at in hidden else _visible(typed[at]) for at in range(len(typed)))
        return Text(shown, no_wrap=True, overflow="ignore", end="")

    def highlight(self, text: Text) -> None:
        """Nothing in it gets a look of its own."""


def _visible(character: str) -> str:
    """A character that hides nothing where it stands, though it may elsewhere."""
    shown = display_text(" " if character in "\n\t" else character)
    return shown if len(shown) == 1 else character


class KeyLine(Widget):
    """The footer: the keys that matter in this place, as many as fit, and the key that shows all of them.

    A click does what the key does; a command that cannot be done now is dimmed.
    """

    DEFAULT_CSS = """
    KeyLine { dock: bottom; height: 1; padding: 0 1; pointer: pointer; }
    """

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def render(self) -> RenderResult:
        parts: list[str | tuple[str, str]] = []
        for active in self._shown():
            key, name = self.app.get_key_display(active.binding), active.binding.description
            parts += [(key, ACCENT if active.enabled else MUTED), (f" {name}", MUTED), _GAP]
        return Content.assemble(*parts)

    async def on_click(self, event: Click) -> None:
        at = event.get_content_offset_capture(self).x
        for active in self._shown():
            cells = self._cells(active)
            if 0 <= at < cells - len(_GAP):
                await self.app.run_action(active.binding.action, active.node)
                return
            at -= cells

    def _shown(self) -> list[ActiveBinding]:
        found: dict[str, ActiveBinding] = {}
        for active in self.screen.active_bindings.values():
            if active.binding.show and active.binding.description:
                found.setdefault(active.binding.action, active)
        all_keys = found.pop("keys", None)
        last = [] if all_keys is None else [all_keys]
        free = self.content_size.width - sum(map(self._cells, last))
        first: list[ActiveBinding] = []
        for active in found.values():
            free -= self._cells(active)
            if free < 0 or len(first) == MOST_KEYS:
                break
            first.append(active)
        return first + last

    def _cells(self, active: ActiveBinding) -> int:
        return cell_len(f"{self.app.get_key_display(active.binding)} {active.binding.description}{_GAP}")


@dataclass(frozen=True, slots=True)
class TabName:
    """A tab by its id, the key that opens it as a person knows it, or how much is in it, and its name."""

    id: str
    key: str
    words: str


class TabLine(Widget):
    """The tabs, the one that is shown underlined; a click opens one. A note gives way where there is no room."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    TabLine { width: 1fr; height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: clip; }
    """

    chosen: reactive[str] = reactive("")
    """The id of the tab that is shown."""
    notes: reactive[tuple[str, ...]] = reactive(())
    """What may stand at the end of the line: the first that has room, the fullest first."""

    @dataclass
    class Wanted(Message):
        """A tab was clicked."""

        tab: str

    tabs: reactive[tuple[TabName, ...]] = reactive(())

    def __init__(self, tabs: Iterable[TabName] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.set_reactive(TabLine.tabs, tuple(tabs))

    def render(self) -> RenderResult:
        parts: list[str | tuple[str, str]] = []
        for tab in self.tabs:
            is_chosen = tab.id == self.chosen
            parts += [(tab.key, MUTED if is_chosen else ACCENT), " ", (tab.words, LIT if is_chosen else MUTED)]
            parts.append(" " * _TAB_GAP)
        room = self.content_size.width - sum(map(self._cells, self.tabs))
        fitting = (note for note in map(one_line, self.notes) if cell_len(note) <= room)
        parts.append((fit(next(fitting, ""), room, "right"), ACCENT))
        return Content.assemble(*parts)

    def on_click(self, event: Click) -> None:
        """Open the tab under the mouse."""
        end = 0
        place = event.get_content_offset(self)
        for tab in self.tabs:
            end += self._cells(tab)
            if place is not None and place.x < end:
                event.stop()
                self.post_message(self.Wanted(tab.id))
                return

    def _cells(self, tab: TabName) -> int:
        return cell_len(tab.key) + 1 + cell_len(tab.words) + _TAB_GAP
