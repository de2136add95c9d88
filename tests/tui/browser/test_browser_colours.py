"""What one came to read can be read, and what is not a danger is not red."""

from __future__ import annotations

from itertools import chain

import pytest
from support.screens import WIDE, screen_text
from support.settling import press, running, settled
from textual.color import Color
from tui_samples import Inspector

from zeroclaw_tui.tui.themes import first_theme


def luminance(colour: Color) -> float:
    """By WCAG 2.1."""
    parts = (value / 255 for value in colour.rgb)
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Color, other: Color) -> float:
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


async def test_everything_has_contrast_in_both_themes_and_sixteen_colours_have_no_red(inspector: Inspector) -> None:
    """Also rows below the threshold, titles and numbers."""
    async with running(inspector.app(), WIDE) as (app, pilot):
        await press(pilot, "slash", "=what to eat", "enter", "G")
        assert "shows how it was made" in screen_text(app)
        for theme in ("zeroclaw-dark", "zeroclaw-light"):
            app.theme = theme
            await settled(pilot)
            ground = Color.parse(app.theme_variables["background"])
            for segment in chain.from_iterable(app.screen._compositor.render_strips(app.size)):
                text, style = segment.text.strip(), segment.style
                if not any(letter.isalnum() for letter in text) or not style or "dim" in str(style):
                    continue
                if style.color and style.color.triplet:
                    behind = style.bgcolor.triplet if style.bgcolor else None
                    shown, on = Color(*style.color.triplet), Color(*behind) if behind else ground
                    assert contrast(shown, on) >= 4.5, f"{text!r}: {shown.hex} on {on.hex}"
        app.theme = first_theme({}, "standard")
        await settled(pilot)
        colours = app.theme_variables
        assert (colours["score-vector"], colours["score-keyword"]) == ("ansi_cyan", "ansi_yellow")
        assert Color.parse(colours["primary"]) != Color.parse(colours["error"])


@pytest.mark.parametrize(
    ("environment", "colours", "theme"),
    [
        ({}, "truecolor", "zeroclaw-dark"),
        ({"COLORFGBG": "0;15"}, "truecolor", "zeroclaw-light"),
        ({"COLORFGBG": "15;default;0"}, "256", "zeroclaw-dark"),
        ({"COLORFGBG": "0;7"}, "standard", "ansi-light"),
        ({}, "standard", "ansi-dark"),
    ],
)
def test_the_first_theme_goes_by_the_terminal(environment: dict[str, str], colours: str, theme: str) -> None:
    assert first_theme(environment, colours) == theme
