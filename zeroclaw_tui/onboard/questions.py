"""The questions in their order."""

from __future__ import annotations

from functools import partial

from zeroclaw_tui.config.setting_names import BACKEND
from zeroclaw_tui.onboard.answers import DB_URL, KEYWORD_WEIGHT, PROVIDER_SETTING, VECTOR_WEIGHT, Answers
from zeroclaw_tui.onboard.question import Question, for_backends, while_on

_API_KEY = "memory.embedding_api_key"
_HYGIENE = "memory.hygiene_enabled"
_RESPONSES = "memory.response_cache_enabled"
_SNAPSHOT = "memory.snapshot_enabled"
_BASIC = frozenset(
    {
        BACKEND,
        DB_URL,
        "storage.qdrant.url",
        PROVIDER_SETTING,
        _API_KEY,
        "memory.conversation_retention_days",
    }
)
"""The basic questions, which have no good default; at most four of them are asked, whatever the answers."""
_STORING = for_backends("sqlite", "lucid", "postgres", "markdown", "qdrant")
_WITH_DATABASE = for_backends("sqlite", "lucid")
_SEARCHES_VECTORS = for_backends("sqlite", "lucid", "qdrant")


def _provider(answers: Answers) -> str:
    return str(answers.value(PROVIDER_SETTING) or "none").strip()


def _uses_embeddings(answers: Answers) -> bool:
    provider = _provider(answers)
    return _SEARCHES_VECTORS(answers) and provider != "none"


def _has_both(answers: Answers) -> bool:
    """Whether both keyword and vector search are available."""
    return _WITH_DATABASE(answers) and _uses_embeddings(answers)


_sqlite = partial(Question, group="SQLite", when=for_backends("sqlite"))
_postgres = partial(Question, group="PostgreSQL", when=for_backends("postgres"))
_qdrant = partial(Question, group="Qdrant", when=for_backends("qdrant"))
_lucid = partial(Question, group="Lucid", when=for_backends("lucid"))
_STORAGE_QUESTIONS = (
    Question(
        BACKEND,
        "Which memory backend?",
        "Changing the backend later moves no memories; `zeroclaw memory copy` copies them.",
        group="Backend",
        when=lambda answers: True,
        rows={
            "sqlite": "one local file, keyword and vector search",
            "lucid": "SQLite plus the lucid program",
            "postgres": "a shared server, keyword search",
            "markdown": "readable local files, keyword search",
            "qdrant": "a shared server, vector search",
            "none": "stores nothing",
        },
    ),
    _sqlite(
        "storage.sqlite.open_timeout_secs",
        "Database open timeout in seconds?",
        "From 0 to 300. Does not apply to waiting for a locked database.",
    ),
    _postgres(
        DB_URL,
        "PostgreSQL URL? (postgres://user:password@host:5432/name)",
        "ZeroClaw always connects without TLS. The URL is encrypted in config.toml unless [secrets] encrypt is false.",
        is_required=True,
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
        is_required=True,
    ),
    _qdrant(
        "storage.qdrant.collection",
        "Qdrant collection?",
        "ZeroClaw creates a missing collection with the embedding dimensions of this config.",
    ),
    _qdrant("storage.qdrant.api_key", "Qdrant API key?", "Sent with each request. Leave it empty for no key."),
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

_hygiene = partial(Question, group="Hygiene", when=while_on(_HYGIENE, _STORING))
_retention = partial(Question, group="Hygiene", when=while_on(_HYGIENE, _WITH_DATABASE))
_RETENTION_QUESTIONS = (
    Question(
        "memory.auto_save",
        "Save user messages automatically?",
        "Messages of 20 characters or more are stored as conversation memories.",
        group="Saving",
        when=_STORING,
    ),
    Question(
        _HYGIENE,
        "Enable hygiene (archive and delete old memories)?",
        "At start, ZeroClaw archives old files and permanently deletes old memories of SQLite and Lucid.",
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

_embedding = partial(Question, group="Embeddings", when=_uses_embeddings)
_EMBEDDING_QUESTIONS = (
    Question(
        PROVIDER_SETTING,
        "Embedding provider? (none, openai, openrouter or a URL)",
        "Embeddings find memories by meaning. Texts are sent to the provider or URL, such as http://localhost:11434/v1.",
        group="Embeddings",
        when=_SEARCHES_VECTORS,
    ),
    _embedding(
        "memory.embedding_model",
        "Embedding model?",
        "Changing the model makes stored embeddings useless. Run `zeroclaw memory reindex` afterwards.",
    ),
    _embedding(
        "memory.embedding_dimensions",
        "Embedding dimensions?",
        "Must match the model; ZeroClaw does not check it. 0 disables embeddings.",
    ),
    _embedding(
        _API_KEY,
        "Embedding API key?",
        "Without it ZeroClaw sends the key of the provider's profile, or else the key of the chat provider.",
    ),
)

_SEARCH_QUESTIONS = (
    Question(
        "memory.search_mode",
        "Search mode?",
        "Keywords find the same words, vectors find the same meaning. Hybrid uses both.",
        group="Search",
        when=_has_both,
        rows={"hybrid": "both, by weight", "bm25": "keywords only", "embedding": "vectors only"},
    ),
    Question(VECTOR_WEIGHT, "Vector weight?", "Weight of the vector score.", group="Search", when=_has_both),
    Question(KEYWORD_WEIGHT, "Keyword weight?", "Weight of the keyword score.", group="Search", when=_has_both),
    Question(
        "memory.min_relevance_score",
        "Relevance threshold?",
        "A memory with a lower score is not injected.",
        group="Search",
        when=_STORING,
    ),
)

_responses = partial(Question, group="Caches", when=while_on(_RESPONSES, _STORING))
_snapshot = partial(Question, group="Snapshot", when=while_on(_SNAPSHOT, _WITH_DATABASE))
_FILE_QUESTIONS = (
    Question(
        "memory.embedding_cache_size",
        "Embedding cache size?",
        "Number of embeddings. A cached text is not sent to the provider again. 0 disables the cache.",
        group="Caches",
        when=_has_both,
    ),
    Question(
        _RESPONSES,
        "Enable the response cache?",
        "The same prompt to the same model gets the cached answer.",
        group="Caches",
        when=_STORING,
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
    Question(
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


def questions_for(answers: Answers) -> tuple[Question, ...]:
    """The questions to ask, given these answers, in order; only the basic ones if the user wants no more."""
    questions = tuple(question for question in QUESTIONS if question.is_asked(answers))
    if not answers.is_basic:
        return questions
    # A custom server seldom needs an API key, and its test fails if it does.
    left_out = {_API_KEY} if _provider(answers).startswith("custom:") else set()
    return tuple(question for question in questions if question.setting in _BASIC - left_out)
