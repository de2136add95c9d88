"""Values of settings between the file and a person: as typed text, as a default, and in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import urlsplit

from zeroclaw_tui.config.defaults import default_values
from zeroclaw_tui.config.secrets import is_encrypted
from zeroclaw_tui.config.setting_names import BACKEND, SETTINGS, default_of, parsed_value
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.answers.backend_names import BACKEND_TITLES
from zeroclaw_tui.onboard.masking import masked_address, masked_secret
from zeroclaw_tui.onboard.questions.names import CUSTOM
from zeroclaw_tui.scoring.profiles import ScoringProfile, Version, parse_version, profile_for

Empty = Literal["default", "none", "required"]
"""What an empty text stands for: the default, no value at all where there is none, or nothing that would do."""
Check = Callable[[Answers, Any], None]

_NEVER = ("memory.archive_after_days", "memory.purge_after_days")
_UNITS = {"days": "day", "minutes": "minute", "secs": "second"}


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
    if answers.changes_backend():
        section, _, name = setting.rpartition(".")
        document = default_values(answers.backend())
        for path in _sections(section):
            values = document
            for part in path:
                values = values.get(part, {})
            if name in values:
                return values[name]
    return default_of(setting, answers.situation.target)


def _sections(section: str) -> tuple[tuple[str, ...], ...]:
    """Where a defaults file may have the settings that are named below `section`."""
    return {
        "memory": (("memory",),),
        "storage.postgres": (("storage", "provider", "config"),),
        "storage.qdrant": (("memory", "qdrant"),),
    }.get(section, ())


def reader(setting: str, *, empty: Empty = "default", check: Check | None = None) -> Callable[[Answers, str], Any]:
    """How a typed text becomes the setting's value; what is offered is taken as it stands."""

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
        raise WrongUse(f"{setting} must not be empty.", hint=SETTINGS[setting].about)
    default = default_value(answers, setting)
    if empty == "default" or default is not None:
        return default
    if answers.current(setting) is None:
        return None
    raise WrongUse(
        f"{setting} has a value in the file, and nothing is ever taken out of it here.",
        hint="Keep it, give another, or delete that line yourself.",
    )


def is_filled_in_later(text: str) -> bool:
    """True for what stands for another text: an encrypted value, a 1Password reference, an environment variable."""
    return is_encrypted(text) or text.startswith("${")


def check_web_address(what: str, text: str) -> None:
    """Raises WrongUse unless the text is an http or https URL with a host."""
    if is_filled_in_later(text):
        return
    try:
        parts = urlsplit(text)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_right = False
    if not is_right or any(letter.isspace() or not letter.isprintable() for letter in text):
        raise WrongUse(
            f"{what} must be an http:// or https:// address with a host.", hint="Such as http://localhost:6333."
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
        return "custom, without an address yet"
    return one_line(masked_address(as_text(value)))


def _count_in_words(setting: str, value: int) -> str:
    if value == 0 and setting in _NEVER:
        return "never"
    if value == 0 and "retention_days" in setting:
        return "for ever"
    last = setting.rpartition("_")[2]
    if last == "ms":
        return f"{value} ms"
    unit = _UNITS.get(last)
    if unit is None:
        return str(value)
    return f"{value} {unit}" if value == 1 else f"{value} {unit}s"
