"""Searches, cost models and rules that are written in Python."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import perpend
import pytest
from cli.tool import save_tiny

ROOT = Path(__file__).resolve().parents[2]
WORDS: dict[str, Any] = {"symbols": {"n": 8}, "budget": 60, "space": "trace"}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return save_tiny(tmp_path)


class Mutator:
    """Changes one decision of the best so far."""

    def __init__(self, kernel: str, choices: list[list[str]], given: list[int]) -> None:
        self.choices, self.best, self.time = choices, given, 1.0
        self.random = random.Random(kernel)
        self.told: list[tuple[list[int], float]] = []
        self.proposed: list[list[int]] = []

    def propose(self) -> Sequence[int]:
        point = list(self.best)
        decision = self.random.randrange(len(point))
        point[decision] = self.random.randrange(len(self.choices[decision]))
        self.proposed.append(point)
        return point

    def tell(self, point: list[int], time: float) -> None:
        self.told.append((point, time))
        if time < self.time:
            self.best, self.time = point, time


class Model:
    """Likes traces that are short."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.learnt: list[float] = []

    def predict(self, kernel: str, trace: str) -> float:
        self.asked.append(trace)
        return len(trace)

    def learn(self, kernel: str, trace: str, time: float) -> bool:
        self.learnt.append(time)
        return False


def test_a_search(tiny: Path, tmp_path: Path) -> None:
    made: list[Mutator] = []

    def make(kernel: str, choices: list[list[str]], given: list[int]) -> Mutator:
        made.append(Mutator(kernel, choices, given))
        return made[-1]

    tuned = perpend.tune(tiny, tmp_path / "t.db", trials=6, search=make, cost_model="none", **WORDS)
    (search,) = made
    (kernel,) = tuned.kernels
    assert kernel.trials == 6 == len(search.told) and len(search.choices) == len(search.best) > 0
    points = [point for point, _ in search.told]
    assert all(point in search.proposed for point in points) and len({tuple(point) for point in points}) == 6
    assert all(time > 0 for _, time in search.told)


def test_a_cost_model(tiny: Path, tmp_path: Path) -> None:
    model = Model()
    tuned = perpend.tune(tiny, tmp_path / "t.db", trials=3, search="random", cost_model=model, **WORDS)
    assert tuned.kernels[0].trials == 3 == len(model.learnt) and len(model.asked) > 3
    assert all("get_block" in trace for trace in model.asked)


class Wrong(Mutator):
    def propose(self) -> Sequence[int]:
        return [99999]


class Ended(Mutator):
    def propose(self) -> Sequence[int]:
        raise RuntimeError("no idea")


def test_what_they_raise_ends_the_run(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected, for each decision, the number of one of its choices"):
        perpend.tune(tiny, tmp_path / "t.db", search=Wrong, cost_model="none", **WORDS)
    with pytest.raises(RuntimeError, match="no idea"):
        perpend.tune(tiny, tmp_path / "t.db", search=Ended, cost_model="none", **WORDS)
    with pytest.raises(perpend.CompileError, match="option 'cost_model': expected str, got int"):
        perpend.tune(tiny, tmp_path / "t.db", cost_model=3, **WORDS)  # type: ignore[arg-type]


def test_the_page_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of docs/howto/tune-a-model.md that need no model of the reader's."""
    page = (ROOT / "docs/howto/tune-a-model.md").read_text()
    programs = [text for text in re.findall(r"```python\n(.*?)```", page, re.S) if "small_model.mlir" in text]
    assert len(programs) == 2
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/small_model.mlir").write_text((ROOT / "docs/small_model.mlir").read_text())
    monkeypatch.chdir(tmp_path)
    for text in programs:
        exec(compile(text, "tune-a-model.md", "exec"), {})
    assert (tmp_path / "tuned.db").exists()
