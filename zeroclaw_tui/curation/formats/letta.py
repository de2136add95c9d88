"""The agent files of Letta (`.af`): the blocks that are always in an agent's prompt.

JSON, or a JSON text that holds JSON. Since October 2025 {"agents": [{"name", "block_ids", …}], "blocks": [{"id",
"label", "value", …}], …}, before {"name", "core_memory": [{"label", "value", "created_at", "updated_at"}], "messages",
…} of one agent. Archival memory is in neither. Keys, model settings and the source of tools stand in the same file;
none of them is looked at. A database of MemGPT 0.3 is known, and not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zeroclaw_tui.curation.formats.foreign import (
    ForeignFormat,
    Likeness,
    Memories,
    Part,
    digest,
    memory_row,
    moment_of,
    nested_json,
    nothing_of,
    records_at,
    slug,
    tagged,
    text_at,
    texts_of,
)
from zeroclaw_tui.curation.formats.source import Report, Schema, Source
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import one_line

_BLOCK = frozenset({"label", "value"})
_KNOWN = frozenset({*_BLOCK, "id", "created_at", "updated_at", "tags"})
"""The fields of a block that say what it is; all others are named as lost."""


class Letta(ForeignFormat):
    """A memory for each block, pinned where it is attached to an agent; one that agents share is the first one's."""

    name = "letta"
    title = "Letta"

    def of_schema(self, schema: Schema) -> Likeness | None:
        """A database of MemGPT is known, and not read."""
        is_memgpt = "state" in schema.get("agents", frozenset()) and "memgpt_recall_memory_agent" in schema
        return Likeness(1.0, "it is a database of MemGPT 0.3, the Letta of old") if is_memgpt else None

    def of_document(self, document: Any) -> Likeness | None:
        """By the blocks of its agents."""
        document = _inner(document)
        if not isinstance(document, dict):
            return None
        agents = document.get("agents")
        if isinstance(agents, list) and agents and isinstance(document.get("blocks"), list):
            if _are_blocks(document["blocks"]):
                return Likeness(1.0, "it is an agent file with agents and blocks")
            return Likeness(0.4, "it has agents and blocks, but its blocks have no label and value")
        blocks = document.get("core_memory")
        is_old = isinstance(blocks, list) and bool(blocks) and _are_blocks(blocks)
        return Likeness(1.0, "it is an agent file of Letta 0.6, with core_memory") if is_old else None

    def each(self, source: Source, report: Report) -> Memories:
        """Every block that holds something. Raises UsageError for a database of MemGPT."""
        found = [(part, _inner(document)) for part, document in self.exports(source, report)]
        if not found and self.stores(source, report):
            raise UsageError(
                f"{source.name} is a database of MemGPT 0.3, which is not read here.",
                hint="Open it with Letta, export each agent to an .af file, and import those.",
            )
        if not found:
            raise nothing_of(self, source)
        report.note("Archival memory is not in the file: Letta leaves it out of agent files.")
        for part, document in found:
            read = _new if isinstance(document.get("blocks"), list) else _old
            yield from read(document, part)


def _are_blocks(told: list[Any]) -> bool:
    return all(isinstance(block, dict) and block.keys() >= _BLOCK for block in told)


def _inner(document: Any) -> Any:
    """The document itself, or what stands in its text."""
    return nested_json(document) if isinstance(document, str) else document


def _new(document: Mapping[str, Any], part: Part) -> Memories:
    agents = records_at(document, "agents")
    blocks: dict[str, Mapping[str, Any]] = {}
    for block in document["blocks"]:
        named = text_at(block, "id") if isinstance(block, dict) else None
        if named is None:
            part.report.skipped["not understood"] += 1
        else:
            blocks[named] = block
    exported = document.get("created_at")
    attached: set[str] = set()
    owners: dict[tuple[str | None, str], int] = {}
    for number, agent in enumerate(agents, 1):
        _count_lost(agent, part.report)
        named_blocks = agent.get("block_ids")
        for id_ in named_blocks if isinstance(named_blocks, list) else ():
            if not isinstance(id_, str) or id_ not in blocks:
                continue
            block = blocks[id_]
            # Agents also share a block that each of them has under an id of its own.
            value = text_at(block, "value")
            owner = number if value is None else owners.setdefault((text_at(block, "label"), value), number)
            if owner != number:
                part.report.lose("agents of shared blocks")
            elif id_ not in attached:
                yield from _memory(block, text_at(agent, "name") or f"agent {number}", exported, part)
            attached.add(id_)
    for id_, block in blocks.items():
        if id_ not in attached:
            yield from _memory(block, None, exported, part)
    for name in ("tools", "sources", "files", "mcp_servers", "skills", "groups"):
        told = document.get(name)
        part.report.lose(name.replace("_", " "), len(told) if isinstance(told, list) else 0)


def _old(document: Mapping[str, Any], part: Part) -> Memories:
    agent = text_at(document, "name") or "agent"
    _count_lost(document, part.report)
    for block in document["core_memory"]:
        yield from _memory(block, agent, document.get("created_at"), part)


def _memory(block: Mapping[str, Any], agent: str | None, exported: Any, part: Part) -> Memories:
    """The memory of a block, if it says anything."""
    content = text_at(block, "value")
    if content is None:
        part.report.skipped["empty"] += 1
        return
    label = text_at(block, "label") or "block"
    part.report.lose_others(block, _KNOWN)
    # Nothing else tells apart the detached blocks of one label.
    owner = slug(agent) if agent is not None else digest(content)
    created = block.get("created_at") or exported
    of_agent = "" if agent is None else f" of {one_line(agent)}"
    memory = memory_row(
        "_".join(part for part in ("letta", owner, slug(label)) if part),
        tagged(content, texts_of(block.get("tags"))),
        "core",
        created=part.when(created),
        updated=moment_of(block.get("updated_at")),
        agent=agent,
        pinned=int(agent is not None),
    )
    yield f"{part.name}, block {one_line(label)}{of_agent}", memory


def _count_lost(agent: Mapping[str, Any], report: Report) -> None:
    for name in ("messages", "tools"):
        told = agent.get(name)
        report.lose(name, len(told) if isinstance(told, list) else 0)
    report.lose("system prompt", text_at(agent, "system") is not None)
