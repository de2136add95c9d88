"""A line to type the message in that the screen below it is about."""

from __future__ import annotations

from rich.cells import cell_len
from rich.highlighter import Highlighter
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static

from zeroclaw_tui.memory.hidden_text import hidden_runs
from zeroclaw_tui.memory.text import display_text, one_line

_LEAST_INPUT = 30
_NO_SIGN = "\ufffd"


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


class MessageLine(Horizontal):
    """Prompt, message, and on the right what holds for it.

    `debounce` is how many seconds the fingers rest before the message is asked about; 0 asks at every key.
    """

    DEFAULT_CSS = """
    MessageLine { height: 1; padding: 0 1; }
    MessageLine #message-prompt { width: 2; color: $primary; }
    MessageLine Input {
        width: 1fr; min-width: 10; border: none; height: 1; padding: 0; background: transparent;
    }
    MessageLine Input:focus { border: none; }
    MessageLine #message-facts { width: auto; color: $text-muted; padding: 0 0 0 2; }
    """

    class Asked(Message):
        """The message changed, and the fingers rest or `enter` was pressed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, text: str, debounce: float, placeholder: str, id: str | None = None) -> None:
        super().__init__(id=id)
        self._debounce = debounce
        self._asked = text
        self._placeholder = placeholder
        self._facts: tuple[str, ...] = ()
        self._rest: Timer | None = None

    def compose(self) -> ComposeResult:
        """Prompt, input, facts."""
        yield Static("❯", id="message-prompt")
        visible = VisibleCharacters()
        yield Input(self._asked, self._placeholder, visible, compact=True, select_on_focus=False)
        yield Static("", id="message-facts", markup=False)

    @property
    def input(self) -> Input:
        """Where the message is typed."""
        return self.query_one(Input)

    @property
    def text(self) -> str:
        """The message as it was last asked about."""
        return self._asked

    def type_anew(self) -> None:
        """Take the focus; what is typed next replaces the message."""
        # At once and not after the next refresh: what is typed on goes into the line, however fast.
        self.screen.set_focus(self.input)
        self.input.select_all()

    def finish(self) -> None:
        """Ask at once about what is typed, the keys included that are still on their way to the line."""
        self.input.call_later(self._ask_now)

    def show_facts(self, *facts: str) -> None:
        """What holds for the message, the weightiest first; the last ones go where there is no room."""
        self._facts = tuple(one_line(fact) for fact in facts if fact)
        self._fit()

    def on_resize(self) -> None:
        """More or fewer facts."""
        self._fit()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Ask when the fingers rest."""
        event.stop()
        self._stop_waiting()
        if self._debounce:
            self._rest = self.set_timer(self._debounce, self._ask)
        else:
            self._ask()

    def on_click(self) -> None:
        """Type, wherever on the line was clicked."""
        self.input.focus()

    def _ask(self) -> None:
        text = self.input.value
        if text != self._asked:
            self._asked = text
            self.post_message(self.Asked(text))

    def _ask_now(self) -> None:
        self._stop_waiting()
        self._ask()

    def _stop_waiting(self) -> None:
        if self._rest is not None:
            self._rest.stop()
            self._rest = None

    def _fit(self) -> None:
        room = self.size.width - _LEAST_INPUT
        facts = list(self._facts)
        while len(facts) > 1 and cell_len("   ".join(facts)) > room:
            facts.pop()
        self.query_one("#message-facts", Static).update(Content("   ".join(facts)))


def _visible(character: str) -> str:
    """A character that hides nothing where it stands, though it may elsewhere."""
    shown = display_text(" " if character in "\n\t" else character)
    return shown if len(shown) == 1 else character
