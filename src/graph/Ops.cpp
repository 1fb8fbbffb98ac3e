//===- Ops.cpp - text form, folding and canonical form of the primitives --===//

#include "graph/Graph.h"
#include "graph/Shapes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace perpend::graph;

#define GET_OP_CLASSES
#include "graph/GraphOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Text: `graph.map (%a, %b) : (types) -> type { ^bb0(...): ... }`
//===----------------------------------------------------------------------===//

static ParseResult parseBodyOp(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  FunctionType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), loc, result.operands))
    return failure();
  result.addTypes(type.getResults());
  return parser.parseRegion(*result.addRegion());
}

static void printBodyOp(OpAsmPrinter &printer, Operation *op) {
  printer << " (" << op->getOperands() << ")";
  printer.printOptionalAttrDict(op->getAttrs());
  printer << " : ";
  printer.printFunctionalType(op);
  printer << " ";
  printer.printRegion(op->getRegion(0), /*printEntryBlockArgs=*/true);
}

ParseResult MapOp::parse(OpAsmParser &parser, OperationState &result) { return parseBodyOp(parser, result); }
void MapOp::print(OpAsmPrinter &printer) { printBodyOp(printer, *this); }
ParseResult GenerateOp::parse(OpAsmParser &parser, OperationState &result) { return parseBodyOp(parser, result); }
void GenerateOp::print(OpAsmPrinter &printer) { printBodyOp(printer, *this); }

//===----------------------------------------------------------------------===//
// Folding: operators that move nothing disappear
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult BroadcastOp::fold(FoldAdaptor) { return getInput().getType() == getType() ? getInput() : Value(); }

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::equal(getPermutation(), llvm::seq<int64_t>(0, getPermutation().size())))
    return getInput();
  auto producer = getInput().getDefiningOp<TransposeOp>();
  if (!producer)
    return {};
  SmallVector<int64_t> composed;
  for (int64_t dim : getPermutation())
    composed.push_back(producer.getPermutation()[dim]);
  setPermutation(composed);
  getInputMutable().assign(producer.getInput());
  return getResult();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto producer = getInput().getDefiningOp<ReshapeOp>();
  if (!producer)
    return {};
  getInputMutable().assign(producer.getInput());
  return getResult();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool isWhole = getInput().getType() == getType() &&
                 llvm::all_of(getSteps(), [](int64_t step) { return step == 1; }) &&
                 llvm::all_of(getStarts().values(), [](const SymbolicInt &start) { return start == SymbolicInt(0); });
  return isWhole ? getInput() : Value();
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  bool isWhole = getInput().getType() == getType() &&
                 llvm::all_of(getLow().values(), [](const SymbolicInt &low) { return low == SymbolicInt(0); });
  return isWhole ? getInput() : Value();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) { return getInputs().size() == 1 ? getInputs()[0] : Value(); }

//===----------------------------------------------------------------------===//
// Canonical form of map: no operand twice, no unused operand, scalar constants inside
//===----------------------------------------------------------------------===//

/// The scalar that every element of a tensor has, when it is a splat constant (possibly broadcast or reshaped).
static TypedAttr splatScalar(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!dense || !dense.isSplat() || isa<StringType>(dense.getElementType()))
        return {};
      auto scalar = dense.getSplatValue<Attribute>();
      if (auto integer = dyn_cast<IntegerAttr>(scalar))
        return IntegerAttr::get(scalarType(integer.getType()), integer.getValue());
      return cast<TypedAttr>(scalar);
    }
    if (!isa<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(op))
      return {};
    tensor = op->getOperand(0);
  }
  return {};
}

LogicalResult MapOp::canonicalize(MapOp op, PatternRewriter &rewriter) {
  Block &body = op.getBody().front();
  for (unsigned i = 0; i < op.getInputs().size(); ++i) {
    BlockArgument argument = body.getArgument(i);
    Value replacement;
    unsigned firstIndex = llvm::find(op.getInputs(), op.getInputs()[i]) - op.getInputs().begin();
    TypedAttr scalar = argument.use_empty() ? TypedAttr() : splatScalar(op.getInputs()[i]);
    if (firstIndex < i)
      replacement = body.getArgument(firstIndex);
    if (!replacement && !scalar && !argument.use_empty())
      continue;
    rewriter.modifyOpInPlace(op, [&] {
      if (!replacement && scalar) {
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPointToStart(&body);
        replacement = rewriter.create<arith::ConstantOp>(op.getLoc(), scalar);
      }
      if (replacement)
        rewriter.replaceAllUsesWith(argument, replacement);
      body.eraseArgument(i);
      op.getInputsMutable().erase(i);
    });
    return success();
  }
  return failure();
}

LogicalResult CallKernelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("C1: no kernel named '") << getKernel() << "' in this module";
  auto function = dyn_cast<FunctionOpInterface>(kernel);
  if (!function || !llvm::all_of(function.getArgumentTypes(), llvm::IsaPred<RankedTensorType>))
    return success(); // it works on buffers by now
  if (!llvm::equal(function.getArgumentTypes(), getOperandTypes()) ||
      !llvm::equal(function.getResultTypes(), getResultTypes()))
    return emitOpError("C2: '") << getKernel() << "' has type " << function.getFunctionType() << ", the call "
                                << FunctionType::get(getContext(), getOperandTypes(), getResultTypes());
  return success();
}
