"""What the store itself says of texts: the same content in other memories, cached vectors, earlier versions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from zeroclaw_tui.curation.copies.found import Copy, Text, Wanted, found, not_looked_at
from zeroclaw_tui.curation.copies.in_databases import Fragments, Stored, cache_hash, read_store
from zeroclaw_tui.curation.copies.places import Places
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.trash.reads import ids_move
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.memory.text import one_line

_KEYS_NAMED = 5
_HISTORIES = 200
"""For so many texts it is looked up whether the trash has earlier versions."""
_EMPTIES = "Undo needs them; `zeroclaw memory trash empty` lets go of them."


async def stored_now(
    library: Library, places: Places, wanted: Wanted, keys: Iterable[str], fragments: Fragments | None = None
) -> Stored:
    """What the store holds now, with the contents under these keys; finds of `fragments` in rows are explained."""
    stored = Stored(wanted, keys, fragments)
    if places.database is not None:
        await asyncio.to_thread(read_store, places.database, stored)
    else:
        for entry in await library.memory.entries(MemoryFilter(superseded=Superseded.SHOW)):
            stored.add(entry.id, entry.key, entry.content)
    if fragments is not None:
        fragments.explain(await asyncio.to_thread(stored.held))
    return stored


def in_memories(library: Library, stored: Stored, wanted: Wanted) -> list[Copy]:
    """Other memories with the same content, superseded ones and those of other agents too."""
    texts = wanted.in_order(text for _, content in stored.same for text in wanted.by_content[content])
    keys = list(dict.fromkeys(one_line(key) for key, _ in stored.same))
    named = ", ".join(keys[:_KEYS_NAMED]) + (
        f" and {len(keys) - _KEYS_NAMED:,} more" if len(keys) > _KEYS_NAMED else ""
    )
    remark = f"Other memories have the same content: {named}. Select and delete them."
    return found("memories", library.memory.location, texts, remark)


async def in_embedding_cache(library: Library, stored: Stored, wanted: Wanted) -> list[Copy]:
    """ZeroClaw's cached vectors of the contents."""
    count = await library.memory.count_cached_vectors(list(wanted.by_content))
    if not count:
        return []
    cached = [content for content in wanted.by_content if cache_hash(content) in stored.hashes]
    texts = wanted.in_order(text for content in cached for text in wanted.by_content[content]) or wanted.texts
    remark = "A hash of the content and its vector remain, not the text itself."
    return [Copy("embedding cache", library.memory.location, count, True, remark, texts)]


async def in_trash(library: Library, wanted: Wanted) -> list[Copy]:
    """Earlier versions of the memories in the trash of this program."""
    place = library.trash.file
    try:
        texts = [text for text in wanted.texts[:_HISTORIES] if await _has_earlier(library, text)]
    except InspectorError as error:
        return [not_looked_at("trash", place, error)]
    if not texts:
        return []
    remark = f"Earlier versions of these memories are in the trash. {_EMPTIES}"
    if len(wanted.texts) > _HISTORIES:
        remark = f"Of the first {_HISTORIES:,} of these memories the trash has earlier versions. {_EMPTIES}"
    return found("trash", place, tuple(texts), remark)


async def _has_earlier(library: Library, text: Text) -> bool:
    """Whether the trash has more of a memory than the change that took this text away."""
    versions = await library.trash.history(text.id)
    newest = versions[0].before if versions else None
    is_this = newest is not None and newest.entry().content == text.content
    # Where ids move, what the trash has under this one may be another memory.
    return len(versions) > is_this and (is_this or not ids_move(library.trash.store))
