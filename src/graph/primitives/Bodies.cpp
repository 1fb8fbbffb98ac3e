//===- Bodies.cpp - primitives with a scalar body -------------------------===//
//
// This file has the operators' verifiers, their requirements on the symbols in shapes, the code that computes one
// element of a result, their syntax, and the canonical form of map.
//
//===----------------------------------------------------------------------===//

#include "graph/Requirements.h"
#include "graph/Shapes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace perpend::graph;

static LogicalResult verifyBody(Operation *op, ArrayRef<Type> argumentTypes) {
  Block &body = op->getRegion(0).front();
  if (!llvm::equal(body.getArgumentTypes(), argumentTypes))
    return op->emitOpError("C2: the body's arguments do not match the inputs");
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  Type expected = scalarTypeOf(op->getResult(0));
  if (!yield || yield.getValues().size() != 1 || yield.getValues()[0].getType() != expected)
    return op->emitOpError("C3: the body must yield one ") << expected;
  return success();
}

//===----------------------------------------------------------------------===//
// map
//===----------------------------------------------------------------------===//

LogicalResult MapOp::verify() {
  SmallVector<Type> arguments;
  Shape result = shapeOf(getResult());
  for (Value input : getInputs()) {
    Shape shape = shapeOf(input);
    bool same = shape.size() == result.size();
    for (size_t i = 0; same && i < shape.size(); ++i)
      same = !provablyDiffer(shape[i], result[i]);
    if (!same)
      return emitOpError("C1: expected inputs of shape ") << toString(result) << ", got " << toString(shape);
    arguments.push_back(scalarTypeOf(input));
  }
  return verifyBody(*this, arguments);
}

void MapOp::addRequirements(Requirements &requirements) {
  for (Value input : getInputs())
    for (auto [extent, wanted] : llvm::zip(shapeOf(input), shapeOf(getResult())))
      requirements.addEqual(extent, wanted);
}

std::optional<unsigned> MapOp::followingDim(OpOperand &, unsigned dim) { return dim; }

Value MapOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  IRMapping mapping;
  Block &body = getBody().front();
  for (auto [argument, input] : llvm::zip(body.getArguments(), getInputs()))
    mapping.map(argument, emitter.element(builder, loc, input, index));
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return mapping.lookupOrDefault(cast<YieldOp>(body.getTerminator()).getValues()[0]);
}

ElementKind MapOp::elementKind() { return ElementKind::Pointwise; }

//===----------------------------------------------------------------------===//
// generate
//===----------------------------------------------------------------------===//

LogicalResult GenerateOp::verify() {
  SmallVector<Type> arguments(cast<RankedTensorType>(getType()).getRank(), IndexType::get(getContext()));
  llvm::append_range(arguments, getInputs().getTypes());
  return verifyBody(*this, arguments);
}

void GenerateOp::addRequirements(Requirements &requirements) {
  Shape result = shapeOf(getResult());
  for (auto [input, argument] : llvm::zip_equal(getInputs(), getBody().getArguments().drop_front(result.size()))) {
    if (argument.use_empty()) // nothing is read of it
      continue;
    for (const SymbolicInt &extent : shapeOf(input))
      if (!extent.knownPositive() && !llvm::is_contained(result, extent))
        requirements.addReads(extent, result);
  }
}

Value GenerateOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  IRMapping mapping;
  Block &body = getBody().front();
  mapping.map(body.getArguments().take_front(index.size()), index);
  mapping.map(body.getArguments().drop_front(index.size()), getInputs());
  for (Operation &op : body.without_terminator()) {
    if (auto load = dyn_cast<LoadOp>(op)) {
      SmallVector<Value> source =
          llvm::map_to_vector(load.getIndex(), [&](Value value) { return mapping.lookupOrDefault(value); });
      mapping.map(load.getResult(), emitter.element(builder, loc, mapping.lookupOrDefault(load.getTensor()), source));
    } else if (auto extent = dyn_cast<ExtentOp>(op)) {
      auto value = SymbolicInt::parse(extent.getExpression());
      mapping.map(extent.getResult(), emitter.extent(builder, loc, value.value_or(SymbolicInt::poison())));
    } else {
      builder.clone(op, mapping);
    }
  }
  return mapping.lookupOrDefault(cast<YieldOp>(body.getTerminator()).getValues()[0]);
}

ElementKind GenerateOp::elementKind() { return ElementKind::Pointwise; }

//===----------------------------------------------------------------------===//
// load
//===----------------------------------------------------------------------===//

LogicalResult LoadOp::verify() {
  int64_t rank = cast<RankedTensorType>(getTensor().getType()).getRank();
  if (static_cast<int64_t>(getIndex().size()) != rank)
    return emitOpError("C1: ") << getIndex().size() << " indices into a tensor of rank " << rank;
  for (auto [dim, index, extent] : llvm::enumerate(getIndex(), shapeOf(getTensor()))) {
    APInt value;
    bool isNumber = matchPattern(index, m_ConstantInt(&value));
    // An extent of 0 belongs to a tensor that no element of the result may read.
    if (isNumber && extent != SymbolicInt(0) &&
        (value.isNegative() || (SymbolicInt(value.getSExtValue()) - extent).knownNonNegative()))
      return emitOpError("C2: index ") << dim << ": expected 0 to less than " << extent.str() << ", got "
                                       << value.getSExtValue();
  }
  return success();
}

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
// Canonical form of map: no operand twice, no unused operand, scalar constants inside
//===----------------------------------------------------------------------===//

/// The scalar of a splat constant (possibly broadcast or reshaped).
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
