"""Tensor intrinsics in a file: used by schedules, and compared with their descriptions before."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from cli.test_schedules import save_schedule
from cli.tool import perpend, reject, save, succeed, value
from onnx import TensorProto, helper, numpy_helper

# The sums of eight columns, along all rows.
INTRINSIC = """\
func.func private @columns(%a: !tile.buffer<[depth] x f32>, %b: !tile.buffer<[depth, 8] x f32>,
                           %c: !tile.buffer<[8] x f32>) attributes {
  tile.intrinsic = {
    strides = [["1"], ["_", "1"], ["1"]],
    where = ["depth <= 4096"],
    cycles = "depth",
    implementation = @columns.code
  }} {
  tile.for %j in 8 { tile.for %k in depth {
    tile.block "sum" spatial(%vj in 8 = %j) reduced(%vk in depth = %k) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vj] : !tile.buffer<[8] x f32>
      }
      %sum = tile.load %c[%vj] : !tile.buffer<[8] x f32>
      %x = tile.load %a[%vk] : !tile.buffer<[depth] x f32>
      %y = tile.load %b[%vk, %vj] : !tile.buffer<[depth, 8] x f32>
      %product = arith.mulf %x, %y : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vj] : !tile.buffer<[8] x f32>
    }
  } }
  return
}
func.func private @columns.code(%a: memref<?xf32, strided<[1], offset: ?>>,
                                %b: memref<?x8xf32, strided<[?, 1], offset: ?>>,
                                %c: memref<8xf32, strided<[1], offset: ?>>) {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %zeros = arith.constant dense<0.0> : vector<8xf32>
  %depth = memref.dim %a, %first : memref<?xf32, strided<[1], offset: ?>>
  %sums = scf.for %k = %first to %depth step %step iter_args(%sum = %zeros) -> vector<8xf32> {
    %number = memref.load %a[%k] : memref<?xf32, strided<[1], offset: ?>>
    %x = vector.broadcast %number : f32 to vector<8xf32>
    %y = vector.load %b[%k, %first] : memref<?x8xf32, strided<[?, 1], offset: ?>>, vector<8xf32>
    %next = vector.fma %x, %y, %sum : vector<8xf32>
    scf.yield %next : vector<8xf32>
  }
  vector.store %sums, %c[%first] : memref<8xf32, strided<[1], offset: ?>>, vector<8xf32>
  return
}
"""
TRACE = """\
%product = get_block "contract"
%i, %j, %k = get_loops %product
%j0, %j1 = split %j, [_, 8]
tensorize %j1, "columns"
"""


@pytest.fixture
def product(tmp_path: Path) -> Path:
    nodes = [helper.make_node("MatMul", ["a", "b"], ["y"], name="product")]
    model = save(
        tmp_path / "product.onnx", nodes, [value("a", ["n", 5]), value("b", [5, "m"])], [value("y", ["n", "m"])]
    )
    (tmp_path / "columns.mlir").write_text(INTRINSIC)
    save_schedule(model, TRACE)
    return model


OPTIONS = ["-O1", "--schedules", "product.schedules", "--intrinsics", "columns.mlir"]


def tiled(model: Path, *options: object) -> str:
    return succeed("compile", model, "--stop-after", "tile", *OPTIONS, *options, folder=model.parent)


def test_a_file_of_another_kind(product: Path) -> None:
    command = ["compile", product, "-o", "p.so", "--intrinsics"]
    said = reject(*command, "product.schedules", folder=product.parent)
    assert "product.schedules:1:1: expected tensor intrinsics, got schedules of kernels\nhint: --schedules FILE" in said
    said = reject(*command, product, folder=product.parent)
    assert "product.onnx:1:1: expected tensor intrinsics, got a file that is no text\nhint: a model has no opt" in said
    said = reject("compile", product, "-o", "p.so", "--schedules", "columns.mlir", folder=product.parent)
    assert "{\nhint: `perpend inspect MODEL --schedules` writes such a file; tensor intrinsics are for" in said


def test_a_schedule_uses_it(product: Path) -> None:
    assert tiled(product).count('tile.call_intrinsic "columns"') == 1
    for n, m in [(0, 3), (1, 8), (4, 0), (5, 29), (3, 64)]:
        symbols = ["--symbol", f"n={n}", "--symbol", f"m={m}", "--against", "interpreter"]
        assert "agree" in succeed("check", product, *OPTIONS, *symbols, folder=product.parent)
        assert "agree" in succeed("check", product, *OPTIONS, "--checked", *symbols, folder=product.parent)


OTHER = """
func.func private @others() attributes {
  tile.intrinsic = {like = "columns", where = ["depth <= 4096"], cycles = "depth", implementation = @others.code}}
"""


def test_another_way_to_compute_the_same(product: Path) -> None:
    """Its description is that of the intrinsic that it names; so it is compared with that, too."""
    code = INTRINSIC[INTRINSIC.index("func.func private @columns.code") :].replace("@columns.code", "@others.code")
    schedules = product.with_suffix(".schedules")
    schedules.write_text(schedules.read_text().replace('"columns"', '"others"'))
    (product.parent / "columns.mlir").write_text(INTRINSIC + OTHER + code)
    succeed("check", product, *OPTIONS, folder=product.parent)
    (product.parent / "columns.mlir").write_text(
        INTRINSIC + OTHER + code.replace("vector.fma %x, %y", "vector.fma %y, %y")
    )
    error = reject("check", product, *OPTIONS, folder=product.parent)
    assert "intrinsic 'others': its implementation does not compute what its description says" in error
    (product.parent / "columns.mlir").write_text((OTHER + code).replace('"columns"', '"rows"'))
    error = reject("check", product, *OPTIONS, folder=product.parent)
    assert "intrinsic 'others': like: expected the name of an intrinsic before this one" in error and "hint: " in error


def test_what_is_written_between_phases_names_it(product: Path) -> None:
    tiled(product, "-o", "tiled.mlir")
    restart = ["compile", "tiled.mlir", "-o", "p.so", "--start-from", "plan"]
    succeed(*restart, "--intrinsics", "columns.mlir", folder=product.parent)
    said = reject(*restart, folder=product.parent)
    assert "'columns' is no known intrinsic\nhint: --intrinsics FILE, where FILE describes it" in said


def test_the_machine_must_have_its_features(product: Path) -> None:
    path = product.parent / "columns.mlir"
    path.write_text(INTRINSIC.replace("cycles", 'features = ["fma", "avx512f"],\n    cycles'))
    said = reject("compile", product, "-o", "p.so", *OPTIONS, "--target", "x86-64-v3", folder=product.parent)
    assert 'tensorize %j1, "columns": the machine has no avx512f\n' in said


def test_a_part_of_a_buffer_is_checked(product: Path) -> None:
    tiled(product, "-o", "tiled.mlir")
    path = product.parent / "tiled.mlir"
    text = re.sub(r"(tile.call_intrinsic .* at\()%\w+,", r"\1%far,", path.read_text())
    path.write_text(re.sub(r"( *tile.call_intrinsic)", r"%far = arith.constant 4096 : index\n\1", text))
    options = ["--start-from", "plan", "--intrinsics", "columns.mlir", "--checked"]
    succeed("compile", "tiled.mlir", "-o", "p.so", *options, folder=product.parent)
    said = reject("run", "p.so", "--symbol", "m=8", folder=product.parent)
    assert "leaves input 0 ('a', f32 [n, 5]): expected an element from 0 to less than " in said
    assert ", got 4100\n" in said


@pytest.fixture
def product_model(tmp_path: Path) -> Path:
    nodes = [helper.make_node("MatMul", ["a", "b"], ["y"], name="product")]
    inputs = [value("a", ["n", 24]), value("b", [24, 40])]
    return save(tmp_path / "packed.onnx", nodes, inputs, [value("y", ["n", 40])])


@pytest.fixture
def convolution(tmp_path: Path) -> Path:
    filters = np.random.default_rng(1).standard_normal((32, 8, 3, 3)).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], name="conv", pads=[1, 1, 1, 1])]
    inputs, weights = [value("x", ["n", 8, 9, 7])], [numpy_helper.from_array(filters, "w")]
    return save(tmp_path / "conv.onnx", nodes, inputs, [value("y", ["n", 32, 9, 7])], weights)


def scheduled(model: Path, text: str) -> str:
    """The code of a model that the compiler schedules by itself."""
    (model.parent / "columns.mlir").write_text(text)
    options = ["--intrinsics", "columns.mlir", "--target", "x86-64-v3"]
    for n in (0, 1, 13):
        assert "agree" in succeed("check", model, *options, "--symbol", f"n={n}", folder=model.parent)
    return succeed("compile", model, "--stop-after", "tile", *options, folder=model.parent)


def test_the_cheapest_is_taken(product_model: Path) -> None:
    cheap = scheduled(product_model, INTRINSIC.replace('cycles = "depth"', 'cycles = "floordiv(depth, 4) + 1"'))
    assert 'tile.call_intrinsic "columns"' in cheap and '"f32.block"' not in cheap
    for other in ('cycles = "8 * depth",', 'cycles = "fmas * depth",', ""):
        text = scheduled(product_model, INTRINSIC.replace('cycles = "depth",', other))
        assert 'tile.call_intrinsic "f32.block"' in text and '"columns"' not in text


@pytest.mark.parametrize("name", ["product_model", "convolution"])
def test_sums_that_go_on_outside(name: str, request: pytest.FixtureRequest) -> None:
    """Four rows of b at a time are added to what is there."""
    head, _, rest = re.split(r"( *tile.init \{.*?\n      \}\n)", INTRINSIC, maxsplit=1, flags=re.DOTALL)
    text = (head + rest).replace('where = ["depth <= 4096"],', "").replace('"depth"', '"1"')
    text = re.sub(r"(?<!%)\bdepth\b", "4", text).replace("memref<?", "memref<4")
    before = "%zeros = vector.load %c[%first] : memref<8xf32, strided<[1], offset: ?>>, vector<8xf32>"
    text = text.replace("%zeros = arith.constant dense<0.0> : vector<8xf32>", before)
    code = scheduled(request.getfixturevalue(name), text)
    assert 'tile.call_intrinsic "columns"' in code and '"f32.block"' not in code and "decompose_reduction" in code


@pytest.mark.parametrize(
    ("condition", "stride"),
    [
        ("depth <= 4096", "_"),
        ("999 <= depth", "8"),
        ("depth <= 4096", "0 - 8"),
        ("0 <= depth", "2 * depth - 1"),
        ("8 <= 8", "20000 - 100 * depth"),
    ],
)
def test_strides_and_conditions(product: Path, condition: str, stride: str) -> None:
    """They are possible, though not for all extents; the schedule wants another stride."""
    text = INTRINSIC.replace("depth <= 4096", condition).replace('["_", "1"]', f'["{stride}", "1"]')
    text = re.sub(r"strided<\[\?, 1\]", f"strided<[{ {'8': '8', '0 - 8': '-8'}.get(stride, '?') }, 1]", text)
    (product.parent / "columns.mlir").write_text(text)
    done = perpend("compile", product, "-o", "p.so", *OPTIONS, folder=product.parent)
    assert done.returncode == 0 or 'tensorize %j1, "columns": ' in done.stderr


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_sums_in_another_order(product: Path, kind: str) -> None:
    """Sums that are rounded once at the end, where the description rounds each: as far apart as their depth allows."""
    text = INTRINSIC.replace("depth <= 4096", "256 <= depth")
    text = re.sub(r"\bx f32|(?<=[x ])f32\b", lambda found: found[0].replace("f32", kind), text)
    text = text.replace(f"dense<0.0> : vector<8x{kind}>", "dense<0.0> : vector<8xf32>")
    text = text.replace(f"-> vector<8x{kind}> {{", "-> vector<8xf32> {")
    text = re.sub(
        r"%next = vector.fma .*\n.*yield %next.*\n",
        f"""\
%wideX = arith.extf %x : vector<8x{kind}> to vector<8xf32>
    %wideY = arith.extf %y : vector<8x{kind}> to vector<8xf32>
    %next = vector.fma %wideX, %wideY, %sum : vector<8xf32>
    scf.yield %next : vector<8xf32>
""",
        text,
    )
    text = text.replace(
        "vector.store %sums",
        f"""\
%rounded = arith.truncf %sums : vector<8xf32> to vector<8x{kind}>
  vector.store %rounded""",
    )
    (product.parent / "columns.mlir").write_text(text)
    said = reject("compile", product, "-o", "p.so", *OPTIONS, folder=product.parent)
    assert 'tensorize %j1, "columns": expected ' in said
    (product.parent / "columns.mlir").write_text(
        text.replace("%rounded = arith.truncf %sums", "%rounded = arith.truncf %zeros")
    )
    assert DIFFERS in reject("compile", product, "-o", "p.so", *OPTIONS, folder=product.parent)


def test_elements_that_lie_on_one_another(product: Path) -> None:
    text = INTRINSIC.replace('["1"]]', '["floordiv(depth, 9999)"]]')
    text = re.sub(r" *vector.store .*\n", "", text).replace("memref<8xf32, strided<[1]", "memref<8xf32, strided<[?]")
    (product.parent / "columns.mlir").write_text(text)
    said = reject("compile", product, "-o", "p.so", *OPTIONS, folder=product.parent)
    assert "intrinsic 'columns': elements of the last buffer overlap" in said


@dataclass(frozen=True)
class Tile:
    """Sums of products of rows and columns, over words of a few elements, added to what is there."""

    rows: int
    columns: int
    depth: int
    group: int
    left: str
    right: str
    total: str

    def text(self) -> str:
        memory, (multiply, add) = {}, ("mulf", "addf") if self.total == "f32" else ("muli", "addi")
        shapes = {"a": [self.rows, self.depth, self.group], "b": [self.depth, self.columns, self.group]}
        steps: dict[str, list[int | str]] = {
            "a": ["_", self.group, 1],
            "b": [self.columns * self.group, self.group, 1],
            "c": ["_", 1],
        }
        shapes["c"], kinds = [self.rows, self.columns], {"a": self.left, "b": self.right, "c": self.total}
        buffers = {name: f"!tile.buffer<{shape} x {kinds[name]}>" for name, shape in shapes.items()}
        for name, shape in shapes.items():
            strides = ", ".join("?" if step == "_" else str(step) for step in steps[name])
            memory[name] = (
                f"memref<{'x'.join(map(str, shape))}x{kinds[name].lstrip('u')}, strided<[{strides}], offset: ?>>"
            )

        def body(access: str, types: dict[str, str], iterators: list[str]) -> str:
            i, j, k, g = iterators
            index = {"a": f"%a[{i}, {k}, {g}]", "b": f"%b[{k}, {j}, {g}]", "c": f"%c[{i}, {j}]"}
            lines = [f"%{name} = {access}.load {index[name[0]]} : {types[name[0]]}" for name in ("c0", "a0", "b0")]
            for name in ("a", "b"):
                kind = "extf" if self.total == "f32" else "extui" if kinds[name].startswith("u") else "extsi"
                lines.append(f"%{name}1 = arith.{kind} %{name}0 : {kinds[name].lstrip('u')} to {self.total}")
            lines.append(f"%p = arith.{multiply} %a1, %b1 : {self.total}")
            lines.append(f"%c1 = arith.{add} %c0, %p : {self.total}")
            return "\n".join([*lines, f"{access}.store %c1, {index['c']} : {types['c']}"])

        extents = {"i": self.rows, "j": self.columns, "k": self.depth, "g": self.group}
        arguments = ", ".join(f"%{name}: {buffers[name]}" for name in buffers)
        nest = " ".join(f"tile.for %{name} in {extent} {{" for name, extent in extents.items())
        bound = [f"%v{name} in {extent} = %{name}" for name, extent in extents.items()]
        constants = "\n".join(f"%n{value} = arith.constant {value} : index" for value in {0, 1, *extents.values()})
        loops = " ".join(f"scf.for %{name} = %n0 to %n{extent} step %n1 {{" for name, extent in extents.items())
        listed = json.dumps([[str(step) for step in steps[name]] for name in steps])
        return f"""
func.func private @tile({arguments}) attributes {{
    tile.intrinsic = {{strides = {listed}, cycles = "1", implementation = @tile.code}}}} {{
  {nest} tile.block "sum" spatial({", ".join(bound[:2])}) reduced({", ".join(bound[2:])}) {{
{body("tile", buffers, ["%vi", "%vj", "%vk", "%vg"])}
  }} }} }} }} }}
  return
}}
func.func private @tile.code({", ".join(f"%{name}: {memory[name]}" for name in memory)}) {{
{constants}
  {loops}
{body("memref", memory, ["%i", "%j", "%k", "%g"])}
  }} }} }} }}
  return
}}
"""


BF16, I16, SIGNED = (
    Tile(4, 16, 2, 2, "bf16", "bf16", "f32"),
    Tile(4, 8, 2, 2, "i16", "i16", "i32"),
    Tile(2, 4, 1, 4, "i8", "i8", "i32"),
)
# The operator's inputs, and what its packed operand is.
PACKED = {
    "bf16 product": (BF16, "MatMul", TensorProto.BFLOAT16, "tensor<3x12x16x2xbf16>"),
    "bf16 convolution": (BF16, "Conv", TensorProto.BFLOAT16, "tensor<1x3x3x3x4x16x2xbf16>"),
    "i16 product": (I16, "MatMulInteger", TensorProto.INT8, "tensor<5x12x8x2xi16>"),
    "i16 convolution": (I16, "ConvInteger", TensorProto.INT8, "tensor<1x5x3x3x4x8x2xi16>"),
    "signed bytes": (SIGNED, "MatMulInteger", TensorProto.INT8, "tensor<10x6x4x4xi8>"),
}


@pytest.mark.parametrize("isConstant", [True, False])
@pytest.mark.parametrize("name", PACKED)
def test_operands_are_packed_for_it(tmp_path: Path, name: str, isConstant: bool) -> None:
    """No type, word or panel is known to the compiler but by the intrinsic's text."""
    tile, operator, element, packed = PACKED[name]
    isConv = operator.startswith("Conv")
    numbers = np.random.default_rng(1).integers(-128, 128, (40, 7, 3, 3) if isConv else (23, 40))
    left = TensorProto.UINT8 if element == TensorProto.INT8 else element
    total = TensorProto.INT32 if element == TensorProto.INT8 else element
    inputs = [helper.make_tensor_value_info("a", left, ["n", 7, 9, 12] if isConv else ["n", 23])]
    weights = helper.make_tensor("w", element, numbers.shape, numbers.flatten().tolist())
    if not isConstant:
        inputs.append(helper.make_tensor_value_info("w", element, numbers.shape))
    nodes = [helper.make_node(operator, ["a", "w"], ["y"], name="product", **({"pads": [1] * 4} if isConv else {}))]
    outputs = [helper.make_tensor_value_info("y", total, ["n", 40, 9, 12] if isConv else ["n", 40])]
    model = save(tmp_path / "model.onnx", nodes, inputs, outputs, [weights] if isConstant else [])
    (tmp_path / "tile.mlir").write_text(tile.text())
    options = ["--intrinsics", "tile.mlir", "--target", "x86-64-v3"]
    for n in (0, 13):
        symbols = ["--symbol", f"n={n}", "--against", "interpreter"]
        assert "agree" in succeed("check", model, *options, *symbols, folder=tmp_path)
    text = succeed("compile", model, "--stop-after", "pack", *options, folder=tmp_path)
    assert re.search(rf"tile\.(matmul|conv) .*, {packed}\)", text)
    assert 'tile.call_intrinsic "tile"' in succeed("compile", model, "--stop-after", "tile", *options, folder=tmp_path)


@pytest.mark.parametrize(
    ("weight", "isPacked"), [(1.0, True), (-3.0e38, False), (2.0**127, True), (1 + 2.0**-8, False), (2.0**-140, False)]
)
def test_constants_are_packed_for_it_if_nothing_is_lost(tmp_path: Path, weight: float, isPacked: bool) -> None:
    weights = np.full((24, 40), weight, np.float32)
    nodes = [
        helper.make_node("Cast", ["a"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["wide", "w"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("a", TensorProto.BFLOAT16, ["n", 24])]
    model = save(
        tmp_path / "model.onnx", nodes, inputs, [value("y", ["n", 40])], [numpy_helper.from_array(weights, "w")]
    )
    (tmp_path / "tile.mlir").write_text(BF16.text())
    text = succeed("compile", model, "--stop-after", "pack", "--intrinsics", "tile.mlir", folder=tmp_path)
    packed = re.search(r"tile\.matmul .*, tensor<\w+x(\w+)>\)", text)
    assert packed and packed[1] == ("bf16" if isPacked else "f32")


DESCRIPTION, CODE = "columns.mlir:1:1: intrinsic 'columns': ", "columns.mlir:25:1: intrinsic 'columns': "
DIFFERS = CODE + "its implementation does not compute what its description says with depth = "
WRONG = {
    "no MLIR": ("tile.for %j", "tile.four %j", "columns.mlir:9:3: "),
    "a text that MLIR's parser does not survive": (
        "step %step iter_args(%sum = %zeros) -> vector<8xf32> {\n",
        "step %late iter_args(%sum = %zeros) -> vector<8xf32> {\n    %late = arith.constant 1 : index\n",
        "columns.mlir:1:1: MLIR's parser fails on this text: it ",
    ),
    "no intrinsic": ("tile.intrinsic", "tile.other", "columns.mlir:1:1: expected functions with the attribute tile.in"),
    "another function": (
        "func.func private @columns(",
        "func.func private @other()\nfunc.func private @columns(",
        "columns.mlir:1:1: expected functions with the attribute tile.intrinsic, and their implementations",
    ),
    "a name of the compiler's": ("@columns(", "@f32.block(", "1:1: intrinsic 'f32.block': there is one of this name"),
    "no implementation": (
        ",\n    implementation = @columns.code",
        "",
        DESCRIPTION + "expected the entry implementation, the name of a function",
    ),
    "no such function": ("= @columns.code", "= @nothing", DESCRIPTION + "the text has no function @nothing"),
    "an emitter": (
        "implementation = @columns.code",
        'emitter = "registers"',
        DESCRIPTION + "'emitter' is no entry: expected strides, where, unit, features, cycles, implementation or objec",
    ),
    "a text as implementation": (
        "implementation = @columns.code",
        'implementation = "columns.code"',
        DESCRIPTION + "implementation: expected the name of a function, such as @code",
    ),
    "strides": ('["_", "1"]', '["1"]', DESCRIPTION + "strides: expected a text for each of 2 dimensions"),
    "a stride": ('["_", "1"]', '["width", "1"]', DESCRIPTION + "strides: unknown name 'width', expected one of depth"),
    "a condition": ("depth <= 4096", "depth", DESCRIPTION + 'where: "": '),
    "no extents": ("depth <= 4096", "99 <= depth - depth", DESCRIPTION + "no extents that were tried fulfil the cond"),
    "strides that are too long": (
        '["_", "1"]',
        '["9999999 * depth", "1"]',
        DESCRIPTION + "expected strides that place the 2. buffer within 1048576 elements",
    ),
    "cycles": ('"depth"', '"depth *"', DESCRIPTION + 'cycles: "depth *": '),
    "features": (
        "cycles",
        'features = ["avx512_vnni"],\n    cycles',
        DESCRIPTION + "features: unknown feature 'avx512_vnni'\nhint: did you mean 'avx512vnni'? ",
    ),
    "an extent": ("tile.for %j in 8", "tile.for %j in 4", "10:5: intrinsic 'columns': expected nothing but a loop for"),
    "an index": (
        "load %a[%vk]",
        "load %a[%vk + 1]",
        "16:12: intrinsic 'columns': expected each index to be another it",
    ),
    "what is stored": (
        "tile.store %next, %c[%vj] : !tile.buffer<[8] x f32>",
        "tile.store %next, %c[%vk] : !tile.buffer<[8] x f32>",
        "intrinsic 'columns': the block 'sum' cannot be matched: ",
    ),
    "the type": (
        '[["1"], ["_", "1"]',
        '[["_"], ["_", "1"]',
        CODE
        + "expected an implementation of type (memref<?xf32, strided<[?], offset: ?>>, memref<?x8xf32, strided<[?, ",
    ),
    "an operation": (
        "%first = arith.constant 0 : index\n",
        "%first = arith.constant 0 : index\n"
        "  func.call @columns.code(%a, %b, %c) : (memref<?xf32, strided<[1], offset: ?>>, "
        "memref<?x8xf32, strided<[?, 1], offset: ?>>, memref<8xf32, strided<[1], offset: ?>>) -> ()\n",
        "columns.mlir:29:3: intrinsic 'columns': 'func.call' is no operation of an implementation: expected only ar",
    ),
    "an instruction": (
        "vector.fma %x, %y, %sum : vector<8xf32>",
        'llvm.call_intrinsic "llvm.x86.nothing"(%x, %y, %sum) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> '
        "vector<8xf32>",
        "columns.mlir:36:13: intrinsic 'columns': its implementation does not compile for ",
    ),
    "the result": ("vector.fma %x, %y, %sum", "vector.fma %x, %x, %sum", DIFFERS),
    "the first of the sums": (
        "dense<0.0>",
        "dense<0.5>",
        DIFFERS + "1: expected element [0] of buffer 3 to be 2 to within",
    ),
    "other strides": ("%b[%k, %first]", "%b[%first, %k]", DIFFERS),
    "memory that is not its own": (
        "vector.store %sums",
        "%one = arith.constant 1.0 : f32\n"
        "  memref.store %one, %a[%first] : memref<?xf32, strided<[1], offset: ?>>\n  vector.store %sums",
        CODE + "its implementation writes with depth = ",
    ),
    "a crash": (
        "vector.store %sums",
        "%bits = arith.constant 1 : i64\n  %null = llvm.mlir.zero : !llvm.ptr\n"
        "  llvm.store volatile %bits, %null : i64, !llvm.ptr\n  vector.store %sums",
        "its implementation does not return with depth = ",
    ),
    "an instruction that no processor has": (
        "vector.store %sums",
        'llvm.inline_asm has_side_effects "ud2", "" : () -> ()\n  vector.store %sums',
        ": it ends with signal 4 (Illegal instruction)\nhint: features names every instruction set that the impl",
    ),
    "an endless loop": ("step %step", "step %first", "its implementation does not return with depth = "),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong(product: Path, name: str) -> None:
    old, new, message = WRONG[name]
    assert old in INTRINSIC
    (product.parent / "columns.mlir").write_text(INTRINSIC.replace(old, new, 1))
    said = reject("compile", product, "-o", "p.so", *OPTIONS, folder=product.parent)
    assert message in said
    assert re.match(r"error: columns.mlir:\d+:\d+: ", said)
    assert not (product.parent / "p.so").exists()


def test_files_that_cannot_be_read(product: Path) -> None:
    said = reject("compile", product, "-o", "p.so", "--intrinsics", "none.mlir", folder=product.parent)
    assert said.startswith("error: cannot read 'none.mlir', the intrinsics: No such file or directory\nhint: ")
    (product.parent / "empty.mlir").write_text("// nothing\n")
    said = reject("compile", product, "-o", "p.so", "--intrinsics", "empty.mlir", folder=product.parent)
    assert said.startswith("error: empty.mlir:1:1: expected a function with the attribute tile.intrinsic\nhint: ")


def test_a_folder_for_temporary_files(product: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (product.parent / "folder").mkdir()
    monkeypatch.setenv("TMPDIR", str(product.parent / "folder"))
    tiled(product)
    assert list((product.parent / "folder").iterdir()) == []
    monkeypatch.setenv("TMPDIR", str(product.parent / "nowhere"))
    said = reject("compile", product, "-o", "p.so", *OPTIONS, folder=product.parent)
    assert "cannot create a temporary folder: No such file or directory\nhint: set TMPDIR to a writable folder" in said


def test_intrinsics_of_another_machine_are_not_compared(product: Path) -> None:
    """There is none that has every feature."""
    path = product.parent / "columns.mlir"
    path.write_text(INTRINSIC.replace("cycles", 'features = ["avxvnniint16", "avx512fp16"],\n    cycles'))
    done = perpend(
        "compile", product, "-o", "p.so", *OPTIONS, "--target", "sapphirerapids,+avxvnniint16", folder=product.parent
    )
    assert done.returncode == 0
    assert re.fullmatch(
        "warning: columns.mlir: intrinsic 'columns' is not compared with its description: this machine has no "
        "(avxvnniint16, avx512fp16|avxvnniint16|avx512fp16)\n",
        done.stderr,
    )


def test_instructions_that_features_do_not_name(product: Path) -> None:
    """The target has them, but there is no machine that has every one: it is compared here, without."""
    use = """%bits = vector.bitcast %sums : vector<8xf32> to vector<8xi32>
  %words = llvm.call_intrinsic "llvm.x86.avx2.vpdpwsud.256"(%bits, %bits, %bits)
      : (vector<8xi32>, vector<8xi32>, vector<8xi32>) -> vector<8xi32>
  %changed = vector.bitcast %words : vector<8xi32> to vector<8xf32>
  vector.store %changed"""
    (product.parent / "columns.mlir").write_text(INTRINSIC.replace("vector.store %sums", use))
    target = ["--target", "sapphirerapids,+avxvnniint16"]
    said = reject("compile", product, "-o", "p.so", *OPTIONS, *target, folder=product.parent)
    assert "intrinsic 'columns': its implementation does not compile for " in said
    assert ", which is this machine and has no " in said and "avxvnniint16: LLVM stops: " in said
    assert "\nhint: features names every instruction set that the implementation needs" in said
