"""Attention: products read heads where all heads of a token lie, kernels run when their results are read, parts of a
batch are divided again where near memory does not hold their scores, and lines end within rows of scores."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
import torch
from cli.tool import BUILD
from conformance.onnx_foreign import missing

pytestmark = pytest.mark.skipif(bool(missing("quoin")), reason=missing("quoin") or "it is there")


class Attention(torch.nn.Module):  # type: ignore[misc]
    """With products in front and behind, and a residual sum."""

    def __init__(self, heads: int, width: int) -> None:
        super().__init__()
        self.heads, channels = heads, heads * width
        self.first, self.q, self.k, self.v, self.last = (torch.nn.Linear(channels, channels) for _ in range(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.first(x)
        apart = (*x.shape[:2], self.heads, -1)
        q, k, v = (each(a).view(apart).transpose(1, 2) for each in (self.q, self.k, self.v))
        weights = torch.softmax(q @ k.transpose(2, 3), dim=-1)
        result: torch.Tensor = a + self.last((weights @ v).transpose(1, 2).reshape(x.shape))
        return result


def attention(batch: int, tokens: int, heads: int, width: int) -> tuple[Any, np.ndarray]:
    torch.manual_seed(0)
    x = torch.randn(batch, tokens, heads * width).half()
    return perpend.import_model(Attention(heads, width).half(), example_inputs=(x,)), x.numpy()


def expect_attention(model: Any, x: np.ndarray, target: str, folder: Path) -> list[str]:
    """Outputs are those of the interpreter, and nothing of the program races. What the units run."""
    (wanted,) = model.evaluate(x)
    path = folder / "program.qn"
    report = list(model.compile(str(path), {"target": target}).units)
    (got,) = perpend.load(str(path))(x)
    np.testing.assert_allclose(got.astype(np.float32), wanted.astype(np.float32), rtol=4e-3, atol=1e-2)
    subprocess.run([BUILD / "bin" / "quoin-verify", path], check=True, capture_output=True, timeout=120)
    return report


@pytest.mark.parametrize("target", ["quoin:t1", "quoin:c8"])
@pytest.mark.parametrize(("tokens", "heads", "width"), [(37, 3, 32), (16, 2, 64), (29, 4, 40)])
def test_products_read_heads_in_place(tokens: int, heads: int, width: int, target: str, tmp_path: Path) -> None:
    """Seven products with what is behind them and a softmax. Heads that end within a line are copied side by side."""
    model, x = attention(2, tokens, heads, width)
    count = 8 + (width % 32 != 0)
    assert f"the units run {count} of {count} kernels" in expect_attention(model, x, f"{target},-parts", tmp_path)


@pytest.mark.parametrize("target", ["quoin:t1", "quoin:c8"])
def test_short_rows_are_copied(target: str, tmp_path: Path) -> None:
    model, x = attention(2, 19, 6, 8)
    assert "the units run 12 of 12 kernels" in expect_attention(model, x, f"{target},-parts", tmp_path)


@pytest.mark.parametrize("batch", [4, 5])
def test_parts_of_batches(batch: int, tmp_path: Path) -> None:
    """LLB of quoin:t1 holds 256 KiB; scores of an image have 75 KiB."""
    model, x = attention(batch, 80, 6, 32)
    report = expect_attention(model, x, "quoin:t1", tmp_path)
    assert not any(line.startswith("the scalar core") for line in report)


@pytest.mark.parametrize(("batch", "tokens", "heads", "width"), [(2, 53, 5, 32), (3, 67, 3, 32), (2, 37, 6, 64)])
def test_cores_share_scores_of_any_rows(batch: int, tokens: int, heads: int, width: int, tmp_path: Path) -> None:
    """Lines end within rows and within matrices."""
    model, x = attention(batch, tokens, heads, width)
    expect_attention(model, x, "quoin:c8,-parts", tmp_path)


def test_cores_read_their_part_of_keys(tmp_path: Path) -> None:
    """Each core has a range of the rows of all heads, and reads the keys of these heads alone. Tiles of the rows of
    softmax, which lie where scores did, are whole lines: otherwise each load would wait for a store."""
    model, x = attention(2, 197, 12, 64)
    expect_attention(model, x, "quoin:c8", tmp_path)
    path, report = tmp_path / "program.qn", tmp_path / "report.json"
    command = [BUILD / "bin" / "quoin-sim", path, "--mode=time", f"--json={report}"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    for core in json.loads(report.read_text())["cores"]:
        busy = {place["place"]: place["busy"] for place in core["places"]}
        assert 0 < busy["node 'matmul'"]["LD"] < 2 * busy["node 'matmul'"]["VX"]
    text = subprocess.run([BUILD / "bin" / "quoin-dis", path], check=True, capture_output=True, text=True).stdout
    rows = [part for part in text.split(".loc ") if part.startswith("\"node 'softmax'\"")]
    assert len(rows) == 8 and not any("wait ST>LD" in part for part in rows)
