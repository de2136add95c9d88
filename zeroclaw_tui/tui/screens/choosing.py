"""What the browser lets a person choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zeroclaw_tui.memory.query import Sort
from zeroclaw_tui.scoring.profiles import LANDMARKS, ScoringProfile, profile_for
from zeroclaw_tui.tui.screens.choice import Choice
from zeroclaw_tui.tui.view import LENGTHS, ORDERS, Length

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_RULES = {
    "hides_superseded": "superseded hidden",
    "decays_cli": "old ones decay",
    "prefix_words": "word* is a prefix",
    "star_lists_recent": "* lists the newest",
    "one_injection_rule": "one injection rule",
    "normalises_keyword_only": "keyword scores 0..1",
    "scans_content": "content scanner",
}


def order_choices() -> list[Choice[Sort]]:
    """Every order, in words."""
    return [Choice(sort, words) for sort, words in ORDERS]


def length_choices() -> list[Choice[Length]]:
    """Every length to narrow by, in words."""
    return [Choice(length, length.words) for length in LENGTHS]


def profile_choices(library: Library) -> tuple[list[Choice[str]], str]:
    """A version of each set of rules, the one in use among them, and that one."""
    current = library.profile.profile.version
    versions = sorted({*LANDMARKS, current}, key=lambda version: tuple(map(int, version.split("."))))
    profiles = [profile_for(version) for version in versions]
    return [
        Choice(profile.version, profile.version, _news(profile, profiles[at - 1] if at else None))
        for at, profile in enumerate(profiles)
    ], current


def _news(profile: ScoringProfile, before: ScoringProfile | None) -> str:
    """What its rules have that those of the version before have not."""
    if before is None:
        return "the first rules"
    news = [words for name, words in _RULES.items() if getattr(profile, name) and not getattr(before, name)]
    if profile.agent_scope != "none" and before.agent_scope == "none":
        news.append("agents apart")
    return ", ".join(news) or "nothing a list would show"
