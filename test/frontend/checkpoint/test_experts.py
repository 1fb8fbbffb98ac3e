"""Experts in blocks: what they compute, where their weights lie, and which of them a run reads."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import perpend.llm
import pytest
from cli.tool import succeed
from frontend.checkpoint.gguf_file import Stored
from frontend.checkpoint.k_quants import random_blocks
from frontend.checkpoint.test_cache import PIECES, TEXT, in_pieces
from frontend.checkpoint.test_gguf import check, loaded_with, plain, quantised
from frontend.checkpoint.tiny_models import GROUPS, LATENT, ROUTED, Case, make
from frontend.checkpoint.to_gguf import Array, save_gguf
from language_checkpoints import write_checkpoint
from llm.checkpoints import continuation, greedy, make_gguf, tokenizer_of

QWEN: dict[str, Any] = {"head_dim": 16, "num_experts": 6, "num_experts_per_tok": 2, "norm_topk_prob": True}


class Blocks:
    """Stores the matrices of experts in blocks of one type, and knows the numbers that these stand for."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.numbers: dict[str, Array] = {}

    def __call__(self, name: str, array: Array) -> Array | Stored:
        if "_exps" not in name:
            return array
        stored, self.numbers[name] = self.convert(array)
        return stored

    def convert(self, array: Array) -> tuple[Stored, Array]:
        if self.kind.endswith("_K"):
            return random_blocks(self.kind, array.shape, 1 / 16)
        return plain(self.kind, array) if self.kind in ("F16", "BF16") else quantised(self.kind, array)

    def loaded(self, model: Any) -> Any:
        """The model with these numbers, in f32."""
        values = {}
        for layer in range(len(model.model.layers)):
            gate, up, down = (self.numbers[f"blk.{layer}.ffn_{part}_exps.weight"] for part in ("gate", "up", "down"))
            values[f"model.layers.{layer}.mlp.experts.gate_up_proj"] = np.concatenate([gate, up], 1)
            values[f"model.layers.{layer}.mlp.experts.down_proj"] = down
        return loaded_with(model, values)


@pytest.mark.parametrize("kind", ["BF16", "F16", "Q8_0", "Q4_0", "Q4_1", "Q2_K", "Q4_K", "Q6_K"])
def test_compiled(kind: str, tmp_path: Path) -> None:
    """The numbers that blocks stand for, as f32 in transformers, are the judge."""
    wide = {"hidden_size": 256, "moe_intermediate_size": 256} if kind.endswith("_K") else {"moe_intermediate_size": 32}
    model, blocks = make(Case("qwen3_moe", QWEN | wide)), Blocks(kind)
    path = save_gguf(model, tmp_path / "model.gguf", blocks)
    check(blocks.loaded(model), path, is_compiled=True)


MODELS = ["tiny-experts-q4_0", "tiny-experts-bf16", "small-experts-q4_1", "small-experts-q8_0", "small-experts-q4_k"]
MODELS += ["small-latent-q4_0", "small-latent-q4_k"]


@pytest.mark.parametrize("precision", ["f32", "int8"])
@pytest.mark.parametrize("name", MODELS)
def test_rows_do_not_depend_on_their_company(name: str, precision: str, tmp_path: Path) -> None:
    """Nor on the number of threads."""
    path = write_checkpoint(name, tmp_path)
    options: dict[str, Any] = {"cache": 128, "batch_invariant": True, "precision": precision}
    chunks, single = perpend.compile(path, **options), perpend.compile(path, dims={"n": 1}, **options)
    expected = in_pieces(single, TEXT[0], [1] * 100)
    for sizes in (PIECES, [100], [33, 67]):
        for count, result in in_pieces(chunks, TEXT[0], sizes).items():
            np.testing.assert_array_equal(result, expected[count], err_msg=f"{count} tokens of {sizes}")
    exact = in_pieces(perpend.compile(path, cache=128, dims={"n": 1}), TEXT[0], [1] * 100)
    deviations = [np.abs(expected[count] - exact[count]).max() / np.abs(exact[count]).max() for count in exact]
    if precision == "f32":
        assert max(deviations) < 1e-4
    else:  # where two experts are about as good, a token may go to the other one
        assert 0 < np.median(deviations) < 0.03


def test_threads(tmp_path: Path) -> None:
    path = write_checkpoint("small-experts-q4_0", tmp_path)
    model = perpend.llm.compile(path, tmp_path / "chat", context=128)
    del model
    rows = [perpend.llm.load(tmp_path / "chat", threads=count).logits(TEXT[0].tolist()) for count in (1, 2)]
    np.testing.assert_array_equal(rows[0], rows[1])


BLOCKS = ["small-experts-q4_0", "small-experts-q4_k", "small-experts-q8_0", "small-latent-q4_0", "small-latent-q4_k"]


@pytest.mark.parametrize("name", BLOCKS)
def test_weights_stay_blocks(name: str, tmp_path: Path) -> None:
    """As f32 they would be four to seven times as large."""
    path = write_checkpoint(name, tmp_path)
    succeed("llm", "compile", path, "-o", "chat", "--context", 64, "--weights", "beside", folder=tmp_path)
    assert (tmp_path / "chat.weights").stat().st_size < 1.15 * path.stat().st_size


@pytest.mark.parametrize("kind", ["q4_0", "q4_k", "bf16"])
@pytest.mark.parametrize("tokens", ["1", "n"])
def test_only_used_experts_are_read(kind: str, tokens: str, tmp_path: Path) -> None:
    """Kernels read parts of the constants in their memory, which begin where a run says; none reads all experts."""
    path = write_checkpoint(f"small-experts-{kind}", tmp_path)
    dims = ["--dim", "n=1"] if tokens == "1" else []
    text = succeed("inspect", path, "--cache", 64, *dims, "--stage", "fuse", folder=tmp_path)
    loops = re.findall(r"= graph\.loop .*?\n    }\n", text, re.DOTALL)
    assert len(loops) == 2
    for loop in loops:
        parts = re.findall(r"graph\.slice %\w+ <\[\"(\w*expert\w*)\", 0[^>]*> \[[1, ]*\] {graph.in_place}", loop)
        assert len(parts) >= 3 and len(set(parts)) == 1
        calls = [line for line in loop.splitlines() if "graph.call_kernel" in line]
        assert not [line for line in calls if "tensor<12x" in line.split(" : (")[1].split(" -> ")[0]]


KINDS: dict[str, dict[str, Any]] = {
    "mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "deepseek_v3": LATENT | ROUTED | GROUPS | {"first_k_dense_replace": 0},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_program(kind: str, tmp_path: Path) -> None:
    """Its tokens are those of transformers with the numbers of the blocks."""
    blocks = Blocks("Q4_0")
    model = blocks.loaded(make_gguf(tmp_path / "model.gguf", kind=kind, store=blocks, **KINDS[kind]))
    succeed("llm", "compile", "model.gguf", "-o", "chat", folder=tmp_path)
    tokenizer = tokenizer_of(tmp_path / "model.gguf")
    tokens = tokenizer.encode("<s>The quick fox", add_special_tokens=False, parse_special_tokens=True)
    expected = continuation(tmp_path / "model.gguf", tokens, greedy(model, tokens, 20))
    options = ["--raw", "--prompt", "The quick fox", "--max-tokens", 20, "--temperature", 0]
    assert succeed("llm", "run", "chat", *options, folder=tmp_path) == expected
