"""Blocks of a checkpoint are packed in files without a name, which the system can write out, and not in memory."""

import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
from cli.tool import PERPEND
from frontend.checkpoint.gguf_file import Stored, write_gguf

WIDTH, INNER, LAYERS, VOCABULARY = 2048, 8192, 4, 64
MATRICES = {
    "attn_q": (WIDTH, WIDTH),
    "attn_k": (WIDTH, WIDTH),
    "attn_v": (WIDTH, WIDTH),
    "attn_output": (WIDTH, WIDTH),
    "ffn_gate": (INNER, WIDTH),
    "ffn_up": (INNER, WIDTH),
    "ffn_down": (WIDTH, INNER),
}


RANDOM = np.random.default_rng(0)


def random_matrix(rows: int, columns: int) -> Stored:
    """Of Q8_0, whose scales are 2^-10. All differ, because equal weights are there once."""
    blocks = RANDOM.integers(0, 256, (rows * columns // 32, 34), np.uint8)
    blocks[:, :2] = np.full(1, 2**-10, np.float16).view(np.uint8)
    return Stored("Q8_0", (rows, columns), blocks.tobytes())


def make(path: Path) -> int:
    """A Llama of random blocks, and their bytes."""
    ones = np.ones(WIDTH, np.float32)
    tensors: dict[str, Any] = {"token_embd.weight": random_matrix(VOCABULARY, WIDTH), "output_norm.weight": ones}
    for layer in range(LAYERS):
        tensors |= {f"blk.{layer}.{name}.weight": random_matrix(*shape) for name, shape in MATRICES.items()}
        tensors |= {f"blk.{layer}.{name}.weight": ones for name in ("attn_norm", "ffn_norm")}
    numbers = {
        "context_length": 64,
        "embedding_length": WIDTH,
        "block_count": LAYERS,
        "feed_forward_length": INNER,
        "attention.head_count": 16,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "vocab_size": VOCABULARY,
    }
    write_gguf(path, {"general.architecture": "llama"} | {f"llama.{key}": n for key, n in numbers.items()}, tensors)
    return path.stat().st_size


def anonymous_bytes(process: int) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")]
    return 1024 * int(found[0]) if found else 0


def test_blocks_lie_in_files(tmp_path: Path) -> None:
    """Two entries of one file, which share the blocks."""
    size = make(tmp_path / "model.gguf")
    entries = ["decode=model.gguf", "prefill=model.gguf", "--cache", "64"]
    command = [str(PERPEND), "compile", *entries, "-o", "model.so", "--weights", "beside"]
    most = 0
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            most = max(most, anonymous_bytes(process.pid))
            time.sleep(0.02)
    assert process.returncode == 0 and (tmp_path / "model.weights").stat().st_size > size // 2
    assert most < size * 3 // 4, f"{most >> 20} MB of memory for {size >> 20} MB of blocks"
