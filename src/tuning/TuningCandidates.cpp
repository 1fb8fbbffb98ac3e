//===- TuningCandidates.cpp - builds candidates of a task -----------------===//

#include "tuning/TuningCandidates.h"

#include "arrays/Compare.h"
#include "arrays/Draw.h"
#include "graph/Attributes.h"
#include "graph/Entries.h"
#include "graph/Shapes.h"
#include "interp/Boundary.h"
#include "tune/TensorFile.h"

#include "mlir/IR/Diagnostics.h"

#include <cerrno>
#include <cstring>

using namespace mlir;

namespace perpend {

using arrays::Array;

std::string TuningCandidates::compile(const tune::Trace &candidate, StringRef library) {
  std::string error;
  MLIRContext *context = task.model.get()->getContext();
  ScopedDiagnosticHandler quiet(context, [&](Diagnostic &diagnostic) {
    if (error.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      error = diagnostic.str();
    return success();
  });
  bool isDone = succeeded(compileTask(task, candidate, options, library));
  return isDone || !error.empty() ? error : "it does not compile";
}

std::string TuningCandidates::writeInputs(StringRef path) {
  llvm::StringMap<int64_t> symbols;
  for (const auto &[name, value] : extents.symbols)
    symbols[name] = value;
  return writeInputsOf(task.model.get(), symbols, given, seed, path);
}

std::string writeInputsOf(ModuleOp model, const llvm::StringMap<int64_t> &symbols, const llvm::StringMap<Array> &given,
                          int64_t seed, StringRef path) {
  std::mt19937_64 generator(static_cast<uint64_t>(seed));
  std::vector<Array> inputs;
  std::vector<perpend_tensor> views;
  auto main = graph::firstEntryOf(model);
  for (auto [number, type] : llvm::enumerate(main.getArgumentTypes())) {
    if (main.getArgAttr(static_cast<unsigned>(number), graph::stateAttribute))
      continue; // no input: a session has it
    auto name = main.getArgAttrOfType<StringAttr>(static_cast<unsigned>(number), graph::nameAttribute);
    std::string which = "its input " + (name ? "'" + name.str() + "'" : std::to_string(number));
    auto tensor = dyn_cast<RankedTensorType>(type);
    std::optional<perpend_type> element = tensor ? interp::interfaceType(tensor.getElementType()) : std::nullopt;
    if (!element || *element >= PERPEND_STRING)
      return which + " holds texts or lists";
    SmallVector<int64_t> shape;
    for (const graph::SymbolicInt &extent : graph::shapeOf(tensor)) {
      std::optional<int64_t> value = extent.evaluate(symbols);
      if (!value)
        return which + " has an unknown extent: " + extent.str();
      shape.push_back(*value);
    }
    auto file = name ? given.find(name.getValue()) : given.end();
    bool isGiven = file != given.end() && file->second.type == *element && file->second.shape == shape;
    inputs.push_back(isGiven ? file->second : arrays::draw(*element, shape, generator));
    if (!inputs.back().bytes)
      return "there is no memory for " + which + ", " + arrays::typeText(*element, shape);
  }
  for (const Array &input : inputs)
    views.push_back(input.view());
  if (tune::writeTensors(path.str().c_str(), views))
    return "";
  return "its inputs cannot be written to '" + path.str() + "': " + std::strerror(errno) +
         "\nhint: TMPDIR=FOLDER with room for them";
}

static std::optional<std::vector<Array>> readArrays(StringRef path) {
  std::vector<tune::StoredTensor> tensors;
  if (!tune::readTensors(path.str().c_str(), tensors))
    return std::nullopt;
  std::vector<Array> arrays;
  for (tune::StoredTensor &tensor : tensors)
    arrays.push_back(Array::copyOf(
        {tensor.bytes.data(), tensor.shape.data(), static_cast<int32_t>(tensor.shape.size()), tensor.type}));
  return arrays;
}

bool TuningCandidates::readReference(StringRef path) {
  std::optional<std::vector<Array>> outputs = readArrays(path);
  if (outputs)
    reference = std::move(*outputs);
  return outputs.has_value();
}

/// The file may hold the outputs twice: of the first run and of the last.
std::string TuningCandidates::differenceOf(StringRef path) {
  std::optional<std::vector<Array>> outputs = readArrays(path);
  if (!outputs || outputs->size() < reference.size())
    return "its outputs cannot be read";
  for (auto [i, array] : llvm::enumerate(*outputs)) {
    const Array &expected = reference[i % reference.size()];
    if (arrays::Comparison comparison = arrays::compare(array, expected, options.precision); !comparison.isGood)
      return arrays::describe("output", comparison, array, expected);
  }
  return "";
}
} // namespace perpend
