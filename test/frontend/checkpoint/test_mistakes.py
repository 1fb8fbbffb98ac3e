"""What the compiler says of checkpoints that are wrong, or of forms that it does not know."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
import torch
from cli.tool import GOOD, reject, succeed
from cli.tool import perpend as tool
from frontend.checkpoint.gguf_file import Stored, gguf_bytes
from frontend.checkpoint.tiny_models import CASES, Case, make, prompt, save
from frontend.checkpoint.to_gguf import converted, metadata_of
from safetensors.torch import load_file, save_file

Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def model() -> Any:
    return make(Case("llama", {"num_hidden_layers": 1, "tie_word_embeddings": False}))


@pytest.fixture
def folder(model: Any, tmp_path: Path) -> Path:
    return save(model, tmp_path / "model")


def error_of(path: Path) -> str:
    with pytest.raises(perpend.CompileError) as caught:
        perpend.import_model(path)
    return str(caught.value)


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"model_type": "mamba"}, "architecture 'mamba' is not supported\nhint: expected one of llama, mistral"),
        ({"model_type": None}, "model_type"),
        ({"rope_parameters": {"rope_type": "spiral"}}, "type 'spiral' is not supported\nhint: default, linear"),
        ({"rope_parameters": {"rope_type": "linear"}}, "'factor' of the rotary embedding is missing"),
        ({"rope_parameters": {"rope_type": "linear", "factor": "4"}}, "'factor'.*expected a number, got \"4\""),
        ({"rope_parameters": {"rope_type": "linear", "factor": -1}}, "above 0"),
        ({"rope_parameters": 3}, "'rope_parameters': expected an object, got 3"),
        ({"rope_parameters": {"partial_rotary_factor": 0}}, "even number of elements.*got 0"),
        ({"hidden_size": 63}, "tensor 'model.embed_tokens.weight': expected shape .96, 63.*got F32 .96, 64"),
        ({"hidden_size": "64"}, "'hidden_size': expected a whole number"),
        ({"hidden_size": None}, "'hidden_size' is missing"),
        ({"hidden_size": 0}, "'hidden_size': expected a whole number of at least 1, got 0"),
        ({"hidden_size": 2**40}, "'hidden_size'"),
        ({"num_attention_heads": 0}, "'num_attention_heads'"),
        ({"num_key_value_heads": 3}, "'num_key_value_heads': expected a divisor of the 4 heads, got 3"),
        ({"num_hidden_layers": 2}, "the tensor 'model.layers.1.input_layernorm.weight' is missing\nhint: "),
        ({"num_hidden_layers": 2**31 - 1}, "'num_hidden_layers': expected at most"),
        ({"hidden_act": "tan"}, "the activation 'tan' is not supported\nhint: silu"),
        ({"attention_bias": True}, "the tensor 'model.layers.0.self_attn.q_proj.bias' is missing"),
        ({"vocab_size": 97}, "tensor 'model.embed_tokens.weight': expected shape .97"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantised .'quantization_config'.*GGUF"),
        ({"use_bidirectional_attention": True}, "'use_bidirectional_attention': true is not supported\nhint: "),
        ({"logits_scaling": 8}, "'logits_scaling': 8 is not supported\nhint: the model may be another"),
    ],
)
def test_settings(model: Any, tmp_path: Path, settings: dict[str, Any], words: str) -> None:
    message = error_of(save(model, tmp_path, **settings))
    assert re.search(words, message, re.DOTALL) and str(tmp_path) in message, message
    assert message.count("hint: ") <= 1


@pytest.mark.parametrize(
    "name, settings, words",
    [
        (
            "deepseek2",
            {"topk_method": "noaux_tc"},
            "'topk_method': expected greedy or group_limited_greedy, got \"noaux",
        ),
        ("deepseek2", {"scoring_func": "sigmoid"}, "'scoring_func': expected 'softmax', which this architecture has"),
        ("deepseek2", {"norm_topk_prob": True}, "'norm_topk_prob': expected false with shares of a softmax, got true"),
        ("deepseek2", {"moe_layer_freq": 2}, "'moe_layer_freq': expected 1, got 2"),
        ("deepseek2", {"num_key_value_heads": 2}, "'num_key_value_heads': expected as many as heads, 4, got 2"),
        ("deepseek2", {"kv_lora_rank": None}, "'kv_lora_rank' is missing"),
        ("deepseek2", {"qk_nope_head_dim": 0}, "'qk_nope_head_dim': expected a whole number of at least 1"),
        ("deepseek2", {"v_head_dim": 13}, r"tensor 'model.layers.0.self_attn.kv_b_proj.weight': expected shape .116"),
        ("deepseek2", {"rope_parameters": {"partial_rotary_factor": 0.5}}, "embeddings of 8 elements, got 4"),
        ("deepseek2-groups", {"n_group": 3}, "'n_group': expected a divisor of the 8 experts, got 3"),
        ("deepseek2-groups", {"topk_group": 1}, "'topk_group': expected at most 4 groups, with at least 3 experts"),
        ("deepseek2-groups", {"topk_group": 5}, "'topk_group': expected at most 4 groups"),
        ("deepseek2-groups", {"n_group": None}, "'n_group' is missing"),
        ("deepseek3", {"topk_method": "greedy"}, "'topk_method': expected noaux_tc, got \"greedy\""),
        ("deepseek3", {"n_group": 8, "topk_group": 4}, "'n_group': expected groups of at least 2 experts, got 8"),
        ("deepseek3", {"attention_bias": True}, "the tensor 'model.layers.0.self_attn.q_a_proj.bias' is missing"),
    ],
)
def test_settings_of_latents_and_groups(name: str, settings: dict[str, Any], words: str, tmp_path: Path) -> None:
    message = error_of(save(make(CASES[name]), tmp_path, **settings))
    assert re.search(words, message, re.DOTALL), message


def test_layers_that_predict_further(tmp_path: Path) -> None:
    """Tensors of as many layers as the settings say are left out."""
    folder = save(make(CASES["deepseek3"]), tmp_path, num_nextn_predict_layers=1)
    tensors = load_file(folder / "model.safetensors")
    save_file(tensors | {"model.layers.3.eh_proj.weight": torch.ones(1)}, folder / "model.safetensors")
    perpend.import_model(folder)
    save_file(tensors | {"model.layers.4.eh_proj.weight": torch.ones(1)}, folder / "model.safetensors")
    assert "no use for the tensor 'model.layers.4.eh_proj.weight'" in error_of(folder)


def test_layer_types(tmp_path: Path) -> None:
    model = make(Case("qwen2", {"num_hidden_layers": 1}))
    assert "one for each layer" in error_of(save(model, tmp_path, layer_types=["full_attention"] * 2))
    assert "got 'linear_attention'" in error_of(save(model, tmp_path, layer_types=["linear_attention"]))


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda t: t.pop("model.norm.weight"), "the tensor 'model.norm.weight' is missing\nhint: .*incomplete"),
        (lambda t: t.pop("lm_head.weight"), "the tensor 'lm_head.weight' is missing"),
        (lambda t: t.update({"x.y": torch.ones(1)}), "'llama' has no use for the tensor 'x.y'\nhint: "),
        (
            lambda t: t.update({f"x{i}": torch.ones(1) for i in range(5)}),
            "5 tensors: 'x0', 'x1', 'x2' and 2 more\nhint: ",
        ),
        (lambda t: t.update({"model.norm.weight": torch.ones(64, dtype=torch.int8)}), "type I8 are not supported"),
        (lambda t: t.update({"model.norm.weight": torch.ones(64, 1)}), "expected shape .64., .*got F32 .64, 1"),
    ],
)
def test_tensors(folder: Path, change: Change, words: str) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")
    message = error_of(folder)
    assert re.search(words, message, re.DOTALL), message


def test_indices_of_shards(folder: Path) -> None:
    index = folder / "model.safetensors.index.json"
    for files, words in [
        ({"a": "../secret.safetensors"}, "expected the name of a file in the folder, got '../secret"),
        ({"a": 3}, "expected the name of a file"),
        ({"a": "gone.safetensors"}, "cannot read 'gone.safetensors'"),
        ({"a": "model.safetensors"}, "has the tensor 'a' in 'model.safetensors', which is not there"),
    ]:
        index.write_text(json.dumps({"weight_map": files}))
        assert words in error_of(folder)
    index.write_text("[" * 100000)
    assert "nested" in error_of(folder)
    index.write_text("{")
    assert "JSON" in error_of(folder)


def test_folders(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "expected model.safetensors" in error_of(folder) and "save_pretrained" in error_of(folder)
    (folder / "config.json").write_text("[]")
    assert "config.json: expected a JSON object" in error_of(folder)
    (folder / "config.json").unlink()
    assert "is a folder without config.json\nhint: a model is" in error_of(folder)
    (tmp_path / "w.safetensors").write_bytes(b"")
    assert "config.json" in error_of(tmp_path / "w.safetensors")


def test_every_truncation_is_one_error(model: Any, tmp_path: Path) -> None:
    tensors = converted(model)
    whole = gguf_bytes(metadata_of(model, tensors), tensors)
    path = tmp_path / "model.gguf"
    path.write_bytes(whole)
    assert perpend.import_model(path)
    head = whole.index(b"token_embd") + 2000
    for size in [*range(0, head, 7), *range(head, len(whole), 9973), len(whole) - 1]:
        path.write_bytes(whole[:size])
        message = error_of(path)
        assert message.count("hint: ") <= 1 and "model.gguf" in message, (size, message)


def test_gguf_settings(model: Any, tmp_path: Path) -> None:
    tensors = converted(model)
    metadata = metadata_of(model, tensors)
    path = tmp_path / "model.gguf"
    for change, words in [
        ({"general.architecture": "rwkv"}, "architecture 'rwkv' is not supported\nhint: expected one of llama, qwen2"),
        ({"general.architecture": 3}, "general.architecture"),
        ({"llama.embedding_length": "64"}, "'llama.embedding_length': expected a whole number"),
        ({"llama.rope.scaling.type": "spiral"}, "type 'spiral' is not supported"),
        ({"llama.attention.head_count": [4, 2]}, "expected one number for all layers, got .4,2."),
        ({"llama.attention.clamp_kqv": 1.0}, "'llama.attention.clamp_kqv': 1 is not supported"),
        ({"llama.block_count": 2}, "the tensor 'blk.1.attn_norm.weight' is missing"),
    ]:
        path.write_bytes(gguf_bytes(metadata | change, tensors))
        assert re.search(words, error_of(path)), error_of(path)
    block = Stored("F32", (1,), bytes(4))
    path.write_bytes(gguf_bytes(metadata, tensors | {"blk.0.ssm_a": block}))
    assert "has no use for the tensor 'blk.0.ssm_a'" in error_of(path)


def test_runs(folder: Path) -> None:
    compiled = perpend.compile(folder)
    for tokens in ([[96]], [[-1]], [[2**40]]):
        with pytest.raises(ValueError, match="expected tokens from 0 to 95"):
            compiled(np.array(tokens, np.int64))


def test_prompts_beyond_learned_positions(tmp_path: Path) -> None:
    compiled = perpend.compile(
        save(make(Case("gpt2", {"n_positions": 8, "n_embd": 64, "n_layer": 1, "n_head": 4})), tmp_path)
    )
    assert compiled(prompt(8)).shape == (1, 8, 96)
    with pytest.raises(ValueError, match="expected at most 8 tokens"):
        compiled(prompt(9))


def test_commands(folder: Path, tmp_path: Path) -> None:
    assert "tokens" in succeed("inspect", "model", folder=tmp_path)
    succeed("compile", "model", "-o", "m.so", "--dim", "batch=1", folder=tmp_path)
    done = tool("check", "model", "--symbol", "n=5", folder=tmp_path)
    assert done.returncode == GOOD, done.stderr
    for words in (["--operators", "x.json"], ["--dim", "m=1"]):
        reject("compile", "model", "-o", "m.so", *words, folder=tmp_path)
    (tmp_path / "cut.gguf").write_bytes(b"GGUF\3\0\0\0")
    message = reject("compile", "cut.gguf", "-o", "m.so", folder=tmp_path)
    assert "cut.gguf" in message and "hint: the file may be cut off" in message
