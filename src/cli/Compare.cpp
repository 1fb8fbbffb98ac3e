//===- Compare.cpp - are two arrays the same? -----------------------------===//

#include "cli/Compare.h"
#include "cli/Python.h"
#include "graph/ElementTypes.h"
#include "interp/Boundary.h"
#include "interp/Interpreter.h"
#include "support/ReadableText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/Support/FileSystem.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace perpend::cli {

namespace {
/// What rounding and another order of additions may do: a part of the largest element, and one of that or of 1,
/// whichever is less. So outputs near 0 are measured by themselves, too; numbers below those with all digits are not.
struct Tolerance {
  double relative, absolute;
  double of(double largest, double leastNormal) const {
    largest = std::fmax(largest, leastNormal);
    return relative * largest + absolute * std::fmin(largest, 1);
  }
};
} // namespace

/// What a float of so many digits may be off by after some operators, each of which rounds its operands.
static Tolerance toleranceOfDigits(unsigned digits) {
  double unit = std::ldexp(1, -static_cast<int>(digits));
  return {8 * unit, 2.5 * unit};
}

static unsigned digitsOf(Type type) {
  return llvm::APFloat::semanticsPrecision(cast<FloatType>(type).getFloatSemantics());
}

static Tolerance toleranceOf(perpend_type type) {
  switch (type) {
  case PERPEND_F64:
    return {1e-8, 1e-10};
  case PERPEND_F16:
    return toleranceOfDigits(11);
  case PERPEND_BF16:
    return toleranceOfDigits(8);
  case PERPEND_F32:
    return {1e-4, 1e-5};
  default:
    return {0, 0};
  }
}

/// The least positive number with all digits of its type.
static double leastNormalOf(perpend_type type) {
  switch (type) {
  case PERPEND_F64:
    return std::numeric_limits<double>::min();
  case PERPEND_F16:
    return std::ldexp(1, -14);
  default:
    return std::numeric_limits<float>::min(); // and bf16's
  }
}

/// Of the operands of products. Integers have 8 digits at the largest element of a row, which is about four times a
/// usual one: that has 6.
static Tolerance toleranceOf(StringRef precision) {
  constexpr unsigned digitsOfInt8 = 6;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  return toleranceOfDigits(precision == "int8" ? digitsOfInt8 : digitsOf(graph::elementTypeNamed(&context, precision)));
}

/// Infinite when one is NaN or infinite and the other is not the same.
static double difference(double value, double reference) {
  if (value == reference || (std::isnan(value) && std::isnan(reference)))
    return 0;
  double distance = std::fabs(value - reference);
  return std::isfinite(distance) ? distance : INFINITY;
}

static Tolerance toleranceOf(perpend_type type, StringRef precision) {
  Tolerance own = toleranceOf(type);
  if (precision == "f32" || own.relative == 0)
    return own;
  Tolerance computed = toleranceOf(precision);
  return {std::fmax(own.relative, computed.relative), std::fmax(own.absolute, computed.absolute)};
}

static void compareElements(const Array &array, const Array &reference, StringRef precision, Comparison &result) {
  int64_t count = reference.elementCount();
  int64_t size = perpend_type_size_bytes(array.type);
  double largest = 0;
  for (int64_t i = 0; i < count; ++i)
    if (double value = std::fabs(reference.at(i)); std::isfinite(value))
      largest = std::fmax(largest, value);
  result.tolerance = toleranceOf(array.type, precision).of(largest, leastNormalOf(array.type));
  double squares = 0, wantedSquares = 0;
  for (int64_t i = 0; i < count; ++i) {
    double wanted = reference.at(i), distance = difference(array.at(i), wanted);
    squares += distance * distance;
    wantedSquares += std::isfinite(wanted) ? wanted * wanted : 0;
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
  if (precision != "f32" && count)
    result.means = {std::sqrt(squares / double(count)), std::sqrt(wantedSquares / double(count))};
  result.isGood = result.firstBad < 0;
}

static Comparison differs(const Twine &problem) { return {false, 0, 0, 0, -1, problem.str()}; }

static Comparison compareTexts(const Array &array, const Array &reference) {
  for (int64_t i = 0; i < reference.elementCount(); ++i)
    if (array.text(i) != reference.text(i))
      return differs("element " + Twine(i) + ": expected " + support::quoted(reference.text(i), 200) + ", got " +
                     support::quoted(array.text(i), 200));
  return {};
}

/// The first element that differs, or the largest errors of all.
static Comparison compareLists(const Array &array, const Array &reference, StringRef precision) {
  ArrayRef<perpend_tensor> elements = array.elements(), wanted = reference.elements();
  if (elements.size() != wanted.size())
    return differs("expected " + Twine(wanted.size()) + " elements, got " + Twine(elements.size()));
  Comparison result;
  for (auto [number, element, expected] : llvm::enumerate(elements, wanted)) {
    Array got = Array::copyOf(element), other = Array::copyOf(expected);
    Comparison one = compare(got, other, precision);
    if (!one.isGood)
      return differs(describe("element " + std::to_string(number), one, got, other));
    result.maxAbsolute = std::fmax(result.maxAbsolute, one.maxAbsolute);
    result.maxRelative = std::fmax(result.maxRelative, one.maxRelative);
    result.tolerance = std::fmax(result.tolerance, one.tolerance);
  }
  return result;
}

Comparison compare(const Array &array, const Array &reference, StringRef precision) {
  Comparison result;
  if (array.isList() && reference.isList())
    return compareLists(array, reference, precision);
  if (array.isTexts() && reference.isTexts() && array.shape == reference.shape)
    return compareTexts(array, reference);
  if (array.type == reference.type && array.shape == reference.shape)
    compareElements(array, reference, precision, result);
  else
    result = differs("expected " + typeText(reference) + ", got " + typeText(array));
  return result;
}

std::string describe(StringRef name, const Comparison &comparison, const Array &array, const Array &reference) {
  std::string text = (comparison.isGood ? "ok       " : "DIFFERS  ") + support::readable(name) + ": ";
  if (!comparison.problem.empty())
    return text + comparison.problem;
  text += typeText(array);
  if (array.isTexts())
    return text + "  equal";
  if (array.elementCount() == 0)
    return text + "  is empty: no element was compared";
  text += "  max abs error " + shortText(comparison.maxAbsolute) + ", max rel error " +
          shortText(comparison.maxRelative) + " (tolerance " + shortText(comparison.tolerance) + ")";
  if (comparison.means)
    text += ", root mean square " + shortText(comparison.means->first) + " of " + shortText(comparison.means->second);
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
  FailureOr<SmallVector<interp::Tensor>> results = interp::interpret(main, tensors, options);
  if (failed(results))
    return std::nullopt;
  std::vector<Array> arrays;
  for (const interp::Tensor &tensor : *results)
    arrays.push_back(Array::copyOf(boundary.give(tensor)));
  return arrays;
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
