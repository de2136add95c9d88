"""The commands of the hygiene screen, declared once."""

from __future__ import annotations

from zeroclaw_tui.tui.commands import CHANGE, FIND, PROGRAM, Command

_CHOOSE = "Choose"
_DAY = "As of"

HYGIENE_COMMANDS = (
    Command("hygiene.run", "enter", "run", "run now", "Do now what the list shows", CHANGE, True, writes=True),
    Command("hygiene.leave_out", "space", "leave_out", "leave out", "Leave this out, or no longer", _CHOOSE, True),
    Command("hygiene.undo", "u", "undo", "undo run", "Take back the last run", CHANGE, True, writes=True),
    Command(
        "hygiene.rules", "c", "change_rules", "rules", "Change the rules in config.toml", CHANGE, True, writes=True
    ),
    Command("hygiene.later", "right", "shift(1)", "a day on", "What would go a day later", _DAY, True),
    Command("hygiene.earlier", "left", "shift(-1)", "a day back", "What would go a day earlier", _DAY),
    Command("hygiene.week_later", "greater_than_sign", "shift(7)", "a week on", "What would go a week later", _DAY),
    Command("hygiene.week_earlier", "less_than_sign", "shift(-7)", "a week back", "What would go a week earlier", _DAY),
    Command("hygiene.today", "0", "today", "today", "What would go now", _DAY),
    Command("hygiene.leave_none", "backslash", "leave_none", "none left out", "Leave nothing out any more", _CHOOSE),
    Command("hygiene.panes", "tab,shift+tab", "other_pane", "rules", "From the things to the rules, and back", FIND),
    Command("hygiene.notes", "i", "show_notes", "remarks", "What could not be looked at, in full", FIND),
    Command("hygiene.reload", "r", "reload", "reload", "Look again; after a failure: try again", FIND),
    Command("hygiene.help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, True),
    Command(
        "hygiene.palette",
        "colon,ctrl+p",
        "app.command_palette",
        "commands",
        "Find a command by its name",
        PROGRAM,
        in_palette=False,
    ),
    Command(
        "hygiene.out",
        "escape",
        "screen.step_out",
        "out",
        "From the rules to the things, from there back",
        PROGRAM,
        True,
        in_palette=False,
    ),
    Command("hygiene.back", "q", "leave", "back", "Back to the list", PROGRAM, in_palette=False),
)
