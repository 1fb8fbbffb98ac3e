"""Writes GGUF files, so that tests need no package for it."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

U8, I8, U16, I16, U32, I32, F32_VALUE, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8, "Q2_K": 10, "Q3_K": 11, "Q4_K": 12}
TYPES |= {"Q5_K": 13, "Q6_K": 14, "IQ4_NL": 20, "BF16": 30}


class Stored(NamedTuple):
    """A tensor as bytes; the shape has the outermost extent first."""

    type: str
    shape: tuple[int, ...]
    data: bytes


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def number(kind: int, value: Any) -> bytes:
    formats = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32_VALUE: "f", BOOL: "?", U64: "Q", I64: "q"}
    return struct.pack("<" + (formats | {F64: "d"})[kind], value)


def kind_of(value: Any) -> int:
    if isinstance(value, str):
        return STRING
    if isinstance(value, bool):
        return BOOL
    return F32_VALUE if isinstance(value, float) else U32


def pair(key: str, value: Any) -> bytes:
    if isinstance(value, list):
        kind = kind_of(value[0]) if value and type(value[0]) is not int else I32
        elements = b"".join(text(each) if kind == STRING else number(kind, each) for each in value)
        return text(key) + struct.pack("<IIQ", ARRAY, kind, len(value)) + elements
    kind = kind_of(value)
    return text(key) + struct.pack("<I", kind) + (text(value) if kind == STRING else number(kind, value))


def stored(array: NDArray[Any]) -> Stored:
    if array.dtype == np.float16:
        return Stored("F16", array.shape, array.tobytes())
    return Stored("F32", array.shape, np.ascontiguousarray(array, np.float32).tobytes())


def padded(data: bytes, alignment: int) -> bytes:
    return data + bytes(-len(data) % alignment)


def gguf_parts(
    metadata: Mapping[str, Any], tensors: Mapping[str, NDArray[Any] | Stored], version: int = 3, alignment: int = 32
) -> Iterator[bytes]:
    """The file, the header first. `metadata`: Python's numbers become u32, those of lists i32; f32 and bool."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    head += b"".join(pair(key, value) for key, value in metadata.items())
    entries = [tensor if isinstance(tensor, Stored) else stored(tensor) for tensor in tensors.values()]
    offset = 0
    for name, entry in zip(tensors, entries, strict=True):
        extents = struct.pack(f"<{len(entry.shape)}Q", *reversed(entry.shape))
        head += text(name) + struct.pack("<I", len(entry.shape)) + extents
        head += struct.pack("<IQ", TYPES[entry.type], offset)
        offset += len(entry.data) + -len(entry.data) % alignment
    yield padded(head, alignment)
    for entry in entries:
        yield padded(entry.data, alignment)


def gguf_bytes(metadata: Mapping[str, Any], tensors: Mapping[str, NDArray[Any] | Stored], **form: int) -> bytes:
    return b"".join(gguf_parts(metadata, tensors, **form))


def write_gguf(
    path: Path, metadata: Mapping[str, Any], tensors: Mapping[str, NDArray[Any] | Stored], **form: int
) -> Path:
    with path.open("wb") as file:
        file.writelines(gguf_parts(metadata, tensors, **form))
    return path


def split_names(stem: str, count: int) -> Sequence[str]:
    return [f"{stem}-{i + 1:05}-of-{count:05}.gguf" for i in range(count)]
