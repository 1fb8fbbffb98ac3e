//===- References.cpp - reference outputs of a model ----------------------===//

#include "cli/References.h"
#include "cli/Python.h"
#include "host/Host.h"
#include "interp/Boundary.h"
#include "interp/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace perpend::cli {

/// `main` is a function of graph operators, or an entry of the host level.
template <typename Main>
static std::optional<std::vector<Array>> interpretMain(Main main, ArrayRef<Array> inputs, unsigned runs) {
  interp::Boundary boundary(main);
  llvm::SmallVector<interp::Tensor> tensors;
  for (auto [number, input] : llvm::enumerate(inputs)) {
    FailureOr<interp::Tensor> tensor = boundary.take(number, input.view());
    if (failed(tensor))
      return std::nullopt;
    tensors.push_back(*tensor);
  }
  interp::InterpreterOptions options;
  options.lists = boundary.listTable();
  FailureOr<SmallVector<interp::Tensor>> states = interp::firstStatesOf(main), results = states;
  for (unsigned run = 0; run < runs && succeeded(states); ++run) {
    SmallVector<interp::Tensor> all(tensors);
    llvm::append_range(all, *states);
    results = interp::interpret(main, all, options);
    if (failed(results))
      return std::nullopt;
    states = SmallVector<interp::Tensor>(ArrayRef(*results).take_back(states->size()));
  }
  if (failed(states))
    return std::nullopt;
  std::vector<Array> arrays;
  for (const interp::Tensor &tensor : *results)
    arrays.push_back(Array::copyOf(boundary.give(tensor)));
  return arrays;
}

std::optional<std::vector<Array>> interpretModule(ModuleOp module, ArrayRef<Array> inputs, unsigned runs) {
  if (auto entry = module.lookupSymbol<host::EntryOp>("main"))
    return interpretMain(entry, inputs, runs);
  return interpretMain(module.lookupSymbol<func::FuncOp>("main"), inputs, runs);
}

static constexpr StringRef onnxRuntimeProgram = R"(
import json
import os
import sys
try:
    import numpy
    import onnxruntime
except ImportError as error:
    sys.exit(f"error: Python at {sys.executable} cannot import onnxruntime: {error}\n"
             "hint: pip install onnxruntime numpy, or set PERPEND_PYTHON to a Python that has them")
model, folder, declared, is_optimised = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4] == "1"

def load(path):
    if os.path.isdir(path):
        return [load(f"{path}/{i}" if os.path.isdir(f"{path}/{i}") else f"{path}/{i}.npy") for i in range(len(os.listdir(path)))]
    array = numpy.load(path)
    return array.astype(object) if array.dtype.kind == "U" else array

def save(path, value, labels=None):
    if labels:  # maps
        rows = [[entry[label] for label in labels] for entry in value]
        value = numpy.array(rows, numpy.float32).reshape(len(rows), len(labels))
    if isinstance(value, list) or value is None:
        os.makedirs(path)
        for i, element in enumerate(value or []):
            save(f"{path}/{i}", element)
        return
    array = numpy.asarray(value)
    array = array.astype(str) if array.dtype == object else array
    numpy.save(f"{path}.npy", numpy.ascontiguousarray(array) if array.ndim else array)

options = onnxruntime.SessionOptions()
options.log_severity_level = 3
options.intra_op_num_threads = 1  # what some operators with dynamic quantisation round to depends on them
if not is_optimised:
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
try:
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = {}
    for i, entry in enumerate(declared["inputs"]):
        path = f"{folder}/input{i}"
        value = load(path if os.path.isdir(path) else path + ".npy")
        name = entry.get("map", entry["name"])  # of a map: the keys, then the values
        feed[name] = dict(zip(feed[name].tolist(), value.tolist())) if name in feed else value
    for i, output in enumerate(session.run(None, feed)):
        save(f"{folder}/output{i}", output, declared["outputs"][i].get("labels"))
except Exception as error:
    sys.exit(f"error: onnxruntime: {str(error).strip()}" if is_optimised else 1)  # the second is only tried
)";

std::optional<std::vector<Array>> runOnnxRuntime(StringRef path, ArrayRef<Array> inputs, const perpend_model *model,
                                                 bool isOptimised) {
  std::string python = findPython();
  if (python.empty()) {
    fail("there is no Python, which onnxruntime needs", "set PERPEND_PYTHON to a Python with onnxruntime");
    return std::nullopt;
  }
  TemporaryFolder folder;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!writeArray(folder.pathOf("."), "input" + std::to_string(i), inputs[i]))
      return std::nullopt;
  if (runProgram(python,
                 {"-c", onnxRuntimeProgram.str(), path.str(), folder.pathOf("."), perpend_model_descriptor(model),
                  isOptimised ? "1" : "0"},
                 "onnxruntime aborted on these inputs", folder.pathOf("errors.txt")) != 0)
    return std::nullopt;
  std::vector<Array> outputs;
  for (int32_t i = 0; i < perpend_model_output_count(model); ++i) {
    std::string file = folder.pathOf("output" + std::to_string(i));
    std::optional<Array> output = readArray(llvm::sys::fs::is_directory(file) ? file : file + ".npy");
    if (!output)
      return std::nullopt;
    outputs.push_back(std::move(*output));
  }
  return outputs;
}
} // namespace perpend::cli
