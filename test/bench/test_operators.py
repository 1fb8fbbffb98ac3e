"""The table of operators: its rows are well formed, run in every engine with equal results, and are resumed. No times
are asserted."""

import json
from pathlib import Path
from typing import Any

import operators
import pytest
from operator_products import ROWS
from operator_rows import Row


def test_rows_have_names_of_their_own() -> None:
    assert len({(row.family, row.key) for row in ROWS}) == len(ROWS) >= 150


def test_a_sample_runs_in_every_engine_and_is_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--fill", "0", "--out", str(tmp_path)]
    assert operators.main(["--only", "floor, f32 512", *arguments]) == 0
    (first,) = json.loads((tmp_path / "operators.json").read_text())["rows"]
    assert first["errors"] == {} and set(first["least_s"]) == {"perpend", *operators.PEERS}
    assert operators.main(["--only", "topk 5, f32", "--resume", *arguments]) == 0
    rows = json.loads((tmp_path / "operators.json").read_text())["rows"]
    assert [row["name"] for row in rows] == ["floor", "topk 5"] and rows[0] == first
    page = (tmp_path / "operators.md").read_text()
    assert "Processor: " in page and "| floor, f32 512x1024 | " in page and "## selection" in page
    assert "over 2 rows" in capsys.readouterr().out


def test_what_differs_is_wrong_and_not_timed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def altered(row: Row, found: Any, expected: Any) -> str | None:
        return found_problem(row, [value + 1 for value in found], expected)

    found_problem = operators.problem
    monkeypatch.setattr(operators, "problem", altered)
    assert operators.main(["--only", "topk 5, f32", "--fill", "0", "--out", str(tmp_path)]) == 1
    (row,) = json.loads((tmp_path / "operators.json").read_text())["rows"]
    assert row["errors"]["perpend"].startswith("wrong") and "perpend" not in row["least_s"]
    assert "| wrong (" in (tmp_path / "operators.md").read_text()


def test_an_unknown_family_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        operators.main(["--family", "nothing"])
    assert "--family: no 'nothing'; there are elementwise" in capsys.readouterr().err
