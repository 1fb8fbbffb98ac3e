//===- RunModel.cpp - imports an ONNX model and interprets it, for tests --===//
//
// onnx-run-model model.onnx OUTPUT INPUT:EXTENTS...
// Inputs are files of raw elements, EXTENTS is "2,3" (empty for a scalar).
// Output k goes to OUTPUT.k; its element type and extents are printed.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Import.h"
#include "graph/Shapes.h"
#include "interp/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <fstream>

using namespace mlir;
using perpend::interp::Tensor;

static std::optional<Tensor> readInput(StringRef argument, Type elementType) {
  auto [file, extents] = argument.rsplit(':');
  SmallVector<StringRef> parts;
  extents.split(parts, ',', -1, /*KeepEmpty=*/false);
  SmallVector<int64_t> shape;
  for (StringRef part : parts)
    if (part.getAsInteger(10, shape.emplace_back()))
      return std::nullopt;
  std::optional<Tensor> tensor = Tensor::allocate(elementType, shape);
  auto data = llvm::MemoryBuffer::getFile(file);
  if (!tensor || !data || (*data)->getBufferSize() != tensor->sizeBytes())
    return std::nullopt;
  std::memcpy(tensor->mutableData(), (*data)->getBufferStart(), tensor->sizeBytes());
  return tensor;
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  perpend::interp::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  if (argc < 3)
    return 2;
  OwningOpRef<ModuleOp> module = perpend::onnx::importOnnx(context, argv[1]);
  if (!module)
    return 1;
  auto main = *module->getOps<func::FuncOp>().begin();
  SmallVector<Tensor> inputs;
  for (auto [argument, type] : llvm::zip(ArrayRef(argv + 3, argv + argc), main.getArgumentTypes())) {
    std::optional<Tensor> input = readInput(argument, cast<RankedTensorType>(type).getElementType());
    if (!input) {
      llvm::errs() << "cannot read the input " << argument << "\n";
      return 2;
    }
    inputs.push_back(*input);
  }
  auto results = perpend::interp::interpret(main, inputs);
  if (failed(results))
    return 1;
  for (auto [index, tensor] : llvm::enumerate(*results)) {
    std::ofstream file(argv[2] + ("." + std::to_string(index)), std::ios::binary);
    file.write(reinterpret_cast<const char *>(tensor.data()), static_cast<std::streamsize>(tensor.sizeBytes()));
    llvm::outs() << tensor.elementType << " ";
    llvm::interleave(tensor.shape, llvm::outs(), ",");
    llvm::outs() << "\n";
  }
  return 0;
}
