"""What a question is: its words, its choices, and how an answer becomes a setting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from zeroclaw_tui.config.masking import masked_secret
from zeroclaw_tui.config.schema import (
    SETTINGS,
)
from zeroclaw_tui.config.secrets import is_encrypted
from zeroclaw_tui.config.setting_names import (
    BACKEND,
    default_of,
    is_read,
    parsed_value,
)
from zeroclaw_tui.embeddings.base import is_web_address
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import counted, mask_secrets, one_line
from zeroclaw_tui.onboard.answers import (
    BACKEND_TITLES,
    Answers,
    backend_defaults,
)
from zeroclaw_tui.scoring.profiles import (
    ScoringProfile,
    Version,
    parse_version,
    profile_for,
)

QuestionKind = Literal["choice", "switch", "text", "secret"]
CUSTOM = "custom:"
"""What a provider with an address of its own begins with."""
Empty = Literal["default", "none", "required"]
"""What an empty text means: the default, no value at all where there is none, or nothing that would do."""
Check = Callable[[Answers, Any], None]
_NEVER = ("memory.archive_after_days", "memory.purge_after_days")
_UNITS = {"days": "day", "minutes": "minute", "secs": "second"}
When = Callable[[Answers], bool]


@dataclass(frozen=True, slots=True)
class Choice:
    """One row of a list: what it means, its title, and a few words next to it."""

    value: str
    title: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question about one setting; every callable is given the answers so far."""

    id: str
    group: str
    setting: str
    kind: QuestionKind
    text: str
    about: Callable[[Answers], str]
    is_asked: When
    present: Callable[[Answers], str]
    """The value to show and offer; a secret is plain text, which the prompt masks."""
    default: Callable[[Answers], str]
    read: Callable[[Answers, str], Any]
    """From a typed text, or the value of a choice, to the value of the setting; UsageError says what is wrong with it.

    An empty text means the default, or no value for a setting that may have none."""
    choices: Callable[[Answers], tuple[Choice, ...]] = lambda answers: ()

    @property
    def is_list(self) -> bool:
        """Whether one of a few choices is taken."""
        return self.kind in ("choice", "switch")


def version_of(answers: Answers) -> Version:
    """The version whose rules count."""
    return parse_version(answers.situation.target.reading_version)


def profile_of(answers: Answers) -> ScoringProfile:
    """How that version scores."""
    return profile_for(answers.situation.target.reading_version)


def as_text(value: Any) -> str:
    """A value as a person would type it: "yes", "30", "0.7"; nothing for no value."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def default_value(answers: Answers, setting: str) -> Any:
    """The default that counts for these answers: of the backend's file where that is written, else ZeroClaw's own."""
    own = default_of(setting, answers.situation.target)
    return backend_defaults(answers.backend()).get(setting, own) if answers.writes_defaults() else own


def reader(setting: str, *, empty: Empty = "default", check: Check | None = None) -> Callable[[Answers, str], Any]:
    """How a typed text becomes the setting's value; what is offered is taken as it is."""

    def read(answers: Answers, text: str) -> Any:
        typed = text.strip()
        if not typed:
            return _of_nothing(answers, setting, empty)
        present = answers.value(setting)
        if typed == as_text(present).strip():
            return present
        value = parsed_value(setting, typed, answers.situation.target.reading_version)
        if check is not None and not (isinstance(value, str) and is_filled_in_later(value)):
            check(answers, value)
        return value

    return read


def _of_nothing(answers: Answers, setting: str, empty: Empty) -> Any:
    if empty == "required":
        raise UsageError(f"{setting} is required.", hint=SETTINGS[setting].about)
    default = default_value(answers, setting)
    if empty == "default" or default is not None:
        return default
    if answers.current(setting) is None:
        return None
    raise UsageError(
        f"{setting} is set in config.toml, and the wizard does not remove keys.",
        hint="Keep the value, type another, or delete that line yourself.",
    )


def is_filled_in_later(text: str) -> bool:
    """True for what means another text: an encrypted value, a 1Password reference, an environment variable."""
    return is_encrypted(text) or text.startswith("${")


def check_web_address(what: str, text: str) -> None:
    """Raises UsageError unless the text is an http or https URL with a host."""
    if not is_filled_in_later(text) and not is_web_address(text):
        raise UsageError(
            f"{what} must be an http:// or https:// URL with a host.", hint="For example http://localhost:6333."
        )


def shown_value(setting: str, value: Any) -> str:
    """A value in words for the overview and the review: "on", "never", "7 days", "••••" for a secret (of a URL only
    its password is hidden)."""
    key = SETTINGS.get(setting)
    if value is None or value == "":
        return "not set"
    if key is not None and key.is_secret:
        return one_line(masked_secret(str(value)))
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return _count_in_words(setting, value)
    if isinstance(value, float):
        return f"{value:g}"
    if setting == BACKEND:
        kind, _, alias = str(value).partition(".")
        title = BACKEND_TITLES.get(kind, kind)
        return one_line(f"{title} ({alias})" if alias and alias != "default" else title)
    if value == CUSTOM:
        return "custom, without a URL"
    return one_line(mask_secrets(as_text(value)))


def _count_in_words(setting: str, value: int) -> str:
    if value == 0 and setting in _NEVER:
        return "never"
    if value == 0 and "retention_days" in setting:
        return "keep"
    last = setting.rpartition("_")[2]
    if last == "ms":
        return f"{value} ms"
    unit = _UNITS.get(last)
    if unit is None:
        return str(value)
    return counted(value, unit)


def make_question(
    setting: str,
    text: str,
    about: str | Callable[[Answers], str],
    *,
    group: str,
    when: When,
    id: str = "",
    kind: QuestionKind | None = None,
    empty: Empty = "default",
    no_default: str = "",
    check: Check | None = None,
    present: Callable[[Answers], str] | None = None,
    default: Callable[[Answers], str] | None = None,
    read: Callable[[Answers, str], Any] | None = None,
    choices: Callable[[Answers], tuple[Choice, ...]] = lambda answers: (),
) -> Question:
    """A question about one setting, asked `when` it makes sense and this ZeroClaw reads it from config.toml.

    The id is the setting's name without `memory.` or `storage.`, the kind follows from its type, unless given;
    `no_default` says in words what no value means.
    """
    return Question(
        id=id or setting.partition(".")[2],
        group=group,
        setting=setting,
        kind=kind or _kind_of(setting),
        text=text,
        about=about if callable(about) else lambda answers: about,
        is_asked=lambda answers: is_read(setting, answers.situation.target) and when(answers),
        present=present or (lambda answers: as_text(answers.value(setting))),
        default=default or (lambda answers: as_text(default_value(answers, setting)) or no_default),
        read=read or reader(setting, empty=empty, check=check),
        choices=choices,
    )


def for_backends(*kinds: str) -> When:
    """Asked for these backends."""
    return lambda answers: answers.backend() in kinds


def while_on(setting: str, when: When) -> When:
    """Asked where a switch is on as well."""
    return lambda answers: when(answers) and bool(answers.value(setting))


def _kind_of(setting: str) -> QuestionKind:
    key = SETTINGS[setting]
    if key.is_secret:
        return "secret"
    return "switch" if key.kind == "switch" else "choice" if key.choices else "text"
