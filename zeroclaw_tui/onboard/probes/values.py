"""What the tests have in common: plain answers, names in sentences, and looking up a host within the time."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.config.secrets import SecretUnreadable, reveal
from zeroclaw_tui.memory.errors import NOT_REACHABLE, InspectorError
from zeroclaw_tui.onboard.answers.answers import Answers

_Tell = Callable[[tuple[str, ...] | None], None]


class HostUnknown(InspectorError):
    """A name that no name server here knows."""

    title = "Host not found"
    exit_code = NOT_REACHABLE


def plain_answer(answers: Answers, name: str) -> str:
    """The trimmed text of an answer with its secret opened, "" where there is none.

    Raises SecretUnreadable for a value that is not the secret itself and cannot be opened here.
    """
    value = answers.value(name)
    text = value.strip() if isinstance(value, str) else ""
    if text.startswith("${"):
        raise SecretUnreadable(
            f"{name} is a placeholder that something else fills in.", hint="Test it where its variable is set."
        )
    return reveal(text, answers.situation.config_dir).strip()


async def addresses_of(host: str) -> tuple[str, ...]:
    """The numeric addresses of a host. Raises HostUnknown.

    A thread of its own asks: one of the event loop's would have to be waited for when a slow name server is given up.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[tuple[str, ...] | None] = loop.create_future()

    def tell(addresses: tuple[str, ...] | None) -> None:
        if not found.done():
            found.set_result(addresses)

    threading.Thread(target=_look_up, args=(host, loop, tell), daemon=True).start()
    addresses = await found
    if not addresses:
        raise HostUnknown(f"There is no host named {shown(host)}.", hint="Check the spelling, and that DNS works here.")
    return addresses


def _look_up(host: str, loop: asyncio.AbstractEventLoop, tell: _Tell) -> None:
    try:
        rows = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        addresses: tuple[str, ...] | None = tuple(dict.fromkeys(str(row[4][0]) for row in rows))
    except (OSError, UnicodeError, ValueError):
        addresses = None
    # The one who asked may have given up, and its loop be closed.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(tell, addresses)
