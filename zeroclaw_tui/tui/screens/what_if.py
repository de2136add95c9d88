"""What a message would recall with other settings: the list follows the keys, and `W` writes them to config.toml."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Key

from zeroclaw_tui.curation.profile_choice import ProfileChoice, known_rules
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.tui.commands import bindings
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.screens.choice import Choice, ChoiceScreen
from zeroclaw_tui.tui.screens.what_if_keys import WHAT_IF_COMMANDS
from zeroclaw_tui.tui.screens.what_if_listing import WhatIfListing
from zeroclaw_tui.tui.screens.what_if_settings import SETTINGS, NumberSetting, Tried, WordSetting
from zeroclaw_tui.tui.screens.what_if_words import command_words, idle_because
from zeroclaw_tui.tui.screens.what_if_writing import written
from zeroclaw_tui.tui.widgets.compared_rows import ComparedRows
from zeroclaw_tui.tui.widgets.message_line import MessageLine
from zeroclaw_tui.tui.widgets.trial_settings import TrialSettings

_WHILE_TYPING = frozenset({"open_message", "step_out", "show_help", "reload", "leave"})
"""What the keys that are no characters do while the message is typed."""
_DIGITS = frozenset("0123456789")
_POINT = "."
_MOST_TYPED = 9


class WhatIfScreen(WhatIfListing):
    """Tries other settings on one message. Gives True when what the browser shows has to follow."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(WHAT_IF_COMMANDS)
    COMMANDS_HERE = WHAT_IF_COMMANDS

    @property
    def read_only_because(self) -> str | None:
        """Only config.toml is written from here: a store that is only read does not keep it from that."""
        return self.library.read_only_because if self.library.config.read_only else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the message is typed, keys that change settings are letters."""
        is_own = any(command.action.partition("(")[0] == action for command in self.COMMANDS_HERE)
        if is_own and action not in _WHILE_TYPING and self.is_mounted and self.query_one(MessageLine).input.has_focus:
            return False
        return super().check_action(action, parameters)

    def on_key(self, event: Key) -> None:
        """Type a number for the chosen setting."""
        if self.query_one(MessageLine).input.has_focus or event.character is None:
            return
        if event.character in _DIGITS or event.character == _POINT:
            event.stop()
            self._type(event.character)

    def on_trial_settings_stepped(self, event: TrialSettings.Stepped) -> None:
        """An arrow was clicked."""
        self.action_step(event.way)

    def action_step(self, way: int) -> None:
        """The chosen setting a step on."""
        self._step(way, is_big=False)

    def action_stride(self, way: int) -> None:
        """The chosen setting a big step on."""
        self._step(way, is_big=True)

    def action_reset(self) -> None:
        """Take back what was typed last, else the chosen setting as it was."""
        if self.typed:
            self._retype(self.typed[:-1])
        else:
            self._try(self.setting.reset(self.tried))

    def action_reset_all(self) -> None:
        """Every setting as it was."""
        self._try(Tried.nothing(self.tried.before, self.tried.limits))

    def action_choose_value(self) -> None:
        """Take what was typed, or choose from all there is."""
        setting = self.setting
        if self.typed is not None:
            self.typed = None
            self.paint()
        elif isinstance(setting, NumberSetting):
            self.tell(f"Type a number for the {setting.name}, or press left and right.")
        elif self._says_why_idle():
            return
        elif setting.name == "scoring profile":
            self.action_choose_profile()
        else:
            self._choose(setting)

    def action_choose_profile(self) -> None:
        """Choose whose scoring rules are tried."""
        tried = replace(self.library, profile=ProfileChoice.by_hand(self.tried.now.profile.version))
        current = tried.profile.profile.version
        choices = [Choice(version, version, news) for version, news in known_rules(current)]
        setting = next(one for one in SETTINGS if one.name == "scoring profile")
        screen = ChoiceScreen("Score like which ZeroClaw?", choices, current)
        self.app.push_screen(screen, lambda version: self._try(setting.put(self.tried, version)) if version else None)

    def action_other_pane(self) -> None:
        """From the settings to the list, and back."""
        rows = self.query_one(ComparedRows)
        if rows.has_focus or not rows.display:
            self.query_one(TrialSettings).focus()
        else:
            rows.focus()

    def action_page(self, pages: int) -> None:
        """Read on in the list, wherever the focus is."""
        self.query_one(ComparedRows).action_move_pages(pages)

    def action_step_out(self) -> None:
        """From a number that is being typed or from the message to the settings, from there back."""
        if self.typed is not None and not self.query_one(MessageLine).input.has_focus:
            self._try(self.setting.put(self.tried, self._value_before_typing))
        else:
            super().action_step_out()

    def action_explain(self) -> None:
        """Why the memory under the cursor is recalled with what is tried, or not."""
        from zeroclaw_tui.tui.screens.explain import ExplainScreen

        entry = self.query_one(ComparedRows).selected
        if entry is None or self.comparison is None:
            self.warn("There is no memory to explain.")
            return
        now, library = self.tried.now, self.library
        choice = library.profile
        if now.profile != choice.profile:
            choice = ProfileChoice.by_hand(now.profile.version)
        tried = replace(library, profile=choice, settings=now.settings)

        def after(has_changed: bool | None) -> None:
            if tried.profile is not choice:
                library.with_profile(tried.profile.profile.version)
            if tried.config is not library.config:
                # Settings were written from a what-if over the explanation.
                library.config = tried.config
                library.with_settings(tried.settings)
            if has_changed:
                self.has_changed = True
                self.reload()

        self.app.push_screen(ExplainScreen(tried, entry, now.request, self.clock, self.pace), after)

    async def action_copy_command(self) -> None:
        """Copy the command that recalls like this."""
        self.tell(await copy_text(self.app, command_words(self.library, self.tried)))

    def action_write(self) -> None:
        """Show what changes in config.toml, and write it."""
        self.begin(self._write(), "what-if-write")

    async def _write(self) -> None:
        words = self.comparison.words if self.comparison is not None and self.tried.changed else ""
        if await written(self.app, self.library, self.tried.now, self.clock(), words):
            self.has_changed = True
            self.tell("config.toml is changed; the one of before is kept as a backup.")
            self.reload()

    def _step(self, way: int, *, is_big: bool) -> None:
        setting = self.setting
        if self._says_why_idle():
            return
        if isinstance(setting, NumberSetting):
            self._try(setting.stepped(self.tried, way, is_big=is_big))
        else:
            self._try(setting.moved(self.tried, way, self.sessions))

    def _type(self, character: str) -> None:
        setting = self.setting
        if isinstance(setting, WordSetting):
            self.warn(f"The {setting.name} is no number: left and right change it.")
        elif not self._says_why_idle():
            if self.typed is None:
                self._value_before_typing = setting.get(self.tried)
            typed = (self.typed or "") + character
            is_number = typed.count(_POINT) <= (0 if setting.is_whole else 1)
            if is_number and len(typed) <= _MOST_TYPED:
                self._retype(typed)

    def _retype(self, typed: str) -> None:
        """Try what was typed so far; as long as that is no number, what was there before it."""
        setting = self.setting
        tried = setting.put(self.tried, self._value_before_typing)
        if typed.strip(_POINT) and isinstance(setting, NumberSetting):
            try:
                tried = setting.typed(self.tried, typed)
            except WrongUse as error:
                self.say_failure(error)
                return
        self._try(tried, typed or None)

    def _says_why_idle(self) -> bool:
        idle = idle_because(self.setting.name, self.tried, self.standing)
        if idle is not None:
            self.warn(idle[1])
        return idle is not None

    def _try(self, tried: Tried, typed: str | None = None) -> None:
        self.tried, self.typed = tried, typed
        self.try_now()

    def _choose(self, setting: WordSetting) -> None:
        values = list(setting.choices(self.tried, self.sessions))
        choices = [Choice(at, setting.shown_words(value)) for at, value in enumerate(values)]

        def take(at: int | None) -> None:
            if at is not None:
                self._try(setting.put(self.tried, values[at]))

        current = values.index(setting.get(self.tried))
        self.app.push_screen(ChoiceScreen(f"Which {setting.name}?", choices, current), take)

    _value_before_typing: float = 0.0
