"""What can go wrong between here and a Qdrant server, each as one sentence without a key or a password."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.embeddings.broken_requests import tls_trouble
from zeroclaw_tui.memory.errors import NotReachable, Refused
from zeroclaw_tui.memory.text import cut, mask_secrets, one_line

if TYPE_CHECKING:
    import httpx

_LONGEST_REASON = 200


class KeyRefused(NotReachable):
    """A server that wants an API key, or another one."""


def unreachable(error: Exception, url: str, place: str, *, has_answered: bool = False) -> NotReachable:
    """Why a request to `url` got no answer; `place` is that URL for people. `has_answered` says that it is Qdrant."""
    import httpx

    trouble = tls_trouble(error)
    if trouble is not None:
        return NotReachable(f"Qdrant at {place} {trouble[0]}.", hint=trouble[1])
    if _is_unknown_host(error):
        host = shown(urlsplit(url).hostname or "")
        return NotReachable(f"There is no host named {host}.", hint="Check the spelling, and that DNS works here.")
    if isinstance(error, httpx.ConnectError):
        return NotReachable(f"Nothing answers at {place}.", hint="Is Qdrant running, and are host and port right?")
    is_cut = has_answered or "incomplete" in str(error) or "complete message body" in str(error)
    if isinstance(error, httpx.RemoteProtocolError | httpx.DecodingError) and not is_cut:
        return not_qdrant(place)
    return NotReachable(f"The connection to {place} broke off.", hint="Check the address and any proxy; try again.")


def hangs(place: str, seconds: float) -> NotReachable:
    """A server that takes a request and does not answer."""
    return NotReachable(
        f"Qdrant at {place} did not answer within {seconds:g} s.",
        hint="Is it running, and is nothing in between that swallows the connection?",
    )


def not_qdrant(place: str) -> NotReachable:
    """A server that answers something else than Qdrant does."""
    return NotReachable(
        f"What answers at {place} is not Qdrant.", hint="Its HTTP port is 6333 as a rule; 6334 is for gRPC."
    )


def result_of(response: httpx.Response, place: str, *, has_key: bool, document: Any = None) -> Any:
    """The `result` of Qdrant's answer; `document` is its JSON where that was read already.

    Raises KeyRefused, NotReachable, and Refused with Qdrant's own reason for a request that it does not take.
    """
    status = response.status_code
    if status == 403 and response.request.method != "GET" and has_key:
        raise KeyRefused(f"Qdrant at {place} does not let this API key do that (HTTP 403).", hint="It may only read.")
    if status in (401, 403):
        what = "refuses the API key" if has_key else "wants an API key"
        raise KeyRefused(f"Qdrant at {place} {what} (HTTP {status}).", hint="Set storage.qdrant.api_key.")
    if status >= 500:
        raise NotReachable(f"Qdrant at {place} has an error of its own (HTTP {status}).", hint="Try again later.")
    document = document_of(response) if document is None else document
    if status != 200 and (reason := reason_of(document)):
        shown_reason = cut(one_line(mask_secrets(reason)), _LONGEST_REASON)
        raise Refused(f"Qdrant at {place} refuses that: {shown_reason}", hint=f"HTTP {status}.")
    if status == 413:
        raise Refused(f"That is more than Qdrant at {place} takes at once (HTTP 413).", hint="Its limit is 32 MB.")
    if status != 200 or not isinstance(document, dict) or "result" not in document:
        raise not_qdrant(place)
    return document["result"]


def document_of(response: httpx.Response) -> Any:
    """The JSON of an answer, None where it is none."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def reason_of(document: Any) -> str:
    """The reason in Qdrant's answer to a request that it does not take, "" where it is no such answer."""
    status = document.get("status") if isinstance(document, dict) else None
    reason = status.get("error") if isinstance(status, dict) else None
    return reason if isinstance(reason, str) else ""


def _is_unknown_host(error: BaseException) -> bool:
    reason: BaseException | None = error
    while reason is not None:
        if isinstance(reason, socket.gaierror):
            return True
        reason = reason.__cause__ or reason.__context__
    return False
