"""A node with wrong types, ranks or attributes ends with an error, and nothing else: no signal, no fault of our own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BATCH = 100
SEED = int(os.environ.get("PERPEND_SEED", "1"))

CHILD = """
import os, sys
sys.path.insert(0, sys.argv[1])
import perpend
from random_nodes import random_node
for seed in range(int(sys.argv[2]), int(sys.argv[3])):
    print(seed, flush=True)
    try:
        perpend.compile(random_node(seed), opt_level=seed % 4)
    except perpend.CompileError as error:
        if "perpend bug" in str(error):
            sys.exit(str(error))
"""


@pytest.mark.parametrize("batch", range(4))
def test_random_nodes(batch: int) -> None:
    first = (SEED * 1000 + batch) * BATCH
    command = [sys.executable, "-c", CHILD, str(Path(__file__).parent), str(first), str(first + BATCH)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    last = done.stdout.split()[-1:]
    reason = signal.Signals(-done.returncode).name if done.returncode < 0 else done.stderr[-600:]
    assert done.returncode == 0, f"random_node({last}): {reason}"
