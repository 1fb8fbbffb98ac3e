//===- UserOperators.cpp - operators that users bring ---------------------===//

#include "frontend/onnx/UserOperators.h"

#include "graph/composites/Formulas.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using perpend::graph::shapeOf;

namespace perpend::onnx {

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

bool UserOperators::addObject(const UserOperator &description, StringRef folder, std::string &error) {
  if (description.object.empty())
    return true;
  llvm::SmallString<256> path(description.object);
  llvm::sys::fs::make_absolute(folder, path);
  if (!llvm::sys::fs::exists(path)) {
    error = "operator '" + description.name + "': there is no file '" + path.str().str() + "'";
    return false;
  }
  if (!llvm::is_contained(objectPaths, path.str()))
    objectPaths.push_back(path.str().str());
  return true;
}

bool UserOperators::read(MLIRContext *context, StringRef path, std::string &error) {
  auto prefix = "operators in '" + path.str() + "': ";
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file) {
    error = prefix + file.getError().message();
    return false;
  }
  llvm::Expected<llvm::json::Value> value = llvm::json::parse((*file)->getBuffer());
  if (!value) {
    error = prefix + llvm::toString(value.takeError());
    return false;
  }
  llvm::SmallString<256> folder(llvm::sys::path::parent_path(path));
  llvm::sys::fs::make_absolute(folder);
  const llvm::json::Array *list = value->getAsArray();
  for (const llvm::json::Value &entry : list ? *list : llvm::json::Array{*value}) {
    std::optional<UserOperator> description = readOperator(context, entry, error);
    if (!description || !addObject(*description, folder, error)) {
      error = prefix + error;
      return false;
    }
    operators.push_back(std::move(*description));
  }
  return true;
}

const UserOperator *UserOperators::find(StringRef domain, StringRef name, int64_t operatorSet) const {
  const UserOperator *found = nullptr;
  for (const UserOperator &entry : operators)
    if (entry.domain == domain && entry.name == name && entry.since <= operatorSet &&
        (!found || found->since <= entry.since))
      found = &entry;
  return found;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

namespace {
/// What the names of a description stand for at a node.
struct Bindings {
  llvm::StringMap<SymbolicInt> extents;
  llvm::StringMap<Type> types;
};
} // namespace

static std::string describe(const TensorPattern &pattern) {
  return pattern.elementType + " " + graph::toString(pattern.shape);
}

static bool bindType(Value input, const TensorPattern &pattern, Bindings &bindings) {
  Type type = graph::elementTypeOf(input);
  if (pattern.elementType.size() == 1 && llvm::isUpper(pattern.elementType[0]))
    return bindings.types.try_emplace(pattern.elementType, type).first->second == type;
  return graph::nameOf(type) == pattern.elementType;
}

static bool isName(const SymbolicInt &extent) {
  std::set<std::string> names;
  extent.symbols(names);
  return names.size() == 1 && extent == SymbolicInt::symbol(*names.begin());
}

static bool bindInput(Builder &b, Value input, const TensorPattern &pattern, Bindings &bindings) {
  Shape shape = shapeOf(input);
  if (shape.size() != pattern.shape.size() || !bindType(input, pattern, bindings))
    return false;
  for (auto [extent, expected] : llvm::zip(shape, pattern.shape))
    if (!isName(expected) || !bindings.extents.try_emplace(expected.str(), extent).second) {
      SymbolicInt wanted = expected.substitute(bindings.extents);
      if (graph::provablyDiffer(extent, wanted))
        return false;
      std::string message =
          "an operator's input has the extent " + extent.str() + " where " + wanted.str() + " is needed";
      b.require(extent - wanted, message);
      b.require(wanted - extent, message);
    }
  return true;
}

static std::set<std::string> unknownNames(const SymbolicInt &extent, const Bindings &bindings) {
  std::set<std::string> names;
  extent.symbols(names);
  std::erase_if(names, [&](const std::string &name) { return bindings.extents.contains(name); });
  return names;
}

/// The extents of a result. One with a name that no input has is the function's to choose: a symbol, for now of its
/// own.
static std::optional<graph::CallResult> resultOf(Builder &b, const TensorPattern &pattern, const Bindings &bindings) {
  auto known = bindings.types.find(pattern.elementType);
  Type type = known != bindings.types.end() ? known->second : graph::elementTypeNamed(b.context(), pattern.elementType);
  if (!type)
    return std::nullopt;
  Shape shape;
  for (const SymbolicInt &extent : pattern.shape)
    shape.push_back(unknownNames(extent, bindings).empty() ? extent.substitute(bindings.extents)
                                                           : SymbolicInt::poison());
  return graph::CallResult{shape, type};
}

//===----------------------------------------------------------------------===//
// Extents that the function chooses
//===----------------------------------------------------------------------===//

/// What `name` is where `extent` is `got`, if extent = factor * name + offset.
static std::optional<SymbolicInt> solve(const SymbolicInt &extent, const std::string &name, const SymbolicInt &got,
                                        const Bindings &bindings) {
  auto at = [&](int64_t value) {
    llvm::StringMap<SymbolicInt> replacements = bindings.extents;
    replacements[name] = SymbolicInt(value);
    return extent.substitute(replacements);
  };
  SymbolicInt offset = at(0);
  std::optional<int64_t> factor = (at(1) - offset).constant();
  llvm::StringMap<SymbolicInt> itself = bindings.extents;
  itself[name] = SymbolicInt::symbol(name);
  if (!factor || *factor < 1 || extent.substitute(itself) != SymbolicInt(*factor) * SymbolicInt::symbol(name) + offset)
    return std::nullopt;
  return floorDiv(got - offset, SymbolicInt(*factor));
}

namespace {
/// Relates the results of a call: extents that mention the same name.
class ChosenExtents {
public:
  ChosenExtents(Builder &b, ArrayRef<Value> results, const UserOperator &description, Bindings &bindings)
      : b(b), results(results), description(description), bindings(bindings) {}

  void relate() {
    for (bool isAlone : {true, false})
      forEach([&](const SymbolicInt &pattern, SymbolicInt &extent) { bind(pattern, extent, isAlone); });
    forEach([&](const SymbolicInt &pattern, SymbolicInt &extent) { substitute(pattern, extent); });
    auto call = results[0].getDefiningOp<graph::CallLibraryOp>();
    call.setSymbolsAttr(b.operations.getArrayAttr(symbols));
    for (const SymbolicInt &difference : exact)
      b.require(difference, "an extent that the function chose does not fit its description");
  }

private:
  void forEach(llvm::function_ref<void(const SymbolicInt &pattern, SymbolicInt &extent)> visit) {
    for (auto [result, pattern] : llvm::zip(results, description.outputs)) {
      Shape shape = shapeOf(result);
      for (auto [expected, extent] : llvm::zip(pattern.shape, shape))
        visit(expected, extent);
      Value(result).setType(graph::tensorType(shape, graph::elementTypeOf(result)));
    }
  }

  /// The first extent that gives a name keeps its symbol.
  void bind(const SymbolicInt &pattern, const SymbolicInt &extent, bool isAlone) {
    std::set<std::string> unknown = unknownNames(pattern, bindings);
    if (unknown.size() != 1 || isName(pattern) != isAlone)
      return;
    std::optional<SymbolicInt> value = solve(pattern, *unknown.begin(), extent, bindings);
    if (!value)
      return;
    bindings.extents[*unknown.begin()] = *value;
    keep(extent);
    if (SymbolicInt difference = pattern.substitute(bindings.extents) - extent; difference.constant() != 0)
      exact.push_back(difference);
  }

  void substitute(const SymbolicInt &pattern, SymbolicInt &extent) {
    if (llvm::is_contained(symbols, nameOf(extent)) || !isName(extent))
      return;
    if (unknownNames(pattern, bindings).empty())
      extent = pattern.substitute(bindings.extents);
    else
      keep(extent);
  }

  Attribute nameOf(const SymbolicInt &symbol) { return b.operations.getStringAttr(symbol.str()); }
  void keep(const SymbolicInt &symbol) { symbols.push_back(nameOf(symbol)); }

  Builder &b;
  ArrayRef<Value> results;
  const UserOperator &description;
  Bindings &bindings;
  SmallVector<Attribute> symbols;
  SmallVector<SymbolicInt> exact; ///< 0, or negative where the function breaks the description
};
} // namespace

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static Attribute parameterOf(OpBuilder &builder, const llvm::json::Value &value) {
  if (std::optional<int64_t> integer = value.getAsInteger())
    return builder.getI64IntegerAttr(*integer);
  if (std::optional<double> number = value.getAsNumber())
    return builder.getF64FloatAttr(*number);
  if (std::optional<StringRef> text = value.getAsString())
    return builder.getStringAttr(*text);
  SmallVector<Attribute> list;
  if (const llvm::json::Array *values = value.getAsArray())
    for (const llvm::json::Value &element : *values)
      list.push_back(parameterOf(builder, element));
  return builder.getArrayAttr(list);
}

static Attribute parameterOf(OpBuilder &builder, Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return builder.getF64FloatAttr(number.getValueAsDouble());
  if (auto numbers = dyn_cast<DenseF32ArrayAttr>(value))
    return builder.getF64ArrayAttr(SmallVector<double>(numbers.asArrayRef().begin(), numbers.asArrayRef().end()));
  if (auto integers = dyn_cast<DenseI64ArrayAttr>(value))
    return builder.getI64ArrayAttr(integers.asArrayRef());
  return isa<IntegerAttr, StringAttr, ArrayAttr>(value) ? value : Attribute();
}

/// Null after an error. What is called is the user's choice, never that of a node in the model's file.
static DictionaryAttr parametersOf(Node &node, const UserOperator &description) {
  OpBuilder &builder = node.builder.operations;
  NamedAttrList parameters;
  for (const auto &[name, value] : description.attributes)
    parameters.set(StringRef(name), parameterOf(builder, value));
  DictionaryAttr given = node.attributes.all();
  for (NamedAttribute attribute : given ? given.getValue() : ArrayRef<NamedAttribute>()) {
    if (attribute.getName().getValue().starts_with("perpend.")) {
      node.fail("attribute '" + attribute.getName().getValue() +
                "': names that begin with 'perpend.' are reserved\nhint: rename the attribute");
      return {};
    }
    if (Attribute value = parameterOf(builder, attribute.getValue()))
      parameters.set(attribute.getName(), value);
  }
  return parameters.getDictionary(builder.getContext());
}

Results importUserOperator(Node &node, const UserOperator &description) {
  Builder &b = node.builder;
  Bindings bindings;
  if (node.inputs.size() != description.inputs.size())
    return node.fail("expected " + Twine(description.inputs.size()) + " inputs, got " + Twine(node.inputs.size()));
  for (auto [index, input, pattern] : llvm::enumerate(node.inputs, description.inputs))
    if (!input || !bindInput(b, input, pattern, bindings))
      return node.fail(
          "input " + Twine(index) + ": expected " + describe(pattern) + ", got " +
          (input ? graph::nameOf(graph::elementTypeOf(input)) + " " + graph::toString(shapeOf(input)) : "nothing"));
  DictionaryAttr parameters = parametersOf(node, description);
  if (!parameters)
    return {};
  SmallVector<graph::CallResult> results;
  for (auto [index, pattern] : llvm::enumerate(description.outputs)) {
    std::optional<graph::CallResult> result = resultOf(b, pattern, bindings);
    if (!result)
      return node.fail("output " + Twine(index) + ": no element type is called '" + pattern.elementType + "'");
    results.push_back(*result);
  }
  Results values(b.callLibrary(description.function, node.inputs, results, parameters.getValue()));
  if (values.empty())
    return values;
  ChosenExtents(b, values, description, bindings).relate();
  if (!description.isPure)
    values[0].getDefiningOp()->setAttr("graph.impure", b.operations.getUnitAttr());
  return values;
}
} // namespace perpend::onnx
