"""Find the conversation of a memory in ZeroClaw's own chat."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.chat_files import write_chat
from support.installs import make_install
from support.libraries import Library
from support.memories import MemoryEntry, NotFound

from zeroclaw_tui.curation.conversations import MAX_MESSAGE_LENGTH, find_conversation

SESSION = "telegram_12345_ann"


def at(minute: int, second: int = 0) -> str:
    return f"2026-08-22T17:{minute:02d}:{second:02d}.000000+00:00"


def talk(turns: int = 20) -> list[tuple[str, str, str]]:
    said = []
    for turn in range(turns):
        said.append(("user", f"question {turn} about the ferry", at(turn)))
        said.append(("assistant", f"answer {turn}", at(turn, 20)))
    return said


def memory(content: str, created: str, session: str | None = None, key: str = "note") -> MemoryEntry:
    return MemoryEntry("id-1", key, content, "core", created, session_id=session)


@pytest.fixture
async def library(tmp_path):
    async with make_install(tmp_path / "install").opened() as library:
        yield library


def root(library: Library) -> Path:
    return library.config.install.root


async def test_an_auto_saved_message_is_found_by_its_words_in_its_session(library):
    write_chat(root(library), SESSION, talk())
    write_chat(root(library), "another", [("user", "question 9 about the ferry", at(9))])
    # ZeroClaw writes memories in local time, chat in UTC.
    made = memory("question 9 about the ferry", "2026-08-22T19:09:00.5+02:00", SESSION)
    found = await find_conversation(library, made, messages=2)
    assert found.session == SESSION
    assert [message.content for message in found.messages] == [
        "question 8 about the ferry",
        "answer 8",
        "question 9 about the ferry",
        "answer 9",
        "question 10 about the ferry",
    ]
    assert found.messages[found.position].content == "question 9 about the ferry"


async def test_a_summary_belongs_to_the_last_messages_before_it_in_its_session(library):
    write_chat(root(library), SESSION, talk())
    found = await find_conversation(library, memory("Ann takes ferries.", at(5, 40), SESSION))
    assert found.messages[found.position].content == "question 5 about the ferry"


async def test_hostile_chat_and_memories_are_read_unchanged(library):
    session, hostile = "a'; DROP TABLE sessions; --", "[/red]\x1b]0;title\x07' OR 1=1 -- %s " + "x" * 30_000
    write_chat(root(library), session, [("user", hostile, "no moment"), ("\x1b[2J", "", "")])
    found = await find_conversation(library, memory(hostile[:60], at(1), session, key="\udc80\ud800"))
    message = found.messages[found.position]
    assert len(message.content) == MAX_MESSAGE_LENGTH
    assert message.content.startswith("[/red]\x1b]0;title")
    assert found.messages[1].role == "\x1b[2J"


async def test_a_memory_without_a_session_is_found_by_its_text_alone(library):
    write_chat(root(library), SESSION, talk(3))
    found = await find_conversation(library, memory("question 2 about the ferry", at(2, 50)))
    assert found.messages[found.position].content == "question 2 about the ferry"
    with pytest.raises(NotFound, match=r"sessions\.db has no message"):
        await find_conversation(library, memory("Ferries matter.", at(2, 50)))
