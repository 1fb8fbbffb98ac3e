//===- Compare.cpp - are two arrays the same? -----------------------------===//

#include "cli/Compare.h"
#include "cli/Python.h"
#include "graph/ElementTypes.h"
#include "interp/Interpreter.h"

#include "../runtime/Types.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace perpend::cli {

namespace {
/// What rounding and another order of additions may do.
struct Tolerance {
  double relative, absolute;
};
} // namespace

static Tolerance toleranceOf(perpend_type type) {
  switch (type) {
  case PERPEND_F64:
    return {1e-8, 1e-10};
  case PERPEND_F16:
    return {4e-3, 1e-3};
  case PERPEND_BF16:
    return {3e-2, 1e-2};
  case PERPEND_F32:
    return {1e-4, 1e-5};
  default:
    return {0, 0};
  }
}

/// Infinite when one is NaN or infinite and the other is not the same.
static double difference(double value, double reference) {
  if (value == reference || (std::isnan(value) && std::isnan(reference)))
    return 0;
  double distance = std::fabs(value - reference);
  return std::isfinite(distance) ? distance : INFINITY;
}

static void compareElements(const Array &array, const Array &reference, Comparison &result) {
  int64_t count = reference.elementCount();
  int64_t size = perpend_type_size_bytes(array.type);
  double largest = 0;
  for (int64_t i = 0; i < count; ++i)
    if (double value = std::fabs(reference.at(i)); std::isfinite(value))
      largest = std::fmax(largest, value);
  Tolerance tolerance = toleranceOf(array.type);
  result.tolerance = tolerance.relative * largest + tolerance.absolute;
  for (int64_t i = 0; i < count; ++i) {
    double wanted = reference.at(i), distance = difference(array.at(i), wanted);
    if (!array.isFloat() && distance == 0 &&
        std::memcmp(array.bytes.get() + i * size, reference.bytes.get() + i * size, size))
      distance = 1; // 64-bit integers that round to the same number
    result.maxAbsolute = std::fmax(result.maxAbsolute, distance);
    if (distance > 0 && wanted != 0)
      result.maxRelative =
          std::fmax(result.maxRelative, std::isfinite(wanted) ? distance / std::fabs(wanted) : distance);
    if (distance > result.tolerance && result.firstBad < 0)
      result.firstBad = i;
  }
  result.isGood = result.firstBad < 0;
}

Comparison compare(const Array &array, const Array &reference) {
  Comparison result;
  if (array.type == reference.type && array.shape == reference.shape)
    compareElements(array, reference, result);
  else
    result = {
        false, 0,
        0,     0,
        -1,    "expected " + typeText(reference.type, reference.shape) + ", got " + typeText(array.type, array.shape)};
  return result;
}

std::string describe(StringRef name, const Comparison &comparison, const Array &array, const Array &reference) {
  std::string text = (comparison.isGood ? "ok       " : "DIFFERS  ") + name.str() + ": ";
  if (!comparison.problem.empty())
    return text + comparison.problem;
  text += typeText(array.type, array.shape) + "  max abs error " + shortText(comparison.maxAbsolute) +
          ", max rel error " + shortText(comparison.maxRelative) + " (tolerance " + shortText(comparison.tolerance) +
          ")";
  if (int64_t at = comparison.firstBad; at >= 0)
    text += "; first at element " + std::to_string(at) + ": expected " + shortText(reference.at(at)) + ", got " +
            shortText(array.at(at));
  return text;
}

//===----------------------------------------------------------------------===//
// References
//===----------------------------------------------------------------------===//

std::optional<std::vector<Array>> interpretModule(ModuleOp module, ArrayRef<Array> inputs) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  llvm::SmallVector<interp::Tensor> tensors;
  for (auto [argument, input] : llvm::zip_equal(main.getArgumentTypes(), inputs))
    tensors.push_back({cast<RankedTensorType>(argument).getElementType(), input.shape, input.bytes});
  FailureOr<SmallVector<interp::Tensor>> results = interp::interpret(main, tensors);
  if (failed(results))
    return std::nullopt;
  std::vector<Array> arrays;
  for (const interp::Tensor &tensor : *results)
    if (perpend_type type; runtime::findType(graph::nameOf(tensor.elementType).c_str(), type))
      arrays.push_back({type, tensor.shape, tensor.bytes});
  return arrays;
}

static constexpr StringRef onnxRuntimeProgram = R"(
import sys
try:
    import numpy
    import onnxruntime
except ImportError as error:
    sys.exit(f"error: Python at {sys.executable} cannot import onnxruntime: {error}\n"
             "hint: pip install onnxruntime numpy, or set PERPEND_PYTHON to a Python that has them")
model, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
try:
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = {x.name: numpy.load(f"{folder}/input{i}.npy") for i, x in enumerate(session.get_inputs())}
    for i, output in enumerate(session.run(None, feed)):
        numpy.save(f"{folder}/output{i}.npy", numpy.ascontiguousarray(output) if output.ndim else output)
except Exception as error:
    sys.exit(f"error: onnxruntime: {str(error).strip()}")
)";

std::optional<std::vector<Array>> runOnnxRuntime(StringRef model, ArrayRef<Array> inputs, size_t outputCount) {
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
                 {"-c", onnxRuntimeProgram.str(), model.str(), folder.pathOf("."), std::to_string(outputCount)}) != 0)
    return std::nullopt;
  std::vector<Array> outputs;
  for (size_t i = 0; i < outputCount; ++i) {
    std::optional<Array> output = readArray(folder.pathOf("output" + std::to_string(i) + ".npy"));
    if (!output)
      return std::nullopt;
    outputs.push_back(std::move(*output));
  }
  return outputs;
}
} // namespace perpend::cli
