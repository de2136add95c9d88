"""What a Qdrant collection can do, and why it cannot do the rest."""

from __future__ import annotations

from zeroclaw_tui.backends.answers import Capabilities

EDITABLE_HERE = ("content", "key", "category", "session_id")
NO_EMBEDDER = "Qdrant stores and finds nothing without an embedding"
_NO = "ZeroClaw keeps no {} in Qdrant."
_WHY_NOT = {
    "keyword": "Qdrant is searched by meaning alone: ZeroClaw keeps no index of words there.",
    "namespaces": _NO.format("namespace"),
    "namespace": _NO.format("namespace"),
    "superseded": _NO.format("word of what replaced a memory"),
    "pinned": _NO.format("pin"),
    "importance": _NO.format("importance"),
    "kind": _NO.format("kind"),
    "watch": "Qdrant tells nobody when something changed: r reads it anew.",
}
_NO_AGENTS = "No point here names an agent: agents came with ZeroClaw 0.8.0."


def capabilities_of(
    read_only_because: str | None, no_embedder_because: str | None, *, has_agents: bool
) -> Capabilities:
    """The capabilities of one collection; `no_embedder_because` says why nothing can be embedded, found by meaning."""
    why_not = dict(_WHY_NOT)
    if not has_agents:
        why_not["agents"] = _NO_AGENTS
    if no_embedder_because is not None:
        why_not["vectors"] = no_embedder_because
    if read_only_because is not None:
        why_not |= dict.fromkeys(("write", *EDITABLE_HERE), read_only_because)
    return Capabilities(
        vectors=no_embedder_because is None,
        agents=has_agents,
        write=read_only_because is None,
        editable=EDITABLE_HERE if read_only_because is None else (),
        why_not=why_not,
    )
