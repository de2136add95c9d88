"""The keys that answer a prompt beside those questionary gives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.onboard.asker import Move
from zeroclaw_tui.onboard.terminal.masked_input import pasted_text

if TYPE_CHECKING:
    from prompt_toolkit.key_binding import KeyBindings

MOVES = {
    Move.BACK: ("c-b", "← back"),
    Move.OVERVIEW: ("c-o", "≡ overview"),
    Move.REST: ("c-r", "» accept the rest"),
}
"""The key of each move, and its row in a list."""


def list_bindings(moves: Sequence[Move], letters: Mapping[str, str]) -> KeyBindings:
    """The moves, the letters, and enter after escape, which a terminal sends as one key, as enter."""
    from prompt_toolkit.key_binding.key_processor import KeyPress
    from prompt_toolkit.keys import Keys

    bindings = _bindings(moves, letters)

    @bindings.add(Keys.Escape, Keys.ControlM, eager=True)
    def take(event: Any) -> None:
        event.key_processor.feed(KeyPress(Keys.ControlM), first=True)

    for move in (Move.OVERVIEW, Move.REST):
        if move not in moves:
            # Pressed out of habit in a menu without it, it would accept or search the line behind the list.
            @bindings.add(MOVES[move][0], eager=True)
            def do_nothing(event: Any) -> None:
                pass

    return bindings


def line_bindings(moves: Sequence[Move]) -> KeyBindings:
    """The moves, and pasting into a line that stays one line: what is no character of it is left out."""
    from prompt_toolkit.keys import Keys

    bindings = _bindings(moves, {})

    @bindings.add(Keys.BracketedPaste, eager=True)
    def paste(event: Any) -> None:
        event.current_buffer.insert_text(pasted_text(event.data))

    # A search in lines typed before has nothing to search here, and no way out that is said anywhere.
    @bindings.add("c-s", eager=True)
    def do_nothing(event: Any) -> None:
        pass

    return bindings


def _bindings(moves: Sequence[Move], letters: Mapping[str, str]) -> KeyBindings:
    """Keys that answer at once: the moves, and y and n in a list of yes and no."""
    from prompt_toolkit.key_binding import KeyBindings

    bindings = KeyBindings()

    def answer_with(key: str, answer: str | Move) -> None:
        @bindings.add(key, eager=True)
        def leave(event: Any) -> None:
            event.app.exit(result=answer)

    for move in moves:
        answer_with(MOVES[move][0], move)
    for letter, value in letters.items():
        answer_with(letter, value)
    return bindings
