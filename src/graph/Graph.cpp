//===- Graph.cpp - dialect registration and attributes --------------------===//

#include "graph/Graph.h"
#include "graph/LibraryCalls.h"
#include "graph/Nests.h"
#include "graph/Updates.h"
#include "graph/gradients/LinearCalls.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace perpend::graph;

#include "graph/GraphDialect.cpp.inc"
#include "graph/GraphEnums.cpp.inc"
#include "graph/GraphInterfaces.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "graph/GraphTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "graph/GraphAttributes.cpp.inc"

void GraphDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "graph/GraphTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "graph/GraphAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "graph/GraphOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "graph/GraphUpdates.cpp.inc"
      >();
  attachUpdates(getContext());
  attachLibraryCalls(getContext());
  attachNests(getContext());
  registerLinearCalls(*getContext());
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || !isa<RankedTensorType>(type))
    return nullptr;
  return builder.create<ConstantOp>(loc, type, elements);
}

// Returns a copy: another thread may add an expression, which moves all of them.
SymbolicInt GraphDialect::expression(StringAttr text) {
  llvm::sys::ScopedLock lock(expressionsMutex);
  auto [entry, isNew] = expressions.try_emplace(text, SymbolicInt(0));
  if (isNew)
    entry->second = SymbolicInt::parse(text.getValue()).value_or(SymbolicInt::poison());
  return entry->second;
}

int64_t GraphDialect::identityOf(StringRef text) {
  llvm::sys::ScopedLock lock(textsMutex);
  if (texts.empty())
    texts.push_back(identities.try_emplace("", 0).first->getKey());
  auto [entry, isNew] = identities.try_emplace(text, static_cast<int64_t>(texts.size()));
  if (isNew)
    texts.push_back(entry->getKey());
  return entry->second;
}

StringRef GraphDialect::textOf(int64_t identity) {
  llvm::sys::ScopedLock lock(textsMutex);
  return identity > 0 && static_cast<size_t>(identity) < texts.size() ? texts[identity] : StringRef();
}

ShapeAttr ShapeAttr::get(MLIRContext *context, ArrayRef<SymbolicInt> dims) {
  SmallVector<StringAttr> texts;
  for (const SymbolicInt &dim : dims)
    texts.push_back(StringAttr::get(context, dim.str()));
  return get(context, texts);
}

llvm::SmallVector<SymbolicInt> ShapeAttr::values() const {
  auto *dialect = getContext()->getLoadedDialect<GraphDialect>();
  llvm::SmallVector<SymbolicInt> values;
  for (StringAttr text : getDims())
    values.push_back(dialect->expression(text));
  return values;
}

LogicalResult ShapeAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                        llvm::function_ref<InFlightDiagnostic()> emitError) const {
  SmallVector<SymbolicInt> extents = values();
  bool fits = extents.size() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    std::optional<int64_t> number = extents[i].constant();
    fits = number ? *number == shape[i] && *number >= 0 : ShapedType::isDynamic(shape[i]);
  }
  if (fits)
    return success();
  return emitError() << "expected one expression for each dimension, a number exactly where the tensor has one, got "
                     << *this;
}

void ShapeAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](StringAttr text) {
    int64_t number;
    if (text.getValue().getAsInteger(10, number))
      printer << text;
    else
      printer << number;
  });
  printer << "]>";
}

Attribute ShapeAttr::parse(AsmParser &parser, Type) {
  SmallVector<SymbolicInt> dims;
  auto parseDim = [&]() -> ParseResult {
    int64_t number;
    OptionalParseResult isNumber = parser.parseOptionalInteger(number);
    if (isNumber.has_value()) {
      dims.emplace_back(number);
      return *isNumber;
    }
    std::string text, error;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseString(&text))
      return failure();
    std::optional<SymbolicInt> value = SymbolicInt::parse(text, &error);
    if (!value)
      return parser.emitError(loc, "not a symbolic integer: ") << error;
    dims.push_back(*value);
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim) ||
      parser.parseGreater())
    return {};
  return ShapeAttr::get(parser.getContext(), dims);
}
