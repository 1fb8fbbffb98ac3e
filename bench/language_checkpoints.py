"""Checkpoints of a known size with random weights, as GGUF files that any engine reads: SHAPE-TYPE, such as 1.1B-q4_0.

Weights are about 0.02 in magnitude, and differ from tensor to tensor. The vocabulary is that of SentencePiece: a token
for each byte, and made-up words.
"""

import math
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
    architecture: str = "llama"  # qwen2: its first products have biases, and the embedding is the last matrix, too
    experts: int = 0  # of `inner` each; qwen3moe: heads are normalised, too
    used: int = 0
    latent: int = (
        0  # deepseek2: the numbers of a token's latent; heads are width / heads, and a rotated part of half of it
    )

    @property
    def head(self) -> int:
        return self.width // self.heads


SHAPES = {
    "tiny": Shape(2, 64, 128, 4, 2, 512),
    "small": Shape(2, 512, 256, 4, 2, 512),
    "0.1B": Shape(12, 768, 2048, 12, 4),
    "0.5B": Shape(24, 896, 4864, 14, 2, 151_936, "qwen2"),
    "1.1B": Shape(22, 2048, 5632, 32, 4),
    "tiny-experts": Shape(2, 64, 96, 4, 2, 512, "llama", 4, 2),
    "small-experts": Shape(2, 256, 256, 4, 2, 512, "qwen3moe", 12, 3),
    "small-latent": Shape(2, 256, 256, 4, 1, 512, "deepseek2", 12, 3, 256),
    "0.4B-latent": Shape(8, 1024, 512, 8, 1, 32_000, "deepseek2", 16, 4, 512),
    "0.2B-4x4": Shape(16, 1024, 512, 16, 4, 32_000, "qwen3moe", 4, 4),
    "0.4B-8x2": Shape(4, 1024, 3584, 16, 4, 32_000, "llama", 8, 2),
    "0.4B-64x4": Shape(4, 1024, 512, 16, 4, 32_000, "qwen3moe", 64, 4),
    "1.5B-8x2": Shape(16, 1024, 3584, 16, 4, 32_000, "llama", 8, 2),
    "1.7B-64x4": Shape(16, 1024, 512, 16, 4, 32_000, "qwen3moe", 64, 4),
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


def halves(numbers: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The bytes of numbers as f16, [blocks, 2 for each]."""
    return numbers.astype(np.float16).view(np.uint8)


def q4_k(count: int, random: np.random.Generator) -> bytes:
    """256 numbers in groups of 32: d, dmin, scales and offsets of six bits, numbers of four."""
    data = random.integers(0, 256, (count // 256, 144), np.uint8)
    scales = random.uniform(0.5, 1.5, (len(data), 1)) * (2 * MAGNITUDE / (8 * 32))
    data[:, :4] = halves(scales * [1.0, 7.5])
    return bytes(data.data)


def q5_k(count: int, random: np.random.Generator) -> bytes:
    """Like q4_k, with the highest bits of the numbers apart."""
    data = random.integers(0, 256, (count // 256, 176), np.uint8)
    scales = random.uniform(0.5, 1.5, (len(data), 1)) * (2 * MAGNITUDE / (16 * 32))
    data[:, :4] = halves(scales * [1.0, 15.5])
    return bytes(data.data)


def q6_k(count: int, random: np.random.Generator) -> bytes:
    """256 numbers of six bits in groups of 16, whose scales are signed bytes, and d."""
    data = random.integers(0, 256, (count // 256, 210), np.uint8)
    scales = random.uniform(0.5, 1.5, (len(data), 1)) * (2 * MAGNITUDE / (32 * 64))
    data[:, 208:] = halves(scales)
    return bytes(data.data)


TYPES = {
    "bf16": bf16,
    "q8_0": blocks(32, 127),
    "q4_0": blocks(16, 8),
    "q4_1": blocks(16, 8, has_offset=True),
    "q4_k": q4_k,
    "q5_k": q5_k,
    "q6_k": q6_k,
}
MIXTURES = ("q4_k_m",)


def type_of(kind: str, part: str, layer: int, layers: int, columns: int) -> str:
    """The type of one matrix. q4_k_m: as llama-quantize mixes them, q6_k where an error weighs more; rows that are not
    of whole blocks are q8_0."""
    if "_k" in kind and columns % 256:
        return "q8_0"
    if kind not in MIXTURES:
        return kind
    outer = layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2
    return "q6_k" if part == "output" or (part in ("attn_v", "ffn_down") and outer) else "q4_k"


def bytes_of_token(checkpoint: Path) -> int | None:
    """What one token reads of a checkpoint: all but the embeddings of other tokens, unless these are the last matrix,
    too. None: a part that depends on the token, of experts. A checkpoint that is not one of these: all of it."""
    shape_name, _, kind = checkpoint.stem.rpartition("-")
    shape = SHAPES.get(shape_name)
    if shape and shape.experts:
        return None
    size = checkpoint.stat().st_size
    if not shape or shape.architecture == "qwen2":
        return size
    stored = TYPES[type_of(kind, "token_embd", 0, shape.layers, shape.width)](256, np.random.default_rng())
    return size - shape.vocabulary * shape.width * len(stored) // 256


def metadata(shape: Shape) -> dict[str, Any]:
    words = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [2, 3, 3, *[6] * 256]
    rest = shape.vocabulary - len(words)
    settings = {
        "vocab_size": shape.vocabulary,
        "context_length": CONTEXT,
        "embedding_length": shape.width,
        "block_count": shape.layers,
        "feed_forward_length": shape.inner,
        "attention.head_count": shape.heads,
        "attention.head_count_kv": shape.key_heads,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.dimension_count": shape.width // shape.heads,
    }
    if shape.experts:
        settings |= {"expert_count": shape.experts, "expert_used_count": shape.used}
        settings |= {"expert_feed_forward_length": shape.inner, "attention.key_length": shape.width // shape.heads}
        settings |= {"attention.value_length": shape.width // shape.heads}
    if shape.latent:
        settings |= {"attention.kv_lora_rank": shape.latent, "attention.value_length_mla": shape.head}
        settings |= {"attention.key_length_mla": shape.head * 3 // 2, "rope.dimension_count": shape.head // 2}
        settings |= {"attention.q_lora_rank": shape.width // 2, "leading_dense_block_count": 1}
        settings |= {"expert_shared_count": 1, "expert_gating_func": 2, "expert_weights_norm": True}
        settings |= {"attention.key_length": shape.latent + shape.head // 2, "attention.value_length": shape.latent}
    return {
        "general.architecture": shape.architecture,
        **{f"{shape.architecture}.{key}": value for key, value in settings.items()},
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
    if shape_name not in SHAPES or kind not in (*TYPES, *MIXTURES):
        kinds = ", ".join((*TYPES, *MIXTURES))
        raise ValueError(f"expected SHAPE-TYPE, of {', '.join(SHAPES)} and {kinds}, got '{name}'")
    path = folder / f"{name}.gguf"
    if path.exists():
        return path
    shape, random = SHAPES[shape_name], np.random.default_rng(1)
    keys = shape.width // shape.heads * shape.key_heads
    tensors: dict[str, NDArray[Any] | Stored] = {}

    def add(part: str, rows: int, columns: int, layer: int | None = None) -> None:
        which = type_of(kind, part.removesuffix("_exps"), layer or 0, shape.layers, columns)
        tensor = part if layer is None else f"blk.{layer}.{part}"
        copies = shape.experts if part.endswith("_exps") else shape.heads if part.endswith(("_k_b", "_v_b")) else 0
        extents = (copies, rows, columns) if copies else (rows, columns)
        tensors[f"{tensor}.weight"] = Stored(which.upper(), extents, TYPES[which](math.prod(extents), random))

    def ones(part: str, count: int, layer: int) -> None:
        tensors[f"blk.{layer}.{part}_norm.weight"] = np.ones(count, np.float32)

    def add_latent(layer: int) -> None:
        ones("attn_q_a", shape.width // 2, layer)
        ones("attn_kv_a", shape.latent, layer)
        add("attn_q_a", shape.width // 2, shape.width, layer)
        add("attn_q_b", shape.heads * shape.head * 3 // 2, shape.width // 2, layer)
        add("attn_kv_a_mqa", shape.latent + shape.head // 2, shape.width, layer)
        add("attn_k_b", shape.latent, shape.head, layer)
        add("attn_v_b", shape.head, shape.latent, layer)
        add("attn_output", shape.width, shape.width, layer)
        for part in ("gate", "up", "down") if layer > 0 else ():
            extents = (shape.width, shape.inner) if part == "down" else (shape.inner, shape.width)
            add(f"ffn_{part}_shexp", *extents, layer)

    add("token_embd", shape.vocabulary, shape.width)
    for layer in range(shape.layers):
        if shape.latent:
            add_latent(layer)
        parts = [("q", shape.width), ("k", keys), ("v", keys), ("output", shape.width)]
        for part, rows in parts if not shape.latent else ():
            add(f"attn_{part}", rows, shape.width, layer)
            if shape.architecture == "qwen2" and part != "output":
                tensors[f"blk.{layer}.attn_{part}.bias"] = random.normal(0, MAGNITUDE, rows).astype(np.float32)
        experts = "_exps" if shape.experts and not (shape.latent and layer == 0) else ""
        add(f"ffn_gate{experts}", shape.inner, shape.width, layer)
        add(f"ffn_up{experts}", shape.inner, shape.width, layer)
        add(f"ffn_down{experts}", shape.width, shape.inner, layer)
        if experts:
            router = random.normal(0, MAGNITUDE, (shape.experts, shape.width)).astype(np.float32)
            tensors[f"blk.{layer}.ffn_gate_inp.weight"] = router
        for part in "attn", "ffn":
            tensors[f"blk.{layer}.{part}_norm.weight"] = np.ones(shape.width, np.float32)
        for part in ("attn_q", "attn_k") if shape.architecture == "qwen3moe" else ():
            tensors[f"blk.{layer}.{part}_norm.weight"] = np.ones(shape.width // shape.heads, np.float32)
    tensors["output_norm.weight"] = np.ones(shape.width, np.float32)
    if shape.architecture != "qwen2":
        add("output", shape.vocabulary, shape.width)
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    write_gguf(partial, metadata(shape), tensors)
    return partial.rename(path)
