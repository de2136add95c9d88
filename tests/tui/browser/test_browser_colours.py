"""What one came to read can be read, and what is not a danger is not red."""

from __future__ import annotations

import pytest
from support.settling import settled
from textual.color import Color
from tui_samples import Inspector, screen_text

from zeroclaw_tui.tui.themes import first_theme, score_colours


def luminance(colour: Color) -> float:
    """By WCAG 2.1."""
    parts = (value / 255 for value in colour.rgb)
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Color, other: Color) -> float:
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["zeroclaw-dark", "zeroclaw-light"])
async def test_rows_below_the_threshold_titles_and_exact_numbers_have_contrast(
    inspector: Inspector, theme: str
) -> None:
    app = inspector.app()
    async with app.run_test(size=(140, 40)) as pilot:
        app.theme = theme
        await settled(pilot)
        await pilot.press("slash", *"what to eat", "enter", "G")
        await settled(pilot)
        assert "exactly:" in screen_text(app)
        ground = Color.parse(app.theme_variables["background"])
        strips = app.screen._compositor.render_strips(app.size)
        for strip in strips:
            for segment in strip:
                text, style = segment.text.strip(), segment.style
                if text and any(letter.isalnum() for letter in text) and style and style.color and style.color.triplet:
                    behind = style.bgcolor.triplet if style.bgcolor and style.bgcolor.triplet else None
                    on = Color(*behind) if behind else ground
                    shown = Color(*style.color.triplet)
                    if "dim" not in str(style):
                        assert contrast(shown, on) >= 4.5, f"{text!r}: {shown.hex} on {on.hex}"


async def test_sixteen_colours_have_cyan_and_yellow_and_no_red(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        app.theme = first_theme({}, "standard")
        colours = score_colours(app)
        assert colours["vector"] == Color.parse("ansi_cyan")
        assert colours["keyword"] == Color.parse("ansi_yellow")
        assert colours["final"] not in (colours["bad"], Color.parse("ansi_red"))


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
