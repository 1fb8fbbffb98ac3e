//===- GraphBuilder.cpp - graph::Builder for Python -----------------------===//

#include "python/GraphBuilder.h"
#include "graph/Attributes.h"
#include "graph/MakeStates.h"
#include "graph/Updates.h"
#include "python/ProgramState.h"

#include "graph/composites/Composites.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace perpend::python {
using graph::SymbolicInt;

/// Arrays of up to this many elements become dense attributes, which the builder can read: shape computations and
/// scalars.
static constexpr int64_t smallCount = 64;

struct GraphBuilder::State {
  explicit State(const std::string &name);

  std::unique_ptr<Program> program = std::make_unique<Program>();
  MLIRContext &context = program->internals().context;
  ErrorText errors{context};
  OpBuilder operations{&context};
  graph::Builder builder{operations, UnknownLoc::get(&context)};
  func::FuncOp function;
  std::vector<Value> values;

  Handle add(Value value) {
    values.push_back(value);
    return static_cast<Handle>(values.size()) - 1;
  }
  Value valueOf(Handle handle) const { return handle < 0 ? Value() : values[handle]; }
  SmallVector<Value> valuesOf(const std::vector<Handle> &handles) const {
    return llvm::map_to_vector(handles, [&](Handle handle) { return valueOf(handle); });
  }
  std::optional<std::vector<Handle>> handles(ArrayRef<Value> results, std::string &error);
  std::optional<graph::Shape> parse(const std::vector<std::string> &extents, std::string &error);
  mlir::Attribute convert(const python::Attribute &attribute, std::string &error);
};

GraphBuilder::State::State(const std::string &name) {
  context.loadDialect<graph::GraphDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect>();
  Location location = NameLoc::get(StringAttr::get(&context, name));
  builder.location = location;
  OwningOpRef<ModuleOp> &module = program->internals().module;
  module = ModuleOp::create(location);
  (*module)->setAttr(graph::modelNameAttribute, operations.getStringAttr(name));
  operations.setInsertionPointToEnd(module->getBody());
  function = operations.create<func::FuncOp>(location, "main", operations.getFunctionType({}, {}));
  operations.setInsertionPointToStart(function.addEntryBlock());
}

std::optional<graph::Shape> GraphBuilder::State::parse(const std::vector<std::string> &extents, std::string &error) {
  graph::Shape shape;
  for (const std::string &extent : extents) {
    std::string problem;
    std::optional<SymbolicInt> value = SymbolicInt::parse(extent, &problem);
    if (!value) {
      error = builder.subject + "extent '" + extent + "': " + problem;
      return std::nullopt;
    }
    shape.push_back(*value);
  }
  return shape;
}

mlir::Attribute GraphBuilder::State::convert(const python::Attribute &attribute, std::string &error) {
  if (const auto *flag = std::get_if<bool>(&attribute))
    return operations.getI64IntegerAttr(*flag);
  if (const auto *integer = std::get_if<int64_t>(&attribute))
    return operations.getI64IntegerAttr(*integer);
  if (const auto *number = std::get_if<double>(&attribute))
    return operations.getF64FloatAttr(*number);
  if (const auto *text = std::get_if<std::string>(&attribute))
    return operations.getStringAttr(*text);
  if (const auto *integers = std::get_if<std::vector<int64_t>>(&attribute))
    return operations.getDenseI64ArrayAttr(*integers);
  if (const auto *numbers = std::get_if<std::vector<double>>(&attribute))
    return operations.getDenseF64ArrayAttr(*numbers);
  if (const auto *dims = std::get_if<Dims>(&attribute)) {
    std::optional<graph::Shape> shape = parse(dims->extents, error);
    return shape ? graph::ShapeAttr::get(&context, *shape) : mlir::Attribute();
  }
  const std::string &name = std::get<TypeName>(attribute).name;
  if (Type type = graph::elementTypeNamed(&context, name))
    return TypeAttr::get(type);
  error = "there is no element type '" + name + "'";
  return {};
}

GraphBuilder::GraphBuilder(const std::string &name) : state(std::make_unique<State>(name)) {}
GraphBuilder::~GraphBuilder() = default;

bool GraphBuilder::hasComposite(const std::string &name) { return graph::lookupComposite(name) != nullptr; }

std::optional<GraphBuilder::Handle> GraphBuilder::input(const std::string &name, const std::vector<std::string> &shape,
                                                        const std::string &type, std::string &error) {
  Type elementType = graph::elementTypeNamed(&state->context, type);
  std::optional<graph::Shape> extents = state->parse(shape, error);
  if (!elementType)
    error = "input '" + name + "': there is no element type '" + type + "'";
  if (!elementType || !extents)
    return std::nullopt;
  unsigned index = state->function.getNumArguments();
  auto attribute = state->operations.getNamedAttr(graph::nameAttribute, state->operations.getStringAttr(name));
  Location location = NameLoc::get(StringAttr::get(&state->context, name));
  state->function.insertArgument(index, graph::tensorType(*extents, elementType),
                                 state->operations.getDictionaryAttr(attribute), location);
  return state->add(state->function.getArgument(index));
}

/// Keeps the array's owner if its bytes can be used in place.
static ElementsAttr resource(RankedTensorType type, const Array &array) {
  constexpr uint64_t alignment = 64;
  ArrayRef<char> data(static_cast<const char *>(array.data), array.sizeBytes);
  uint64_t elementBytes = std::max<uint64_t>(graph::bitWidth(type.getElementType()) / 8, 1);
  bool isAligned = reinterpret_cast<uintptr_t>(array.data) % elementBytes == 0;
  AsmResourceBlob blob = isAligned ? AsmResourceBlob(
                                         data, elementBytes, [owner = array.owner](void *, size_t, size_t) {},
                                         /*dataIsMutable=*/false)
                                   : HeapAsmResourceBlob::allocateAndCopyWithAlign(data, alignment);
  return DenseResourceElementsAttr::get(type, "weight", std::move(blob));
}

static ElementsAttr elements(RankedTensorType type, const Array &array) {
  if (type.getNumElements() > smallCount || graph::isMinifloat(type.getElementType()))
    return resource(type, array);
  ArrayRef<char> bytes(static_cast<const char *>(array.data), array.sizeBytes);
  if (!type.getElementType().isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  SmallVector<bool> values(llvm::map_range(bytes, [](char byte) { return byte != 0; }));
  return DenseElementsAttr::get(type, values);
}

std::optional<GraphBuilder::Handle> GraphBuilder::constant(const Array &array, std::string &error) {
  Type elementType = graph::elementTypeNamed(&state->context, array.type);
  if (!elementType) {
    error = "constant: there is no element type '" + array.type + "'";
    return std::nullopt;
  }
  Value value = state->builder.constant(elements(RankedTensorType::get(array.shape, elementType), array));
  if (!value) {
    error = state->errors.take("constant: failed");
    return std::nullopt;
  }
  return state->add(value);
}

/// The types of a composite's inputs, for error messages.
static std::string describe(ArrayRef<Value> operands) {
  std::string text;
  for (Value operand : operands)
    if (operand)
      text += (text.empty() ? "inputs: " : ", ") + graph::typeText(operand);
  return text;
}

std::optional<std::vector<GraphBuilder::Handle>> GraphBuilder::composite(const std::string &name,
                                                                         const std::vector<Handle> &inputs,
                                                                         const AttributeList &attributes,
                                                                         std::string &error) {
  if (!hasComposite(name)) {
    error = "there is no composite '" + name + "'";
    return std::nullopt;
  }
  SmallVector<Value> operands = state->valuesOf(inputs);
  NamedAttrList list;
  for (const auto &[key, value] : attributes) {
    mlir::Attribute attribute = state->convert(value, error);
    if (!attribute)
      return std::nullopt;
    list.set(key, attribute);
  }
  llvm::SaveAndRestore described(state->builder.operands, describe(operands));
  auto results = graph::applyComposite(state->builder, name, operands, list.getDictionary(&state->context));
  if (state->builder.hasFailed() || results.empty() || llvm::is_contained(results, Value())) {
    error = state->errors.take(state->builder.subject + name + ": a required input is missing");
    return std::nullopt;
  }
  std::vector<Handle> handles;
  for (Value result : results)
    handles.push_back(state->add(result));
  return handles;
}

std::optional<GraphBuilder::Handle> GraphBuilder::update(Handle input, Handle block, const std::string &offset,
                                                         int64_t axis, std::string &error) {
  std::optional<graph::Shape> begin = state->parse({offset}, error);
  if (!begin)
    return std::nullopt;
  Value result = graph::update(state->builder, state->valueOf(input), state->valueOf(block), begin->front(), axis);
  if (result && !state->builder.hasFailed())
    return state->add(result);
  error = state->errors.take(state->builder.subject + "update failed");
  return std::nullopt;
}

std::optional<std::vector<GraphBuilder::Handle>> GraphBuilder::State::handles(ArrayRef<Value> results,
                                                                              std::string &error) {
  if (builder.hasFailed() || llvm::is_contained(results, Value())) {
    error = errors.take(builder.subject + "a value is missing");
    return std::nullopt;
  }
  std::vector<Handle> added;
  for (Value result : results)
    added.push_back(add(result));
  return added;
}

std::optional<std::vector<GraphBuilder::Handle>> GraphBuilder::branch(Handle condition, const Region &thenBody,
                                                                      const Region &elseBody, std::string &error) {
  auto bodyOf = [&](const Region &region) {
    return [this, &region] {
      std::optional<std::vector<Handle>> results = region();
      if (!results)
        state->builder.fail("no results of a region");
      return results ? state->valuesOf(*results) : SmallVector<Value>();
    };
  };
  return state->handles(state->builder.ifThenElse(state->valueOf(condition), bodyOf(thenBody), bodyOf(elseBody)),
                        error);
}

std::optional<std::vector<GraphBuilder::Handle>> GraphBuilder::loop(Handle limit, Handle condition,
                                                                    const std::vector<Handle> &initial,
                                                                    const Body &body, std::string &error) {
  auto iterate = [&](Value number, ValueRange carried) -> graph::Iteration {
    std::vector<Handle> current;
    for (Value value : carried)
      current.push_back(state->add(value));
    std::optional<Iteration> next = body(state->add(number), current);
    if (!next) {
      state->builder.fail("no results of a region");
      return {};
    }
    return {state->valueOf(next->condition), state->valuesOf(next->carried), state->valuesOf(next->elements)};
  };
  graph::Iterations iterations{state->valueOf(limit), state->valueOf(condition)};
  return state->handles(state->builder.loop(iterations, state->valuesOf(initial), iterate), error);
}

std::optional<std::string> GraphBuilder::measure(Handle value, std::string &error) {
  SymbolicInt number = state->builder.measureSigned(state->values[value], "number");
  if (!number.isPoison())
    return number.str();
  error = state->errors.take(state->builder.subject + "expected an integer");
  return std::nullopt;
}

std::optional<GraphBuilder::Handle> GraphBuilder::dims(const std::vector<std::string> &extents, bool isScalar,
                                                       std::string &error) {
  std::optional<graph::Shape> shape = state->parse(extents, error);
  if (!shape)
    return std::nullopt;
  return state->add(state->builder.dims(*shape, isScalar));
}

bool GraphBuilder::require(const std::vector<std::string> &expressions, std::string &error) {
  std::optional<graph::Shape> requirements = state->parse(expressions, error);
  if (requirements)
    state->function->setAttr(graph::requirementsAttribute, graph::ShapeAttr::get(&state->context, *requirements));
  return requirements.has_value();
}

bool GraphBuilder::requireHere(const std::vector<std::string> &expressions, const std::string &message,
                               std::string &error) {
  std::optional<graph::Shape> requirements = state->parse(expressions, error);
  for (const SymbolicInt &value : requirements.value_or(graph::Shape()))
    state->builder.require(value, message);
  if (requirements && state->builder.hasFailed())
    error = state->errors.take(state->builder.subject + message);
  return requirements && !state->builder.hasFailed();
}

static std::vector<std::string> textOf(ArrayRef<SymbolicInt> extents) {
  std::vector<std::string> texts;
  for (const SymbolicInt &extent : extents)
    texts.push_back(extent.str());
  return texts;
}

std::vector<std::string> GraphBuilder::shape(Handle value) const {
  return textOf(graph::shapeOf(state->values[value]));
}

std::string GraphBuilder::type(Handle value) const {
  return graph::nameOf(graph::tensorTypeOf(state->values[value]).getElementType());
}

std::optional<std::vector<std::string>> GraphBuilder::contents(Handle value) {
  std::optional<graph::Shape> known = state->builder.contents(state->values[value]);
  if (!known)
    return std::nullopt;
  return textOf(*known);
}

void GraphBuilder::setLocation(const std::string &name, const std::string &kind) {
  state->builder.beginOperator(NameLoc::get(StringAttr::get(&state->context, name)),
                               "node '" + name + "'" + (kind.empty() ? "" : " (" + kind + ")") + ": ");
}

/// Erases shape computations that have become symbolic shapes.
static void eraseUnused(Block &block) {
  for (Operation &operation : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&operation))
      operation.erase();
}

/// Zeros are the first value of a state that has none.
static graph::StateOption optionOf(MLIRContext &context, const GraphBuilder::StateNames &state) {
  graph::StateOption option{state.input, state.output};
  option.name = state.name;
  ArrayRef<char> bytes(static_cast<const char *>(state.initial.data), state.initial.sizeBytes);
  Type elementType = graph::elementTypeNamed(&context, state.initial.type);
  if (elementType && llvm::any_of(bytes, [](char byte) { return byte != 0; }))
    option.initial = elements(RankedTensorType::get(state.initial.shape, elementType), state.initial);
  return option;
}

std::unique_ptr<Program> GraphBuilder::finish(const std::vector<std::pair<std::string, Handle>> &outputs,
                                              const std::vector<StateNames> &states, std::string &error) {
  SmallVector<Value> results;
  SmallVector<mlir::Attribute> names;
  for (const auto &[name, handle] : outputs) {
    auto attribute = state->operations.getNamedAttr(graph::nameAttribute, state->operations.getStringAttr(name));
    names.push_back(state->operations.getDictionaryAttr(attribute));
    results.push_back(state->values[handle]);
  }
  Location location = state->function.getLoc();
  state->operations.create<func::ReturnOp>(location, results);
  state->function.setFunctionType(
      FunctionType::get(&state->context, state->function.getArgumentTypes(), TypeRange(ValueRange(results))));
  state->function.setAllResultAttrs(names);
  std::vector<graph::StateOption> options;
  for (const StateNames &names : states)
    options.push_back(optionOf(state->context, names));
  if (failed(graph::makeStates(state->function, options))) {
    error = state->errors.take("the states do not fit");
    return nullptr;
  }
  eraseUnused(state->function.getBody().front());
  if (failed(verify(*state->program->internals().module))) {
    error = state->errors.take("the graph is malformed");
    return nullptr;
  }
  std::unique_ptr<Program> program = std::move(state->program);
  std::unique_ptr<State> finished = std::move(state); // so that its handler leaves the context before the program does
  return program;
}
} // namespace perpend::python
