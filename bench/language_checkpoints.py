"""Checkpoints of a known size with random weights, as GGUF files that any engine reads: SHAPE-TYPE, such as 1.1B-q4_0.

Weights are about 0.02 in magnitude, and differ from tensor to tensor. The vocabulary is that of SentencePiece: a token
for each byte, and made-up words.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))

from frontend.checkpoint.gguf_file import Stored, write_gguf


class Shape(NamedTuple):
    layers: int
    width: int
    inner: int
    heads: int
    key_heads: int
    vocabulary: int = 32_000


SHAPES = {
    "tiny": Shape(2, 64, 128, 4, 2, 512),
    "0.1B": Shape(12, 768, 2048, 12, 4),
    "1.1B": Shape(22, 2048, 5632, 32, 4),
}
MAGNITUDE = 0.02
CONTEXT = 2048


def bf16(count: int, random: np.random.Generator) -> bytes:
    exponent = 127 - 6  # 2^-6 to 2^-5
    bits = random.integers(0, 1 << 16, count, np.uint16)
    return bytes((bits & 0x807F | exponent << 7).astype(np.uint16).data)


def blocks(size: int, largest: int, has_offset: bool = False) -> Callable[[int, np.random.Generator], bytes]:
    """Groups of 32 with an f16 scale, and maybe an offset, in front of `size` bytes."""
    head = 4 if has_offset else 2

    def make(count: int, random: np.random.Generator) -> bytes:
        data = random.integers(0, 256, (count // 32, head + size), np.uint8)
        scales = random.uniform(0.5, 1.5, (len(data), 1)) * (2 * MAGNITUDE / largest)
        data[:, :2] = scales.astype(np.float16).view(np.uint8)
        if has_offset:
            offsets = scales * random.uniform(-0.6, -0.4, (len(data), 1)) * 15
            data[:, 2:4] = offsets.astype(np.float16).view(np.uint8)
        return bytes(data.data)

    return make


TYPES = {"bf16": bf16, "q8_0": blocks(32, 127), "q4_0": blocks(16, 8), "q4_1": blocks(16, 8, has_offset=True)}


def metadata(shape: Shape) -> dict[str, Any]:
    words = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [2, 3, 3, *[6] * 256]
    rest = shape.vocabulary - len(words)
    return {
        "general.architecture": "llama",
        "llama.vocab_size": shape.vocabulary,
        "llama.context_length": CONTEXT,
        "llama.embedding_length": shape.width,
        "llama.block_count": shape.layers,
        "llama.feed_forward_length": shape.inner,
        "llama.attention.head_count": shape.heads,
        "llama.attention.head_count_kv": shape.key_heads,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": shape.width // shape.heads,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": words + [f"word{number}" for number in range(rest)],
        "tokenizer.ggml.scores": [0.0] * len(words) + [-1.0 - number for number in range(rest)],
        "tokenizer.ggml.token_type": kinds + [1] * rest,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
    }


def write_checkpoint(name: str, folder: Path) -> Path:
    """Writes the checkpoint of a name, if it is not there yet. Errors: ValueError for another name."""
    shape_name, _, kind = name.rpartition("-")
    if shape_name not in SHAPES or kind not in TYPES:
        raise ValueError(f"expected SHAPE-TYPE, of {', '.join(SHAPES)} and {', '.join(TYPES)}, got '{name}'")
    path = folder / f"{name}.gguf"
    if path.exists():
        return path
    shape, random = SHAPES[shape_name], np.random.default_rng(1)
    keys = shape.width // shape.heads * shape.key_heads
    tensors: dict[str, NDArray[Any] | Stored] = {}

    def add(tensor: str, rows: int, columns: int) -> None:
        tensors[f"{tensor}.weight"] = Stored(kind.upper(), (rows, columns), TYPES[kind](rows * columns, random))

    add("token_embd", shape.vocabulary, shape.width)
    for layer in range(shape.layers):
        for part, rows in ("q", shape.width), ("k", keys), ("v", keys), ("output", shape.width):
            add(f"blk.{layer}.attn_{part}", rows, shape.width)
        add(f"blk.{layer}.ffn_gate", shape.inner, shape.width)
        add(f"blk.{layer}.ffn_up", shape.inner, shape.width)
        add(f"blk.{layer}.ffn_down", shape.width, shape.inner)
        for part in "attn", "ffn":
            tensors[f"blk.{layer}.{part}_norm.weight"] = np.ones(shape.width, np.float32)
    tensors["output_norm.weight"] = np.ones(shape.width, np.float32)
    add("output", shape.vocabulary, shape.width)
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    write_gguf(partial, metadata(shape), tensors)
    return partial.rename(path)
