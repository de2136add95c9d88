"""How hits are weighed, and from which score on a memory reaches the prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.questions.embedding import makes_vectors
from zeroclaw_tui.onboard.questions.making import for_backends, make_question
from zeroclaw_tui.onboard.questions.question import Choice
from zeroclaw_tui.onboard.questions.values import profile_of, reader
from zeroclaw_tui.scoring.meaning import stages_of, threshold_meaning, weights_meaning
from zeroclaw_tui.scoring.settings import SearchMode

MODE = "memory.search_mode"
VECTOR_WEIGHT = "memory.vector_weight"
KEYWORD_WEIGHT = "memory.keyword_weight"
THRESHOLD = "memory.min_relevance_score"
_GROUP = "Search"
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
        if value == 0 and answers.value(other) == 0:
            raise WrongUse(
                "With both weights at 0 every mixed score is 0, so one must be more.",
                hint=f"Raise the {other_words} first.",
            )
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
        _GROUP,
        "Search by words, by vectors, or both?",
        "Words find what is spelled alike, vectors what means alike, which takes embeddings; both together is hybrid.",
        when=_chooses_mode,
        choices=_mode_choices,
    ),
    make_question(
        VECTOR_WEIGHT,
        _GROUP,
        "How much does likeness of meaning count?",
        _about_weight,
        when=_weighs,
        read=_read_weight(VECTOR_WEIGHT, KEYWORD_WEIGHT, "keyword weight"),
    ),
    make_question(
        KEYWORD_WEIGHT,
        _GROUP,
        "How much do shared words count?",
        _about_keyword_weight,
        when=_weighs,
        read=_read_weight(KEYWORD_WEIGHT, VECTOR_WEIGHT, "vector weight"),
    ),
    make_question(
        THRESHOLD,
        _GROUP,
        "Which score takes a memory into the prompt?",
        _about_threshold,
        when=_RECALLS,
    ),
)
