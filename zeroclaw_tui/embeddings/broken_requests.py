"""Why a request got no answer, as the rest of a sentence and a hint."""

from __future__ import annotations

import ssl

_ANSWERED_WITHOUT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "UNKNOWN_PROTOCOL")
_NO_TLS = ("does not speak TLS on this port", "Write http:// in place of https://, or take its TLS port.")
_NO_COMMON_TLS = ("and this machine agree on no TLS", "Does it speak TLS 1.2 or newer on this port?")
_NOT_TRUSTED = (
    "has a certificate that is not trusted here",
    "Use the name it is made for. ZeroClaw (0.8.4) trusts public authorities only, so one of your own does not help.",
)
UNREACHABLE = ("cannot be reached", "Is it running, and is the address right?")
BROKEN_OFF = (
    "broke off instead of answering",
    "Check the address (does its port want https?), or try again later.",
)


def tls_trouble(error: BaseException) -> tuple[str, str] | None:
    """What TLS has to do with a failed request, as the rest of a sentence and a hint; None when it has nothing.

    The cause lies deep in the chain of the client's errors.
    """
    reason: BaseException | None = error
    while reason is not None:
        if isinstance(reason, ssl.SSLCertVerificationError):
            return _NOT_TRUSTED
        if isinstance(reason, ssl.SSLError):
            return _NO_TLS if reason.reason in _ANSWERED_WITHOUT_TLS else _NO_COMMON_TLS
        reason = reason.__cause__ or reason.__context__
    return None
