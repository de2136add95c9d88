"""The commands of the statistics, declared once."""

from __future__ import annotations

from zeroclaw_tui.tui.commands import LOOK, PROGRAM, Command

STATS_COMMANDS = (
    Command("stats.reload", "r", "reload", "count again", "Count again; after a failure: try again", LOOK, True),
    Command("stats.copy", "y", "copy_json", "copy JSON", "Copy all of it as JSON", LOOK, True),
    Command("stats.help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, True),
    Command(
        "stats.palette", "colon,ctrl+p", "app.command_palette", "commands", "Find a command", PROGRAM, in_palette=False
    ),
    Command("stats.out", "escape", "screen.step_out", "back", "Back to the list", PROGRAM, True, False, False),
    Command("stats.leave", "q", "leave", "back", "Back to the list", PROGRAM, False, False, False),
)
