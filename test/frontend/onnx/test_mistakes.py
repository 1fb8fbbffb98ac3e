"""Nodes that do not fit their operands: the message names the node, what was expected and got, and every operand."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from onnx import TensorProto, helper

F, I8, I64, S = TensorProto.FLOAT, TensorProto.INT8, TensorProto.INT64, TensorProto.STRING
U8, I32 = TensorProto.UINT8, TensorProto.INT32


def model(operation: str, operands: list[Any], attributes: dict[str, Any], version: int = 21) -> Any:
    """An operand is a pair of type and shape, or an array: an initializer."""
    names = [f"in{index}" for index in range(len(operands))]
    inputs, constants = [], []
    for name, operand in zip(names, operands, strict=True):
        if isinstance(operand, np.ndarray):
            constants.append(onnx.numpy_helper.from_array(operand, name))
        else:
            inputs.append(helper.make_tensor_value_info(name, *operand))
    count = attributes.pop("outputs", 1)
    outputs = [helper.make_empty_tensor_value_info(f"out{index}") for index in range(count)]
    node = helper.make_node(operation, names, [output.name for output in outputs], name="here", **attributes)
    graph = helper.make_graph([node], "mistake", inputs, outputs, constants)
    sets = [helper.make_opsetid("", version), *([helper.make_opsetid(node.domain, 1)] if node.domain else [])]
    return helper.make_model(graph, opset_imports=sets, ir_version=10)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


IMAGE = (F, [1, 3, 8, 8])
GRAMS = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0],
         "ngram_indexes": [0, 1], "pool_int64s": [3, 4]}  # fmt: skip
QUERY = (F, [1, 3, 8])


def microsoft(**attributes: Any) -> dict[str, Any]:
    return {"domain": "com.microsoft", **attributes}


def nbits(**changes: Any) -> dict[str, Any]:
    """A product of 64 numbers of 4 bits, in blocks of 32, with six columns."""
    return microsoft(**{"K": 64, "N": 6, "bits": 4, "block_size": 32, **changes})


WEIGHTS, SCALES = (U8, [6, 2, 16]), (F, [6, 2])
CONVOLUTION = [(U8, [1, 2, 5, 5]), (F, []), (U8, []), (I8, [4, 2, 3, 3]), (F, []), (I8, []), (F, []), (U8, [])]

# The operator, its operands, its attributes, and what the message says besides the node and the operands.
MISTAKES: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("Range", [(F, []), (F, [2]), (F, [])], {}, "arange: expected one number each for start, limit and step, got "
     "shape [2]\nHINT: give scalars, with a Reshape for example"),
    *[("LinearAttention", [QUERY, QUERY, (F, [1, 3, 12]), (F, state)],
       microsoft(q_num_heads=2, kv_num_heads=2, update_rule="linear", outputs=2),
       f"linear attention: expected a state [1, 2, 4, 6], got shape {state}\nHINT: a state is [batch, kv_num_heads, "
       "size of a key, size of a value]")
      for state in ([1, 2, 6, 4], [2, 1, 4, 6], [48], [1, 2, 24, 1])],
    ("NGramRepeatBlock", [(I64, [2, 5]), (F, [2, 9])], microsoft(ngram_size=0),
     "expected a positive ngram_size, got 0"),
    ("NhwcMaxPool", [(I8, [3, 4])], microsoft(kernel_shape=[2]),
     "expected a tensor [batch, .., channels] of rank 3 or more, got shape [3, 4]"),
    ("GroupNorm", [(F, [3]), (F, [3]), (F, [3])], microsoft(groups=1, activation=0),
     "expected a tensor of rank 2 or more, with a batch and channels, got shape [3]"),
    ("BiasSplitGelu", [(F, []), (F, [])], microsoft(), "expected a tensor of rank 1 or more, got a scalar"),
    ("QLinearGlobalAveragePool", [(I8, [3, 4]), *[np.array(1, np.float32), np.array(0, np.int8)] * 2],
     microsoft(), "expected a tensor of rank 3 or more, got shape [3, 4]"),
    *[(op, operands, microsoft(outputs=outputs, **attributes),
       f"input {index}: expected a tensor of rank {rank}, got shape {operands[index][1]}\nHINT: correct the shape at "
       "this node, with a Reshape for example")
      for op, operands, outputs, attributes, index, rank in [
          ("MultiHeadAttention", [QUERY, QUERY, QUERY, (F, [1, 24])], 1, {"num_heads": 2}, 3, 1),
          ("MultiHeadAttention", [QUERY, QUERY, QUERY, (F, [24]), (TensorProto.INT32, [1]), (F, [3, 3])], 1,
           {"num_heads": 2}, 5, 4),
          ("Attention", [QUERY, (F, [8, 24]), (F, [1, 24])], 1, {"num_heads": 2}, 2, 1),
          ("GroupQueryAttention", [QUERY, QUERY, QUERY, (F, [1, 2, 0]), (F, [1, 2, 0, 4]), (TensorProto.INT32, [1]),
                                   (TensorProto.INT32, [])], 3, {"num_heads": 2, "kv_num_heads": 2}, 3, 4),
          ("EmbedLayerNormalization", [(TensorProto.INT32, [1, 3]), (TensorProto.INT32, [1, 3]), (F, [9]), (F, [5, 7]),
                                       (F, [2, 7]), (F, [7]), (F, [7])], 2, {}, 2, 2),
      ]],
    ("LSTM", [(F, [3, 2, 4]), (F, [1, 20, 4]), (F, [1, 20, 5])], {"hidden_size": -1},
     "expected a hidden_size of 5, as the recurrent weights have, got -1"),
    ("Add", [(F, [2, 3]), (F, [4, 5])], {},
     "cannot broadcast the shapes [2, 3] and [4, 5] together: expected extents that are equal or 1, got 2 and 4 "
     "for dimension 0"),
    ("Mul", [(F, [2, 3]), (F, [4])], {}, "got 3 and 4 for dimension 1"),
    ("Add", [(F, [2, 3]), (I64, [2, 3])], {}, "expected inputs of one element type, got f32 and i64"),
    ("MatMul", [(F, [2, 3]), (F, [2, 3])], {},
     "expected dimension 1 of [2, 3] to be dimension 0 of [2, 3], got 3 and 2"),
    ("MatMul", [(F, [2, 2, 3]), (F, [3, 3, 4])], {}, "cannot broadcast the shapes [2] and [3] together"),
    ("MatMul", [(F, []), (F, [2])], {}, "expected tensors of rank 1 or more, got shapes [] and [2]"),
    ("Gemm", [(F, [2, 3]), (F, [3, 4]), (F, [5])], {}, "cannot broadcast the shapes [2, 4] and [5] together"),
    ("Concat", [(F, [2, 3]), (F, [4, 5])], {"axis": 0},
     "concat along axis 0: expected dimension 1 to be 3, as in [2, 3], got shape [4, 5]"),
    ("Concat", [(F, [2, 3]), (F, [2])], {"axis": 0}, "expected inputs of one rank, got shapes [2, 3] and [2]"),
    ("Concat", [(F, [2, 3]), (I64, [2, 3])], {"axis": 0},
     "expected inputs of one element type, got f32 and i64\nHINT: cast them to one type"),
    ("Concat", [(F, [2, 3]), (F, [2, 3])], {"axis": 4}, "expected an axis from -2 to 1, got 4"),
    ("Reshape", [(F, [2, 3]), ints(7)], {},
     "cannot reshape a tensor of shape [2, 3] to [7]: the numbers of elements differ, 6 and 7"),
    ("Reshape", [(F, [2, 3]), ints(4, -1)], {}, "cannot reshape a tensor of shape [2, 3] to [4, -1]"),
    ("Reshape", [(F, [2, 3]), ints(-1, -1)], {}, "at most one dimension may be -1, got [-1, -1]"),
    ("Split", [(F, [3, 4]), ints(5, -1)], {"axis": 1, "outputs": 2},
     "expected positions inside of a tensor of shape [3, 4], got positions 0 to 4 of dimension 1, which has the "
     "extent 4"),
    ("Split", [(F, [3, 4]), ints(-1, 5)], {"axis": 1, "outputs": 2},
     "got -1 positions of dimension 1"),
    ("Conv", [IMAGE, (F, [4, 2, 3, 3])], {},
     "expected an input with 2 channels, for a filter [4, 2, 3, 3] in 1 groups, got 3 in [1, 3, 8, 8]"),
    ("Conv", [(F, [1, 8, 8, 3]), (F, [4, 3, 3, 3])], {},
     "expected an input with 3 channels, for a filter [4, 3, 3, 3] in 1 groups, got 8 in [1, 8, 8, 3]\n"
     "HINT: channels are dimension 1: transpose the input"),
    ("Conv", [IMAGE, (F, [4, 3, 3])], {}, "expected an input of rank 3 or more and a filter of the same rank"),
    ("Conv", [IMAGE, (F, [4, 3, 3, 3]), (F, [5])], {},
     "expected a vector of 4 elements, for dimension 1 of [1, 4, 6, 6], got 5"),
    ("Conv", [IMAGE, (F, [4, 3, 3, 3])], {"pads": [1, 1]},
     "expected 2 positive strides and dilations and 4 pads, got strides [1, 1], dilations [1, 1] and pads [1, 1]"),
    ("Conv", [IMAGE, (F, [4, 3, 3, 3])], {"kernel_shape": [5, 5]},
     "expected kernel_shape [3, 3], the window of the filter, got [5, 5]"),
    ("ConvTranspose", [IMAGE, (F, [4, 2, 3, 3])], {}, "expected an input with 4 channels"),
    ("MaxPool", [IMAGE], {"kernel_shape": [3]},
     "expected kernel_shape with one entry per dimension after the channels, got [3]"),
    ("BatchNormalization", [(F, [1, 3, 4]), *[(F, [4])] * 4], {}, "expected a vector of 3 elements"),
    ("Transpose", [(F, [2, 3])], {"perm": [0, 1, 2]}, "expected a permutation of 2 dimensions, got [0, 1, 2]"),
    ("Softmax", [(F, [2, 3])], {"axis": 3}, "expected an axis from -2 to 1, got 3"),
    ("ArgMax", [(F, [])], {"axis": 1}, "expected a tensor with dimensions, got one of rank 0 and the axis 1"),
    ("Squeeze", [(F, [2, 3]), ints(0)], {}, "expected dimension 0 of [2, 3] to be 1, got 2"),
    ("Gather", [(F, [2, 3]), (F, [2])], {}, "expected integer indices, got elements of type f32\nHINT: cast them"),
    ("Split", [(F, [5, 3]), ints(2, 2)], {"axis": 0, "outputs": 2}, "the sizes [2, 2] add up to 4, dimension 0 has 5"),
    ("Sqrt", [(I64, [2])], {}, "expected floating-point elements, got i64"),
    ("Abs", [(S, [2])], {}, "no arithmetic on elements of type string\nHINT: cast them to numbers first"),
    ("TopK", [(F, [2, 3]), ints(5)], {"outputs": 2}, "expected k of at most 3, got 5"),
    ("LSTM", [(F, [3, 2, 4]), (F, [1, 20, 4]), (F, [1, 20, 5]), (F, [40])], {"hidden_size": 5},
     "expected biases of rank 2, got shape [40]"),
    ("ConvTranspose", [IMAGE, (F, [3, 2, 3, 3])], {"output_padding": [1]},
     "expected output_padding and output_shape of 2 numbers, got [1] and []"),
    ("DequantizeLinear", [(I8, []), (F, [3])], {"axis": 1},
     "expected one number for a tensor of shape [], got parameters of shape [3]"),
    ("MaxUnpool", [(F, [1, 1, 2, 2]), (I64, [1, 1, 2, 2])], {"kernel_shape": [2, 2], "strides": [1]},
     "strides: expected 2 numbers, got 1"),
    ("TfIdfVectorizer", [(I64, [4])], {**GRAMS, "max_skip_count": 65},
     "a max_skip_count from 0 to 64, got 1 and 65"),
    ("TfIdfVectorizer", [(I64, [4])], {**GRAMS, "ngram_indexes": [0, 1 << 24]}, "got 16777216 and 0"),
    ("OneHot", [(I64, [2, 3]), ints(3, 4), np.zeros(2, np.float32)], {},
     "depth: expected one integer, got a tensor of shape [2]"),
    ("QuantizeLinear", [(F, [4, 8]), (F, [3]), (U8, [3])], {},
     "expected a vector of 8 elements, for dimension 1 of [4, 8], got 3\nHINT: give one number, or one for each index"),
    ("QuantizeLinear", [(F, [4, 8]), (F, [4, 8]), (U8, [4, 8])], {},
     "expected one scale or a vector of them, got shape [4, 8]\nHINT: scales of blocks need the attribute block_size"),
    ("QuantizeLinear", [(F, [4, 8]), (F, []), (U8, [8])], {}, "zero point: expected shape [], got [8]\nHINT: correct"),
    ("QuantizeLinear", [(F, [4, 8]), (F, [8]), (U8, [1])], {}, "zero point: expected shape [8], got [1]\nHINT: "),
    ("QuantizeLinear", [(F, [4, 8]), (F, []), (F, [])], {},
     "expected integers of at most 16 bits or small floats, got f32\nHINT: the zero point has the type of the result"),
    ("QuantizeLinear", [(F, [4, 8]), (F, [4, 4])], {"block_size": -2, "axis": 1},
     "expected a block_size of 0 (no blocks) or more, got -2"),
    ("QuantizeLinear", [(F, [4, 8]), (F, [])], {"block_size": 4, "axis": 1},
     "a scale for each block of 4 elements of a tensor of shape [4, 8], got shape []\nHINT: leave out block_size"),
    ("QuantizeLinear", [(F, [4, 8]), (F, [4, 2])], {"block_size": 3, "axis": 1},
     "expected 3 blocks of 3 along dimension 1 of [4, 8], got 2\nHINT: each has a scale"),
    ("DequantizeLinear", [(I8, [8, 6]), (F, [3, 6])], {"block_size": 4, "axis": 0},
     "expected 2 blocks of 4 along dimension 0 of [8, 6], got 3\nHINT: each has a scale"),
    ("DequantizeLinear", [(I8, [8, 6]), (F, [2, 6]), (I8, [1, 6])], {"block_size": 4, "axis": 0},
     "zero point: expected shape [2, 6], got [1, 6]\nHINT: the sizes are known here"),
    ("DequantizeLinear", [(I8, [8, 6]), (F, []), (U8, [])], {},
     "expected inputs of one element type, got i8 and u8 for 'in0' and 'in2'\nHINT: cast them to one type"),
    ("QLinearConv", [*CONVOLUTION, (F, [4])], {}, "expected a bias of type i32, got f32\nHINT: it counts in steps of"),
    ("QLinearConv", [*CONVOLUTION, (I32, [3])], {}, "expected a vector of 4 elements, for dimension 1 of [1, 4, 3, 3]"),
    *[("MatMulNBits", [(F, [3, 64]), b, SCALES], nbits(), f"expected packed numbers of {got}\nHINT: ")
      for b, got in [((U8, [5, 2, 16]), "shape [6, 2, 16], got [5, 2, 16]"),
                     ((U8, [2, 6, 16]), "shape [6, 2, 16], got [2, 6, 16]"),
                     ((U8, [6, 2, 8]), "shape [6, 2, 16], got [6, 2, 8]"),
                     ((I8, [6, 2, 16]), "type u8, got i8"), ((F, [6, 2, 16]), "type u8, got f32")]],
    *[("MatMulNBits", [(F, [3, 64]), WEIGHTS, (F, shape)], nbits(), f"expected scales of shape [6, 2], got {shape}")
      for shape in ([6, 1], [2, 6], [11])],
    *[("MatMulNBits", [(F, [3, 64]), WEIGHTS, SCALES, z], nbits(), f"expected {got}\nHINT: ")
      for z, got in [((U8, [6, 2]), "packed zero points of shape [6, 1], got [6, 2]"),
                     ((I8, [6, 1]), "packed zero points of type u8, got i8"),
                     ((F, [6, 1]), "zero points of shape [6, 2], got [6, 1]")]],
    ("MatMulNBits", [(F, [3, 64]), WEIGHTS, SCALES], nbits(block_size=24), "a block size that is a power of two"),
    ("MatMulNBits", [(F, [3, 64]), WEIGHTS, SCALES], nbits(bits=3), "expected 2, 4 or 8 bits"),
    ("MatMulNBits", [(F, [3, 48]), WEIGHTS, SCALES], nbits(), "expected dimension 1 of [3, 48] to be dimension 1"),
]  # fmt: skip

TYPES = {I8: "i8", U8: "u8", F: "f32", I32: "i32", I64: "i64", S: "string"}


def described(operands: list[Any]) -> str:
    texts = []
    for index, operand in enumerate(operands):
        kind, shape = ({"f": "f32", "b": "i8"}.get(operand.dtype.char, "i64"), list(operand.shape)) if isinstance(
            operand, np.ndarray) else (TYPES[operand[0]], operand[1])  # fmt: skip
        texts.append(f"'in{index}' {kind} {shape}")
    return "inputs: " + ", ".join(texts[:8]) + (f" and {len(texts) - 8} more" if len(texts) > 8 else "")


@pytest.mark.parametrize(("operation", "operands", "attributes", "message"), MISTAKES)
def test_one_message_that_names_everything(
    operation: str, operands: list[Any], attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(perpend.CompileError) as raised:
        perpend.import_model(model(operation, operands, dict(attributes)))
    text, (before, _, cure) = str(raised.value), message.partition("\nHINT: ")
    assert text.startswith(f"node 'here' ({operation}): ") and before in text
    assert text.count("node '") == 1 and "poison" not in text
    assert described(operands) in text
    assert cure in text.partition("\nhint: ")[2]


@pytest.mark.parametrize("size", [2, 9])
def test_elements_share_bytes(size: int) -> None:
    """Nine elements of 4 bits lie in five bytes."""
    weights = TensorProto(name="w", data_type=TensorProto.INT4, dims=[3, 3], raw_data=bytes(size))
    scale = onnx.numpy_helper.from_array(np.float32(1), "s")
    node = helper.make_node("DequantizeLinear", ["w", "s"], ["y"], name="here")
    graph = helper.make_graph([node], "bytes", [], [helper.make_empty_tensor_value_info("y")], [weights, scale])
    given = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    said = f"node 'here' .*initializer 'w': expected 5 bytes .* got {size}\nhint: elements of 4 bits share bytes"
    with pytest.raises(perpend.CompileError, match=said):
        perpend.import_model(given)


def refused(text: str, *shapes: tuple[int, ...]) -> list[str]:
    """What the compiled model and the interpreter say of inputs of these shapes."""
    given = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> ' + text)
    inputs, messages = [np.ones(shape, np.float32) for shape in shapes], []
    for run in (perpend.compile(given), perpend.import_model(given).evaluate):
        with pytest.raises(ValueError) as raised:
            run(*inputs)
        messages.append(str(raised.value))
    return messages


def test_extents_that_do_not_fit_when_they_are_bound() -> None:
    text = "f (float[n, m] x, float[k, l] z) => (float[p, q] y) { y = MatMul (x, z) }"
    compiled, _ = refused(text, (2, 3), (4, 5))
    assert re.search(r"input '[xz]', dimension [01]: expected [34], got [34]", compiled)
    text = "f (float[n] x, float[m] z) => (float[p] y) { w = Concat <axis = 0> (x, x) y = Add (w, z) }"
    compiled, _ = refused(text, (2,), (5,))
    assert ">= 0" not in compiled and "= 0" not in compiled


def test_requirements_read_as_inequalities() -> None:
    text = "f (float[n, m] x) => (float[p] y) { s = Constant <value_ints = [6]> () y = Reshape (x, s) }"
    compiled, _ = refused(text, (2, 4))
    where = "where n = 2 (input 'x', dimension 0), m = 4 (input 'x', dimension 1)"
    assert f"node 'y' needs m*n = 6, got 8, {where}; hint: choose extents" in compiled


SHAPED = "f (float[n, 4] x, int64[2] s, float[3, 4] z) => (float[p, q] y) "


@pytest.mark.parametrize(
    ("nodes", "sizes", "messages"),
    [
        ("{ [first] r = Reshape (x, s) y = Add (r, z) }", [2, 6], ["node 'y'", "expected first_dim0 >= 3, got 2"]),
        ("{ [first] r = Reshape (x, s) y = Add (r, z) }", [2, 5],
         ["node 'first'", "expected first_dim0*first_dim1 >= 4*n, got 10"]),
        ("{ r = Reshape (x, s) y = Add (r, z) }", [2, 6], ["expected r_dim0 >= 3, got 2"]),
        ("{ [net__Expand_1] y = Expand (z, s) }", [7, 4],
         ["dimension 0 of the shape must be 1 or 3", "expected net_Expand_1_dim0 from 1 to 3, got 7"]),
        ("{ [net__Expand_1] y = Expand (z, s) }", [2, 4],
         ["expected net_Expand_1_dim0 <= 1 or net_Expand_1_dim0 >= 3"]),
        ("{ [e] y = Expand (z, s) }", [-3, 4], ["expected a size of at least 0 for e_dim0, got -3"]),
    ],
)  # fmt: skip
def test_sizes_from_data_are_named_after_their_node(nodes: str, sizes: list[int], messages: list[str]) -> None:
    """By the node's name, or that of its output if it has none, and the dimension."""
    given = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> ' + SHAPED + nodes)
    given.graph.node[-1].name = given.graph.node[-1].name.replace("__", "/")  # which the syntax of models has not
    run = perpend.compile(given)
    with pytest.raises(ValueError) as raised:
        run(np.ones((3, 4), np.float32), np.array(sizes), np.ones((3, 4), np.float32))
    for message in messages:
        assert message in str(raised.value)


def test_a_number_that_is_no_extent_is_named_after_its_node() -> None:
    text = "f (float[k] x, int64[1] count) => (float[p] y) { [best] y, at = TopK (x, count) }"
    run = perpend.compile(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> ' + text))
    with pytest.raises(ValueError, match=r"'best': .*k is larger than dimension 0 .*: expected k >= best_k0, got 3"):
        run(np.ones(3, np.float32), np.array([5]))


def test_what_must_be_divisible_is_said_so() -> None:
    text = """f (float[1, 1, h, 4] x) => (float[p, q, r, s] y) {
      half = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x)
      by = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () whole = Resize (half, , by) y = Add (x, whole) }"""
    compiled, _ = refused(text, (1, 1, 5, 4))
    said = "input 'x', dimension 2: node 'y' needs h divisible by 2, got 5; hint: its shape is [1, 1, h, 4]"
    assert said in compiled


def test_an_operator_of_a_user() -> None:
    operator = perpend.Operator(
        "mine",
        "Keep",
        lambda x: x[1:],
        inputs=[("f32", ["n"])],
        outputs=[("f32", ["kept + 2"])],
    )
    head = '<ir_version: 8, opset_import: ["" : 17, "mine" : 1]> '
    text = head + "f (float[n] x) => (float[p] y) { y = mine.Keep (x) }"
    given = onnx.parser.parse_model(text)
    loaded = perpend.import_model(given, operators=[operator])
    for run in (perpend.compile(given, operators=[operator]), loaded.evaluate):
        with pytest.raises(ValueError) as raised:
            run(np.ones(2, np.float32))
        assert "call0" not in str(raised.value) and ">= 0" not in str(raised.value)
        assert re.search(r"'Keep': .*expected \w+ >= 2, got 1", str(raised.value))
    wrong = head + "f (float[n, 3] x) => (float[p] y) { y = mine.Keep (x) }"
    with pytest.raises(perpend.CompileError, match=r"node 'y' \(Keep\): input 0: expected f32 \[n\], got f32 \[n, 3\]"):
        perpend.import_model(onnx.parser.parse_model(wrong), operators=[operator])


def test_a_kernel_that_is_stretched_beyond_measure() -> None:
    text = """f (float[4] x) => (float[n] y) {
      by = Constant <value_floats = [1.0e-20]> ()
      [small] y = Resize <antialias = 1, mode = "linear"> (x, , by) }"""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 18]> ' + text)
    with pytest.raises(perpend.CompileError, match=r"node 'small' .*stretched by one over the scale has too many"):
        perpend.compile(model)
