"""What a lower precision changes in a model's outputs, here and in PyTorch, against f32.

usage: precisions.py [--models bert,mobilenetv2]
Of models of architectures.py, whose weights are random. Prints a table of root mean squares: of the difference, over
that of the result in f32.
"""

from __future__ import annotations

import argparse
import copy

import numpy as np
import perpend
import torch
from architectures import ARCHITECTURES

PRECISIONS = {"bf16": torch.bfloat16, "f16": torch.float16, "int8": None}


def deviation(result: np.ndarray, exact: np.ndarray) -> str:
    return f"{np.sqrt(((result - exact) ** 2).mean() / (exact**2).mean()):.1e}"


def row(name: str) -> str:
    model, x = ARCHITECTURES[name].model(), ARCHITECTURES[name].input()
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
    parser.add_argument("--models", default="bert,mobilenetv2")
    torch.manual_seed(0)
    print("| model | bf16 | PyTorch in bf16 | f16 | PyTorch in f16 | int8 |\n|---|---|---|---|---|---|")
    for name in parser.parse_args().models.split(","):
        print(row(name), flush=True)


if __name__ == "__main__":
    main()
