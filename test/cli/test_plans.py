"""Strategies of memory planning: one result, other arenas."""

import re
from pathlib import Path

import numpy as np
import perpend as api
import pytest
from cli.tool import DIGITS, perpend, reject, succeed

LIST = Path(__file__).parents[2] / "runtime" / "Strategies.h"
NAMES = re.findall(r'STRATEGY\(\w+, "([^"]+)"', LIST.read_text())
GREEDY = [name for name in NAMES if name not in ("best", "apart")]


def test_best_is_the_smallest_arena_and_apart_the_largest(tmp_path: Path) -> None:
    image = np.random.default_rng(0).random((4, 1, 8, 8), np.float32)
    arenas, results = {}, {}
    for name in NAMES:
        said = succeed("compile", DIGITS, "--dim", "n=4", "--plan", name, "-o", f"{name}.so", folder=tmp_path)
        arenas[name] = float(re.findall(r"arena ([0-9.]+) kB", said)[0])
        results[name] = np.asarray(api.load(str(tmp_path / f"{name}.so"))(image))
    assert arenas["best"] == min(arenas[name] for name in GREEDY) < arenas["apart"]
    assert all(np.array_equal(result, results["best"]) for result in results.values())


@pytest.mark.parametrize("name", ["apart", *GREEDY])
def test_binding_plans_with_the_same_strategy(name: str, tmp_path: Path) -> None:
    """The size is known when inputs are bound: the interpreter, too, plans then."""
    plan = succeed("inspect", DIGITS, "--stage", "plan", "--plan", name, folder=tmp_path)
    assert f'host.strategy = "{name}"' in plan
    succeed("check", DIGITS, "--against", "plan", "--plan", name, "--symbol", "n=5", folder=tmp_path)


def test_an_unknown_strategy(tmp_path: Path) -> None:
    error = reject("compile", DIGITS, "--plan", "first-fit", "-o", "digits.so", folder=tmp_path)
    assert f"memory plan (--plan): expected one of {', '.join(NAMES)}, got 'first-fit'" in error
    assert not (tmp_path / "digits.so").exists()
    said = perpend("compile", "--help", folder=tmp_path).stdout
    assert said.count("--plan") == 1
    assert all(f"{name}: " in " ".join(said.split()) for name in NAMES)


def test_the_report_has_the_arena_of_the_plan(tmp_path: Path) -> None:
    arenas = {}
    for name in ["best", "apart"]:
        succeed("inspect", DIGITS, "--dim", "n=4", "--plan", name, "--html", f"{name}.html", folder=tmp_path)
        arenas[name] = re.findall(r"<p>(\d+) bytes between kernels", (tmp_path / f"{name}.html").read_text())
    assert int(arenas["best"][0]) < int(arenas["apart"][0])
