"""Writes samples.npz: small files of every format, and what Pillow reads from them: python make_samples.py

Needs Pillow, which the tests do not. Each file `name` has its bytes in `name`, and its pixels as RGB in `name:rgb`.
"""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 19, 13
SAMPLES = Path(__file__).with_name("samples.npz")


def picture(mode: str) -> Image.Image:
    """Colours that change smoothly, with a few that do not."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    rgb = np.stack([x * 255 // (WIDTH - 1), y * 255 // (HEIGHT - 1), (x * y * 3) % 256], axis=2).astype(np.uint8)
    rgb[4:7, 5:9] = [200, 30, 90]
    image = Image.fromarray(rgb)
    if mode in ("RGBA", "LA"):
        image.putalpha(Image.fromarray(((x + y) * 8).astype(np.uint8)))
    return image.convert(mode)


def encoded(mode: str, kind: str, **options: object) -> bytes:
    with io.BytesIO() as file:
        picture(mode).save(file, format=kind, **options)
        return file.getvalue()


def gray16() -> bytes:
    values = np.arange(WIDTH * HEIGHT, dtype=np.uint16).reshape(HEIGHT, WIDTH) * 256
    with io.BytesIO() as file:
        Image.fromarray(values).save(file, format="png")
        return file.getvalue()


def run_lengths() -> bytes:
    """A BMP of 6 x 3 in run lengths of 8 bits: runs, pixels as they are, a move, ends of rows."""
    palette = b"".join(struct.pack("<4B", 40 * i, 20 * i, 60 * i, 0) for i in range(4))
    data = bytes([6, 1, 0, 0, 0, 3, 1, 2, 3, 0, 3, 2, 0, 0, 0, 2, 2, 0, 4, 3, 0, 1])
    header = struct.pack("<IiiHHIIiiII", 40, 6, 3, 1, 8, 1, len(data), 0, 0, 4, 0)
    start = 14 + len(header) + len(palette)
    return b"BM" + struct.pack("<IHHI", start + len(data), 0, 0, start) + header + palette + data


def bmp565() -> bytes:
    values = (np.arange(7 * 2, dtype="<u2").reshape(2, 7) * 4639) & 0xFFFF
    rows = b"".join(row.tobytes() + b"\0\0" for row in values)
    header = struct.pack("<IiiHHIIiiII", 40, 7, -2, 1, 16, 3, len(rows), 0, 0, 0, 0)
    masks = struct.pack("<III", 0xF800, 0x07E0, 0x001F)
    return b"BM" + struct.pack("<IHHI", 66 + len(rows), 0, 0, 66) + header + masks + rows


def pixmap_text() -> bytes:
    rows = np.asarray(picture("RGB")).reshape(HEIGHT, -1)
    return b"P3 # text\n19 13\n255\n" + "\n".join(" ".join(map(str, row)) for row in rows).encode()


def samples() -> dict[str, bytes]:
    still = {f"webp {mode}": encoded(mode, "webp", quality=80) for mode in ("RGB", "RGBA")}
    tiffs = {
        f"tiff {mode} {compression}": encoded(mode, "tiff", compression=compression)
        for mode, compression in [
            ("RGB", "raw"),
            ("RGB", "tiff_lzw"),
            ("RGB", "tiff_adobe_deflate"),
            ("RGB", "packbits"),
            ("L", "raw"),
            ("P", "raw"),
            ("1", "group4"),
            ("RGBA", "raw"),
        ]
    }
    return {
        "bmp RGB": encoded("RGB", "bmp"),
        "bmp P": encoded("P", "bmp"),
        "bmp 1": encoded("1", "bmp"),
        "bmp RGBA": encoded("RGBA", "bmp"),
        "bmp run lengths": run_lengths(),
        "bmp 565": bmp565(),
        "jpeg RGB": encoded("RGB", "jpeg", quality=70),
        "jpeg 444": encoded("RGB", "jpeg", subsampling=0),
        "jpeg progressive": encoded("RGB", "jpeg", progressive=True),
        "jpeg L": encoded("L", "jpeg"),
        "jpeg CMYK": encoded("CMYK", "jpeg"),
        "jpeg2000 RGB": encoded("RGB", "jpeg2000"),
        "jpeg2000 stream": encoded("RGB", "jpeg2000", no_jp2=True),
        "jpeg2000 lossy": encoded("RGB", "jpeg2000", irreversible=True, quality_layers=[20]),
        "jpeg2000 L": encoded("L", "jpeg2000"),
        "png RGB": encoded("RGB", "png"),
        "png P": encoded("P", "png"),
        "png 1": encoded("1", "png"),
        "png L": encoded("L", "png"),
        "png RGBA": encoded("RGBA", "png"),
        "png LA": encoded("LA", "png"),
        "png gray16": gray16(),
        "pnm 6": encoded("RGB", "ppm"),
        "pnm 5": encoded("L", "ppm"),
        "pnm 4": encoded("1", "ppm"),
        "pnm 3": pixmap_text(),
        "pnm 2": b"P2\n3 2\n15\n0 5 10\n15 1\n2\n",
        "pnm 1": b"P1 4 2 # bits\n1010\n0 1 1 0",
        "webp lossless": encoded("RGB", "webp", lossless=True),
        "webp animation": encoded("RGB", "webp", save_all=True, append_images=[picture("L").convert("RGB")]),
        **still,
        **tiffs,
    }


def pixels(name: str, data: bytes) -> np.ndarray:
    image = Image.open(io.BytesIO(data))
    if name == "png gray16":  # Pillow would clip: the upper half of each sample
        return np.repeat((np.asarray(image) >> 8).astype(np.uint8)[:, :, None], 3, axis=2)
    return np.asarray(image.convert("RGB"))


def main() -> None:
    arrays: dict[str, np.ndarray] = {}
    for name, data in samples().items():
        arrays[name] = np.frombuffer(data, np.uint8)
        arrays[f"{name}:rgb"] = pixels(name, data)
    np.savez_compressed(SAMPLES, **arrays)


if __name__ == "__main__":
    main()
