"""The questions, as a pure list: when each is asked, its words, and how an answer becomes a setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from zeroclaw_tui.backends.factory import has_notes
from zeroclaw_tui.config.setting_names import BACKEND, is_read
from zeroclaw_tui.config.storage import OTHERS_DB_URL
from zeroclaw_tui.memory.errors import DriverMissing, UsageError
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
from zeroclaw_tui.scoring.profiles import ScoringSettings, SearchMode
from zeroclaw_tui.scoring.what_if import stages_of, threshold_meaning, weights_meaning

PROVIDER = "memory.embedding_provider"
MODEL = "memory.embedding_model"
DIMENSIONS = "memory.embedding_dimensions"
API_KEY = "memory.embedding_api_key"
MODE = "memory.search_mode"
THRESHOLD = "memory.min_relevance_score"
_HYGIENE = "memory.hygiene_enabled"
_RESPONSES = "memory.response_cache_enabled"
_RESPONSES_SINCE = (0, 4, 3)
_SNAPSHOT = "memory.snapshot_enabled"
_CHOSEN_CUSTOM = "custom"
_NONE = "none"
_HOSTED = ("openai", "openrouter")
_HINT = "hint:"
_LONGEST_NAME = 24
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
_BACKENDS: Mapping[str, str] = {
    "sqlite": "one local file, keyword and vector search",
    "lucid": "SQLite plus the lucid program",
    "postgres": "a shared server, keyword search",
    "markdown": "readable local files, keyword search",
    "qdrant": "a shared server, vector search",
    "none": "stores nothing",
}
_STORING = for_backends("sqlite", "lucid", "postgres", "markdown", "qdrant")
_WITH_DATABASE = for_backends("sqlite", "lucid")
searches_vectors = for_backends("sqlite", "lucid", "qdrant")
"""The backends that ever look at a vector."""


def _backends(answers: Answers) -> tuple[Choice, ...]:
    known = known_backends(answers.situation.target)
    return tuple(Choice(kind, BACKEND_TITLES[kind], _BACKENDS[kind]) for kind in known)


def _read_backend(answers: Answers, text: str) -> Any:
    kind = text.strip().lower()
    if kind == answers.backend():
        return answers.value(BACKEND) or kind
    offered = known_backends(answers.situation.target)
    if kind not in offered:
        raise UsageError("Unknown backend.", hint=f"Choose one of {', '.join(offered)}.")
    return kind


def _about_backend(answers: Answers) -> str:
    if answers.situation.is_new:
        return "The backend decides how memories are searched and who can share them."
    return (
        "Memories are not moved. After a change of backend, the old memories are no longer recalled; copy them with "
        "`zeroclaw memory copy`."
    )


def _encrypts(answers: Answers) -> bool:
    return answers.situation.document.get(("secrets", "encrypt")) is not False


def _about_db_url(answers: Answers) -> str:
    form = "encrypted" if _encrypts(answers) else "as plain text"
    about = f"ZeroClaw always connects without TLS. The URL is stored {form} in config.toml."
    is_offered = not answers.value(DB_URL) and _offered_db_url(answers)
    return f"{about} The URL shown is {OTHERS_DB_URL}, which may belong to another program." if is_offered else about


def _offered_db_url(answers: Answers) -> str:
    """The present URL; else that of DATABASE_URL, which may be another program's, to be taken or typed over."""
    value = as_text(answers.value(DB_URL))
    return value or others_database(answers.situation.environ, answers.situation.target) or ""


def _check_db_url(answers: Answers, url: Any) -> None:
    # Without the driver the test of the answers says how to install it.
    with suppress(DriverMissing):
        postgres_probe(str(url), answers)


def _about_qdrant_key(answers: Answers) -> str:
    is_encrypted = answers.situation.target.is_modern and _encrypts(answers)
    form = "encrypted in config.toml" if is_encrypted else "as plain text, because this ZeroClaw does not decrypt it"
    return f"Sent with each request and stored {form}. Leave it empty for no key."


def _check_collection(answers: Answers, name: Any) -> None:
    if any(letter.isspace() or letter in "/?#" or not letter.isprintable() for letter in str(name)):
        raise UsageError(
            "A Qdrant collection name cannot contain spaces, /, ? or #.", hint="For example zeroclaw_memories."
        )


_sqlite = partial(make_question, group="SQLite", when=for_backends("sqlite"))
_postgres = partial(make_question, group="PostgreSQL", when=for_backends("postgres"))
_qdrant = partial(make_question, group="Qdrant", when=for_backends("qdrant"))
_lucid = partial(make_question, group="Lucid", when=for_backends("lucid"))
_STORAGE_QUESTIONS = (
    make_question(
        BACKEND,
        "Which memory backend?",
        _about_backend,
        group="Backend",
        when=lambda answers: True,
        kind="choice",
        present=lambda answers: answers.backend(),
        default=lambda answers: "sqlite",
        read=_read_backend,
        choices=_backends,
    ),
    _sqlite(
        "storage.sqlite.open_timeout_secs",
        "Database open timeout in seconds?",
        "From 0 to 300. Does not apply to waiting for a locked database.",
        empty="none",
        no_default="no limit",
    ),
    _postgres(
        DB_URL,
        "PostgreSQL URL? (postgres://user:password@host:5432/name)",
        _about_db_url,
        empty="required",
        check=_check_db_url,
        present=_offered_db_url,
    ),
    _postgres(
        "storage.postgres.schema",
        "PostgreSQL schema?",
        "ZeroClaw creates a missing schema, which needs the right to create schemas.",
    ),
    _postgres(
        "storage.postgres.table",
        "PostgreSQL table?",
        "ZeroClaw creates a missing table. Installs with the same table share their memories.",
    ),
    _postgres(
        "storage.postgres.connect_timeout_secs",
        "Connection timeout in seconds?",
        "From 1 to 300. Without a value the operating system decides.",
        empty="none",
        no_default="no limit",
    ),
    _postgres(
        "storage.postgres.vector_enabled",
        "Add pgvector columns?",
        "No effect up to ZeroClaw 0.8.4, which neither fills nor searches these columns. Recall uses keywords only.",
    ),
    _qdrant(
        "storage.qdrant.url",
        "Qdrant URL? (http://host:6333)",
        "Use the HTTP port, because ZeroClaw uses the REST API of Qdrant.",
        empty="required",
        check=lambda answers, url: check_web_address("The Qdrant URL", str(url)),
    ),
    _qdrant(
        "storage.qdrant.collection",
        "Qdrant collection?",
        "ZeroClaw creates a missing collection with the embedding dimensions of this config.",
        check=_check_collection,
    ),
    _qdrant("storage.qdrant.api_key", "Qdrant API key?", _about_qdrant_key, empty="none", no_default="none"),
    _lucid(
        "storage.lucid.binary_path",
        "Path of the lucid program?",
        "A bare name is looked up on PATH. Without the program, ZeroClaw uses only the local SQLite database.",
    ),
    _lucid(
        "storage.lucid.recall_timeout_ms",
        "Timeout for lucid recall in milliseconds?",
        "After a slower answer ZeroClaw uses local memories only and skips lucid for 15 seconds.",
    ),
    _lucid(
        "storage.lucid.store_timeout_ms",
        "Timeout for storing in lucid in milliseconds?",
        "After the timeout lucid may miss the memory. The local SQLite database always has it.",
    ),
)


def _about_hygiene(answers: Answers) -> str:
    if _WITH_DATABASE(answers):
        return "At most every 12 hours, at start, ZeroClaw archives old files and permanently deletes old memories."
    if has_notes(answers.backend()):
        files = "session" if answers.situation.target.is_modern else "daily"
        return f"At start, ZeroClaw archives old {files} files and deletes old archives. Recall does not read archives."
    title = BACKEND_TITLES[answers.backend()]
    return f"Applies to local files and to a local brain.db. ZeroClaw never deletes memories in {title}."


_hygiene = partial(make_question, group="Hygiene", when=while_on(_HYGIENE, _STORING))
_retention = partial(make_question, group="Hygiene", when=while_on(_HYGIENE, _WITH_DATABASE))
_RETENTION_QUESTIONS = (
    make_question(
        "memory.auto_save",
        "Save user messages automatically?",
        "Messages of 20 characters or more are stored as conversation memories.",
        group="Saving",
        when=_STORING,
    ),
    make_question(
        _HYGIENE,
        "Enable hygiene (archive and delete old memories)?",
        _about_hygiene,
        group="Hygiene",
        when=_STORING,
    ),
    _hygiene(
        "memory.archive_after_days",
        "Archive daily files after how many days? (0 = never)",
        "Older daily files and session files move to archive directories, which recall does not read.",
    ),
    _hygiene(
        "memory.purge_after_days",
        "Delete archived files after how many days? (0 = never)",
        "ZeroClaw permanently deletes older archived files, by the date in their name.",
    ),
    _retention(
        "memory.conversation_retention_days",
        "Keep conversation memories for how many days?",
        "ZeroClaw permanently deletes older conversation memories when it starts. 0 keeps them.",
    ),
    _retention(
        "memory.daily_retention_days",
        "Keep daily memories for how many days?",
        "ZeroClaw permanently deletes daily memories that did not change for longer when it starts. 0 keeps them.",
    ),
    _retention(
        "memory.core_retention_days",
        "Keep core memories for how many days?",
        "ZeroClaw permanently deletes core memories created earlier when it starts, changed or not. 0 keeps them.",
    ),
)


def provider_of(answers: Answers) -> str:
    """The embedding provider, "none" where there is none."""
    return (answers.value(PROVIDER) or _NONE).strip() or _NONE


def makes_vectors(answers: Answers) -> bool:
    """Whether ZeroClaw makes vectors with these answers."""
    if not searches_vectors(answers):
        return False
    route = _route(answers)
    provider, dimensions = provider_of(answers), answers.value(DIMENSIONS)
    if route is not None:
        provider = str(route.get("model_provider", route.get("provider", "")))
        dimensions = route.get("dimensions", dimensions)
    return bool(dimensions) and (provider in _HOSTED or provider.startswith(CUSTOM) or _is_reference(answers, provider))


def _is_reference(answers: Answers, provider: str) -> bool:
    """Whether it is `<type>.<alias>`, which ZeroClaw >= 0.8.0 looks up in its provider profiles."""
    return answers.situation.target.is_modern and "." in provider


def _route(answers: Answers) -> Mapping[str, Any] | None:
    """The embedding route of the file that the model's `hint:` picks."""
    model = str(answers.value(MODEL) or "").strip()
    if not model.startswith(_HINT):
        return None
    document = answers.situation.document
    routes = document.get(("embedding_routes",)) or document.get(("providers", "embedding_routes"))
    found = [route for route in routes if isinstance(route, Mapping)] if isinstance(routes, list) else []
    hint = model.removeprefix(_HINT).strip()
    return next((route for route in found if str(route.get("hint", "")).strip() == hint), None)


def _asks_details(answers: Answers) -> bool:
    return searches_vectors(answers) and (provider_of(answers) != _NONE or _route(answers) is not None)


def _present_provider(answers: Answers) -> str:
    provider = provider_of(answers)
    return _CHOSEN_CUSTOM if provider.startswith(CUSTOM) else provider


def _provider_choices(answers: Answers) -> tuple[Choice, ...]:
    without = "Qdrant cannot store anything" if answers.backend() == "qdrant" else "keyword search only"
    usual = (
        Choice(_NONE, "none", without),
        Choice("openai", "openai", "api.openai.com; memory texts leave this machine"),
        Choice("openrouter", "openrouter", "openrouter.ai; memory texts leave this machine"),
        Choice(_CHOSEN_CUSTOM, "custom", "any OpenAI-compatible URL, such as a local server"),
    )
    written = (provider_of(answers), (answers.current(PROVIDER) or _NONE).strip() or _NONE)
    others = dict.fromkeys(name for name in written if name not in (_NONE, *_HOSTED) and not name.startswith(CUSTOM))
    return (
        *(
            Choice(
                name,
                f"keep {one_line(name)[:_LONGEST_NAME]}",
                "a provider of this config" if _is_reference(answers, name) else "unknown to ZeroClaw, no embeddings",
            )
            for name in others
        ),
        *usual,
    )


def _about_provider(answers: Answers) -> str:
    if _route(answers) is not None:
        return "The embedding model is a hint, so the provider of its [[embedding_routes]] entry is used instead."
    purpose = "Embeddings let recall find memories by meaning."
    if is_read(API_KEY, answers.situation.target):
        return f"{purpose} You can enter the API key next."
    if answers.situation.target.is_modern:
        return f"{purpose} ZeroClaw sends the key of the provider's profile, or else the key of the chat provider."
    return f"{purpose} ZeroClaw sends OPENAI_API_KEY or OPENROUTER_API_KEY, or else the key of the chat provider."


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


def _read_address(answers: Answers, text: str) -> Any:
    address = text.strip().removeprefix(CUSTOM)
    if not address:
        raise UsageError("A custom provider needs a URL.", hint="For example http://localhost:11434/v1.")
    if CUSTOM + address != provider_of(answers):
        check_web_address("The provider URL", address)
    return CUSTOM + address


def _about_model(answers: Answers) -> str:
    if answers.backend() == "qdrant":
        return "Must be the model of the embeddings already in the collection."
    return "Changing the model makes stored embeddings useless. Run `zeroclaw memory reindex` afterwards."


def _about_dimensions(answers: Answers) -> str:
    if answers.backend() == "qdrant":
        return "Must match the model and the collection. With 0 nothing can be stored."
    return "Must match the model; ZeroClaw does not check it. 0 disables embeddings."


_embedding = partial(make_question, group="Embeddings", when=_asks_details)
_EMBEDDING_QUESTIONS = (
    make_question(
        PROVIDER,
        "Embedding provider?",
        _about_provider,
        group="Embeddings",
        when=searches_vectors,
        kind="choice",
        present=_present_provider,
        read=_read_provider,
        choices=_provider_choices,
    ),
    make_question(
        PROVIDER,
        "Embedding URL? (http://host:port/v1)",
        "ZeroClaw adds /v1/embeddings to a URL without a path, and /embeddings to one with a path.",
        group="Embeddings",
        when=lambda answers: searches_vectors(answers) and provider_of(answers).startswith(CUSTOM),
        id="embedding_address",
        present=lambda answers: provider_of(answers).removeprefix(CUSTOM),
        default=lambda answers: "",
        read=_read_address,
    ),
    _embedding(MODEL, "Embedding model?", _about_model),
    _embedding(DIMENSIONS, "Embedding dimensions?", _about_dimensions),
    _embedding(
        API_KEY,
        "Embedding API key?",
        "Without it ZeroClaw sends the key of the provider's profile, or else the key of the chat provider.",
        empty="none",
        no_default="none",
    ),
)


def _scoring(answers: Answers) -> ScoringSettings:
    mode: SearchMode = answers.value(MODE) if answers.value(MODE) in ("bm25", "embedding") else "hybrid"
    return ScoringSettings(
        vector_weight=float(answers.value(VECTOR_WEIGHT)),
        keyword_weight=float(answers.value(KEYWORD_WEIGHT)),
        threshold=float(answers.value(THRESHOLD)),
        search_mode=mode,
    )


def search_meaning(answers: Answers) -> tuple[str, ...]:
    """What the weights and the threshold of these answers mean, the sentence that matters most first."""
    if not _WITH_DATABASE(answers):
        return (threshold_meaning(answers.backend(), profile_of(answers), float(answers.value(THRESHOLD))),)
    return weights_meaning(profile_of(answers), _scoring(answers), has_vectors=makes_vectors(answers))


def _weighs(answers: Answers) -> bool:
    """Whether both words and vectors are searched; else a weight does nothing."""
    settings = ScoringSettings(search_mode=_scoring(answers).search_mode)
    stages = stages_of(profile_of(answers), settings, has_vectors=makes_vectors(answers))
    return _WITH_DATABASE(answers) and stages == "both"


def _chooses_mode(answers: Answers) -> bool:
    """Whether there is more than one way to search, or the file asks for vectors that it does not have."""
    return _WITH_DATABASE(answers) and (makes_vectors(answers) or answers.current(MODE) == "embedding")


def _about_weight(answers: Answers) -> str:
    if profile_of(answers).divides_by_weights_present:
        return "Weight of the vector score. A hit with only one of the two scores keeps that score."
    return "Weight of the vector score. A missing score counts as 0."


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


_search = partial(make_question, group="Search")
_SEARCH_QUESTIONS = (
    _search(
        MODE,
        "Search mode?",
        "Keywords find the same words, vectors find the same meaning and need embeddings. Hybrid uses both.",
        when=_chooses_mode,
        choices=_mode_choices,
    ),
    _search(
        VECTOR_WEIGHT,
        "Vector weight?",
        _about_weight,
        when=_weighs,
        read=_read_weight(VECTOR_WEIGHT, KEYWORD_WEIGHT, "keyword weight"),
    ),
    _search(
        KEYWORD_WEIGHT,
        "Keyword weight?",
        lambda answers: search_meaning(answers)[0],
        when=_weighs,
        read=_read_weight(KEYWORD_WEIGHT, VECTOR_WEIGHT, "vector weight"),
    ),
    _search(THRESHOLD, "Relevance threshold?", _about_threshold, when=_STORING),
)


def _caches_responses(answers: Answers) -> bool:
    return _STORING(answers) and version_of(answers) >= _RESPONSES_SINCE


_responses = partial(make_question, group="Caches", when=while_on(_RESPONSES, _caches_responses))
_snapshot = partial(make_question, group="Snapshot", when=while_on(_SNAPSHOT, _WITH_DATABASE))
_FILE_QUESTIONS = (
    make_question(
        "memory.embedding_cache_size",
        "Embedding cache size?",
        "Number of embeddings. A cached text is not sent to the provider again. 0 disables the cache.",
        group="Caches",
        when=lambda answers: _WITH_DATABASE(answers) and makes_vectors(answers),
    ),
    make_question(
        _RESPONSES,
        "Enable the response cache?",
        "The same prompt to the same model gets the cached answer.",
        group="Caches",
        when=_caches_responses,
    ),
    _responses(
        "memory.response_cache_ttl_minutes",
        "Lifetime of cached responses in minutes?",
        "Older responses are deleted from response_cache.db.",
    ),
    _responses(
        "memory.response_cache_max_entries",
        "Maximum number of cached responses?",
        "Beyond this, the least recently used responses are deleted from response_cache.db.",
    ),
    make_question(
        _SNAPSHOT,
        "Enable snapshots (MEMORY_SNAPSHOT.md)?",
        "A readable plain-text copy of all core memories. ZeroClaw writes it only if the next setting is on too.",
        group="Snapshot",
        when=_WITH_DATABASE,
    ),
    _snapshot(
        "memory.snapshot_on_hygiene",
        "Write the snapshot at every start?",
        "Without it ZeroClaw never writes MEMORY_SNAPSHOT.md.",
    ),
    _snapshot(
        "memory.auto_hydrate",
        "Recreate a missing database from the snapshot?",
        "Restores the core memories into a new brain.db, which no ZeroClaw up to 0.8.4 can open.",
    ),
)
QUESTIONS: tuple[Question, ...] = (
    *_STORAGE_QUESTIONS,
    *_RETENTION_QUESTIONS,
    *_EMBEDDING_QUESTIONS,
    *_SEARCH_QUESTIONS,
    *_FILE_QUESTIONS,
)
"""All questions in their order."""


def asked(answers: Answers) -> tuple[Question, ...]:
    """The questions these answers lead to, in order; only the basic ones where no more is wanted."""
    questions = tuple(question for question in QUESTIONS if question.is_asked(answers))
    if not answers.is_basic:
        return questions
    left_out = set()
    if any(question.id == "embedding_address" for question in questions):
        # A server of one's own seldom wants a key; the test of it shows when it does.
        left_out.add("embedding_api_key")
    return tuple(question for question in questions if question.id in _BASIC - left_out)


def question_of(setting: str) -> Question | None:
    """The question that writes a setting, the first where several do."""
    return next((question for question in QUESTIONS if question.setting == setting), None)
