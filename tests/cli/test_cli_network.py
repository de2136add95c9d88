"""Each verb connects only to hosts of the config: it runs with every address blocked except this machine's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

VERBS = (
    "list", "get pet", "recall rust", "stats", "health", "explain pet --query rust", "similar pet",
    "prompt rust", "store tea 'green tea'", "edit tea --category daily", "forget tea --yes", "undo --yes",
    "purge --category daily --yes", "trash list", "hygiene --dry-run", "audit", "doctor", "doctor --compact --dry-run",
    "snapshot", "hydrate --dry-run --yes", "export {folder}/out.jsonl", "import {folder}/out.jsonl --yes",
    "copy --to sqlite --to-location {folder}/other.db --yes", "erase nobody --yes", "tail",
    "help", "reindex --dry-run",
)  # fmt: skip
# Python calls an audit hook for each name lookup and each address that data is sent to.
_RUN = """
import contextlib, io, json, shlex, sys
asked = set()
def watch(event, arguments):
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto"):
        host = arguments[1][0] if isinstance(arguments[1], tuple) else "this machine"
    else:
        return
    if host not in ("127.0.0.1", "::1", "localhost", "this machine"):
        asked.add(host.decode() if isinstance(host, bytes) else str(host))
        raise OSError("the network is closed")
sys.addaudithook(watch)
from zeroclaw_tui.cli.main import zeroclaw
said = {}
for line in json.loads(sys.argv[1]):
    sys.argv = ["zeroclaw", *shlex.split(line)]
    shown = io.StringIO()
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(shown):
        try:
            code = zeroclaw()
        except SystemExit as ended:
            code = ended.code
    said[line] = [code, shown.getvalue()]
print(json.dumps([sorted(asked), said]))
"""


def _run(lines: list[str]) -> tuple[list[str], dict[str, tuple[int, str]]]:
    """Run these commands and return the contacted hosts, and the exit code and stderr of each."""
    done = subprocess.run([sys.executable, "-c", _RUN, json.dumps(lines)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    hosts, said = json.loads(done.stdout)
    return hosts, said


def test_without_an_endpoint_no_host_is_contacted(install: Path, tmp_path: Path) -> None:
    lines = [f"memory --config-dir {install} {verb.format(folder=tmp_path)}" for verb in VERBS]
    lines += [f"onboard --config-dir {install} --set memory.vector_weight=0.6", "--version", "memory --help"]
    hosts, said = _run(lines)
    assert hosts == []
    assert {
        line: message for line, message in said.items() if message[0] not in (0, 1) or "fault of" in message[1]
    } == {}


def test_a_vector_search_contacts_only_the_configured_host_and_says_so_first(install: Path) -> None:
    with (install / "config.toml").open("a") as file:
        file.write('embedding_provider = "custom:http://embeddings.invalid/v1"\nembedding_dimensions = 4\n')
    verbs = ("recall rust", "similar --query rust", "explain pet --query rust")
    hosts, said = _run([f"memory --config-dir {install} {verb}" for verb in verbs])
    assert hosts == ["embeddings.invalid"]
    assert all("embeddings.invalid" in message for _, message in said.values())
