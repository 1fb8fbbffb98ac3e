"""Workers take turns, are checked after each, and a broken one does not disturb the others. No times are asserted."""

import sys
from pathlib import Path

import numpy as np
import pytest
import turns
import worker

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"
IMAGES = np.ones((3, 1, 8, 8), np.float32)


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    np.savez(tmp_path / "inputs.npz", IMAGES)
    return tmp_path / "inputs.npz"


def reference() -> turns.Arrays:
    return worker.onnxruntime_engine(DIGITS, [IMAGES], 1, "f32")()


def candidate(name: str, inputs: Path, threads: int = 1) -> turns.Candidate:
    return turns.Candidate(name, worker.command("onnxruntime", DIGITS, inputs, threads))


def test_two_workers_take_turns(inputs: Path) -> None:
    expected = reference()
    result = turns.measure(
        [candidate("a", inputs), candidate("b", inputs, threads=2)],
        deviation=lambda outputs: turns.largest_deviation(outputs, expected),
        turns=3,
        fill_s=0.01,
    )
    assert [timing.error for timing in result.values()] == [None, None]
    assert [len(timing.turns_s) for timing in result.values()] == [3, 3]
    assert all(timing.runs >= 3 and timing.deviation < 1e-5 for timing in result.values())
    quotient = turns.ratio(result["a"], result["b"])
    assert 0 < quotient.low <= quotient.high


def test_wrong_outputs_are_seen(inputs: Path) -> None:
    expected = [reference()[0] + 0.5]
    result = turns.measure(
        [candidate("a", inputs)], lambda outputs: turns.largest_deviation(outputs, expected), turns=1, fill_s=0.0
    )
    assert result["a"].deviation > 0.1 and result["a"].excess > 0.1


def test_a_broken_worker_is_reported_and_the_others_go_on(inputs: Path, tmp_path: Path) -> None:
    missing = turns.Candidate("missing", worker.command("onnxruntime", tmp_path / "no.onnx", inputs, 1))
    dies = turns.Candidate("dies", [sys.executable, "-c", "raise SystemExit('no reason given')"])
    result = turns.measure([missing, dies, candidate("good", inputs)], turns=2, fill_s=0.0)
    assert "no.onnx" in (result["missing"].error or "")
    assert "ended with status 1 / no reason given" in (result["dies"].error or "")
    assert result["good"].error is None and len(result["good"].turns_s) == 2


@pytest.mark.parametrize(
    ("output", "largest", "excess"),
    [
        ([1.0, 2.0], 0.0, 0.0),
        ([1.0, 2.000009], 4.5e-6, 0.0),
        ([1.0, 2.50001], 0.250005, 0.25),
        ([1.0, 2.0, 3.0], float("inf"), float("inf")),
        ([float("nan"), 2.0], float("inf"), float("inf")),
    ],
)
def test_largest_deviation(output: list[float], largest: float, excess: float) -> None:
    """What is too small to count is shown all the same."""
    deviation = turns.largest_deviation([np.array(output)], [np.array([1.0, 2.0])])
    assert deviation == pytest.approx((largest, excess), rel=1e-3)


def test_same_nan_is_no_deviation() -> None:
    values = np.array([float("nan"), float("-inf"), 1.0])
    assert turns.largest_deviation([values], [values.copy()]) == turns.Deviation(0.0, 0.0)
