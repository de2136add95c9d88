"""The commands of the screen on which another store is chosen, declared once."""

from __future__ import annotations

from zeroclaw_tui.tui.commands import CHANGE, LOOK, PROGRAM, Command

STORES_COMMANDS = (
    Command("stores.use", "enter", "use", "look at it", "Look at the store under the cursor", LOOK, True),
    Command("stores.reload", "r", "reload", "ask again", "Ask every store again", LOOK, True),
    Command("stores.copy", "c", "copy_here", "copy to it", "Copy this store's memories into it …", CHANGE, True),
    Command(
        "stores.confirm",
        "w",
        "confirm_store",
        "may write",
        "Say that the database of DATABASE_URL is ZeroClaw's, so that it may be written",
        CHANGE,
        True,
    ),
    Command("stores.help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, True),
    Command(
        "stores.palette", "colon,ctrl+p", "app.command_palette", "commands", "Find a command", PROGRAM, in_palette=False
    ),
    Command("stores.out", "escape", "leave", "back", "Back to the list", PROGRAM, True, False, False),
    Command("stores.leave", "q", "leave", "back", "Back to the list", PROGRAM, False, False, False),
)
