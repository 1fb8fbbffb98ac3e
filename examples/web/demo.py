"""Shows the pages: compiles models for WebAssembly and serves them on this machine alone.

python examples/web/demo.py [--port 8000] [--tool build/bin/perpend] [--photo MODEL.onnx]

index.html reads digits with the model of examples/digits; photo.html shows what your model says of a picture: classes,
or a mask such as that of a person.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
MODEL = HERE.parent / "digits" / "digits.onnx"
FILES = ("index.html", "page.mjs", "draw.mjs", "photo.html", "photo-page.mjs", "photo.mjs")
# Both kinds of engines run it: those with relaxed SIMD faster.
MACHINES = "wasm32,wasm32,+relaxed-simd"


def build(folder: Path, tool: Path, photo: Path | None = None) -> None:
    """Writes all that the pages need into the folder."""
    for name in FILES:
        shutil.copy(HERE / name, folder)
    for name, model in (("digits", MODEL), ("photo", photo)):
        if model:
            subprocess.run([tool, "compile", model, "-o", folder / f"{name}.wasm", "--target", MACHINES], check=True)


class Handler(SimpleHTTPRequestHandler):
    extensions_map = {  # noqa: RUF012
        **SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def end_headers(self) -> None:
        """With these, a page may share memory with its workers: a model runs on several threads."""
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--tool", type=Path, default=HERE.parents[1] / "build/bin/perpend", help="the command perpend")
    parser.add_argument("--photo", type=Path, help="a model of one picture, for photo.html")
    parsed = parser.parse_args()
    with TemporaryDirectory() as folder:
        build(Path(folder), parsed.tool, parsed.photo)
        server = ThreadingHTTPServer(("127.0.0.1", parsed.port), partial(Handler, directory=folder))
        address = f"http://127.0.0.1:{server.server_port}/"
        print(f"{address}{' and ' + address + 'photo.html' if parsed.photo else ''} (Ctrl+C ends it)")
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
