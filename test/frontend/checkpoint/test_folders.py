"""Folders with config.json and safetensors files: forms of settings, shards, types."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
import torch
from conformance.onnx_foreign import missing
from frontend.checkpoint.tiny_models import CASES, Case, agree, logits, make, prompt, save
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM


def check(model: Any, folder: Path, length: int = 40) -> None:
    agree(perpend.import_model(folder).evaluate(prompt(length))[0], logits(model, prompt(length)))


@pytest.mark.parametrize("name", ["llama-linear", "llama-dynamic", "llama-llama3", "llama-yarn", "phi3-longrope"])
def test_scaling_as_old_versions_write_it(name: str, tmp_path: Path) -> None:
    """rope_theta and rope_scaling beside one another, with the key `type`."""
    model = make(CASES[name])
    parameters = dict(model.config.rope_parameters)
    theta = parameters.pop("rope_theta")
    parameters["type"] = parameters.pop("rope_type")
    parameters.pop("partial_rotary_factor", None)
    check(model, save(model, tmp_path, rope_parameters=None, rope_theta=theta, rope_scaling=parameters))


def test_gemma3_as_old_versions_write_it(tmp_path: Path) -> None:
    model = make(CASES["gemma3-linear"])
    settings = {"rope_theta": 1e6, "rope_local_base_freq": 1e4, "rope_scaling": {"type": "linear", "factor": 8.0}}
    settings |= {"rope_parameters": None, "layer_types": None, "_sliding_window_pattern": None}
    check(model, save(model, tmp_path, sliding_window_pattern=6, **settings))


def test_longrope_of_long_prompts(tmp_path: Path) -> None:
    """The divisors change with the length, at run time."""
    model = make(CASES["phi3-longrope"])
    compiled = perpend.compile(save(model, tmp_path))
    for length in (31, 32, 33, 100):
        agree(compiled(prompt(length)), logits(model, prompt(length)))


def test_weights_of_16_bits(tmp_path: Path) -> None:
    """They keep their type; all else is f32."""
    save(make(CASES["llama"]).to(torch.bfloat16), tmp_path)
    check(AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32), tmp_path)


def test_shards(tmp_path: Path) -> None:
    model = make(CASES["gemma2"])
    model.save_pretrained(tmp_path, max_shard_size="60KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    check(model, tmp_path)


def test_weights_beside_their_settings(tmp_path: Path) -> None:
    model = make(CASES["llama"])
    save(model, tmp_path)
    tokens = prompt(5)
    of_file = perpend.import_model(tmp_path / "model.safetensors").evaluate(tokens)
    np.testing.assert_array_equal(of_file[0], perpend.import_model(tmp_path).evaluate(tokens)[0])


def test_names_without_their_first_part(tmp_path: Path) -> None:
    """Old files of GPT-2 have "h.0" for "transformer.h.0", and masks beside the weights."""
    model = make(CASES["gpt2"])
    save(model, tmp_path)
    tensors = {
        name.removeprefix("transformer."): tensor for name, tensor in load_file(tmp_path / "model.safetensors").items()
    }
    tensors["h.0.attn.bias"] = torch.ones(1, 1, 128, 128).tril()
    save_file(tensors, tmp_path / "model.safetensors")
    check(model, tmp_path)


def test_matrices_of_8_bits(tmp_path: Path) -> None:
    """Floats of 8 bits are numbers like others."""
    model = make(CASES["llama"])
    save(model, tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    small = {name: tensor.to(torch.float8_e4m3fn) for name, tensor in tensors.items() if "_proj" in name}
    save_file(tensors | small, tmp_path / "model.safetensors")
    model.load_state_dict({name: tensor.float() for name, tensor in (tensors | small).items()})
    check(model, tmp_path)


def test_texts_of_models_with_images(tmp_path: Path) -> None:
    """Their settings are nested, their tensors have one more part in their names, and others are beside them."""
    model = make(CASES["gemma3"])
    save(model, tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())
    outer = {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "text_config": settings}
    (tmp_path / "config.json").write_text(json.dumps(outer))
    tensors = {f"language_model.{name}": tensor for name, tensor in load_file(tmp_path / "model.safetensors").items()}
    save_file(tensors | {"vision_tower.w": torch.ones(2)}, tmp_path / "model.safetensors")
    check(model, tmp_path)


def test_dimensions_may_be_set(tmp_path: Path) -> None:
    model = make(Case("llama", {"num_hidden_layers": 1}))
    save(model, tmp_path)
    compiled = perpend.compile(tmp_path, dims={"batch": 1, "tokens:1": "length"})
    assert compiled.inputs[0].shape == [1, "length"] and compiled.outputs[0].name == "logits"
    agree(compiled(prompt(9)), logits(model, prompt(9)))
    with pytest.raises(perpend.CompileError, match="no input has the dimension 'm'\nhint: there are tokens:0, batch"):
        perpend.compile(tmp_path, dims={"m": 1})


@pytest.mark.skipif(bool(missing("quoin")), reason=missing("quoin") or "it is there")
@pytest.mark.parametrize("target", ["quoin:t1", "quoin:c8"])
@pytest.mark.parametrize("name", ["llama-linear", "gemma2", "gpt2"])
def test_texts_of_a_fixed_length_on_an_accelerator(name: str, target: str, tmp_path: Path) -> None:
    model = make(CASES[name])
    compiled: Any = perpend.compile(save(model, tmp_path), target=target, dims={"batch": 1, "n": 16})
    assert any(line.startswith("the units run") for line in compiled.report.units)
    (got,) = compiled(prompt(16))
    agree(got, logits(model, prompt(16)))
    with pytest.raises(RuntimeError, match="expected tokens from 0 to"):
        compiled(np.full_like(prompt(16), 1 << 20))
