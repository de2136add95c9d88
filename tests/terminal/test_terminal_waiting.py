"""What a command says in a real terminal while it waits for something slow."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from threading import Event

from support.http_endpoints import embeddings, held, serving
from support.terminal import Terminal

ZEROCLAW = str(Path(sys.executable).parent / "zeroclaw")
WRITTEN = Path(__file__).parents[1] / "data" / "sqlite"
WAITS = "Reading memories …"


def test_a_command_that_says_nothing_for_a_while_says_that_it_is_at_work(clean_environment: Path) -> None:
    """Until the answer takes the place of that."""
    config_dir, may_answer = clean_environment / ".zeroclaw", Event()
    database = config_dir / "workspace" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    shutil.copy(WRITTEN / "zeroclaw_0.7.5.db", database)
    with serving(held(may_answer, embeddings(4))) as endpoint:
        (config_dir / "config.toml").write_text(
            f'[memory]\nbackend = "sqlite"\nembedding_provider = "custom:{endpoint.base}/v1"\n'
            'embedding_model = "m"\nembedding_dimensions = 4\n'
        )
        with Terminal([ZEROCLAW, "memory", "recall", "charlie"], columns=100, lines=24) as screen:
            screen.wait_for(WAITS)
            may_answer.set()
            screen.wait_for("charlie", "scoring")
            assert screen.wait_exit() == 0
            assert WAITS not in screen.text
