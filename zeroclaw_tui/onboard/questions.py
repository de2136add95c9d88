"""The questions, as a pure list: when each is asked, its words, and how an answer becomes a setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from zeroclaw_tui.backends.factory import has_notes
from zeroclaw_tui.config.setting_names import (
    BACKEND,
    is_read,
)
from zeroclaw_tui.config.storage import OTHERS_DB_URL
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import one_line
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
from zeroclaw_tui.onboard.probes import postgres_probe
from zeroclaw_tui.onboard.question import (
    CUSTOM,
    Choice,
    Question,
    as_text,
    check_web_address,
    for_backends,
    make_question,
    profile_of,
    reader,
    version_of,
    while_on,
)
from zeroclaw_tui.scoring.profiles import (
    ScoringSettings,
    SearchMode,
)
from zeroclaw_tui.scoring.what_if import stages_of, threshold_meaning, weights_meaning

PROVIDER = "memory.embedding_provider"
_ABOUT: Mapping[str, str] = MappingProxyType(
    {
        "sqlite": "one local file, keyword and vector search",
        "lucid": "SQLite plus the lucid program",
        "postgres": "a shared server, keyword search",
        "qdrant": "a shared server, vector search",
        "none": "stores nothing",
    }
)
"""What each backend is, in few enough words for one row."""
_MARKDOWN_ABOUT = {
    False: "readable local files, keyword search",
    True: "readable local files, keyword search, no hygiene",
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
        raise UsageError("Unknown backend.", hint=f"Choose one of {', '.join(offered)}.")
    return kind


def _about(answers: Answers) -> str:
    if answers.situation.is_new:
        return "The backend decides how memories are searched and who can share them."
    return (
        "Memories are not moved. After a change of backend, the old memories are no longer recalled; copy them with "
        "`zeroclaw memory copy`."
    )


BACKEND_QUESTIONS = (
    make_question(
        BACKEND,
        "Backend",
        "Which memory backend?",
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
    form = "encrypted" if _encrypts(answers) else "as plain text"
    about = f"ZeroClaw always connects without TLS. The URL is stored {form} in config.toml."
    is_offered = not answers.value(DB_URL) and _offered_db_url(answers)
    return f"{about} The URL shown is {OTHERS_DB_URL}, which may belong to another program." if is_offered else about


def _about_qdrant_key(answers: Answers) -> str:
    if answers.situation.target.is_modern and _encrypts(answers):
        return "Sent with each request and stored encrypted in config.toml. Leave it empty for no key."
    return (
        "Sent with each request and stored as plain text, because this ZeroClaw does not decrypt it. Leave it empty "
        "for no key."
    )


def _offered_db_url(answers: Answers) -> str:
    """The address there is; else that of DATABASE_URL, which may be another program's, to be taken or typed over."""
    value = as_text(answers.value(DB_URL))
    return value or others_database(answers.situation.environ, answers.situation.target) or ""


def _check_db_url(answers: Answers, url: Any) -> None:
    postgres_probe(str(url), answers)


def _check_url(answers: Answers, url: Any) -> None:
    check_web_address("The Qdrant URL", str(url))


def _check_collection(answers: Answers, name: Any) -> None:
    if any(letter.isspace() or letter in "/?#" or not letter.isprintable() for letter in str(name)):
        raise UsageError(
            "A Qdrant collection name cannot contain spaces, /, ? or #.", hint="For example zeroclaw_memories."
        )


STORAGE_QUESTIONS = (
    make_question(
        "storage.sqlite.open_timeout_secs",
        "SQLite",
        "Database open timeout in seconds?",
        "From 0 to 300. Does not apply to waiting for a locked database.",
        when=_SQLITE,
        empty="none",
        no_default="no limit",
    ),
    make_question(
        DB_URL,
        "PostgreSQL",
        "PostgreSQL URL? (postgres://user:password@host:5432/name)",
        _about_db_url,
        when=_POSTGRES,
        empty="required",
        check=_check_db_url,
        present=_offered_db_url,
    ),
    make_question(
        "storage.postgres.schema",
        "PostgreSQL",
        "PostgreSQL schema?",
        "ZeroClaw creates a missing schema, which needs the right to create schemas.",
        when=_POSTGRES,
    ),
    make_question(
        "storage.postgres.table",
        "PostgreSQL",
        "PostgreSQL table?",
        "ZeroClaw creates a missing table. Installs with the same table share their memories.",
        when=_POSTGRES,
    ),
    make_question(
        "storage.postgres.connect_timeout_secs",
        "PostgreSQL",
        "Connection timeout in seconds?",
        "From 1 to 300. Without a value the operating system decides.",
        when=_POSTGRES,
        empty="none",
        no_default="no limit",
    ),
    make_question(
        "storage.postgres.vector_enabled",
        "PostgreSQL",
        "Add pgvector columns?",
        "No effect up to ZeroClaw 0.8.4, which neither fills nor searches these columns. Recall uses keywords only.",
        when=_POSTGRES,
    ),
    make_question(
        "storage.qdrant.url",
        "Qdrant",
        "Qdrant URL? (http://host:6333)",
        "Use the HTTP port, because ZeroClaw uses the REST API of Qdrant.",
        when=_QDRANT,
        empty="required",
        check=_check_url,
    ),
    make_question(
        "storage.qdrant.collection",
        "Qdrant",
        "Qdrant collection?",
        "ZeroClaw creates a missing collection with the embedding dimensions of this config.",
        when=_QDRANT,
        check=_check_collection,
    ),
    make_question(
        "storage.qdrant.api_key",
        "Qdrant",
        "Qdrant API key?",
        _about_qdrant_key,
        when=_QDRANT,
        empty="none",
        no_default="none",
    ),
    make_question(
        "storage.lucid.binary_path",
        "Lucid",
        "Path of the lucid program?",
        "A bare name is looked up on PATH. Without the program, ZeroClaw uses only the local SQLite database.",
        when=_LUCID,
    ),
    make_question(
        "storage.lucid.recall_timeout_ms",
        "Lucid",
        "Timeout for lucid recall in milliseconds?",
        "After a slower answer ZeroClaw uses local memories only and skips lucid for 15 seconds.",
        when=_LUCID,
    ),
    make_question(
        "storage.lucid.store_timeout_ms",
        "Lucid",
        "Timeout for storing in lucid in milliseconds?",
        "After the timeout lucid may miss the memory. The local SQLite database always has it.",
        when=_LUCID,
    ),
)
_STORING = for_backends("sqlite", "lucid", "postgres", "markdown", "qdrant")
_WITH_DATABASE = for_backends("sqlite", "lucid")


def _about_hygiene(answers: Answers) -> str:
    if _WITH_DATABASE(answers):
        return "At most every 12 hours, at start, ZeroClaw archives old files and permanently deletes old memories."
    if has_notes(answers.backend()) and answers.situation.target.is_modern:
        return "ZeroClaw archives session files when it starts. It does not archive the daily files of agents."
    if has_notes(answers.backend()):
        return (
            "At most every 12 hours, at start, ZeroClaw archives daily files and deletes old archives. Recall does not "
            "read archived files."
        )
    title = BACKEND_TITLES[answers.backend()]
    return f"Applies to local files and to a local brain.db. ZeroClaw never deletes memories in {title}."


def _about_archive(answers: Answers) -> str:
    if has_notes(answers.backend()) and not answers.situation.target.is_modern:
        return "Older daily files move to memory/archive, where recall no longer reads them."
    if version_of(answers) < _SESSIONS_SPARED_SINCE:
        return "Older daily files, and all older files in sessions/, move to archive directories."
    return "Older daily files and session files move to archive directories."


RETENTION_QUESTIONS = (
    make_question(
        "memory.auto_save",
        "Saving",
        "Save user messages automatically?",
        "Messages of 20 characters or more are stored as conversation memories.",
        when=_STORING,
    ),
    make_question(
        _HYGIENE, "Hygiene", "Enable hygiene (archive and delete old memories)?", _about_hygiene, when=_STORING
    ),
    make_question(
        "memory.archive_after_days",
        "Hygiene",
        "Archive daily files after how many days? (0 = never)",
        _about_archive,
        when=while_on(_HYGIENE, _STORING),
    ),
    make_question(
        "memory.purge_after_days",
        "Hygiene",
        "Delete archived files after how many days? (0 = never)",
        "ZeroClaw permanently deletes older archived files, by the date in their name.",
        when=while_on(_HYGIENE, _STORING),
    ),
    make_question(
        "memory.conversation_retention_days",
        "Hygiene",
        "Keep conversation memories for how many days?",
        "ZeroClaw permanently deletes older conversation memories when it starts. 0 keeps them.",
        when=while_on(_HYGIENE, _WITH_DATABASE),
    ),
    make_question(
        "memory.daily_retention_days",
        "Hygiene",
        "Keep daily memories for how many days?",
        "ZeroClaw permanently deletes daily memories that did not change for longer when it starts. 0 keeps them.",
        when=while_on(_HYGIENE, _WITH_DATABASE),
    ),
    make_question(
        "memory.core_retention_days",
        "Hygiene",
        "Keep core memories for how many days?",
        "ZeroClaw permanently deletes core memories created earlier when it starts, changed or not. 0 keeps them.",
        when=while_on(_HYGIENE, _WITH_DATABASE),
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
    without = "Qdrant cannot store anything" if answers.backend() == "qdrant" else "keyword search only"
    written = [provider_of(answers), (answers.current(PROVIDER) or _NONE).strip() or _NONE]
    others = dict.fromkeys(provider for provider in written if not _is_own_choice(provider))
    return (
        *(Choice(name, f"keep {one_line(name)[:_LONGEST_NAME]}", _about_other(answers, name)) for name in others),
        Choice(_NONE, "none", without),
        Choice("openai", "openai", "api.openai.com; memory texts leave this machine"),
        Choice("openrouter", "openrouter", "openrouter.ai; memory texts leave this machine"),
        Choice(_CHOSEN_CUSTOM, "custom", "any OpenAI-compatible URL, such as a local server"),
    )


def _about_other(answers: Answers, provider: str) -> str:
    return "a provider of this config" if _is_reference(answers, provider) else "unknown to ZeroClaw, no embeddings"


def _about_provider(answers: Answers) -> str:
    if _route(answers) is not None:
        return "The embedding model is a hint, so the provider of its [[embedding_routes]] entry is used instead."
    purpose = "Embeddings let recall find memories by meaning."
    if is_read(API_KEY, answers.situation.target):
        return f"{purpose} You can enter the API key next."
    if answers.situation.target.is_modern:
        return f"{purpose} ZeroClaw sends the key of the provider's profile, or else the key of the chat provider."
    if version_of(answers) >= _OWN_VARIABLE:
        return f"{purpose} ZeroClaw sends OPENAI_API_KEY or OPENROUTER_API_KEY, or else the key of the chat provider."
    return f"{purpose} ZeroClaw sends the key of the chat provider."


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
            "Unknown embedding provider.", hint=f"Choose one of {', '.join(offered)}. Custom asks for a URL next."
        )
    return chosen


def _present_address(answers: Answers) -> str:
    return provider_of(answers).removeprefix(CUSTOM)


def _read_address(answers: Answers, text: str) -> Any:
    address = text.strip().removeprefix(CUSTOM)
    if not address:
        raise UsageError("A custom provider needs a URL.", hint="For example http://localhost:11434/v1.")
    if CUSTOM + address == provider_of(answers):
        return answers.value(PROVIDER)
    check_web_address("The provider URL", address)
    return CUSTOM + address


def _about_model(answers: Answers) -> str:
    if answers.backend() == "qdrant":
        return "Must be the model of the embeddings already in the collection."
    if version_of(answers) >= _DROPS_VECTORS_SINCE:
        return "Changing the model makes ZeroClaw drop all stored embeddings. Run `zeroclaw memory reindex` afterwards."
    after = "Run `zeroclaw memory reindex`" if version_of(answers) >= _REINDEXES_SINCE else "Store the memories again"
    return f"Changing the model makes stored embeddings useless for search. {after} afterwards."


def _about_dimensions(answers: Answers) -> str:
    if answers.backend() == "qdrant":
        return "Must match the model and the collection. With 0 nothing can be stored."
    return "Must match the model; ZeroClaw does not check it. 0 disables embeddings."


EMBEDDING_QUESTIONS = (
    make_question(
        PROVIDER,
        _EMBEDDINGS,
        "Embedding provider?",
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
        "Embedding URL? (http://host:port/v1)",
        "ZeroClaw adds /v1/embeddings to a URL without a path, and /embeddings to one with a path.",
        when=lambda answers: searches_vectors(answers) and provider_of(answers).startswith(CUSTOM),
        id="embedding_address",
        present=_present_address,
        default=lambda answers: "",
        read=_read_address,
    ),
    make_question(MODEL, _EMBEDDINGS, "Embedding model?", _about_model, when=_asks_details),
    make_question(DIMENSIONS, _EMBEDDINGS, "Embedding dimensions?", _about_dimensions, when=_asks_details),
    make_question(
        API_KEY,
        _EMBEDDINGS,
        "Embedding API key?",
        "Without it ZeroClaw sends the key of the provider's profile, or else the key of the chat provider.",
        when=_asks_details,
        empty="none",
        no_default="none",
    ),
)


def _mode(answers: Answers) -> SearchMode:
    mode = answers.value(MODE)
    return "bm25" if mode == "bm25" else "embedding" if mode == "embedding" else "hybrid"


def search_meaning(answers: Answers) -> tuple[str, ...]:
    """What the weights and the threshold of these answers mean, the sentence that matters most first."""
    if not _WITH_DATABASE(answers):
        return (threshold_meaning(answers.backend(), profile_of(answers), float(answers.value(THRESHOLD))),)
    return weights_meaning(profile_of(answers), _scoring(answers), has_vectors=makes_vectors(answers))


def _scoring(answers: Answers) -> ScoringSettings:
    return ScoringSettings(
        vector_weight=float(answers.value(VECTOR_WEIGHT)),
        keyword_weight=float(answers.value(KEYWORD_WEIGHT)),
        threshold=float(answers.value(THRESHOLD)),
        search_mode=_mode(answers),
    )


def _both_run(answers: Answers) -> bool:
    settings = ScoringSettings(search_mode=_mode(answers))
    return stages_of(profile_of(answers), settings, has_vectors=makes_vectors(answers)) == "both"


def _weighs(answers: Answers) -> bool:
    """A weight does nothing as long as words and vectors are not both searched."""
    return _WITH_DATABASE(answers) and _both_run(answers)


def _chooses_mode(answers: Answers) -> bool:
    """Without vectors there is only one way to search, but a file that asks for vectors alone then finds nothing."""
    return _WITH_DATABASE(answers) and (makes_vectors(answers) or answers.current(MODE) == "embedding")


def _about_weight(answers: Answers) -> str:
    if profile_of(answers).divides_by_weights_present:
        return "Weight of the vector score. A hit with only one of the two scores keeps that score."
    return "Weight of the vector score. A missing score counts as 0."


def _about_keyword_weight(answers: Answers) -> str:
    return search_meaning(answers)[0]


def _about_threshold(answers: Answers) -> str:
    sentences = search_meaning(answers)
    return next((sentence for sentence in sentences if "threshold" in sentence), sentences[0])


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
        Choice("hybrid", "hybrid", "both, but keywords only without embeddings" if no_vectors else "both, by weight"),
        Choice("bm25", "bm25", "keywords only"),
        Choice("embedding", "embedding", "finds almost nothing without embeddings" if no_vectors else "vectors only"),
    )


SEARCH_QUESTIONS = (
    make_question(
        MODE,
        _SEARCH,
        "Search mode?",
        "Keywords find the same words, vectors find the same meaning and need embeddings. Hybrid uses both.",
        when=_chooses_mode,
        choices=_mode_choices,
    ),
    make_question(
        VECTOR_WEIGHT,
        _SEARCH,
        "Vector weight?",
        _about_weight,
        when=_weighs,
        read=_read_weight(VECTOR_WEIGHT, KEYWORD_WEIGHT, "keyword weight"),
    ),
    make_question(
        KEYWORD_WEIGHT,
        _SEARCH,
        "Keyword weight?",
        _about_keyword_weight,
        when=_weighs,
        read=_read_weight(KEYWORD_WEIGHT, VECTOR_WEIGHT, "vector weight"),
    ),
    make_question(
        THRESHOLD,
        _SEARCH,
        "Relevance threshold?",
        _about_threshold,
        when=_STORING,
    ),
)


def _caches_responses(answers: Answers) -> bool:
    return _STORING(answers) and version_of(answers) >= _RESPONSES_KEPT_SINCE


def _caches_vectors(answers: Answers) -> bool:
    return _WITH_DATABASE(answers) and makes_vectors(answers)


FILE_QUESTIONS = (
    make_question(
        "memory.embedding_cache_size",
        "Caches",
        "Embedding cache size?",
        "Number of embeddings. A cached text is not sent to the provider again. 0 disables the cache.",
        when=_caches_vectors,
    ),
    make_question(
        _RESPONSES,
        "Caches",
        "Enable the response cache?",
        "The same prompt to the same model gets the cached answer.",
        when=_caches_responses,
    ),
    make_question(
        "memory.response_cache_ttl_minutes",
        "Caches",
        "Lifetime of cached responses in minutes?",
        "Older responses are deleted from response_cache.db.",
        when=while_on(_RESPONSES, _caches_responses),
    ),
    make_question(
        "memory.response_cache_max_entries",
        "Caches",
        "Maximum number of cached responses?",
        "Beyond this, the least recently used responses are deleted from response_cache.db.",
        when=while_on(_RESPONSES, _caches_responses),
    ),
    make_question(
        _SNAPSHOT,
        "Snapshot",
        "Enable snapshots (MEMORY_SNAPSHOT.md)?",
        "A readable plain-text copy of all core memories. ZeroClaw writes it only if the next setting is on too.",
        when=_WITH_DATABASE,
    ),
    make_question(
        "memory.snapshot_on_hygiene",
        "Snapshot",
        "Write the snapshot at every start?",
        "Without it ZeroClaw never writes MEMORY_SNAPSHOT.md.",
        when=while_on(_SNAPSHOT, _WITH_DATABASE),
    ),
    make_question(
        "memory.auto_hydrate",
        "Snapshot",
        "Recreate a missing database from the snapshot?",
        "Restores the core memories into a new brain.db, which no ZeroClaw up to 0.8.4 can open.",
        when=while_on(_SNAPSHOT, _WITH_DATABASE),
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
