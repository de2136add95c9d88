"""The commands of trash and history, declared once, and the help made of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget

from zeroclaw_tui.tui.commands import FIND, PROGRAM, Command
from zeroclaw_tui.tui.screens.help import Section

_MARK = "Mark"
_CHANGE = "Change"

TRASH_COMMANDS = (
    Command(
        "trash.search", "slash", "open_search", "search", "Look for a part of a key or a content", FIND, True, True
    ),
    Command(
        "trash.restore", "r,enter", "restore", "restore", "Bring back the marked ones, else the row", _CHANGE, True
    ),
    Command("trash.mark", "space", "mark", "mark", "Mark the row, or take its mark away", _MARK, True),
    Command("trash.mark_all", "asterisk", "mark_all", "all", "Mark everything that is shown", _MARK),
    Command("trash.unmark", "backslash", "unmark", "none", "Take every mark away", _MARK),
    Command("trash.history", "h", "show_history", "history", "What was done here to this memory", FIND, True),
    Command(
        "trash.let_go",
        "x",
        "let_go",
        "empty",
        "Let go for ever of the marked ones, the row, or everything",
        _CHANGE,
        True,
    ),
    Command("trash.undo", "u", "undo", "undo", "Take back the last action", _CHANGE, True),
    Command(
        "trash.stores", "a", "toggle_stores", "all stores", "Show the other stores of this config dir too, or not", FIND
    ),
    Command("trash.copy", "y", "copy_content", "copy", "Copy the content", FIND),
    Command("trash.reload", "ctrl+r", "reload", "reload", "Look again; after a failure: try again", PROGRAM),
    Command("trash.help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, True),
    Command(
        "trash.out",
        "escape",
        "screen.step_out",
        "out",
        "Stop what is under way, leave the search, or go back",
        PROGRAM,
        True,
        False,
        False,
    ),
    Command("trash.leave", "q", "leave", "back", "Back to the list", PROGRAM, False, False, False),
)

HISTORY_COMMANDS = (
    Command(
        "history.bring_back",
        "r,enter",
        "bring_back",
        "as it was before",
        "Bring back what was there before this step",
        _CHANGE,
        True,
    ),
    Command("history.copy", "y", "copy_content", "copy", "Copy the content that r brings back", FIND, True),
    Command("history.help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, True),
    Command(
        "history.out", "escape,q", "screen.step_out", "back", "Back to where you came from", PROGRAM, True, False, False
    ),
)


def pane_keys(screen: Screen[Any], commands: Iterable[Command], panes: Iterable[tuple[str, Widget]]) -> list[Section]:
    """The keys of a screen's commands by group, then those of each pane, as they are bound now."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for command in commands:
        bound = [binding for _, binding, _, _ in screen.active_bindings.values() if binding.id == command.id]
        if bound:
            keys = " ".join(screen.app.get_key_display(binding) for binding in bound)
            groups.setdefault(command.group, []).append((keys, command.sentence))
    sections: list[Section] = list(groups.items())
    for title, pane in panes:
        rows = [
            (_keys(screen, binding), binding.tooltip or binding.description)
            for binding in type(pane).BINDINGS
            if isinstance(binding, Binding) and binding.description
        ]
        sections.append((title, rows))
    return sections


def _keys(screen: Screen[Any], binding: Binding) -> str:
    return " ".join(screen.app.get_key_display(single) for single in binding.make_bindings([binding]))
