"""A text to a picture: the U-Net and the VAE's decoder of Stable Diffusion, compiled, in the loop of DDIM.

Both are entries of one library, which takes any number of pictures of any size.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import perpend
import torch
from torch import Tensor
from torch.export import Dim

sys.path.insert(0, str(Path(__file__).parent))

from network import Decoder, Sizes, UNet

TRAINED, GUIDANCE = 1000, 7.5  # steps in training; how much the text counts


def networks(sizes: Sizes) -> tuple[UNet, Decoder]:
    """Of random weights. Trained ones have the same shapes under other names."""
    torch.manual_seed(0)
    return UNet(sizes).eval(), Decoder(sizes).eval()


def compiled(net: UNet, decoder: Decoder, sizes: Sizes) -> perpend.Model:
    batch, height, width = Dim.DYNAMIC, Dim("height", max=128), Dim("width", max=128)
    shapes = {0: batch, 2: 2 * height, 3: 2 * width}  # the U-Net halves them
    latents = torch.randn(2, 4, 8, 12)
    return perpend.compile(
        {"denoise": net, "decode": decoder},
        example_inputs={
            "denoise": (latents, torch.tensor([1, 1]), torch.randn(2, 7, sizes.text)),
            "decode": (latents,),
        },
        dynamic_shapes={"denoise": (shapes, {0: batch}, {0: batch, 1: Dim.DYNAMIC}), "decode": (shapes,)},
    )


def picture(
    denoise: Callable[..., Tensor], decode: Callable[..., Tensor], latents: Tensor, text: Tensor, steps: int
) -> Tensor:
    """DDIM with guidance. text: that of nothing, and that of the picture [2, tokens, width]. Source: Song et al.,
    Denoising Diffusion Implicit Models, 2020, equation 12 with sigma 0."""
    betas = torch.linspace(0.00085**0.5, 0.012**0.5, TRAINED) ** 2
    kept = torch.cat([torch.ones(1), torch.cumprod(1 - betas, 0)])  # how much of the picture is left after a step
    times = torch.linspace(TRAINED, 0, steps + 1).long()
    for now, then in pairwise(times):
        without, given = denoise(torch.cat([latents, latents]), (now - 1).expand(2), text).chunk(2)
        noise = without + GUIDANCE * (given - without)
        clean = (latents - (1 - kept[now]).sqrt() * noise) / kept[now].sqrt()
        latents = kept[then].sqrt() * clean + (1 - kept[then]).sqrt() * noise
    return decode(latents)


def main() -> None:
    sizes = Sizes()
    net, decoder = networks(sizes)
    model = compiled(net, decoder, sizes)
    for height, width, steps in ((8, 8, 10), (12, 16, 4)):
        latents, text = torch.randn(1, 4, height, width), torch.randn(2, 9, sizes.text)
        with torch.no_grad():
            expected = picture(net, decoder, latents, text, steps)
        found = picture(model["denoise"], model["decode"], latents, text, steps)
        error = float((found - expected).abs().max() / expected.abs().max())
        print(f"{steps} steps: a picture {list(found.shape)}, PyTorch's but for {error:.1e} of its range")


if __name__ == "__main__":
    main()
