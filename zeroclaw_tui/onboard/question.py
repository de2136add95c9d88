"""What a question is: its words, its choices, and how an answer becomes a setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from zeroclaw_tui.config.masking import masked_secret
from zeroclaw_tui.config.schema import SETTINGS
from zeroclaw_tui.config.setting_names import BACKEND, is_read, parsed_value
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.onboard.answers import BACKEND_TITLES, Answers, backend_defaults, known_backends

When = Callable[[Answers], bool]


@dataclass(frozen=True, slots=True)
class Choice:
    """One row of a list: what it means, its title, and a few words about it."""

    value: str
    title: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question about one setting, asked `when` it makes sense and this ZeroClaw reads it from config.toml."""

    setting: str
    text: str
    about: str
    group: str
    when: When
    rows: Mapping[str, str] = field(default_factory=dict)
    """The values of a list, with a few words about each."""
    is_required: bool = False
    """Whether it needs a value and has no default."""

    @property
    def id(self) -> str:
        """The setting's name without `memory.` or `storage.`."""
        return self.setting.partition(".")[2]

    @property
    def kind(self) -> Literal["choice", "switch", "text", "secret"]:
        """How it is asked."""
        setting = SETTINGS[self.setting]
        if setting.is_secret:
            return "secret"
        return "choice" if self.rows else "switch" if setting.kind == "switch" else "text"

    def is_asked(self, answers: Answers) -> bool:
        """Whether these answers lead to it."""
        return is_read(self.setting, answers.situation.target) and self.when(answers)

    def choices(self, answers: Answers) -> tuple[Choice, ...]:
        """The rows of a list, none for a text."""
        if self.kind == "switch":
            return (Choice("yes", "Yes"), Choice("no", "No"))
        known = known_backends(answers.situation.target) if self.setting == BACKEND else self.rows
        return tuple(Choice(value, BACKEND_TITLES.get(value, value), self.rows[value]) for value in known)

    def present(self, answers: Answers) -> str:
        """The value to show and offer; a secret is plain text, which the prompt masks."""
        return answers.backend() if self.setting == BACKEND else as_text(answers.value(self.setting))

    def default(self, answers: Answers) -> str:
        """The default in words."""
        return "" if self.is_required else as_text(self._default(answers)) or "none"

    def read(self, answers: Answers, text: str) -> Any:
        """From a typed text, or the value of a choice, to the value of the setting.

        What is offered is taken as it is. An empty text means the default, and None where there is none. Raises
        UsageError.
        """
        typed = text.strip()
        if not typed:
            return self._of_nothing(answers)
        if typed == self.present(answers).strip():
            return answers.value(self.setting)
        return parsed_value(self.setting, typed, answers.situation.target.reading_version)

    def _default(self, answers: Answers) -> Any:
        own = SETTINGS[self.setting].default_for(answers.situation.target)
        return backend_defaults(answers.backend()).get(self.setting, own) if answers.writes_defaults() else own

    def _of_nothing(self, answers: Answers) -> Any:
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
    """A value as a person would type it: "yes", "30", "0.7"; nothing for no value."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def shown_value(setting: str, value: Any) -> str:
    """A value on one line and without its secrets; of a URL only the password is hidden."""
    if value and SETTINGS[setting].is_secret:
        return one_line(masked_secret(str(value)))
    return one_line(mask_secrets(as_text(value)))


def for_backends(*kinds: str) -> When:
    """Asked for these backends."""
    return lambda answers: answers.backend() in kinds


def while_on(setting: str, when: When) -> When:
    """Asked where a switch is on as well."""
    return lambda answers: when(answers) and bool(answers.value(setting))
