"""How each ZeroClaw generation scores: one record of rules for any version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.memory.errors import WrongUse

Version = tuple[int, int, int]

OLDEST = "0.1.2"
NEWEST = "0.8.4"
LANDMARKS = ("0.1.7", "0.6.2", "0.7.5", "0.8.3", "0.8.4")
"""One version of each set of rules a person would tell apart, oldest first."""


@dataclass(frozen=True, slots=True)
class ScoringProfile:
    """The rules of one version, read in ZeroClaw's tagged sources.

    `ties` is how equal fused scores are ordered: arbitrarily (hash order, shown here by id) or by id ascending.
    `agent_scope` is where the allowed agents are applied: nowhere, after the store's recall, or inside its SQL.
    """

    version: str
    blank_lists_recent: bool
    """A blank query lists the newest rows; before 0.5.5 it finds nothing."""
    star_lists_recent: bool
    escapes_quotes: bool
    """A double quote in a word is doubled; before 0.7.5 FTS5 refuses the query and the error is swallowed."""
    prefix_words: bool
    """`word*` is a prefix search."""
    escapes_like: bool
    """`%` and `_` are plain characters in the LIKE fall-back."""
    search_modes: bool
    """`search_mode` is read."""
    plain_vector_only: bool
    """Without any keyword hit the score is the plain cosine; before 0.6.3 it is weighted."""
    divides_by_weights_present: bool
    """The fused score is divided by the sum of the weights of the parts that exist."""
    normalises_keyword_only: bool
    """Keyword-only scores are divided by the best of the batch; before 0.8.4 they are raw -bm25."""
    durable_rows_cross_sessions: bool
    """With a live vector, core and daily rows without a session pass the session filter."""
    filters_in_sql: bool
    """Session and agents are restricted inside the keyword, vector and LIKE statements."""
    hides_superseded: bool
    has_time_bounds: bool
    ties: Literal["arbitrary", "id"]
    agent_scope: Literal["none", "after", "sql"]
    scans_content: bool
    """The content scanner sits between store and agent, and asks the store for four times the limit."""
    decays_cli: bool
    decays_channel: bool
    one_injection_rule: bool
    """Both paths inject by the rule of the channels."""
    skips_tool_results: bool
    skips_images: bool
    skips_autosave_noise: bool
    skips_user_messages: bool
    skips_sessionless_conversation: bool
    skips_conversation_on_schedule: bool
    """Turns of cron and heartbeat get no conversation rows."""
    joins_scopes: bool
    """What is recalled in several session scopes becomes one list; before 0.8.3 each makes a block of its own."""
    reranks: bool
    """The rerank stage acts where it is switched on."""
    agents_have_limits: bool
    """`memory_recall_limit` of an agent's runtime profile is read."""
    closes_context_block: bool
    """The block ends with `[/Memory context]`."""
    newer: str | None = None
    """The version asked for, where it is later than the newest one known and so scored as that."""

    @property
    def label(self) -> str:
        """The span of versions that score alike, for a header."""
        return _span(parse_version(self.version))


def profile_for(version: str) -> ScoringProfile:
    """The rules of a version such as "0.7.5" or "v0.8.4-beta-1"; those of NEWEST for a later one, which `newer` names.

    Raises WrongUse when it is no version.
    """
    asked = parse_version(version)
    v = min(asked, parse_version(NEWEST))
    return ScoringProfile(
        version=".".join(map(str, v)),
        newer=".".join(map(str, asked)) if asked > v else None,
        blank_lists_recent=v >= (0, 5, 5),
        star_lists_recent=v >= (0, 7, 5),
        escapes_quotes=v >= (0, 7, 5),
        prefix_words=v >= (0, 7, 5),
        escapes_like=v >= (0, 7, 5),
        search_modes=v >= (0, 6, 3),
        plain_vector_only=v >= (0, 6, 3),
        divides_by_weights_present=v >= (0, 8, 4),
        normalises_keyword_only=v >= (0, 8, 4),
        durable_rows_cross_sessions=v >= (0, 8, 4),
        filters_in_sql=v >= (0, 8, 4),
        hides_superseded=v >= (0, 5, 7),
        has_time_bounds=v >= (0, 5, 5),
        ties="id" if v >= (0, 5, 7) else "arbitrary",
        agent_scope="none" if v < (0, 8, 0) else "after" if v < (0, 8, 4) else "sql",
        scans_content=v >= (0, 8, 4),
        decays_cli=v >= (0, 5, 9) or v == (0, 1, 8),
        decays_channel=v >= (0, 8, 3),
        one_injection_rule=v >= (0, 8, 3),
        skips_tool_results=v >= (0, 2, 1),
        skips_images=v >= (0, 1, 9),
        skips_autosave_noise=v >= (0, 4, 3),
        skips_user_messages=v >= (0, 7, 4),
        skips_sessionless_conversation=v >= (0, 8, 3),
        skips_conversation_on_schedule=v >= (0, 7, 5),
        joins_scopes=v >= (0, 8, 3),
        reranks=v >= (0, 8, 4),
        agents_have_limits=v >= (0, 8, 0),
        closes_context_block=v >= (0, 6, 3),
    )


def parse_version(text: str) -> Version:
    """Three numbers out of "0.8.4", "v0.8.4" or "zeroclaw 0.8.4-beta-1", known or not. Raises WrongUse."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    if found is None:
        raise WrongUse(
            f"{text!r} is no ZeroClaw version.", hint=f"Give one like {NEWEST} ({OLDEST} is the oldest known)."
        )
    major, minor, patch = (int(part or 0) for part in found.groups())
    return (major, minor, patch)


def _span(version: Version) -> str:
    if version >= (0, 8, 4):
        return "0.8.4"
    if version >= (0, 6, 3):
        return "0.6.3 to 0.8.3"
    return "up to 0.6.2"
