"""The help of a room, made of its commands and panes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget

from zeroclaw_tui.tui.commands import Command
from zeroclaw_tui.tui.screens.help import Section


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
