"""Shows the page: compiles the model of examples/digits for WebAssembly and serves it on this machine alone.

python examples/web/demo.py [--port 8000] [--tool build/bin/perpend]
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
FILES = ("index.html", "page.mjs", "draw.mjs")


def build(folder: Path, tool: Path) -> None:
    """Writes all that the page needs into the folder."""
    for name in FILES:
        shutil.copy(HERE / name, folder)
    subprocess.run([tool, "compile", MODEL, "-o", folder / "digits.wasm", "--target", "wasm32"], check=True)


class Handler(SimpleHTTPRequestHandler):
    extensions_map = {  # noqa: RUF012
        **SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--tool", type=Path, default=HERE.parents[1] / "build/bin/perpend", help="the command perpend")
    parsed = parser.parse_args()
    with TemporaryDirectory() as folder:
        build(Path(folder), parsed.tool)
        server = ThreadingHTTPServer(("127.0.0.1", parsed.port), partial(Handler, directory=folder))
        print(f"http://127.0.0.1:{server.server_port}/ (Ctrl+C ends it)")
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
