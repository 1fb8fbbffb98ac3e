//===- Ops.cpp - the primitives -------------------------------------------===//
//
// Verifiers and interfaces of constants and calls of kernels. Other operators are in the file of their kind:
// primitives/, ControlFlow.cpp, Library.cpp.
//
//===----------------------------------------------------------------------===//

#include "graph/ElementTypes.h"
#include "graph/ErrorKind.h"
#include "graph/Requirements.h"

#include "graph/KernelSymbols.h"
#include "graph/SubstituteSymbols.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace perpend::graph;

#define GET_OP_CLASSES
#include "graph/GraphOps.cpp.inc"

/// Bytes of a tensor in memory, with at least one per element; nullopt if they exceed 63 bits.
static std::optional<int64_t> sizeBytes(RankedTensorType type) {
  Type scalar = scalarType(type.getElementType());
  if (!scalar.isIntOrFloat())
    return std::nullopt;
  int64_t bytes = llvm::divideCeil(scalar.getIntOrFloatBitWidth(), 8);
  bool isEmpty = llvm::is_contained(type.getShape(), 0), overflows = false;
  for (int64_t extent : type.getShape())
    overflows |= llvm::MulOverflow(bytes, extent, bytes) != 0;
  return isEmpty ? std::optional<int64_t>(0) : overflows ? std::nullopt : std::optional(bytes);
}

/// A text file may name a resource without providing its contents.
static LogicalResult verifyResource(ConstantOp op, DenseResourceElementsAttr resource) {
  auto error = [&] { return op.emitOpError("C2: the resource '") << resource.getRawHandle().getKey() << "' "; };
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  if (!blob)
    return error() << "has no contents"
                   << Hint("the module was printed without its weights; --dump-phases and --stop-after print them");
  std::optional<int64_t> bytes = sizeBytes(cast<RankedTensorType>(op.getType()));
  if (!bytes || static_cast<uint64_t>(*bytes) != blob->getData().size())
    return error() << "has " << blob->getData().size() << " bytes, expected those of " << op.getType();
  return success();
}

LogicalResult ConstantOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (getValue().getShapedType().getShape() != type.getShape() || getValue().getElementType() != type.getElementType())
    return emitOpError("C1: the value has type ") << getValue().getType() << ", the result " << type;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(getValue()))
    return verifyResource(*this, resource);
  if (!isa<DenseElementsAttr, DenseStringElementsAttr>(getValue()))
    return emitOpError("C1: expected a dense value, got ") << getValue();
  return success();
}

bool ConstantOp::isOneNumber() {
  auto dense = dyn_cast<DenseElementsAttr>(getValue());
  return dense && dense.isSplat() && !isa<StringType>(dense.getElementType());
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

/// The requirements of the operators inside the kernel.
void CallKernelOp::addRequirements(Requirements &requirements) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(*this, getKernelAttr());
  if (kernel && !kernel.isExternal())
    for (Operation &op : kernel.getFunctionBody().front())
      requirements.addAll(&op);
}

LogicalResult CallKernelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("C1: no kernel named '") << getKernel() << "' in this module";
  size_t own = symbolsOfKernel(kernel).size(), given = symbolValuesAt(*this).size();
  if (own != given)
    return emitOpError("C3: '") << getKernel() << "' has " << own << " symbols, the call says what " << given << " are";
  auto function = dyn_cast<FunctionOpInterface>(kernel);
  if (!function || !llvm::all_of(function.getArgumentTypes(), llvm::IsaPred<RankedTensorType>))
    return success(); // the kernel takes buffers by now
  llvm::StringMap<SymbolicInt> values = symbolsAt(*this, kernel);
  AttrTypeReplacer replacer;
  addSymbolReplacements(replacer, values);
  auto type = cast<FunctionType>(replacer.replace(function.getFunctionType()));
  if (!llvm::equal(type.getInputs(), getOperandTypes()) || !llvm::equal(type.getResults(), getResultTypes()))
    return emitOpError("C2: with this call's symbols, kernel '")
           << getKernel() << "' has type " << type << ", but the call has type "
           << FunctionType::get(getContext(), getOperandTypes(), getResultTypes());
  return success();
}
