"""ImageDecoder: files of every format against what Pillow reads from them, and files that are damaged."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import perpend
import pytest
from onnx import TensorProto, helper

FOLDER = Path(__file__).parent / "images"
SAMPLES = dict(np.load(FOLDER / "samples.npz"))
NAMES = [name for name in SAMPLES if not name.endswith(":rgb")]
FORMATS = ["bmp", "jpeg", "jpeg2000", "png", "pnm", "tiff", "webp"]
MUTANTS = 300  # of each format


def decoder(pixel_format: str = "RGB", constant: np.ndarray | None = None) -> onnx.ModelProto:
    attributes = {"pixel_format": pixel_format} if pixel_format else {}
    data = helper.make_tensor_value_info("data", TensorProto.UINT8, ["bytes"])
    image = helper.make_tensor_value_info("image", TensorProto.UINT8, ["h", "w", "c"])
    graph = helper.make_graph(
        [helper.make_node("ImageDecoder", ["data"], ["image"], "decode", **attributes)],
        "images",
        [] if constant is not None else [data],
        [image],
        [onnx.numpy_helper.from_array(constant, "data")] if constant is not None else [],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


@pytest.fixture(scope="module", autouse=True)
def decoders() -> None:
    try:
        perpend.compile(decoder())
    except perpend.CompileError as error:
        assert "built without images\nhint: './dev setup' installs" in str(error)
        pytest.skip("built without images")


@pytest.fixture(scope="module")
def compiled() -> dict[str, perpend.Model]:
    return {name: perpend.compile(decoder(name)) for name in ("RGB", "BGR", "Grayscale")}


def gray(rgb: np.ndarray) -> np.ndarray:
    red, green, blue = (rgb[..., channel].astype(np.uint32) for channel in range(3))
    return ((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16).astype(np.uint8)[..., None]


@pytest.mark.parametrize("name", NAMES)
def test_decodes_as_pillow(compiled: dict[str, perpend.Model], name: str) -> None:
    data, rgb = SAMPLES[name], SAMPLES[f"{name}:rgb"]
    assert np.array_equal(compiled["RGB"](data), rgb)
    assert np.array_equal(compiled["BGR"](data), rgb[..., ::-1])
    assert np.array_equal(compiled["Grayscale"](data), gray(rgb))


@pytest.mark.parametrize("name", ["bmp RGB", "jpeg RGB", "tiff RGB tiff_lzw"])
def test_constant_bytes(name: str) -> None:
    assert np.array_equal(perpend.compile(decoder(constant=SAMPLES[name]))(), SAMPLES[f"{name}:rgb"])


def test_the_format_of_pixels_is_checked() -> None:
    with pytest.raises(perpend.CompileError, match=r"expected pixel_format RGB, BGR or Grayscale, got 'HSV'"):
        perpend.compile(decoder("HSV"))


@pytest.mark.parametrize("data", [b"", b"B", b"GIF89a" + bytes(20), bytes(100)])
def test_other_bytes_are_refused(compiled: dict[str, perpend.Model], data: bytes) -> None:
    with pytest.raises(ValueError, match=r"'decode'.*expected the bytes of a BMP, JPEG, .* like none of them"):
        compiled["RGB"](np.frombuffer(data, np.uint8))


# The header says more than there may be; where it stands in the file.
HUGE = {
    "bmp RGB": (18, (60000).to_bytes(4, "little") * 2),
    "jpeg RGB": (None, (65500).to_bytes(2, "big") * 2),
    "pnm 6": (3, b"60000 60000\n255\n"),
}


@pytest.mark.parametrize("name", HUGE)
def test_absurd_extents_are_refused(compiled: dict[str, perpend.Model], name: str) -> None:
    at, size = HUGE[name]
    data = SAMPLES[name].tobytes()
    at = data.index(b"\xff\xc0") + 5 if at is None else at
    huge = data[:at] + size + data[at + len(size) :]
    with pytest.raises(ValueError, match=r"'decode'.*expected at most 67108864 pixels"):
        compiled["RGB"](np.frombuffer(huge, np.uint8))


@pytest.mark.parametrize("name", [name for name in NAMES if len(SAMPLES[name]) > 64])
def test_files_that_end_early_are_refused(compiled: dict[str, perpend.Model], name: str) -> None:
    with pytest.raises(ValueError, match=r"'decode'.*the image cannot be decoded: "):
        compiled["RGB"](SAMPLES[name][: len(SAMPLES[name]) // 2])


def mutant(source: bytes, generator: random.Random) -> bytes:
    """Some bytes changed, more often in the header; now and then cut short or made longer."""
    data = bytearray(source)
    kind = generator.random()
    if kind < 0.2:
        data = data[: generator.randrange(len(data)) + 1]
    elif kind > 0.95:
        data += generator.randbytes(20)
    for _ in range(generator.choice([1, 1, 2, 4, 16])):
        position = generator.randrange(len(data) if generator.random() < 0.5 else min(len(data), 80))
        data[position] = generator.choice([0, 1, 127, 128, 255, generator.randrange(256)])
    return bytes(data)


def decode_mutants(path: str, kind: str) -> None:
    """Runs in a process of its own, with little memory."""
    import resource

    limit = 4 << 30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    model = perpend.load(path)
    generator = random.Random(kind)
    sources = [SAMPLES[name].tobytes() for name in NAMES if name.split()[0] == kind]
    refused = 0
    for number in range(MUTANTS):
        data = np.frombuffer(mutant(sources[number % len(sources)], generator), np.uint8)
        try:
            image = model(data)
            assert image.ndim == 3 and image.shape[2] == 3 and image.size > 0
        except ValueError as error:
            assert "'decode'" in str(error) and "the image cannot be decoded" in str(error), error
            refused += 1
    print(refused)


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("images") / "decoder.so"
    perpend.compile(decoder()).save(path)
    return path


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files(artifact: Path, kind: str) -> None:
    done = subprocess.run(
        [sys.executable, __file__, str(artifact), kind],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert MUTANTS // 10 < int(done.stdout) < MUTANTS


if __name__ == "__main__":
    decode_mutants(*sys.argv[1:])
