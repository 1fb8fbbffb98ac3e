"""The layout checks find what they are for, and accept what is right."""

import shutil
from pathlib import Path

import lint
import pytest

TOP_HEADERS = {"Pipeline.h"}


@pytest.mark.parametrize(
    ("path", "included"),
    [
        ("src/graph/Shapes.cpp", "tile/Kernel.h"),
        ("src/graph/Shapes.cpp", "Pipeline.h"),
        ("src/frontend/onnx/Import.cpp", "interp/Interpreter.h"),
        ("src/support/SymbolicInt.cpp", "graph/Ops.h.inc"),
        ("src/compiler/Compiler.cpp", "python/Module.h"),
        ("src/tile/passes/Tile.cpp", "target/cpu/Lower.h"),
        ("src/tile/passes/Tile.cpp", "target/TargetInfo.h"),
        ("src/tune/Space.cpp", "target/CodeGenerator.h"),
    ],
)
def test_include_of_a_later_layer_is_an_error(path: str, included: str) -> None:
    assert len(lint.check_includes(path, f'#include "{included}"\n', TOP_HEADERS)) == 1


@pytest.mark.parametrize(
    ("path", "included"),
    [
        ("src/graph/Shapes.cpp", "support/SymbolicInt.h"),
        ("src/graph/Shapes.cpp", "Shapes.h"),
        ("src/graph/passes/Fuse.cpp", "graph/Shapes.h"),
        ("src/Pipeline.cpp", "frontend/onnx/Import.h"),
        ("src/tile/passes/Tile.cpp", "target/Machine.h"),
        ("src/compiler/Compiler.cpp", "Pipeline.h"),
        ("tools/perpend.cpp", "Pipeline.h"),
        ("src/target/Emit.cpp", "perpend_module.h"),
        ("runtime/run.cpp", "perpend.h"),
    ],
)
def test_include_of_an_earlier_layer_is_right(path: str, included: str) -> None:
    assert lint.check_includes(path, f'#include "{included}"\n', TOP_HEADERS) == []


def test_forbidden_folder() -> None:
    assert lint.check_folders("src/graph/utils/Shape.h")
    assert not lint.check_folders("src/graph/passes/Common.h")


def test_machine_path() -> None:
    assert lint.check_machine_paths("a.py", 'model = "' + "/ho" + 'me/me/model.onnx"')
    assert not lint.check_machine_paths("a.py", 'llvm = "/usr/lib/llvm-19/bin"; also = "docs/mnt/plan"')


def test_name_of_an_attribute() -> None:
    constant = 'inline constexpr llvm::StringLiteral kernelAttribute = "tile.kernel";\n'
    assert len(lint.check_attributes("src/cli/Report.cpp", 'kernel->hasAttr("tile.kernel")')) == 1
    assert len(lint.check_attributes("src/graph/Attributes.h", constant + constant)) == 1
    assert not lint.check_attributes("src/graph/Attributes.h", constant)
    assert not lint.check_attributes("src/cli/Report.cpp", "kernel->hasAttr(graph::kernelAttribute)")
    assert not lint.check_attributes("test/tile/Test.cpp", 'kernel->hasAttr("tile.kernel")')


@pytest.mark.parametrize(
    "line",
    [
        'features = ["avx2"]',
        "if (target.hasAmx())",
        "// as on x86-64",
        "hasAvx512Vnni",
        "sse2",
        "// the SSE way",
        "bool isAArch64",
        "svcntw of SVE2",
        "blockIdx.x",
        "// CUDA's",
        "lower to SPIR-V",
        "riscv64",
        "Zen 5",
    ],
)
def test_name_of_an_architecture(line: str) -> None:
    assert len(lint.check_architectures("src/tile/rules/Rule.cpp", f"int first;\n{line}\n")) == 1
    assert not lint.check_architectures("src/target/cpu/Lanes.cpp", line)


def test_words_that_are_no_architecture() -> None:
    text = "assert(isSeen); addresses, accesses of harmless arms; the essence of swarms; resolved; dozens; losses\n"
    assert not lint.check_architectures("src/graph/Words.cpp", text)


@pytest.mark.skipif(not shutil.which("ctags"), reason="needs ctags")
def test_long_function(tmp_path: Path) -> None:
    (tmp_path / "long.cpp").write_text("int f() {\n" + "  g();\n" * 90 + "  return 0;\n}\n")
    (tmp_path / "short.cpp").write_text("int f() {\n" + "  g();\n" * 70 + "  return 0;\n}\n")
    errors = lint.check_functions(tmp_path, ["long.cpp", "short.cpp"])
    assert errors == ["long.cpp:1 f: 93 lines, at most 80"]


def test_this_repository_follows_the_rules() -> None:
    root = Path(lint.__file__).resolve().parents[1]
    assert lint.check(root, lint.tracked_files(root)) == []


def test_operators_named_in_passes(tmp_path: Path) -> None:
    (tmp_path / "src/graph/passes").mkdir(parents=True)
    (tmp_path / "src/graph/Ops.td").write_text(
        'def PadOp : Graph_ElementOp<"pad"> {\ndef LoadOp : Graph_Op<"load"> {\n'
    )
    path = "src/graph/passes/Pads.cpp"
    (tmp_path / path).write_text("// PadOp\nif (isa<graph::PadOp>(op)) {}\nif (isa<LoadOp>(op)) {}\n")
    counts = lint.named_operators(tmp_path, [path, "src/graph/Ops.td"])
    assert counts == {"src/graph/passes/": 1, "src/tile/": 0, "src/host/": 0}
    limits = lint.NAMED_OPERATORS
    assert lint.check_operators(limits) == []
    assert len(lint.check_operators({**limits, "src/tile/": limits["src/tile/"] + 1})) == 1
    assert len(lint.check_operators({**limits, "src/tile/": limits["src/tile/"] - 1})) == 1
