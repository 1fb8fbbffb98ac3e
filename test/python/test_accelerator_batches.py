"""A batch runs in parts, so that near memory holds what lies between kernels."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
from cli.tool import BUILD
from conformance.onnx_foreign import missing
from python.test_accelerators import expect, floats, model_of, node

pytestmark = pytest.mark.skipif(bool(missing("quoin")), reason=missing("quoin") or "it is there")


def bytes_of_ddr(model: Any, folder: Path) -> tuple[int, int]:
    """Read and written, with the memories of quoin:t1, of which LLB has 256 KiB."""
    path, report = folder / "program.qn", folder / "report.json"
    perpend.import_model(model).compile(str(path), {"target": "quoin:t1"})
    command = [BUILD / "bin" / "quoin-sim", path, "--mode=time", f"--json={report}"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    memories = [core["memories"]["DDR"] for core in json.loads(report.read_text())["cores"]]
    return sum(memory["read"] for memory in memories), sum(memory["written"] for memory in memories)


@pytest.mark.parametrize("batch", [7, 16])
def test_values_stay_near(batch: int, tmp_path: Path) -> None:
    """Between convolutions there are 74 KB for each image; of a sum, its image is there until then."""
    x = floats(batch, 16, 24, 24)
    weights = {"w": floats(32, 16, 1, 1) / 4, "d": floats(32, 1, 3, 3), "v": floats(16, 32, 1, 1) / 6}
    nodes = [
        node("Conv", "x w", "a"),
        node("Relu", "a", "b"),
        node("Conv", "b d", "c", group=32, pads=[1, 1, 1, 1]),
        node("Relu", "c", "e"),
        node("Conv", "e v", "f"),
        node("Add", "x f"),
    ]
    model = model_of(nodes, {"x": x}, weights)
    assert expect(model, {"x": x}) == []
    read, written = bytes_of_ddr(model, tmp_path)
    parts = batch  # at most
    assert written == x.nbytes  # the result alone
    assert read <= 3 * x.nbytes + parts * 2 * sum(np.asarray(weight).nbytes for weight in weights.values())
