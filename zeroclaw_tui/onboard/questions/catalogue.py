"""The questions, as a pure list: what is asked, when, with which words, and how an answer becomes settings."""

from __future__ import annotations

from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.questions.backend import BACKEND_QUESTIONS
from zeroclaw_tui.onboard.questions.embedding import EMBEDDING_QUESTIONS
from zeroclaw_tui.onboard.questions.files import FILE_QUESTIONS
from zeroclaw_tui.onboard.questions.question import Choice, Question, QuestionKind
from zeroclaw_tui.onboard.questions.retention import RETENTION_QUESTIONS
from zeroclaw_tui.onboard.questions.search import SEARCH_QUESTIONS
from zeroclaw_tui.onboard.questions.storage import STORAGE_QUESTIONS
from zeroclaw_tui.onboard.questions.values import shown_value

__all__ = ["QUESTIONS", "Choice", "Question", "QuestionKind", "asked", "question_of", "shown_value"]

QUESTIONS: tuple[Question, ...] = (
    *BACKEND_QUESTIONS,
    *STORAGE_QUESTIONS,
    *RETENTION_QUESTIONS,
    *EMBEDDING_QUESTIONS,
    *SEARCH_QUESTIONS,
    *FILE_QUESTIONS,
)
"""All questions in their order."""


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
