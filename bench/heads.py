"""Decoders that resize features of several sizes, with random weights, as ONNX files for models.py.

usage: heads.py FOLDER [NAME ...]

segformer_head is SegFormer-B0 of `transformers` with its head. The others have one small backbone, whose features are a
quarter to a 32nd as wide as the image: pyramid (FPN, nearest), unified (UPerNet), atrous (DeepLab 3+, aligned corners),
pooled (PSPNet), and cubic, which resizes an image. Batch normalisation has seen a few batches.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WIDTHS = (32, 64, 128, 256)
WIDE, IMAGE = 128, (1, 3, 256, 256)
OPSET = 17


def unit(inputs: int, outputs: int, size: int = 1, stride: int = 1, dilation: int = 1) -> nn.Sequential:
    padding = dilation * (size // 2)
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, padding, dilation, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
    )


def resized(x: Tensor, like: Tensor, align: bool = False) -> Tensor:
    return F.interpolate(x, size=like.shape[2:], mode="bilinear", align_corners=align)


class Backbone(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.ModuleList(
            [unit(3, WIDTHS[0], 3, 4), *(unit(WIDTHS[i], WIDTHS[i + 1], 3, 2) for i in range(3))]
        )

    def forward(self, x: Tensor) -> list[Tensor]:
        features = []
        for stage in self.stages:
            x = stage(x)
            features.append(x)
        return features


class Pooled(nn.Module):  # type: ignore[misc]
    """Pools of several sizes beside their input."""

    def __init__(self, inputs: int, align: bool) -> None:
        super().__init__()
        self.align = align
        self.pools = nn.ModuleList([nn.Sequential(nn.AdaptiveAvgPool2d(k), unit(inputs, WIDE)) for k in (1, 2, 4)])
        self.last = unit(inputs + 3 * WIDE, WIDE, 3)

    def forward(self, x: Tensor) -> Tensor:
        parts = [resized(pool(x), x, self.align) for pool in self.pools]
        return self.last(torch.cat([x, *parts], 1))


class PSPNet(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.backbone, self.pooled, self.classes = Backbone(), Pooled(WIDTHS[3], True), nn.Conv2d(WIDE, 21, 1)

    def forward(self, x: Tensor) -> Tensor:
        return resized(self.classes(self.pooled(self.backbone(x)[3])), x, True)


class UPerNet(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.backbone, self.pooled = Backbone(), Pooled(WIDTHS[3], False)
        self.lateral = nn.ModuleList([unit(width, WIDE) for width in WIDTHS[:3]])
        self.smooth = nn.ModuleList([unit(WIDE, WIDE, 3) for _ in WIDTHS[:3]])
        self.fuse, self.classes = unit(4 * WIDE, WIDE, 3), nn.Conv2d(WIDE, 150, 1)

    def forward(self, x: Tensor) -> Tensor:
        features = self.backbone(x)
        levels = [lateral(feature) for lateral, feature in zip(self.lateral, features[:3], strict=True)]
        levels.append(self.pooled(features[3]))
        for i in (3, 2, 1):
            levels[i - 1] = levels[i - 1] + resized(levels[i], levels[i - 1])
        outputs = [smooth(level) for smooth, level in zip(self.smooth, levels[:3], strict=True)] + levels[3:]
        outputs = outputs[:1] + [resized(output, outputs[0]) for output in outputs[1:]]
        return resized(self.classes(self.fuse(torch.cat(outputs, 1))), x)


class Pyramid(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.backbone = Backbone()
        self.lateral = nn.ModuleList([nn.Conv2d(width, WIDE, 1) for width in WIDTHS])
        self.smooth = nn.ModuleList([nn.Conv2d(WIDE, WIDE, 3, padding=1) for _ in WIDTHS])
        self.head = nn.Conv2d(WIDE, 64, 3, padding=1)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        levels = [lateral(feature) for lateral, feature in zip(self.lateral, self.backbone(x), strict=True)]
        for i in (3, 2, 1):
            levels[i - 1] = levels[i - 1] + F.interpolate(levels[i], scale_factor=2.0, mode="nearest")
        return tuple(self.head(smooth(level)) for smooth, level in zip(self.smooth, levels, strict=True))


class DeepLab(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.backbone = Backbone()
        self.branches = nn.ModuleList(
            [unit(WIDTHS[3], WIDE), *(unit(WIDTHS[3], WIDE, 3, dilation=rate) for rate in (2, 4, 6))]
        )
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), unit(WIDTHS[3], WIDE))
        self.project, self.low = unit(5 * WIDE, WIDE), unit(WIDTHS[0], 48)
        self.fuse, self.classes = unit(WIDE + 48, WIDE, 3), nn.Conv2d(WIDE, 21, 1)

    def forward(self, x: Tensor) -> Tensor:
        features = self.backbone(x)
        high = features[3]
        parts = [branch(high) for branch in self.branches] + [resized(self.pool(high), high, True)]
        decoded = torch.cat([resized(self.project(torch.cat(parts, 1)), features[0], True), self.low(features[0])], 1)
        return resized(self.classes(self.fuse(decoded)), x, True)


class Cubic(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = unit(3, 32, 3), nn.Conv2d(32, 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        larger = [F.interpolate(y, scale_factor=2.0, mode="bicubic") for y in (self.first(x), x)]
        return self.last(larger[0]) + larger[1]


class Segformer(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        import transformers

        config = transformers.SegformerConfig(attn_implementation="eager", num_labels=150)
        self.model = transformers.SegformerForSemanticSegmentation(config)

    def forward(self, x: Tensor) -> Tensor:
        return self.model(x).logits


HEADS: dict[str, tuple[Callable[[], nn.Module], Sequence[int]]] = {
    "segformer_head": (Segformer, (1, 3, 512, 512)),
    "unified": (UPerNet, IMAGE),
    "pyramid": (Pyramid, IMAGE),
    "atrous": (DeepLab, IMAGE),
    "pooled": (PSPNet, IMAGE),
    "cubic": (Cubic, IMAGE),
}


def export(name: str, path: Path) -> None:
    make, shape = HEADS[name]
    torch.manual_seed(0)
    model = make()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            model.train()(torch.randn(2, *shape[1:]))
        torch.onnx.export(
            model.eval(), (torch.randn(shape),), path, dynamo=False, input_names=["x"], opset_version=OPSET
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(HEADS)} (default: all)")
    options = parser.parse_args()
    if wrong := [name for name in options.names if name not in HEADS]:
        parser.error(f"no '{wrong[0]}'; there are {', '.join(HEADS)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or HEADS:
        print(name, file=sys.stderr, flush=True)
        export(name, options.folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
