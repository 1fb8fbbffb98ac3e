"""Malformed models by mutation of small valid ones: in bytes, in fields of the protobuf messages, and in meaning."""

import random

import onnx
from google.protobuf.descriptor import FieldDescriptor
from onnx import TensorProto, helper

# Subgraphs, functions, texts, lists, data-dependent extents, quantised numbers: what a parser or an importer walks.
VALID = [
    """branches (bool c, float[n] x) => (float[m] y) <float[2] w = {1.0, 2.0}> {
  y = If (c) < then_branch = a () => (float[p] r) { r = Concat <axis = 0> (x, w) },
               else_branch = b () => (float[q] s) { s = Neg (x) }>
}""",
    """loop (float[2] x) => (float[2] y, float[k, 2] all) <int64 count = {3}, bool yes = {1}> {
  y, all = Loop (count, yes, x) <
    body = body (int64 i, bool go, float[2] h) => (bool again, float[2] next, float[2] out) {
      again = Identity (go)
      next = Add (h, h)
      out = Sin (next)
    }>
}""",
    """scan (float[2] x, float[t, 2] xs) => (float[2] y, float[t, 2] ys) {
  y, ys = Scan <num_scan_inputs = 1,
    body = body (float[2] h, float[2] e) => (float[2] next, float[2] out) {
      next = Add (h, e)
      out = Identity (next)
    }> (x, xs)
}""",
    """windows (float[1, 4, 8, 8] x) => (float[a, b] y) <float[8, 4, 3, 3] w = {{{}}}, int64[2] flat = {{0, -1}}> {{
  c = Conv <pads = [1, 1, 1, 1], strides = [2, 2], kernel_shape = [3, 3]> (x, w)
  p = MaxPool <kernel_shape = [2, 2]> (c)
  y = Reshape (p, flat)
}}""".format(", ".join(["0.5"] * 288)),
    """moves (float[n, 6] x, int64[k] which) => (float[a, b] y, int64[2, c] where_y)
  <int64[1] zero = {0}, int64[1] two = {2}, int64[1] axis = {1}, int64[2] tiles = {2, 3},
   int64[4] pads = {0, 1, 1, 0}>
 {
  s = Slice (x, zero, two, axis)
  g = Gather <axis = 1> (s, which)
  p = Pad (g, pads)
  t = Transpose <perm = [1, 0]> (p)
  y = Tile (t, tiles)
  where_y = NonZero (y)
}""",
    """choice (float[3, 9] x, float[2, 9] u, int64[2, 9] i) => (float[3, k] v, int64[3, k] at, float[3, 9] z)
  <int64[1] count = {4}> {
  v, at = TopK <axis = -1, largest = 1> (x, count)
  z = ScatterElements <axis = 0, reduction = "add"> (x, i, u)
}""",
    """texts (string[n] x) => (string[n, k] y, int64[n] count) {
  s = StringNormalizer <case_change_action = "LOWER"> (x)
  y, count = StringSplit <delimiter = ","> (s)
}""",
    """quantised (uint8[2, 4] a, float[4, 3] b) => (float[2, 3] y)
  <float scale = {0.5}, uint8 zero = {3}> {
  q = QuantizeLinear (b, scale, zero)
  p = MatMulInteger (a, q, zero, zero)
  f = Cast <to = 1> (p)
  y = Softmax <axis = 1> (f)
}""",
    """recurrent (float[t, 1, 3] x) => (float[t, 1, 1, 2] y, float[1, 1, 2] h)
  <float[1, 8, 3] w = {{{}}}, float[1, 8, 2] r = {{{}}}> {{
  y, h = LSTM <hidden_size = 2> (x, w, r)
}}""".format(", ".join(["0.25"] * 24), ", ".join(["0.5"] * 16)),
    """lists (float[n, 4] x) => (float[k, 4] y) <int64[2] parts = {1, 2}, int64 at = {0}> {
  s = SplitToSequence <axis = 0> (x)
  e = SequenceAt (s, at)
  t = SequenceInsert (s, e)
  y = ConcatFromSequence <axis = 0> (t)
}""",
]
FUNCTIONS = """<ir_version: 9, opset_import: ["" : 18, "local" : 1]>
called (float[n] x) => (float[n] y) {
  t = local.outer <scale = 2.0> (x)
  y = local.inner (t)
}
<domain: "local", opset_import: ["" : 18, "local" : 1]>
outer <scale> (a) => (b) {
  s = Constant <value_float: float = @scale> ()
  c = Mul (a, s)
  b = local.inner (c)
}
<domain: "local", opset_import: ["" : 18]>
inner (a) => (b) { b = Abs (a) }
"""
NUMBERS = [0, 1, -1, 2, 3, 7, 127, 255, 2**16, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63)]
TEXTS = ["", "x", "y", "\0", "a" * 5000, "../../../etc/passwd", "Loop", "If", "local", "inner", "ai.onnx.ml", "é%s%n"]
REALS = [0.0, -0.0, -1.0, float("inf"), float("-inf"), float("nan"), 1e38, 1e-45]


def valid_models():
    models = [onnx.parser.parse_model('<ir_version: 9, opset_import: ["" : 20]>\n' + text) for text in VALID]
    return [*models, onnx.parser.parse_model(FUNCTIONS)]


def messages_of(message):
    """The message and all messages inside it."""
    found = [message]
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for part in value if field.is_repeated else [value]:
                found.extend(messages_of(part))
    return found


def mutate_bytes(draw, data):
    """Bits, bytes, lengths: what a damaged file looks like."""
    data = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 5, 20])):
        at = draw.randrange(len(data))
        kind = draw.randrange(5)
        if kind == 0:
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            data[at] = draw.choice([0, 1, 0x7F, 0x80, 0xFF])
        elif kind == 2:
            del data[at : at + draw.randrange(1, 9)]
        elif kind == 3:
            data[at:at] = data[at : at + draw.randrange(1, 30)]
        else:
            data[at:at] = bytes([0xFF] * 9 + [1])
        if not data:
            return b"\0"
    return bytes(data)


def new_scalar(draw, field, names):
    if field.type == FieldDescriptor.TYPE_STRING:
        return draw.choice([*TEXTS, *names])
    if field.type == FieldDescriptor.TYPE_BYTES:
        return draw.choice([*TEXTS, *names]).encode()
    if field.cpp_type in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
        return draw.choice(REALS)
    if field.type == FieldDescriptor.TYPE_ENUM:
        return draw.choice([x.number for x in field.enum_type.values])
    number = draw.choice(NUMBERS)
    if field.cpp_type == FieldDescriptor.CPPTYPE_INT32:
        return (number + 2**31) % 2**32 - 2**31
    return abs(number) if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64 else number


def mutate_field(draw, message, names):
    """One field of one message: another number or name, an element more or less, absent, or a part of another one."""
    fields = message.ListFields()
    if not fields:
        return
    field, value = draw.choice(fields)
    if not field.is_repeated:
        if field.type == FieldDescriptor.TYPE_MESSAGE or draw.random() < 0.2:
            message.ClearField(field.name)
        else:
            setattr(message, field.name, new_scalar(draw, field, names))
        return
    at, kind = draw.randrange(len(value)), draw.randrange(3)
    if kind == 0:
        del value[at]
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        value.add().CopyFrom(value[at])
    elif kind == 1:
        value.append(new_scalar(draw, field, names))
    else:
        value[at] = new_scalar(draw, field, names)


def mutate_fields(draw, model):
    parts = messages_of(model)
    names = [name for node in model.graph.node for name in [*node.input, *node.output, node.op_type]]
    for _ in range(draw.choice([1, 1, 2, 3])):
        mutate_field(draw, draw.choice(parts), names)
    return model.SerializeToString()


# Models whose parts fit together and whose meaning is absurd.


def model_of(nodes, inputs, outputs, constants=(), **options):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "hostile",
        [info(name, kind, dims) for name, kind, dims in inputs],
        [info(name, kind, None) for name, kind in outputs],
        list(constants),
    )
    return helper.make_model(
        graph, ir_version=9, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("local", 1)], **options
    )


def numbers(name, *values):
    return helper.make_tensor(name, TensorProto.INT64, [len(values)], values)


FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def one_node(op, constants, dims=(2, 3), **attributes):
    node = helper.make_node(op, ["x", *[c.name for c in constants]], ["y"], **attributes)
    return model_of([node], [("x", FLOAT, list(dims))], [("y", FLOAT)], constants)


def absurd_extents():
    """Results or inputs that no memory holds, and extents that are negative or do not fit."""
    big = 2**62
    for sizes in [(big, 3), (2**31, 2**31), (-5, 2), (2**40, 2**40)]:
        yield one_node("Expand", [numbers("sizes", *sizes)], dims=(1, 1))
        yield one_node("Tile", [numbers("sizes", *sizes)])
        yield one_node("Reshape", [numbers("sizes", *sizes)])
        yield one_node("Relu", [], dims=sizes)
        node = helper.make_node("ConstantOfShape", ["sizes"], ["y"])
        yield model_of([node], [], [("y", FLOAT)], [numbers("sizes", *sizes)])
    yield one_node("Pad", [numbers("pads", big, big, big, big)])
    yield one_node("Pad", [numbers("pads", -big, 0, -big, 0)])
    yield one_node("OneHot", [numbers("depth", 2**50), helper.make_tensor("v", FLOAT, [2], [0, 1])], axis=-1)
    yield one_node("Slice", [numbers("from", -(2**63)), numbers("to", 2**63 - 1), numbers("a", 0), numbers("s", 0)])
    yield one_node("Slice", [numbers("from", 0), numbers("to", 2), numbers("a", 0), numbers("s", -(2**63))])
    for pads in [[2**62] * 4, [-9] * 4]:
        yield one_node("MaxPool", [], dims=(1, 1, 5, 5), kernel_shape=[2, 2], pads=pads)
    for kernel in [[0, 0], [-1, 2], [2**40, 2**40], [2**62, 1]]:
        yield one_node("AveragePool", [], dims=(1, 1, 5, 5), kernel_shape=kernel)
        yield one_node("MaxPool", [], dims=(1, 1, 5, 5), kernel_shape=[1, 1], strides=kernel)
    scalars = [helper.make_tensor(name, INT64, [], [v]) for name, v in [("a", 0), ("b", 2**62), ("c", 1)]]
    yield model_of([helper.make_node("Range", ["a", "b", "c"], ["y"])], [], [("y", INT64)], scalars)
    zero = [helper.make_tensor(name, INT64, [], [v]) for name, v in [("a", 0), ("b", 5), ("c", 0)]]
    yield model_of([helper.make_node("Range", ["a", "b", "c"], ["y"])], [], [("y", INT64)], zero)
    yield one_node("Split", [], dims=(2, 3), num_outputs=2**40)
    yield one_node("Transpose", [], perm=[0, 2**40])
    yield one_node("Unsqueeze", [numbers("axes", *range(2000))])


def endless_loops():
    """Loops with counts that no machine ends, whose bodies have nothing that varies, and shapes that grow."""
    yes = helper.make_tensor("yes", TensorProto.BOOL, [], [True])
    for count in [2**31, 2**63 - 1, -1]:
        for keeps in (False, True):
            body = helper.make_graph(
                [
                    helper.make_node("Identity", ["go"], ["again"]),
                    helper.make_node(
                        "Concat" if keeps else "Add", ["h", "h"], ["next"], **({"axis": 0} if keeps else {})
                    ),
                ],
                "body",
                [
                    helper.make_tensor_value_info("i", INT64, []),
                    helper.make_tensor_value_info("go", TensorProto.BOOL, []),
                    helper.make_tensor_value_info("h", FLOAT, None),
                ],
                [
                    helper.make_tensor_value_info("again", TensorProto.BOOL, []),
                    helper.make_empty_tensor_value_info("next"),
                ],
            )
            start = helper.make_tensor("start", FLOAT, [2], [1, 2])
            node = helper.make_node("Loop", ["count", "yes", "start"], ["y"], body=body)
            many = helper.make_tensor("count", INT64, [], [count])
            yield model_of([node], [], [("y", FLOAT)], [many, yes, start])


def field(number, content):
    """A length-delimited field of the wire format; Python's own writer refuses messages that are nested deeper."""
    size, prefix = len(content), [number << 3 | 2]
    while size >= 0x80:
        prefix.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*prefix, size]) + content


def nested(depth):
    """An If in an If in an If."""
    graph = field(2, b"branch") + field(1, helper.make_node("Identity", ["x"], ["r"]).SerializeToString())
    result = field(12, helper.make_empty_tensor_value_info("r").SerializeToString())
    for _ in range(depth):
        branches = b""
        for name in (b"then_branch", b"else_branch") if len(graph) < 2000 else (b"then_branch",):
            kind = b"\xa0\x01\x05"  # type: GRAPH
            branches += field(5, field(1, name) + field(6, graph + result) + kind)
        graph = field(2, b"branch") + field(1, field(1, b"c") + field(2, b"r") + field(4, b"If") + branches)
    model = model_of([], [("c", TensorProto.BOOL, []), ("x", FLOAT, [2])], [("r", FLOAT)])
    model.graph.ClearField("name")
    rest = model.graph.SerializeToString()
    model.ClearField("graph")
    return model.SerializeToString() + field(7, graph + rest)


def recursive_functions():
    """Functions that call themselves, each other, and themselves by way of a branch."""

    def function(name, *callees):
        nodes = [helper.make_node(callee, ["a"], ["b"], domain="local") for callee in callees]
        sets = [helper.make_opsetid("", 20), helper.make_opsetid("local", 1)]
        return helper.make_function("local", name, ["a"], ["b"], nodes, sets)

    call = helper.make_node("f", ["x"], ["y"], domain="local")
    for functions in ([function("f", "f")], [function("f", "g"), function("g", "f")], [function("f"), function("f")]):
        yield model_of([call], [("x", FLOAT, [2])], [("y", FLOAT)], functions=functions)
    # Each function calls the one below it ten times: 10^9 nodes once they are all replaced.
    tower = []
    for level in range(9):
        nodes = [helper.make_node(f"f{level + 1}" if level < 8 else "Abs", [f"v{k}"], [f"v{k + 1}"],
                                  domain="local" if level < 8 else "") for k in range(10)]  # fmt: skip
        sets = [helper.make_opsetid("", 20), helper.make_opsetid("local", 1)]
        tower.append(helper.make_function("local", f"f{level}", ["v0"], ["v10"], nodes, sets))
    first = helper.make_node("f0", ["x"], ["y"], domain="local")
    yield model_of([first], [("x", FLOAT, [2])], [("y", FLOAT)], functions=tower)


def escaping_data():
    """External data outside of the model's folder, or with places that do not exist."""
    for location, offset, length in [
        ("../../../../etc/passwd", 0, 8),
        ("/etc/passwd", 0, 8),
        ("model.onnx", -1, 8),
        ("model.onnx", 2**63 - 1, 8),
        ("model.onnx", 0, 2**63 - 1),
        ("nothing.bin", 0, 8),
        (".", 0, 8),
        ("", 0, 8),
    ]:
        tensor = TensorProto(name="w", data_type=FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
        for key, value in [("location", location), ("offset", offset), ("length", length)]:
            tensor.external_data.add(key=key, value=str(value))
        yield model_of([helper.make_node("Add", ["x", "w"], ["y"])], [("x", FLOAT, [2])], [("y", FLOAT)], [tensor])


def absurd_models():
    yield from absurd_extents()
    yield from endless_loops()
    yield from recursive_functions()
    yield from escaping_data()


def hostile_models(count, seed):
    """`count` models as bytes, each with a name that says where it comes from: the absurd ones, then mutations."""
    made = [(f"absurd {number}", model.SerializeToString()) for number, model in enumerate(absurd_models())]
    made += [(f"nested {depth}", nested(depth)) for depth in (3, 5, 30, 100, 3000)]
    valid = [model.SerializeToString() for model in valid_models()]
    for number in range(count - len(made)):
        draw = random.Random(f"{seed} {number}")
        data = valid[number % len(valid)]
        if number % 3 == 0:
            made.append((f"bytes {number}", mutate_bytes(draw, data)))
        else:
            made.append((f"fields {number}", mutate_fields(draw, onnx.load_from_string(data))))
    return made[:count]
