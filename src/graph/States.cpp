//===- States.cpp - values that a session keeps from run to run -----------===//

#include "graph/States.h"

#include "graph/Attributes.h"
#include "graph/ElementTypes.h"
#include "graph/ErrorKind.h"
#include "graph/Rows.h"
#include "graph/Shapes.h"
#include "graph/Symbols.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::graph {

static StringAttr nameOfArgument(func::FuncOp main, unsigned number) {
  return main.getArgAttrOfType<StringAttr>(number, stateAttribute);
}

static StringAttr nameOfResult(func::FuncOp main, unsigned number) {
  return main.getResultAttrOfType<StringAttr>(number, stateAttribute);
}

unsigned inputCountOf(func::FuncOp main) {
  return llvm::count_if(llvm::seq(main.getNumArguments()), [&](unsigned i) { return !nameOfArgument(main, i); });
}

unsigned outputCountOf(func::FuncOp main) {
  return llvm::count_if(llvm::seq(main.getNumResults()), [&](unsigned i) { return !nameOfResult(main, i); });
}

std::vector<State> statesOf(func::FuncOp main) {
  std::vector<State> states;
  unsigned inputs = inputCountOf(main), outputs = outputCountOf(main);
  for (unsigned number = 0; inputs + number < main.getNumArguments(); ++number) {
    State state{nameOfArgument(main, inputs + number).str(), inputs + number, outputs + number, {}, {}, {}, {}};
    auto type = cast<RankedTensorType>(main.getArgumentTypes()[state.argument]);
    SmallVector<int64_t> extents(type.getShape());
    for (auto [dim, extent] : llvm::enumerate(extents))
      if (ShapedType::isDynamic(extent)) {
        state.growing = dim;
        extent = main.getArgAttrOfType<IntegerAttr>(state.argument, capacityAttribute).getInt();
      }
    state.capacity = RankedTensorType::get(extents, type.getElementType());
    state.initial = main.getArgAttrOfType<ElementsAttr>(state.argument, initialAttribute);
    if (auto rows = main.getArgAttrOfType<IntegerAttr>(state.argument, readRowsAttribute))
      state.readRows = rows.getInt();
    states.push_back(std::move(state));
  }
  return states;
}

RankedTensorType initialTypeOf(const State &state) {
  if (state.initial)
    return cast<RankedTensorType>(state.initial.getType());
  SmallVector<int64_t> extents(state.capacity.getShape());
  if (state.growing)
    extents[*state.growing] = 0;
  return RankedTensorType::get(extents, state.capacity.getElementType());
}

void requireCapacities(func::FuncOp main) {
  auto given = main->getAttrOfType<ShapeAttr>(requirementsAttribute);
  auto names = main->getAttrOfType<ArrayAttr>(requirementSubjectsAttribute);
  Shape all = given ? Shape(given.values()) : Shape();
  SmallVector<Attribute> subjects(all.size(), StringAttr::get(main.getContext()));
  for (auto [index, name] : llvm::enumerate(names ? names.getValue() : ArrayRef<Attribute>()))
    if (index < subjects.size())
      subjects[index] = name;
  for (const State &state : statesOf(main)) {
    if (!state.growing)
      continue;
    SymbolicInt length = shapeOf(cast<RankedTensorType>(main.getResultTypes()[state.result]))[*state.growing];
    SymbolicInt rest = SymbolicInt(state.capacity.getDimSize(*state.growing)) - length;
    if (rest.knownNonNegative() || llvm::is_contained(all, rest))
      continue;
    all.push_back(rest);
    subjects.push_back(StringAttr::get(main.getContext(), stateSubject + state.name));
  }
  if (all.size() == (given ? given.getDims().size() : 0))
    return;
  main->setAttr(requirementsAttribute, ShapeAttr::get(main.getContext(), all));
  main->setAttr(requirementSubjectsAttribute, ArrayAttr::get(main.getContext(), subjects));
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

namespace {
class StateVerifier {
public:
  StateVerifier(func::FuncOp main, unsigned argument, unsigned result)
      : main(main), argument(argument), name(nameOfArgument(main, argument)),
        before(cast<RankedTensorType>(main.getArgumentTypes()[argument])),
        after(cast<RankedTensorType>(main.getResultTypes()[result])) {}

  LogicalResult verify() {
    return failure(failed(verifyTypes()) || failed(verifyCapacity()) || failed(verifyInitial()));
  }

private:
  InFlightDiagnostic fail() { return main.emitError("state '") << name.getValue() << "': "; }

  LogicalResult verifyTypes() {
    if (isHandle(before.getElementType()))
      return fail() << "S3: expected numbers, got " << before
                    << Hint("pass texts and lists as inputs, and take them as outputs");
    Shape from = shapeOf(before), to = shapeOf(after);
    bool fits = before.getElementType() == after.getElementType() && from.size() == to.size();
    for (unsigned dim = 0; fits && dim < from.size(); ++dim) {
      if (from[dim].isConstant()) {
        fits = from[dim] == to[dim];
        continue;
      }
      std::set<std::string> names;
      from[dim].symbols(names);
      if (growing || names.size() != 1 || from[dim] != SymbolicInt::symbol(*names.begin()))
        return fail() << "S3: expected extents that are numbers, but for one that is a symbol, its length, got "
                      << before << Hint("give the others as numbers (--dim)");
      growing = dim;
      if (llvm::any_of(ArrayRef(from).take_front(dim), [](const SymbolicInt &e) { return e != SymbolicInt(1); }))
        return fail() << "S3: expected the extent that grows to be the first one, got " << before
                      << Hint("transpose the state, so that its rows lie one after the other");
      if (mentionsAny(to[dim], dataSymbolsOf(main)))
        return fail() << "S3: expected a length that extents of inputs decide, got " << to[dim].str()
                      << Hint("keep all rows, and the number of valid ones in a state of its own");
    }
    if (fits)
      return success();
    return fail() << "S3: expected a result with the element type and the extents of the argument, but for its length, "
                  << before << ", got " << after << Hint("a state keeps its shape");
  }

  LogicalResult verifyCapacity() {
    auto capacity = main.getArgAttrOfType<IntegerAttr>(argument, capacityAttribute);
    if (!growing && !main.getArgAttr(argument, capacityAttribute))
      return success();
    if (!growing || !capacity || capacity.getInt() < 1 || capacity.getInt() > mostRows)
      return fail() << "S4: expected graph.capacity, its most rows, of a state that grows and of no other"
                    << Hint("graph.capacity = 4096 : i64; memory is used only for rows that were written");
    return success();
  }

  LogicalResult verifyInitial() {
    Attribute given = main.getArgAttr(argument, initialAttribute);
    if (!given)
      return success();
    auto initial = dyn_cast<ElementsAttr>(given);
    auto type = initial ? dyn_cast<RankedTensorType>(initial.getType()) : RankedTensorType();
    bool fits = type && type.hasStaticShape() && type.getElementType() == before.getElementType() &&
                type.getRank() == before.getRank();
    for (int64_t dim = 0; fits && dim < before.getRank(); ++dim)
      fits = growing == dim
                 ? type.getDimSize(dim) <= main.getArgAttrOfType<IntegerAttr>(argument, capacityAttribute).getInt()
                 : type.getDimSize(dim) == before.getDimSize(dim);
    if (fits)
      return success();
    return fail() << "S5: expected an initial value that fits " << before << ", got " << given
                  << Hint("leave graph.initial out, and the state begins with zeros, or without rows");
  }

  static constexpr int64_t mostRows = int64_t{1} << 40;
  func::FuncOp main;
  unsigned argument;
  StringAttr name;
  RankedTensorType before, after;
  std::optional<unsigned> growing;
};
} // namespace

LogicalResult verifyStates(func::FuncOp main) {
  unsigned inputs = inputCountOf(main), outputs = outputCountOf(main);
  unsigned count = main.getNumArguments() - inputs;
  std::set<StringRef> names;
  for (unsigned number = 0; number < main.getNumArguments(); ++number)
    if (StringAttr name = nameOfArgument(main, number); name && !names.insert(name).second)
      return main.emitError("state '") << name.getValue() << "': S1: expected a name of its own"
                                       << Hint("two states have two names");
  if (main.getNumResults() - outputs != count)
    return main.emitError("S1: expected a result for each of ")
           << count << " states among the arguments, got " << main.getNumResults() - outputs
           << Hint("graph.state = \"name\" on an argument and on a result");
  for (unsigned number = 0; number < count; ++number) {
    StringAttr argument = nameOfArgument(main, inputs + number), result = nameOfResult(main, outputs + number);
    if (!argument || !result || argument != result)
      return main.emitError("S2: expected the states behind all inputs and all outputs, in the same order")
             << Hint("(%input, …, %state {graph.state = \"a\"}) -> (output, …, state {graph.state = \"a\"})");
    if (failed(StateVerifier(main, inputs + number, outputs + number).verify()))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

bool isGrownState(Value value) {
  while (isa_and_nonnull<ReshapeOp, TransposeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  if (isOfWholeRows(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  if (!value.getDefiningOp<UpdateInterface>())
    return false;
  while (auto update = value.getDefiningOp<UpdateInterface>())
    value = originOf(update->getOperand(0));
  auto argument = dyn_cast<BlockArgument>(value);
  auto main = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return main && main.getArgAttr(argument.getArgNumber(), stateAttribute) &&
         main.getArgAttr(argument.getArgNumber(), capacityAttribute);
}

std::optional<SmallVector<UpdateInterface>> updatesOf(func::FuncOp main, const State &state) {
  Block &body = main.getBody().front();
  SmallVector<UpdateInterface> updates;
  Value value = originOf(body.getTerminator()->getOperand(state.result));
  while (auto update = value.getDefiningOp<UpdateInterface>()) {
    value = originOf(update->getOperand(0));
    if (llvm::any_of(llvm::drop_begin(update->getOperands()), [&](Value other) { return originOf(other) == value; }))
      return std::nullopt; // it would read what it overwrites
    updates.push_back(update);
  }
  if (value != body.getArgument(state.argument))
    return std::nullopt;
  std::reverse(updates.begin(), updates.end());
  return updates;
}

std::optional<int64_t> readRowsOf(func::FuncOp main, const State &state) {
  if (!state.growing)
    return std::nullopt;
  BlockArgument argument = main.getArgument(state.argument);
  SymbolicInt length = shapeOf(argument)[*state.growing];
  int64_t rows = 0;
  SmallVector<Value> values{argument};
  while (!values.empty()) {
    Value value = values.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<UpdateInterface>(user) && use.getOperandNumber() == 0) {
        values.push_back(user->getResult(0));
        continue;
      }
      if (isa<func::ReturnOp>(user) && use.getOperandNumber() == state.result)
        continue; // of another result, all is read
      auto slice = dyn_cast<SliceOp>(user);
      if (!slice || !isOfWholeRows(user))
        return std::nullopt;
      std::optional<int64_t> first = (slice.getStarts().values()[*state.growing] - length).lowerBound();
      if (!first)
        return std::nullopt;
      rows = std::max(rows, -*first);
    }
  }
  return rows;
}
} // namespace perpend::graph
