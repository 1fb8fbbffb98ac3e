"""Cast between all numeric types, on every bit pattern of the small ones, against the definition of ONNX."""

import ml_dtypes
import numpy as np
import onnx
import perpend
import pytest
from onnx.reference.ops import op_cast as reference

T = onnx.TensorProto
MINIFLOATS = (
    T.FLOAT8E4M3FN, T.FLOAT8E4M3FNUZ, T.FLOAT8E5M2, T.FLOAT8E5M2FNUZ, T.FLOAT8E8M0, T.FLOAT6E2M3, T.FLOAT6E3M2,
    T.FLOAT4E2M1,
)  # fmt: skip
FLOATS = (T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16, *MINIFLOATS)
INTEGERS = (
    T.INT2, T.UINT2, T.INT4, T.UINT4, T.INT8, T.UINT8, T.INT16, T.UINT16, T.INT32, T.UINT32, T.INT64, T.UINT64,
)  # fmt: skip
TYPES = (*FLOATS, *INTEGERS, T.BOOL)


def dtype_of(code):
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(code))


def is_float(code):
    return code in FLOATS


def patterns(code):
    """Every value of a type of at most 16 bits; of others random bits, small numbers, ties of narrow formats."""
    dtype = dtype_of(code)
    if code == T.BOOL:
        return np.array([False, True])
    if dtype.itemsize <= 2:
        bits = {T.INT2: 2, T.UINT2: 2, T.INT4: 4, T.UINT4: 4, T.FLOAT4E2M1: 4, T.FLOAT6E2M3: 6, T.FLOAT6E3M2: 6}
        count = 2 ** bits.get(code, 8 * dtype.itemsize)
        return np.arange(count, dtype=np.uint16 if dtype.itemsize == 2 else np.uint8).view(dtype)
    generator = np.random.default_rng(int(code))
    random = generator.integers(0, 256, 4000 * dtype.itemsize, np.uint8).view(dtype)
    if code not in (T.FLOAT, T.DOUBLE):
        return np.concatenate([random, np.arange(300).astype(dtype)])
    halves = np.ldexp(generator.integers(1, 64, 4000), generator.integers(-160, 160, 4000))
    nudged = np.concatenate([halves, halves * (1 + 1e-7), halves * (1 - 1e-7), halves * (1 + 1e-14)])
    special = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        448,
        464,
        465,
        480,
        240,
        248,
        57344,
        61440,
        65504,
        65520,
        6,
        7,
        28,
        31,
    ]
    with np.errstate(over="ignore"):
        return np.concatenate([random, nudged.astype(dtype), -nudged.astype(dtype), np.array(special, dtype)])


def cast_model(source, targets, values, **attributes):
    helper = onnx.helper
    nodes = [helper.make_node("Cast", ["x"], [f"y{code}"], to=code, **attributes) for code in targets]
    outputs = [helper.make_tensor_value_info(f"y{code}", code, values.shape) for code in targets]
    inputs = [helper.make_tensor_value_info("x", source, values.shape)]
    graph = helper.make_graph(nodes, "casts", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=13)


def defined(source, target, values):
    """Where ONNX says what the result is."""
    single = values.astype(np.float64) if is_float(source) else values
    if target == T.FLOAT8E8M0:
        return ~np.isinf(single) & ~np.signbit(single) if is_float(source) else values >= values.dtype.type(0)
    if target in (T.FLOAT6E2M3, T.FLOAT6E3M2, T.FLOAT4E2M1):
        return ~np.isnan(single) if is_float(source) else np.ones(values.shape, bool)
    if not is_float(source) or target not in INTEGERS:
        return np.ones(values.shape, bool)
    limits = ml_dtypes.iinfo(dtype_of(target))
    return (single > float(limits.min) - 1) & (single < float(limits.max) + (1 if limits.bits < 60 else 0))


def rounded_to_odd(values):
    """To f32 such that rounding once more gives what rounding once would have given."""
    single = values.astype(np.float32)
    bits = single.view(np.uint32) - (np.abs(single.astype(np.float64)) > np.abs(values))
    return (bits | (single != values)).astype(np.uint32).view(np.float32)


def expected(source, target, values, saturate, round_mode):
    with np.errstate(all="ignore"):
        if target in INTEGERS and not is_float(source) and source != T.BOOL:
            bits = ml_dtypes.iinfo(dtype_of(target)).bits  # discard the higher bits
            wide = values.astype(np.int64) if values.dtype != np.uint64 else values.view(np.int64)
            low = wide & ((1 << bits) - 1) if bits < 64 else wide
            return low.astype(np.uint8).view(dtype_of(target)) if bits < 8 else low.astype(dtype_of(target))
        if target in INTEGERS and is_float(source):
            values = np.where(defined(source, target, values), values.astype(np.float64), 0)
            kind = np.uint64 if target == T.UINT64 else np.int64
            return np.trunc(values).astype(kind).astype(dtype_of(target))
        if is_float(source) and target == T.BOOL:
            return values.astype(np.float64) != 0
        if source in MINIFLOATS or source in (T.INT4, T.UINT4, T.INT2, T.UINT2):
            values = values.astype(np.float32)
        if source == T.DOUBLE and target in (T.BFLOAT16, *MINIFLOATS) and target != T.FLOAT8E8M0:
            values = rounded_to_odd(values)  # the reference rounds twice, to f32 first
        return reference.cast_to(values, target, saturate, round_mode)


def assert_same(got, want, where, what):
    assert got.dtype == want.dtype, what
    if np.issubdtype(want.dtype, np.floating) or "float" in str(want.dtype):
        both_nan = np.isnan(got.astype(np.float64)) & np.isnan(want.astype(np.float64))
    else:
        both_nan = np.zeros(want.shape, bool)
    bits = np.dtype(f"u{want.dtype.itemsize}")
    wrong = np.flatnonzero((got.view(bits) != want.view(bits)) & ~both_nan & where)
    assert not wrong.size, (
        f"{what}: {wrong.size} wrong, at {wrong[:4]}: got {got[wrong[:4]]}, expected {want[wrong[:4]]}"
    )


def check(model, source, targets, values, saturate=True, round_mode="up", opt_level=3):
    results = perpend.compile(model, opt_level=opt_level)(values)
    for target, got in zip(targets, results if isinstance(results, (list, tuple)) else [results], strict=True):
        want = expected(source, target, values, saturate, round_mode)
        name = T.DataType.Name
        what = f"{name(source)} to {name(target)}, saturate {saturate}, {round_mode}, level {opt_level}"
        assert_same(got, want, defined(source, target, values), what)


@pytest.mark.parametrize("source", TYPES, ids=T.DataType.Name)
def test_casts_to_all_types(source):
    values = patterns(source)
    targets = [target for target in TYPES if target != source]
    for opt_level in (0, 3):
        check(cast_model(source, targets, values), source, targets, values, opt_level=opt_level)


@pytest.mark.parametrize("source", [T.INT32, T.UINT32, T.INT64, T.UINT64], ids=T.DataType.Name)
def test_large_integers_are_rounded_alike_everywhere(source):
    """Beside ties of bf16, where rounding to f32 first gives another result than rounding once."""
    ties = 2 ** np.arange(25, 31, dtype=np.int64)
    values = np.concatenate([ties + ties // 256 + 1, ties + 3 * ties // 256 - 1])
    if source in (T.INT32, T.INT64):
        values = np.concatenate([values, -values])
    values = values.astype(dtype_of(source))
    model = cast_model(source, [T.BFLOAT16], values)
    check(model, source, [T.BFLOAT16], values)
    interpreted = perpend.import_model(model).evaluate(values)[0]
    assert_same(
        interpreted, expected(source, T.BFLOAT16, values, True, "up"), np.ones(values.shape, bool), "interpreted"
    )


@pytest.mark.parametrize("source", [T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16], ids=T.DataType.Name)
def test_casts_without_saturation(source):
    values, targets = patterns(source), [code for code in MINIFLOATS if code != T.FLOAT8E8M0]
    check(cast_model(source, targets, values, saturate=0), source, targets, values, saturate=False)


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("round_mode", ["up", "down", "nearest"])
def test_rounding_to_powers_of_two(round_mode, saturate):
    for source in (T.FLOAT, T.FLOAT16, T.BFLOAT16):
        values, targets = patterns(source), [T.FLOAT8E8M0]
        model = cast_model(source, targets, values, saturate=saturate, round_mode=round_mode)
        check(model, source, targets, values, bool(saturate), round_mode)


def test_constants_are_folded_to_the_same():
    values = patterns(T.FLOAT)[:500]
    model = cast_model(T.FLOAT, MINIFLOATS, values)
    model.graph.ClearField("input")
    model.graph.initializer.append(onnx.numpy_helper.from_array(values, "x"))
    results = perpend.compile(model)()
    for target, got in zip(MINIFLOATS, results, strict=True):
        assert_same(got, expected(T.FLOAT, target, values, True, "up"), defined(T.FLOAT, target, values), str(target))


@pytest.mark.parametrize("code", [*MINIFLOATS, T.INT2, T.UINT2, T.INT4, T.UINT4], ids=T.DataType.Name)
@pytest.mark.parametrize("is_raw", [True, False], ids=["raw", "typed"])
def test_initialisers_of_small_types(code, is_raw):
    values = np.resize(patterns(code), 259)  # packs into bytes with a rest
    helper = onnx.helper
    if is_raw:
        constant = onnx.numpy_helper.from_array(values, "c")
    else:
        constant = helper.make_tensor("c", code, values.shape, values.astype(np.float32))
        assert constant.int32_data
    nodes = [helper.make_node("Cast", ["c"], ["wide"], to=T.FLOAT), helper.make_node("Add", ["x", "wide"], ["y"])]
    infos = [helper.make_tensor_value_info(name, T.FLOAT, values.shape) for name in "xy"]
    graph = helper.make_graph(nodes, "packed", infos[:1], infos[1:], [constant])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=13)
    x = np.ones(values.shape, np.float32)
    stored = onnx.numpy_helper.to_array(constant).astype(np.float32)  # make_tensor() saturates
    np.testing.assert_array_equal(perpend.compile(model)(x), x + stored)


BIT_CASTS = [
    (T.FLOAT, T.UINT32), (T.INT16, T.BFLOAT16), (T.FLOAT8E5M2, T.INT8), (T.UINT4, T.FLOAT4E2M1), (T.BOOL, T.UINT8),
    (T.DOUBLE, T.INT64),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target"), BIT_CASTS)
def test_bit_cast(source, target):
    for first, second in ((source, target), (target, source)):
        values = np.array([False, True]) if first == T.BOOL else patterns(first)
        if second == T.BOOL:
            values = values[:2]
        node = onnx.helper.make_node("BitCast", ["x"], ["y"], to=second)
        inputs = [onnx.helper.make_tensor_value_info("x", first, values.shape)]
        outputs = [onnx.helper.make_tensor_value_info("y", second, values.shape)]
        graph = onnx.helper.make_graph([node], "bits", inputs, outputs)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 28)], ir_version=13)
        got = perpend.compile(model)(values)
        assert got.dtype == dtype_of(second)
        np.testing.assert_array_equal(got.view(np.uint8), values.view(np.uint8))
