"""What Markdown files can hold, and a sentence for each thing they cannot."""

from __future__ import annotations

from zeroclaw_tui.backends.base import Capabilities

LOOSE_NOTES = "Loose notes: no agent reads these as memory."
LOOSE_ARE_KEPT = (
    "Loose notes are a person's own and no agent's memory: they are not changed here; `memory copy` brings"
    " them into a store."
)
WHY_NOT = {
    "vectors": "Markdown memory has no vectors: ZeroClaw scores a line by the share of the query's words it contains.",
    "sessions": "Markdown files keep no session.",
    "agents": "These Markdown files belong to no agent.",
    "namespaces": "Markdown files keep no namespace.",
    "superseded": "Markdown files keep every version of a memory side by side.",
    "pinned": "Markdown files cannot pin a memory.",
    "importance": "Markdown files keep no importance.",
    "kind": "Markdown files keep no kind.",
    "key": "The key of a Markdown memory is its file and the number of its line.",
    "category": "The category of a Markdown memory is its file: MEMORY.md is core, every other is daily.",
    "session_id": "Markdown files keep no session.",
    "namespace": "Markdown files keep no namespace.",
    "zeroclaw_forget": "ZeroClaw itself never deletes Markdown memories; here the line is taken out of the file, and"
    " the trash keeps it.",
}


def capabilities_of(read_only_because: str | None, *, has_agents: bool) -> Capabilities:
    """What can be done with notes that agents have folders of, or not, and that may be written, or not."""
    reasons = {name: reason for name, reason in WHY_NOT.items() if name != "agents" or not has_agents}
    if read_only_because is not None:
        reasons |= {"write": read_only_because, "content": read_only_because}
    return Capabilities(
        keyword=True,
        sessions=False,
        agents=has_agents,
        watch=True,
        blocks=True,
        write=read_only_because is None,
        editable=("content",) if read_only_because is None else (),
        why_not=reasons,
    )
