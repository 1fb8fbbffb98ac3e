"""The operators of random models that language models are made of, of ONNX and of ONNX Runtime's own domain."""

import numpy as np
from random_graph import FLOAT, INT64, Rejected, random_operator
from random_quantised import BYTES, dequantise, filter_of, integers, quantise, result_scale

MICROSOFT = "com.microsoft"


def rows(g, low=3, high=3):
    """[batch, length, width]"""
    return g.pick(low=low, high=high)


def heads_of(g, width):
    return g.choose([n for n in range(1, width + 1) if width % n == 0])


def mask_of(g, shape):
    """Some scores left out, of each row at least one kept."""
    mask = g.random.random(shape) < 0.7
    mask[..., 0] = True
    return mask


@random_operator(3)
def attention(g):
    q = rows(g)
    batch, length, width = q.shape
    heads = heads_of(g, width)
    groups = g.choose([n for n in range(1, heads + 1) if heads % n == 0])
    size, others = width // heads, g.number(1, 6)
    k, v = (g.constant(g.array([batch, others, groups * size])) for _ in range(2))
    masks = [np.where(mask_of(g, [length, others]), 0, -np.inf).astype(FLOAT), mask_of(g, [batch, 1, length, others])]
    mask = [g.constant(g.choose(masks))] if g.chance(0.5) else []
    attributes = {"is_causal": g.number(0, 1)} if not mask and others >= length else {}
    if g.chance(0.3):
        attributes["softcap"] = 2.0
    if g.chance(0.3):
        attributes["scale"] = 0.3
    g.add("Attention", q, k, v, *mask, q_num_heads=heads, kv_num_heads=groups, **attributes)


@random_operator(2)
def multi_head_attention(g):
    q = rows(g)
    batch, length, width = q.shape
    heads, others = heads_of(g, width), g.number(1, 6)
    k, v = (g.constant(g.array([batch, others, width])).name for _ in range(2))
    bias = g.constant(g.array([3 * width])).name if g.chance(0.5) else ""
    padding = ""
    if g.chance(0.4):
        padding = g.constant(mask_of(g, [batch, others]).astype(np.int32)).name
    added = g.constant(g.array([1, heads, length, others])).name if g.chance(0.4) else ""
    g.add_named("MultiHeadAttention", [q.name, k, v, bias, padding, added], FLOAT, q.shape, False, num_heads=heads,
                domain=MICROSOFT)  # fmt: skip


@random_operator(2)
def packed_attention(g):
    """Queries, keys and values by one product."""
    x = rows(g)
    batch, length, width = x.shape
    heads = g.number(1, 3)
    hidden = heads * g.choose([2, 4, 8])
    weight = g.constant(g.array([width, 3 * hidden]) / 2).name
    bias = g.constant(g.array([3 * hidden])).name
    mask = g.constant(mask_of(g, [batch, length]).astype(np.int32)).name if g.chance(0.5) else ""
    g.add_named("Attention", [x.name, weight, bias, mask], FLOAT, (batch, length, hidden), False, num_heads=heads,
                unidirectional=g.number(0, 1), domain=MICROSOFT)  # fmt: skip


@random_operator(2)
def grouped_attention(g):
    """Without a past; the lengths of the batch may differ."""
    q = rows(g)
    batch, length, width = q.shape
    sizes = [n for n in (8, 16, 32) if width % n == 0]
    size = g.choose(sizes)
    heads = width // size
    groups = g.choose([n for n in range(1, heads + 1) if heads % n == 0])
    k, v = (g.constant(g.array([batch, length, groups * size])).name for _ in range(2))
    lengths = g.constant(np.full(batch, length - 1, np.int32)).name
    total = g.constant(np.array(length, np.int32)).name
    past = g.constant(np.zeros([batch, groups, 0, size], FLOAT)).name
    operands, attributes = [q.name, k, v, past, past, lengths, total], {}
    if size % 16 == 0 and g.chance(0.5):
        angles = np.arange(length)[:, None] / (7.0 ** np.arange(size // 2))
        operands += [g.constant(f(angles).astype(FLOAT)).name for f in (np.cos, np.sin)]
        attributes = {"do_rotary": 1, "rotary_interleaved": g.number(0, 1)}
    if g.chance(0.3):
        attributes["local_window_size"] = g.number(1, length)
    if g.chance(0.3):
        attributes["softcap"] = 3.0
    g.add_named("GroupQueryAttention", operands, FLOAT, q.shape, False, num_heads=heads, kv_num_heads=groups,
                domain=MICROSOFT, **attributes)  # fmt: skip
    g.nodes[-1].output.extend([g.name("present"), g.name("present")])


@random_operator(2)
def rotated(g):
    x = rows(g)
    batch, length, width = x.shape
    heads = heads_of(g, width)
    size = width // heads
    if size % 2:
        raise Rejected
    angles = np.arange(length + 2)[:, None] / (9.0 ** np.arange(size // 2))
    tables = [g.constant(f(angles).astype(FLOAT)) for f in (np.cos, np.sin)]
    places = g.constant(g.random.integers(0, length + 2, [batch, length]).astype(INT64))
    interleaved = g.number(0, 1)
    if g.opset >= 23 and g.chance(0.5):
        return g.add("RotaryEmbedding", x, *tables, places, interleaved=interleaved, num_heads=heads)
    g.add_named("RotaryEmbedding", [x.name, places.name, *[t.name for t in tables]], FLOAT, x.shape, False,
                interleaved=interleaved, num_heads=heads, domain=MICROSOFT)  # fmt: skip


@random_operator(2)
def skipped_normalisation(g):
    x = rows(g)
    width = x.shape[-1]
    if width < 3:
        raise Rejected
    fits = [v for v in g.values if v.type is FLOAT and v.shape == x.shape]
    skip = g.choose(fits).name
    vector = lambda: g.constant(g.array([width])).name  # noqa: E731
    op = g.choose(["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
    operands = [x.name, skip, vector()] + ([vector()] if op == "SkipLayerNormalization" else [])
    if g.chance(0.5):
        operands.append(vector())
    g.add_named(op, operands, FLOAT, x.shape, False, epsilon=0.01, domain=MICROSOFT)


@random_operator(2)
def activations(g):
    x = g.pick()
    op = g.choose(["Gelu", "FastGelu", "BiasGelu", "QuickGelu"])
    bias = [g.constant(g.array([x.shape[-1]])).name] if op == "BiasGelu" or (op == "FastGelu" and g.chance(0.5)) else []
    attributes = {"alpha": 1.5} if op == "QuickGelu" else {}
    g.add_named(op, [x.name, *bias], FLOAT, x.shape, False, domain=MICROSOFT, **attributes)


@random_operator(2)
def scaled_product(g):
    a = g.pick(low=2, high=3)
    turned, width = g.number(0, 1), g.number(1, 9)
    weight = g.constant(g.array([width, a.shape[-1]] if turned else [a.shape[-1], width]))
    g.add_named("FusedMatMul", [a.name, weight.name], FLOAT, (*a.shape[:-1], width), False, alpha=0.5, transB=turned,
                domain=MICROSOFT)  # fmt: skip


@random_operator(2)
def product_with_packed_numbers(g):
    a = g.pick(low=2, high=3)
    depth = a.shape[-1]
    bits, block, columns = g.choose([4, 4, 8]), 16, g.number(1, 9)
    blocks = -(-depth // block)
    weight = g.constant(integers(g, [columns, blocks, block * bits // 8], np.uint8)).name
    scales = g.constant(np.abs(g.array([columns, blocks])) / 16).name
    zeros = ""
    if g.chance(0.5):
        zeros = g.constant(integers(g, [columns, -(-blocks * bits // 8)], np.uint8)).name
    g.add_named("MatMulNBits", [a.name, weight, scales, zeros], FLOAT, (*a.shape[:-1], columns), False, K=depth,
                N=columns, bits=bits, block_size=block, accuracy_level=1, domain=MICROSOFT)  # fmt: skip


@random_operator(2)
def quantised_pair(g):
    a = g.pick(exact=True)
    kind = g.choose(BYTES)
    b = g.partner(a, exact=True)
    if len(np.broadcast_shapes(a.shape, b.shape)) > a.rank or np.broadcast_shapes(a.shape, b.shape) != a.shape:
        raise Rejected
    left, right = quantise(g, a, kind), quantise(g, b, kind)
    scale, zero = result_scale(g, kind)
    operands = [x.name for x in (*left, *right, scale, zero)]
    g.add_named(g.choose(["QLinearAdd", "QLinearMul"]), operands, kind, a.shape, True, domain=MICROSOFT)
    numbers = g.values.pop()
    dequantise(g, numbers, scale, zero)


@random_operator()
def integer_product_to_float(g):
    a = g.pick(low=2, high=3, exact=True)
    left = quantise(g, a, np.uint8)
    columns = g.number(1, 9)
    right = filter_of(g, [a.shape[-1], columns], np.int8, 0)
    bias = g.constant(g.array([columns]))
    operands = [left[0], right[0], left[1], right[1], left[2], right[2], bias]
    g.add_named("MatMulIntegerToFloat", [x.name for x in operands], FLOAT, (*a.shape[:-1], columns), False,
                domain=MICROSOFT)  # fmt: skip
