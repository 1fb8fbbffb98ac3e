"""Operators of the domain com.microsoft against ONNX Runtime, compiled and interpreted, also with symbolic extents."""

import math

import numpy as np
import onnx
import onnxruntime
import perpend
import pytest
from microsoft_cases import Case
from microsoft_token_cases import CASES
from operator_cases import normal
from test_operators import run


def build(case, dynamic):
    helper = onnx.helper
    names, inputs, constants, feeds = [], [], [], {}
    for position, array in enumerate(case.inputs):
        name = "" if array is None else f"input{position}"
        names.append(name)
        if array is None:
            continue
        if position in case.constants:
            constants.append(onnx.numpy_helper.from_array(array, name))
            continue
        shape = [
            case.symbols.get((position, axis), extent) if dynamic else extent for axis, extent in enumerate(array.shape)
        ]
        inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape))
        feeds[name] = array
    outputs = [helper.make_empty_tensor_value_info(f"output{index}") for index in range(case.outputs)]
    produced = [output.name for output in outputs]
    if case.op.startswith("Skip") and case.outputs == 4:
        outputs = [outputs[0], outputs[3]]
        produced = ["output0", "", "", "output3"]
    node = helper.make_node(case.op, names, produced, "node", domain=case.domain, **case.attributes)
    graph = helper.make_graph([node], "operator", inputs, outputs, constants)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8), feeds


def expected_of(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1  # what DynamicQuantizeLSTM rounds to depends on them
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        if "not yet supported on this hardware" not in str(error):
            raise
        pytest.skip(f"ONNX Runtime: {error}")
    return session.run(None, feeds)


def compare(case, results, expected):
    assert len(results) == len(expected)
    for got, wanted in list(zip(results, expected, strict=True))[: case.compared]:
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        is_half = wanted.dtype == np.float16
        tolerance = 0 if case.slack or wanted.dtype.kind in "iu" else 4e-3 if is_half else 2e-5
        got, wanted = got.astype(np.float64), wanted.astype(np.float64)
        np.testing.assert_allclose(got, wanted, tolerance, case.slack or tolerance)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_operator(case):
    model, feeds = build(case, dynamic=False)
    expected = expected_of(model, feeds)
    compare(case, run(model, feeds), expected)
    compiled = perpend.compile(model)(**feeds)
    compare(case, compiled if isinstance(compiled, tuple) else (compiled,), expected)


@pytest.mark.parametrize("case", [case for case in CASES if case.symbols], ids=str)
def test_symbolic_operator(case):
    model, feeds = build(case, dynamic=True)
    expected = expected_of(model, feeds)
    compiled = perpend.compile(model)(**feeds)
    compare(case, compiled if isinstance(compiled, tuple) else (compiled,), expected)


@pytest.mark.parametrize("packs_query", [False, True])
def test_packed_heads(packs_query):
    """ONNX Runtime packs query, key and value for other processors only; they are the same tensors side by side."""
    generator = np.random.default_rng(1)
    query, key, value = (generator.standard_normal((2, 3, 5, 4)).astype(np.float32) for _ in range(3))
    inputs = [np.stack([query, key, value], 3)] if packs_query else [query.reshape(2, 3, 20), np.stack([key, value], 3)]
    apart = [array.reshape(2, 3, 20) for array in (query, key, value)]
    models = [build(Case("MultiHeadAttention", arrays, 1, {"num_heads": 5}), False) for arrays in (inputs, apart)]
    packed, wanted = (perpend.compile(model)(**feeds) for model, feeds in models)
    np.testing.assert_allclose(packed, wanted, 1e-6, 1e-6)


def cached_attention(op, lengths, **attributes):
    """A model whose caches are as long as the run says; `lengths` are its inputs behind the caches."""
    helper, heads = onnx.helper, attributes.get("kv_num_heads", 4)
    shapes = {name: ["b", "s", width * 8] for name, width in {"q": 4, "k": heads, "v": heads}.items()}
    shapes |= {name: ["b", heads, "p", 8] for name in ("pk", "pv")}
    inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    sizes = [helper.make_tensor_value_info(name, onnx.TensorProto.INT32, shape) for name, shape in lengths]
    names = [
        "q",
        "k",
        "v",
        *[""] * (3 if op == "MultiHeadAttention" else 0),
        "pk",
        "pv",
        *(name for name, _ in lengths),
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in ("y", "keys", "values")]
    node = helper.make_node(op, names, ["y", "keys", "values"], "node", domain="com.microsoft", **attributes)
    graph = helper.make_graph([node], "cached", [*inputs, *sizes], outputs)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def cached_feeds(batch, length, past, heads):
    generator = np.random.default_rng(past)
    shapes = {"q": (batch, length, 32), "k": (batch, length, heads * 8), "v": (batch, length, heads * 8)}
    shapes |= {"pk": (batch, heads, past, 8), "pv": (batch, heads, past, 8)}
    return {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def agrees_up_to(model, compiled, feeds, valid):
    """Elements of a cache behind `valid` are nobody's."""
    (y, *caches), (wanted, *expected) = compiled(**feeds), expected_of(model, feeds)
    np.testing.assert_allclose(y, wanted, 2e-5, 2e-5)
    for cache, other in zip(caches, expected, strict=True):
        assert cache.shape == other.shape
        np.testing.assert_allclose(cache[:, :, :valid], other[:, :, :valid], 2e-5, 2e-5)


def test_caches_of_a_length_known_at_run_time():
    """The present is as long as total_sequence_length, or as the past where that is a longer buffer."""
    lengths = [("last", ["b"]), ("total", [])]
    model = cached_attention("GroupQueryAttention", lengths, num_heads=4, kv_num_heads=2)
    compiled = perpend.compile(model)
    runs = [(2, 1, 3, [3, 3], 4), (2, 1, 8, [3, 2], 4), (2, 4, 8, [3, 3], 4), (2, 5, 0, [4, 4], 5), (1, 2, 8, [7], 8)]
    for batch, length, past, last, total in runs:
        feeds = cached_feeds(batch, length, past, 2)
        feeds |= {"last": np.array(last, np.int32), "total": np.array(total, np.int32)}
        agrees_up_to(model, compiled, feeds, min(last) + 1)
    for last in (8, -1):
        with pytest.raises(ValueError, match="seqlens_k is not inside the caches"):
            compiled(**{**feeds, "last": np.array([last], np.int32)})
    feeds |= {"total": np.array(11, np.int32)}
    with pytest.raises(ValueError, match="more than past and new keys"):
        compiled(**feeds)
    feeds = {**cached_feeds(1, 4, 0, 2), "last": np.array([0], np.int32), "total": np.array(1, np.int32)}
    with pytest.raises(ValueError, match="less than the number of new keys"):
        compiled(**feeds)


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_shared_buffer_of_past_and_present(unidirectional):
    """New keys are written behind the first past_sequence_length of a buffer."""
    model = cached_attention("MultiHeadAttention", [("used", [1])], num_heads=4, unidirectional=unidirectional)
    compiled = perpend.compile(model)
    for length, past, used in [(1, 8, 3), (1, 4, 3), (3, 8, 0), (3, 7, 4)]:
        feeds = {**cached_feeds(2, length, past, 4), "used": np.array([used], np.int32)}
        agrees_up_to(model, compiled, feeds, used + length)
    for used in (5, -1):
        with pytest.raises(ValueError, match=r"past_sequence_length|at least 0"):
            compiled(**{**feeds, "used": np.array([used], np.int32)})


@pytest.mark.parametrize("position", [4, 5])
def test_masks_of_a_shared_buffer_cover_the_keys_in_use(position):
    generator = np.random.default_rng(4)
    shapes = {0: (2, 1, 12), 1: (2, 1, 12), 2: (2, 1, 12), 6: (2, 3, 7, 4), 7: (2, 3, 7, 4)}
    inputs = [generator.standard_normal(shapes.get(i, 0)).astype(np.float32) if i in shapes else None for i in range(8)]
    inputs.append(np.array([4], np.int32))
    inputs[position] = np.ones((2, 5), np.int32) if position == 4 else np.zeros((1, 1, 1, 5), np.float32)
    case = Case("MultiHeadAttention", inputs, 3, {"num_heads": 3}, symbols={(position, inputs[position].ndim - 1): "t"})
    model, feeds = build(case, True)
    compiled = perpend.compile(model)
    np.testing.assert_allclose(compiled(**feeds)[0], expected_of(model, feeds)[0], 2e-5, 2e-5)
    name = "mask" if position == 4 else "attention_bias"
    for extent in (4, 6, 7):
        wrong = {f"input{position}": np.ones((*inputs[position].shape[:-1], extent), inputs[position].dtype)}
        with pytest.raises(
            ValueError, match=f"{name}: its last dimension is not past_sequence_length and the new keys"
        ):
            compiled(**{**feeds, **wrong})


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "symbolic"])
@pytest.mark.parametrize("causal", [0, 1])
def test_bias_of_a_cache_that_is_longer_than_its_keys(dynamic, causal):
    new, caches = [normal(2, 1, 32), normal(2, 1, 16), normal(2, 1, 16)], [normal(2, 2, 8, 8), normal(2, 2, 8, 8)]
    lengths = [np.array([5, 3], np.int32), np.array(6, np.int32)]
    attributes = {"num_heads": 4, "kv_num_heads": 2, "causal": causal}
    symbols = {(10, 3): "keys", (3, 2): "cached", (4, 2): "cached"}
    inputs = [*new, *caches, *lengths, None, None, None, normal(2, 4, 1, 6)]
    case = Case("GroupQueryAttention", inputs, 3, attributes, constants=() if dynamic else (6,), symbols=symbols)
    model, feeds = build(case, dynamic)
    compiled = perpend.compile(model)
    np.testing.assert_allclose(compiled(**feeds)[0], expected_of(model, feeds)[0], 2e-5, 2e-5)
    for extent in [5, 9] if dynamic else []:
        with pytest.raises(ValueError, match="attention_bias: its last dimension"):
            compiled(**feeds | {"input10": normal(2, 4, 1, extent)})


def model_of(op, inputs, **attributes):
    return build(Case(op, inputs, 1, attributes), False)


def test_operators_without_a_kernel():
    """Operators that ONNX Runtime has for other processors only, against their formulas."""
    generator = np.random.default_rng(2)
    x, bias, skip = (generator.standard_normal(shape).astype(np.float32) for shape in [(2, 3, 10), (10,), (2, 3, 10)])
    model, feeds = model_of("BiasAdd", [x, bias, skip])
    np.testing.assert_allclose(perpend.compile(model)(**feeds), x + bias + skip, 1e-6)
    model, feeds = model_of("BiasSplitGelu", [x, bias])
    left, right = np.split(x + bias, 2, -1)
    error = np.vectorize(math.erf)(right / math.sqrt(2))
    np.testing.assert_allclose(perpend.compile(model)(**feeds), left * right / 2 * (1 + error), 1e-5, 1e-6)
    image = generator.standard_normal((2, 5, 3, 6)).astype(np.float32)
    gamma, beta = (generator.standard_normal(6).astype(np.float32) for _ in range(2))
    model, feeds = model_of("GroupNorm", [image, gamma, beta], groups=3, activation=1, epsilon=1e-4)
    groups = image.reshape(2, 15, 3, 2)
    centred = groups - groups.mean((1, 3), keepdims=True)
    normal = (centred / np.sqrt((centred**2).mean((1, 3), keepdims=True) + 1e-4)).reshape(image.shape) * gamma + beta
    np.testing.assert_allclose(perpend.compile(model)(**feeds), normal / (1 + np.exp(-normal)), 1e-4, 1e-5)


@pytest.mark.parametrize("channels_last", [0, 1])
@pytest.mark.parametrize("skip_shape", ["full", "unit", "flat"])
@pytest.mark.parametrize("has_bias", [False, True])
def test_skip_group_norm(channels_last, skip_shape, has_bias):
    generator = np.random.default_rng(3)
    image, gamma, beta, bias = (
        generator.standard_normal(shape).astype(np.float32) for shape in [(2, 5, 3, 6), (6,), (6,), (6,)]
    )
    skip = generator.standard_normal((2, 5, 3, 6) if skip_shape == "full" else (2, 1, 1, 6)).astype(np.float32)
    total = image + skip + bias * has_bias
    groups = total.reshape(2, 15, 3, 2)
    centred = groups - groups.mean((1, 3), keepdims=True)
    normal = (centred / np.sqrt((centred**2).mean((1, 3), keepdims=True) + 1e-4)).reshape(image.shape) * gamma + beta

    def placed(array):
        return array if channels_last or array.ndim != 4 else np.ascontiguousarray(array.transpose(0, 3, 1, 2))

    inputs = [placed(image), gamma, beta, skip.reshape(2, 6) if skip_shape == "flat" else placed(skip)]
    form = {"groups": 3, "activation": 0, "epsilon": 1e-4, "channels_last": channels_last}
    case = Case("SkipGroupNorm", [*inputs, *[bias] * has_bias], 2, form)
    model, feeds = build(case, False)
    y, s = perpend.compile(model)(**feeds)
    np.testing.assert_allclose(y, placed(normal), 1e-4, 1e-5)
    np.testing.assert_allclose(s, placed(total), 1e-6)


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "message"),
    [
        (
            "MatMulNBits",
            [[3, 32], [5, 2, 8], [5, 2], None, [32]],
            {"N": 5, "K": 32, "bits": 4, "block_size": 16},
            r"the number of the block of each column \(g_idx\): i32 or i64 of shape \[32\], got f32 of shape \[32\]",
        ),
        ("MatMulNBits", [[3, 32], [5, 2, 8], [5, 2]], {"N": 5, "K": 32, "bits": 3, "block_size": 16}, "2, 4 or 8 bits"),
        ("Attention", [[2, 3, 7], [7, 12]], {"num_heads": 2, "do_rotary": 1}, "do_rotary"),
        ("MultiHeadAttention", [[2, 3, 12], [2, 3, 12], [2, 3, 12]], {"num_heads": 5}, "5 heads"),
        (
            "DecoderMaskedMultiHeadAttention",
            [[2, 1, 12], [2, 1, 12], [2, 1, 12], [2]],
            {"num_heads": 3},
            r"input 3: expected a tensor of rank 2, got shape \[2\]",
        ),
        ("CDist", [[2, 3], [4, 3]], {"metric": "cosine"}, "cosine"),
        ("GatherBlockQuantized", [[2, 8], [3], [2, 1]], {"gather_axis": 1, "block_size": 16}, "another axis"),
        ("MatMulBnb4", [[2, 8], [9], [1]], {"N": 2, "K": 8, "block_size": 16, "quant_type": 1}, "a magnitude per"),
    ],
)
def test_refusals(op, inputs, attributes, message):
    arrays = [None if shape is None else np.zeros(shape, np.float32) for shape in inputs]
    if op == "MatMulNBits":
        arrays[1] = arrays[1].astype(np.uint8)
    model, _ = model_of(op, arrays, **attributes)
    with pytest.raises(perpend.CompileError, match=message):
        perpend.compile(model)


# Two layouts of blocks of 16 tokens, as compressed rows.
ROWS = np.array([[0, 1, 3, 5, 8], [0, 1, 3, 6, 9]], np.int32)
COLUMNS = np.array([[0, 0, 1, 1, 2, 1, 2, 3, -1], [0, 0, 1, 0, 1, 2, 0, 2, 3]], np.int32)


def sparse_case(new, lengths, **attributes):
    batch = len(lengths)
    lengths = np.array(lengths, np.int32)
    arrays = [normal(batch, new, 64), normal(batch, new, 32), normal(batch, new, 32)]
    arrays += [normal(batch, 2, 64, 16), normal(batch, 2, 64, 16), ROWS, COLUMNS]
    arrays += [np.array([lengths.max()], np.int32), lengths]
    if attributes:
        arrays += [normal(64, 8), normal(64, 8)]
    symbols = {(position, 0): "b" for position in (0, 1, 2, 3, 4, 8)}
    attributes |= {"num_heads": 4, "kv_num_heads": 2, "sparse_block_size": 16}
    return Case("SparseAttention", arrays, 3, attributes, symbols=symbols)


def expected_with_shared_caches(model, feeds):
    """ONNX Runtime wants the past and the present in the same memory."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array.copy()) for name, array in feeds.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    binding.bind_output("output0")
    binding.bind_ortvalue_output("output1", values["input3"])
    binding.bind_ortvalue_output("output2", values["input4"])
    session.run_with_iobinding(binding)
    return [output.numpy().copy() for output in binding.get_outputs()]  # while the memory is there


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "symbolic"])
@pytest.mark.parametrize(
    "case",
    [
        sparse_case(40, [40, 40]),
        sparse_case(1, [51, 51]),
        sparse_case(1, [64, 64]),
        sparse_case(1, [49, 49], do_rotary=1),
        sparse_case(24, [24, 24], do_rotary=1, rotary_interleaved=1),
    ],
    ids=str,
)
def test_sparse_attention(case, dynamic):
    model, feeds = build(case, dynamic)
    compare(case, perpend.compile(model)(**feeds), expected_with_shared_caches(model, feeds))


def test_sparse_attention_of_different_lengths():
    """Each sequence as if it were alone; ONNX Runtime's kernel gives the shorter ones something else."""
    model, feeds = build(sparse_case(1, [51, 33]), dynamic=True)
    compiled = perpend.compile(model)
    whole = compiled(**feeds)
    for batch, length in enumerate(feeds["input8"]):
        alone = {name: array[batch : batch + 1] if name[-1] in "012348" else array for name, array in feeds.items()}
        alone["input7"] = np.array([length], np.int32)
        for got, wanted in zip(whole, compiled(**alone), strict=True):
            np.testing.assert_allclose(got[batch : batch + 1], wanted, 2e-5, 2e-5)


def test_a_table_of_embeddings_has_rows():
    node = onnx.helper.make_node("TorchEmbedding", ["w", "i"], ["y"], "node", domain="com.microsoft")
    inputs = [
        onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, []),
        onnx.helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
    ]
    graph = onnx.helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
    opsets = [onnx.helper.make_opsetid("", 20), onnx.helper.make_opsetid("com.microsoft", 1)]
    with pytest.raises(perpend.CompileError, match=r"expected a table \[rows, size\], got shape \[\]"):
        perpend.compile(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9))


def test_predicted_tokens_fit_the_source() -> None:
    """They are a token more than the source has behind the place: a run checks what only a run knows."""
    inputs = [np.arange(5), np.arange(2), np.array([2]), np.arange(4)]
    symbols = {(0, 0): "s", (1, 0): "c", (3, 0): "p"}
    case = Case("BifurcationDetector", inputs, 2, {"min_ngram_size": 1, "max_ngram_size": 2}, symbols=symbols)
    model, feeds = build(case, dynamic=True)
    compiled = perpend.compile(model)
    assert compiled(**feeds)[0].tolist() == [0, 1, 0]
    for change in ({"input2": np.array([1])}, {"input3": np.arange(5)}, {"input3": np.arange(0)}):
        with pytest.raises(ValueError, match="pred_tokens: expected"):
            compiled(**feeds | change)
    case.inputs.pop()
    model, feeds = build(case, dynamic=True)
    with pytest.raises(ValueError, match="cur_tokens: expected at least one token"):
        perpend.compile(model)(**feeds | {"input1": np.arange(0)})
