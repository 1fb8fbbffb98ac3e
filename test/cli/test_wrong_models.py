"""What the tool says about files that are no models."""

import gzip
import io
import pickle
import re
import zipfile
from pathlib import Path

import pytest
from cli.tool import DIGITS, F32, USER_ERROR, perpend, reject, save, value
from onnx import TensorProto, helper


def test_missing_file(tmp_path: Path) -> None:
    for command in ["compile", "run", "check", "bench", "inspect"]:
        output = ["-o", "x.so"] if command == "compile" else []
        message = reject(command, "nothing.onnx", *output, folder=tmp_path)
        assert "cannot read 'nothing.onnx': No such file" in message
    assert "is a folder" in reject("inspect", ".", folder=tmp_path)


def test_not_a_protobuf(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("this is no model")
    message = reject("compile", "text.onnx", "-o", "x.so", folder=tmp_path)
    assert "text.onnx" in message and "ONNX" in message
    (tmp_path / "empty.onnx").write_bytes(b"")
    assert "ONNX" in reject("compile", "empty.onnx", "-o", "x.so", folder=tmp_path)
    (tmp_path / "text.md").write_text("# A page\n")
    for option, page in [("--intrinsics", "add-an-intrinsic"), ("--operators", "bring-an-operator")]:
        message = reject("compile", DIGITS, "-o", "x.so", option, "text.md", folder=tmp_path)
        assert "text.md" in message and f"docs/howto/{page}.md" in message


def zipped(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "x")
    return file.getvalue()


@pytest.mark.parametrize(
    "contents, words",
    [
        (zipped("net/data.pkl"), "PyTorch.*perpend.compile.module"),
        (zipped("net/constants.pkl"), "TorchScript.*perpend.compile.module"),
        (zipped("serialized_exported_program.json"), "torch.export.*torch.export.load"),
        (zipped("model.weights.h5"), "Keras.*format=.onnx"),
        (zipped("readme.txt"), "zip archive.*unpack"),
        (pickle.dumps({"a": 1}, 2), "pickle.*perpend.compile.module"),
        (pickle.dumps({"a": 1}), "pickle.*skl2onnx"),
        (b"\x1c\0\0\0TFL3" + bytes(20), "TensorFlow Lite.*tf2onnx"),
        (b"\x08\x01\x12\x10 saved_model", "TensorFlow SavedModel.*tf2onnx"),
        (b"\x0a\x20\x0a\x01x\x12\x0bPlaceholder" + bytes(20), "TensorFlow graph.*tf2onnx"),
        (b"\x89HDF\r\n\x1a\n" + bytes(20), "HDF5.*Keras"),
        (b'\x30\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', "safetensors.*weights"),
        (b"GGUF" + bytes(20), "version 2 or 3 of GGUF, got 0.*convert"),
        (b"\x93NUMPY\x01\0" + bytes(20), "numpy array.*--input"),
        (gzip.compress(b"x", mtime=0), "gzip.*unpack"),
        (b'{"a": 1}', "JSON.*--operators"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS.*git lfs pull"),
        (b"<!DOCTYPE html>\n<p>Not found", "web page.*download"),
        (b"module {\n}\n", "module.*[.]mlir"),
        (b'<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {}', "text form.*onnx.save"),
        (b"Readme of a model, \xc3\xa9", "text"),
        (b"", "empty"),
        (bytes(range(256)), "not a complete ONNX file.*damaged"),
    ],
)
def test_other_files_are_recognised(tmp_path: Path, contents: bytes, words: str) -> None:
    (tmp_path / "model.onnx").write_bytes(contents)
    message = reject("inspect", "model.onnx", folder=tmp_path)
    assert "model.onnx" in message and message.count("hint: ") == 1
    assert re.search(words, message, re.DOTALL), message


def test_truncated_models(tmp_path: Path, tiny: Path) -> None:
    whole = tiny.read_bytes()
    for size in range(1, len(whole), 37):
        (tmp_path / "cut.onnx").write_bytes(whole[:size])
        done = perpend("inspect", "cut.onnx", folder=tmp_path)
        assert done.returncode == USER_ERROR and done.stderr.startswith("error: "), (size, done.stderr)
        assert "perpend bug" not in done.stderr


def test_unknown_operators_are_listed_together(tmp_path: Path) -> None:
    names = ["Alpha", "Beta", "Gamma", "Delta", "Epsilon"]
    nodes = [helper.make_node(name, ["x"], [f"{name}_out"], name=f"my_{name}", domain="strange") for name in names]
    model = save(tmp_path / "m.onnx", nodes, [value("x", [2])], [value("Alpha_out", [2])])
    message = reject("compile", model, "-o", "x.so", folder=tmp_path)
    assert "5 operators" in message
    assert all(name in message and f"my_{name}" in message for name in names)
    assert "hint: " in message


def test_unsupported_types(tmp_path: Path) -> None:
    for kind, name in [(TensorProto.COMPLEX64, "complex64"), (TensorProto.COMPLEX128, "complex128")]:
        nodes = [helper.make_node("Identity", ["x"], ["y"])]
        model = save(tmp_path / "m.onnx", nodes, [value("x", [2], kind)], [value("y", [2], kind)])
        message = reject("compile", model, "-o", "x.so", folder=tmp_path)
        assert "input 'x'" in message and name in message.lower()


def test_cyclic_graph(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Add", ["x", "b"], ["a"], name="first"),
        helper.make_node("Add", ["x", "a"], ["b"], name="second"),
    ]
    message = reject(
        "compile", save(tmp_path / "m.onnx", nodes, [value("x", [2])], [value("b", [2])]), "-o", "x.so", folder=tmp_path
    )
    assert "cycle" in message and "'first'" in message and "'second'" in message


def test_external_data_stays_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(bytes(8))
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.bin").symlink_to(tmp_path / "secret.bin")
    for location in ["../secret.bin", str(tmp_path / "secret.bin"), "link.bin"]:
        weight = TensorProto(name="w", data_type=F32, dims=[2], data_location=TensorProto.EXTERNAL)
        weight.external_data.add(key="location", value=location)
        nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
        model = save(inside / "m.onnx", nodes, [value("x", [2])], [value("y", [2])], [weight])
        message = reject("compile", model, "-o", "x.so", folder=tmp_path)
        assert "'w'" in message and "folder" in message


def test_absurd_dimensions(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    model = save(tmp_path / "m.onnx", nodes, [value("x", ["n", 1000000])], [value("y", ["n", 1000000])])
    message = reject("compile", model, "-o", "x.so", "--dim", "n=1000000", folder=tmp_path)
    assert "'x'" in message and "4.00E+12 bytes" in message
    message = reject("compile", model, "-o", "x.so", "--dim", "n=9000000000000000000", folder=tmp_path)
    assert "perpend bug" not in message
    assert "no input has the dimension 'm'" in reject("compile", model, "-o", "x.so", "--dim", "m=3", folder=tmp_path)
    message = reject("run", model, "--symbol", "n=100000000000", folder=tmp_path)
    assert "no memory" in message


def test_shapes_that_do_not_fit_name_the_node(tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "z"], ["y"], name="wrong")]
    model = save(tmp_path / "m.onnx", nodes, [value("x", [2, 3]), value("z", [4, 5])], [value("y", None)])
    assert "node 'wrong'" in reject("compile", model, "-o", "x.so", folder=tmp_path)


def test_module_text_with_errors(tmp_path: Path) -> None:
    (tmp_path / "bad.mlir").write_text("func.func @main( {\n")
    assert "bad.mlir:1:" in reject("compile", "bad.mlir", "-o", "x.so", folder=tmp_path)
    (tmp_path / "empty.mlir").write_text("module {}\n")
    assert "no function @main" in reject("compile", "empty.mlir", "-o", "x.so", folder=tmp_path)
