"""The lines around a list (the store, the search, facts, a banner, the status, the tabs), and the line to type in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from rich.cells import cell_len
from textual.app import ComposeResult, RenderResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.timer import Timer
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Input, Static

from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.hidden_text import hidden_runs
from zeroclaw_tui.memory.text import WHITE_SPACE, counted, display_text, fit, mask_secrets, one_line, with_tilde
from zeroclaw_tui.tui.commands import ClickedLine
from zeroclaw_tui.tui.format import safe_text
from zeroclaw_tui.tui.themes import ACCENT, HIGHLIGHT, MUTED, STRONG, STRONG_ACCENT, WARNING, clickable
from zeroclaw_tui.tui.view import Chip, Mode

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_PLACEHOLDERS = {
    Mode.RECALL: "Type a message to see what your agent would recall",
    Mode.CONTAINS: "a part of a key or a content",
    Mode.REGEX: r"a regular expression, such as \bpasta\b|noodles?",
    Mode.SIMILAR: "memories similar to this text",
}
DOT = " · "
_TAB_GAP = "   "
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_BLANKS = frozenset(WHITE_SPACE)


class GrowingText(Static):
    """A Static whose height always fits its latest content.

    Textual 8.2.8 counts layout requests only once until a widget is idle. If a Static is laid out with its siblings
    before that, it keeps this height for its next content.
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__("", id=id, classes=classes, markup=False)

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        """Show another content; the same content costs no layout."""
        before = self.content
        if not (isinstance(before, Content) and isinstance(content, Content) and before.is_same(content)):
            super().update(content, layout=layout)

    def refresh(self, *regions: Any, layout: bool = False, **options: Any) -> Self:
        if layout and self._layout_required:
            self._layout_updates += 1
        return super().refresh(*regions, layout=layout, **options)


class LineInput(Input):
    """Edits a single-line text. Control and hidden characters cannot be typed or pasted into it."""

    def __init__(self, value: str = "", *, id: str | None = None, placeholder: str = "") -> None:
        self._stored = value
        self._shown_text = value if can_edit_in_line(value) else one_line(value)
        super().__init__(self._shown_text, compact=True, placeholder=placeholder, id=id)

    @property
    def text(self) -> str:
        """The value of the field: the original value until it is changed."""
        return self._stored if self.value == self._shown_text else self.value

    def replace(self, text: str, start: int, end: int) -> None:
        """Replace a part without control and hidden characters."""
        before = self.value[max(0, start - 1) : start]
        super().replace(" ".join(re.split("[\n\t]", visible_text(self, text, before))), start, end)


class PromptLine(Horizontal):
    """A prompt, an input, and on the right facts about the input, as far as there is room.

    `debounce` is the delay in seconds after the last key before `Entered` is posted; 0 posts at every key.
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
    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority it runs before the next key is handled, so that fast typing reaches the right widget.
        Binding("enter", "screen.leave_line", "to the results", id="search.leave", priority=True),
        Binding("down", "screen.leave_line", "To the results", show=False, priority=True),
        Binding("escape", "screen.step_out", "out", id="search.out"),
    ]

    @dataclass
    class Entered(Message):
        """The typed text was entered: after the delay, or immediately on request."""

        text: str

    def __init__(self, debounce: float, text: str = "", placeholder: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._debounce = debounce
        self._facts: tuple[str, ...] = ()
        self._debounce_timer: Timer | None = None
        self.input = LineInput(text, placeholder=placeholder)
        """The input to type in."""
        self.input.select_on_focus = False

    def compose(self) -> ComposeResult:
        yield GrowingText(classes="prompt")
        yield self.input
        yield GrowingText(classes="facts")

    def focus_to_replace(self) -> None:
        """Take the focus, with all text selected, so that typing replaces it."""
        # Immediately and not after the next refresh, so that fast typing goes into the line.
        self.screen.set_focus(self.input)
        self.input.select_all()

    def put(self, text: str) -> None:
        """Set another text without posting `Entered`."""
        self.stop_waiting()
        with self.prevent(Input.Changed):
            self.input.value = one_line(text)

    def show_facts(self, *facts: str) -> None:
        """Show facts about the text, the most important first; the last ones are dropped if there is no room."""
        self._facts = tuple(one_line(fact) for fact in facts if fact)
        self._fit()

    def watch_virtual_size(self) -> None:
        """Fit the facts, because Textual 8.2.8 posts no Resize for a size that it has computed before."""
        self._fit()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Post the text after the delay."""
        event.stop()
        self.stop_waiting()
        if self._debounce:
            self._debounce_timer = self.set_timer(self._debounce, self.enter)
        else:
            self.enter()

    def enter(self) -> None:
        """Post the typed text immediately."""
        self.stop_waiting()
        self.post_message(self.Entered(self.input.text))

    def stop_waiting(self) -> None:
        """Cancel the delayed post of the typed text."""
        if self._debounce_timer is not None:
            self._debounce_timer.stop()
            self._debounce_timer = None

    def _prompt(self) -> Content:
        return Content("❯")

    def _fit(self) -> None:
        prompt, facts = self._prompt(), list(self._facts)
        # The input needs at least 24 cells.
        room = self.size.width - 24 - prompt.cell_length
        while facts and cell_len(_TAB_GAP.join(facts)) > room:
            facts.pop()
        self.query_one(".prompt", Static).update(prompt)
        self.query_one(".facts", Static).update(Content(_TAB_GAP.join(facts)))


class SearchBar(PromptLine):
    """The search input after the modes, the current one highlighted; on the right the numbers."""

    DEFAULT_CSS = """
    SearchBar { display: none; }
    SearchBar > .prompt { padding: 0 2 0 0; }
    """

    _mode = Mode.RECALL

    def show_mode(self, mode: Mode, facts: tuple[str, ...]) -> None:
        """Highlight the mode, and show its numbers, the most important first."""
        self._mode = mode
        self.input.placeholder = _PLACEHOLDERS[mode]
        self.show_facts(*facts[:1], "as the agent" if mode is Mode.RECALL else "", *facts[1:])

    def _prompt(self) -> Content:
        """All modes, or only the current one if there is no room."""
        modes = [*Mode] if self.size.width >= 76 else [self._mode]
        names = [Content.styled(mode.value, HIGHLIGHT if mode is self._mode else MUTED) for mode in modes]
        return "❯ " + Content.styled(DOT, MUTED).join(names)


class TitleLine(GrowingText):
    """The title of a room or pane, in one line."""

    DEFAULT_CSS = "TitleLine { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }"

    def say(self, head: str, *facts: str) -> None:
        """Show a heading, followed by the facts that are not empty."""
        shown = "".join(f"{DOT}{one_line(mask_secrets(fact))}" for fact in facts if fact)
        self.update(Content.assemble((head, STRONG), (shown, MUTED)))


class FactLine(ClickedLine):
    """The number of memories, the chips of the filter, other facts if there is room, and on the right the order."""

    DEFAULT_CSS = "FactLine { height: 1; padding: 0 1; }"

    facts: reactive[tuple[str, ...]] = reactive(())
    chips: reactive[tuple[Chip, ...]] = reactive(())
    order: reactive[str] = reactive("")

    def render(self) -> RenderResult:
        chips = [
            clickable(f"{chip.words} ✕", ACCENT, "screen.remove_chip", number) for number, chip in enumerate(self.chips)
        ]
        count, *others = self.facts or ("",)
        parts = [Content.styled(count, STRONG), *chips, *(Content.styled(fact, MUTED) for fact in others)]
        room = self.content_size.width - cell_len(self.order) - 2
        line = Content(DOT).join(parts).truncate(max(0, room), ellipsis=True, pad=True)
        return line + "  " + Content.styled(self.order, MUTED)


class Banner(GrowingText):
    """A failure, in one sentence with the key to retry."""

    DEFAULT_CSS = """
    Banner { display: none; max-height: 3; padding: 0 1; color: $text-error; background: $error-muted; }
    Banner.-failed { display: block; }
    """

    def fail(self, error: InspectorError) -> None:
        """Show a failure; the room's key for reloading retries."""
        self.update(Content.assemble(f"✗ {one_line(safe_text(str(error)))}  ", ("r", STRONG), " to retry"))
        self.add_class("-failed")

    def hide(self) -> None:
        """Hide the banner."""
        self.remove_class("-failed")


class StatusBar(GrowingText):
    """The result of a search and other remarks, under the list."""

    DEFAULT_CSS = """
    StatusBar { display: none; height: auto; max-height: 4; padding: 0 1; color: $text-muted; }
    StatusBar.-filled { display: block; }
    """

    def say(self, *facts: str) -> None:
        """Show the facts that are not empty, the most important first; without any the line is hidden."""
        shown_facts = [one_line(mask_secrets(fact)) for fact in facts if fact]
        self.update(Content(DOT.join(shown_facts)))
        self.set_class(bool(shown_facts), "-filled")


class TabName(NamedTuple):
    """A tab: its id, the key that opens it, and its name."""

    id: str
    key: str
    words: str


class TabLine(ClickedLine):
    """The tabs, the current one underlined; a click opens a tab. A note is at the end of the line."""

    DEFAULT_CSS = """
    TabLine { width: 1fr; height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: clip; pointer: pointer; }
    """
    chosen: reactive[str] = reactive("")
    """The id of the current tab."""
    note: reactive[str] = reactive("")

    def __init__(self, tabs: Sequence[TabName]) -> None:
        super().__init__()
        self._tabs = tabs

    def render(self) -> RenderResult:
        line = Content("")
        for tab in self._tabs:
            is_chosen = tab.id == self.chosen
            name = Content.assemble(
                (tab.key, MUTED if is_chosen else ACCENT), " ", (tab.words, HIGHLIGHT if is_chosen else MUTED)
            )
            line += clickable(name, "", "screen.do", tab.id) + Content(_TAB_GAP)
        return line + Content.styled(fit(self.note, self.content_size.width - line.cell_length, "right"), ACCENT)


class Empty(GrowingText):
    """The message of an empty pane: a fact, a sentence, and the keys that help."""

    DEFAULT_CSS = """
    Empty { padding: 1 3; height: 1fr; width: 1fr; }
    """

    def show(self, fact: str, sentence: str = "", keys: Sequence[tuple[str, str]] = ()) -> None:
        """Say why the pane is empty: a fact in bold, a sentence, and a line for each key."""
        parts: list[str | tuple[str, str]] = [(display_text(mask_secrets(fact)), STRONG)]
        if sentence:
            parts += ["\n\n", (display_text(mask_secrets(sentence)), MUTED)]
        widest = max((len(key) for key, _ in keys), default=0)
        for number, (key, does) in enumerate(keys):
            parts += ["\n" if number else "\n\n", (key.ljust(widest), STRONG_ACCENT), f"  {does}"]
        self.update(Content.assemble(*parts))


class StoreFacts(Static):
    """The line with read-only state, number of notices, backend and scoring."""

    DEFAULT_CSS = """
    StoreFacts { height: 1; padding: 0 1; color: $foreground-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def show(self, library: Library) -> None:
        """Show the facts of an open store."""
        is_read_only = library.read_only_because is not None and not library.memory.about.keeps_nothing
        notices = len(needing_attention(library))
        words = "read-only · " if is_read_only else ""
        words += f"{counted(notices, 'notice')} (: notices) · " if notices else ""
        self.update(Content.assemble((words, WARNING), scoring_text(library)))


def location_text(library: Library) -> str:
    """The location of the store; for the backend none that of the config."""
    install = library.config.install
    is_none = library.memory.about.keeps_nothing
    shown = str(install.config_dir or install.root) if is_none else library.memory.about.location
    return one_line(mask_secrets(with_tilde(shown)))


def scoring_text(library: Library) -> str:
    """The backend, the scoring version with its source, and the parts of a recall."""
    memory, profile = library.memory, library.profile
    theirs = library.config.zeroclaw_backend
    name = memory.name if theirs == library.config.backend else f"{memory.name} (ZeroClaw would use {theirs})"
    if memory.about.keeps_nothing:
        return "backend none: stores no memories"
    if memory.about.not_read_because is not None:
        return f"{name} · {one_line(memory.about.not_read_because.rstrip('.'))}"
    if memory.about.rule is not None and not memory.about.rule.name:
        return f"{name} · its own ranking"
    version, newer = profile.profile.version, profile.profile.newer
    # The wording must not look like the version of the store.
    scoring = f"scoring {version}" if newer is None else f"{newer} scored as {version}"
    return f"{name} · {scoring} ({profile.source}) · {_parts_text(library)}"


def notices_of(library: Library) -> tuple[str, ...]:
    """All notices about this store, those of the store itself first."""
    because = library.why_no_vectors
    keyword_only = (because,) if because and "keyword" not in library.memory.why_not else ()
    # The backend none has its own notice that it stores nothing.
    has_store = not library.memory.about.keeps_nothing
    read_only = (library.read_only_because,) if library.read_only_because and has_store else ()
    sentences = (
        *read_only,
        *(notice.sentence for notice in library.memory.about.notices),
        *library.config.warnings,
        *keyword_only,
    )
    return tuple(dict.fromkeys(sentences))


def needing_attention(library: Library) -> tuple[str, ...]:
    """The notices that are not plain facts, and that the line does not already say in other words."""
    minor = {notice.sentence for notice in library.memory.about.notices if notice.is_minor}
    facts = {*minor, *library.config.warnings_about("fact"), library.why_no_vectors}
    if not library.memory.about.keeps_nothing:
        facts.add(library.read_only_because)
    return tuple(sentence for sentence in notices_of(library) if sentence not in facts)


def _parts_text(library: Library) -> str:
    """The parts of a recall; keyword-only is always shown with its reason."""
    settings, rule = library.settings, library.memory.about.rule
    if rule is not None:
        return rule.name
    if library.why_no_vectors:
        configured = "vectors" not in library.memory.why_not
        return f"keyword only: {'no embeddings configured' if configured else 'this store has no vectors'}"
    alone = {"bm25": "keyword only", "embedding": "vectors only"}.get(settings.search_mode)
    if alone is not None:
        return f"{alone}: search_mode is {settings.search_mode}"
    return f"hybrid {settings.vector_weight:g} / {settings.keyword_weight:g}"


def why_not_here(text: str) -> str | None:
    """Say why a text cannot be edited on the screen; None if the screen shows it exactly as it is stored."""
    # Each key press would be slow.
    if len(text) > 200_000:
        return f"{len(text):,} characters are too many to edit here."
    lines = text.replace("\r\n", "\n")
    # The editor would change mixed line endings.
    shown = text if {"\r", "\n"} & {*text.replace("\r\n", "")} else lines
    return None if display_text(shown) == shown else "This content has control or hidden characters."


def can_edit_in_line(text: str) -> bool:
    """Whether a text fits in a LineInput and looks exactly as it is stored."""
    return not {"\t", "\n"} & {*text} and why_not_here(text) is None


def visible_text(field: Widget, typed: str, before: str) -> str:
    """Remove characters that cannot be shown from typed text; `before` is the character in front, for joiners.

    All line ends become line feeds.
    """
    text = _LINE_ENDS.sub("\n", typed)
    if display_text(before + text) == before + text:
        return text
    hidden = {index - len(before) for run in hidden_runs(before + text) for index in range(run.start, run.end)}
    # A control character is displayed as another character.
    hidden |= {index for index, char in enumerate(text) if len(display_text(char)) == 1 and display_text(char) != char}
    allowed = "".join(char for index, char in enumerate(text) if index not in hidden or char in _BLANKS)
    if allowed != text:
        field.notify("Removed control and hidden characters. Use $EDITOR to type them.", severity="warning")
    return allowed
