"""Sound in, text out: a Whisper of transformers as one library with two entries, `hear` and `write`.

`hear` takes samples: it computes the log-mel spectrogram and the encoder, and returns the keys and values that the
decoder's cross attention reads. `write` takes a token and continues the text. The keys and values of its own tokens are
states that the library keeps from call to call.
"""

from __future__ import annotations

from collections.abc import Sequence

import perpend
import torch
from torch import Tensor, nn
from transformers import (
    DynamicCache,
    EncoderDecoderCache,
    StaticCache,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
)

SECONDS = 2  # of each piece of sound; 30 in the published checkpoints
LONGEST = 48  # text, in tokens


def whisper() -> tuple[WhisperForConditionalGeneration, WhisperFeatureExtractor]:
    """A small one of random weights. Of a trained one: from_pretrained("openai/whisper-tiny") of both classes."""
    torch.manual_seed(0)
    size = {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
    special: dict[str, int | None] = {
        "decoder_start_token_id": 1,
        "bos_token_id": 2,
        "eos_token_id": 2,
        "pad_token_id": 2,
    }
    special["begin_suppress_tokens"] = None
    lengths = {"max_source_positions": 50 * SECONDS, "max_target_positions": LONGEST}
    config = WhisperConfig(vocab_size=300, num_mel_bins=80, init_std=0.3, **size, **heads, **special, **lengths)
    return WhisperForConditionalGeneration(config).eval(), WhisperFeatureExtractor(chunk_length=SECONDS)


class Hear(nn.Module):  # type: ignore[misc]
    """Samples at 16 kHz [batch, samples] to the keys and values of each layer's cross attention."""

    def __init__(self, net: WhisperForConditionalGeneration, extractor: WhisperFeatureExtractor) -> None:
        super().__init__()
        self.encoder, self.layers = net.model.encoder, net.model.decoder.layers
        self.n_fft, self.hop = extractor.n_fft, extractor.hop_length
        self.register_buffer("window", torch.hann_window(extractor.n_fft))
        self.register_buffer("filters", torch.from_numpy(extractor.mel_filters).float().T.contiguous())

    def spectrogram(self, samples: Tensor) -> Tensor:
        waves = torch.stft(samples, self.n_fft, self.hop, window=self.window, return_complex=True)
        mel = self.filters @ waves[..., :-1].abs() ** 2
        log = mel.clamp(min=1e-10).log10()
        return (torch.maximum(log, log.amax((1, 2), keepdim=True) - 8) + 4) / 4

    def forward(self, samples: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        heard = self.encoder(self.spectrogram(samples)).last_hidden_state
        keys, values = list[Tensor](), list[Tensor]()
        for layer in self.layers:
            attention = layer.encoder_attn
            for project, parts in ((attention.k_proj, keys), (attention.v_proj, values)):
                heads = project(heard).unflatten(2, (attention.num_heads, attention.head_dim))
                parts.append(heads.transpose(1, 2))
        return keys, values


class Write(nn.Module):  # type: ignore[misc]
    """A token [1, 1] and what was heard, to the logits of the next token."""

    def __init__(self, net: WhisperForConditionalGeneration) -> None:
        super().__init__()
        self.decoder, self.project = net.model.decoder, net.proj_out
        config = net.config
        self.cache = StaticCache(config.get_text_config(decoder=True), max_cache_len=LONGEST)
        size = config.d_model // config.decoder_attention_heads
        self.cache.early_initialization(1, config.decoder_attention_heads, size, torch.float32, torch.device("cpu"))
        for number, layer in enumerate(self.cache.layers):  # what a module changes is a state of the compiled model
            self.register_buffer(f"keys_{number}", layer.keys)
            self.register_buffer(f"values_{number}", layer.values)
            self.register_buffer(f"length_{number}", layer.cumulative_length)

    def forward(self, token: Tensor, heard_keys: list[Tensor], heard_values: list[Tensor]) -> Tensor:
        heard = EncoderDecoderCache(self.cache, DynamicCache(zip(heard_keys, heard_values, strict=True)))
        heard.is_updated = dict.fromkeys(range(len(heard_keys)), True)
        results = self.decoder(input_ids=token, encoder_hidden_states=heard_keys[0], past_key_values=heard)
        return self.project(results.last_hidden_state[:, -1])


def compiled(net: WhisperForConditionalGeneration, extractor: WhisperFeatureExtractor) -> perpend.Model:
    samples, token = torch.zeros(1, 16000 * SECONDS), torch.tensor([[1]])
    hear = Hear(net, extractor)
    with torch.no_grad():
        heard = hear(samples)
    return perpend.compile(
        {"hear": hear, "write": Write(net)}, example_inputs={"hear": (samples,), "write": (token, *heard)}
    )


def transcribed(model: perpend.Model, samples: Tensor, start: Sequence[int], end: int, most: int) -> list[int]:
    """The tokens that follow `start` up to `end`, at most so many, by the highest logits."""
    write = model["write"]
    write.reset()
    heard, text = model["hear"](samples), list[int]()
    for token in start:
        logits = write(torch.tensor([[token]]), *heard)
    while len(text) < most and (token := int(logits.argmax())) != end:
        text.append(token)
        logits = write(torch.tensor([[token]]), *heard)
    return text


def expected(
    net: WhisperForConditionalGeneration, extractor: WhisperFeatureExtractor, samples: Tensor, most: int
) -> list[int]:
    """The text that PyTorch generates."""
    features = extractor(samples.numpy(), sampling_rate=16000, return_tensors="pt").input_features
    text: list[int] = net.generate(features, max_new_tokens=most)[0].tolist()
    return [token for token in text if token != net.config.eos_token_id]


def tone(hertz: float) -> Tensor:
    time = torch.arange(16000 * SECONDS) / 16000
    return torch.sin(2 * torch.pi * hertz * time) * torch.exp(-time)


def main() -> None:
    net, extractor = whisper()
    model = compiled(net, extractor)
    for hertz in (220, 440, 1760):
        samples = tone(hertz)
        text = transcribed(model, samples[None], [net.config.decoder_start_token_id], net.config.eos_token_id, 24)
        print(f"{hertz:4} Hz: {text}", "as in PyTorch" if text == expected(net, extractor, samples, 24) else "WRONG")


if __name__ == "__main__":
    main()
