"""The questions, as a pure list: what is asked, when, with which words, and how an answer becomes a setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from zeroclaw_tui.backends.factory import has_notes
from zeroclaw_tui.config.schema import default_values
from zeroclaw_tui.config.secrets import is_encrypted, masked_address, masked_secret
from zeroclaw_tui.config.setting_names import BACKEND, SETTINGS, default_of, is_read, parsed_value
from zeroclaw_tui.config.storage import OTHERS_DB_URL
from zeroclaw_tui.embeddings.base import is_web_address
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import counted, one_line
from zeroclaw_tui.onboard.answers import (
    BACKEND_TITLES,
    DB_URL,
    KEYWORD_WEIGHT,
    VECTOR_WEIGHT,
    Answers,
    check_weights,
    known_backends,
    others_database,
)
from zeroclaw_tui.onboard.probes import store_at
from zeroclaw_tui.scoring.profiles import ScoringProfile, SearchMode, Version, parse_version, profile_for
from zeroclaw_tui.scoring.weights import stages_of, threshold_meaning, weights_meaning

QuestionKind = Literal["choice", "switch", "text", "secret"]
PROVIDER = "memory.embedding_provider"
CUSTOM = "custom:"
"""What a provider with an address of its own begins with."""
Empty = Literal["default", "none", "required"]
"""What an empty text stands for: the default, no value at all where there is none, or nothing that would do."""
Check = Callable[[Answers, Any], None]
_NEVER = ("memory.archive_after_days", "memory.purge_after_days")
_UNITS = {"days": "day", "minutes": "minute", "secs": "second"}
Words = str | Callable[[Answers], str]
When = Callable[[Answers], bool]
_ABOUT: Mapping[str, str] = MappingProxyType(
    {
        "sqlite": "words + vectors · hygiene · local · no set-up",
        "lucid": "SQLite + lucid · hygiene · local · lucid CLI · its users",
        "postgres": "words · no row hygiene · remote · a server · sharing",
        "qdrant": "vectors · no row hygiene · remote · a server · by meaning",
        "none": "nothing is stored or found · no set-up · stateless agents",
    }
)
"""Search · hygiene · where it lies · set-up · use, in few enough words for one row."""
_MARKDOWN_ABOUT = {
    False: "words · file hygiene · local · no set-up · reading, git",
    True: "words · no hygiene · local · no set-up · reading, git",
}
_HYGIENE = "memory.hygiene_enabled"
_SESSIONS_SPARED_SINCE = (0, 8, 2)
MODEL = "memory.embedding_model"
DIMENSIONS = "memory.embedding_dimensions"
API_KEY = "memory.embedding_api_key"
_EMBEDDINGS = "Embeddings"
_CHOSEN_CUSTOM = "custom"
_NONE = "none"
_HOSTED = ("openai", "openrouter")
_HINT = "hint:"
_OWN_VARIABLE = (0, 2, 1)
_DROPS_VECTORS_SINCE = (0, 8, 3)
_REINDEXES_SINCE = (0, 7, 5)
_LONGEST_NAME = 24
MODE = "memory.search_mode"
THRESHOLD = "memory.min_relevance_score"
_SEARCH = "Search"
_RESPONSES = "memory.response_cache_enabled"
_RESPONSES_KEPT_SINCE = (0, 4, 3)
"""Before, no ZeroClaw opens that cache."""
_SNAPSHOT = "memory.snapshot_enabled"
_BASIC = frozenset(
    {
        "backend",
        "postgres.db_url",
        "qdrant.url",
        "embedding_provider",
        "embedding_address",
        "embedding_api_key",
        "conversation_retention_days",
    }
)
"""What nobody else can know, or would miss: with any answers at most four of them, and the review, are asked."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One row of a list: what it stands for, its title, and a few words beside it."""

    value: str
    title: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `id` is unique and stable; `setting` the setting it writes; `group` a heading of the overview.

    `text` is short, `about` one sentence on what it does and what follows, both for these answers. `present` gives the
    value to show and offer (a secret as plain text: the prompt masks it), `default` what the default is, written as
    `present` is, or in words where it is no value. `read` turns the typed text (or the choice's value, "yes"/"no" for
    a switch) into the setting's value; it raises UsageError with one clear sentence, which the prompt shows below the
    line and asks on. An empty text stands for the default, which is None for a setting that may have no value.
    """

    id: str
    group: str
    setting: str
    kind: QuestionKind
    text: Callable[[Answers], str]
    about: Callable[[Answers], str]
    is_asked: Callable[[Answers], bool]
    present: Callable[[Answers], str]
    default: Callable[[Answers], str]
    read: Callable[[Answers, str], Any]
    choices: Callable[[Answers], tuple[Choice, ...]] = lambda answers: ()


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
    if answers.writes_defaults():
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
        raise UsageError(f"{setting} must not be empty.", hint=SETTINGS[setting].about)
    default = default_value(answers, setting)
    if empty == "default" or default is not None:
        return default
    if answers.current(setting) is None:
        return None
    raise UsageError(
        f"{setting} has a value in the file, and nothing is ever taken out of it here.",
        hint="Keep it, give another, or delete that line yourself.",
    )


def is_filled_in_later(text: str) -> bool:
    """True for what stands for another text: an encrypted value, a 1Password reference, an environment variable."""
    return is_encrypted(text) or text.startswith("${")


def check_web_address(what: str, text: str) -> None:
    """Raises UsageError unless the text is an http or https URL with a host."""
    if not is_filled_in_later(text) and not is_web_address(text):
        raise UsageError(
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
    return counted(value, unit)


def make_question(
    setting: str,
    group: str,
    text: Words,
    about: Words,
    *,
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
        text=_words(text),
        about=_words(about),
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


def _words(words: Words) -> Callable[[Answers], str]:
    return words if callable(words) else lambda answers: words


def _choices(answers: Answers) -> tuple[Choice, ...]:
    target = answers.situation.target
    about = {**_ABOUT, "markdown": _MARKDOWN_ABOUT[target.is_modern]}
    return tuple(Choice(kind, BACKEND_TITLES[kind], about[kind]) for kind in known_backends(target))


def _read(answers: Answers, text: str) -> Any:
    kind = text.strip().lower()
    if kind == answers.backend():
        return answers.value(BACKEND) or kind
    offered = known_backends(answers.situation.target)
    if kind not in offered:
        raise UsageError(f"The backend must be one of {', '.join(offered)}.", hint="Choose one of them.")
    return kind


def _about(answers: Answers) -> str:
    if answers.situation.is_new:
        return "It decides what can be searched and who can share it; memories do not move by themselves if it changes."
    return "Memories stay where they are: another backend starts with its own, and the old ones are no longer recalled."


BACKEND_QUESTIONS = (
    make_question(
        BACKEND,
        "Backend",
        "Where should memory be kept?",
        _about,
        when=lambda answers: True,
        kind="choice",
        present=lambda answers: answers.backend(),
        default=lambda answers: "sqlite",
        read=_read,
        choices=_choices,
    ),
)


_SQLITE = for_backends("sqlite")
_POSTGRES = for_backends("postgres")
_QDRANT = for_backends("qdrant")
_LUCID = for_backends("lucid")


def _encrypts(answers: Answers) -> bool:
    return answers.situation.document.get(("secrets", "encrypt")) is not False


def _about_db_url(answers: Answers) -> str:
    kept = "encrypted" if _encrypts(answers) else "as plain text"
    told = f"ZeroClaw connects without TLS, always; the whole address is kept {kept} in config.toml."
    is_offered = not answers.value(DB_URL) and _offered_db_url(answers)
    return f"{told} Offered is the database of {OTHERS_DB_URL}, which may be another program's." if is_offered else told


def _about_qdrant_key(answers: Answers) -> str:
    if answers.situation.target.is_modern and _encrypts(answers):
        return "Sent with each request and kept encrypted in config.toml; empty is none."
    return "Sent with each request, and kept as plain text, for this ZeroClaw would not decrypt it; empty is none."


def _offered_db_url(answers: Answers) -> str:
    """The address there is; else that of DATABASE_URL, which may be another program's, to be taken or typed over."""
    value = as_text(answers.value(DB_URL))
    others = others_database(answers.situation.environ)
    return value or (str(others.value) if others else "")


def _check_db_url(answers: Answers, url: Any) -> None:
    store_at(str(url), answers).check_location()


def _check_url(answers: Answers, url: Any) -> None:
    check_web_address("Qdrant's address", str(url))


def _check_collection(answers: Answers, name: Any) -> None:
    if any(letter.isspace() or letter in "/?#" or not letter.isprintable() for letter in str(name)):
        raise UsageError(
            "A Qdrant collection's name has no blanks and none of / ? #.", hint="Such as zeroclaw_memories."
        )


STORAGE_QUESTIONS = (
    make_question(
        "storage.sqlite.open_timeout_secs",
        "SQLite",
        "Open the database within how many seconds?",
        "After that it is given up, from 0 to 300; how long a locked database is waited for is another matter.",
        when=_SQLITE,
        empty="none",
        no_default="no limit",
    ),
    make_question(
        DB_URL,
        "PostgreSQL",
        "Which database? (postgres://user:password@host:5432/name)",
        _about_db_url,
        when=_POSTGRES,
        empty="required",
        check=_check_db_url,
        present=_offered_db_url,
    ),
    make_question(
        "storage.postgres.schema",
        "PostgreSQL",
        "In which PostgreSQL schema?",
        "ZeroClaw makes it if it is not there, which takes the right to create schemas.",
        when=_POSTGRES,
    ),
    make_question(
        "storage.postgres.table",
        "PostgreSQL",
        "In which PostgreSQL table?",
        "ZeroClaw makes it if it is not there; installs that name the same table use the same memories.",
        when=_POSTGRES,
    ),
    make_question(
        "storage.postgres.connect_timeout_secs",
        "PostgreSQL",
        "How many seconds may connecting take?",
        "From 1 to 300; without it a server that says nothing is waited for as long as the system does.",
        when=_POSTGRES,
        empty="none",
        no_default="the driver decides",
    ),
    make_question(
        "storage.postgres.vector_enabled",
        "PostgreSQL",
        "Add pgvector columns?",
        "It adds columns that no ZeroClaw up to 0.8.4 fills or searches: recall goes by words either way.",
        when=_POSTGRES,
    ),
    make_question(
        "storage.qdrant.url",
        "Qdrant",
        "Where does Qdrant answer? (http://host:6333)",
        "ZeroClaw speaks Qdrant's REST interface, so this is its HTTP port and not the one for gRPC.",
        when=_QDRANT,
        empty="required",
        check=_check_url,
    ),
    make_question(
        "storage.qdrant.collection",
        "Qdrant",
        "Which collection in Qdrant?",
        "ZeroClaw makes it if it is not there, for vectors of the length set under embeddings.",
        when=_QDRANT,
        check=_check_collection,
    ),
    make_question(
        "storage.qdrant.api_key",
        "Qdrant",
        "Which API key for Qdrant?",
        _about_qdrant_key,
        when=_QDRANT,
        empty="none",
        no_default="none",
    ),
    make_question(
        "storage.lucid.binary_path",
        "Lucid",
        "Which lucid program?",
        "A name is looked up on PATH; if it cannot be run, memory is the local SQLite file alone.",
        when=_LUCID,
    ),
    make_question(
        "storage.lucid.recall_timeout_ms",
        "Lucid",
        "How many milliseconds may asking lucid take?",
        "After a slower answer only local memories are used, and lucid is left alone for 15 seconds.",
        when=_LUCID,
    ),
    make_question(
        "storage.lucid.store_timeout_ms",
        "Lucid",
        "How many milliseconds may handing lucid a memory take?",
        "After that lucid may lack it; the local SQLite file has every memory in any case.",
        when=_LUCID,
    ),
)


_STORING = for_backends("sqlite", "lucid", "postgres", "markdown", "qdrant")
_WITH_ROWS = for_backends("sqlite", "lucid")


def _about_hygiene(answers: Answers) -> str:
    if _WITH_ROWS(answers):
        return (
            "At a start, at most every 12 hours, it archives old files and deletes old archives and old rows for good."
        )
    if has_notes(answers.backend()) and answers.situation.target.is_modern:
        return (
            "At a start it archives session files, but not the day files of agents, where Markdown keeps their memory."
        )
    if has_notes(answers.backend()):
        return (
            "At a start, at most every 12 hours, it archives day files, which recall then misses, and deletes old ones."
        )
    title = BACKEND_TITLES[answers.backend()]
    return f"It archives and deletes local files, and rows of a brain.db left here; rows in {title} it never touches."


def _about_archive(answers: Answers) -> str:
    if has_notes(answers.backend()) and not answers.situation.target.is_modern:
        return "Day files older than this move to memory/archive, where recall no longer reads them; 0 moves none."
    if version_of(answers) < _SESSIONS_SPARED_SINCE:
        return "Day files, and whatever is older than this in sessions/, move to archive folders; 0 moves none."
    return "Day files and session files older than this move to archive folders; 0 moves none."


RETENTION_QUESTIONS = (
    make_question(
        "memory.auto_save",
        "Saving",
        "Save what users say?",
        "Messages of 20 characters or more become conversation memories; without it they are not stored by themselves.",
        when=_STORING,
    ),
    make_question(_HYGIENE, "Hygiene", "Clear away what is old?", _about_hygiene, when=_STORING),
    make_question(
        "memory.archive_after_days",
        "Hygiene",
        "Archive files after how many days?",
        _about_archive,
        when=while_on(_HYGIENE, _STORING),
    ),
    make_question(
        "memory.purge_after_days",
        "Hygiene",
        "Delete archived files after how many days?",
        "Archived files that are older than this, by their own date, are deleted for good; 0 keeps them.",
        when=while_on(_HYGIENE, _STORING),
    ),
    make_question(
        "memory.conversation_retention_days",
        "Hygiene",
        "Keep conversation rows for how many days?",
        "Conversation rows older than this are deleted for good at start-up; 0 keeps them.",
        when=while_on(_HYGIENE, _WITH_ROWS),
    ),
    make_question(
        "memory.daily_retention_days",
        "Hygiene",
        "Keep daily rows for how many days?",
        "Daily rows that did not change for longer than this are deleted for good at start-up; 0 keeps them.",
        when=while_on(_HYGIENE, _WITH_ROWS),
    ),
    make_question(
        "memory.core_retention_days",
        "Hygiene",
        "Keep core rows for how many days?",
        "Core rows made longer ago than this are deleted for good at start-up, changed since or not; 0 keeps them.",
        when=while_on(_HYGIENE, _WITH_ROWS),
    ),
)


searches_vectors = for_backends("sqlite", "lucid", "qdrant")
"""The backends that ever look at a vector."""


def provider_of(answers: Answers) -> str:
    """The provider answered for, "none" where nothing is said."""
    return (answers.value(PROVIDER) or _NONE).strip() or _NONE


def makes_vectors(answers: Answers) -> bool:
    """True when ZeroClaw makes vectors with these answers."""
    if not searches_vectors(answers):
        return False
    route = _route(answers)
    provider, dimensions = provider_of(answers), answers.value(DIMENSIONS)
    if route is not None:
        provider = str(route.get("model_provider", route.get("provider", "")))
        dimensions = route.get("dimensions", dimensions)
    return bool(dimensions) and (provider in _HOSTED or provider.startswith(CUSTOM) or _is_reference(answers, provider))


def _is_reference(answers: Answers, provider: str) -> bool:
    """True for `<type>.<alias>`, which ZeroClaw >= 0.8.0 looks up in its provider profiles."""
    return answers.situation.target.is_modern and "." in provider


def _route(answers: Answers) -> Mapping[str, Any] | None:
    """The embedding route of the file that the model's `hint:` picks, None where it picks none."""
    model = str(answers.value(MODEL) or "").strip()
    if not model.startswith(_HINT):
        return None
    target, document = answers.situation.target, answers.situation.document
    below_providers = ("providers", "embedding_routes")
    path = below_providers if target.schema == 2 and not target.is_modern else ("embedding_routes",)
    routes = document.get(path) or (document.get(below_providers) if target.is_modern else None)
    found = [route for route in routes if isinstance(route, Mapping)] if isinstance(routes, list) else []
    hint = model.removeprefix(_HINT).strip()
    return next((route for route in found if str(route.get("hint", "")).strip() == hint), None)


def _asks_details(answers: Answers) -> bool:
    return searches_vectors(answers) and (provider_of(answers) != _NONE or _route(answers) is not None)


def _is_own_choice(provider: str) -> bool:
    return provider == _NONE or provider in _HOSTED or provider.startswith(CUSTOM)


def _present_provider(answers: Answers) -> str:
    provider = provider_of(answers)
    return _CHOSEN_CUSTOM if provider.startswith(CUSTOM) else provider


def _provider_choices(answers: Answers) -> tuple[Choice, ...]:
    without = "Qdrant then cannot store anything" if answers.backend() == "qdrant" else "search by words only"
    written = [provider_of(answers), (answers.current(PROVIDER) or _NONE).strip() or _NONE]
    others = dict.fromkeys(provider for provider in written if not _is_own_choice(provider))
    return (
        *(Choice(name, f"keep {one_line(name)[:_LONGEST_NAME]}", _about_other(answers, name)) for name in others),
        Choice(_NONE, "none", without),
        Choice("openai", "openai", "api.openai.com; texts leave this machine"),
        Choice("openrouter", "openrouter", "openrouter.ai; texts leave this machine"),
        Choice(_CHOSEN_CUSTOM, "custom", "any OpenAI-compatible address, such as a local server"),
    )


def _about_other(answers: Answers, provider: str) -> str:
    return "a provider of this config" if _is_reference(answers, provider) else "unknown to ZeroClaw: no vectors"


def _about_provider(answers: Answers) -> str:
    if _route(answers) is not None:
        return (
            "The model is a hint: that picks an [[embedding_routes]] entry, whose provider counts in place of this one."
        )
    if is_read(API_KEY, answers.situation.target):
        return "Vectors find memories by meaning too; the key for them is asked for below."
    if answers.situation.target.is_modern:
        return "Vectors find memories by meaning too; the key sent is that of its profile, else the chat provider's."
    if version_of(answers) >= _OWN_VARIABLE:
        return (
            "Vectors find memories by meaning too; the key sent is that of OPENAI_API_KEY or OPENROUTER_API_KEY, "
            "else the chat provider's."
        )
    return "Vectors find memories by meaning too; the key sent is the chat provider's."


def _read_provider(answers: Answers, text: str) -> Any:
    chosen = text.strip()
    if chosen == _present_provider(answers):
        return answers.value(PROVIDER) or _NONE
    if chosen == _CHOSEN_CUSTOM:
        written = str(answers.current(PROVIDER) or "")
        return written if written.startswith(CUSTOM) else CUSTOM
    offered = [choice.value for choice in _provider_choices(answers)]
    if chosen not in offered:
        raise UsageError(
            f"The provider must be one of {', '.join(offered)}.", hint="An address is asked for after custom."
        )
    return chosen


def _present_address(answers: Answers) -> str:
    return provider_of(answers).removeprefix(CUSTOM)


def _read_address(answers: Answers, text: str) -> Any:
    address = text.strip().removeprefix(CUSTOM)
    if not address:
        raise UsageError("A custom provider needs its address.", hint="Such as http://localhost:11434/v1.")
    if CUSTOM + address == provider_of(answers):
        return answers.value(PROVIDER)
    check_web_address("The provider's address", address)
    return CUSTOM + address


def _about_model(answers: Answers) -> str:
    if answers.backend() == "qdrant":
        return "Its vectors must be as long as those already in the collection, and of the same model to compare."
    if version_of(answers) >= _DROPS_VECTORS_SINCE:
        return (
            "Another model than before makes ZeroClaw drop every stored vector, until `zeroclaw memory reindex` is run."
        )
    end = "`zeroclaw memory reindex`" if version_of(answers) >= _REINDEXES_SINCE else "they are stored again"
    return f"Vectors already stored stay those of the model before, and mislead the search until {end}."


def _about_dimensions(answers: Answers) -> str:
    if answers.backend() == "qdrant":
        return "It must be the length the model gives, and of the collection; with 0 nothing can be stored."
    return "It must be the length the model gives, which ZeroClaw does not check; 0 turns vectors off."


EMBEDDING_QUESTIONS = (
    make_question(
        PROVIDER,
        _EMBEDDINGS,
        "Who turns texts into vectors?",
        _about_provider,
        when=searches_vectors,
        kind="choice",
        present=_present_provider,
        read=_read_provider,
        choices=_provider_choices,
    ),
    make_question(
        PROVIDER,
        _EMBEDDINGS,
        "At which address are vectors made? (http://host:port/v1)",
        "Without a path /v1/embeddings is added, with one /embeddings, unless it already ends so.",
        when=lambda answers: searches_vectors(answers) and provider_of(answers).startswith(CUSTOM),
        id="embedding_address",
        present=_present_address,
        default=lambda answers: "",
        read=_read_address,
    ),
    make_question(MODEL, _EMBEDDINGS, "Which embedding model?", _about_model, when=_asks_details),
    make_question(DIMENSIONS, _EMBEDDINGS, "How long are its vectors?", _about_dimensions, when=_asks_details),
    make_question(
        API_KEY,
        _EMBEDDINGS,
        "Which key for the embedding service?",
        "A route's own key goes before it; without it the provider profile's is sent, else the chat provider's.",
        when=_asks_details,
        empty="none",
        no_default="none",
    ),
)


_WEIGHS = for_backends("sqlite", "lucid")
_RECALLS = for_backends("sqlite", "lucid", "postgres", "markdown", "qdrant")


def _mode(answers: Answers) -> SearchMode:
    mode = answers.value(MODE)
    return "bm25" if mode == "bm25" else "embedding" if mode == "embedding" else "hybrid"


def search_meaning(answers: Answers) -> tuple[str, ...]:
    """What the weights and the threshold of these answers mean, the sentence that matters most first."""
    threshold = float(answers.value(THRESHOLD))
    if not _WEIGHS(answers):
        return (threshold_meaning(answers.backend(), profile_of(answers), threshold),)
    return weights_meaning(
        profile_of(answers),
        float(answers.value(VECTOR_WEIGHT)),
        float(answers.value(KEYWORD_WEIGHT)),
        threshold,
        has_vectors=makes_vectors(answers),
        search_mode=_mode(answers),
    )


def _both_run(answers: Answers) -> bool:
    return stages_of(profile_of(answers), has_vectors=makes_vectors(answers), search_mode=_mode(answers)) == "both"


def _weighs(answers: Answers) -> bool:
    """A weight does nothing as long as words and vectors are not both searched."""
    return _WEIGHS(answers) and _both_run(answers)


def _chooses_mode(answers: Answers) -> bool:
    """Without vectors there is only one way to search, but a file that asks for vectors alone then finds nothing."""
    return _WEIGHS(answers) and (makes_vectors(answers) or answers.current(MODE) == "embedding")


def _about_weight(answers: Answers) -> str:
    if profile_of(answers).divides_by_weights_present:
        return "Only where a hit has both scores are they mixed, in this proportion; a hit with one of them keeps that."
    return "It is multiplied with the hit's cosine, and a hit that lacks one of the two scores gets 0 for it."


def _about_keyword_weight(answers: Answers) -> str:
    return search_meaning(answers)[0]


def _about_threshold(answers: Answers) -> str:
    told = search_meaning(answers)
    return next((sentence for sentence in told if "threshold" in sentence), told[0])


def _read_weight(setting: str, other: str, other_words: str) -> Callable[[Answers, str], Any]:
    read = reader(setting)

    def read_weight(answers: Answers, text: str) -> Any:
        value = read(answers, text)
        check_weights(value, answers.value(other), f"Raise the {other_words} first.")
        return value

    return read_weight


def _mode_choices(answers: Answers) -> tuple[Choice, ...]:
    no_vectors = not makes_vectors(answers)
    return (
        Choice(
            "hybrid", "hybrid", "both, but no vectors without embeddings" if no_vectors else "both, mixed by weight"
        ),
        Choice("bm25", "bm25", "words only"),
        Choice("embedding", "embedding", "finds next to nothing without embeddings" if no_vectors else "vectors only"),
    )


SEARCH_QUESTIONS = (
    make_question(
        MODE,
        _SEARCH,
        "Search by words, by vectors, or both?",
        "Words find what is spelled alike, vectors what means alike, which takes embeddings; both together is hybrid.",
        when=_chooses_mode,
        choices=_mode_choices,
    ),
    make_question(
        VECTOR_WEIGHT,
        _SEARCH,
        "How much does likeness of meaning count?",
        _about_weight,
        when=_weighs,
        read=_read_weight(VECTOR_WEIGHT, KEYWORD_WEIGHT, "keyword weight"),
    ),
    make_question(
        KEYWORD_WEIGHT,
        _SEARCH,
        "How much do shared words count?",
        _about_keyword_weight,
        when=_weighs,
        read=_read_weight(KEYWORD_WEIGHT, VECTOR_WEIGHT, "vector weight"),
    ),
    make_question(
        THRESHOLD,
        _SEARCH,
        "Which score takes a memory into the prompt?",
        _about_threshold,
        when=_RECALLS,
    ),
)


_STORING = for_backends("sqlite", "lucid", "postgres", "markdown", "qdrant")
_LOCAL = for_backends("sqlite", "lucid")


def _caches_responses(answers: Answers) -> bool:
    return _STORING(answers) and version_of(answers) >= _RESPONSES_KEPT_SINCE


def _caches_vectors(answers: Answers) -> bool:
    return _LOCAL(answers) and makes_vectors(answers)


FILE_QUESTIONS = (
    make_question(
        "memory.embedding_cache_size",
        "Caches",
        "How many vectors are kept for reuse?",
        "A text whose vector is kept is not sent to the provider again; 0 keeps none.",
        when=_caches_vectors,
    ),
    make_question(
        _RESPONSES,
        "Caches",
        "Answer a repeated prompt from a cache?",
        "The same prompt to the same model then gets the answer it got before, without the model being asked.",
        when=_caches_responses,
    ),
    make_question(
        "memory.response_cache_ttl_minutes",
        "Caches",
        "For how many minutes may a kept answer be used?",
        "Older answers are asked for anew and leave response_cache.db.",
        when=while_on(_RESPONSES, _caches_responses),
    ),
    make_question(
        "memory.response_cache_max_entries",
        "Caches",
        "How many answers may be kept?",
        "Beyond this the ones not used for longest leave response_cache.db.",
        when=while_on(_RESPONSES, _caches_responses),
    ),
    make_question(
        _SNAPSHOT,
        "Snapshot",
        "Allow a copy in MEMORY_SNAPSHOT.md?",
        "It is a readable copy of every core memory in plain text; nothing is written until the next switch is on too.",
        when=_LOCAL,
    ),
    make_question(
        "memory.snapshot_on_hygiene",
        "Snapshot",
        "Write that file whenever the agent starts?",
        "Each start writes MEMORY_SNAPSHOT.md anew, whether hygiene is due or not; without this it is never written.",
        when=while_on(_SNAPSHOT, _LOCAL),
    ),
    make_question(
        "memory.auto_hydrate",
        "Snapshot",
        "Fill a missing database from that copy?",
        "MEMORY_SNAPSHOT.md then gives a lost brain.db its core memories, but no ZeroClaw up to 0.8.4 can open it.",
        when=while_on(_SNAPSHOT, _LOCAL),
    ),
)


QUESTIONS: tuple[Question, ...] = (
    *BACKEND_QUESTIONS,
    *STORAGE_QUESTIONS,
    *RETENTION_QUESTIONS,
    *EMBEDDING_QUESTIONS,
    *SEARCH_QUESTIONS,
    *FILE_QUESTIONS,
)
"""All questions in their order."""


def asked(answers: Answers) -> tuple[Question, ...]:
    """The questions these answers lead to, in order; only the basic ones where no more is wanted."""
    questions = (question for question in QUESTIONS if question.is_asked(answers))
    if not answers.is_basic:
        return tuple(questions)
    basic = [question for question in questions if question.id in _BASIC]
    if any(question.id == "embedding_address" for question in basic):
        # A server of one's own seldom wants a key; one that does says so when it is tested.
        basic = [question for question in basic if question.id != "embedding_api_key"]
    return tuple(basic)


def question_of(setting: str) -> Question | None:
    """The question that writes a setting, the first where several do, None where none is asked for it."""
    return next((question for question in QUESTIONS if question.setting == setting), None)
