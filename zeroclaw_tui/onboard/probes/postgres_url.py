"""A database URL as ZeroClaw's driver reads it."""

from __future__ import annotations

from zeroclaw_tui.backends.postgres import address as whole
from zeroclaw_tui.backends.postgres.address import SHAPE, PostgresAddress
from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.memory.errors import WrongUse

__all__ = ["SHAPE", "NeedsTls", "PostgresAddress", "read_url"]


class NeedsTls(WrongUse):
    """A URL that asks for an encrypted connection, which ZeroClaw cannot make."""


def read_url(url: str) -> PostgresAddress:
    """The parts of a URL. Raises WrongUse for what ZeroClaw's driver refuses, NeedsTls where it asks for TLS."""
    address = whole.read_url(url)
    for name in address.unknown_to_zeroclaw:
        raise WrongUse(
            f"The database URL has the option {shown(name)}, which ZeroClaw's driver does not know and refuses.",
            hint="Take it out of the URL.",
        )
    if address.tls not in ("disable", "prefer") or address.asks_for_tls:
        name = "channel_binding" if address.tls in ("disable", "prefer") else "sslmode"
        raise NeedsTls(
            f"The database URL asks for TLS ({name}={shown(address.options[name])}), but ZeroClaw always connects "
            "without.",
            hint="Take it out of the URL if the server lets you in without TLS; else reach it through a tunnel.",
        )
    return address
