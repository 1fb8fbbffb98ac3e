"""Pictures and texts to their similarity: a CLIP of transformers as one library, which prepares the pictures as well.

It takes pictures of any size and texts of any length, and any number of both.
"""

from __future__ import annotations

import perpend
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim
from transformers import CLIPConfig, CLIPModel

MEAN, DEVIATION = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]


def clip() -> CLIPModel:
    """A small one of random weights. A trained one: CLIPModel.from_pretrained("openai/clip-vit-base-patch32")."""
    torch.manual_seed(0)
    part = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    text = {**part, "vocab_size": 500, "max_position_embeddings": 32, "bos_token_id": 498, "eos_token_id": 499}
    vision = {**part, "image_size": 32, "patch_size": 8}
    return CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=32)).eval()


class Similarity(nn.Module):  # type: ignore[misc]
    """Pictures as bytes [n, 3, height, width] and tokens of texts [m, length], padded, to probabilities [n, m]."""

    def __init__(self, net: CLIPModel) -> None:
        super().__init__()
        self.net = net
        self.size: int = net.config.vision_config.image_size
        self.register_buffer("mean", torch.tensor(MEAN)[:, None, None])
        self.register_buffer("deviation", torch.tensor(DEVIATION)[:, None, None])

    def prepared(self, pictures: Tensor) -> Tensor:
        size = (self.size, self.size)
        resized = F.interpolate(pictures / 255, size, mode="bicubic", antialias=True).clamp(0, 1)
        return (resized - self.mean) / self.deviation

    def forward(self, pictures: Tensor, tokens: Tensor, attention_mask: Tensor) -> Tensor:
        results = self.net(pixel_values=self.prepared(pictures), input_ids=tokens, attention_mask=attention_mask)
        return results.logits_per_image.softmax(-1)


def padded(texts: list[list[int]], end: int) -> dict[str, Tensor]:
    longest = max(map(len, texts))
    rows = [text + [end] * (longest - len(text)) for text in texts]
    mask = [[1] * len(text) + [0] * (longest - len(text)) for text in texts]
    return {"tokens": torch.tensor(rows), "attention_mask": torch.tensor(mask)}


def compiled(similarity: Similarity) -> perpend.Model:
    pictures = torch.zeros(2, 3, 50, 60, dtype=torch.uint8)
    rows = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}
    return perpend.compile(
        similarity,
        example_inputs={"pictures": pictures, **padded([[498, 3, 499], [498, 4, 5, 6, 499]], 499)},
        dynamic_shapes={
            "pictures": {0: Dim.DYNAMIC, 2: Dim.DYNAMIC, 3: Dim.DYNAMIC},
            "tokens": rows,
            "attention_mask": rows,
        },
    )


def main() -> None:
    similarity = Similarity(clip()).eval()
    model = compiled(similarity)
    texts = padded([[498, 17, 230, 499], [498, 71, 499], [498, 8, 9, 10, 11, 12, 499]], 499)
    for count, height, width in ((1, 32, 32), (2, 96, 70), (3, 45, 200)):
        pictures = torch.randint(0, 256, (count, 3, height, width), dtype=torch.uint8)
        with torch.no_grad():
            expected = similarity(pictures, **texts)
        found = model(pictures=pictures, **texts)
        error = float((found - expected).abs().max())
        print(f"{count} of {height}x{width}: {found.numpy().round(4).tolist()}, PyTorch's but for {error:.1e}")


if __name__ == "__main__":
    main()
