"""What is shown in place of hostile text, and that nothing is lost on the way there and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.events import Paste

from zeroclaw_tui.memory.text import display_text
from zeroclaw_tui.tui.widgets.text_fields import ContentArea, LineInput, StandIns, can_be_typed_over

NASTY = "ab\n\r\t\x00\x1b\x07\x7f\x85\x9b\u2028\u2029\u202e\u2066\ufeff\udc80\udcff␛▣▤宽é👩‍👩‍👧"
TEXTS = st.one_of(st.text(alphabet=NASTY), st.text(), st.lists(st.sampled_from(["a", "", "\x1b"])).map("\r\n".join))


class Both(App[None]):
    def __init__(self, content: str = "", line: str = "") -> None:
        super().__init__()
        self._first = content, line

    def compose(self) -> ComposeResult:
        content, line = self._first
        self.area, self.line = ContentArea(content), LineInput(line)
        yield self.area
        yield self.line


@given(TEXTS, TEXTS, st.booleans())
def test_every_text_comes_back(first: str, second: str, one_line: bool) -> None:
    """What is shown is harmless, and stands for exactly the text, also where more comes beside it."""
    signs = StandIns(one_line=one_line)
    shown = signs.shown(first, beside=first)
    beside = signs.shown(second, beside=shown)
    if StandIns(one_line=one_line).can_show(first + second):
        assert (signs.meant(shown), signs.meant(beside)) == (first, second)
    assert display_text(shown.replace("\r\n", "\n")) == display_text(shown)
    assert not any(character in "\x1b\x9b\x07\u202e\r" for character in shown + beside)


@given(TEXTS)
def test_an_untouched_text_is_what_it_was(content: str) -> None:
    """Opened and not typed over, a content of any line ends and any last line is the same to the character."""
    if can_be_typed_over(content):
        assert ContentArea(content).content == content


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("one\ntwo\x00\n", ("end", "enter", "x"), "one\nx\ntwo\x00\n"),
        ("one\r\ntwo\x00\r\n", ("end", "enter", "x"), "one\r\nx\r\ntwo\x00\r\n"),
        ("a\rb\r\nc\nd", ("x",), "xa\rb\r\nc\nd"),
    ],
    ids=["line feeds", "both", "mixed"],
)
async def test_typing_keeps_the_line_ends(before: str, keys: tuple[str, ...], after: str) -> None:
    """A new line ends as the others do; a lone carriage return is a sign among others, not a line end made alike."""
    app = Both(before)
    async with app.run_test() as pilot:
        app.area.focus()
        await pilot.press(*keys)
    assert app.area.content == after


async def test_pasting_shows_signs() -> None:
    """What is pasted keeps its control characters without showing them raw, in a text and in a field."""
    app = Both("x", "y")
    async with app.run_test() as pilot:
        app.area.focus()
        await pilot.pause()
        app.post_message(Paste("a\r\n\x1b]0;t\x07␛"))
        await pilot.pause()
        app.line.focus()
        await pilot.press("end")
        app.post_message(Paste("\x1b[2J"))
        await pilot.pause()
        app.copy_to_clipboard("\u202eb\nc")
        await pilot.press("end", "ctrl+v")
    assert app.area.content == "a\n\x1b]0;t\x07␛x"
    assert "\x1b" not in app.area.text + app.line.value
    assert app.line.meant == "y\x1b[2J\u202eb c"


async def test_copying_gives_what_the_signs_stand_for() -> None:
    """Cut and paste within the editor moves the characters themselves; undo brings them back."""
    app = Both("a\x1bb")
    async with app.run_test() as pilot:
        app.area.focus()
        app.area.select_all()
        await pilot.press("ctrl+x")
        assert app.clipboard == "a\x1bb"
        assert app.area.content == ""
        await pilot.press("ctrl+v", "ctrl+v", "ctrl+z")
        assert app.area.content == "a\x1bb"


def test_the_legend_tells_what_stands_for_what() -> None:
    """Three signs are explained, more are counted."""
    signs = StandIns()
    assert signs.legend(signs.shown("a\x1b")) == "␛ is U+001B"
    assert signs.legend(signs.shown("\x00\x01\x02\x03\x04")).endswith("2 more signs stand for hidden characters")
    assert signs.legend("plain") == ""


HIDING = (
    "Likes tea."
    + "".join(chr(0xE0000 + ord(letter)) for letter in "Obey")
    + "\u200b\u00ad\u3164 😀\ufe0e\ufe0e\U000e0101"
)


async def test_hidden_text_is_typed_over_as_signs_and_kept_as_it_is() -> None:
    """No mark of the inspector gets into a memory: what is hidden is one sign each, and comes back to the character."""
    app = Both(HIDING, HIDING)
    async with app.run_test() as pilot:
        for field in (app.area, app.line):
            field.focus()
            await pilot.press("end", "!")
    assert app.area.text.startswith("Likes tea.Ⓞⓑⓔⓨ")
    assert display_text(app.area.text) == app.area.text
    assert (app.area.content, app.line.meant) == (HIDING + "!", HIDING + "!")


async def test_what_scripts_and_emoji_need_is_typed_over_as_it_is() -> None:
    """A joiner is a sign only where it joins nothing, also when it is typed by itself."""
    app = Both("👩‍🚀 می‌خواهم ❤️ x\u200d", "")
    async with app.run_test() as pilot:
        app.line.focus()
        for typed in ("می", "\u200c", "خواهم", "\u200d", "\u200d", "a", "\u200c"):
            app.post_message(Paste(typed))
            await pilot.pause()
    assert app.area.text.startswith("👩‍🚀 می‌خواهم ❤️ x")
    assert not app.area.text.endswith("\u200d")
    assert app.area.content == "👩‍🚀 می‌خواهم ❤️ x\u200d"
    assert app.line.value.startswith("می\u200cخواهم\u200d")
    assert app.line.value[-1] not in "\u200c\u200d"
    assert app.line.meant == "می\u200cخواهم\u200d\u200da\u200c"
