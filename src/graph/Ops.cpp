//===- Ops.cpp - the primitives --------------------------------------------===//
//
// What is said of an operator is in the file of its kind: primitives/, ControlFlow.cpp, Library.cpp; of constants and
// calls of kernels here.
//
//===----------------------------------------------------------------------===//

#include "graph/Graph.h"

#include "graph/KernelSymbols.h"
#include "graph/SubstituteSymbols.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace perpend::graph;

#define GET_OP_CLASSES
#include "graph/GraphOps.cpp.inc"

LogicalResult ConstantOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (getValue().getShapedType().getShape() != type.getShape() || getValue().getElementType() != type.getElementType())
    return emitOpError("C1: the value has type ") << getValue().getType() << ", the result " << type;
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult CallKernelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("C1: no kernel named '") << getKernel() << "' in this module";
  size_t own = symbolsOfKernel(kernel).size(), given = symbolValuesAt(*this).size();
  if (own != given)
    return emitOpError("C3: '") << getKernel() << "' has " << own << " symbols, the call says what " << given << " are";
  auto function = dyn_cast<FunctionOpInterface>(kernel);
  if (!function || !llvm::all_of(function.getArgumentTypes(), llvm::IsaPred<RankedTensorType>))
    return success(); // it works on buffers by now
  llvm::StringMap<SymbolicInt> values = symbolsAt(*this, kernel);
  AttrTypeReplacer replacer;
  addSymbolReplacements(replacer, values);
  auto type = cast<FunctionType>(replacer.replace(function.getFunctionType()));
  if (!llvm::equal(type.getInputs(), getOperandTypes()) || !llvm::equal(type.getResults(), getResultTypes()))
    return emitOpError("C2: '") << getKernel() << "' has type " << type << " with this call's symbols, the call "
                                << FunctionType::get(getContext(), getOperandTypes(), getResultTypes());
  return success();
}
