"""Whether a collection is one that ZeroClaw could have made, and what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zeroclaw_tui.backends.qdrant.connection import Connection
from zeroclaw_tui.backends.qdrant.points import payload_of
from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.memory.errors import Unreadable

DISTANCE = "Cosine"
_NEEDED = ("key", "content")
_OTHER_NAME = "Name another collection in config.toml, or with --location URL/collections/NAME."


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection that fits. `dimensions` and `distance` are those of its one unnamed vector; `names_agents` says that
    some point names an agent, as ZeroClaw >= 0.8.0 writes them."""

    dimensions: int
    distance: str
    names_agents: bool = False


def vector_size(described: Any) -> int | None:
    """The length of a collection's vectors; None when they have names, are several to a point, or there are none."""
    try:
        params = described["config"]["params"]
        size, is_several = params["vectors"]["size"], params["vectors"].get("multivector_config")
        has_more = params.get("sparse_vectors")
    except (KeyError, TypeError, AttributeError):
        return None
    return size if type(size) is int and not is_several and not has_more else None


async def examine(connection: Connection) -> Collection:
    """Look at a collection and one point of it. Raises NothingYet, NotReachable, and Unreadable for another's."""
    described = await connection.describe()
    name, size = shown(connection.address.collection), vector_size(described)
    if size is None:
        raise Unreadable(f"The collection {name} is not ZeroClaw's: it has no single unnamed vector.", hint=_OTHER_NAME)
    missing = await _missing(connection)
    if missing:
        raise Unreadable(
            f"The collection {name} is not ZeroClaw's: its points have no {' and no '.join(missing)}.",
            hint=_OTHER_NAME,
        )
    with_agent = await _any_point(connection, {"must_not": [{"is_empty": {"key": "agent_id"}}]}, payload=False)
    distance = described["config"]["params"]["vectors"].get("distance")
    return Collection(size, distance if isinstance(distance, str) else DISTANCE, with_agent is not None)


async def _missing(connection: Connection) -> tuple[str, ...]:
    """What every memory has and no point here does; nothing for a collection without points."""
    fits = await _any_point(connection, {"must_not": [{"is_empty": {"key": name}} for name in _NEEDED]}, payload=False)
    if fits is not None:
        return ()
    point = await _any_point(connection, None, payload=list(_NEEDED))
    if point is None:
        return ()
    payload = payload_of(point)
    return tuple(name for name in _NEEDED if name not in payload) or _NEEDED


async def _any_point(connection: Connection, filter: Mapping[str, Any] | None, *, payload: Any) -> Any:
    body: dict[str, Any] = {"limit": 1, "with_payload": payload, "with_vector": False}
    if filter is not None:
        body["filter"] = filter
    result = connection.table(await connection.ask("POST", "/points/scroll", body))
    return next(iter(connection.points(result.get("points"))), None)
