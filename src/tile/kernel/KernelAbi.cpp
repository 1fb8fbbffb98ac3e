//===- KernelAbi.cpp - the arguments of a kernel on buffers ---------------===//

#include "tile/kernel/KernelAbi.h"

#include "graph/ErrorKind.h"
#include "graph/Shapes.h"
#include "tile/Attributes.h"

using namespace mlir;

namespace perpend::tile {

KernelAbi KernelAbi::ofLowered(func::FuncOp kernel) {
  ArrayRef<Type> types = kernel.getArgumentTypes();
  unsigned scratch = scratchCountOf(kernel);
  unsigned memories = llvm::find_if(types, llvm::IsaPred<IndexType>) - types.begin();
  return {memories - scratch - 1, 0, scratch, unitCountOf(kernel)};
}

unsigned KernelAbi::unitCountOf(func::FuncOp lowered) {
  auto levels = lowered->getAttrOfType<ArrayAttr>(gridAttribute);
  return levels ? levels.size() : 2;
}

unsigned KernelAbi::scratchCountOf(func::FuncOp lowered) {
  auto elements = lowered->getAttrOfType<graph::ShapeAttr>(scratchAttribute);
  return elements ? elements.getDims().size() : 0;
}

FunctionType KernelAbi::type(MLIRContext *context, ArrayRef<Type> buffers, ArrayRef<Type> scratch, unsigned units) {
  SmallVector<Type> arguments(buffers);
  arguments.push_back(MemRefType::get({ShapedType::kDynamic}, IntegerType::get(context, /*width=*/64)));
  llvm::append_range(arguments, scratch);
  arguments.append(units, IndexType::get(context));
  return FunctionType::get(context, arguments, {});
}

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << type;
  return text;
}

LogicalResult verifyResults(func::FuncOp kernel) {
  auto fail = [&](const Twine &message) {
    return kernel.emitError("kernel '") << kernel.getSymName() << "': " << message.str()
                                        << graph::Hint("two kernels can compute what one cannot");
  };
  ValueRange results = kernel.getBody().front().getTerminator()->getOperands();
  if (results.empty())
    return fail("expected at least one result");
  for (auto [number, result] : llvm::enumerate(results)) {
    std::string name = "result " + std::to_string(number);
    if (!result.getDefiningOp())
      return fail(name + ": expected a value that the kernel computes, got an input");
    if (results.size() > 1 && isa<graph::SequenceInterface>(result.getDefiningOp()))
      return fail(name + ": expected the only result, since its elements depend on one another, got one of " +
                  Twine(results.size()));
    if (graph::shapeOf(result) != graph::shapeOf(results.front()))
      return fail(name + ": expected the shape of the first one, " + textOf(results.front().getType()) + ", got " +
                  textOf(result.getType()));
  }
  return success();
}
} // namespace perpend::tile
