"""What the JSON documents in Redis can hold, and a sentence for each thing they cannot."""

from __future__ import annotations

from zeroclaw_tui.backends.base import Capabilities

WHY_NOT = {
    "vectors": "The memories in Redis have no vectors: recall finds what contains the query.",
    "sessions": "The memories in Redis keep no session.",
    "agents": "The memories in Redis belong to no agent.",
    "namespaces": "The memories in Redis keep no namespace.",
    "superseded": "The memories in Redis are replaced in place, so none is superseded.",
    "pinned": "The memories in Redis cannot be pinned.",
    "importance": "The memories in Redis keep no importance.",
    "kind": "The memories in Redis keep no kind.",
    "session_id": "The memories in Redis keep no session.",
    "namespace": "The memories in Redis keep no namespace.",
}
EDITABLE_HERE = ("content", "key", "category")
NO_WATCH = "This server does not tell when something was written."


def capabilities_of(read_only_because: str | None, *, tells_of_writes: bool) -> Capabilities:
    """What can be done with a server that may be written, or not, and that tells of writes, or not."""
    reasons = dict(WHY_NOT)
    if read_only_because is not None:
        reasons |= dict.fromkeys(("write", *EDITABLE_HERE), read_only_because)
    if not tells_of_writes:
        reasons["watch"] = NO_WATCH
    return Capabilities(
        keyword=True,
        sessions=False,
        watch=tells_of_writes,
        write=read_only_because is None,
        editable=EDITABLE_HERE if read_only_because is None else (),
        why_not=reasons,
    )
