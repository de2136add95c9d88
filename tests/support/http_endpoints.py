"""HTTP services on the loopback, including one for embeddings, that answer, fail, stall or hang up as a test says."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class BrokenOff:
    """Instead of an answer: send these raw bytes and close the connection."""

    sent: bytes = b""


Answer = tuple[int, bytes] | tuple[int, bytes, Mapping[str, str]] | BrokenOff
Answering = Callable[[str, Mapping[str, str], Any], Answer]
"""Maps the path, the headers (lower-case names) and the JSON body to a status, a body and optional headers."""


class HttpEndpoint(ThreadingHTTPServer):
    """Answers with the result of `answering`; `requests` records the path, headers and body of each request."""

    daemon_threads = True

    def __init__(self, answering: Answering, port: int = 0, handler: type[Handler] | None = None) -> None:
        super().__init__(("127.0.0.1", port), handler or Handler)
        self.answering = answering
        self.ended = threading.Event()
        self.scheme = "http"
        self.requests: list[tuple[str, dict[str, str], Any]] = []

    @property
    def base(self) -> str:
        """The base URL, without a path."""
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"

    def answer(self, method: str, path: str, headers: dict[str, str], asked: Any) -> Answer:
        """Answer a request; refuse CONNECT, which a client sends to a proxy before TLS."""
        self.requests.append((path, headers, asked))
        return (502, b"") if method == "CONNECT" else self.answering(path, headers, asked)

    def start(self) -> threading.Thread:
        """Serve from a separate thread until `end`."""
        thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        return thread

    def end(self, thread: threading.Thread) -> None:
        """Stop listening and release every handler that waits for `ended`."""
        self.ended.set()
        self.shutdown()
        thread.join()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing to stderr when a client hangs up."""


class Handler(BaseHTTPRequestHandler):
    """Handles the requests of one connection in order."""

    server: HttpEndpoint

    def _do(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answered = self.server.answer(self.command, self.path, headers, json.loads(body) if body else None)
        if isinstance(answered, BrokenOff):
            self.wfile.write(answered.sent)
            self.close_connection = True
            return
        status, answer, *more = answered
        self.send_response(status)
        for name, value in (more[0] if more else {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_PUT = do_CONNECT = _do

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing to stderr."""


@contextmanager
def serving(answering: Answering, certificate: tuple[Path, Path] | None = None) -> Iterator[HttpEndpoint]:
    """Run an endpoint, with TLS where a certificate and its key are given."""
    endpoint = HttpEndpoint(answering)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        # The handler's thread does the handshake, so that a stalled client does not block the others.
        endpoint.socket = context.wrap_socket(endpoint.socket, server_side=True, do_handshake_on_connect=False)
        endpoint.scheme = "https"
    thread = endpoint.start()
    try:
        yield endpoint
    finally:
        endpoint.end(thread)


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@asynccontextmanager
async def answering_bytes(answer: bytes) -> AsyncIterator[int]:
    """Yield the port of a server that always answers with the same bytes; an empty answer keeps the client waiting."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(4096):
            writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def always(status: int, answer: bytes | Any) -> Answering:
    """Answer every request the same way; an answer that is not bytes is sent as JSON."""
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return lambda path, headers, asked: (status, body)


def in_turn(*answerings: Answering) -> Answering:
    """Answer each request with the next of these, and all further ones with the last."""
    left = list(answerings)

    def answer(path: str, headers: Mapping[str, str], asked: Any) -> Answer:
        return (left.pop(0) if len(left) > 1 else left[0])(path, headers, asked)

    return answer


def refusing(status: int, **headers: str) -> Answering:
    """Answer each request with this status; header names have underscores for hyphens."""
    message = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda path, sent, asked: (status, b"{}", message)


def breaking_off(sent: bytes = b"") -> Answering:
    """Send these bytes and close the connection, for each request."""
    return lambda path, headers, asked: BrokenOff(sent)


def after(seconds: float, answering: Answering) -> Answering:
    """Wait this long before each answer; with a long time the service hangs until the client disconnects."""

    def late(path: str, headers: Mapping[str, str], asked: Any) -> Answer:
        threading.Event().wait(seconds)
        return answering(path, headers, asked)

    return late


def embeddings(dimensions: int, key: str | None = None) -> Answering:
    """Answer with vectors of this length; with a key, only to requests that send it."""

    def answer(path: str, headers: Mapping[str, str], asked: Any) -> Answer:
        if key is not None and headers.get("authorization") != f"Bearer {key}":
            return 401, b'{"error": {"message": "no such key"}}'
        if path != "/v1/embeddings" or not asked["model"]:
            return 404, b"{}"
        vectors = [{"embedding": [0.5] * dimensions, "index": at} for at, _ in enumerate(asked["input"])]
        return 200, json.dumps({"data": vectors}).encode()

    return answer


def self_signed(folder: Path) -> tuple[Path, Path]:
    """Create a self-signed certificate for 127.0.0.1 and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    made = folder / "certificate.pem", folder / "certificate.key"
    made[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    made[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return made
