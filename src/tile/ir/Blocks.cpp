//===- Blocks.cpp - syntax and verifiers of loops, blocks and buffers -----===//

#include "tile/ir/IndexExpressions.h"
#include "tile/ir/Tile.h"

#include "graph/ElementTypes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

BufferType BufferType::get(MLIRContext *context, ArrayRef<SymbolicInt> shape, Type elementType, StringRef scope) {
  return get(context, graph::ShapeAttr::get(context, shape), elementType, StringAttr::get(context, scope));
}

Type BufferType::scalarType() const { return graph::scalarType(getElementType()); }

Type BufferType::parse(AsmParser &parser) {
  Shape shape;
  Type elementType;
  std::string scope = "global";
  auto parseExtent = [&] { return parseExpression(parser, shape.emplace_back()); };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseExtent) ||
      parser.parseKeyword("x") || parser.parseType(elementType))
    return {};
  if (succeeded(parser.parseOptionalComma()) && parser.parseKeywordOrString(&scope))
    return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), shape, elementType, scope);
}

/// The parser accepts a minus only before a number.
std::string perpend::tile::extentText(const SymbolicInt &extent) {
  std::string text = extent.str(), result;
  for (size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text[i] != '-')
      continue;
    if (i + 1 < text.size() && text[i + 1] == ' ')
      result += text[++i];
    if (i + 1 >= text.size() || !llvm::isDigit(text[i + 1]))
      result += "1*";
  }
  return result;
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(extents(), printer, [&](const SymbolicInt &extent) { printer << extentText(extent); });
  printer << "] x " << getElementType();
  if (!isGlobal()) {
    printer << ", ";
    printer.printKeywordOrString(getScope().getValue());
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Shared by operations with expressions
//===----------------------------------------------------------------------===//

/// Every index operand must occur in the expressions, and they may name no operand that does not exist.
static LogicalResult verifyOperands(Operation *op, ArrayRef<graph::ShapeAttr> lists, size_t operands) {
  llvm::BitVector isUsed(operands);
  for (graph::ShapeAttr list : lists)
    for (const SymbolicInt &expression : list.values()) {
      std::set<std::string> names;
      expression.symbols(names);
      for (StringRef name : names) {
        unsigned number = 0;
        if (!name.consume_front("%"))
          continue;
        if (name.getAsInteger(10, number) || number >= operands)
          return op->emitOpError("C2: expected operands %0 to %") << operands << " in its expressions, got %" << name;
        isUsed.set(number);
      }
    }
  return isUsed.all() ? success() : op->emitOpError("C2: an operand occurs in none of its expressions");
}

static ParseResult resolveIndices(OpAsmParser &parser, const UnresolvedOperands &operands, OperationState &state) {
  return parser.resolveOperands(operands, parser.getBuilder().getIndexType(), state.operands);
}

static graph::ShapeAttr listAttr(MLIRContext *context, ArrayRef<SymbolicInt> list) {
  return graph::ShapeAttr::get(context, list);
}

/// Names a loop variable as in the text.
static StringAttr nameOf(OpAsmParser &parser, const OpAsmParser::Argument &argument) {
  return parser.getBuilder().getStringAttr(argument.ssaName.name.drop_front());
}

static ParseResult parseAnnotations(OpAsmParser &parser, OperationState &state, StringAttr attributeName) {
  NamedAttrList annotations;
  if (parser.parseOptionalAttrDictWithKeyword(annotations))
    return failure();
  state.addAttribute(attributeName, annotations.getDictionary(parser.getContext()));
  return success();
}

static void printAnnotations(OpAsmPrinter &printer, DictionaryAttr annotations) {
  if (!annotations.empty())
    printer << " attributes " << annotations;
}

//===----------------------------------------------------------------------===//
// for
//===----------------------------------------------------------------------===//

void ForOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  setName(region.getArgument(0), getName());
}

ParseResult ForOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::Argument variable;
  UnresolvedOperands operands;
  SymbolicInt extent;
  StringRef keyword;
  if (parser.parseArgument(variable) || parser.parseKeyword("in") || parseExpression(parser, operands, extent))
    return failure();
  LoopKind kind = LoopKind::Serial;
  if (succeeded(parser.parseOptionalKeyword(&keyword, {"parallel", "vectorized", "unrolled"})))
    kind = *symbolizeLoopKind(keyword);
  variable.type = parser.getBuilder().getIndexType();
  MLIRContext *context = parser.getContext();
  state.addAttribute(getExtentAttrName(state.name), listAttr(context, extent));
  state.addAttribute(getKindAttrName(state.name), LoopKindAttr::get(context, kind));
  state.addAttribute(getNameAttrName(state.name), nameOf(parser, variable));
  return failure(parseAnnotations(parser, state, getAnnotationsAttrName(state.name)) ||
                 resolveIndices(parser, operands, state) || parser.parseRegion(*state.addRegion(), variable));
}

void ForOp::print(OpAsmPrinter &printer) {
  printer << ' ' << variable() << " in ";
  printExpressions(printer, getExtent().values(), getVariables());
  if (getKind() != LoopKind::Serial)
    printer << ' ' << stringifyLoopKind(getKind());
  printAnnotations(printer, getAnnotations());
  printer << ' ';
  printer.printRegion(getRegion(), /*printEntryBlockArgs=*/false);
}

LogicalResult ForOp::verify() {
  if (getExtent().getDims().size() != 1 || getRegion().getNumArguments() != 1 || !variable().getType().isIndex())
    return emitOpError("C1: expected one extent and one variable of type index");
  return verifyOperands(*this, getExtent(), getVariables().size());
}

//===----------------------------------------------------------------------===//
// block
//===----------------------------------------------------------------------===//

void BlockOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (auto [argument, name] : llvm::zip(region.getArguments(), getIteratorNames()))
    setName(argument, cast<StringAttr>(name).getValue());
}

InitOp BlockOp::init() {
  auto inits = body()->getOps<InitOp>();
  return inits.empty() ? InitOp() : *inits.begin();
}

namespace {
/// The clauses of a block's text, collected while it is parsed.
struct BlockText {
  SmallVector<OpAsmParser::Argument> iterators;
  SmallVector<int32_t> kinds;
  SmallVector<Attribute> names;
  Shape domain, bindings, conditions;
  UnresolvedOperands operands;
};
} // namespace

static ParseResult parseIterators(OpAsmParser &parser, BlockText &text, IteratorKind kind) {
  if (failed(parser.parseOptionalKeyword(stringifyIteratorKind(kind))))
    return success();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() -> ParseResult {
    OpAsmParser::Argument &iterator = text.iterators.emplace_back();
    UnresolvedOperands none;
    if (parser.parseArgument(iterator) || parser.parseKeyword("in") ||
        parseExpression(parser, none, text.domain.emplace_back()) || parser.parseEqual() ||
        parseExpression(parser, text.operands, text.bindings.emplace_back()))
      return failure();
    if (!none.empty())
      return parser.emitError(parser.getCurrentLocation(), "expected an extent over the model's symbols");
    iterator.type = parser.getBuilder().getIndexType();
    text.kinds.push_back(static_cast<int32_t>(kind));
    text.names.push_back(nameOf(parser, iterator));
    return success();
  });
}

ParseResult BlockOp::parse(OpAsmParser &parser, OperationState &state) {
  BlockText text;
  StringAttr name;
  if (parser.parseAttribute(name, getNameAttrName(state.name), state.attributes) ||
      parseIterators(parser, text, IteratorKind::Spatial) || parseIterators(parser, text, IteratorKind::Reduced) ||
      parseIterators(parser, text, IteratorKind::Opaque))
    return failure();
  auto parseCondition = [&]() -> ParseResult {
    return failure(parseExpression(parser, text.operands, text.conditions.emplace_back()) || parser.parseLess() ||
                   parseExpression(parser, text.operands, text.conditions.emplace_back()));
  };
  if (succeeded(parser.parseOptionalKeyword("where")) &&
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseCondition))
    return failure();
  Builder &builder = parser.getBuilder();
  MLIRContext *context = parser.getContext();
  state.addAttribute(getKindsAttrName(state.name), builder.getDenseI32ArrayAttr(text.kinds));
  state.addAttribute(getDomainAttrName(state.name), listAttr(context, text.domain));
  state.addAttribute(getBindingsAttrName(state.name), listAttr(context, text.bindings));
  state.addAttribute(getConditionsAttrName(state.name), listAttr(context, text.conditions));
  state.addAttribute(getIteratorNamesAttrName(state.name), builder.getArrayAttr(text.names));
  Region &region = *state.addRegion();
  if (parseAnnotations(parser, state, getAnnotationsAttrName(state.name)) ||
      resolveIndices(parser, text.operands, state) || parser.parseRegion(region, text.iterators))
    return failure();
  if (region.empty()) // empty braces, no iterators
    region.emplaceBlock();
  return success();
}

void BlockOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getNameAttr();
  Shape domain(getDomain().values()), bindings(getBindings().values()), conditions(getConditions().values());
  for (IteratorKind kind : {IteratorKind::Spatial, IteratorKind::Reduced, IteratorKind::Opaque}) {
    if (!llvm::is_contained(getKinds(), static_cast<int32_t>(kind)))
      continue;
    printer << ' ' << stringifyIteratorKind(kind) << '(';
    llvm::ListSeparator separator;
    for (auto [i, iterator] : llvm::enumerate(iterators())) {
      if (this->kind(i) != kind)
        continue;
      printer << StringRef(separator);
      printer.printRegionArgument(iterator, {}, /*omitType=*/true);
      printer << " in ";
      printExpressions(printer, domain[i], {});
      printer << " = ";
      printExpressions(printer, bindings[i], getVariables());
    }
    printer << ')';
  }
  if (!conditions.empty()) {
    printer << " where(";
    for (size_t i = 0; i < conditions.size(); i += 2) {
      printer << (i ? ", " : "");
      printExpressions(printer, conditions[i], getVariables());
      printer << " < ";
      printExpressions(printer, conditions[i + 1], getVariables());
    }
    printer << ')';
  }
  printAnnotations(printer, getAnnotations());
  printer << ' ';
  printer.printRegion(getRegion(), /*printEntryBlockArgs=*/false);
}

/// Whether an earlier block of the kernel has the same name.
static bool isNameTaken(BlockOp block) {
  bool isTaken = false;
  if (Operation *kernel = block->getParentWithTrait<OpTrait::IsIsolatedFromAbove>())
    kernel->walk<WalkOrder::PreOrder>([&](BlockOp other) {
      isTaken = other != block && other.getNameAttr() == block.getNameAttr();
      return isTaken || other == block ? WalkResult::interrupt() : WalkResult::advance();
    });
  return isTaken;
}

LogicalResult BlockOp::verify() {
  size_t count = getRegion().getNumArguments();
  if (getKinds().size() != count || getDomain().getDims().size() != count || getBindings().getDims().size() != count ||
      getIteratorNames().size() != count || getConditions().getDims().size() % 2 != 0)
    return emitOpError("C1: expected a kind, an extent, a binding and a name for each of ") << count << " iterators";
  if (!llvm::is_sorted(getKinds()) ||
      !llvm::all_of(getKinds(), [](int32_t kind) { return symbolizeIteratorKind(kind).has_value(); }))
    return emitOpError("C1: expected spatial iterators first, then reduced and opaque ones");
  if (failed(verifyOperands(*this, {getBindings(), getConditions()}, getVariables().size())))
    return failure();
  WalkResult isClosed = getRegion().walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!getRegion().isAncestor(operand.getParentRegion()) && !isa<BufferType>(operand.getType())) {
        inner->emitOpError("C2: uses a value from outside of the block '") << getName() << "' that is no buffer";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  if (isClosed.wasInterrupted())
    return failure();
  return isNameTaken(*this) ? emitOpError("C3: the kernel has another block '") << getName() << "'" : success();
}

//===----------------------------------------------------------------------===//
// load, store, index, alloc
//===----------------------------------------------------------------------===//

static ParseResult parseIndices(OpAsmParser &parser, OperationState &state, StringAttr attributeName,
                                UnresolvedOperands &operands) {
  Shape indices;
  auto parseOne = [&] { return parseExpression(parser, operands, indices.emplace_back()); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  state.addAttribute(attributeName, listAttr(parser.getContext(), indices));
  return success();
}

static void printAccess(OpAsmPrinter &printer, Operation *op, Value buffer, graph::ShapeAttr indices,
                        ValueRange operands, StringRef indicesName) {
  printer << buffer << '[';
  printExpressions(printer, indices.values(), operands);
  printer << ']';
  printer.printOptionalAttrDict(op->getAttrs(), indicesName);
  printer << " : " << buffer.getType();
}

static LogicalResult verifyAccess(Operation *op, BufferType buffer, graph::ShapeAttr indices, size_t operands,
                                  Type scalar) {
  if (indices.getDims().size() != buffer.rank())
    return op->emitOpError("C1: expected ") << buffer.rank() << " indices, got " << indices.getDims().size();
  if (scalar != buffer.scalarType())
    return op->emitOpError("C3: expected a value of type ") << buffer.scalarType() << ", got " << scalar;
  return verifyOperands(op, indices, operands);
}

ParseResult LoadOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand buffer;
  UnresolvedOperands operands;
  BufferType type;
  if (parser.parseOperand(buffer) || parseIndices(parser, state, getIndicesAttrName(state.name), operands) ||
      parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type) ||
      parser.resolveOperand(buffer, type, state.operands) || resolveIndices(parser, operands, state))
    return failure();
  state.addTypes(type.scalarType());
  return success();
}

void LoadOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printAccess(printer, *this, getBuffer(), getIndices(), getVariables(), getIndicesAttrName());
}

LogicalResult LoadOp::verify() {
  return verifyAccess(*this, getBuffer().getType(), getIndices(), getVariables().size(), getResult().getType());
}

void LoadOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getBufferMutable());
}

ParseResult StoreOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand value, buffer;
  UnresolvedOperands operands;
  BufferType type;
  return failure(parser.parseOperand(value) || parser.parseComma() || parser.parseOperand(buffer) ||
                 parseIndices(parser, state, getIndicesAttrName(state.name), operands) ||
                 parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type) ||
                 parser.resolveOperand(value, type.scalarType(), state.operands) ||
                 parser.resolveOperand(buffer, type, state.operands) || resolveIndices(parser, operands, state));
}

void StoreOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getValue() << ", ";
  printAccess(printer, *this, getBuffer(), getIndices(), getVariables(), getIndicesAttrName());
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getBuffer().getType(), getIndices(), getVariables().size(), getValue().getType());
}

void StoreOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), &getBufferMutable());
}

void AllocOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Allocate::get(), getOperation()->getOpResult(0));
}

ParseResult IndexOp::parse(OpAsmParser &parser, OperationState &state) {
  UnresolvedOperands operands;
  SymbolicInt expression;
  if (parseExpression(parser, operands, expression))
    return failure();
  state.addAttribute(getExpressionAttrName(state.name), listAttr(parser.getContext(), expression));
  state.addTypes(parser.getBuilder().getIndexType());
  return resolveIndices(parser, operands, state);
}

void IndexOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printExpressions(printer, getExpression().values(), getVariables());
}

LogicalResult IndexOp::verify() {
  if (getExpression().getDims().size() != 1)
    return emitOpError("C1: expected one expression, got ") << getExpression().getDims().size();
  return verifyOperands(*this, getExpression(), getVariables().size());
}
