"""Random stores, edits and removals for tests of undo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from support.memories import Draft, Value, Vector
from support.questions import ROWS, Query
from support.stores import Memory, why_fixed
from zeroclaw_tui.testing.tools import JournalRecorder, create, delete, edit


@dataclass(frozen=True)
class Store:
    key: str
    content: str
    category: str
    session: str | None
    agent: str | None
    vector: Vector | None
    replace: bool


@dataclass(frozen=True)
class Alter:
    which: int
    values: dict[str, Value]
    vector: Vector | None


@dataclass(frozen=True)
class Remove:
    which: frozenset[int]


Step = Store | Alter | Remove


def steps(
    keys: Sequence[str], texts: st.SearchStrategy[str], vectors: st.SearchStrategy[Vector | None], *agents: str
) -> st.SearchStrategy[list[Step]]:
    """Return a strategy of up to twelve steps on rows with these keys, texts, vectors and agents."""
    fields = st.fixed_dictionaries(
        {},
        optional={
            "content": texts,
            "key": st.sampled_from(keys),
            "category": texts,
            "session_id": st.none() | texts,
            "importance": st.sampled_from([0, 0.25, 0.1, 1]),
            "pinned": st.booleans(),
            "namespace": texts,
        },
    )
    owners = st.sampled_from([None, *agents])
    stores = st.builds(Store, st.sampled_from(keys), texts, texts, st.none() | texts, owners, vectors, st.booleans())
    return st.lists(
        st.one_of(
            stores,
            st.builds(Alter, st.integers(0, 20), fields, vectors),
            st.builds(Remove, st.frozensets(st.integers(0, 20), max_size=8)),
            st.just(Remove(frozenset(range(20)))),
        ),
        max_size=12,
    )


async def take(memory: Memory, step: Step, journal: JournalRecorder) -> None:
    """Do one step, omitting the fields that the store cannot save."""
    rows = list(await memory.rows(Query(ROWS)))
    match step:
        case Store():
            agent = None if "agents" in memory.why_not else step.agent
            session = None if "sessions" in memory.why_not else step.session
            draft = Draft(step.key, step.content, step.category, session, agent=agent, vector=step.vector)
            await create(memory, draft, journal, replace=step.replace)
        case Alter() if rows:
            values = {name: value for name, value in step.values.items() if not why_fixed(memory, name)}
            # An edit without values fills in a vector, which is not undone.
            if values:
                await edit(memory, rows[step.which % len(rows)], values, journal, vector=step.vector)
        case Remove():
            chosen = [row for at, row in enumerate(rows) if at in step.which]
            removal = await delete(memory, chosen, journal)
            assert (removal.written, removal.skipped, removal.already) == (len(chosen), [], [])
