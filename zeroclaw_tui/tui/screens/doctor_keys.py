"""The commands of the doctor's screen, declared once."""

from __future__ import annotations

from zeroclaw_tui.tui.commands import CHANGE, LOOK, PROGRAM, Command

DOCTOR_COMMANDS = (
    Command("doctor.repair", "enter", "repair", "repair", "Repair what the cursor is on …", CHANGE, True, writes=True),
    Command("doctor.deep", "x", "look_deeper", "deep check", "Check every page and the keyword index", LOOK, True),
    Command("doctor.again", "r", "reload", "again", "Look again", LOOK, True),
    Command("doctor.copy", "y", "copy_report", "copy", "Copy everything as text", LOOK, True),
    Command("doctor.help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, True),
    Command(
        "doctor.palette",
        "colon,ctrl+p",
        "app.command_palette",
        "commands",
        "Find a command by its name",
        PROGRAM,
        in_palette=False,
    ),
    Command(
        "doctor.out",
        "escape",
        "screen.step_out",
        "out",
        "Stop looking, from the finding to the list, from there back",
        PROGRAM,
        True,
        in_palette=False,
    ),
    Command("doctor.leave", "q", "leave", "back", "Back to the list", PROGRAM, in_palette=False),
)
