"""Changing the rules of hygiene: their settings, a number to type, and what then changes in config.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from zeroclaw_tui.config.setting_names import parsed_value
from zeroclaw_tui.curation.hygiene.rules import RuleChange, RuleSetting, Value
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.text import display_text, one_line
from zeroclaw_tui.tui.format import fit
from zeroclaw_tui.tui.looks import ACCENT, MUTED, WARNING
from zeroclaw_tui.tui.screens.confirm import Answer, NumberInput, options_of

Decision = Literal["save", "back", "leave"]
_PANEL, _PADDING, _VALUE = 100, 6, 12
_KEYS = "enter change   s what changes in the file   esc leave it"
_SIGN_LOOKS = {"+": "$success", "-": "$error", " ": MUTED}


class RuleSettingsScreen(ModalScreen[Mapping[str, Value] | None]):
    """Each setting with its value. Gives those that were changed, or None when they were left.

    `changed` are values chosen before, to go on from.
    """

    CSS_PATH = "hygiene.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "go_on", "what changes"),
        Binding("backslash", "reset", "as it was"),
        Binding("escape,q", "dismiss(None)", "leave it"),
        Binding("j", "cursor('down')", "down", show=False),
        Binding("k", "cursor('up')", "up", show=False),
    ]

    def __init__(self, settings: Sequence[RuleSetting], changed: Mapping[str, Value]) -> None:
        super().__init__()
        self._settings = settings
        self._changed = dict(changed)

    @property
    def holds_text(self) -> bool:
        """Whether something was changed that is saved nowhere."""
        return bool(self._changed)

    def compose(self) -> ComposeResult:
        """The settings, what the one under the cursor does, the keys."""
        with Vertical(id="asking"):
            yield Static("The rules of hygiene in config.toml", id="sentence", markup=False)
            yield OptionList(id="settings", markup=False, compact=True)
            yield Static("", id="setting", markup=False)
            yield Static(_KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        """Start at the top."""
        self._paint(0)

    def on_resize(self) -> None:
        """Cut names to the new width."""
        self._paint(self.query_one(OptionList).highlighted or 0)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Say what the setting does."""
        setting = self._settings[event.option_index]
        where = "" if setting.is_in_file else " It is not in the file: this is ZeroClaw's default."
        self.query_one("#setting", Static).update(Content(f"{setting.about}{where}"))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Turn a switch, take the next word, or ask for a number."""
        setting = self._settings[event.option_index]
        value = self._value(setting)
        if isinstance(value, bool):
            self._take(setting, not value)
        elif setting.choices:
            at = setting.choices.index(value) if value in setting.choices else -1
            self._take(setting, setting.choices[(at + 1) % len(setting.choices)])
        else:
            self.app.push_screen(NumberScreen(setting, value), lambda number: self._take(setting, number))

    def action_cursor(self, way: str) -> None:
        """Move like in a list."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if way == "down" else options.action_cursor_up()

    def action_reset(self) -> None:
        """Every setting as it was."""
        self._changed.clear()
        self._paint(self.query_one(OptionList).highlighted or 0)

    def action_go_on(self) -> None:
        """Give what was changed, where something was."""
        if self._changed:
            self.dismiss(dict(self._changed))
        else:
            self.query_one("#setting", Static).update("Nothing is changed yet: enter changes a setting.")

    def _value(self, setting: RuleSetting) -> Value:
        return self._changed.get(setting.name, setting.value)

    def _take(self, setting: RuleSetting, value: Value | None) -> None:
        if value is None:
            return
        self._changed[setting.name] = value
        if value == setting.value:
            del self._changed[setting.name]
        self._paint(self._settings.index(setting))

    def _paint(self, at: int) -> None:
        options = self.query_one(OptionList)
        width = min(_PANEL, self.app.size.width * 96 // 100) - _PADDING - 2
        with self.prevent(OptionList.OptionHighlighted):
            options.clear_options()
            options.add_options([Option(self._line(setting, width)) for setting in self._settings])
        options.highlighted = at

    def _line(self, setting: RuleSetting, width: int) -> Content:
        widest = max(cell_len(_shown_name(one.name)) for one in self._settings)
        name = fit(_shown_name(setting.name), min(widest, max(10, width - 2 * _VALUE - 8)))
        if setting.name not in self._changed:
            return Content.assemble("  ", name, "  ", fit(value_words(setting.value), _VALUE, "right"))
        return Content.assemble(
            ("● ", ACCENT),
            name,
            (f"  {fit(value_words(setting.value), _VALUE, 'right')}", MUTED),
            " → ",
            (value_words(self._changed[setting.name]), ACCENT),
        )


class NumberScreen(ModalScreen[int | None]):
    """Asks for a whole number. Gives it, or None when it was left."""

    CSS_PATH = "hygiene.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss(None)", "leave it")]

    def __init__(self, setting: RuleSetting, value: Value) -> None:
        super().__init__()
        self._setting = setting
        self._value = value

    def compose(self) -> ComposeResult:
        """The setting, a line for the number, the keys."""
        with Vertical(id="asking"):
            yield Static(Content(_shown_name(self._setting.name)), id="sentence")
            yield Static(Content(self._setting.about), id="setting")
            yield NumberInput(str(self._value), id="number", compact=True, restrict="[0-9,]*")
            yield Static("enter take it   esc leave it", id="keys", markup=False)

    def on_mount(self) -> None:
        """What is typed replaces what is there."""
        number = self.query_one(NumberInput)
        number.focus()
        number.select_all()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the number, or say what is wrong with it."""
        event.stop()
        try:
            self.dismiss(parsed_value(self._setting.name, event.value.replace(",", "")))
        except WrongUse as error:
            words = Content.assemble((display_text(error.message), WARNING))
            self.query_one("#setting", Static).update(words)


class RuleReviewScreen(ModalScreen[Decision]):
    """What changes in config.toml, what it means, and whether to save it. Escape goes back to the settings."""

    CSS_PATH = "hygiene.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,b", "dismiss('back')", "back"),
        Binding("n,q", "dismiss('leave')", "leave it"),
        Binding("y", "dismiss('save')", "save"),
        Binding("j", "cursor('down')", "down", show=False),
        Binding("k", "cursor('up')", "up", show=False),
        Binding("pageup", "scroll('up')", "up", show=False),
        Binding("pagedown", "scroll('down')", "down", show=False),
    ]
    _ANSWERS: ClassVar[tuple[tuple[Decision, Answer], ...]] = (
        ("leave", Answer("n", "Leave config.toml as it is")),
        ("save", Answer("y", "Save it", "the file of before is kept as a backup")),
        ("back", Answer("b", "Change something")),
    )

    def __init__(self, change: RuleChange, effect: str) -> None:
        super().__init__()
        self._change = change
        self._effect = effect

    holds_text = True

    def compose(self) -> ComposeResult:
        """The difference, the warnings, the answers, the keys."""
        with Vertical(id="asking"):
            yield Static("This changes in config.toml", id="sentence", markup=False)
            with VerticalScroll(id="review", can_focus=False):
                yield Static(self._lines(), id="lines")
            yield OptionList(
                *options_of([answer for _, answer in self._ANSWERS]), id="answers", markup=False, compact=True
            )
            yield Static("enter choose   n y b answer   esc back", id="keys", markup=False)

    def on_mount(self) -> None:
        """Nothing happens by accident."""
        options = self.query_one(OptionList)
        options.highlighted = 0
        options.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Give the answer."""
        self.dismiss(self._ANSWERS[event.option_index][0])

    def action_cursor(self, way: str) -> None:
        """Move like in a list."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if way == "down" else options.action_cursor_up()

    def action_scroll(self, way: str) -> None:
        """Read on in a long difference."""
        review = self.query_one(VerticalScroll)
        review.scroll_page_down() if way == "down" else review.scroll_page_up()

    def _lines(self) -> Content:
        parts: list[str | tuple[str, str]] = []
        for sign, text in self._change.lines:
            parts.append((f"{sign} {display_text(text)}\n", _SIGN_LOOKS[sign]))
        if not self._change.lines:
            parts.append(("Nothing: the file says so already.\n", MUTED))
        for warning in self._change.warnings:
            parts.append((f"\n▲ {display_text(warning)}", WARNING))
        if self._effect:
            parts.append(
                f"\n\n{display_text(self._effect)}" if self._change.warnings else f"\n{display_text(self._effect)}"
            )
        return Content.assemble(*parts)


def value_words(value: Value) -> str:
    """A value as a person reads it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else one_line(value)


def _shown_name(name: str) -> str:
    return name.removeprefix("memory.").removeprefix("policy.")
