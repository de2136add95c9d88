"""The filters of a recall in words: newer memories, time, session, agent, namespace, and the list of the newest."""

from __future__ import annotations

from dataclasses import replace

from zeroclaw_tui.scoring.explaining.finding import higher_limit
from zeroclaw_tui.scoring.explaining.step import Step, Told
from zeroclaw_tui.scoring.explaining.text import first, listed, name, ordinal
from zeroclaw_tui.scoring.meaning import POSTGRES_RANKS_SINCE
from zeroclaw_tui.scoring.profiles import parse_version
from zeroclaw_tui.scoring.scope import DEFAULT_NAMESPACE, DURABLE
from zeroclaw_tui.scoring.way import StageName

_HELPS: dict[StageName, tuple[str, str]] = {
    "superseded": ("look at the newer one", "x"),
    "time": ("recall without the time bounds", "F"),
    "session": ("recall without the session", "F"),
    "agent": ("recall for its agent", "F"),
    "namespace": ("recall in its namespace", "F"),
}


def filter_step(told: Told, stage: StageName) -> Step | None:
    """A filter it passes, in the words of what was asked; None where nothing was, or where it would not pass."""
    request, entry = told.trial.request, told.way.entry
    words = ""
    if keeps_out(told, stage):
        return None
    if stage == "superseded":
        words = "no newer memory replaced it" if told.is_staged and told.trial.profile.hides_superseded else ""
    elif stage == "time" and (request.since or request.until):
        words = f"created {name(entry.timestamp)}, within the bounds" if told.trial.profile.has_time_bounds else ""
    elif stage == "session" and request.session_id is not None:
        of_it = f"of session {name(request.session_id)}, as the message"
        durable = f"{name(entry.category)} without a session is seen from every one"
        words = of_it if entry.session_id == request.session_id else durable
    elif stage == "agent" and request.agents and _knows_agents(told):
        words = f"of agent {name(entry.agent or '(none)')}, which is allowed"
    elif stage == "namespace" and request.namespace is not None:
        words = f"in namespace {name(request.namespace)}"
    return Step(stage, "passed", words) if words else None


def keeps_out(told: Told, stage: StageName) -> bool:
    """Whether the memory is none of those a filter asks for."""
    request, entry, profile = told.trial.request, told.way.entry, told.trial.profile
    if stage == "superseded":
        return profile.hides_superseded and entry.superseded_by is not None
    if stage == "time":
        early = request.since is not None and entry.timestamp < request.since
        return profile.has_time_bounds and (early or (request.until is not None and entry.timestamp > request.until))
    if stage == "session":
        is_durable = entry.session_id is None and entry.category in DURABLE and profile.durable_rows_cross_sessions
        return request.session_id not in (None, entry.session_id) and not is_durable
    if stage == "agent":
        return _knows_agents(told) and bool(request.agents) and entry.agent not in (request.agents or ())
    return request.namespace not in (None, entry.namespace or DEFAULT_NAMESPACE)


def filter_stop(told: Told, stage: StageName) -> Step:
    """The filter that keeps it out."""
    request, entry = told.trial.request, told.way.entry
    if stage == "superseded":
        words = f"a newer memory replaced it (id {name(entry.superseded_by or '')})"
    elif stage == "time":
        words = f"created {name(entry.timestamp)}, and recall is {_bounds(told)}"
    elif stage == "session":
        wanted = name(request.session_id or "")
        held = "it has no session" if entry.session_id is None else f"it is of session {name(entry.session_id)}"
        words = f"{held}, and the message comes from {wanted}"
    elif stage == "agent":
        held = "it belongs to no agent" if entry.agent is None else f"it is of agent {name(entry.agent)}"
        words = f"{held}, and recall is for {listed(request.agents or ())}"
    else:
        words = f"it is in namespace {name(entry.namespace or DEFAULT_NAMESPACE)}, and recall is in "
        words += name(request.namespace or "")
    return Step(stage, "stopped", words, {}, *_HELPS[stage])


def own_stop(told: Told) -> Step:
    """A backend's own rule does not find it, for its words or for what was asked besides."""
    rule = name(told.recall.program or told.recall.own_rule or told.way.path)
    if told.recall.told:
        return Step("rank", "stopped", f"{rule} leaves it out: {told.recall.told}", {"scale": told.recall.scale})
    for stage in ("session", "agent", "namespace"):
        held = {
            "session": told.way.entry.session_id,
            "agent": told.way.entry.agent,
            "namespace": told.way.entry.namespace,
        }
        if held[stage] is not None and keeps_out(told, stage):
            stop = filter_stop(told, stage)
            return replace(stop, name="rank", words=f"{rule} leaves it out: {stop.words}")
    scale = f" (it scores by {name(told.recall.scale)})" if told.recall.has_scale else ""
    since, *helps = _own_wants(told)
    words = f"{rule}'s own rule does not find it{scale}{since}"
    return Step("rank", "stopped", words, {"scale": told.recall.scale}, *helps)


def _own_wants(told: Told) -> tuple[str, str, str]:
    """What a backend's own rule asks for, what would give it that, and the key for it."""
    rule = told.recall.own_rule
    if rule == "postgres" and parse_version(told.trial.profile.version) >= POSTGRES_RANKS_SINCE:
        return ", since every word of the message has to be in it", "edit it to have every word of the message", "e"
    if rule == "postgres":
        return ", since the whole message has to be in it as it is", "edit it to hold the message as it is", "e"
    return ("", "", "") if rule == "qdrant" else ("", "edit it to have a word of the message", "e")


def _knows_agents(told: Told) -> bool:
    return not told.is_staged or told.trial.profile.agent_scope != "none"


def _bounds(told: Told) -> str:
    request = told.trial.request
    parts = [f"from {name(request.since)} on" if request.since else "", f"until {name(request.until or '')}"]
    return " ".join(part for part, bound in zip(parts, (request.since, request.until), strict=True) if bound)


def recent_step(told: Told) -> Step:
    """Its place among the newest, which a blank message lists."""
    rank = told.way.rank
    place = f"{ordinal(rank)} of the newest" if rank is not None else "among the newest"
    return Step("recent", "passed", f"{_listing(told)} lists the newest: {place}, without a score", {"rank": rank})


def recent_stop(told: Told) -> Step:
    """Older than those that are listed."""
    words = f"{_listing(told)} lists the newest, and {first(told.way.store_limit)}"
    return Step("recent", "stopped", words, {}, higher_limit(told), "w")


def _listing(told: Told) -> str:
    return "a lone *" if told.trial.request.query.strip() else "a blank message"


def query_stop(told: Told) -> Step:
    """A blank message that finds nothing."""
    words = f"ZeroClaw {told.trial.profile.version} finds nothing for a blank message"
    return Step("query", "stopped", words, {}, "another scoring version", "p")
