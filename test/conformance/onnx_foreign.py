"""Runs artifacts of another architecture: an emulator starts the runtime's perpend-runner, which answers requests
(runtime/runner/Wire.h)."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import ml_dtypes
import numpy as np

BUILD = Path(os.environ.get("PERPEND_BUILD", Path(__file__).resolve().parents[2] / "build"))
LIBRARIES = {architecture: f"/usr/{architecture}-linux-gnu" for architecture in ("aarch64", "riscv64")}
NODE = "wasm32"  # whose modules run in Node.js, without an emulator
SIMULATED = "quoin"  # whose programs run in this process
TYPES = [
    *("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
    *("uint64", "bool", "int4", "uint4", "int2", "uint2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"),
    *("float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
]
STRING, SEQUENCE, OPTIONAL = 25, 26, 27
RUN = 1


def missing(architecture: str) -> str:
    """Why nothing of this architecture runs here; empty if it does."""
    if architecture == SIMULATED:
        is_there = (BUILD / "lib" / "scalar" / "libperpend_scalar.a").exists()
        return "" if is_there else "the scalar runtime was not built"
    program = "node" if architecture == NODE else f"qemu-{architecture}-static"
    if not shutil.which(program):
        return f"{program} is not installed"
    if architecture != NODE and not Path(LIBRARIES[architecture]).is_dir():
        return f"no C library in {LIBRARIES[architecture]}"
    return "" if runner(architecture).exists() else f"the runtime was not built for {architecture}"


def runner(architecture: str) -> Path:
    return BUILD / "lib" / architecture / ("perpend-runner.mjs" if architecture == NODE else "perpend-runner")


def starter(architecture: str, extensions: Sequence[str] = ()) -> list[str]:
    """The command that starts programs of this architecture."""
    return ["node"] if architecture == NODE else emulator(architecture, extensions)


def emulator(architecture: str, extensions: Sequence[str] = ()) -> list[str]:
    """The command that starts programs on a processor with these extensions."""
    command = [f"qemu-{architecture}-static", "-L", LIBRARIES[architecture]]
    if "sve256" in extensions:
        command += ["-cpu", "max,sve-default-vector-length=32"]
    if architecture == "riscv64":
        lengths = [int(name[3:-1]) for name in extensions if re.fullmatch(r"zvl\d+b", name)]
        vectors = f",v=true,vext_spec=v1.0,vlen={max(lengths, default=128)}" if "v" in extensions else ""
        half = ",Zfh=true" if "zfh" in extensions else ""
        unasked = [name for name in extensions if name.startswith(("zb", "zf", "zvf"))]
        command += ["-cpu", f"rv64{vectors}{half}", "-E", "PERPEND_EXECUTES=" + ":".join(unasked)]
    return command


def write_word(stream: IO[bytes], word: int) -> None:
    stream.write(struct.pack("<q", word))


def read_word(stream: IO[bytes]) -> int:
    word: int = struct.unpack("<q", read(stream, 8))[0]
    return word


def read(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        raise RuntimeError("the runner ended")
    return data


def write_list(stream: IO[bytes], code: int, elements: Sequence[Any]) -> None:
    for word in (code, 0, 1, len(elements)):
        write_word(stream, word)
    for element in elements:
        write_value(stream, element, "")


def write_value(stream: IO[bytes], value: Any, kind: str) -> None:
    """kind: what the model declares: "optional" and others matter alike."""
    if kind == "optional":
        write_list(stream, OPTIONAL, [] if value is None else [value])
    elif isinstance(value, list):
        write_list(stream, SEQUENCE, value)
    else:
        write_array(stream, np.asarray(value))


def write_array(stream: IO[bytes], array: np.ndarray[Any, Any]) -> None:
    is_text = array.dtype.kind in "OUS"
    write_word(stream, STRING if is_text else TYPES.index(array.dtype.name))
    write_word(stream, array.ndim)
    for extent in array.shape:
        write_word(stream, extent)
    write_word(stream, 1)
    if not is_text:
        stream.write(np.ascontiguousarray(array).tobytes())
        return
    for text in array.flat:
        data = text if isinstance(text, bytes) else str(text).encode()
        write_word(stream, len(data))
        stream.write(data)


def read_value(stream: IO[bytes]) -> Any:
    code, rank = read_word(stream), read_word(stream)
    shape = tuple(read_word(stream) for _ in range(rank))
    if not read_word(stream):
        raise RuntimeError("a result has no data")
    if code in (SEQUENCE, OPTIONAL):
        elements = [read_value(stream) for _ in range(read_word(stream))]
        return elements if code == SEQUENCE else elements[0] if elements else None
    count = int(np.prod(shape, dtype=np.int64))
    if code == STRING:
        texts = [read(stream, read_word(stream)).decode() for _ in range(count)]
        return np.array([*texts, None], object)[:-1].reshape(shape)
    name = TYPES[code]
    dtype = np.dtype(getattr(ml_dtypes, name) if hasattr(ml_dtypes, name) else name)
    return np.frombuffer(read(stream, count * dtype.itemsize), dtype).reshape(shape)


def end_with_parent() -> None:
    """In a child: a run in the emulator does not outlive the process that wants its results."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))  # an engine of WebAssembly reserves 8 GB for each memory


class ForeignModel:
    """Calls as those of perpend.Model, with arrays by position."""

    def __init__(self, path: str, facts: dict[str, Any], architecture: str, threads: int = 0) -> None:
        """facts: the model's descriptor."""
        words = [*starter(architecture, facts.get("isa", [])), str(runner(architecture)), path, "", str(threads)]
        self.kinds = [each["type"] for each in facts["inputs"]]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(words, preexec_fn=end_with_parent, **pipes)
        self.receive()

    def receive(self) -> list[Any]:
        stream = self.process.stdout
        assert stream
        if read_word(stream):
            raise RuntimeError(read(stream, read_word(stream)).decode(errors="replace"))
        return [read_value(stream) for _ in range(read_word(stream))]

    def __call__(self, *inputs: Any) -> list[Any]:
        stream = self.process.stdin
        assert stream
        write_word(stream, RUN)
        write_word(stream, len(inputs))
        for value, kind in zip(inputs, self.kinds, strict=True):
            write_value(stream, value, kind)
        stream.flush()
        return self.receive()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()

    def __enter__(self) -> ForeignModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
