"""What the tests have in common: plain answers, names in sentences, and looking up a host within the time."""

from __future__ import annotations

from zeroclaw_tui.backends import host_names
from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.config.secrets import SecretUnreadable, reveal
from zeroclaw_tui.memory.errors import NOT_REACHABLE, InspectorError
from zeroclaw_tui.onboard.answers.answers import Answers


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
    """The numeric addresses of a host. Raises HostUnknown."""
    addresses = await host_names.addresses_of(host)
    if not addresses:
        raise HostUnknown(f"There is no host named {shown(host)}.", hint="Check the spelling, and that DNS works here.")
    return addresses
