"""What each backend needs to reach its store."""

from __future__ import annotations

from typing import Any

from zeroclaw_tui.config.environment import OTHERS_DB_URL
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.answers.from_environment import others_database
from zeroclaw_tui.onboard.probes.postgres import store_at
from zeroclaw_tui.onboard.questions.making import for_backends, make_question
from zeroclaw_tui.onboard.questions.values import as_text, check_web_address

_SQLITE = for_backends("sqlite")
_POSTGRES = for_backends("postgres")
_QDRANT = for_backends("qdrant")
_LUCID = for_backends("lucid")


def _encrypts(answers: Answers) -> bool:
    return answers.situation.document.get(("secrets", "encrypt")) is not False


def _about_db_url(answers: Answers) -> str:
    kept = "encrypted" if _encrypts(answers) else "as plain text"
    told = f"ZeroClaw connects without TLS, always; the whole address is kept {kept} in config.toml."
    is_offered = not answers.value("storage.postgres.db_url") and _offered_db_url(answers)
    return f"{told} Offered is the database of {OTHERS_DB_URL}, which may be another program's." if is_offered else told


def _about_qdrant_key(answers: Answers) -> str:
    if answers.situation.target.is_modern and _encrypts(answers):
        return "Sent with each request and kept encrypted in config.toml; empty is none."
    return "Sent with each request, and kept as plain text, for this ZeroClaw would not decrypt it; empty is none."


def _offered_db_url(answers: Answers) -> str:
    """The address there is; else that of DATABASE_URL, which may be another program's, to be taken or typed over."""
    value = as_text(answers.value("storage.postgres.db_url"))
    others = others_database(answers.situation.environ)
    return value or (str(others.value) if others else "")


def _check_db_url(answers: Answers, url: Any) -> None:
    store_at(str(url), answers).check_location()


def _check_url(answers: Answers, url: Any) -> None:
    check_web_address("Qdrant's address", str(url))


def _check_collection(answers: Answers, name: Any) -> None:
    if any(letter.isspace() or letter in "/?#" or not letter.isprintable() for letter in str(name)):
        raise WrongUse("A Qdrant collection's name has no blanks and none of / ? #.", hint="Such as zeroclaw_memories.")


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
        "storage.postgres.db_url",
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
