"""What tools/new_pass.py writes fits the sources: its include, record and names are those of an existing pass."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def new_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, in a tree that has only the folders of passes."""
    spec = importlib.util.spec_from_file_location("new_pass", ROOT / "tools" / "new_pass.py")
    assert spec and spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for folder in ("graph", "tile", "host"):
        (tmp_path / "src" / folder / "passes").mkdir(parents=True)
        (tmp_path / "src" / folder / "passes" / "Passes.td").touch()
    monkeypatch.setattr(script, "ROOT", tmp_path)
    return script


@pytest.mark.parametrize(
    ("folder", "existing"), [("graph", "FuseMaps"), ("tile", "HoistDivisions"), ("host", "PlanMemory")]
)
def test_looks_like_an_existing_pass(
    new_pass: ModuleType, folder: str, existing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert new_pass.main([folder, "SplitThings"]) == 0
    ours = (tmp_path / "src" / folder / "passes" / "SplitThings.cpp").read_text()
    theirs = (ROOT / "src" / folder / "passes" / f"{existing}.cpp").read_text()
    for pattern in (r'#include "\w+/\w+Passes\.h\.inc"', r"#define GEN_PASS_DEF_\w+", r"\w+::impl::\w+Base<\w+>"):
        expected = re.findall(pattern, theirs.replace(existing, "SplitThings").replace(existing.upper(), "SPLITTHINGS"))
        assert re.findall(pattern, ours) == expected
    assert f"--{folder}-split-things %s" in (tmp_path / "test" / folder / "SplitThings.mlir").read_text()
    assert f'def {folder.capitalize()}SplitThings : Pass<"{folder}-split-things"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["graph", "Things"], "is not verb + object"), (["runtime", "SplitThings"], "choose one of graph, host, tile")],
)
def test_errors(new_pass: ModuleType, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert new_pass.main(arguments) == 1
    assert message in capsys.readouterr().err
