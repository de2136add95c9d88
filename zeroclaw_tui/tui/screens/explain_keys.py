"""The commands of the explanation, declared once."""

from __future__ import annotations

from zeroclaw_tui.tui.commands import CHANGE, FIND, LOOK, PROGRAM, UPKEEP, WHY, Command

EXPLAIN_COMMANDS = (
    # With priority it is done before the next key is looked at, so that fast typing goes where it is meant to.
    Command(
        "explain.message", "slash", "open_message", "message", "Type the message to explain it for", FIND, True, True
    ),
    Command("explain.what-if", "w", "what_if", "what-if", "What other weights and thresholds would recall", WHY, True),
    Command(
        "explain.profile", "p", "choose_profile", "scoring", "Choose whose scoring rules recall follows", WHY, True
    ),
    Command(
        "explain.rule", "r", "toggle_rule", "rule", "Inject by the rule of the CLI agent, or of the channels", WHY, True
    ),
    Command("explain.prompt", "P", "show_prompt", "prompt", "The text ZeroClaw puts before this message", WHY, True),
    Command(
        "explain.re-embed", "R", "re_embed", "re-embed", "Make the vector of this memory anew", UPKEEP, True,
        writes=True,
    ),
    Command("explain.edit", "e", "edit", "edit", "Leave the explanation, and edit this memory", CHANGE, writes=True),
    Command("explain.filter", "F", "choose_filters", "filter", "Leave the explanation, and recall for others", FIND),
    Command("explain.newer", "x", "explain_newer", "newer", "Explain the memory that replaced this one", WHY, True),
    Command("explain.copy", "y", "copy_explanation", "copy", "Copy the explanation as text", LOOK, True),
    Command("explain.again", "ctrl+r", "reload", "again", "Ask the store again; after a failure: try again", LOOK),
    Command("explain.help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, True),
    Command(
        "explain.palette", "colon,ctrl+p", "app.command_palette", "commands", "Find a command by its name", PROGRAM,
        in_palette=False,
    ),
    Command(
        "explain.out", "escape", "screen.step_out", "out", "From the message to the answer, from there back", PROGRAM,
        True, in_palette=False,
    ),
    Command("explain.leave", "q", "leave", "back", "Back to the list", PROGRAM, in_palette=False),
)  # fmt: skip
