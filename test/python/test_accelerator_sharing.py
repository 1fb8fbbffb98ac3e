"""Results lie where operands did, if each element is read no later than it is written."""

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

EXTENT = 160  # values of 100 KiB: LLB of quoin:t1 has 256 KiB, for two of them
WEIGHTS = {f"w{layer}": floats(EXTENT, EXTENT) / 16 for layer in range(4)}
BEFORE = [node("MatMul", "x w0", "h"), node("MatMul", "h w1", "a"), node("Relu", "a", "r")]


def written(model: Any, target: str, folder: Path) -> int:
    """Bytes, to DDR."""
    path, report = folder / "program.qn", folder / "report.json"
    perpend.import_model(model).compile(str(path), {"target": target})
    command = [BUILD / "bin" / "quoin-sim", path, "--mode=time", f"--json={report}"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return sum(int(core["memories"]["DDR"]["written"]) for core in json.loads(report.read_text())["cores"])


SHARED = {
    "a sum": [node("MatMul", "r w2", "p"), node("Add", "p h", "s")],
    "a scaled sum": [node("MatMul", "r w2", "p"), node("Mul", "h h", "q"), node("Add", "p q", "s")],
}


@pytest.mark.parametrize("name", SHARED)
def test_sums_lie_where_addends_did(name: str, tmp_path: Path) -> None:
    x = floats(EXTENT, EXTENT)
    model = model_of([*BEFORE, *SHARED[name], node("MatMul", "s w3")], {"x": x}, WEIGHTS)
    assert expect(model, {"x": x}) == []
    assert written(model, "quoin:t1", tmp_path) == x.nbytes  # the result alone
    assert written(model, "quoin:t1,-sharing", tmp_path) > x.nbytes


def test_normalised_rows_lie_where_rows_did(tmp_path: Path) -> None:
    x = floats(EXTENT, EXTENT)
    nodes = [*BEFORE, node("Softmax", "r", "s"), node("MatMul", "s w2", "q"), node("Add", "q h", "t")]
    model = model_of([*nodes, node("MatMul", "t w3")], {"x": x}, WEIGHTS)
    assert expect(model, {"x": x}) == []
    assert written(model, "quoin:t1", tmp_path) == x.nbytes


ROTATED = np.roll(np.arange(EXTENT), 24)
APART = {
    "other elements": [node("Transpose", "h", "g", perm=[1, 0]), node("MatMul", "r w2", "p"), node("Add", "p g", "s")],
    "other rows": [node("Gather", "h back", "g"), node("MatMul", "r w2", "p"), node("Add", "p g", "s")],
    "a factor": [node("MatMul", "h w2", "p"), node("Add", "p h", "q"), node("Add", "q r", "s")],
    "a factor with as many columns": [node("MatMul", "h w2", "p"), node("Add", "p r", "s")],
    "both": [
        node("Transpose", "h", "g", perm=[1, 0]),
        node("MatMul", "r w2", "p"),
        node("Add", "p g", "q"),
        node("Add", "q h", "s"),
    ],
    "read later": [
        node("MatMul", "r w2", "p"),
        node("Add", "p h", "q"),
        node("MatMul", "q w1", "m"),
        node("Add", "m h", "s"),
    ],
    "columns": [node("Softmax", "h", "n", axis=0), node("MatMul", "r w2", "p"), node("Add", "p n", "s")],
    "sums along columns": [
        node("ReduceMean", "h first", "n"),
        node("Sub", "h n", "d"),
        node("MatMul", "r w2", "p"),
        node("Add", "p d", "s"),
    ],
}


@pytest.mark.parametrize("name", APART)
@pytest.mark.parametrize("target", ["quoin:t1", "quoin:c8"])
def test_what_is_read_later_stays(name: str, target: str) -> None:
    x = floats(EXTENT, EXTENT)
    weights = WEIGHTS | {"back": ROTATED, "first": np.array([0])}
    used = {each: weights[each] for each in weights if any(each in n.input for n in [*BEFORE, *APART[name]])}
    used["w3"] = WEIGHTS["w3"]
    model = model_of([*BEFORE, *APART[name], node("MatMul", "s w3")], {"x": x}, used)
    assert expect(model, {"x": x}, target) == []


def test_cores_write_over_their_own_addends(tmp_path: Path) -> None:
    """Values of 3 MiB, of which LLB of quoin:c8 has two."""
    rows, columns = 16384, 96
    x = floats(rows, columns).astype(np.float16)
    weights = {f"w{layer}": (floats(columns, columns) / 10).astype(np.float16) for layer in range(4)}
    model = model_of([*BEFORE, *SHARED["a sum"], node("MatMul", "s w3")], {"x": x}, weights)
    (got,) = perpend.compile(model, target="quoin:c8,-parts")(x)

    def product(left: np.ndarray, name: str, addend: np.ndarray | float = 0) -> np.ndarray:
        return (left.astype(np.float32) @ weights[name].astype(np.float32) + addend).astype(np.float16)

    h = product(x, "w0")
    s = product(np.maximum(product(h, "w1"), 0), "w2", h.astype(np.float32))
    np.testing.assert_allclose(got.astype(np.float32), product(s, "w3").astype(np.float32), rtol=2e-3, atol=8e-3)
    assert written(model, "quoin:c8,-parts", tmp_path) < written(model, "quoin:c8,-parts,-sharing", tmp_path)
