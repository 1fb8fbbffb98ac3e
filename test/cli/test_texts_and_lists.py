"""Texts, sequences and optional values as files of perpend run, check and bench."""

import resource
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli.tool import reject, succeed, value
from onnx import TensorProto, helper, parser

HEAD = '<ir_version: 8, opset_import: ["" : 20]>\n'
WORDS = ["grün", "", "a longer text", "𝄞"]


def save(folder: Path, text: str) -> Path:
    onnx.save(parser.parse_model(HEAD + text), folder / "model.onnx")
    return folder / "model.onnx"


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return save(
        tmp_path,
        """f (string[n] x) => (string[n] y, bool[n, n] same) {
      y = StringConcat (x, x)
      axes = Constant <value_ints = [1]> ()
      column = Unsqueeze (x, axes)
      same = Equal (x, column)
    }""",
    )


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    return save(
        tmp_path,
        """f (seq(float[a, 2]) s, float[b, 2] x) => (seq(float[a, 2]) longer, int64 count, float[c, 2] all) {
      longer = SequenceInsert (s, x)
      count = SequenceLength (longer)
      all = ConcatFromSequence <axis = 0> (longer)
    }""",
    )


def test_texts(tmp_path: Path, texts: Path) -> None:
    np.save(tmp_path / "x.npy", np.array(WORDS))
    text = succeed("run", texts, "--input", "x.npy", "--output-dir", "out", folder=tmp_path)
    assert "input  x: string [4]" in text and 'y: string [4]  first: "' in text
    assert np.load(tmp_path / "out" / "y.npy").tolist() == [word * 2 for word in WORDS]
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "same.npy"), np.eye(4, dtype=bool))
    np.save(tmp_path / "x.npy", np.array([], dtype="<U3"))
    succeed("run", texts, "--input", "x.npy", "--output-dir", "out", folder=tmp_path)
    assert np.load(tmp_path / "out" / "y.npy").shape == (0,)


def test_printed_texts_are_readable(tmp_path: Path) -> None:
    """UTF-8 as it is, for terminals; what a terminal would obey is escaped."""
    kind = onnx.TensorProto.STRING
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["größe\x1b[31m"], ["länge\n*/"])],
        "mödell",
        [onnx.helper.make_tensor_value_info("größe\x1b[31m", kind, ["n"])],
        [onnx.helper.make_tensor_value_info("länge\n*/", kind, ["n"])],
    )
    opsets = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.array(['Grüße\x07"', "日本語" * 20]))
    text = succeed("run", "m.onnx", "--input", "x.npy", folder=tmp_path)
    assert text.splitlines() == [
        "input  größe\\x1B[31m: string [2]",
        'länge\\n*/: string [2]  first: "Grüße\\x07\\"" "' + ("日本語" * 14)[:40] + '"...',
    ]
    assert "länge\\n*/: string [2]  equal" in succeed("check", "m.onnx", "--input", "x.npy", folder=tmp_path)
    assert "model 'mödell'" in (text := succeed("inspect", "m.onnx", folder=tmp_path))
    assert "input    größe\\x1B[31m: string [n]" in text
    succeed("compile", "m.onnx", "-o", "m.so", folder=tmp_path)
    header = (tmp_path / "m.h").read_text()
    assert "/* output 0: länge\\n* /, string [n] */" in header
    message = reject("run", "m.onnx", "--input", "größe\x1b[31m=nothing.npy", folder=tmp_path)
    assert "cannot read 'nothing.npy'" in message
    assert "\\x1B" in reject("run", "m.onnx", "--input", "a\x1b=x.npy", folder=tmp_path)


def test_texts_in_fortran_order(tmp_path: Path) -> None:
    model = save(tmp_path, "f (string[n, m] x) => (string[n, m] y) { y = Identity (x) }")
    words = np.asfortranarray(np.array([["a", "bb", "c"], ["d", "e", "ff"]]))
    np.save(tmp_path / "x.npy", words)
    succeed("run", model, "--input", "x.npy", "--output-dir", "out", folder=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), words)


@pytest.mark.parametrize("kind", ["texts", "lists"])
def test_check_and_bench(tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(kind)
    symbols = ["--symbol", "n=3"] if kind == "texts" else []
    text = succeed("check", model, "--against", "interpreter,onnxruntime", *symbols, folder=tmp_path)
    assert text.count("the outputs agree") == 2
    assert "median ms" in succeed("bench", model, "--time", 20, folder=tmp_path)


def test_maps_are_matrices(tmp_path: Path) -> None:
    nodes = [helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_int64s=[7, -1, 3])]
    maps = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    output = helper.make_value_info("y", helper.make_sequence_type_proto(maps))
    graph = helper.make_graph(nodes, "maps", [value("x", ["n", 3])], [output])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=8), tmp_path / "model.onnx")
    for rows in [4, 0]:
        symbols = ["--symbol", f"n={rows}"]
        text = succeed("check", "model.onnx", "--against", "interpreter,onnxruntime", *symbols, folder=tmp_path)
        assert text.count("the outputs agree") == 2 and f"y: f32 [{rows}, 3]" in text


def test_maps_are_two_inputs(tmp_path: Path) -> None:
    nodes = [helper.make_node("CastMap", ["m"], ["y"], domain="ai.onnx.ml", map_form="SPARSE", max_map=4)]
    kind = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    graph = helper.make_graph(nodes, "maps", [helper.make_value_info("m", kind)], [value("y", [1, 4])])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=8), tmp_path / "model.onnx")
    np.save(tmp_path / "k.npy", np.array([3, 0]))
    np.save(tmp_path / "v.npy", np.array([2.5, -1], np.float32))
    inputs = ["--input", "m.keys=k.npy", "--input", "m.values=v.npy"]
    succeed("run", "model.onnx", *inputs, "--output-dir", "out", folder=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), np.float32([[-1, 0, 0, 2.5]]))
    text = succeed("check", "model.onnx", "--against", "interpreter,onnxruntime", *inputs, folder=tmp_path)
    assert text.count("the outputs agree") == 2


def test_lists(tmp_path: Path, lists: Path) -> None:
    parts = [np.arange(2 * rows, dtype=np.float32).reshape(rows, 2) for rows in [1, 3, 0]]
    (tmp_path / "s").mkdir()
    for number, part in enumerate(parts[:2]):
        np.save(tmp_path / "s" / f"{number}.npy", part)
    np.save(tmp_path / "x.npy", parts[2])
    run = ["run", lists, "--input", "s=s", "--input", "x=x.npy", "--output-dir", "out"]
    text = succeed(*run, folder=tmp_path)
    assert (
        "input  s: sequence of 2" in text and "longer: sequence of 3  first: f32 [1, 2] f32 [3, 2] f32 [0, 2]" in text
    )
    for number, part in enumerate(parts):
        np.testing.assert_array_equal(np.load(tmp_path / "out" / "longer" / f"{number}.npy"), part)
    (tmp_path / "s" / "1.npy").unlink()
    succeed(*run, folder=tmp_path)
    assert {path.name for path in (tmp_path / "out" / "longer").iterdir()} == {"0.npy", "1.npy"}


def file_names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_lists_replace_what_was_written_before(tmp_path: Path) -> None:
    """Numbers where lists were and lists where numbers were, longer and shorter; what is not ours stays."""
    plain = save(tmp_path, "f (seq(float[n]) s) => (seq(float[n]) y) { y = Identity (s) }").rename(tmp_path / "p.onnx")
    nested = save(tmp_path, "f (seq(seq(float[n])) s) => (seq(seq(float[n])) y) { y = Identity (s) }")
    for number in range(3):
        (tmp_path / "lists" / str(number)).mkdir(parents=True)
        (tmp_path / "numbers").mkdir(exist_ok=True)
        for part in range(2):
            np.save(tmp_path / "lists" / str(number) / f"{part}.npy", np.ones(number, np.float32))
        np.save(tmp_path / "numbers" / f"{number}.npy", np.ones(number, np.float32))

    def run(model: Path, folder: str) -> set[str]:
        succeed("run", model, "--input", folder, "--output-dir", "out", folder=tmp_path)
        return file_names(tmp_path / "out" / "y")

    assert run(nested, "lists") == file_names(tmp_path / "lists")
    (tmp_path / "numbers" / "2.npy").unlink()
    assert run(plain, "numbers") == {"0.npy", "1.npy"}
    assert not (tmp_path / "out" / "y" / "0").exists() and not (tmp_path / "out" / "y" / "2").exists()
    assert run(nested, "lists") == file_names(tmp_path / "lists")
    (tmp_path / "out" / "y" / "2" / "mine.txt").write_text("mine")
    assert run(plain, "numbers") == {"0.npy", "1.npy", "2/mine.txt"}


@pytest.mark.parametrize(("name", "folder"), [("..", "__"), (".", "_"), ("../up", ".._up"), ("/", "_"), ("a/b", "a_b")])
def test_names_do_not_leave_the_output_folder(tmp_path: Path, name: str, folder: str) -> None:
    numbers = helper.make_tensor_type_proto(TensorProto.FLOAT, ["n"])
    lists = helper.make_sequence_type_proto(numbers)
    for kind, outcome in ((numbers, {f"{name.replace('/', '_')}.npy"}), (lists, {f"{folder}/0.npy"})):
        values = [helper.make_value_info(value, kind) for value in ("x", name)]
        node = helper.make_node("Identity", ["x"], [name])
        graph = helper.make_graph([node], "names", values[:1], values[1:])
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx"
        )
        (tmp_path / "x").mkdir(exist_ok=True)
        np.save(tmp_path / "x" / "0.npy", np.ones(2, np.float32))
        given = "x" if kind is lists else "x/0.npy"
        (tmp_path / "runs" / "out").mkdir(parents=True)
        (tmp_path / "runs" / "1.npy").touch()
        succeed("run", "m.onnx", "--input", given, "--output-dir", "runs/out", folder=tmp_path)
        assert file_names(tmp_path / "runs") == {"1.npy", *(f"out/{path}" for path in outcome)}
        shutil.rmtree(tmp_path / "runs")


def test_no_texts_of_many_characters(tmp_path: Path) -> None:
    """They take no memory: an element would have 2 GB."""
    model = save(tmp_path, "f (string[n] x) => (string[n] y) { y = Identity (x) }")
    header = b"{'descr': '<U536870910', 'fortran_order': False, 'shape': (0,), }".ljust(117) + b"\n"
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00" + header)
    old = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, old[1]))
    try:
        assert "y: string [0]" in succeed("run", model, "--input", "x.npy", folder=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, old)


def test_elements_of_types_that_numpy_lacks(tmp_path: Path) -> None:
    """As of files that are inputs by themselves: bytes of the same size stand for what the format has no name for."""
    model = save(
        tmp_path,
        """f (seq(float8e5m2[n]) s, seq(seq(bfloat16[n])) t) => (int64 a, int64 b) {
      a = SequenceLength (s)
      b = SequenceLength (t)
    }""",
    )
    (tmp_path / "s").mkdir()
    (tmp_path / "t" / "0").mkdir(parents=True)
    np.save(tmp_path / "s" / "0.npy", np.array([1, 2], np.uint8))
    np.save(tmp_path / "t" / "0" / "0.npy", np.array([1, 2], np.uint16))
    text = succeed("run", model, "--input", "s", "--input", "t", folder=tmp_path)
    assert "a: i64 []" in text
    np.save(tmp_path / "t" / "0" / "0.npy", np.array([1, 2], np.float32))
    assert "expected bf16, got f32" in reject("run", model, "--input", "s", "--input", "t", folder=tmp_path)
    (tmp_path / "t" / "0" / "0.npy").unlink()
    (tmp_path / "t" / "0").rmdir()
    np.save(tmp_path / "t" / "0.npy", np.array([1, 2], np.uint16))
    message = "input 't': expected a folder for sequence, got a file"
    assert message in reject("run", model, "--input", "s", "--input", "t", folder=tmp_path)


def test_optional_values(tmp_path: Path) -> None:
    model = save(
        tmp_path,
        """f (optional(float[n]) x) => (bool has, optional(float[n]) y) {
      has = OptionalHasElement (x)
      y = Identity (x)
    }""",
    )
    (tmp_path / "x").mkdir()
    assert "optional of 0" in succeed("run", model, "--input", "x", "--output-dir", "out", folder=tmp_path)
    assert not np.load(tmp_path / "out" / "has.npy") and not list((tmp_path / "out" / "y").iterdir())
    np.save(tmp_path / "x" / "0.npy", np.ones(3, np.float32))
    succeed("run", model, "--input", "x", "--output-dir", "out", folder=tmp_path)
    assert np.load(tmp_path / "out" / "y" / "0.npy").tolist() == [1, 1, 1]


def test_errors(tmp_path: Path, texts: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(3, np.float32))
    assert "expected string, got f32" in reject("run", texts, "--input", "x.npy", folder=tmp_path)
    np.save(tmp_path / "x.npy", np.array(["a"], dtype=object))
    assert "unicode text, got '|O'" in reject("run", texts, "--input", "x.npy", folder=tmp_path)
    (tmp_path / "s").mkdir()
    assert "expected a file for string, got a folder" in reject("run", texts, "--input", "s", folder=tmp_path)
    numbers = save(tmp_path, "f (seq(float[a]) s) => (int64 count) { count = SequenceLength (s) }")
    np.save(tmp_path / "x.npy", np.array(["a"]))
    assert "expected a folder for sequence, got a file" in reject("run", numbers, "--input", "x.npy", folder=tmp_path)
    np.save(tmp_path / "s" / "1.npy", np.ones(3, np.float32))
    assert "has '1.npy', but no 0.npy" in reject("run", numbers, "--input", "s", folder=tmp_path)
    np.save(tmp_path / "s" / "0.npy", np.array(["a"]))
    assert "expected f32, got string" in reject("run", numbers, "--input", "s", folder=tmp_path)
    unknown = save(tmp_path, "f (string[n] x) => (string[n] y) { y = Identity (x) }")
    (tmp_path / "x.npy").write_bytes(
        b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\n"
        b"\x00\xd8\x00\x00"
    )
    assert "code point" in reject("run", unknown, "--input", "x.npy", folder=tmp_path)
