"""The example that makes pictures: they are PyTorch's, for every size and number of steps."""

from __future__ import annotations

import torch
from examples.demos import load


def test_pictures_as_in_torch() -> None:
    demo = load("diffusion", "text_to_picture")
    sizes = demo.Sizes()
    net, decoder = demo.networks(sizes)
    model = demo.compiled(net, decoder, sizes)
    for height, width, steps, words in ((8, 8, 10, 9), (12, 16, 3, 4), (4, 10, 2, 13)):
        latents, text = torch.randn(1, 4, height, width), torch.randn(2, words, sizes.text)
        with torch.no_grad():
            expected = demo.picture(net, decoder, latents, text, steps)
        found = demo.picture(model["denoise"], model["decode"], latents, text, steps)
        assert found.shape == (1, 3, 2 * height, 2 * width)
        torch.testing.assert_close(found / expected.abs().max(), expected / expected.abs().max(), atol=2e-5, rtol=0)
        assert float(expected.std()) > 0.01
