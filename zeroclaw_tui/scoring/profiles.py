"""The scoring of each ZeroClaw version: its rules, its tables, and the settings of a config."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from zeroclaw_tui.memory.errors import UsageError

if TYPE_CHECKING:
    from zeroclaw_tui.memory.change import Value
    from zeroclaw_tui.memory.recall import RecallRequest

Version = tuple[int, int, int]

OLDEST = "0.1.2"
NEWEST = "0.8.4"
LANDMARKS = ("0.1.7", "0.6.2", "0.7.5", "0.8.3", "0.8.4")
"""One version of each noticeably different set of rules, oldest first."""

_G1 = ("id", "key", "content", "category", "embedding", "created_at", "updated_at", "session_id")
_G2 = (*_G1, "namespace", "importance", "superseded_by")
_G3 = (*_G2, "agent_id")
_G4 = (*_G3, "kind", "pinned", "tenant_id")
COLUMNS = {"G1": _G1, "G2": _G2, "G3": _G3, "G4": _G4}
"""The columns of the memories table; ZeroClaw >= 0.8.4 has those of G4 too."""
ALL_COLUMNS = frozenset(_G4)
NEWEST_VERSION = {"G1": "0.5.6", "G2": "0.7.5", "G3": "0.8.2", "G4": "0.8.4"}
SCHEMA_VERSIONS = {"G1": "0.1.2 to 0.5.6", "G2": "0.5.7 to 0.7.5", "G3": "0.8.0 to 0.8.2", "G4": "0.8.3 and later"}
USUAL: Mapping[str, Value] = {"namespace": "default", "importance": 0.5, "pinned": 0}
"""ZeroClaw's default values of a memory."""
SearchMode = Literal["hybrid", "bm25", "embedding"]
RerankStrategy = Literal["none", "mmr"]
ScanMode = Literal["on", "off", "strict"]
EPSILON = 2.0**-23
"""Rust's f32::EPSILON: a maximum or a sum of weights below it counts as 0."""
_FLOAT32 = struct.Struct("f")
_JOINS_SCOPES = (0, 8, 3)
"""From this version on all chats join their session scopes."""


class ScoringProfile:
    """The rules of one version, from ZeroClaw's tagged sources, each with the version that introduced it.

    Compared by identity: `profile_for` makes one object for each version and `joins_scopes`.
    """

    def __init__(self, asked: Version, *, joins_scopes: bool) -> None:
        v = min(asked, parse_version(NEWEST))
        self.version = ".".join(map(str, v))
        self.newer = ".".join(map(str, asked)) if asked > v else None
        """The requested version, if it is later than NEWEST and so scored like NEWEST."""
        self.agent_scope: Literal["none", "after", "sql"]
        self.agent_scope = "none" if v < (0, 8, 0) else "after" if v < (0, 8, 4) else "sql"
        """Where the filter for agents is applied: nowhere, after the store's recall, or inside its SQL."""
        self.decays_cli = v >= (0, 5, 9) or v == (0, 1, 8)
        self.blank_lists_recent = v >= (0, 5, 5)
        """A blank query lists the newest rows; before 0.5.5 it finds nothing."""
        self.star_lists_recent = v >= (0, 7, 5)
        self.escapes_quotes = v >= (0, 7, 5)
        """A double quote in a word is doubled; before 0.7.5 FTS5 rejects the query and the error is ignored."""
        self.prefix_words = v >= (0, 7, 5)
        """`word*` is a prefix search."""
        self.escapes_like = v >= (0, 7, 5)
        """`%` and `_` are plain characters in the LIKE fall-back."""
        self.search_modes = v >= (0, 6, 3)
        """`search_mode` is read."""
        self.plain_vector_only = v >= (0, 6, 3)
        """Without keyword hits the score is the plain cosine; before 0.6.3 it is weighted."""
        self.divides_by_weights_present = v >= (0, 8, 4)
        """The fused score is divided by the sum of the weights of the parts that exist."""
        self.normalises_keyword_only = v >= (0, 8, 4)
        """Keyword-only scores are divided by the best of the batch; before 0.8.4 they are raw -bm25."""
        self.durable_rows_cross_sessions = v >= (0, 8, 4)
        """With a live vector, core and daily rows without a session pass the session filter."""
        self.filters_in_sql = v >= (0, 8, 4)
        """Session and agents are restricted inside the keyword, vector and LIKE statements."""
        self.postgres_ranks = v >= (0, 5, 7)
        """PostgreSQL searches and ranks by words; before 0.5.7 it searches for the exact query, without scores."""
        self.hides_superseded = v >= (0, 5, 7)
        self.has_time_bounds = v >= (0, 5, 5)
        self.scans_content = v >= (0, 8, 4)
        """The content scanner is between store and agent, and requests four times the limit from the store."""
        self.decays_channel = v >= (0, 8, 3)
        self.one_injection_rule = v >= (0, 8, 3)
        """Both paths inject by the rule of the channels."""
        self.skips_tool_results = v >= (0, 2, 1)
        self.skips_images = v >= (0, 1, 9)
        self.skips_autosave_noise = v >= (0, 4, 3)
        self.skips_user_messages = v >= (0, 7, 4)
        self.skips_sessionless_conversation = v >= (0, 8, 3)
        self.skips_conversation_on_schedule = v >= (0, 7, 5)
        """Turns of cron and heartbeat have no conversation memories."""
        self.joins_scopes = joins_scopes
        """Recalls of several session scopes become one list; before 0.8.3 each has its own block."""
        self.reuses_vectors = v < (0, 8, 3)
        """The vector of a message is reused after a change of the model, which from 0.8.3 on empties the cache."""
        self.reranks = v >= (0, 8, 4)
        """The rerank stage exists; it still has to be enabled."""
        self.agents_have_limits = v >= (0, 8, 0)
        """`memory_recall_limit` of an agent's runtime profile is read."""
        self.closes_context_block = v >= (0, 6, 3)
        """The block ends with `[/Memory context]`."""


def profile_for(version: str, *, joins_scopes: bool = False) -> ScoringProfile:
    """The rules of a version such as "0.7.5" or "v0.8.4-beta-1"; later versions have the rules of NEWEST.

    `joins_scopes` is for a turn of an earlier version that does so. Raises UsageError if `version` is not a version.
    """
    asked = parse_version(version)
    return _profile_of(asked, joins_scopes=joins_scopes or asked >= _JOINS_SCOPES)


@cache
def _profile_of(version: Version, *, joins_scopes: bool) -> ScoringProfile:
    return ScoringProfile(version, joins_scopes=joins_scopes)


def parse_version(text: str) -> Version:
    """Parse "0.8.4", "v0.8.4" or "zeroclaw 0.8.4-beta-1" into three numbers. Raises UsageError."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    if found is None:
        raise UsageError(
            f"{text!r} is not a ZeroClaw version.",
            hint=f"Pass a version such as {NEWEST}; {OLDEST} is the oldest known.",
        )
    major, minor, patch = (int(part or 0) for part in found.groups())
    return (major, minor, patch)


def generation_made_by(version: str) -> str:
    """The schema generation ("G1" to "G4") that a ZeroClaw version creates. Raises UsageError for anything else."""
    numbers = parse_version(version)
    if numbers < (0, 5, 7):
        return "G1"
    if numbers < (0, 8, 0):
        return "G2"
    return "G3" if numbers < (0, 8, 3) else "G4"


_RULE_TEXTS = {
    "hides_superseded": "superseded hidden",
    "decays_cli": "old ones decay",
    "prefix_words": "word* is a prefix",
    "star_lists_recent": "* lists the newest",
    "one_injection_rule": "one injection rule",
    "normalises_keyword_only": "keyword scores 0..1",
    "scans_content": "content scanner",
}


def rule_sets(current: str) -> list[tuple[str, str]]:
    """List one version of each set of rules, and `current`, oldest first, each with its new rules."""
    profiles = [profile_for(version) for version in sorted({*LANDMARKS, current}, key=parse_version)]
    found = [(profiles[0].version, "the first rules")]
    for earlier, profile in pairwise(profiles):
        news = [text for name, text in _RULE_TEXTS.items() if getattr(profile, name) and not getattr(earlier, name)]
        if earlier.agent_scope == "none" != profile.agent_scope:
            news.append("agents are separate")
        found.append((profile.version, ", ".join(news) or "nothing a list would show"))
    return found


class OwnRule(NamedTuple):
    """The ranking rule of a store that does not use ZeroClaw's hybrid search."""

    name: str = ""
    """A short name of the rule, if it has one."""
    limit: int | None = None
    """The default limit of the rule."""
    takes_vector: bool = True
    """Whether recall uses a given vector of the query."""
    finds_words: bool = True
    """Whether a memory is found if it contains a word of the query."""
    reads_times: bool = True
    """Whether it supports the time bounds of a request."""
    crosses_sessions: bool = True
    """Whether core and daily memories without a session are recalled in every session, in ZeroClaw versions that do
    so."""
    has_one_namespace: bool = False
    """Whether all memories belong to the default namespace."""
    needed_text: Callable[[ScoringProfile], str] | None = None
    """What a memory must contain to be found, if one word of the query is not enough."""
    threshold_meaning: Callable[[ScoringProfile, float], str] | None = None
    """A sentence that explains the threshold for its scores."""


class RerankSettings(NamedTuple):
    """The rerank stage of ZeroClaw >= 0.8.4: the `rerank_*`, weight and pool keys under [memory], with its defaults.

    `threshold` is the minimum number of rows for MMR; `mmr_lambda` and the two weights are clamped to 0..1. The size of
    the reranked pool is `candidate_multiplier` times the limit of the turn.
    """

    enabled: bool = False
    strategy: RerankStrategy = "none"
    threshold: int = 5
    mmr_lambda: float = 0.7
    importance_weight: float = 0.2
    recency_weight: float = 0.1
    candidate_multiplier: int = 4


class ScoringSettings(NamedTuple):
    """Weights (any finite number), threshold in units of the score, search mode, content scanner mode, rerank."""

    vector_weight: float = 0.7
    keyword_weight: float = 0.3
    threshold: float = 0.4
    search_mode: SearchMode = "hybrid"
    threat_scan: ScanMode = "on"
    rerank: RerankSettings = RerankSettings()


class Trial(NamedTuple):
    """A recall to decide: the request, and the rules and settings for scoring."""

    request: RecallRequest
    profile: ScoringProfile
    settings: ScoringSettings


def float32(value: float) -> float:
    """Round to the nearest 32-bit number, or to infinity beyond its range, as a Rust cast does."""
    try:
        rounded: float = _FLOAT32.unpack(_FLOAT32.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded
