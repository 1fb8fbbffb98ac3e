"""What `perpend tune` writes of a run is read back as it was. No times are asserted."""

import argparse
from pathlib import Path

import metaschedule
import onnx
import pytest

PAGE = """<h2>a</h2>
<svg><circle fill="#080"><title>0.50 s: measured, 2.0000 ms
the compiler&#39;s own trace</title></circle>
<circle fill="#999"><title>1.00 s: measured, 3.0000 ms
- x</title></circle>
<circle fill="#080"><title>2.50 s: measured, 900.0000 us
- x</title></circle></svg>
<h2>b</h2>
<svg><circle fill="#080"><title>0.70 s: measured, 1.0000 ms
the compiler&#39;s own trace</title></circle>
<circle fill="#d80"><title>1.50 s: refused, no such loop
+ y</title></circle></svg>
"""


def test_points_are_of_all_kernels_together() -> None:
    points = metaschedule.points_of_page(PAGE)
    assert [(point.trials, point.seconds) for point in points] == [(0, 0.7), (1, 1.0), (2, 1.5), (3, 2.5)]
    assert [point.best_s for point in points] == pytest.approx([3e-3, 3e-3, 3e-3, 1.9e-3])


def test_a_run_is_read(tmp_path: Path) -> None:
    model = tmp_path / "small.onnx"
    onnx.save(metaschedule.product(16, 32, 48).model, model)
    options = argparse.Namespace(trials=3, budget="1m", seed=1)
    points, seconds, _ = metaschedule.tune(model, tmp_path / "small.db", options)
    assert [point.trials for point in points] == [0, 1, 2, 3]
    assert all(point.best_s is not None and 0 < point.seconds <= seconds for point in points)
