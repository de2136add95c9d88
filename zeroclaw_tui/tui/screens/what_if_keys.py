"""The commands of the what-if screen, declared once."""

from __future__ import annotations

from zeroclaw_tui.tui.commands import CHANGE, FIND, LOOK, PROGRAM, WHY, Command

TRY = "Try"

WHAT_IF_COMMANDS = (
    Command("trial.less", "left,minus", "step(-1)", "less", "The chosen setting a step down", TRY, True),
    Command("trial.more", "right,plus,equals_sign", "step(1)", "more", "The chosen setting a step up", TRY, True),
    Command("trial.much_less", "shift+left,less_than_sign", "stride(-1)", "much less", "A bigger step down", TRY),
    Command("trial.much_more", "shift+right,greater_than_sign", "stride(1)", "much more", "A bigger step up", TRY),
    Command("trial.choose", "enter", "choose_value", "choose", "Choose a value, or take the number typed", TRY),
    Command("trial.reset", "backspace", "reset", "as it was", "The chosen setting as it was", TRY),
    Command("trial.reset_all", "z", "reset_all", "reset", "Every setting as it was", TRY, True),
    Command("trial.profile", "p", "choose_profile", "profile", "Choose whose scoring rules are tried", TRY),
    Command("trial.write", "W", "write", "write", "Write the settings to config.toml …", CHANGE, True, writes=True),
    Command("trial.explain", "x", "explain", "explain", "Why this memory is recalled in this trial, or not", WHY, True),
    Command("trial.copy", "y", "copy_command", "copy", "Copy the command that recalls like this", LOOK),
    Command("trial.message", "slash", "open_message", "message", "Type another message", FIND, True),
    Command("trial.panes", "tab,shift+tab", "other_pane", "list", "From the settings to the list, and back", FIND),
    Command("trial.page_down", "pagedown", "page(1)", "page down", "A page on in the list", FIND),
    Command("trial.page_up", "pageup", "page(-1)", "page up", "A page back in the list", FIND),
    Command("trial.reload", "r,ctrl+r", "reload", "reload", "Ask the store again, the settings stay", FIND),
    Command("trial.help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, True),
    Command(
        "trial.palette",
        "colon,ctrl+p",
        "app.command_palette",
        "commands",
        "Find a command by its name",
        PROGRAM,
        in_palette=False,
    ),
    Command(
        "trial.out",
        "escape",
        "screen.step_out",
        "out",
        "Back to the settings, from there out; nothing is written",
        PROGRAM,
        True,
        in_palette=False,
    ),
    Command("trial.leave", "q", "leave", "back", "Back to where you came from", PROGRAM, in_palette=False),
)
