"""The commands of the snapshot screen, declared once."""

from __future__ import annotations

from zeroclaw_tui.tui.commands import CHANGE, FIND, PROGRAM, Command

_PICK = "Pick"

SNAPSHOT_COMMANDS = (
    Command(
        "snapshot.hydrate",
        "h,enter",
        "hydrate",
        "hydrate",
        "Bring the picked ones, else the row, into the store",
        CHANGE,
        True,
        writes=True,
    ),
    Command("snapshot.pick", "space", "pick", "pick", "Pick the row, or no longer", _PICK, True),
    Command("snapshot.write", "w", "write", "write", "Write the snapshot as ZeroClaw does", CHANGE, True, writes=True),
    Command("snapshot.next", "f,right", "show_part(1)", "filter", "Show the next kind of difference", FIND, True),
    Command("snapshot.previous", "F,left", "show_part(-1)", "filter back", "Show the kind of difference before", FIND),
    Command("snapshot.undo", "u", "undo", "undo", "Take back the last change", CHANGE, True, writes=True),
    Command("snapshot.open", "o", "open_file", "open", "Compare with another file …", FIND, True),
    Command("snapshot.pick_all", "asterisk", "pick_all", "all", "Pick all that are shown and can be brought in", _PICK),
    Command("snapshot.pick_none", "backslash", "pick_none", "none", "Pick none", _PICK),
    Command("snapshot.reload", "r", "reload", "reload", "Read both again; after a failure: try again", FIND),
    Command("snapshot.copy", "y", "copy_content", "copy", "Copy the content, the snapshot's where it has one", FIND),
    Command("snapshot.help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, True),
    Command(
        "snapshot.palette",
        "colon,ctrl+p",
        "app.command_palette",
        "commands",
        "Find a command by its name",
        PROGRAM,
        in_palette=False,
    ),
    Command(
        "snapshot.out",
        "escape",
        "screen.step_out",
        "out",
        "From the difference to the list, from there back",
        PROGRAM,
        True,
        in_palette=False,
    ),
    Command("snapshot.leave", "q", "leave", "back", "Back to the list", PROGRAM, in_palette=False),
)
