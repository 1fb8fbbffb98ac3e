//===- Environment.cpp - shared state of the evaluation -------------------===//

#include "interp/Environment.h"

#include "graph/ErrorKind.h"
#include "graph/Shapes.h"

#include "llvm/ADT/StringExtras.h"

#include <new>

using namespace mlir;
using perpend::graph::SymbolicInt;

namespace perpend::interp {

std::string describe(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  return llvm::join(llvm::map_range(shape, [](int64_t extent) { return std::to_string(extent); }), "x");
}

FailureOr<int64_t> Environment::evaluate(Operation *op, const SymbolicInt &expression) const {
  if (std::optional<int64_t> value = expression.evaluate(symbols))
    return *value;
  std::set<std::string> names;
  expression.symbols(names);
  for (const std::string &name : names)
    if (!symbols.contains(name))
      return op->emitError("expected a value for the symbol '")
             << name << "' of the expression " << expression.str() << ", got none\nhint: no input has this extent";
  return op->emitError("cannot evaluate the expression ") << expression.str() << ": overflow or division by zero";
}

FailureOr<Extents> Environment::evaluate(Operation *op, ArrayRef<SymbolicInt> expressions) const {
  Extents values;
  for (const SymbolicInt &expression : expressions) {
    FailureOr<int64_t> value = evaluate(op, expression);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  return values;
}

FailureOr<Extents> Environment::shapeOf(Operation *op, Type tensorType) const {
  graph::Shape symbolic = graph::shapeOf(cast<RankedTensorType>(tensorType));
  FailureOr<Extents> shape = evaluate(op, symbolic);
  if (succeeded(shape) && llvm::any_of(*shape, [](int64_t extent) { return extent < 0; }))
    return op->emitError("expected extents of at least 0, got ") << describe(*shape) << " for " << tensorType;
  return shape;
}

FailureOr<Tensor> Environment::allocate(Operation *op, Type elementType, ArrayRef<int64_t> shape) const {
  std::optional<ElementFormat> format = formatOf(elementType);
  if (!format)
    return op->emitError("the interpreter has no elements of type ") << elementType;
  std::optional<int64_t> count = countElements(shape);
  if (!count || static_cast<double>(*count) * format->bytes() + *usedBytes > static_cast<double>(limitBytes))
    return op->emitError("a tensor of shape ")
           << describe(shape) << " exceeds the memory limit of " << limitBytes << " bytes (" << *usedBytes << " in use)"
           << graph::Hint("raise the interpreter's memory limit, or check the extents of the inputs");
  std::optional<Tensor> tensor = Tensor::allocate(elementType, shape);
  if (std::new_handler endProgram = tensor ? nullptr : std::get_new_handler())
    endProgram(); // a program with a limit says so itself
  if (!tensor)
    return op->emitError("out of memory for a tensor of shape ")
           << describe(shape) << graph::Hint("fewer or smaller constants, or more memory (--max-mem)");
  uint64_t size = tensor->sizeBytes();
  *usedBytes += size;
  std::byte *memory = tensor->bytes.get();
  tensor->bytes = std::shared_ptr<std::byte>(
      memory, [owner = tensor->bytes, used = usedBytes, size](std::byte *) { *used -= size; });
  return *tensor;
}

FailureOr<Tensor> Environment::allocateResult(Operation *op, unsigned index) const {
  auto type = cast<RankedTensorType>(op->getResult(index).getType());
  FailureOr<Extents> shape = shapeOf(op, type);
  if (failed(shape))
    return failure();
  return allocate(op, type.getElementType(), *shape);
}

LogicalResult Environment::checkScratch(Operation *op, double bytes) const {
  if (bytes + static_cast<double>(*usedBytes) <= static_cast<double>(limitBytes))
    return success();
  return op->emitError("temporary memory of ")
         << bytes << " bytes exceeds the memory limit of " << limitBytes << " bytes";
}
} // namespace perpend::interp
