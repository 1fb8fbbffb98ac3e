"""Operators of the domain com.microsoft on sequences without padding, and fused products, against numpy."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import perpend
import pytest
from microsoft_cases import Case, bytes_of
from operator_cases import integers, normal, positive
from test_microsoft_operators import build
from test_microsoft_references import softmax

LENGTHS = np.array([1, 0, 3, 4], np.int32)
BATCH, LENGTH, HEADS, SIZE = 4, 4, 2, 3
WIDTH = HEADS * SIZE


def places(lengths: np.ndarray, length: int) -> np.ndarray:
    is_token = np.arange(length) < lengths[:, None]
    return np.concatenate([np.flatnonzero(is_token), np.flatnonzero(~is_token)]).reshape(is_token.shape)


OFFSETS = places(LENGTHS, LENGTH).astype(np.int32)
ENDS = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int32)
TOKENS = int(LENGTHS.sum())


def run(op: str, inputs: list[np.ndarray | None], outputs: int = 1, symbols: dict | None = None, **attributes: object):
    """The results with fixed extents, which those with symbolic extents and the interpreter's are equal to, but for the
    order of sums in f32: where that decides the rounding to a shorter type, by its last bit."""
    case = Case(op, inputs, outputs, attributes, symbols=symbols or {})
    model, feeds = build(case, dynamic=False)
    results = perpend.compile(model)(**feeds)
    others = [perpend.import_model(model).evaluate(*feeds.values())]
    if symbols:
        others.append(perpend.compile(build(case, dynamic=True)[0])(**feeds))
    for other in others:
        for got, wanted in zip(as_list(other), as_list(results), strict=True):
            last_bit = float(ml_dtypes.finfo(wanted.dtype).eps) if wanted.dtype.itemsize == 2 else 0
            np.testing.assert_allclose(got, wanted, max(1e-5, last_bit), 1e-5)
    return results


def as_list(results: object) -> list[np.ndarray]:
    return list(results) if isinstance(results, (tuple, list)) else [results]  # type: ignore[list-item]


@pytest.mark.parametrize("lengths", [LENGTHS, LENGTHS * 0, LENGTHS * 0 + LENGTH], ids=["some", "none", "all"])
def test_padding_goes_and_comes_back(lengths: np.ndarray) -> None:
    x = normal(BATCH, LENGTH, 5)
    symbols = {(0, 0): "b", (0, 1): "s", (1, 0): "b"}
    tokens, offsets, ends, longest = run("RemovePadding", [x, lengths], 4, symbols)
    is_token = np.arange(LENGTH) < lengths[:, None]
    np.testing.assert_array_equal(tokens, x[is_token])
    np.testing.assert_array_equal(offsets, places(lengths, LENGTH))
    np.testing.assert_array_equal(ends, np.concatenate([[0], np.cumsum(lengths)]))
    np.testing.assert_array_equal(longest, [lengths.max()])
    restored = run("RestorePadding", [tokens, offsets], 1, {(0, 0): "t", (1, 0): "b", (1, 1): "s"})
    np.testing.assert_array_equal(restored, np.where(is_token[..., None], x, 0))


def attended(query: np.ndarray, key: np.ndarray, value: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """Each sequence by itself; [tokens, heads * size]."""
    rows = []
    for number, (start, end) in enumerate(itertools.pairwise(ENDS)):
        q, k, v = (x[start:end].reshape(end - start, HEADS, SIZE).swapaxes(0, 1) for x in (query, key, value))
        scores = q @ k.swapaxes(1, 2) / np.sqrt(SIZE)
        if bias is not None:
            scores = scores + bias[number % len(bias), :, : end - start, : end - start]
        rows.append((softmax(scores, (-1,)) @ v if end > start else v).swapaxes(0, 1).reshape(end - start, WIDTH))
    return np.concatenate(rows)


@pytest.mark.parametrize("bias", [None, normal(BATCH, HEADS, LENGTH, LENGTH), normal(1, 1, LENGTH, LENGTH)])
def test_attention_of_packed_sequences(bias: np.ndarray | None) -> None:
    x, weights, shift = normal(TOKENS, 5), normal(5, 3 * WIDTH), normal(3 * WIDTH)
    symbols = {(0, 0): "t", (3, 0): "b", (3, 1): "s"}
    if bias is not None:
        symbols |= {(5, 2): "s", (5, 3): "s"}
    inputs = [x, weights, shift, OFFSETS, ENDS, bias]
    result = run("PackedAttention", inputs, 1, symbols if bias is None else None, num_heads=HEADS)
    query, key, value = np.split(x @ weights + shift, 3, axis=1)
    np.testing.assert_allclose(result, attended(query, key, value, bias), 2e-5, 2e-5)
    three = [normal(TOKENS, WIDTH) for _ in range(3)]
    result = run("PackedMultiHeadAttention", [*three, shift, OFFSETS, ENDS, bias], num_heads=HEADS)
    shifted = [array + part for array, part in zip(three, np.split(shift, 3), strict=True)]
    np.testing.assert_allclose(result, attended(*shifted, bias), 2e-5, 2e-5)
    packed = np.stack([array.reshape(TOKENS, HEADS, SIZE) for array in three], 2)
    result = run("PackedMultiHeadAttention", [packed, None, None, None, OFFSETS, ENDS, bias], num_heads=HEADS)
    np.testing.assert_allclose(result, attended(*three, bias), 2e-5, 2e-5)


def bucket(relative: int, buckets: int, farthest: int, is_bidirectional: bool) -> int:
    if is_bidirectional:
        buckets //= 2
        if relative > 0:
            return buckets + bucket(-relative, buckets, farthest, False)
    distance, exact = max(-relative, 0), buckets // 2
    if distance < exact:
        return distance
    f32 = np.float32
    far = np.log(f32(distance) / f32(exact)) / np.log(f32(farthest) / f32(exact)) * f32(buckets - exact)
    return min(exact + int(far), buckets - 1)


@pytest.mark.parametrize("is_bidirectional", [0, 1])
def test_bias_by_relative_position(is_bidirectional: int) -> None:
    """The table is stored column by column: the buckets of a head are neighbours."""
    table, queries, keys = normal(32, 3), 9, 70
    result = run(
        "RelativePositionBias",
        [table, np.array([queries]), np.array([keys])],
        max_distance=40,
        is_bidirectional=is_bidirectional,
    )
    by_head = table.reshape(3, 32)
    numbers = [[bucket(k - q, 32, 40, bool(is_bidirectional)) for k in range(keys)] for q in range(queries)]
    np.testing.assert_array_equal(result, by_head[:, numbers][None])


@pytest.mark.parametrize("is_packed", [False, True])
def test_gated_bias_by_relative_position(is_packed: bool) -> None:
    shift, relative = normal(WIDTH), normal(1, HEADS, LENGTH, LENGTH)
    weight, bias, scale = normal(SIZE, 8), normal(8), normal(1, HEADS, 1, 1)
    query = normal(BATCH, LENGTH, WIDTH)
    given = query
    if is_packed:
        is_token = np.arange(LENGTH) < LENGTHS[:, None]
        given, query = query[is_token], np.where(is_token[..., None], query, 0)
    inputs = [given, shift, relative, weight, bias, scale, OFFSETS if is_packed else None]
    result = run("GatedRelativePositionBias", inputs, num_heads=HEADS)
    split = (query + shift).reshape(BATCH, LENGTH, HEADS, SIZE).swapaxes(1, 2)
    gates = 1 / (1 + np.exp(-(split @ weight + bias).reshape(BATCH, HEADS, LENGTH, 2, 4).sum(-1)))
    u, r = np.split(gates, 2, axis=-1)
    np.testing.assert_allclose(result, (u * (r * scale - 1) + 2) * relative, 2e-5, 2e-5)


def test_dropout_with_a_packed_mask() -> None:
    """Of inference: everything is kept."""
    x = normal(5, 7)
    y, mask = run("BitmaskDropout", [x], 2, {(0, 0): "n"})
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(mask, np.array([2**32 - 1, 2**3 - 1], np.uint32))
    bias, residual = normal(7), normal(5, 7)
    y, mask = run("BitmaskBiasDropout", [x, bias, residual], 2)
    np.testing.assert_allclose(y, x + bias + residual, 1e-6, 1e-6)
    assert mask.dtype == np.uint32 and mask.shape == (2,)


def test_the_packed_mask_says_what_was_dropped() -> None:
    x, inputs = positive(9, 7), [np.array(0.5, np.float32), np.array(True)]
    model, feeds = build(Case("BitmaskDropout", [x, *inputs], 2, {"seed": 3}, constants=(1, 2)), dynamic=False)
    y, mask = perpend.compile(model)(**feeds)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
    np.testing.assert_array_equal(bits[: x.size].astype(bool), (y != 0).ravel())
    assert 0 < bits.sum() < x.size and not bits[x.size :].any()


K, N, BLOCK = 32, 5, 16


def packed_weights(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of 4 bits in bytes, their scales, and the matrix that they are."""
    numbers, scales = bytes_of(rows, K // BLOCK, BLOCK // 2), positive(rows, K // BLOCK)
    pairs = np.stack([numbers & 15, numbers >> 4], -1).reshape(rows, K // BLOCK, BLOCK).astype(np.float32)
    return numbers, scales, ((pairs - 8) * scales[..., None]).reshape(rows, K)


@pytest.mark.parametrize("has_skip", [False, True])
def test_fused_products_of_packed_weights(has_skip: bool) -> None:
    # A small scale: SiLU of numbers far below zero would turn the products' roundings into relative errors.
    x, skip, scale, bias = normal(2, 3, K), normal(2, 3, K) if has_skip else None, normal(K) * 0.1, normal(N)
    total = x if skip is None else x + skip
    norm = total / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-3) * scale
    (a, b, first), (c, d, second), (e, f, third) = (packed_weights(rows) for rows in (N, N + 1, N + 1))
    form = {"K": K, "bits": 4, "block_size": BLOCK, "epsilon": 1e-3}
    inputs = [x, skip, scale, a, b, bias, c, d, None, e, f, None]
    results = run("MatMulNBitsQkv", inputs, 4 if has_skip else 3, Nq=N, Nkv=N + 1, **form)
    expected = [norm @ first.T + bias, norm @ second.T, norm @ third.T, total]
    for got, wanted in zip(results, expected, strict=False):
        np.testing.assert_allclose(got, wanted, 1e-4, 1e-4)
    gate, up = norm @ second.T, norm @ third.T
    result = run("MatMulNBitsMlp", [x, skip, scale, c, d, None, e, f, None], N=N + 1, activation="silu", **form)
    np.testing.assert_allclose(result, gate / (1 + np.exp(-gate)) * up, 1e-3, 1e-4)


def unpacked(numbers: np.ndarray, bits: int, count: int) -> np.ndarray:
    """The first numbers of each row of bytes, which hold the lower ones in lower bits."""
    parts = [numbers >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)]
    return np.stack(parts, -1).reshape(len(numbers), -1)[:, :count].astype(np.float32)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("depth", [K, K + 5])
@pytest.mark.parametrize("zeros", [None, "packed", "floats"])
@pytest.mark.parametrize("is_padded", [False, True], ids=["", "padded"])
def test_products_with_columns_in_groups(bits: int, depth: int, zeros: str | None, is_padded: bool) -> None:
    """Each column names its group, as weights that were sorted before they were quantised do."""
    blocks = -(-depth // BLOCK)
    numbers, scales = bytes_of(N, blocks, BLOCK * bits // 8), positive(N, blocks) / 2**bits
    given = {"packed": bytes_of(N, -(-blocks * bits // 8)), "floats": positive(N, blocks) * 3}.get(zeros or "")
    zero = np.full((N, blocks), 1 << bits - 1, np.float32) if given is None else given
    zero = unpacked(zero, bits, blocks) if zeros == "packed" else zero
    groups = integers(0, blocks, depth, dtype=np.int32)
    weight = (unpacked(numbers.reshape(N, -1), bits, depth) - zero[:, groups]) * scales[:, groups]
    x = normal(2, 3, depth)
    index = np.concatenate([groups, np.full(blocks * BLOCK - depth, -1, np.int32)]) if is_padded else groups
    inputs = [x, numbers, scales, given, index]
    form = {"N": N, "K": depth, "bits": bits, "block_size": BLOCK}
    result = run("MatMulNBits", inputs, 1, {(0, 0): "b", (0, 1): "s"}, **form)
    size = np.abs(x) @ np.abs(weight.T)
    assert (np.abs(result - x @ weight.T) <= 1e-6 * size).all()
    model, feeds = build(Case("MatMulNBits", inputs, 1, form, constants=(1, 2, 3, 4)), dynamic=False)
    assert (np.abs(perpend.compile(model)(**feeds) - result) <= 1e-6 * size).all()


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.full(K, K // BLOCK, np.int32), r"blocks of columns from 0 to 1, got 2"),
        (np.full(K, -1, np.int32), r"blocks of columns from 0 to 1, got -1"),
        (
            np.zeros(K - 1, np.int32),
            r"g_idx\): i32 or i64 of shape \[32\], got i32 of shape \[31\]",
        ),
        (
            np.zeros((1, K), np.int32),
            r"g_idx\): i32 or i64 of shape \[32\], got i32 of shape \[1, 32\]",
        ),
        (np.zeros(K, np.float32), r"g_idx\): i32 or i64 of shape \[32\], got f32"),
        (np.zeros(K, np.int8), r"g_idx\): i32 or i64 of shape \[32\], got i8"),
        (np.zeros(K, np.bool_), r"g_idx\): i32 or i64 of shape \[32\], got bool"),
    ],
)
def test_groups_that_there_are_not(groups: np.ndarray, message: str) -> None:
    numbers, scales, _ = packed_weights(N)
    case = Case("MatMulNBits", [normal(3, K), numbers, scales, None, groups], 1,
                {"N": N, "K": K, "bits": 4, "block_size": BLOCK}, constants=(4,))  # fmt: skip
    with pytest.raises(perpend.CompileError, match=rf"node 'node' \(MatMulNBits\): expected .*{message}"):
        perpend.compile(build(case, dynamic=False)[0])


@pytest.mark.parametrize("depth", [K, 256])
@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize("wrong", [-1, 2**31 - 1])
def test_groups_that_a_run_finds(depth: int, is_constant: bool, wrong: int) -> None:
    """Where there are more constants than the compiler looks at, and in inputs."""
    blocks = depth // BLOCK
    groups = np.repeat(np.arange(blocks, dtype=np.int32), BLOCK)
    groups[-1] = wrong
    inputs = [normal(3, depth), bytes_of(N, blocks, BLOCK // 2), positive(N, blocks), None, groups]
    form = {"N": N, "K": depth, "bits": 4, "block_size": BLOCK}
    constants = (1, 2, 4) if is_constant else ()
    model, feeds = build(Case("MatMulNBits", inputs, 1, form, constants=constants), dynamic=False)
    with pytest.raises((perpend.CompileError, ValueError), match=f"expected blocks of columns from 0 to {blocks - 1}"):
        perpend.compile(model)(**feeds)


REFUSED = [
    (
        "NGramRepeatBlock",
        [np.zeros((3, 5), np.int64), np.zeros((3, 5), np.int64)],
        {"ngram_size": 1},
        "expected floating-point scores, got elements of type i64",
    ),
    ("RestorePadding", [normal(3, 2), np.arange(4, dtype=np.int32)], {}, r"token_offset \[batch, length\]"),
    (
        "RemovePadding",
        [normal(3, 2), np.arange(3, dtype=np.int32)],
        {},
        r"input 0: expected a tensor of rank 3, got shape \[3, 2\]",
    ),
    ("RelativePositionBias", [normal(3, 2), np.array([3]), np.array([3])], {"max_distance": 1}, "a max_distance of"),
    ("MurmurHash3", [np.zeros(3, np.uint8)], {}, "numbers of 32 or 64 bits, got elements of type u8"),
    ("HyperConnectionPreMix", [normal(3, 7), normal(3, 2)], {"num_branches": 2}, r"\[3, 7\] does not divide by 2"),
    ("DynamicTimeWarping", [normal(2, 3, 4)], {}, r"expected costs .*, got shape \[2, 3, 4\]"),
    ("MatMulFpQ4", [normal(2, 3), bytes_of(8), np.array([64, 2])], {"blk_quant_type": 2}, "blk_quant_type 0 or 1"),
]
OUTPUTS = {"RemovePadding": 4}


@pytest.mark.parametrize(("op", "inputs", "attributes", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refusals_name_the_node(op: str, inputs: list[np.ndarray], attributes: dict, message: str) -> None:
    model, _ = build(Case(op, inputs, OUTPUTS.get(op, 1), attributes, constants=(2,)), dynamic=False)
    with pytest.raises(perpend.CompileError, match=f"node 'node' .*{message}"):
        perpend.compile(model)


FLOAT8 = np.dtype(ml_dtypes.float8_e4m3fn)


def blocks_of_float8(columns: int, depth: int, block: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A weight [columns, depth], the scales of its blocks, and the matrix that they stand for."""
    weight = (normal(columns, depth) * 16).astype(FLOAT8)
    scales = positive(columns, -(-depth // block))
    return weight, scales, weight.astype(np.float64) * scales.repeat(block, 1)[:, :depth]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=["f16", "bf16"])
@pytest.mark.parametrize(("depth", "block"), [(32, 16), (40, 16), (7, 128), (1, 1), (0, 16)])
@pytest.mark.parametrize("has_bias", [False, True])
def test_products_with_blocks_of_float8(dtype: type, depth: int, block: int, has_bias: bool) -> None:
    weight, scales, matrix = blocks_of_float8(5, depth, block)
    x, bias = normal(2, 3, depth).astype(dtype), normal(5).astype(dtype) if has_bias else None
    symbols = {(0, 0): "b", (0, 1): "s"}
    result = run("MatMulBlockQuantizedFp8Weight", [x, weight, scales, None, bias], 1, symbols, block_size=block)
    wanted = x.astype(np.float64) @ matrix.T + (0 if bias is None else bias.astype(np.float64))
    assert (result.dtype, result.shape) == (np.dtype(dtype), wanted.shape)
    terms = np.abs(x.astype(np.float64)) @ np.abs(matrix.T) + 1  # f32 sums, rounded once to the type of the result
    rounding = float(ml_dtypes.finfo(dtype).eps) / 2 * np.abs(wanted) + 1e-6 * terms
    assert (np.abs(result.astype(np.float64) - wanted) <= rounding).all()


@pytest.mark.parametrize("scale", [0.125, 2.0**-10])
def test_activations_as_float8(scale: float) -> None:
    """The activations are rounded to 8 bits, too; the smaller scale sends most of them to the largest number, 448."""
    weight, scales, matrix = blocks_of_float8(4, 24, 16)
    x = normal(3, 24).astype(np.float16)
    quotient = np.clip(x.astype(np.float32) / np.float32(scale), -448, 448)
    assert (np.abs(quotient) == 448).any() == (scale < 0.01)
    wanted = quotient.astype(FLOAT8).astype(np.float64) * scale @ matrix.T
    inputs = [x, weight, scales, np.array(scale, np.float32), None]
    result = run("MatMulBlockQuantizedFp8Weight", inputs, 1, {(0, 0): "n"}, block_size=16)
    np.testing.assert_allclose(result.astype(np.float64), wanted, 2e-3, 2e-3)


@pytest.mark.parametrize(("position", "shape"), [(2, (4, 1)), (2, (4, 3)), (2, (3, 2)), (4, (3,)), (4, (1,))])
def test_blocks_of_float8_that_do_not_fit(position: int, shape: tuple[int, ...]) -> None:
    weight, scales, _ = blocks_of_float8(4, 24, 16)
    inputs = [normal(3, 24).astype(np.float16), weight, scales, None, normal(4).astype(np.float16)]
    inputs[position] = np.ones(shape, inputs[position].dtype)
    with pytest.raises(perpend.CompileError, match=r"node 'node' .*(b_scale|bias): expected shape \[4.*\], got \["):
        run("MatMulBlockQuantizedFp8Weight", inputs, block_size=16)
