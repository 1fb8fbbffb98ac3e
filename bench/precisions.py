"""What a lower precision changes in a model's outputs, here and in PyTorch, against f32.

usage: precisions.py [--models bert,mobilenetv2] [--out FOLDER]
Of models of architectures.py, whose weights are random. Writes a table of root mean squares: of the difference, over
that of the result in f32.
"""

from __future__ import annotations

import argparse
import copy
import datetime
from pathlib import Path

import models
import numpy as np
import perpend
import torch
import turns
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
    parser.add_argument("--models", default=",".join(ARCHITECTURES), help="comma-separated (default: all)")
    parser.add_argument("--out", type=Path, default=models.ROOT / "build" / "bench", help="for precisions.md")
    options = parser.parse_args()
    torch.manual_seed(0)
    lines = [
        "# What a lower precision changes",
        "",
        f"Written by `{turns.command_line()}`, {datetime.date.today().isoformat()}.",
        f"Processor: {turns.processor()}. Versions: torch {torch.__version__}.",
        "Root mean square of the difference to PyTorch in f32, over that of the result. Weights are random; ConvNeXt "
        "scales what its blocks add by 1e-6 then, so its products hardly count.",
        "",
        "| model | bf16 | PyTorch in bf16 | f16 | PyTorch in f16 | int8 |",
        "|---|---|---|---|---|---|",
    ]
    for name in options.models.split(","):
        lines.append(row(name))
        print(lines[-1], flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "precisions.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
