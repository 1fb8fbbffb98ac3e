"""Malformed checkpoints end with a message: never with a signal, never late, never with all memory."""

import os
import random
import subprocess
from pathlib import Path

import numpy as np
import pytest
from differential import PROGRAM
from frontend.checkpoint.gguf_file import Stored, gguf_bytes
from hostile_models import mutate_bytes
from test_hostile_models import WALL_SECONDS, complaint_about, limit_resources

FILES, BATCHES = 60, 6
HUGE = [0, 1, 2**16, 2**31 - 1, 2**31, 2**32 - 1]


def tiny(change=lambda metadata, tensors: None) -> bytes:
    """One layer of Llama, 32 wide."""
    draw = np.random.default_rng(1)
    shapes = {"token_embd": (8, 32), "output_norm": (32,), "blk.0.attn_norm": (32,), "blk.0.ffn_norm": (32,)}
    shapes |= {f"blk.0.attn_{part}": (32, 32) for part in ("q", "k", "v", "output")}
    shapes |= {"blk.0.ffn_gate": (64, 32), "blk.0.ffn_up": (64, 32), "blk.0.ffn_down": (32, 64)}
    tensors = {f"{name}.weight": draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    tensors["token_embd.weight"] = Stored("Q8_0", (8, 32), bytes(8 * 34))
    metadata = {"general.architecture": "llama", "llama.embedding_length": 32, "llama.block_count": 1}
    metadata |= {"llama.feed_forward_length": 64, "llama.attention.head_count": 2, "llama.rope.dimension_count": 16}
    metadata |= {"llama.context_length": 64, "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.expert_count": 0}
    metadata |= {"tokenizer.ggml.tokens": ["a", "b"], "llama.rope.scaling.type": "none"}
    change(metadata, tensors)
    return gguf_bytes(metadata, tensors)


def hostile(draw: random.Random) -> bytes:
    """Damaged bytes of the header, or one wrong value of the metadata."""
    if draw.random() < 0.7:
        whole = tiny()
        head = whole.index(b"ffn_down") + 60
        return mutate_bytes(draw, whole[:head]) + whole[head:]

    def change(metadata, tensors):
        key = draw.choice([key for key in metadata if key.startswith("llama.")])
        metadata[key] = draw.choice([*HUGE, -1.0, float("nan"), float("inf"), "", "yarn", "linear", [1, 2], True])

    return tiny(change)


def run(folder: Path, data: bytes) -> subprocess.CompletedProcess[bytes]:
    (folder / "model.gguf").write_bytes(data)
    command = [PROGRAM, "compile", "model.gguf", "--stop-after", "simplify", "-o", "module.mlir"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, timeout=WALL_SECONDS, preexec_fn=limit_resources, check=False
    )


def test_the_file_that_is_damaged_is_whole(tmp_path):
    done = run(tmp_path, tiny())
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("batch", range(BATCHES))
def test_hostile_checkpoints(batch, tmp_path):
    """PERPEND_SEED draws others."""
    complaints = {}
    for number in range(batch, FILES, BATCHES):
        draw = random.Random(f"{os.environ.get('PERPEND_SEED', '1')} {number}")
        if text := complaint_about(run(tmp_path, hostile(draw))):
            complaints[number] = text
    assert complaints == {}
