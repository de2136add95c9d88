"""Caches, and core memories as a readable file."""

from __future__ import annotations

from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.questions.embedding import makes_vectors
from zeroclaw_tui.onboard.questions.making import for_backends, make_question, while_on
from zeroclaw_tui.onboard.questions.values import version_of

_ALL = for_backends("sqlite", "lucid", "postgres", "markdown", "qdrant")
_LOCAL = for_backends("sqlite", "lucid")
_RESPONSES = "memory.response_cache_enabled"
_RESPONSES_KEPT_SINCE = (0, 4, 3)
"""Before, no ZeroClaw opens that cache."""
_SNAPSHOT = "memory.snapshot_enabled"


def _caches_responses(answers: Answers) -> bool:
    return _ALL(answers) and version_of(answers) >= _RESPONSES_KEPT_SINCE


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
