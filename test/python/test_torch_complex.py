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


class Shifted(torch.nn.Module):  # type: ignore[misc]
    """x + b, where b may be complex."""

    def __init__(self, b: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("b", b)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + self.b
        return torch.view_as_real(y) if y.is_complex() else y


@pytest.mark.parametrize("count", [0, 1, 3])
def test_signs_that_are_not_in_memory(count: int) -> None:
    """Negative and conjugate views: of inputs, those that require gradients too, of buffers and of parameters."""
    numbers = torch.randn(count, 2)
    z = torch.view_as_complex(numbers)
    for b in (torch._neg_view(numbers[:, 0]), z.conj(), z.conj().imag, torch._neg_view(z), numbers[:, 1]):
        net = Shifted(b).eval()
        x = torch.randn(count)
        model = perpend.compile(net, example_inputs=(x,))
        for given in (x, torch._neg_view(x), z.conj().imag, torch._neg_view(x.clone().requires_grad_())):
            torch.testing.assert_close(model(given), net(given).detach())
        torch._dynamo.reset()
        with torch.no_grad():
            torch.testing.assert_close(torch.compile(net, backend="perpend")(torch._neg_view(x)), net(-x))


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


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"win_length": 10, "window": torch.hann_window(10)},
        {"win_length": 11},
        {"center": False, "onesided": False, "normalized": True},
        {"pad_mode": "constant", "hop_length": 5},
    ],
)
@pytest.mark.parametrize("signal", [WAVE, WAVE[0]])
def test_options_of_spectrograms(options: dict[str, Any], signal: torch.Tensor) -> None:
    check(lambda w: torch.view_as_real(torch.stft(w, 16, return_complex=True, **options)), signal)
    if options.get("center") is False:
        check(lambda w: torch.view_as_real(torch.stft(torch.complex(w, w * w), 16, return_complex=True)), signal)


def test_transforms_of_several_dimensions() -> None:
    images = torch.randn(2, 3, 6, 5, 4)
    for dims in ((-2, -1), (1, 2), (-1, -2), (0, 3), (1, 2, 3), (0, 1, 3, 4), (2,)):
        check(lambda x, dims=dims: torch.view_as_real(torch.fft.fftn(x, dim=dims)), images)
        check(lambda x, dims=dims: torch.view_as_real(torch.fft.rfftn(x, dim=dims, norm="ortho")), images)
        check(lambda x, dims=dims: torch.view_as_real(torch.fft.ifftn(torch.complex(x, x * x), dim=dims)), images)
        check(lambda x, dims=dims: torch.fft.irfftn(torch.complex(x, x * x), dim=dims), images)
    check(
        lambda x: torch.view_as_real(torch.fft.fft2(x)),
        torch.randn(2, 6, 5),
        dynamic=[[0, 1, 2]],
        more=[[torch.randn(1, 1, 7)], [torch.randn(3, 16, 16)]],
    )


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
    with pytest.raises(perpend.CompileError, match=r"aten.asin.default \(1 node\)"):
        check(lambda x: torch.complex(x, x).asin().real, X)
    with pytest.raises(perpend.CompileError, match="input 'inputs_0': complex numbers are not supported\nhint: take"):
        check(torch.abs, torch.complex(X, X))
    compiled = torch.compile(lambda x: torch.complex(x, x), backend="perpend")
    with torch.no_grad(), pytest.warns(UserWarning, match="runs in PyTorch, because .*complex numbers"):
        torch.testing.assert_close(compiled(X), torch.complex(X, X))


def test_functions() -> None:
    """Of numbers in all quadrants, on the axes and 0."""
    names = ["sin", "cos", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "reciprocal", "sgn", "sigmoid"]

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        z = torch.complex(x, y)
        values = [getattr(torch, name)(z) for name in names]
        values += [
            torch.nn.functional.silu(z),
            z**3,
            z**-1.5,
            z.prod(0),
            z.prod(),
            torch.zeros_like(z).copy_(z),
            z.tril(),
        ]
        return [(value.real, value.imag) for value in values]

    x, y = torch.meshgrid(torch.tensor([-2.0, -0.5, 0, 1, 3]), torch.tensor([-1.5, 0.0, 0.25, 2]), indexing="ij")
    check(function, x + 1e-3, y)
    check(lambda x, y: [torch.view_as_real(f(torch.complex(x, y))) for f in (torch.sqrt, torch.sgn)], x, y)
    check(lambda x: torch.view_as_real(torch.tanh(torch.complex(x, x))), torch.tensor([-500.0, 90, 1e-20]))
    check(lambda x: torch.view_as_real(torch.sigmoid(torch.complex(x, x))), torch.tensor([-80.0, 500, 1e-20]))


def test_writes_to_parts() -> None:
    """As layers do that keep some of the frequencies."""
    weight = torch.randn(6, 6, 3, dtype=torch.cfloat)

    def function(x: torch.Tensor) -> torch.Tensor:
        z = torch.fft.rfft(x)
        kept = torch.zeros_like(z)
        kept[..., :3] = torch.einsum("bim,iom->bom", z[..., :3], weight)
        return torch.fft.irfft(kept, n=x.shape[-1])

    check(function, X, dynamic=[[0]], more=[[torch.randn(1, 6, 8)]])


def test_real_numbers_have_no_imaginary_part() -> None:
    """Not even infinity, whose product with 0 is no number."""
    numbers = torch.tensor([1.0, float("inf"), -float("inf")])
    check(lambda x: torch.view_as_real(x.to(torch.complex64)), numbers)
