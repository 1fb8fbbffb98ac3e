"""Operators with random values: moments, ranges, seeds, and the same values however they are computed."""

import numpy as np
import onnx
import perpend
import pytest

COUNT = 100_003


def model_of(body, version=22):
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {version}]>\nrandom {body}')


def run(body, *inputs, opt_level=3, version=22):
    return perpend.compile(model_of(body, version), opt_level=opt_level)(*inputs)


def interpret(body, *inputs):
    results = perpend.import_model(model_of(body)).evaluate(*inputs)
    return results[0] if len(results) == 1 else tuple(results)


def fill(operator, kind="float", **attributes):
    listed = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    return f"() => ({kind}[?] y) {{ y = {operator} <{listed}> () }}"


def test_words_are_those_that_are_documented():
    def mix(z):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    state = mix(int(np.float64(5).view(np.uint64)))
    words = [mix((state + (k + 1) * 0x9E3779B97F4A7C15) % 2**64) for k in range(6)]
    expected = np.array([word >> 40 for word in words], np.float32).reshape(2, 3) * np.float32(2**-24)
    body = "() => (float[2, 3] y) { y = RandomUniform <shape = [2, 3], seed = 5.0> () }"
    np.testing.assert_array_equal(run(body), expected)
    np.testing.assert_array_equal(interpret(body), expected)


@pytest.mark.parametrize(("code", "kind"), [(1, "float"), (10, "float16"), (11, "double"), (16, "bfloat16")])
def test_uniform(code, kind):
    y = run(fill("RandomUniform", kind, shape=[COUNT], low=-1.0, high=3.0, seed=7.0, dtype=code))
    y = np.asarray(y).astype(np.float64)
    assert y.min() >= -1 and y.max() <= 3
    assert abs(y.mean() - 1) < 0.02 and abs(y.var() - 16 / 12) < 0.03
    neighbours = np.corrcoef(y[:-1], y[1:])[0, 1]
    assert abs(neighbours) < 0.02


@pytest.mark.parametrize(("code", "kind"), [(1, "float"), (11, "double")])
def test_normal(code, kind):
    body = fill("RandomNormal", kind, shape=[COUNT], mean=2.0, scale=3.0, dtype=code)
    z = (run(body).astype(np.float64) - 2) / 3
    assert np.isfinite(z).all()
    assert abs(z.mean()) < 0.02 and abs(z.var() - 1) < 0.03
    assert abs((z**3).mean()) < 0.05 and abs((z**4).mean() - 3) < 0.15
    assert abs((np.abs(z) < 1).mean() - 0.6827) < 0.01


def test_a_seed_gives_its_stream():
    first = run(fill("RandomUniform", shape=[100], seed=1.0))
    np.testing.assert_array_equal(first, run(fill("RandomUniform", shape=[100], seed=1.0)))
    assert not (first == run(fill("RandomUniform", shape=[100], seed=2.0))).any()


def test_nodes_without_a_seed_differ_and_runs_do_not():
    body = (
        "() => (float[50] a, float[50] b) { a = RandomUniform <shape = [50]> () b = RandomUniform <shape = [50]> () }"
    )
    program = perpend.compile(model_of(body))
    a, b = program()
    assert not (a == b).any()
    np.testing.assert_array_equal(program()[0], a)


EVERYWHERE = {
    "uniform": "(float[n, 7] x) => (float[n, 7] y) { y = RandomUniformLike <low = 2.0, seed = 3.0> (x) }",
    "normal": "(float[n, 7] x) => (float[n, 7] y) { y = RandomNormalLike <seed = 3.0> (x) }",
    "bernoulli": "(float[n, 7] x) => (float[n, 7] y) { y = Bernoulli <seed = 3.0> (x) }",
    "multinomial": "(float[n, 7] x) => (int32[n, 5] y) { y = Multinomial <sample_size = 5, seed = 3.0> (x) }",
    "dropout": """(float[n, 7] x) => (float[n, 7] y, bool[n, 7] mask) <float ratio = {0.3}, bool on = {1}> {
      y, mask = Dropout <seed = 3> (x, ratio, on) }""",
}


@pytest.mark.parametrize("name", EVERYWHERE)
@pytest.mark.parametrize("extent", [0, 1, 13])
def test_equal_everywhere(name, extent):
    x = np.random.default_rng(1).random((extent, 7)).astype(np.float32)
    expected = np.atleast_1d(interpret(EVERYWHERE[name], x))
    for opt_level in range(4):
        got = np.atleast_1d(run(EVERYWHERE[name], x, opt_level=opt_level))
        np.testing.assert_allclose(np.asarray(got, np.float64), np.asarray(expected, np.float64), 1e-5, 1e-5)


def test_bernoulli_hits_as_often_as_asked():
    p = np.repeat(np.array([0, 0.1, 0.5, 0.9, 1], np.float32), 20_000).reshape(5, -1)
    y = run("(float[n, m] p) => (int64[n, m] y) { y = Bernoulli <dtype = 7> (p) }", p)
    assert y.dtype == np.int64 and set(np.unique(y)) == {0, 1}
    np.testing.assert_allclose(y.mean(axis=1), p[:, 0], atol=0.02)
    assert (y[0] == 0).all() and (y[-1] == 1).all()


def test_multinomial_takes_classes_as_often_as_their_weights():
    weights = np.array([[0.2, 0, 0.5, 0.3], [0, 1, 0, 0]])
    with np.errstate(divide="ignore"):
        x = (np.log(weights) + 5).astype(np.float32)
    y = run("(float[n, m] x) => (int64[n, s] y) { y = Multinomial <sample_size = 20000, dtype = 7> (x) }", x)
    assert y.shape == (2, 20_000)
    for row, expected in zip(y, weights, strict=True):
        counts = np.bincount(row, minlength=4)
        assert (counts[expected == 0] == 0).all()
        np.testing.assert_allclose(counts / 20_000, expected, atol=0.02)


DROPOUT = "(float[n] x, float ratio, bool on) => (float[n] y, bool[n] mask) { y, mask = Dropout (x, ratio, on) }"


@pytest.mark.parametrize("ratio", [0, 0.25, 0.75])
def test_dropout_trains(ratio):
    x = np.random.default_rng(2).standard_normal(COUNT).astype(np.float32)
    y, mask = run(DROPOUT, x, np.float32(ratio), np.bool_(True))
    assert abs(mask.mean() - (1 - ratio)) < 0.01
    np.testing.assert_allclose(y, np.where(mask, x / np.float32(1 - ratio), 0), rtol=1e-6)


def test_dropout_without_training_is_the_identity():
    x = np.random.default_rng(2).standard_normal(101).astype(np.float32)
    y, mask = run(DROPOUT, x, np.float32(0.5), np.bool_(False))
    np.testing.assert_array_equal(y, x)
    assert mask.all()


@pytest.mark.parametrize(("is_test", "kept"), [(0, 0.6), (1, 1.0)])
def test_dropout_of_early_operator_sets_trains_unless_it_tests(is_test, kept):
    body = f"(float[n] x) => (float[n] y, float[n] mask) {{ y, mask = Dropout <is_test = {is_test}, ratio = 0.4> (x) }}"
    y, mask = run(body, np.ones(COUNT, np.float32), version=6)
    assert mask.dtype == np.float32 and abs(mask.mean() - kept) < 0.01
    np.testing.assert_allclose(y, mask / kept, rtol=1e-2)


REFUSED = {
    "() => (int64[2] y) { y = RandomUniform <shape = [2], dtype = 7> () }": "floating-point",
    "() => (float[n] y) { y = RandomUniform () }": "expected the attribute 'shape', which is required",
    "() => (float[n] y) { y = RandomNormal <shape = [-1]> () }": "extents that are not negative",
    "(float[n] x) => (int32[n, s] y) { y = Multinomial (x) }": r"expected logarithms of weights \[batch, classes\]",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refusals(body):
    with pytest.raises(perpend.CompileError, match=REFUSED[body]):
        run(body)


def test_no_classes_is_an_error_of_the_run():
    body = "(float[n, m] x) => (int32[n, s] y) { y = Multinomial (x) }"
    with pytest.raises(ValueError, match="samples of no classes"):
        run(body, np.zeros((2, 0), np.float32))
