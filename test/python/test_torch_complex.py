"""Complex numbers inside of PyTorch models: arithmetic, movement and Fourier transforms."""

from __future__ import annotations

from typing import Any

import perpend
import pytest
import torch
from python.torch_functions import check

torch.manual_seed(0)
X = torch.randn(3, 6, 8)
WAVE = torch.randn(2, 64)
WINDOW = torch.hann_window(16)


def spectrogram(wave: torch.Tensor) -> torch.Tensor:
    return torch.stft(wave, 16, 4, window=WINDOW, return_complex=True)


def test_transforms() -> None:
    check(lambda x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real, X)
    check(lambda x: torch.fft.irfft2(torch.fft.rfft2(x), s=x.shape[-2:]), X)
    check(lambda x: torch.fft.ifft(torch.fft.rfft(x, n=5, dim=1), norm="forward").imag, X)
    for norm in ("backward", "ortho", "forward"):
        check(lambda x, norm=norm: (torch.fft.rfft(x, norm=norm).abs(), torch.fft.hfft(x + 0j, norm=norm)), X)
        check(
            lambda x, norm=norm: torch.fft.irfft(torch.fft.rfft(x, norm=norm) * 2, n=x.shape[-1], norm=norm),
            X,
            dynamic=[[0, 2]],
            more=[[torch.randn(1, 6, 7)]],
        )


def test_spectrograms() -> None:
    check(lambda w: torch.view_as_real(spectrogram(w)), WAVE)
    check(lambda w: spectrogram(w).abs() ** 2, WAVE, dynamic=[[0, 1]], more=[[torch.randn(3, 80)]])
    check(lambda w: torch.istft(spectrogram(w), 16, 4, window=WINDOW), WAVE)


def test_arithmetic() -> None:
    def function(x: torch.Tensor) -> Any:
        z = torch.complex(x, x + 1)
        values = [z * z, z / (z + 1), 1 - z, z.exp(), z**2, z * 2j, z @ z.mT, z * x, x * z, z / x, z + x, z + 2, -z]
        return z.abs(), z.angle(), z.conj().imag, [(value.real, value.imag) for value in values]

    check(function, X)


def test_movement() -> None:
    def function(x: torch.Tensor) -> Any:
        z = torch.complex(x, x + 1)
        values = [torch.cat([z, z.conj()]), torch.stack([z, z])[1], z[:, 1:3], z.reshape(-1), z.transpose(0, 1)]
        values += [z.mean(0), z.sum(1), torch.fft.fftshift(z), z.to(torch.complex128), torch.where(x > 0, z, 0j)]
        return [(value.real, value.imag) for value in values]

    check(function, X)


def test_rotary_positions() -> None:
    """Pairs of elements turned by a constant that is complex."""
    turns = torch.polar(torch.ones(6, 4), torch.randn(6, 4))

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (4, 2))) * turns).flatten(-2)

    check(function, X)


def test_complex_outputs_are_refused() -> None:
    with pytest.raises(perpend.CompileError, match=r"complex numbers are not supported\nhint: return"):
        check(lambda x: torch.complex(x, x), X)
    with pytest.raises(perpend.CompileError, match=r"aten.sin.default \(1 node\)"):
        check(lambda x: torch.complex(x, x).sin().real, X)
