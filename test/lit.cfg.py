# lit's configuration: FileCheck tests beside the folders of src/ that they test.
# The build folder under test is build/, or what PERPEND_BUILD names.
import os
from pathlib import Path

import lit.formats

root = Path(__file__).resolve().parent.parent
build = Path(os.environ.get("PERPEND_BUILD", root / "build")).resolve()

for tool in ["perpend", "perpend-opt", "same-values"]:
    if not (build / "bin" / tool).exists():
        lit_config.fatal(f"{build}/bin/{tool} is missing\nhint: ./dev build")

config.name = "perpend"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = str(root / "test")
config.test_exec_root = str(build / "test-output")

llvm_bin = os.environ.get("LLVM_BIN", "/usr/lib/llvm-19/bin")
config.environment["PATH"] = os.pathsep.join([str(build / "bin"), llvm_bin, os.environ["PATH"]])
config.substitutions.append(("%python", str(root / ".venv/bin/python")))
config.substitutions.append(("%root", str(root)))
if os.environ.get("PERPEND_LONG"):
    config.available_features.add("long")
# Instructions that artifacts of a test may need.
cpu = Path("/proc/cpuinfo")
flags = set(cpu.read_text().split()) if cpu.exists() else set()
if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags:
    config.available_features.add("avx512")
