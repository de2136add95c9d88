"""TLS as a database URL says it."""

from __future__ import annotations

import ssl
from typing import Any

from zeroclaw_tui.backends.postgres.address import PostgresAddress
from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.memory.errors import WrongUse


class NamedContext(ssl.SSLContext):
    """A context that greets and checks the server by one name, at whichever address it was found."""

    server_name: str = ""

    def wrap_bio(self, *args: Any, **named: Any) -> ssl.SSLObject:
        """As SSLContext's, for that name."""
        incoming, outgoing = args[:2]
        return super().wrap_bio(incoming, outgoing, server_side=False, server_hostname=self.server_name or None)


def tls_context(address: PostgresAddress, host: str) -> ssl.SSLContext:
    """What a connection to this host is encrypted with. Raises WrongUse for files that cannot be read.

    As libpq does it: nothing is checked before verify-ca, unless sslrootcert is given, which makes require check too;
    only verify-full checks the name. Without sslrootcert the certificates this machine trusts count.
    """
    context = NamedContext(ssl.PROTOCOL_TLS_CLIENT)
    context.server_name = host
    root = address.options.get("sslrootcert", "")
    checks = address.tls in ("verify-ca", "verify-full") or (address.tls == "require" and bool(root))
    context.check_hostname = address.tls == "verify-full"
    context.verify_mode = ssl.CERT_REQUIRED if checks else ssl.CERT_NONE
    if checks and root in ("", "system"):
        context.load_default_certs()
    elif checks:
        _load("sslrootcert", root, lambda: context.load_verify_locations(cafile=root))
    certificate, key = address.options.get("sslcert", ""), address.options.get("sslkey") or None
    if certificate:
        _load("sslcert", certificate, lambda: context.load_cert_chain(certificate, key, password=_no_password))
    return context


def _load(option: str, path: str, load: Any) -> None:
    try:
        load()
    except (OSError, ValueError):
        raise WrongUse(
            f"The file {shown(path)} that the URL's {option} names cannot be read as a certificate.",
            hint="Is the path right, and is it PEM?",
        ) from None


def _no_password() -> str:
    """Asked for where a key is encrypted; without this the terminal would be asked."""
    raise ValueError
