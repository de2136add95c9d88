"""The commands of the audit, declared once."""

from __future__ import annotations

from zeroclaw_tui.tui.commands import CHANGE, LOOK, PROGRAM, Command

_MARK = "Mark"

AUDIT_COMMANDS = (
    Command(
        "audit.purge", "d", "purge", "purge", "Move the marked memories, else the row, to the trash", CHANGE, True,
        writes=True,
    ),
    Command(
        "audit.category", "c", "recategorise", "category", "Give the marked memories, else the row, another category",
        CHANGE, True, writes=True,
    ),
    Command(
        "audit.merge", "M", "merge", "merge", "Merge duplicates: the marked groups, the row's, or all of the finding",
        CHANGE, True, writes=True,
    ),
    Command("audit.mark", "space", "mark", "mark", "Mark the memory, or take its mark away", _MARK, True),
    Command("audit.mark_all", "asterisk", "mark_all", "all", "Mark all memories of the finding", _MARK, True),
    Command("audit.unmark", "backslash", "unmark", "none", "Take every mark away", _MARK),
    Command("audit.undo", "u", "undo", "undo", "Take back the last change", CHANGE, True, writes=True),
    Command("audit.open", "enter,o", "open", "read", "From the finding to its memories, and to the whole memory", LOOK),
    Command("audit.copy", "y", "copy_content", "copy", "Copy the whole content", LOOK),
    Command("audit.reload", "r", "reload", "audit again", "Audit again; after a failure: try again", LOOK, True),
    Command("audit.help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, True),
    Command(
        "audit.palette", "colon,ctrl+p", "app.command_palette", "commands", "Find a command by its name", PROGRAM,
        in_palette=False,
    ),
    Command(
        "audit.out", "escape", "screen.step_out", "out", "Stop what is under way, one pane back, or back to the list",
        PROGRAM, True, in_palette=False,
    ),
    Command("audit.leave", "q", "leave", "back", "Back to the list", PROGRAM, in_palette=False),
)  # fmt: skip
