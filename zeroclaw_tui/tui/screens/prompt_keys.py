"""The commands of the prompt, declared once."""

from __future__ import annotations

from zeroclaw_tui.tui.commands import FIND, LOOK, PROGRAM, WHY, Command

PROMPT_COMMANDS = (
    # With priority it is done before the next key is looked at, so that fast typing goes where it is meant to.
    Command(
        "prompt.message", "slash", "open_message", "message", "Type the message the prompt stands before", FIND, True,
        True,
    ),
    Command(
        "prompt.rule", "tab,r", "toggle_rule", "other rule", "Inject by the rule of the CLI agent, or of the channels",
        WHY, True,
    ),
    Command("prompt.what-if", "w", "what_if", "what-if", "What other weights and thresholds would recall", WHY, True),
    Command("prompt.profile", "p", "choose_profile", "scoring", "Choose whose scoring rules recall follows", WHY, True),
    Command("prompt.copy", "y", "copy_prompt", "copy", "Copy the text, letter for letter", LOOK, True),
    Command("prompt.again", "ctrl+r", "reload", "again", "Ask the store again; after a failure: try again", LOOK),
    Command("prompt.help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, True),
    Command(
        "prompt.palette", "colon,ctrl+p", "app.command_palette", "commands", "Find a command by its name", PROGRAM,
        in_palette=False,
    ),
    Command(
        "prompt.out", "escape", "screen.step_out", "out", "From the message to the text, from there back", PROGRAM,
        True, in_palette=False,
    ),
    Command("prompt.leave", "q", "leave", "back", "Back to the list", PROGRAM, in_palette=False),
)  # fmt: skip
