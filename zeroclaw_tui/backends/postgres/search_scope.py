"""Which rows a recall may see, as conditions, and how each generation of ZeroClaw looks for keywords in PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass, replace

from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.backends.postgres.statements import Parameters, check_text, moment_of, owned
from zeroclaw_tui.backends.postgres.table import Table
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.profiles import ScoringProfile, parse_version

MOST = 2**31
"""A limit beyond this is taken as this."""

_DEFAULT_NAMESPACE = "default"
_WITHOUT = ((0, 6, 3), (0, 7, 4))
"""From the first of these versions to before the second ZeroClaw knows no PostgreSQL."""
_FIRST_WITH_FULL_TEXT = (0, 5, 7)
_WILDCARDS = "%_\\"
_PATHS = "'.':* | '~':*"


@dataclass(frozen=True, slots=True)
class Words:
    """What the indexes on the words of key and content are asked for, so that few rows are looked at.

    The server takes key and content apart together, which gives no other words than each of them alone, but for two
    things (tried on 2.4 million pairs of odd texts): a tag that is open at the end of a key goes on in the content, and
    a content that begins with ~ or . begins with a path of another name. The rows of both are looked at too.
    """

    each: tuple[str, ...]
    """The words of the query, each as a query of its own."""
    odd_keys: tuple[str, ...]
    """The keys with a <."""

    def condition(self, given: Parameters) -> str:
        """Holds for every row that has all words, and for some others."""
        if not self.each:
            return "FALSE"
        all_of_them = " AND ".join(f"({self._have(given.text(word))})" for word in self.each)
        paths = f"to_tsvector('simple', m.content) @@ {given.text(_PATHS)}::tsquery"
        odd = f" OR m.key = ANY({given.texts(self.odd_keys)})" if self.odd_keys else ""
        return f"({all_of_them} OR {paths}{odd})"

    def _have(self, word: str) -> str:
        return " OR ".join(f"to_tsvector('simple', m.{column}) @@ {word}::tsquery" for column in ("key", "content"))


@dataclass(frozen=True, slots=True)
class Scope:
    """A request as this table and this profile serve it; `query` has no blanks around it.

    With `words` the table's indexes are asked first.
    """

    request: RecallRequest
    profile: ScoringProfile
    table: Table
    query: str
    said: tuple[str, ...]
    words: Words | None = None

    @property
    def lists(self) -> bool:
        """Whether the query asks for the newest rows."""
        return not self.query or (self.query == "*" and self.profile.star_lists_recent)

    @property
    def has_full_text(self) -> bool:
        """Whether this version searches words instead of one substring."""
        return parse_version(self.profile.version) >= _FIRST_WITH_FULL_TEXT

    def condition(self, given: Parameters) -> str:
        """Session, agents, namespace and times, as a condition that begins with TRUE."""
        request, table, parts = self.request, self.table, ["TRUE"]
        if request.session_id is not None:
            parts.append(f"m.session_id::text = {given.text(request.session_id)}")
        if request.agents is not None:
            ids = {alias: agent for agent, alias in table.agents.items()}
            # ZeroClaw makes up an id for an alias it does not know; no row has it.
            parts.append(owned(table, given.texts([ids.get(alias, alias) for alias in request.agents])))
        if request.namespace is not None:
            parts.append(f"coalesce(m.namespace, '{_DEFAULT_NAMESPACE}') = {given.text(request.namespace)}")
        for bound, compared in ((request.since, ">="), (request.until, "<=")):
            if bound is not None:
                parts.append(f"m.{table.created} {compared} {moment_of(given.text(_moment(bound)))}")
        return " AND ".join(parts)

    def keyword(self, given: Parameters) -> tuple[str, str]:
        """What a row has to fulfil to be found by keywords, and the number it then has."""
        if not self.has_full_text:
            pattern = given.text(f"%{self.query}%")
            score = f"((m.key ILIKE {pattern})::int * 2 + (m.content ILIKE {pattern})::int)::float8"
            return f"(m.key ILIKE {pattern} OR m.content ILIKE {pattern})", score
        words = f"plainto_tsquery('simple', {given.text(self.query)})"
        ranks = [f"ts_rank_cd(to_tsvector('simple', m.{column}), {words})" for column in ("key", "content")]
        score = f"({ranks[0]}::float8 * 2 + {ranks[1]}::float8)"
        matches = f"to_tsvector('simple', m.key || ' ' || m.content) @@ {words}"
        return matches if self.words is None else f"{self.words.condition(given)} AND {matches}", score


def scope_of(request: RecallRequest, profile: ScoringProfile, table: Table) -> Scope:
    """The scope of a request with sentences on what was asked and cannot be served. An empty `agents` is unscoped.

    Raises WrongUse for a bound that is no moment, and Refused for a session or an agent that none can have there.
    """
    check_text(request.session_id, request.namespace, *(request.agents or ()))
    said: list[str] = []
    served = replace(request, limit=min(max(request.limit, 0), MOST), agents=request.agents or None)
    version = profile.version
    if not knows_postgres(profile):
        said.append(
            f"ZeroClaw {version} knows no PostgreSQL: with this config it would use Markdown. "
            "This is how the versions before and after it recall."
        )
    if served.agents and (profile.agent_scope == "none" or not table.has("agent_id")):
        knows_none = f"ZeroClaw {version}" if profile.agent_scope == "none" else "This table"
        said.append(f"{knows_none} knows no agents, so every agent's memories are recalled.")
        served = replace(served, agents=None)
    if served.session_id is not None and not table.has("session_id"):
        said.append("This table keeps no sessions, so those of every session are recalled.")
        served = replace(served, session_id=None)
    if served.namespace is not None and not table.has("namespace"):
        said.append("This table keeps no namespaces, so those of every namespace are recalled.")
        served = replace(served, namespace=None)
    if (served.since or served.until) and not profile.has_time_bounds:
        said.append(f"ZeroClaw {version} has no time bounds in recall, so none are applied.")
        served = replace(served, since=None, until=None)
    for bound in (served.since, served.until):
        if bound is not None:
            _moment(bound)
    return Scope(served, profile, table, request.query.strip(WHITE_SPACE), tuple(said))


def knows_postgres(profile: ScoringProfile) -> bool:
    """Whether the ZeroClaw of that version knows PostgreSQL at all."""
    return not _WITHOUT[0] <= parse_version(profile.version) < _WITHOUT[1]


def wildcard_note(scope: Scope) -> list[str]:
    """A sentence where ZeroClaw's substring search takes a character of the query for something else."""
    met = [character for character in _WILDCARDS if character in scope.query]
    if scope.has_full_text or not met:
        return []
    return [
        f"ZeroClaw {scope.profile.version} does not escape {' '.join(met)} in the query: % stands for any text, _ for "
        "any character, and \\ takes the next one literally."
    ]


def _moment(text: str) -> str:
    when = moment(text)
    if when is None:
        raise WrongUse(f"{text!r} is no moment.", hint="Give one like 2026-11-21T12:00:00Z.")
    return when.isoformat()
