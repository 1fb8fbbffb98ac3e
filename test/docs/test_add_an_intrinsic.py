"""What docs/howto/add-an-intrinsic.md shows runs, in its order, where the machine has the instruction."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import perpend
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/howto/add-an-intrinsic.md"
BUILD = Path(os.environ.get("PERPEND_BUILD", ROOT / "build"))


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


def save_product() -> None:
    weights = np.random.default_rng(1).standard_normal((64, 96)).astype(np.float32)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 96])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    graph = helper.make_graph(nodes, "product", [x], [y], [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")


def test_an_implementation_in_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, code, (commands,) = parts("mlir")[1], parts("c")[0], parts("sh")
    Path("gemm.mlir").write_text(text)
    Path("gemm.c").write_text(code)
    save_product()
    programs = {"cc": shutil.which("cc") or shutil.which("clang-19"), "perpend": BUILD / "bin/perpend"}
    for command in commands.replace("60s", "3s").splitlines():
        name, *arguments = command.split()
        done = subprocess.run([str(programs[name]), *arguments], capture_output=True, text=True)
        assert done.returncode == 0, command + done.stderr
    s = perpend.Schedule("model.onnx", intrinsics="gemm.mlir")
    s.tensorize(s.get_loops(s.get_block("contract"))[0], "gemm")
    assert 'tensorized = "gemm"' in s.mod
    x = np.random.default_rng(2).standard_normal((7, 64)).astype(np.float32)
    assert np.allclose(s.build()(x), perpend.compile("model.onnx")(x), rtol=1e-4, atol=1e-4)


def test_strides_of_a_library() -> None:
    """The entries that the page shows for BLAS are those of test/cli/test_hand_written_kernels.py."""
    shown = re.search(r"```\n(strides = .*?), implementation", PAGE.read_text())
    assert shown and shown[1] in (ROOT / "test/cli/test_hand_written_kernels.py").read_text()
