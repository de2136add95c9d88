"""Our two themes, and the colours of lists and scores in any theme."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from textual.app import App
from textual.color import Color
from textual.content import Content
from textual.style import Style
from textual.theme import BUILTIN_THEMES, Theme

STRONG = "bold"
ACCENT = "$primary"
STRONG_ACCENT = "bold $primary"
LIT = "bold underline $primary"
MUTED = "$foreground-muted"
WARNING = "$warning"
"""Styles by theme variable, for `Content.assemble`."""


def clickable(words: Content | str, style: str, action: str, *given: object) -> Content:
    """Words that run an action with what is given to it when they are clicked."""
    content = words if isinstance(words, Content) else Content.styled(words, style)
    return content.stylize(Style.from_meta({"@click": (action, given)}))


def _shared(accent: str, ground: str) -> dict[str, str]:
    """What our themes have in their accent, and on the ground of the whole."""
    grounds = (
        *("footer-background", "footer-item-background", "footer-description-background", "block-cursor-foreground"),
        *("scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active"),
        "scrollbar-corner-color",
    )
    accents = ("score-final", "footer-key-foreground", "block-cursor-background", "scrollbar-active")
    return {**dict.fromkeys(grounds, ground), **dict.fromkeys(accents, accent), "block-cursor-text-style": "none"}


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
    variables=_shared("#f0834a", "#171413")
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
    variables=_shared("#bf4f17", "#fbf8f4")
    | {
        "score-vector": "#0f7285",
        "score-keyword": "#755600",
        "faint": "#6f665f",
        "foreground-muted": "#6b645d",
        "border": "#cfc4b8",
        "border-blurred": "#e0d7cd",
        "input-selection-background": "#bf4f17 25%",
        "scrollbar": "#d9cfc4",
        "scrollbar-hover": "#c4b8ab",
    },
)

_CALM = {
    "border": "ansi_bright_black",
    "border-blurred": "ansi_bright_black",
    "scrollbar": "ansi_bright_black",
    "scrollbar-hover": "ansi_white",
    "scrollbar-active": "ansi_white",
    "scrollbar-background": "ansi_default",
    "scrollbar-background-hover": "ansi_default",
    "scrollbar-background-active": "ansi_default",
    "scrollbar-corner-color": "ansi_default",
}
_TERMINALS_DARK, _TERMINALS_LIGHT = BUILTIN_THEMES["ansi-dark"], BUILTIN_THEMES["ansi-light"]
ANSI_DARK = replace(
    # The plain blue of most terminals can hardly be read on black.
    _TERMINALS_DARK,
    primary="ansi_bright_blue",
    variables=_TERMINALS_DARK.variables | _CALM,
)
ANSI_LIGHT = replace(_TERMINALS_LIGHT, variables=_TERMINALS_LIGHT.variables | _CALM)
"""Textual's own themes of the terminal's sixteen colours, with scrollbars and lines as quiet as in ours."""

_SIXTEEN_COLOURS = "standard"
_LIGHT_GROUNDS = ("7", "15")
_ANSI = {
    "text": "ansi_default",
    "muted": "ansi_default",
    "faint": "ansi_bright_black",
    "final": "ansi_default",
    "vector": "ansi_cyan",
    "keyword": "ansi_yellow",
    "good": "ansi_green",
    "bad": "ansi_red",
    "cursor": "ansi_default",
    "cursor-blurred": "ansi_default",
    "marked": "ansi_default",
}
_FALLBACK = {True: ("#5fb8c9", "#dcb861"), False: ("#0f7285", "#755600")}


def first_theme(environment: Mapping[str, str], colours: str | None) -> str:
    """The theme to start with: ours, or the terminal's own colours where it has but sixteen.

    `colours` is the name that Rich has for what a terminal can show. Dark or light goes by COLORFGBG, in which
    terminals (rxvt, Konsole, iTerm2) name the colours of text and ground by their numbers, "0;15" for black on white.
    """
    is_light = environment.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_GROUNDS
    if colours == _SIXTEEN_COLOURS:
        return "ansi-light" if is_light else "ansi-dark"
    return ZEROCLAW_LIGHT.name if is_light else ZEROCLAW_DARK.name


def score_colours(app: App[Any]) -> dict[str, Color]:
    """The opaque colours of lists and scores in the theme that is on, whichever it is.

    Names: text, muted, faint, final, vector, keyword, good, bad; the backgrounds cursor, cursor-blurred, marked.
    Our variables (`score-vector`, `score-keyword`, `score-final`, `faint`) win where the theme has them; else they are
    mixed from its accent, foreground and background. A theme of the terminal's own sixteen colours gets names of these.
    """
    if app.native_ansi_color:
        return {name: Color.parse(value) for name, value in _ANSI.items()}
    variables = app.theme_variables
    foreground, background = Color.parse(variables["foreground"]), Color.parse(variables["background"])
    accent = Color.parse(variables.get("score-final", variables["accent"]))
    vector, keyword = _FALLBACK[app.current_theme.dark]
    return {
        "text": foreground,
        "muted": background.blend(foreground, 0.76),
        "faint": Color.parse(variables["faint"]) if "faint" in variables else background.blend(foreground, 0.58),
        "final": accent,
        "vector": Color.parse(variables.get("score-vector", vector)),
        "keyword": Color.parse(variables.get("score-keyword", keyword)),
        "good": Color.parse(variables["success"]),
        "bad": Color.parse(variables["error"]),
        "cursor": background.blend(accent, 0.17),
        "cursor-blurred": background.blend(foreground, 0.08),
        "marked": background.blend(accent, 0.07),
    }
