"""Products with constants of few bits in groups, each with a scale and maybe a zero point: numpy's, on machines with
vectors of any length. Weights stay as small as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import perpend
import pytest
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(5)
TARGETS = ["host", "x86-64-v3", "x86-64"]


def packed(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Numbers along the last dimension, low bits first."""
    per_byte = 8 // bits
    whole = np.concatenate([numbers, np.zeros((*numbers.shape[:-1], -numbers.shape[-1] % per_byte), np.uint8)], -1)
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    return np.bitwise_or.reduce(whole.reshape(*whole.shape[:-1], -1, per_byte).astype(np.uint8) << shifts, -1)


def saved(
    node_list: list, rows: int | str, depth: int, constants: dict[str, np.ndarray], outputs: int
) -> onnx.ModelProto:
    tensors = [
        x if isinstance(x, onnx.TensorProto) else numpy_helper.from_array(x, name) for name, x in constants.items()
    ]
    graph = helper.make_graph(
        node_list,
        "products",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, depth])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, outputs])],
        tensors,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def stored_bits(bits: int) -> int:
    """Numbers of 5 and 6 bits are stored as bytes, around the zero point of these."""
    return bits if bits in (2, 4) else 8


def least_number(bits: int) -> int:
    return 2 ** (stored_bits(bits) - 1) - 2 ** (bits - 1)


def nbits(
    rows: int | str, columns: int, depth: int, block: int, bits: int, zeros: str, groups: np.ndarray | None = None
) -> tuple[onnx.ModelProto, np.ndarray]:
    """MatMulNBits and the matrix [depth, columns] that it multiplies by."""
    count = -(-depth // block)
    numbers = (RANDOM.integers(0, 2**bits, (columns, count * block)) + least_number(bits)).astype(np.uint8)
    scales = RANDOM.uniform(0.5, 1, (columns, count)).astype(np.float32) / 2**bits
    bits = stored_bits(bits)
    constants = {"b": packed(numbers.reshape(columns, count, block), bits), "s": scales}
    zero = np.full((columns, count), 2 ** (bits - 1), np.float32)
    if zeros == "packed":
        zero = RANDOM.integers(0, 2**bits, (columns, count)).astype(np.uint8)
        constants["z"] = packed(zero, bits)
    elif zeros == "floats":
        constants["z"] = zero = RANDOM.uniform(0, 2**bits, (columns, count)).astype(np.float32)
    names = ["x", "b", "s", "z" if "z" in constants else ""]
    if groups is not None:
        constants["g"] = groups
        names.append("g")
    node = helper.make_node(
        "MatMulNBits", names, ["y"], domain="com.microsoft", K=depth, N=columns, bits=bits, block_size=block
    )
    place = np.arange(depth) // block if groups is None else groups
    matrix = (numbers[:, :depth].astype(np.float32) - zero[:, place]) * constants["s"][:, place]
    return saved([node], rows, depth, constants, columns), matrix.T


def check(model: onnx.ModelProto, matrix: np.ndarray, rows: int, target: str, most_bytes: float = 0) -> None:
    run = perpend.compile(model, target=target)
    compare(run, matrix, rows)
    if most_bytes:
        assert run.report.weights_bytes < most_bytes * matrix.size


def compare(run: perpend.Model, matrix: np.ndarray, rows: int) -> None:
    x = RANDOM.standard_normal((rows, matrix.shape[0])).astype(np.float32)
    size = np.abs(x) @ np.abs(matrix)
    assert (np.abs(run(x) - x.astype(np.float64) @ matrix) <= 4e-6 * size + 1e-6).all()


# Columns of whole panels and of cut ones, depths of whole groups, of a part of one, and of no whole word.
SHAPES = [(192, 256, 32), (200, 224, 16), (150, 300, 128), (129, 203, 64)]


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", ["none", "packed", "floats"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_numbers_in_groups(bits: int, zeros: str, shape: tuple[int, int, int]) -> None:
    rows = 1 + SHAPES.index(shape) * 3
    model, matrix = nbits(rows, *shape, bits, zeros)
    # Words are of whole groups and panels, and come with scales and zero points.
    check(model, matrix, rows, "host", bits / 8 * 1.6 + 0.7)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_rows_of_any_number(target: str, bits: int) -> None:
    model, matrix = nbits("n", 160, 192, 32, bits, "packed")
    run = perpend.compile(model, target=target)
    for rows in (0, 1, 2, 5, 13, 40):
        compare(run, matrix, rows)


def whole_rows(rows: int, depth: int, group: int) -> np.ndarray:
    """Whole numbers with 127 in each group of each row, which are their own quantised form."""
    x = RANDOM.integers(-127, 128, (rows, depth)).astype(np.float32)
    x[:, ::group] = 127
    return x


@pytest.mark.parametrize("target", ["host", "alderlake", "x86-64-v3"])
@pytest.mark.parametrize("bits", [2, 4, 5, 6, 8])
@pytest.mark.parametrize("zeros", ["none", "packed", "floats"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_in_eight_bits(target: str, bits: int, zeros: str, shape: tuple[int, int, int]) -> None:
    """Sums of whole numbers, also where no instruction multiplies bytes; what lies between them is rounded."""
    model, matrix = nbits("n", *shape, bits, zeros)
    run = perpend.compile(model, target=target, precision="int8")
    for rows in (0, 1, 2, 11, 40):
        x = whole_rows(rows, matrix.shape[0], shape[2])
        result = np.array(run(x))
        assert (np.abs(result - x.astype(np.float64) @ matrix) <= 2e-6 * (np.abs(x) @ np.abs(matrix)) + 1e-6).all()
        noise = RANDOM.uniform(-0.49, 0.49, x.shape).astype(np.float32) * (np.abs(x) < 127)
        assert np.array_equal(run(x + noise), result)


X86 = ["haswell", "alderlake", "skylake-avx512", "icelake-server", "sapphirerapids", "znver3", "znver4", "znver5"]


@pytest.mark.parametrize("target", X86)
@pytest.mark.parametrize("bits", [2, 4, 5, 6, 8])
@pytest.mark.parametrize("columns", [8, 16, 64])
def test_every_processor_has_code(target: str, bits: int, columns: int, tmp_path: Path) -> None:
    """Blocks have more rows the more registers there are, and the narrower panels are."""
    model, _ = nbits("n", columns, 128, 32, bits, "none")
    options = {"target": target, "precision": "int8"}
    perpend.import_model(model).compile(str(tmp_path / "products.so"), options)


@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
@pytest.mark.parametrize("bits", [2, 4, 5, 6, 8])
@pytest.mark.parametrize("zeros", ["none", "packed"])
@pytest.mark.parametrize("block", [16, 32, 4096])
def test_the_extremes_of_eight_bits(target: str, bits: int, zeros: str, block: int) -> None:
    """The largest sums of a group: rows of 127 or -127, numbers at one end of their range, zero points at the other."""
    depth, count = 4096, 4096 // block
    model, matrix = nbits("n", 64, depth, block, bits, zeros)
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    most = 2**bits - 1
    numbers = np.full((64, count, block), least_number(bits), np.uint8)
    numbers[::2] += most
    stored = stored_bits(bits)
    tensors["b"].CopyFrom(numpy_helper.from_array(packed(numbers, stored), "b"))
    zero = np.full((64, count), 2 ** (stored - 1), np.float64)
    if zeros == "packed":
        zero = 2 * least_number(bits) + most - numbers[..., 0]
        tensors["z"].CopyFrom(numpy_helper.from_array(packed(zero, stored), "z"))
    scales = numpy_helper.to_array(tensors["s"])
    centred = numbers.astype(np.float64) - zero[..., None]
    matrix = (centred * scales[..., None]).reshape(64, depth).T
    run = perpend.compile(model, target=target, precision="int8")
    for rows in (1, 2, 3, 9):
        x = np.full((rows, depth), 127, np.float32) * np.where(np.arange(rows) % 2, -1, 1)[:, None].astype(np.float32)
        np.testing.assert_allclose(run(x), x.astype(np.float64) @ matrix, rtol=3e-6)


@pytest.mark.parametrize(("bits", "bytes_of_number"), [(5, 0.76), (6, 0.88), (8, 1.13)])
def test_bytes_have_as_many_bits_as_they_need(bits: int, bytes_of_number: float) -> None:
    """And a scale of 4 bytes for each 32."""
    model, matrix = nbits(3, 256, 512, 32, bits, "none")
    run = perpend.compile(model, precision="int8")
    assert run.report.weights_bytes < bytes_of_number * matrix.size


@pytest.mark.parametrize(("bits", "zeros"), [(4, "packed"), (5, "none"), (6, "none")])
def test_bits_of_rows_in_eight_bits_do_not_depend_on_others(bits: int, zeros: str) -> None:
    model, matrix = nbits("n", 160, 192, 32, bits, zeros)
    run = perpend.compile(model, precision="int8")
    x = RANDOM.standard_normal((40, matrix.shape[0])).astype(np.float32)
    whole = np.array(run(x))
    for first, count in ((0, 1), (39, 1), (3, 5), (10, 11), (17, 23)):
        assert np.array_equal(run(x[first : first + count]), whole[first : first + count])


IN_ORDER = np.repeat(np.arange(16), 32)


@pytest.mark.parametrize(
    ("groups", "most_bytes"),
    [(IN_ORDER, 1.0), (RANDOM.permutation(IN_ORDER), 1.0), (IN_ORDER * 3 % 16, 1.0), (IN_ORDER // 3, 4.0)],
    ids=["in order", "in any order", "other groups", "of other lengths"],
)
@pytest.mark.parametrize("zeros", ["none", "packed"])
def test_columns_that_name_their_group(groups: np.ndarray, most_bytes: float, zeros: str) -> None:
    check(*nbits(3, 320, 512, 32, 4, zeros, groups.astype(np.int32)), 3, "host", most_bytes)


def dequantised(kind: int, bits: int, block: int, has_zeros: bool) -> tuple[onnx.ModelProto, np.ndarray]:
    depth, columns = 256, 160
    is_signed = kind in (TensorProto.INT4, TensorProto.INT8)
    least = -(2 ** (bits - 1)) if is_signed else 0
    parameters = {0: (columns,), depth: ()}.get(block, (depth // (block or 1), columns))

    def stored(name: str, x: np.ndarray) -> onnx.TensorProto:
        raw = packed((x & (2**bits - 1)).reshape(-1), bits).tobytes()
        return helper.make_tensor(name, kind, x.shape, raw, raw=True)

    numbers = RANDOM.integers(least, least + 2**bits, (depth, columns))
    scales = np.asarray(RANDOM.uniform(0.01, 0.02, parameters), np.float32)
    zeros = np.asarray(RANDOM.integers(least, least + 2**bits, parameters) * has_zeros)
    constants = {"w": stored("w", numbers), "s": scales} | ({"z": stored("z", zeros)} if has_zeros else {})
    blocks = {"axis": 0, "block_size": block} if len(parameters) == 2 else {"axis": 1}
    node_list = [
        helper.make_node("DequantizeLinear", list(constants), ["m"], **blocks),
        helper.make_node("MatMul", ["x", "m"], ["y"]),
    ]
    spread = [np.repeat(x, block, 0) if np.ndim(x) == 2 else x for x in (zeros, scales)]
    matrix = ((numbers - spread[0]) * spread[1]).astype(np.float32)
    return saved(node_list, 3, depth, constants, columns), matrix


@pytest.mark.parametrize(
    ("kind", "bits"),
    [(TensorProto.INT4, 4), (TensorProto.UINT4, 4), (TensorProto.INT8, 8), (TensorProto.UINT8, 8)],
)
@pytest.mark.parametrize("block", [0, 32, 256], ids=["columns", "blocks", "all"])
@pytest.mark.parametrize("has_zeros", [False, True])
def test_dequantised_before_the_product(kind: int, bits: int, block: int, has_zeros: bool) -> None:
    check(*dequantised(kind, bits, block, has_zeros), 3, "host", bits / 8 + 0.3)


def dequantised_in_f16(bits: int, has_zeros: bool) -> tuple[onnx.ModelProto, np.ndarray]:
    model, _ = dequantised(TensorProto.UINT4 if bits == 4 else TensorProto.UINT8, bits, 32, has_zeros)
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    scales = numpy_helper.to_array(tensors["s"]).astype(np.float16)
    tensors["s"].CopyFrom(numpy_helper.from_array(scales, "s"))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    numbers, zeros = (
        numpy_helper.to_array(tensors[name]).astype(np.float64) if name in tensors else 0.0 for name in "wz"
    )
    centred = numbers - np.repeat(zeros, 32, 0) if has_zeros else numbers
    return model, centred * np.repeat(scales, 32, 0).astype(np.float64)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("has_zeros", [False, True])
@pytest.mark.parametrize(("target", "scale_bytes"), [("host", 2), ("x86-64-v3", 2), ("x86-64", 4)])
def test_dequantised_in_f16(bits: int, has_zeros: bool, target: str, scale_bytes: int) -> None:
    """Scaled numbers are not rounded one by one, and weights stay as small as they are, with their scales."""
    model, matrix = dequantised_in_f16(bits, has_zeros)
    run = perpend.compile(model, target=target)
    x = RANDOM.standard_normal((3, matrix.shape[0])).astype(np.float16)
    np.testing.assert_allclose(
        run(x).astype(np.float64), x.astype(np.float64) @ matrix, rtol=2e-3, atol=2e-2 * 2 ** (bits - 4)
    )
    of_groups = scale_bytes + (1 if has_zeros else 0)
    assert run.report.weights_bytes < (bits / 8 + of_groups / 32 + 0.01) * matrix.size


@pytest.mark.parametrize("target", ["host", "alderlake"])
def test_bytes_times_numbers_with_scales_of_f16(target: str) -> None:
    model, matrix = dequantised_in_f16(4, has_zeros=False)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = TensorProto.FLOAT
    model.graph.node.insert(1, helper.make_node("Cast", ["m"], ["wide"], to=TensorProto.FLOAT))
    model.graph.node[2].input[1] = "wide"
    run = perpend.compile(model, target=target, precision="int8")
    x = whole_rows(3, matrix.shape[0], 32)
    result = np.array(run(x))
    assert (np.abs(result - x.astype(np.float64) @ matrix) <= 2e-6 * (np.abs(x) @ np.abs(matrix)) + 1e-6).all()
    noise = RANDOM.uniform(-0.49, 0.49, x.shape).astype(np.float32) * (np.abs(x) < 127)
    assert np.array_equal(run(x + noise), result)
    assert run.report.weights_bytes < (4 / 8 + 2 / 32 + 0.01) * matrix.size
