"""Our two themes, and the styles of texts in any theme."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from textual.content import Content
from textual.style import Style
from textual.theme import BUILTIN_THEMES, Theme

STRONG = "bold"
ACCENT = "$primary"
STRONG_ACCENT = "bold $primary"
HIGHLIGHT = "bold underline $primary"
MUTED = "$foreground-muted"
WARNING = "$warning"
"""Styles by theme variable, for `Content.assemble`."""
Look = Literal["text", "muted", "faint", "final", "vector", "keyword", "good", "bad"]
LOOKS: Mapping[str, str] = {
    "text": "$foreground",
    "muted": MUTED,
    "faint": "$faint",
    "final": "bold $primary",
    "vector": "$score-vector",
    "keyword": "$score-keyword",
    "good": "$success",
    "bad": "$error",
}
"""The styles of texts by name."""
SIGN_LOOKS = {"+": LOOKS["good"], "-": LOOKS["bad"], "~": LOOKS["text"], " ": MUTED, "…": LOOKS["faint"]}
"""The styles of the lines of a diff by sign."""


def clickable(words: Content | str, style: str, action: str, *args: object) -> Content:
    """Text that runs an action with these arguments when it is clicked."""
    content = words if isinstance(words, Content) else Content.styled(words, style)
    return content.stylize(Style.from_meta({"@click": (action, args)}))


def _shared_variables(accent: str, background: str) -> dict[str, str]:
    """The variables of our themes in the accent and background colour."""
    backgrounds = ("scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active")
    return {
        **dict.fromkeys((*backgrounds, "scrollbar-corner-color", "block-cursor-foreground"), background),
        **dict.fromkeys(("block-cursor-background", "scrollbar-active"), accent),
        "block-cursor-text-style": "none",
    }


ZEROCLAW_DARK = Theme(
    name="zeroclaw-dark",
    primary="#f0834a",
    secondary="#b98d73",
    accent="#f0834a",
    warning="#e3b65f",
    error="#e8625a",
    success="#86b46f",
    foreground="#e6e0d9",
    background="#171413",
    surface="#1d1a18",
    panel="#272320",
    dark=True,
    variables=_shared_variables("#f0834a", "#171413")
    | {
        "score-vector": "#5fb8c9",
        "score-keyword": "#dcb861",
        "faint": "#968d85",
        "border": "#4a423c",
        "border-blurred": "#332e2a",
        "input-selection-background": "#f0834a 35%",
        "scrollbar": "#3a3430",
        "scrollbar-hover": "#4f4741",
    },
)
ZEROCLAW_LIGHT = Theme(
    name="zeroclaw-light",
    primary="#bf4f17",
    secondary="#8a6248",
    accent="#bf4f17",
    warning="#9a6a00",
    error="#b3261e",
    success="#3f7a2d",
    foreground="#2a2522",
    background="#fbf8f4",
    surface="#f5f0ea",
    panel="#ece5dc",
    dark=False,
    variables=_shared_variables("#bf4f17", "#fbf8f4")
    | {
        "score-vector": "#0f7285",
        "score-keyword": "#755600",
        "faint": "#6b625b",
        "foreground-muted": "#6b645d",
        "border": "#cfc4b8",
        "border-blurred": "#e0d7cd",
        "input-selection-background": "#bf4f17 25%",
        "scrollbar": "#d9cfc4",
        "scrollbar-hover": "#c4b8ab",
    },
)

ANSI_DARK = replace(BUILTIN_THEMES["ansi-dark"], primary="ansi_bright_blue")
"""Textual's theme with sixteen colours, in bright blue, because plain blue is hardly readable on black."""


def first_theme(environment: Mapping[str, str], colours: str | None) -> str:
    """Choose the first theme: ours, or the terminal's own colours if it has only sixteen.

    `colours` is Rich's name of the terminal's colour system. COLORFGBG tells dark from light: terminals (rxvt, Konsole,
    iTerm2) set it to the numbers of the text and background colour, "0;15" for black on white.
    """
    is_light = environment.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")
    if colours == "standard":
        return "ansi-light" if is_light else "ansi-dark"
    return ZEROCLAW_LIGHT.name if is_light else ZEROCLAW_DARK.name


def own_variables(theme: Theme) -> dict[str, str]:
    """The colours of scores and of faint text, for a theme that does not define them."""
    if theme.ansi:
        return {"score-vector": "ansi_cyan", "score-keyword": "ansi_yellow", "faint": "ansi_bright_black"}
    ours = ZEROCLAW_DARK if theme.dark else ZEROCLAW_LIGHT
    return {name: ours.variables[name] for name in ("score-vector", "score-keyword", "faint")}
