"""What docs/howto/add-an-intrinsic.md shows runs, in its order, where the machine has the instruction."""

from __future__ import annotations

import re
from pathlib import Path

import perpend
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/howto/add-an-intrinsic.md"


def parts(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "avx512vnni" not in Path("/proc/cpuinfo").read_text().replace("_", ""):
        pytest.skip("this machine has no avx512vnni")
    monkeypatch.chdir(tmp_path)
    Path("bytes.mlir").write_text(parts("mlir")[0])
    names: dict[str, object] = {}
    for code in parts("python"):
        exec(compile(code, str(PAGE), "exec"), names)
    wrong = parts("mlir")[0].replace("%rows[%k, %first]", "%rows[%first, %first]")
    Path("wrong.mlir").write_text(wrong)
    with pytest.raises(perpend.CompileError) as error:
        perpend.Schedule(names["model"], intrinsics="wrong.mlir")
    said = str(error.value).removeprefix("wrong")
    shown = re.search(r"    my(\.mlir:.*?got -?\d+)\n", PAGE.read_text(), re.DOTALL)
    assert shown and " ".join(shown[1].split()) in said
