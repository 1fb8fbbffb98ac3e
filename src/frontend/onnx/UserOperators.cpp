//===- UserOperators.cpp - operators supplied by users --------------------===//

#include "frontend/onnx/UserOperators.h"
#include "graph/Attributes.h"

#include "frontend/onnx/Import.h"
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
    error = "operator '" + description.name + "': there is no file '" + path.str().str() +
            "'\nhint: compile the operator's source to it (clang -fPIC -c)";
    return false;
  }
  if (!llvm::is_contained(objectPaths, path.str()))
    objectPaths.push_back(path.str().str());
  return true;
}

bool UserOperators::add(UserOperator description, std::string &error) {
  for (const UserOperator &other : operators)
    if (other.domain == description.domain && other.name == description.name && other.since == description.since) {
      error = "operator '" + description.name + "' of the domain '" + description.domain + "', from version " +
              std::to_string(other.since) +
              " on, is given twice\nhint: leave one out, or say with 'since' which version each is for";
      return false;
    }
  operators.push_back(std::move(description));
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
    error = prefix + llvm::toString(value.takeError()) +
            "\nhint: it is a list of descriptions in JSON (docs/howto/bring-an-operator.md)";
    return false;
  }
  llvm::SmallString<256> folder(llvm::sys::path::parent_path(path));
  llvm::sys::fs::make_absolute(folder);
  const llvm::json::Array *list = value->getAsArray();
  for (const llvm::json::Value &entry : list ? *list : llvm::json::Array{*value}) {
    std::optional<UserOperator> description = readOperator(context, entry, error);
    if (!description || !addObject(*description, folder, error) || !add(std::move(*description), error)) {
      error = prefix + error;
      return false;
    }
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

std::optional<std::vector<std::string>> objectsOf(MLIRContext &context, ArrayRef<std::string> operators) {
  UserOperators read;
  for (const std::string &path : operators)
    if (std::string error; !read.read(&context, path, error))
      return emitError(UnknownLoc::get(&context), error), std::nullopt;
  return read.objects().vec();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

namespace {
/// The values of a description's names at a node.
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

static std::set<std::string> unknownNames(const SymbolicInt &extent, const Bindings &bindings) {
  std::set<std::string> names;
  extent.symbols(names);
  std::erase_if(names, [&](const std::string &name) { return bindings.extents.contains(name); });
  return names;
}

/// The value of `name` such that `extent` = factor * name + offset equals `got`.
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

/// Binds the only unbound name of `pattern` such that the pattern equals `extent`; nullopt if there is no such name or
/// value. isAlone: only patterns that consist of a name; otherwise only the others.
static std::optional<SymbolicInt> bindName(const SymbolicInt &pattern, const SymbolicInt &extent, bool isAlone,
                                           Bindings &bindings) {
  std::set<std::string> unknown = unknownNames(pattern, bindings);
  if (unknown.size() != 1 || isName(pattern) != isAlone)
    return std::nullopt;
  std::optional<SymbolicInt> value = solve(pattern, *unknown.begin(), extent, bindings);
  if (value)
    bindings.extents[*unknown.begin()] = *value;
  return value;
}

using VisitExtent = llvm::function_ref<void(const SymbolicInt &pattern, SymbolicInt &extent)>;
using FoundName =
    llvm::function_ref<void(const SymbolicInt &pattern, const SymbolicInt &extent, const SymbolicInt &value)>;

/// Binds the names of all patterns that `forEach` visits: first names alone, then the others until nothing changes.
static void bindNames(llvm::function_ref<void(VisitExtent)> forEach, Bindings &bindings, FoundName found = {}) {
  auto bindAll = [&](bool isAlone) {
    forEach([&](const SymbolicInt &pattern, SymbolicInt &extent) {
      if (std::optional<SymbolicInt> value = bindName(pattern, extent, isAlone, bindings); value && found)
        found(pattern, extent, *value);
    });
  };
  bindAll(/*isAlone=*/true);
  size_t before;
  do {
    before = bindings.extents.size();
    bindAll(/*isAlone=*/false);
  } while (bindings.extents.size() != before);
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static void forEachExtent(Node &node, const UserOperator &description, VisitExtent visit) {
  for (auto [input, pattern] : llvm::zip(node.inputs, description.inputs)) {
    Shape shape = shapeOf(input);
    for (auto [expected, extent] : llvm::zip(pattern.shape, shape))
      visit(expected, extent);
  }
}

static void requireExtent(Node &node, const UserOperator &description, const SymbolicInt &extent,
                          const SymbolicInt &wanted) {
  std::string message = "operator '" + description.name + "': an input has the extent " + extent.str() + " where " +
                        wanted.str() + " is needed";
  node.builder.require(extent - wanted, message);
  node.builder.require(wanted - extent, message);
}

static void failInput(Node &node, size_t index, const UserOperator &description) {
  Value input = node.inputs[index];
  node.fail("input " + Twine(index) + ": expected " + describe(description.inputs[index]) + ", got " +
            (input ? graph::typeText(input) : "nothing"));
}

/// False after an error.
static bool bindInputs(Node &node, const UserOperator &description, Bindings &bindings) {
  for (auto [index, input, pattern] : llvm::enumerate(node.inputs, description.inputs))
    if (!input || shapeOf(input).size() != pattern.shape.size() || !bindType(input, pattern, bindings))
      return failInput(node, index, description), false;
  bindNames([&](VisitExtent visit) { forEachExtent(node, description, visit); }, bindings);
  for (auto [index, input, pattern] : llvm::enumerate(node.inputs, description.inputs))
    for (auto [expected, extent] : llvm::zip(pattern.shape, shapeOf(input))) {
      if (std::set<std::string> unknown = unknownNames(expected, bindings); !unknown.empty()) {
        node.fail("input " + Twine(index) + ": " + describe(pattern) + " does not say what '" + *unknown.begin() +
                  "' is\nhint: let it be an extent of an input, or the only name in one such as 2*n + 1");
        return false;
      }
      SymbolicInt wanted = expected.substitute(bindings.extents);
      if (graph::provablyDiffer(extent, wanted))
        return failInput(node, index, description), false;
      requireExtent(node, description, extent, wanted);
    }
  return !node.builder.hasFailed();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The extents of a result. A name that no input has is chosen by the function: a symbol, at first one of its own.
static std::optional<graph::CallResult> resultOf(Builder &b, const TensorPattern &pattern, const Bindings &bindings,
                                                 const Twine &subject) {
  auto known = bindings.types.find(pattern.elementType);
  Type type = known != bindings.types.end() ? known->second : graph::elementTypeNamed(b.context(), pattern.elementType);
  if (!type)
    return std::nullopt;
  Shape shape;
  SmallVector<std::string> names;
  for (const SymbolicInt &extent : pattern.shape) {
    names.push_back(isName(extent) ? extent.str() : "extent");
    bool isKnown = unknownNames(extent, bindings).empty();
    shape.push_back(isKnown ? extent.substitute(bindings.extents) : SymbolicInt::poison());
    if (std::optional<int64_t> most = isKnown ? shape.back().upperBound() : std::nullopt; most && *most < 0)
      b.fail(subject + "its result would have the extent " + shape.back().str());
  }
  return graph::CallResult{shape, type, names};
}

namespace {
/// Relates extents of a call's results that use the same name.
class ChosenExtents {
public:
  ChosenExtents(Builder &b, ArrayRef<Value> results, const UserOperator &description, Bindings &bindings)
      : b(b), results(results), description(description), bindings(bindings) {}

  void relate() {
    bindNames([&](VisitExtent visit) { forEach(visit); }, bindings,
              [&](const SymbolicInt &pattern, const SymbolicInt &extent, const SymbolicInt &value) {
                bound(pattern, extent, value);
              });
    forEach([&](const SymbolicInt &pattern, SymbolicInt &extent) { substitute(pattern, extent); });
    auto call = results[0].getDefiningOp<graph::CallLibraryOp>();
    call.setSymbolsAttr(b.operations.getArrayAttr(symbols));
    for (const SymbolicInt &value : notNegative)
      b.require(value,
                "operator '" + description.name + "': an extent that the function chose does not fit its description");
  }

private:
  void forEach(VisitExtent visit) {
    for (auto [result, pattern] : llvm::zip(results, description.outputs)) {
      Shape shape = shapeOf(result);
      for (auto [expected, extent] : llvm::zip(pattern.shape, shape))
        visit(expected, extent);
      Value(result).setType(graph::tensorType(shape, graph::elementTypeOf(result)));
    }
  }

  /// The first extent that determines a name keeps its symbol.
  void bound(const SymbolicInt &pattern, const SymbolicInt &extent, const SymbolicInt &value) {
    keep(extent);
    notNegative.push_back(value);
    notNegative.push_back(pattern.substitute(bindings.extents) - extent);
  }

  void substitute(const SymbolicInt &pattern, SymbolicInt &extent) {
    if (llvm::is_contained(symbols, nameOf(extent)) || !isName(extent))
      return;
    if (unknownNames(pattern, bindings).empty()) {
      extent = pattern.substitute(bindings.extents);
      return;
    }
    auto [first, isNew] = unsolved.try_emplace(pattern.str(), extent);
    extent = first->second;
    if (isNew)
      keep(extent);
  }

  Attribute nameOf(const SymbolicInt &symbol) { return b.operations.getStringAttr(symbol.str()); }
  void keep(const SymbolicInt &symbol) { symbols.push_back(nameOf(symbol)); }

  Builder &b;
  ArrayRef<Value> results;
  const UserOperator &description;
  Bindings &bindings;
  SmallVector<Attribute> symbols;
  llvm::StringMap<SymbolicInt> unsolved; ///< first extent of each unsolved pattern
  SmallVector<SymbolicInt> notNegative;  ///< nonnegative unless the function violates the description
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

static std::string kindOf(Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  if (!list)
    return isa<StringAttr>(value) ? "text" : "number";
  return list.empty() ? "" : kindOf(list[0]) + "s";
}

static bool hasNan(Attribute value) {
  if (auto list = dyn_cast<ArrayAttr>(value))
    return llvm::any_of(list, hasNan);
  auto number = dyn_cast<FloatAttr>(value);
  return number && number.getValue().isNaN();
}

/// Null after an error. The function to call is chosen by the user's description, never by a node in the model's file.
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
    Attribute value = parameterOf(builder, attribute.getValue());
    if (value && hasNan(value)) {
      node.fail("attribute '" + attribute.getName().getValue() +
                "': expected a number, got NaN\nhint: give it as an input");
      return {};
    }
    std::string kind = value ? kindOf(value) : "", expected = description.kinds.lookup(attribute.getName().getValue());
    if (!kind.empty() && !expected.empty() && kind != expected) {
      node.fail("attribute '" + attribute.getName().getValue() + "': expected " + expected + ", got " + kind +
                "\nhint: the operator's description says so, or its default");
      return {};
    }
    if (value)
      parameters.set(attribute.getName(), value);
  }
  return parameters.getDictionary(builder.getContext());
}

/// Names of the inputs must be nonnegative; for names that are extents of results this is known.
static void requireNames(Builder &b, ArrayRef<graph::CallResult> results, const Bindings &bindings,
                         const UserOperator &description) {
  for (const auto &name : bindings.extents)
    if (llvm::none_of(results,
                      [&](const graph::CallResult &result) { return llvm::is_contained(result.shape, name.second); }))
      b.require(name.second, "operator '" + description.name +
                                 "': the extents of its inputs give a negative value for '" + name.first().str() + "'");
}

Results importUserOperator(Node &node, const UserOperator &description) {
  Builder &b = node.builder;
  Bindings bindings;
  if (node.inputs.size() != description.inputs.size())
    return node.fail("expected " + Twine(description.inputs.size()) + " inputs, got " + Twine(node.inputs.size()));
  if (!bindInputs(node, description, bindings))
    return {};
  DictionaryAttr parameters = parametersOf(node, description);
  if (!parameters)
    return {};
  SmallVector<graph::CallResult> results;
  for (auto [index, pattern] : llvm::enumerate(description.outputs)) {
    std::optional<graph::CallResult> result = resultOf(b, pattern, bindings, "operator '" + description.name + "': ");
    if (!result)
      return node.fail("output " + Twine(index) + ": no element type is called '" + pattern.elementType + "'");
    results.push_back(*result);
  }
  requireNames(b, results, bindings, description);
  Results values(b.callLibrary(description.function, node.inputs, results, parameters.getValue()));
  if (values.empty())
    return values;
  ChosenExtents(b, values, description, bindings).relate();
  if (!description.isPure)
    values[0].getDefiningOp()->setAttr(graph::impureAttribute, b.operations.getUnitAttr());
  return values;
}
} // namespace perpend::onnx
