"""Architectures of `transformers` with random weights, as ONNX files for models.py.

usage: architectures.py FOLDER [NAME ...] [--quantised]

Configurations are the defaults, which are the sizes named below, but for YOLOS, MiniLM and what exporting needs.
Batch normalisation has seen a few batches, so that values keep their size. With --quantised, what ONNX Runtime's
quantiser makes of some of them: bytes between QuantizeLinear and DequantizeLinear, weights signed with a scale per
channel.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

EAGER = {"attn_implementation": "eager"}
QUANTISED = ("bert", "convnext", "minilm", "mobilenetv2", "resnet50", "segformer", "whisper")
OPSET = 17


class Part(torch.nn.Module):  # type: ignore[misc]
    """One tensor of what a model returns."""

    def __init__(self, model: torch.nn.Module, call: Callable[[torch.nn.Module, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.model, self.call = model, call

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.call(self.model, x)


@dataclass
class Architecture:
    make: Callable[[], torch.nn.Module]
    call: Callable[[torch.nn.Module, torch.Tensor], torch.Tensor]
    shape: tuple[int, ...]
    tokens: bool = False  # integers, not images or sounds

    def input(self, seed: int = 0) -> torch.Tensor:
        generator = torch.Generator().manual_seed(seed)
        if self.tokens:
            return torch.randint(0, 30000, self.shape, generator=generator)
        return torch.randn(self.shape, generator=generator)

    def model(self) -> Part:
        torch.manual_seed(0)
        part = Part(self.make(), self.call)
        normalised = [module for module in part.modules() if isinstance(module, torch.nn.BatchNorm2d)]
        for module in normalised:
            module.momentum = 0.5
        with torch.no_grad():
            part.train()
            for _ in range(8 if normalised else 0):
                part(torch.randn(4, *self.shape[1:]))
        part.eval()
        return part


def hidden(model: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).last_hidden_state


def pooled(model: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).pooler_output


def masked(model: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(input_ids=x, attention_mask=torch.ones_like(x)).last_hidden_state


def causal(model: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    """With the mask and the positions that the exporter cannot trace."""
    n = x.shape[1]
    mask = torch.full((n, n), float("-inf"), dtype=next(model.parameters()).dtype).triu(1)[None, None]
    return model(input_ids=x, attention_mask=mask, position_ids=torch.arange(n)[None]).last_hidden_state


def bert(**sizes: int) -> torch.nn.Module:
    return transformers.BertModel(transformers.BertConfig(**sizes, **EAGER))


def gpt2() -> torch.nn.Module:
    return transformers.GPT2Model(transformers.GPT2Config(use_cache=False, **EAGER))


def minilm() -> torch.nn.Module:
    return bert(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)


def yolos() -> torch.nn.Module:
    sizes = {"hidden_size": 192, "num_attention_heads": 3, "intermediate_size": 768, "image_size": [512, 864]}
    return transformers.YolosModel(transformers.YolosConfig(**sizes, **EAGER))


def resnet() -> torch.nn.Module:
    """Its blocks add little to what they get, as those of a network that learns: with random weights and a weight of 1,
    each block would make the roundings before it larger, and 16 of them make noise of bf16."""
    model = of("ResNet")()
    for stage in model.encoder.stages:
        for block in stage.layers:
            torch.nn.init.constant_(block.layer[-1].normalization.weight, 0.2)
    return model


def of(name: str, **options: Any) -> Callable[[], torch.nn.Module]:
    """The model and the configuration of this name, by default."""
    model, config = getattr(transformers, f"{name}Model"), getattr(transformers, f"{name}Config")
    return lambda: model(config(**options))


IMAGE = (1, 3, 224, 224)
ARCHITECTURES = {
    "bert": Architecture(bert, masked, (1, 128), tokens=True),
    "convnext": Architecture(of("ConvNext"), pooled, IMAGE),
    "distilbert": Architecture(of("DistilBert", **EAGER), masked, (1, 128), tokens=True),
    "gpt2_1": Architecture(gpt2, causal, (1, 1), tokens=True),
    "gpt2_128": Architecture(gpt2, causal, (1, 128), tokens=True),
    "minilm": Architecture(minilm, masked, (1, 128), tokens=True),
    "mobilenetv2": Architecture(of("MobileNetV2"), pooled, IMAGE),
    "resnet50": Architecture(resnet, pooled, IMAGE),
    "segformer": Architecture(of("Segformer", **EAGER), hidden, (1, 3, 512, 512)),
    "vit": Architecture(of("ViT", **EAGER), hidden, IMAGE),
    "wav2vec2": Architecture(of("Wav2Vec2", **EAGER), hidden, (1, 16000)),
    "whisper": Architecture(lambda: of("Whisper", **EAGER)().encoder, hidden, (1, 80, 3000)),
    "yolos": Architecture(yolos, hidden, (1, 3, 512, 864)),
}


def export(name: str, path: Path) -> None:
    architecture = ARCHITECTURES[name]
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            architecture.model(), (architecture.input(),), path, dynamo=False,
            input_names=["x"], output_names=["y"], opset_version=OPSET,
        )  # fmt: skip


def quantise(name: str, model: Path, path: Path) -> None:
    logging.getLogger().setLevel(logging.ERROR)  # it warns of weights that have no channels
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Inputs(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left = [ARCHITECTURES[name].input(seed).numpy() for seed in range(4)]

        def get_next(self) -> dict[str, np.ndarray] | None:
            return {"x": self.left.pop()} if self.left else None

    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared.onnx"
        quant_pre_process(model, prepared)
        quantize_static(
            prepared, path, Inputs(), quant_format=QuantFormat.QDQ, per_channel=True,
            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ARCHITECTURES)} (default: all)")
    parser.add_argument("--quantised", action="store_true", help=f"QDQ models, of {', '.join(QUANTISED)}")
    options = parser.parse_args()
    known = QUANTISED if options.quantised else tuple(ARCHITECTURES)
    if wrong := [name for name in options.names if name not in known]:
        parser.error(f"no '{wrong[0]}'; there are {', '.join(known)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or known:
        print(name, file=sys.stderr, flush=True)
        if not options.quantised:
            export(name, options.folder / f"{name}.onnx")
            continue
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder) / f"{name}.onnx"
            export(name, plain)
            quantise(name, plain, options.folder / f"{name}_qdq.onnx")


if __name__ == "__main__":
    main()
