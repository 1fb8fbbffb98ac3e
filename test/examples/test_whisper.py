"""The example that turns sound into text: its tokens are those of PyTorch's generate()."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
from examples.demos import load

os.environ["HF_HUB_OFFLINE"] = "1"
pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def demo() -> Any:
    return load("whisper")


def test_texts_as_in_torch(demo: Any) -> None:
    net, extractor = demo.whisper()
    model = demo.compiled(net, extractor)
    assert [info.name for info in model["hear"].inputs] == ["samples"]
    texts = []
    for hertz in (220, 440, 1760):
        samples = demo.tone(hertz)
        start, end = net.config.decoder_start_token_id, net.config.eos_token_id
        text = demo.transcribed(model, samples[None], [start], end, 24)
        assert text == demo.expected(net, extractor, samples, 24)
        texts.append(text)
    assert all(len(set(text)) > 2 for text in texts) and texts[0] != texts[1] != texts[2]


def test_spectrogram_as_the_extractor_computes_it(demo: Any) -> None:
    net, extractor = demo.whisper()
    samples = torch.cat([demo.tone(300)[:7000], torch.zeros(16000 * demo.SECONDS - 7000)])
    features = extractor(samples.numpy(), sampling_rate=16000, return_tensors="pt").input_features
    torch.testing.assert_close(demo.Hear(net, extractor).spectrogram(samples[None]), features)
