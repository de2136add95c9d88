"""A question: its text, its choices, and the conversion of an answer to a setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from zeroclaw_tui.config.masking import masked_secret
from zeroclaw_tui.config.schema import SETTINGS
from zeroclaw_tui.config.setting_names import BACKEND, is_read, parse_setting
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.onboard.answers import BACKEND_TITLES, Answers, backend_defaults, known_backends

When = Callable[[Answers], bool]


@dataclass(frozen=True, slots=True)
class Choice:
    """One row of a list: its value, its title, and a short description."""

    value: str
    title: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question about one setting, asked if `when` is true and the target version reads it from config.toml."""

    setting: str
    text: str
    about: str
    group: str
    when: When
    rows: Mapping[str, str] = field(default_factory=dict)
    """The values of a list, each with a short description."""
    is_required: bool = False
    """Whether it needs a value and has no default."""

    @property
    def id(self) -> str:
        """The setting's name without `memory.` or `storage.`."""
        return self.setting.partition(".")[2]

    @property
    def kind(self) -> Literal["choice", "switch", "text", "secret"]:
        """The kind of prompt."""
        setting = SETTINGS[self.setting]
        if setting.is_secret:
            return "secret"
        return "choice" if self.rows else "switch" if setting.kind == "switch" else "text"

    def is_asked(self, answers: Answers) -> bool:
        """Whether it is asked, given these answers."""
        return is_read(self.setting, answers.situation.target) and self.when(answers)

    def choices(self, answers: Answers) -> tuple[Choice, ...]:
        """The rows of a list, empty for a text."""
        if self.kind == "switch":
            return (Choice("yes", "Yes"), Choice("no", "No"))
        known = known_backends(answers.situation.target) if self.setting == BACKEND else self.rows
        return tuple(Choice(value, BACKEND_TITLES.get(value, value), self.rows[value]) for value in known)

    def present(self, answers: Answers) -> str:
        """The current value to show and offer; a secret is decrypted, and the prompt masks it."""
        return answers.backend() if self.setting == BACKEND else as_text(answers.value(self.setting))

    def default(self, answers: Answers) -> str:
        """The default as a text."""
        return "" if self.is_required else as_text(self._default(answers)) or "none"

    def read(self, answers: Answers, text: str) -> Any:
        """Convert a typed text, or the value of a choice, to the value of the setting.

        The offered text means the current value. An empty text means the default, or None if there is none. Raises
        UsageError.
        """
        typed = text.strip()
        if not typed:
            return self._value_of_empty(answers)
        if typed == self.present(answers).strip():
            return answers.value(self.setting)
        return parse_setting(self.setting, typed, answers.situation.target.reading_version)

    def _default(self, answers: Answers) -> Any:
        own = SETTINGS[self.setting].default_for(answers.situation.target)
        return backend_defaults(answers.backend()).get(self.setting, own) if answers.writes_defaults() else own

    def _value_of_empty(self, answers: Answers) -> Any:
        if self.is_required:
            raise UsageError(f"{self.setting} is required.", hint=SETTINGS[self.setting].about)
        default = self._default(answers)
        if default is None and answers.current(self.setting) is not None:
            raise UsageError(
                f"{self.setting} is set in config.toml, and the wizard does not remove keys.",
                hint="Keep the value, type another, or delete that line yourself.",
            )
        return default


def as_text(value: Any) -> str:
    """Format a value as a user would type it: "yes", "30", "0.7"; empty for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def shown_value(setting: str, value: Any) -> str:
    """Format a value on one line with masked secrets; in a URL only the password is masked."""
    if value and SETTINGS[setting].is_secret:
        return one_line(masked_secret(str(value)))
    return one_line(mask_secrets(as_text(value)))


def for_backends(*kinds: str) -> When:
    """The condition that one of these backends is chosen."""
    return lambda answers: answers.backend() in kinds


def while_on(setting: str, when: When) -> When:
    """The condition `when`, and that a switch is on."""
    return lambda answers: when(answers) and bool(answers.value(setting))
