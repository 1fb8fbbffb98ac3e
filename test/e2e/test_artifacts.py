"""What a compiled model is: size, needs, bytes, C interface, and the digit classifier's accuracy."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import dataset
import numpy as np
import onnx
import perpend
import pytest
from e2e.models import BUILD, CLANG, DIGITS, GOLDEN, MODELS, ROOT, assert_close, run_tool
from onnx import TensorProto, helper, numpy_helper

SYSTEM_LIBRARIES = {
    "linux-vdso.so.1",
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "ld-linux-x86-64.so.2",
}
Classifiers = dict[tuple[str, str], Callable[..., np.ndarray]]
CONFIGURATIONS = [(level, target) for level in ["-O0", "-O3"] for target in ["host", "x86-64-v3"]]


def read_program(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_program(source: Path, *arguments: object) -> Path:
    program = source.with_suffix("")
    read_program(CLANG, "-O1", "-Wall", "-Werror", "-I", ROOT / "runtime/include", source, *arguments, "-o", program)
    return program


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of digits.so, digits.a and digits.h."""
    folder = tmp_path_factory.mktemp("digits")
    for kind in ["so", "a"]:
        run_tool("compile", DIGITS, "-o", f"digits.{kind}", "--name", "digits", folder=folder)
    return folder


# Size, dependencies, bytes


def test_size_and_dependencies(tmp_path: Path) -> None:
    path = GOLDEN[0].path
    if not path.exists():
        pytest.skip(f"{MODELS} is not here")
    run_tool("compile", path, "-o", "mnist.so", folder=tmp_path)
    weights = sum(numpy_helper.to_array(tensor).nbytes for tensor in onnx.load(path).graph.initializer)
    assert (tmp_path / "mnist.so").stat().st_size <= weights + 100_000
    needed = {Path(line.split()[0]).name for line in read_program("ldd", tmp_path / "mnist.so").splitlines()}
    assert "libc.so.6" in needed and needed <= SYSTEM_LIBRARIES


@pytest.mark.parametrize("options", [[], ["-O0"], ["--dim", "n=3"]], ids=" ".join)
def test_compiling_twice_gives_the_same_bytes(tmp_path: Path, options: list[str]) -> None:
    for name in ["a", "b"]:
        run_tool("compile", DIGITS, "-o", f"{name}.so", "--name", "digits", *options, folder=tmp_path)
    assert (tmp_path / "a.so").read_bytes() == (tmp_path / "b.so").read_bytes()


@pytest.mark.parametrize(("precision", "element_bytes"), [("f32", 4), ("bf16", 2), ("int8", 1)])
def test_weights_that_layers_share_are_stored_once(tmp_path: Path, precision: str, element_bytes: int) -> None:
    layers = 6
    weights = np.random.default_rng(0).standard_normal((256, 256), np.float32) / 16
    names = ["x", *(f"h{i}" for i in range(1, layers)), "y"]
    nodes = []
    for i in range(layers):
        nodes.append(helper.make_node("MatMul", [names[i], "w"], [f"p{i}"]))
        nodes.append(helper.make_node("Tanh", [f"p{i}"], [names[i + 1]]))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [32, 256]) for name in "xy")
    graph = helper.make_graph(nodes, "shared", [x], [y], [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    target = "alderlake" if precision == "int8" else "host"  # without an instruction for bytes, they lie in 16 bits
    run_tool("compile", "m.onnx", "--precision", precision, "--target", target, "-o", "m.so", folder=tmp_path)
    stored = re.search(r"weights +(\d+) bytes", run_tool("inspect", "m.so", folder=tmp_path))
    assert stored and weights.size * element_bytes <= int(stored[1]) < 1.5 * weights.size * element_bytes


def test_host_is_the_target_of_its_name(tmp_path: Path) -> None:
    match = re.match(r"host = (\S+)", run_tool("targets", folder=tmp_path))
    if not match or match[1].rstrip(":") != "znver5":
        pytest.skip("the host is no znver5")
    for target in ["host", "znver5"]:
        run_tool("compile", DIGITS, "-o", f"{target}.so", "--name", "digits", "--target", target, folder=tmp_path)
    assert (tmp_path / "host.so").read_bytes() == (tmp_path / "znver5.so").read_bytes()


# The project's own model


@pytest.fixture(scope="module")
def classifiers(tmp_path_factory: pytest.TempPathFactory) -> Classifiers:
    folder = tmp_path_factory.mktemp("classifiers")
    loaded = {}
    for level, target in CONFIGURATIONS:
        path = folder / f"digits{level}-{target}.so"
        run_tool("compile", DIGITS, "-o", path, level, "--target", target, folder=folder)
        loaded[level, target] = perpend.load(str(path))
    return loaded


@pytest.mark.parametrize("batch", [1, 64])
@pytest.mark.parametrize(("level", "target"), CONFIGURATIONS)
def test_accuracy(classifiers: Classifiers, level: str, target: str, batch: int) -> None:
    split = dataset.load()
    model = classifiers[level, target]
    images, count = split.holdout_images, len(split.holdout_labels)
    outputs = np.concatenate([model(images[start : start + batch]) for start in range(0, count, batch)])
    assert (outputs.argmax(axis=1) == split.holdout_labels).mean() >= 0.98
    assert_close({"y": outputs}, {"y": classifiers["-O3", "host"](images)})


# C


def test_example_with_the_static_runtime(tmp_path: Path, digits: Path) -> None:
    source = tmp_path / "run_model.c"
    source.write_text((ROOT / "examples/run_model.c").read_text())
    runtime = next(BUILD.rglob("libperpend.a"))
    program = build_program(source, "-std=c99", runtime, "-lm", "-lpthread", "-ldl")
    text = read_program(program, digits / "digits.so")
    expected = perpend.load(str(digits / "digits.so"))(np.ones((1, 1, 8, 8), np.float32))
    name, values = re.fullmatch(r"(\w+): f32, 10 elements:(.*)\n", text).groups()  # type: ignore[union-attr]
    assert name == onnx.load(DIGITS).graph.output[0].name
    np.testing.assert_allclose([float(value) for value in values.split()], expected[0, :8], rtol=1e-4, atol=1e-6)


def test_program_of_the_readme(tmp_path: Path, digits: Path) -> None:
    source = tmp_path / "main.c"
    source.write_text((ROOT / "README.md").read_text().split("```c\n")[1].split("```")[0])
    text = read_program(build_program(source, digits / "digits.so"))
    expected = perpend.load(str(digits / "digits.so"))(np.zeros((1, 1, 8, 8), np.float32))
    assert text == "".join(f"{digit}: {value:.3f}\n" for digit, value in enumerate(expected[0]))


STATIC_PROGRAM = """
#include "digits.h"
#include "perpend.h"
#include <stdio.h>
int main(void) {
  perpend_model *model = NULL;
  if (perpend_model_from_module(perpend_module_digits(), &model))
    return 1;
  printf("%s %d %d\\n", perpend_model_name(model), perpend_model_input_count(model), perpend_model_output_count(model));
  perpend_model_free(model);
  return 0;
}
"""


def test_static_library_with_its_header(tmp_path: Path, digits: Path) -> None:
    source = tmp_path / "main.c"
    source.write_text(STATIC_PROGRAM)
    runtime = next(BUILD.rglob("libperpend_runtime.a"))
    program = build_program(source, "-I", digits, digits / "digits.a", runtime, "-lm", "-lpthread")
    assert read_program(program) == "digits 1 1\n"


TWO_MODELS = """
#include "perpend_module.h"
#include "perpend.h"
#include <stdio.h>
const perpend_module *perpend_module_first(void);
const perpend_module *perpend_module_second(void);
int main(void) {
  const perpend_module *modules[2] = {perpend_module_first(), perpend_module_second()};
  for (int i = 0; i < 2; ++i) {
    perpend_model *model = NULL;
    if (perpend_model_from_module(modules[i], &model))
      return 1;
    printf("%s %d\\n", perpend_model_name(model), perpend_model_input_count(model));
    perpend_model_free(model);
  }
  return 0;
}
"""


def relu(path: Path) -> Path:
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "relu", [x], [y])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9), path)
    return path


@pytest.mark.parametrize("is_small", [False, True], ids=["two objects", "one object"])
def test_two_static_libraries_in_one_program(tmp_path: Path, is_small: bool) -> None:
    """The same model twice: nothing but the two functions is seen from outside."""
    model = relu(tmp_path / "relu.onnx") if is_small else DIGITS
    for name in ("first", "second"):
        run_tool("compile", model, "-o", f"{name}.a", "--name", name, folder=tmp_path)
    source = tmp_path / "main.c"
    source.write_text(TWO_MODELS)
    runtime = next(BUILD.rglob("libperpend_runtime.a"))
    libraries = [tmp_path / "first.a", tmp_path / "second.a", runtime, "-lm", "-lpthread"]
    lines = read_program(build_program(source, *libraries)).splitlines()
    assert [line.split()[0] for line in lines] == ["first", "second"]


COUNTING_PROGRAM = """
#include "perpend.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
static atomic_long allocations;
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void *malloc(size_t bytes) { return ++allocations, __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return ++allocations, __libc_calloc(count, bytes); }
void *realloc(void *old, size_t bytes) { return ++allocations, __libc_realloc(old, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return ++allocations, __libc_memalign(alignment, bytes); }
int posix_memalign(void **result, size_t alignment, size_t bytes) {
  return ++allocations, !(*result = __libc_memalign(alignment, bytes));
}
const perpend_module *perpend_module_main(void);
int main(void) {
  static float images[64 * 64];
  int64_t shape[] = {64, 1, 8, 8};
  perpend_tensor input = {.data = images, .shape = shape, .rank = 4, .type = PERPEND_F32}, output = {0};
  perpend_model *model = NULL;
  perpend_session *session = NULL;
  perpend_session_options options = {2};
  if (perpend_model_from_module(perpend_module_main(), &model) || perpend_session_create(model, &options, &session))
    return 1;
  long start = allocations;
  if (perpend_session_run(session, &input, 1, &output, 1))
    return 1;
  long first = allocations - start;
  start = allocations;
  for (int i = 0; i < 100; ++i)
    if (perpend_session_run(session, &input, 1, &output, 1))
      return 1;
  long later = allocations - start;
  shape[0] = 5; /* less of everything: the memory is there */
  start = allocations;
  for (int i = 0; i < 2; ++i)
    if (perpend_session_run(session, &input, 1, &output, 1))
      return 1;
  printf("%d %ld\\n", first > 0, later);
  perpend_session_free(session);
  perpend_model_free(model);
  return 0;
}
"""


def test_a_repeated_run_allocates_nothing(tmp_path: Path, digits: Path) -> None:
    source = tmp_path / "count.c"
    source.write_text(COUNTING_PROGRAM)
    assert read_program(build_program(source, digits / "digits.so")) == "1 0\n"
