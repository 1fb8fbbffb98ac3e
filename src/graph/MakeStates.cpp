//===- MakeStates.cpp - inputs and outputs become states ------------------===//

#include "graph/MakeStates.h"

#include "graph/Attributes.h"
#include "graph/ErrorKind.h"
#include "graph/Shapes.h"
#include "graph/States.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::graph {

std::optional<StateOption> StateOption::parse(StringRef text) {
  StateOption option;
  auto [input, rest] = text.split('=');
  StringRef output = rest;
  if (auto [head, number] = rest.rsplit(':'); !number.empty() && !number.getAsInteger(10, option.capacity))
    output = head;
  option.input = input.str();
  option.output = output.str();
  bool fits = !input.empty() && !output.empty() && input.count('*') == output.count('*') && input.count('*') <= 1 &&
              option.capacity > 0;
  return fits ? std::optional(option) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// What `*` stands for in the name; nullopt: the name does not match.
static std::optional<StringRef> match(StringRef pattern, StringRef name) {
  auto [before, after] = pattern.split('*');
  if (!pattern.contains('*'))
    return pattern == name ? std::optional(StringRef()) : std::nullopt;
  if (name.size() < before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after))
    return std::nullopt;
  return name.drop_front(before.size()).drop_back(after.size());
}

static std::string replaceStar(StringRef pattern, StringRef text) {
  auto [before, after] = pattern.split('*');
  return pattern.contains('*') ? (before + text + after).str() : pattern.str();
}

//===----------------------------------------------------------------------===//
// One state
//===----------------------------------------------------------------------===//

namespace {
struct Chosen {
  unsigned argument, result;
  const StateOption *option;
  std::string name;
};

using Permutation = SmallVector<int64_t>;

class StateMaker {
public:
  StateMaker(func::FuncOp main, const Chosen &chosen)
      : main(main), chosen(chosen), builder(main.getContext()), old(main.getArgument(chosen.argument)),
        next(main.getBody().front().getTerminator()->getOperand(chosen.result)) {}

  /// Adds an argument in place of the old one, which then has no uses; returns the state's next value.
  FailureOr<Value> run() {
    if (failed(findGrowing()))
      return failure();
    order = chooseOrder();
    Permutation back(order.size());
    for (auto [position, dim] : llvm::enumerate(order))
      back[dim] = static_cast<int64_t>(position);
    BlockArgument argument = addArgument();
    builder.setInsertionPointToStart(&main.getBody().front());
    bool isPlain = llvm::is_sorted(order);
    Value asBefore = isPlain ? Value(argument) : transpose(argument, back);
    for (OpOperand &use : llvm::make_early_inc_range(old.getUses()))
      if (auto turned = dyn_cast<TransposeOp>(use.getOwner());
          turned && ArrayRef<int64_t>(turned.getPermutation()) == ArrayRef<int64_t>(order))
        turned.replaceAllUsesWith(Value(argument));
    bool isNext = next == old;
    old.replaceAllUsesWith(asBefore);
    if (isPlain || isNext)
      return isNext ? Value(argument) : next;
    if (auto turned = next.getDefiningOp<TransposeOp>();
        turned && ArrayRef<int64_t>(turned.getPermutation()) == ArrayRef<int64_t>(back))
      return turned.getInput();
    return turnUpdates(asBefore, argument, back);
  }

private:
  InFlightDiagnostic fail() { return main.emitError("state '") << chosen.name << "': "; }

  LogicalResult findGrowing() {
    auto before = cast<RankedTensorType>(old.getType()), after = cast<RankedTensorType>(next.getType());
    if (before.getElementType() != after.getElementType() || before.getRank() != after.getRank())
      return fail() << "expected an output with the type of the input, " << typeText(old) << ", got " << typeText(next)
                    << Hint("a state is an input and the output that is its next value");
    for (auto [dim, extent] : llvm::enumerate(shapeOf(old))) {
      if (extent.isConstant())
        continue;
      if (growing)
        return fail() << "expected extents that are numbers, but for the one that grows, got " << typeText(old)
                      << Hint("give the others as numbers: --dim batch=1");
      growing = dim;
    }
    return success();
  }

  /// The dimensions of the state in the order in which it keeps them.
  Permutation chooseOrder() {
    Permutation plain = llvm::to_vector(llvm::seq<int64_t>(cast<RankedTensorType>(old.getType()).getRank()));
    if (growing)
      return withFirst(plain, *growing);
    auto turned = next.getDefiningOp<TransposeOp>();
    Value value = turned ? turned.getInput() : Value();
    while (value && value.getDefiningOp<UpdateInterface>())
      value = value.getDefiningOp()->getOperand(0);
    auto first = value ? value.getDefiningOp<TransposeOp>() : TransposeOp();
    if (!first || first.getInput() != old)
      return plain;
    for (auto [position, dim] : llvm::enumerate(first.getPermutation()))
      if (turned.getPermutation()[dim] != static_cast<int64_t>(position))
        return plain;
    return Permutation(first.getPermutation());
  }

  Permutation withFirst(const Permutation &plain, unsigned dim) {
    Shape shape = shapeOf(old);
    if (llvm::all_of(ArrayRef(shape).take_front(dim), [](const SymbolicInt &e) { return e == SymbolicInt(1); }))
      return plain;
    Permutation order{static_cast<int64_t>(dim)};
    llvm::copy_if(plain, std::back_inserter(order), [&](int64_t other) { return other != static_cast<int64_t>(dim); });
    return order;
  }

  RankedTensorType turnedType(Value value, ArrayRef<int64_t> permutation) {
    Shape shape = shapeOf(value), turned;
    for (int64_t dim : permutation)
      turned.push_back(shape[dim]);
    return tensorType(turned, cast<RankedTensorType>(value.getType()).getElementType());
  }

  Value transpose(Value value, ArrayRef<int64_t> permutation) {
    return builder.create<TransposeOp>(value.getLoc(), turnedType(value, permutation), value,
                                       builder.getDenseI64ArrayAttr(permutation));
  }

  BlockArgument addArgument() {
    NamedAttrList attributes;
    attributes.set(stateAttribute, builder.getStringAttr(chosen.name));
    if (growing)
      attributes.set(capacityAttribute, builder.getI64IntegerAttr(chosen.option->capacity));
    if (chosen.option->initial)
      attributes.set(initialAttribute, initialValue());
    unsigned number = main.getNumArguments();
    main.insertArgument(number, turnedType(old, order), attributes.getDictionary(main.getContext()), old.getLoc());
    return main.getArgument(number);
  }

  /// In the state's order: computed by the evaluator of constants.
  Attribute initialValue() {
    ElementsAttr initial = chosen.option->initial;
    if (llvm::is_sorted(order))
      return initial;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&main.getBody().front());
    auto constant = builder.create<ConstantOp>(old.getLoc(), initial.getType(), initial);
    auto turned = transpose(constant, order).getDefiningOp<TransposeOp>();
    SmallVector<Attribute> results;
    auto *dialect = main.getContext()->getLoadedDialect<GraphDialect>();
    bool isKnown = dialect->evaluator && succeeded(dialect->evaluator(turned, {initial}, results));
    turned.erase();
    constant.erase();
    return isKnown ? results.front() : Attribute(initial);
  }

  /// Updates from the old value to the next one, along the dimensions in the new order.
  Value turnUpdates(Value first, Value argument, ArrayRef<int64_t> back) {
    SmallVector<UpdateInterface> updates;
    Value value = next;
    while (auto update = value.getDefiningOp<UpdateInterface>()) {
      updates.push_back(update);
      value = update->getOperand(0);
    }
    bool mayTurn = llvm::all_of(updates, [](UpdateInterface update) { return isa<UpdateOp, ConcatOp>(*update); });
    if (value != first || !mayTurn) {
      builder.setInsertionPoint(main.getBody().front().getTerminator());
      return transpose(next, order);
    }
    Value current = argument;
    for (UpdateInterface update : llvm::reverse(updates)) {
      builder.setInsertionPoint(update);
      SmallVector<Value> operands{current};
      for (Value operand : llvm::drop_begin(update->getOperands()))
        operands.push_back(transpose(operand, order));
      auto axis = builder.getI64IntegerAttr(back[update.updatedDim()]);
      RankedTensorType type = turnedType(update->getResult(0), order);
      if (auto written = dyn_cast<UpdateOp>(*update))
        current = builder.create<UpdateOp>(update.getLoc(), type, operands[0], operands[1], written.getOffset(), axis);
      else
        current = builder.create<ConcatOp>(update.getLoc(), type, operands, axis);
      update->replaceAllUsesWith(ValueRange(transpose(current, back)));
    }
    return current;
  }

  func::FuncOp main;
  const Chosen &chosen;
  OpBuilder builder;
  BlockArgument old;
  Value next;
  std::optional<unsigned> growing;
  Permutation order;
};
} // namespace

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

static StringRef nameOf(StringAttr name) { return name ? name.getValue() : StringRef(); }

static std::string listOf(unsigned count, llvm::function_ref<StringAttr(unsigned)> name) {
  SmallVector<std::string> names;
  for (unsigned i = 0; i < count; ++i)
    names.push_back("'" + nameOf(name(i)).str() + "'");
  return llvm::join(names, ", ");
}

static LogicalResult choose(func::FuncOp main, const StateOption &option, std::vector<Chosen> &all) {
  auto inputName = [&](unsigned i) { return main.getArgAttrOfType<StringAttr>(i, nameAttribute); };
  auto outputName = [&](unsigned i) { return main.getResultAttrOfType<StringAttr>(i, nameAttribute); };
  bool isFound = false, isAnyTaken = false;
  for (unsigned argument = 0; argument < main.getNumArguments(); ++argument) {
    std::optional<StringRef> star = match(option.input, nameOf(inputName(argument)));
    bool isTaken = llvm::any_of(all, [&](const Chosen &other) { return other.argument == argument; });
    isAnyTaken |= star && isTaken;
    if (!star || isTaken)
      continue;
    std::string output = replaceStar(option.output, *star);
    auto outputs = llvm::seq(main.getNumResults());
    auto result = llvm::find_if(outputs, [&](unsigned i) { return nameOf(outputName(i)) == output; });
    if (result == outputs.end())
      return main.emitError("state '") << nameOf(inputName(argument)) << "': expected an output '" << output
                                       << "', got " << listOf(main.getNumResults(), outputName)
                                       << Hint("INPUT=OUTPUT; * stands for the same text in both");
    std::string name = option.name.empty() ? nameOf(inputName(argument)).str() : option.name;
    all.push_back({argument, *result, &option, name});
    isFound = true;
  }
  if (isFound)
    return success();
  if (isAnyTaken)
    return main.emitError("option '") << option.input << "=" << option.output
                                      << "': the input is the state of an earlier option"
                                      << Hint("give each input once");
  return main.emitError("option '") << option.input << "=" << option.output << "': no input is called '" << option.input
                                    << "'; there are " << listOf(main.getNumArguments(), inputName)
                                    << Hint("INPUT=OUTPUT; * stands for the same text in both");
}

LogicalResult makeStates(func::FuncOp main, ArrayRef<StateOption> options) {
  std::vector<Chosen> all;
  for (const StateOption &option : options)
    if (failed(choose(main, option, all)))
      return failure();
  if (all.empty())
    return success();
  Operation *terminator = main.getBody().front().getTerminator();
  llvm::BitVector arguments(main.getNumArguments()), results(main.getNumResults());
  SmallVector<Value> returned;
  SmallVector<Attribute> attributes;
  OpBuilder builder(main.getContext());
  for (const Chosen &chosen : all) {
    FailureOr<Value> next = StateMaker(main, chosen).run();
    if (failed(next))
      return failure();
    returned.push_back(*next);
    attributes.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(stateAttribute, builder.getStringAttr(chosen.name))));
    arguments.set(chosen.argument);
    results.set(chosen.result);
  }
  SmallVector<Value> operands;
  SmallVector<Attribute> kept;
  for (auto [number, operand] : llvm::enumerate(terminator->getOperands()))
    if (!results[number]) {
      operands.push_back(operand);
      DictionaryAttr own = main.getResultAttrDict(number);
      kept.push_back(own ? own : builder.getDictionaryAttr({}));
    }
  llvm::append_range(operands, returned);
  llvm::append_range(kept, attributes);
  terminator->setOperands(operands);
  arguments.resize(main.getNumArguments());
  main.eraseArguments(arguments);
  main.setResAttrsAttr(ArrayAttr());
  main.setFunctionType(builder.getFunctionType(main.getArgumentTypes(), TypeRange(ValueRange(operands))));
  main.setResAttrsAttr(builder.getArrayAttr(kept));
  return success();
}

LogicalResult makeStates(ArrayRef<func::FuncOp> entries, ArrayRef<StateOption> options) {
  auto hasInput = [](func::FuncOp entry, const StateOption &option) {
    return llvm::any_of(llvm::seq(entry.getNumArguments()), [&](unsigned i) {
      return match(option.input, nameOf(entry.getArgAttrOfType<StringAttr>(i, nameAttribute))).has_value();
    });
  };
  std::vector<std::vector<StateOption>> chosen(entries.size());
  for (const StateOption &option : options) {
    auto has = [&](func::FuncOp entry) { return hasInput(entry, option); };
    bool isAny = llvm::any_of(entries, has);
    for (auto [entry, own] : llvm::zip_equal(entries, chosen))
      if (has(entry) || !isAny) // an entry without it says which inputs there are
        own.push_back(option);
  }
  for (auto [entry, own] : llvm::zip_equal(entries, chosen))
    if (failed(makeStates(func::FuncOp(entry), own)))
      return failure();
  return success();
}
} // namespace perpend::graph
