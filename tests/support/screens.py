"""The text on the screen of an app, as a user reads it."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.widget import Widget

WIDE = (140, 40)
NARROW = (80, 24)


def screen_text(app: App[Any]) -> str:
    """Return every line on the screen."""
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def screen_lines(app: App[Any]) -> list[str]:
    """Return the lines of the screen without the sides of frames."""
    return screen_text(app).replace("│", "").split("\n")


def words_of(text: str) -> str:
    """Return a text with one space between words, without the bars next to rows and toasts and the sides of frames."""
    return " ".join(text.replace("▌", " ").replace("│", " ").split())


def screen_words(app: App[Any]) -> str:
    """Return the words on the screen."""
    return words_of(screen_text(app))


def line(app: App[Any], number: int) -> str:
    """Return one line of the screen, counted from 0."""
    return screen_text(app).splitlines()[number]


def line_with(app: App[Any], words: str) -> str:
    """Return the first line with these words, with one space between words."""
    lines = (" ".join(line.replace("▌", " ").split()) for line in screen_lines(app))
    return next((line for line in lines if words in line), "")


def place_of(app: App[Any], words: str, within: str = "") -> tuple[int, int]:
    """Return the column and line where these words begin, on the first line that also contains `within`."""
    for y, line in enumerate(screen_text(app).split("\n")):
        if words in line and within in line:
            return line.index(words), y
    raise AssertionError(f"{words!r} is not on the screen:\n{screen_text(app)}")


def highlighted_in(widget: Widget) -> list[str]:
    """Return the highlighted text on each line of a widget that draws lines, from the top."""
    drawn = [widget.render_line(y) for y in range(widget.size.height)]
    return [piece.text for strip in drawn for piece in strip if piece.style and piece.style.underline]


def notifications(app: App[Any]) -> str:
    """Return the texts of the notifications, one per line, the newest last."""
    return "\n".join(f"{note.title} {note.message}".strip() for note in app._notifications)


def clear_notifications(app: App[Any]) -> None:
    """Remove the notifications."""
    app.clear_notifications()
