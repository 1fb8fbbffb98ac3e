"""Compiled models of each kind: what a run with sizes seen before allocates and frees."""

import re
import subprocess
from pathlib import Path

import perpend
import pytest
from cli.tool import BUILD
from e2e.model_texts import BRANCHES, LIBRARY_CALLS, LISTS, LONG_ROWS, NUMBERS, SIZES_FROM_DATA, SPECTRA, TEXTS
from onnx import parser

COUNT = BUILD / "bin" / "count_allocations"


def count(text: str, folder: Path) -> tuple[int, int, int]:
    """Calls of the allocator in the first runs, then allocations and frees in ten later ones."""
    model = parser.parse_model('<ir_version: 8, opset_import: ["" : 20]>\n' + text)
    perpend.compile(model).save(folder / "model.so")
    done = subprocess.run([COUNT, folder / "model.so"], capture_output=True, text=True, timeout=100)
    numbers = re.fullmatch(r"(\d+) before, then (\d+) allocated, (\d+) freed\n", done.stdout)
    assert numbers, done.stderr
    before, allocated, freed = map(int, numbers.groups())
    return before, allocated, freed


@pytest.mark.parametrize("text", [NUMBERS, LONG_ROWS, SIZES_FROM_DATA, BRANCHES, TEXTS, LISTS, SPECTRA])
def test_none_in_runs_with_sizes_seen_before(text: str, tmp_path: Path) -> None:
    before, allocated, freed = count(text, tmp_path)
    assert before > 0, "the counter must see the first run's"
    assert (allocated, freed) == (0, 0)


def test_library_calls_give_back_what_they_take(tmp_path: Path) -> None:
    _, allocated, freed = count(LIBRARY_CALLS, tmp_path)
    assert allocated == freed
