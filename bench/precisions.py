"""What a lower precision changes in a model's outputs, here and in PyTorch, against f32.

usage: precisions.py [--models bert,mobilenetv2]
Weights are random, as the libraries draw them; batch normalisation has seen a few batches, so that values keep their
size. Prints a table of root mean squares: of the difference, over that of the result in f32.
"""

from __future__ import annotations

import argparse
import copy

import numpy as np
import perpend
import torch
import transformers

PRECISIONS = {"bf16": torch.bfloat16, "f16": torch.float16, "int8": None}


class Last(torch.nn.Module):  # type: ignore[misc]
    """The first output of a model of transformers."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x)[0]


def bert() -> tuple[torch.nn.Module, torch.Tensor]:
    model = transformers.BertModel(transformers.BertConfig(attn_implementation="eager"))
    return Last(model).eval(), torch.randint(0, 30000, (1, 128))


def mobilenetv2() -> tuple[torch.nn.Module, torch.Tensor]:
    model = Last(transformers.MobileNetV2Model(transformers.MobileNetV2Config()))
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.momentum = 0.5
        for _ in range(8):
            model.train()(torch.randn(4, 3, 224, 224))
    return model.eval(), torch.randn(1, 3, 224, 224)


MODELS = {"bert": bert, "mobilenetv2": mobilenetv2}


def deviation(result: np.ndarray, exact: np.ndarray) -> str:
    return f"{np.sqrt(((result - exact) ** 2).mean() / (exact**2).mean()):.1e}"


def row(name: str) -> str:
    model, x = MODELS[name]()
    cells = [name]
    with torch.no_grad():
        exact = model(x).numpy()
        for precision, kind in PRECISIONS.items():
            compiled = perpend.compile(model, example_inputs=(x,), precision=precision)
            cells.append(deviation(compiled(x).numpy(), exact))
            if kind is not None:
                lowered = copy.deepcopy(model).to(kind)(x.to(kind) if x.is_floating_point() else x)
                cells.append(deviation(lowered.float().numpy(), exact))
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    torch.manual_seed(0)
    print("| model | bf16 | PyTorch in bf16 | f16 | PyTorch in f16 | int8 |\n|---|---|---|---|---|---|")
    for name in parser.parse_args().models.split(","):
        print(row(name), flush=True)


if __name__ == "__main__":
    main()
