"""What is saved unasked, and what is archived and deleted with age."""

from __future__ import annotations

from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.answers.backend_names import BACKEND_TITLES
from zeroclaw_tui.onboard.questions.making import for_backends, make_question, while_on
from zeroclaw_tui.onboard.questions.values import version_of

_ALL = for_backends("sqlite", "lucid", "postgres", "markdown", "qdrant")
_WITH_ROWS = for_backends("sqlite", "lucid")
_HYGIENE = "memory.hygiene_enabled"
_SESSIONS_SPARED_SINCE = (0, 8, 2)


def _about_hygiene(answers: Answers) -> str:
    if _WITH_ROWS(answers):
        return (
            "At a start, at most every 12 hours, it archives old files and deletes old archives and old rows for good."
        )
    if answers.backend() == "markdown" and answers.situation.target.is_modern:
        return (
            "At a start it archives session files, but not the day files of agents, where Markdown keeps their memory."
        )
    if answers.backend() == "markdown":
        return (
            "At a start, at most every 12 hours, it archives day files, which recall then misses, and deletes old ones."
        )
    title = BACKEND_TITLES[answers.backend()]
    return f"It archives and deletes local files, and rows of a brain.db left here; rows in {title} it never touches."


def _about_archive(answers: Answers) -> str:
    if answers.backend() == "markdown" and not answers.situation.target.is_modern:
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
        when=_ALL,
    ),
    make_question(_HYGIENE, "Hygiene", "Clear away what is old?", _about_hygiene, when=_ALL),
    make_question(
        "memory.archive_after_days",
        "Hygiene",
        "Archive files after how many days?",
        _about_archive,
        when=while_on(_HYGIENE, _ALL),
    ),
    make_question(
        "memory.purge_after_days",
        "Hygiene",
        "Delete archived files after how many days?",
        "Archived files that are older than this, by their own date, are deleted for good; 0 keeps them.",
        when=while_on(_HYGIENE, _ALL),
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
