"""Operators of the domain ai.onnx.ml on numbers, against ONNX Runtime."""

import warnings

import numpy as np
import onnx
import onnxruntime
import perpend
import pytest

TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def build(op, inputs, outputs=1, version=1, **attributes):
    helper = onnx.helper
    types = [helper.np_dtype_to_tensor_dtype(array.dtype) for array in inputs]
    names = [f"input{index}" for index in range(len(inputs))]
    values = [
        helper.make_tensor_value_info(name, kind, ["n", *array.shape[1:]] if array.ndim == 2 else array.shape)
        for name, kind, array in zip(names, types, inputs, strict=True)
    ]
    produced = [helper.make_empty_tensor_value_info(f"output{index}") for index in range(outputs)]
    node = helper.make_node(op, names, [out.name for out in produced], "node", domain="ai.onnx.ml", **attributes)
    graph = helper.make_graph([node], "operator", values, produced)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8), dict(zip(names, inputs, strict=True))


def check(op, inputs, outputs=1, version=1, **attributes):
    model, feeds = build(op, inputs, outputs, version, **attributes)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, feeds)
    results = perpend.compile(model)(**feeds)
    for got, wanted in zip(results if isinstance(results, tuple) else (results,), expected, strict=True):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        if wanted.dtype.kind == "f":
            np.testing.assert_allclose(got, wanted, 2e-5, 2e-5)
        else:
            np.testing.assert_array_equal(got, wanted)


@pytest.fixture
def generator():
    return np.random.default_rng(0)


def floats(generator, *shape):
    return generator.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_features(generator, dtype):
    x = (floats(generator, 5, 3) * 3).astype(dtype)
    check("ArrayFeatureExtractor", [x, np.array([2, 0])])
    check("ArrayFeatureExtractor", [x[0], np.array([1])])
    check("Scaler", [x], offset=[0.5, 1.0, -1.0], scale=[2.0, 0.5, 3.0])
    check("Scaler", [x], offset=[0.5], scale=[2.0])
    check("FeatureVectorizer", [x, x[:, :2]], inputdimensions=[3, 2])
    if dtype in (np.float32, np.int64):
        kinds = ("floats", "float", float) if dtype == np.float32 else ("int64s", "int64", int)
        replaced = {f"replaced_value_{kinds[1]}": kinds[2](x[1, 1])}
        check("Imputer", [x], **{f"imputed_value_{kinds[0]}": [kinds[2](v) for v in (7, 8, 9)]}, **replaced)
        check("Imputer", [x], **{f"imputed_value_{kinds[0]}": [kinds[2](7)]}, **replaced)
    if dtype == np.float32:
        check("Binarizer", [x], threshold=0.3)


@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 1, 3), (5, 3, 1), (5, 2, 2), (1, 1, 1, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_features_of_any_rank(generator, shape, dtype):
    """A row for each element of the first dimension, as OneHotEncoder makes [n, 1, categories] of a column."""
    x = (floats(generator, *shape) * 3).astype(dtype)
    width = int(np.prod(shape[1:])) if len(shape) > 1 else shape[0]
    for cut in (width, width + 2, max(width - 1, 1)):
        check("FeatureVectorizer", [x, x], inputdimensions=[cut, width])


def test_features_of_encoded_columns():
    text = """<ir_version: 8, opset_import: ["" : 13, "ai.onnx.ml" : 1]>
    f (int64[n, 1] a, int64[n, 1] b) => (float[n, 5] y) {
      p = ai.onnx.ml.OneHotEncoder <cats_int64s = [1, 2, 3]> (a)
      q = ai.onnx.ml.OneHotEncoder <cats_int64s = [5, 7]> (b)
      y = ai.onnx.ml.FeatureVectorizer <inputdimensions = [3, 2]> (p, q) }"""
    model = perpend.compile(onnx.parser.parse_model(text))
    for rows in (2, 1, 0):
        got = model(np.array([[1], [3]])[:rows], np.array([[5], [7]])[:rows])
        np.testing.assert_array_equal(got, np.float32([[1, 0, 0, 1, 0], [0, 0, 1, 0, 1]])[:rows])


def test_missing_values_are_nan(generator):
    x = floats(generator, 5, 3)
    x[2, 1] = np.nan
    check("Imputer", [x], imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=float("nan"))


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizer(generator, norm):
    x = floats(generator, 6, 3)
    x[2], x[3] = 0, -np.abs(x[3])
    x[4] = [-1, 0, -2]
    check("Normalizer", [x], norm=norm)


def test_encoders(generator):
    x = generator.integers(0, 5, (7, 2))
    check("OneHotEncoder", [x], cats_int64s=[3, 1, 4], zeros=1)
    check("LabelEncoder", [x], version=2, keys_int64s=[3, 1, 4], values_floats=[0.5, 1.5, 2.5], default_float=-2.0)
    check("LabelEncoder", [x], version=2, keys_int64s=[3, 1], values_int64s=[30, 10])
    keys = np.array([0.5, np.nan, 2.0], np.float32)
    y = np.array([2.0, np.nan, 0.5, 1.0], np.float32)
    check("LabelEncoder", [y], version=4, keys_floats=keys.tolist(), values_int64s=[5, 6, 7], default_int64=9)
    tensors = {
        "keys_tensor": onnx.numpy_helper.from_array(np.array([1, 3], np.int64)),
        "values_tensor": onnx.numpy_helper.from_array(np.array([7.5, 8.5])),
        "default_tensor": onnx.numpy_helper.from_array(np.array([0.25])),
    }
    check("LabelEncoder", [x], version=4, **tensors)


def test_integers_keep_all_digits(generator):
    """Neighbours above 2^53, which are one number in double precision."""
    near = [2**53 + step for step in range(3)]
    x = np.array([[near[0], near[1]], [near[2], 7]])
    values = [2**62 + 1, -(2**60) - 1, 2**61 + 3]
    lists = {"keys_int64s": near, "values_int64s": values}
    check("LabelEncoder", [x], version=2, default_int64=2**59 + 1, **lists)
    tensors = {"keys_tensor": near, "values_tensor": values, "default_tensor": [2**59 + 1]}
    tensors = {name: onnx.numpy_helper.from_array(np.array(numbers)) for name, numbers in tensors.items()}
    check("LabelEncoder", [x], version=4, **tensors)
    check("Imputer", [x], imputed_value_int64s=values[:2], replaced_value_int64=near[1])


def test_unsigned_values_stay_positive():
    """A label of 8 bits becomes one of 64."""
    tensors = {
        "keys_tensor": np.array([1]),
        "values_tensor": np.array([7]),
        "default_tensor": np.array([200], np.uint8),
    }
    tensors = {name: onnx.numpy_helper.from_array(array) for name, array in tensors.items()}
    model, feeds = build("LabelEncoder", [np.array([1, 2])], 1, 4, **tensors)
    np.testing.assert_array_equal(perpend.compile(model)(**feeds), [7, 200])


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_linear_models(generator, transform):
    # The quantile needs probabilities.
    scale = 0.05 if transform == "PROBIT" else 1.0
    x = np.abs(floats(generator, 5, 3))
    weights = (np.abs(floats(generator, 12)) * scale).tolist()
    check("LinearRegressor", [x], coefficients=weights[:6], intercepts=[0.1, 0.2], targets=2, post_transform=transform)
    if transform in ("NONE", "PROBIT"):  # ONNX Runtime leaves the score of one target as it is otherwise
        check("LinearRegressor", [x], coefficients=weights[:3], post_transform=transform)
    form = {"coefficients": weights, "intercepts": [0.1, 0.2, 0.3, 0.4], "post_transform": transform}
    check("LinearClassifier", [x], 2, classlabels_ints=[3, 1, 4, 7], **form)
    check("LinearClassifier", [x], 2, classlabels_strings=["three", "one", "four", "seven"], **form)


def test_quantiles_of_0_and_1():
    x = np.array([[0.0], [1.0]], np.float32)
    check("LinearRegressor", [x], coefficients=[1.0], post_transform="PROBIT")


def test_one_score_for_two_classes(generator):
    form = {"coefficients": [0.5, -1.0, 0.25], "intercepts": [0.1], "post_transform": "LOGISTIC"}
    check("LinearClassifier", [floats(generator, 7, 3)], 2, classlabels_ints=[0, 1], **form)


KERNELS = [
    ("LINEAR", [0.0, 0.0, 0.0]),
    ("POLY", [0.5, 0.3, 3.0]),
    ("RBF", [0.4, 0.0, 0.0]),
    ("SIGMOID", [0.2, 0.1, 0.0]),
]


@pytest.mark.parametrize(("kernel", "parameters"), KERNELS)
def test_support_vectors(generator, kernel, parameters):
    x, vectors = floats(generator, 5, 3), floats(generator, 21).tolist()
    form = {"kernel_type": kernel, "kernel_params": parameters, "support_vectors": vectors}
    weights = floats(generator, 14).tolist()
    for one_class in [0, 1]:
        check("SVMRegressor", [x], coefficients=weights[:7], rho=[0.2], n_supports=7, one_class=one_class, **form)
    three = {"vectors_per_class": [2, 4, 1], "coefficients": weights, "rho": [0.1, -0.2, 0.3]}
    check("SVMClassifier", [x], 2, classlabels_ints=[5, 2, 8], **three, **form)
    two = {"vectors_per_class": [3, 4], "coefficients": weights[:7], "rho": [0.1], "classlabels_ints": [0, 1]}
    check("SVMClassifier", [x], 2, **two, **form)


@pytest.mark.parametrize(("kernel", "parameters"), KERNELS)
def test_probabilities_of_support_vectors(generator, kernel, parameters):
    x, vectors = floats(generator, 5, 3), floats(generator, 21).tolist()
    form = {"kernel_type": kernel, "kernel_params": parameters, "support_vectors": vectors}
    two = {"vectors_per_class": [3, 4], "rho": [0.1], "classlabels_ints": [0, 1]}
    weights = floats(generator, 7).tolist()
    check("SVMClassifier", [x], 2, prob_a=[-1.5], prob_b=[0.2], coefficients=weights, **two, **form)


@pytest.mark.parametrize("rows", [0, 1, 40])
@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize(("kernel", "parameters"), KERNELS)
def test_probabilities_of_duels(generator, classes, kernel, parameters, rows):
    per_class = generator.integers(1, 5, classes).tolist()
    duels, vectors = classes * (classes - 1) // 2, sum(per_class)
    form = {
        "kernel_type": kernel,
        "kernel_params": parameters,
        "vectors_per_class": per_class,
        "support_vectors": floats(generator, vectors * 3).tolist(),
        "coefficients": floats(generator, vectors * (classes - 1)).tolist(),
        "rho": floats(generator, duels).tolist(),
        "prob_a": (-2 * np.abs(floats(generator, duels))).tolist(),
        "prob_b": floats(generator, duels).tolist(),
        "classlabels_ints": list(range(10, 10 + classes)),
    }
    x = floats(generator, max(rows, 1), 3)
    if rows:
        check("SVMClassifier", [x], 2, **form)
    else:
        labels, scores = perpend.compile(build("SVMClassifier", [x], 2, **form)[0])(x[:0])
        assert (labels.shape, scores.shape) == ((0,), (0, classes))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
def test_probabilities_as_scikit_learn(generator, kernel):
    """A trained classifier of 4 classes; scikit-learn's solver computes in double precision."""
    svm = pytest.importorskip("sklearn.svm")
    x, y = generator.standard_normal((120, 3)).round(2), generator.integers(0, 4, 120)
    x += y[:, None] * [1.5, -0.5, 0.25]
    with warnings.catch_warnings(action="ignore"):
        trained = svm.SVC(kernel=kernel, probability=True, gamma=0.3, coef0=0.2, degree=2, random_state=0).fit(x, y)
    form = {
        "kernel_type": kernel.upper(),
        "kernel_params": [0.3, 0.2, 2.0],
        "vectors_per_class": trained.n_support_.tolist(),
        "support_vectors": trained.support_vectors_.ravel().tolist(),
        "coefficients": trained.dual_coef_.ravel().tolist(),
        "rho": trained.intercept_.tolist(),
        "prob_a": trained.probA_.tolist(),
        "prob_b": trained.probB_.tolist(),
        "classlabels_ints": [0, 1, 2, 3],
    }
    model, _ = build("SVMClassifier", [x.astype(np.float32)], 2, **form)
    labels, scores = perpend.compile(model)(x.astype(np.float32))
    np.testing.assert_allclose(scores, trained.predict_proba(x), atol=1e-4)
    np.testing.assert_array_equal(labels, trained.predict(x))


def test_linear_support_vectors(generator):
    x = floats(generator, 5, 3)
    weights, linear = floats(generator, 9).tolist(), {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0]}
    check("SVMRegressor", [x], coefficients=weights[:3], rho=[0.2], n_supports=0, **linear)
    check("SVMClassifier", [x], 2, classlabels_ints=[5, 2, 8], coefficients=weights, rho=[0.25], **linear)


def forest(generator, trees, depth, features, modes, votes, targets, early=0.2):
    """Random trees in the attributes of TreeEnsembleRegressor; some branches end early."""
    nodes = {
        name: [] for name in ["treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids"]
    }
    missing, leaves = [], {"treeids": [], "nodeids": [], "ids": [], "weights": []}

    def grow(tree, number, level, numbers):
        is_leaf = level == depth or (level > 0 and generator.random() < early)
        children = (0, 0) if is_leaf else (next(numbers), next(numbers))
        row = [tree, number, int(generator.integers(features)), round(float(generator.standard_normal()), 1)]
        row += ["LEAF" if is_leaf else modes[generator.integers(len(modes))], *children]
        for name, value in zip(nodes, row, strict=True):
            nodes[name].append(value)
        missing.append(int(generator.random() < 0.5))
        for target in generator.choice(targets, votes, replace=False) if is_leaf else []:
            for name, value in zip(
                leaves, [tree, number, int(target), float(generator.standard_normal())], strict=True
            ):
                leaves[name].append(value)
        for child in [] if is_leaf else children:
            grow(tree, child, level + 1, numbers)

    for tree in range(trees):
        grow(tree, 0, 0, iter(range(1, 1 << 20)))
    attributes = {f"nodes_{name}": values for name, values in nodes.items()}
    return {**attributes, "nodes_missing_value_tracks_true": missing}, leaves


def with_prefix(prefix, leaves):
    return {f"{prefix}_{name}": values for name, values in leaves.items()}


@pytest.mark.parametrize("modes", [MODES[:1], MODES[1:2], MODES])
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_tree_regressor(generator, modes, aggregate):
    x = np.round(floats(generator, 17, 5), 1)
    x[3, 2] = np.nan
    nodes, leaves = forest(generator, 7, 5, 5, modes, 2, 3)
    form = {"n_targets": 3, "aggregate_function": aggregate, "base_values": [0.5, -1.0, 2.0]}
    check("TreeEnsembleRegressor", [x], version=3, **nodes, **with_prefix("target", leaves), **form)


def test_deep_trees(generator):
    nodes, leaves = forest(generator, 40, 100, 5, MODES[:1], 1, 1, early=0.49)
    x = floats(generator, 17, 5)
    check("TreeEnsembleRegressor", [x], version=3, **nodes, **with_prefix("target", leaves), n_targets=1)
    check(
        "TreeEnsembleRegressor",
        [x.astype(np.float64)],
        version=3,
        **nodes,
        **with_prefix("target", leaves),
        n_targets=1,
    )


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
def test_tree_classifier(generator, transform):
    x = floats(generator, 17, 5)
    nodes, leaves = forest(generator, 5, 4, 5, MODES[:1], 3, 3)
    votes = with_prefix("class", leaves)
    check("TreeEnsembleClassifier", [x], 2, 3, **nodes, **votes, classlabels_int64s=[4, 1, 7], post_transform=transform)
    if transform in ("SOFTMAX", "SOFTMAX_ZERO"):  # ONNX Runtime leaves one score for two classes as it is
        return
    for sign in [1, -1]:
        nodes, leaves = forest(generator, 5, 4, 5, MODES[:1], 1, 1)
        if sign == 1:
            leaves["weights"] = [abs(weight) / 5 for weight in leaves["weights"]]
        votes = with_prefix("class", leaves)
        check(
            "TreeEnsembleClassifier", [x], 2, 3, **nodes, **votes, classlabels_int64s=[0, 1], post_transform=transform
        )


def test_two_classes_with_votes_take_the_higher(generator):
    """The definition's labels; ONNX Runtime gives the second class wherever its score is positive."""
    x = floats(generator, 17, 5)
    nodes, leaves = forest(generator, 5, 4, 5, MODES[:1], 2, 2)
    leaves["weights"] = [abs(weight) for weight in leaves["weights"]]
    form = {**nodes, **with_prefix("class", leaves), "classlabels_int64s": [3, 8]}
    model, feeds = build("TreeEnsembleClassifier", [x], 2, 3, **form)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    labels, scores = perpend.compile(model)(**feeds)
    np.testing.assert_allclose(scores, session.run(None, feeds)[1], 2e-5, 2e-5)
    np.testing.assert_array_equal(labels, np.array([3, 8])[scores.argmax(1)])


@pytest.mark.parametrize(
    ("op", "attributes", "message"),
    [
        ("LabelEncoder", {"keys_strings": ["a"], "values_int64s": [1]}, "keys' type, .*string.*, got f32"),
        ("LinearRegressor", {"coefficients": [1.0] * 4}, "4 features"),
    ],
)
def test_refusals(op, attributes, message):
    model, _ = build(op, [np.zeros((2, 3), np.float32)], version=2, **attributes)
    with pytest.raises(perpend.CompileError, match=message):
        perpend.compile(model)


def test_a_cycle_is_refused(generator):
    nodes, leaves = forest(generator, 1, 2, 3, MODES[:1], 1, 1)
    nodes["nodes_truenodeids"][0] = 0
    model, _ = build("TreeEnsembleRegressor", [floats(generator, 2, 3)], 1, 3, **nodes, **with_prefix("target", leaves))
    with pytest.raises(perpend.CompileError, match="cycle"):
        perpend.compile(model)


def zip_map(rank=2, **labels):
    """Softmax, and its results under labels."""
    helper = onnx.helper
    nodes = [
        helper.make_node("Softmax", ["x"], ["scores"], axis=-1),
        helper.make_node("ZipMap", ["scores"], ["maps"], domain="ai.onnx.ml", name="zip", **labels),
    ]
    key = onnx.TensorProto.STRING if "classlabels_strings" in labels else onnx.TensorProto.INT64
    value = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [])
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(key, value))
    output = helper.make_value_info("maps", maps)
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", "c"][-rank:])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    graph = helper.make_graph(nodes, "zip", [x], [helper.make_tensor_value_info("scores", 1, None), output])
    return helper.make_model(graph, opset_imports=sets, ir_version=10)


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize(
    "labels", [{"classlabels_int64s": [7, -1, 3]}, {"classlabels_strings": ["cat", "dog", "öl"]}, {"one": None}]
)
def test_maps_are_outputs(labels, rank, generator):
    labels = {"classlabels_int64s": [5]} if "one" in labels else labels
    columns = len(next(iter(labels.values())))
    model = zip_map(rank, **labels)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    compiled = perpend.compile(model)
    for rows in [4, 1, 0] if rank == 2 else [1]:
        x = floats(generator, rows, columns) if rank == 2 else floats(generator, columns)
        scores, maps = compiled(x)
        _, expected = session.run(None, {"x": x})
        assert len(maps) == len(expected)
        for got, wanted in zip(maps, expected, strict=True):
            assert list(got) == next(iter(labels.values())) and set(got) == set(wanted)
            np.testing.assert_allclose([got[key] for key in wanted], list(wanted.values()), 1e-5)
        assert isinstance(scores, np.ndarray)
    assert compiled.description["outputs"][1]["labels"] == next(iter(labels.values()))


@pytest.mark.parametrize("form", ["plain", "twice", "identity", "given"])
def test_maps_of_functions(form):
    """Functions are expanded before: their maps are outputs too, also those that they return twice or pass on."""
    helper = onnx.helper
    reference = helper.make_node("ZipMap", ["a"], ["b"], domain="ai.onnx.ml")
    reference.attribute.add(name="classlabels_int64s", ref_attr_name="labels", type=onnx.AttributeProto.INTS)
    outer = helper.make_node("ZipMap", ["x"], ["q"], domain="ai.onnx.ml", classlabels_int64s=[5, -7])
    passes = helper.make_node("Identity", ["b"], ["c"])
    body, result = {
        "plain": ([reference], ["b"]),
        "twice": ([reference], ["b", "b"]),
        "identity": ([passes, reference], ["c"]),
        "given": ([], ["a"]),
    }[form]
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    function = helper.make_function("local", "Zip", ["a"], result, body, sets, ["labels"])
    outputs = ["y", "z"][: len(result)]
    given = form == "given"
    call = helper.make_node("Zip", ["q" if given else "x"], outputs, "call", domain="local", labels=[5, -7])
    value = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [])
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(onnx.TensorProto.INT64, value))
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 2])
    infos = [helper.make_value_info(name, maps) for name in outputs]
    graph = helper.make_graph([outer, call] if given else [call], "zip", [x], infos)
    sets.append(helper.make_opsetid("local", 1))
    model = helper.make_model(graph, opset_imports=sets, functions=[function], ir_version=10)
    results = perpend.compile(model)(np.array([[1, 2], [3, 4]], np.float32))
    for got in results if form == "twice" else [results]:
        assert got == [{5: 1, -7: 2}, {5: 3, -7: 4}]


def test_maps_of_functions_are_nothing_but_outputs():
    model = zip_map(classlabels_int64s=[1, 2])
    helper, sets = onnx.helper, [onnx.helper.make_opsetid("", 17)]
    node = helper.make_node("SequenceLength", ["b"], ["c"], name="len")
    body = [helper.make_node("Identity", ["a"], ["b"]), node]
    model.functions.append(helper.make_function("local", "Length", ["a"], ["c"], body, sets))
    model.opset_import.append(helper.make_opsetid("local", 1))
    model.graph.node.append(helper.make_node("Length", ["maps"], ["length"], "call", domain="local"))
    model.graph.output.append(helper.make_tensor_value_info("length", onnx.TensorProto.INT64, []))
    with pytest.raises(perpend.CompileError, match=r"node 'call::len'.*can only be an output"):
        perpend.compile(model)


def test_maps_are_nothing_but_outputs():
    model = zip_map(classlabels_int64s=[1, 2])
    helper = onnx.helper
    model.graph.node.append(helper.make_node("SequenceLength", ["maps"], ["length"], name="len"))
    model.graph.output.append(helper.make_tensor_value_info("length", onnx.TensorProto.INT64, []))
    with pytest.raises(perpend.CompileError, match=r"node 'len'.*can only be an output(.|\n)*zipmap=False"):
        perpend.compile(model)
    model = zip_map(classlabels_int64s=[1, 2])
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 3
    with pytest.raises(perpend.CompileError, match=r"node 'zip'.*2 labels, got \[n, 3\]"):
        perpend.compile(model)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "c"
    with pytest.raises(ValueError, match=r"expected 2, got 3|a column for each of 2 labels"):
        perpend.compile(model)(np.ones((1, 3), np.float32))
