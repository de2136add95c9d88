"""Write the pages of keys and commands in zeroclaw_tui/help from the program's own declarations.

Run `python tests/house/make_help_pages.py` after a key or a verb has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from zeroclaw_tui.cli.verbs import GROUPS
from zeroclaw_tui.tui.commands import ROOM_COMMANDS, Command
from zeroclaw_tui.tui.rooms.browser import BrowserRoom
from zeroclaw_tui.tui.rooms.changes import ChangesRoom
from zeroclaw_tui.tui.rooms.live import LiveRoom
from zeroclaw_tui.tui.rooms.stores import StoresRoom
from zeroclaw_tui.tui.rooms.upkeep import UpkeepRoom
from zeroclaw_tui.tui.rooms.why import TAB_COMMANDS, WHY_COMMANDS

FOLDER = Path(__file__).parents[2] / "zeroclaw_tui" / "help"
_SIGNS = {
    "slash": "/", "question_mark": "?", "colon": ":", "escape": "esc", "asterisk": "*", "full_stop": ".",
    "enter": "⏎", "left_square_bracket": "[", "right_square_bracket": "]", "backslash": "\\", "minus": "-",
    "plus": "+", "equals_sign": "=",
    "less_than_sign": "<", "greater_than_sign": ">", "left": "←", "right": "→", "down": "↓", "up": "↑",
}  # fmt: skip
_EVERYWHERE = {"keys", "command_palette", "step_out", "leave", "move", *(command.id for command in ROOM_COMMANDS)}


def keys_page() -> str:
    """Return every key by room, and the commands that only the palette has."""
    rooms: list[tuple[str, Sequence[Command]]] = [
        ("Memories", BrowserRoom.KEYS),
        ("Why", WHY_COMMANDS),
        *((f"Why: {tab.name}", TAB_COMMANDS[tab.id]) for tab in WHY_COMMANDS if tab.id in TAB_COMMANDS),
        ("Upkeep", UpkeepRoom.KEYS),
        *((f"Upkeep: {tab.NAME.words}", tab.KEYS) for tab in UpkeepRoom.TABS),
        ("Changes", ChangesRoom.KEYS),
        ("Live", LiveRoom.KEYS),
        ("Stores", StoresRoom.KEYS),
    ]
    lines = [
        "# Keys: what each does in the inspector",
        "",
        "`?` shows the keys that work where you are and runs one. The mouse does all of it too.",
    ]
    everywhere = [command for command in BrowserRoom.KEYS if command.id in _EVERYWHERE]
    for title, commands in (("Everywhere", everywhere), *rooms):
        others = [command for command in commands if title == "Everywhere" or command.id not in _EVERYWHERE]
        lines += ["", f"## {title}", "", *_rows(command for command in others if command.key)]
        names = dict.fromkeys(f"`{command.name}` {command.title}" for command in others if not command.key)
        if names:
            lines += ["", "By name, after `:`", "", *(f"- {name}" for name in names)]
    return "\n".join(lines) + "\n"


def _rows(commands: Iterable[Command]) -> list[str]:
    """Return one line for each command, without repeating those with the same keys and title."""
    return list(dict.fromkeys(f"- {_keys(command.key)}: {command.title}" for command in commands))


def _keys(names: str) -> str:
    return " ".join(f"`{_SIGNS.get(name, name)}`" for name in names.split(","))


def commands_page() -> str:
    """Return every verb, by group."""
    lines = [
        "# Commands: every verb of `zeroclaw memory`",
        "",
        "`zeroclaw memory COMMAND --help` shows the options of one and two examples.",
    ]
    for group, verbs in GROUPS.items():
        lines += ["", f"## {group}", "", *(f"- `{name}`: {about}" for name, (_, about) in verbs.items())]
    return "\n".join(lines) + "\n"


PAGES = {"keys.md": keys_page, "commands.md": commands_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
