"""Networks and kernels that bench/quoin.py measures, with random weights."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
from torch import nn

Case = tuple[nn.Module, tuple[torch.Tensor, ...]]


def randomise_normalisations(net: nn.Module) -> None:
    """Scales, shifts and statistics as those of trained networks are: one number for each channel, none of them 0."""
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, std=0.1)
            nn.init.normal_(module.running_mean, std=0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)


class Output(nn.Module):  # type: ignore[misc]
    """One tensor of what a model of `transformers` returns."""

    def __init__(self, net: nn.Module, argument: str, output: str) -> None:
        super().__init__()
        self.net, self.argument, self.output = net.eval(), argument, output

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = getattr(self.net(**{self.argument: value}), self.output)
        return result


def image(batch: int) -> tuple[torch.Tensor, ...]:
    return (torch.randn(batch, 3, 224, 224),)


def resnet50(batch: int) -> Case:
    from transformers import ResNetConfig, ResNetModel

    return Output(ResNetModel(ResNetConfig()), "pixel_values", "pooler_output"), image(batch)


def mobilenet_v2(batch: int) -> Case:
    from transformers import MobileNetV2Config, MobileNetV2Model

    return Output(MobileNetV2Model(MobileNetV2Config()), "pixel_values", "pooler_output"), image(batch)


def bert_base(batch: int) -> Case:
    from transformers import BertConfig, BertModel

    net = BertModel(BertConfig(attn_implementation="eager"), add_pooling_layer=False)
    return Output(net, "input_ids", "last_hidden_state"), (torch.randint(0, 1000, (batch, 128)),)


def vit_base(batch: int) -> Case:
    from transformers import ViTConfig, ViTModel

    net = ViTModel(ViTConfig(attn_implementation="eager"), add_pooling_layer=False)
    return Output(net, "pixel_values", "last_hidden_state"), image(batch)


def vgg16(batch: int) -> Case:
    layers: list[nn.Module] = []
    channels = 3
    for width in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        if width == 0:
            layers.append(nn.MaxPool2d(2))
            continue
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
        channels = width
    head = [nn.Flatten(), nn.Linear(512 * 49, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000)]
    return nn.Sequential(*layers, *head).eval(), image(batch)


class DenseLayer(nn.Module):  # type: ignore[misc]
    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, 4 * growth, 1, bias=False))
        self.second = nn.Sequential(
            nn.BatchNorm2d(4 * growth), nn.ReLU(), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, self.second(self.first(x))], 1)


def densenet121(batch: int) -> Case:
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    channels, growth = 64, 32
    for number, count in enumerate((6, 12, 24, 16)):
        for _ in range(count):
            layers.append(DenseLayer(channels, growth))
            channels += growth
        if number < 3:
            layers += [nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, channels // 2, 1), nn.AvgPool2d(2)]
            channels //= 2
    head = [nn.BatchNorm2d(channels), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000)]
    return nn.Sequential(*layers, *head).eval(), image(batch)


def perceptron(*widths: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class Dlrm(nn.Module):  # type: ignore[misc]
    """Numbers and rows of tables, products of all pairs of them, and a perceptron."""

    def __init__(self) -> None:
        super().__init__()
        self.bottom = perceptron(13, 512, 256, 64)
        self.tables = nn.ModuleList(nn.Embedding(10_000, 64) for _ in range(26))
        self.top = perceptron(64 + 27 * 27, 512, 256, 1)

    def forward(self, numbers: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        bottom = self.bottom(numbers)
        rows = torch.stack([bottom, *(table(indices[:, i]) for i, table in enumerate(self.tables))], 1)
        pairs = (rows @ rows.transpose(1, 2)).flatten(1)
        return torch.sigmoid(self.top(torch.cat([bottom, pairs], 1)))


def dlrm(batch: int) -> Case:
    return Dlrm().eval(), (torch.randn(batch, 13), torch.randint(0, 10_000, (batch, 26)))


NETWORKS: dict[str, Callable[[int], Case]] = {
    "BERT-base": bert_base,
    "ViT-B/16": vit_base,
    "ResNet-50": resnet50,
    "DLRM": dlrm,
    "VGG-16": vgg16,
    "MobileNetV2": mobilenet_v2,
    "DenseNet-121": densenet121,
}
BATCHES = {
    "BERT-base": 8,
    "ViT-B/16": 8,
    "ResNet-50": 8,
    "DLRM": 2048,
    "VGG-16": 8,
    "MobileNetV2": 16,
    "DenseNet-121": 8,
}


class ChannelsLast(nn.Module):  # type: ignore[misc]
    """A module of images whose channels come last, as they do in kernels by hand."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.net(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        return result


class Product(nn.Module):  # type: ignore[misc]
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


class Attention(nn.Module):  # type: ignore[misc]
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.softmax(q @ k.transpose(0, 1) * 0.125, -1) @ v


class Transpose(nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.transpose(0, 1).contiguous()


def kernel(net: nn.Module, *shapes: tuple[int, ...]) -> Callable[[], Case]:
    return lambda: (net.eval(), tuple(torch.randn(shape) for shape in shapes))


KERNELS: dict[str, Callable[[], Case]] = {
    "product8": kernel(Product(), (512, 512), (512, 512)),
    "product": kernel(Product(), (512, 512), (512, 512)),
    "convolution": kernel(ChannelsLast(nn.Conv2d(32, 64, 3, padding=1, bias=False)), (1, 56, 56, 32)),
    "depthwise": kernel(ChannelsLast(nn.Conv2d(64, 64, 3, padding=1, groups=64, bias=False)), (1, 28, 28, 64)),
    "softmax": kernel(nn.Softmax(-1), (256, 1024)),
    "layernorm": kernel(nn.LayerNorm(768), (256, 768)),
    "attention": kernel(Attention(), (256, 64), (256, 64), (256, 64)),
    "pooling": kernel(ChannelsLast(nn.MaxPool2d(3, 2, 1)), (1, 56, 56, 64)),
    "transpose": kernel(Transpose(), (1024, 512)),
}
