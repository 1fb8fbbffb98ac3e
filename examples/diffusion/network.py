"""The parts of Stable Diffusion that make pictures: the U-Net of the published architecture, and the VAE's decoder."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Sizes:
    """Published: channels (320, 640, 1280, 1280), heads 8, text 768, groups 32, decoder channels (512, 512, 256, 128),
    where the last level of the U-Net has no attention."""

    channels: tuple[int, ...] = (32, 64)
    heads: int = 4
    text: int = 48
    groups: int = 8
    decoded: tuple[int, ...] = (32, 16)


class Resnet(nn.Module):  # type: ignore[misc]
    """Two convolutions, between which the time of the step is added, beside a shortcut."""

    def __init__(self, inner: int, outer: int, time: int, groups: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(groups, inner), nn.GroupNorm(groups, outer)
        self.conv1, self.conv2 = nn.Conv2d(inner, outer, 3, padding=1), nn.Conv2d(outer, outer, 3, padding=1)
        self.time = nn.Linear(time, outer) if time else None
        self.shortcut = nn.Conv2d(inner, outer, 1) if inner != outer else nn.Identity()

    def forward(self, x: Tensor, time: Tensor | None = None) -> Tensor:
        hidden = self.conv1(F.silu(self.norm1(x)))
        if self.time is not None and time is not None:
            hidden = hidden + self.time(F.silu(time))[:, :, None, None]
        return self.shortcut(x) + self.conv2(F.silu(self.norm2(hidden)))


class Attention(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int, context: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key, self.value = nn.Linear(context, width, bias=False), nn.Linear(context, width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        context = x if context is None else context
        parts = (self.query(x), self.key(context), self.value(context))
        query, key, value = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in parts)
        return self.out(F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):  # type: ignore[misc]
    """GEGLU."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        hidden, gate = self.up(x).chunk(2, dim=-1)
        return self.down(hidden * F.gelu(gate))


class SpatialTransformer(nn.Module):  # type: ignore[misc]
    """Attention of the picture's places to each other, and to the text."""

    def __init__(self, width: int, sizes: Sizes) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(sizes.groups, width, eps=1e-6)
        self.into, self.out = nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own, self.cross = Attention(width, width, sizes.heads), Attention(width, sizes.text, sizes.heads)
        self.feed_forward = FeedForward(width)

    def forward(self, x: Tensor, text: Tensor) -> Tensor:
        _, _, height, width = x.shape
        hidden = self.into(self.norm(x)).flatten(2).transpose(1, 2)
        hidden = hidden + self.own(self.norms[0](hidden))
        hidden = hidden + self.cross(self.norms[1](hidden), text)
        hidden = hidden + self.feed_forward(self.norms[2](hidden))
        return x + self.out(hidden.transpose(1, 2).unflatten(2, (height, width)))


class Stage(nn.Module):  # type: ignore[misc]
    def __init__(self, inner: int, outer: int, time: int, sizes: Sizes) -> None:
        super().__init__()
        self.resnet = Resnet(inner, outer, time, sizes.groups)
        self.attention = SpatialTransformer(outer, sizes)

    def forward(self, x: Tensor, time: Tensor, text: Tensor) -> Tensor:
        return self.attention(self.resnet(x, time), text)


class Upsample(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(F.interpolate(x, scale_factor=2.0, mode="nearest"))


class UNet(nn.Module):  # type: ignore[misc]
    """The noise in latents [n, 4, height, width] at a time [n], with a text [n, tokens, width]."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        first, time = sizes.channels[0], 4 * sizes.channels[0]
        self.first = first
        self.time = nn.Sequential(nn.Linear(first, time), nn.SiLU(), nn.Linear(time, time))
        self.into = nn.Conv2d(4, first, 3, padding=1)
        self.down, self.shrink, kept = nn.ModuleList(), nn.ModuleList(), [first]
        for level, width in enumerate(sizes.channels):
            before = sizes.channels[max(level - 1, 0)]
            self.down.append(nn.ModuleList([Stage(before, width, time, sizes), Stage(width, width, time, sizes)]))
            kept += [width, width]
            if level + 1 < len(sizes.channels):
                self.shrink.append(nn.Conv2d(width, width, 3, stride=2, padding=1))
                kept.append(width)
        last = sizes.channels[-1]
        self.middle = Stage(last, last, time, sizes)
        self.behind = Resnet(last, last, time, sizes.groups)
        self.up, self.grow, inner = nn.ModuleList(), nn.ModuleList(), last
        for level, width in reversed(list(enumerate(sizes.channels))):
            stages = nn.ModuleList()
            for _ in range(3):
                stages.append(Stage(inner + kept.pop(), width, time, sizes))
                inner = width
            self.up.append(stages)
            if level:
                self.grow.append(Upsample(width))
        self.norm, self.out = nn.GroupNorm(sizes.groups, first), nn.Conv2d(first, 4, 3, padding=1)

    def embedded(self, time: Tensor) -> Tensor:
        half = self.first // 2
        rates = torch.exp(torch.arange(half) * (-math.log(10000) / half))
        angles = time[:, None].float() * rates
        return self.time(torch.cat([angles.cos(), angles.sin()], dim=-1))

    def forward(self, latents: Tensor, time: Tensor, text: Tensor) -> Tensor:
        at, x = self.embedded(time), self.into(latents)
        kept = [x]
        for level, stages in enumerate(self.down):
            for stage in stages:
                kept.append(x := stage(x, at, text))
            if level < len(self.shrink):
                kept.append(x := self.shrink[level](x))
        x = self.behind(self.middle(x, at, text), at)
        for level, stages in enumerate(self.up):
            for stage in stages:
                x = stage(torch.cat([x, kept.pop()], dim=1), at, text)
            if level < len(self.grow):
                x = self.grow[level](x)
        return self.out(F.silu(self.norm(x)))


class Decoder(nn.Module):  # type: ignore[misc]
    """The VAE's: latents [n, 4, height, width] to pictures [n, 3, larger height, larger width]."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        first, last, groups = sizes.decoded[0], sizes.decoded[-1], sizes.groups
        self.scale = 0.18215
        self.quantised, self.into = nn.Conv2d(4, 4, 1), nn.Conv2d(4, first, 3, padding=1)
        self.before, self.behind = Resnet(first, first, 0, groups), Resnet(first, first, 0, groups)
        self.norm, self.attention = nn.GroupNorm(groups, first, eps=1e-6), Attention(first, first, 1)
        stages: list[nn.Module] = []
        for level, width in enumerate(sizes.decoded):
            stages += [Resnet(sizes.decoded[max(level - 1, 0)], width, 0, groups), Resnet(width, width, 0, groups)]
            if level + 1 < len(sizes.decoded):
                stages.append(Upsample(width))
        self.stages = nn.Sequential(*stages)
        self.out = nn.Sequential(nn.GroupNorm(groups, last, eps=1e-6), nn.SiLU(), nn.Conv2d(last, 3, 3, padding=1))

    def forward(self, latents: Tensor) -> Tensor:
        x = self.before(self.into(self.quantised(latents / self.scale)))
        places = self.norm(x).flatten(2).transpose(1, 2)
        x = self.behind(x + self.attention(places).transpose(1, 2).unflatten(2, x.shape[2:]))
        return self.out(self.stages(x))
