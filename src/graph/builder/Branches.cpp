//===- Branches.cpp - if in the builder -----------------------------------===//
//
// Each branch is a callback that builds into a region of a draft graph.if; the values that it yields determine the
// types of the results. Only one branch is built if the condition is a known constant. One of two is kept if the other
// cannot run because its shapes contradict each other, or if a result has different ranks in them. Its operators then
// replace the draft, and a requirement makes runs that choose the other branch end with an error.
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/Requirements.h"
#include "graph/SequenceTypes.h"
#include "graph/Symbols.h"
#include "graph/builder/Builder.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace perpend::graph {

/// The first result whose ranks differ between the branches.
static std::optional<size_t> resultOfTwoRanks(ArrayRef<Value> thenValues, ArrayRef<Value> elseValues) {
  for (auto [index, a, b] :
       llvm::enumerate(thenValues.take_front(elseValues.size()), elseValues.take_front(thenValues.size())))
    if (tensorTypeOf(a).getRank() != tensorTypeOf(b).getRank())
      return index;
  return std::nullopt;
}

/// Expressions that are >= 0 whenever a run gets here, from the requirements of earlier operators.
static SmallVector<SymbolicInt> factsOf(func::FuncOp main) {
  Requirements assumed;
  SmallVector<SymbolicInt> facts;
  for (Operation &op : main.getBody().front()) {
    if (auto given = dyn_cast<RequireOp>(op))
      facts.push_back(given.getValue().values()[0]);
    else
      assumed.addAll(&op);
  }
  llvm::append_range(facts, assumed.list);
  return facts;
}

static std::optional<bool> outcomeOf(const Comparison &comparison, ArrayRef<SymbolicInt> facts) {
  auto holds = [&](const SymbolicInt &value) {
    return value.knownNonNegative() ||
           llvm::any_of(facts, [&](const SymbolicInt &fact) { return (value - fact).knownNonNegative(); });
  };
  if (llvm::all_of(comparison.allHold, holds))
    return true;
  return llvm::any_of(comparison.oneHolds, holds) ? std::optional(false) : std::nullopt;
}

/// What decides the condition, as text: the symbols, or the inputs from which it is computed, such as "'n' and 'x:1'".
static std::string decidersOf(Value condition, const Comparison *meaning) {
  std::set<std::string> names;
  for (const SymbolicInt &value : meaning ? ArrayRef(meaning->allHold) : ArrayRef<SymbolicInt>())
    value.symbols(names);
  llvm::SetVector<Value> values;
  values.insert(condition);
  for (size_t i = 0; i < values.size() && !meaning; ++i) {
    auto argument = dyn_cast<BlockArgument>(values[i]);
    auto main = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
    if (auto name = main ? main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nameAttribute) : StringAttr())
      names.insert(name.str());
    if (Operation *op = values[i].getDefiningOp())
      values.insert(op->operand_begin(), op->operand_end());
  }
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "'" : " and '") + name + "'";
  return text;
}

/// Reshapes result `index` of a branch, which has one element, to rank 0.
static void dropDimensions(Builder &b, Region &branch, unsigned index, Value &result) {
  OpBuilder::InsertionGuard guard(b.operations);
  Operation *yield = branch.front().getTerminator();
  b.operations.setInsertionPoint(yield);
  result = b.reshape(result, {});
  yield->setOperand(index, result);
}

/// A result of one element that has rank 0 in one branch gets rank 0 in both: broadcasting makes no difference.
static void dropUnits(Builder &b, IfOp draft, MutableArrayRef<Value> thenValues, MutableArrayRef<Value> elseValues) {
  auto hasOneElement = [](Value value) { return elementCount(shapeOf(value)) == SymbolicInt(1); };
  for (auto [index, a, c] : llvm::enumerate(thenValues, elseValues)) {
    bool isScalar = tensorTypeOf(a).getRank() == 0, isOther = tensorTypeOf(c).getRank() == 0;
    if (isScalar && !isOther && hasOneElement(c))
      dropDimensions(b, draft.getElseRegion(), index, c);
    if (isOther && !isScalar && hasOneElement(a))
      dropDimensions(b, draft.getThenRegion(), index, a);
  }
}

struct Builder::BuiltBranch {
  SmallVector<Value> results;
  /// Why the branch cannot run; empty if it can.
  std::string problem;
  llvm::DenseMap<Value, Shape> contents;
};

Builder::BuiltBranch Builder::buildBranch(Region &region, Branch body) {
  BuiltBranch branch;
  OpBuilder::InsertionGuard guard(operations);
  llvm::SaveAndRestore inner(contradiction, leavesOutBranches ? &branch.problem : contradiction);
  branch.contents = knownContents;
  operations.createBlock(&region);
  branch.results = body();
  std::swap(branch.contents, knownContents);
  if (!branch.problem.empty())
    failed = false;
  else if (!failed && !llvm::is_contained(branch.results, Value()))
    operations.create<YieldOp>(location, branch.results);
  return branch;
}

/// Chooses between branches whose results have different ranks: whether the then branch stays. If that does not follow
/// from the requirements, it is noted as a guess.
bool Builder::chooseRank(IfOp draft, Value condition, Values thenValues, Values elseValues,
                         ArrayRef<std::optional<int64_t>> declaredRanks) {
  auto known = comparisons.find(condition);
  const Comparison *meaning = known == comparisons.end() ? nullptr : &known->second;
  if (auto main = dyn_cast<func::FuncOp>(draft->getParentOp()); main && meaning)
    if (std::optional<bool> outcome = outcomeOf(*meaning, factsOf(main)))
      return *outcome;
  size_t index = *resultOfTwoRanks(thenValues, elseValues);
  int64_t inThen = tensorTypeOf(thenValues[index]).getRank(), inElse = tensorTypeOf(elseValues[index]).getRank();
  bool takesThen = inThen < inElse;
  if (std::optional<int64_t> declared = index < declaredRanks.size() ? declaredRanks[index] : std::nullopt;
      declared == inThen || declared == inElse)
    takesThen = declared == inThen;
  std::string deciders = decidersOf(condition, meaning);
  guess = Choice{(subject + "its then branch has a result of rank " + Twine(inThen) + ", its else branch of rank " +
                  Twine(inElse) + ", and the condition is not known before a run; with rank " +
                  Twine(takesThen ? inThen : inElse) + ", ")
                     .str(),
                 deciders.empty()
                     ? "make the condition a constant, or declare a shape for the result"
                     : deciders + (meaning ? " decides: give a number for it (--dim), or declare a shape for the result"
                                           : " decides: make it a constant, or declare a shape for the result")};
  return takesThen;
}

/// Makes runs that choose the other branch end with an error.
void Builder::requireBranch(bool isThen, IfOp draft, Value condition, StringRef problem) {
  std::string name = isThen ? "else" : "then", cause = problem.take_front(problem.find('\n')).str();
  std::string message = "the condition chooses the " + name + " branch, " +
                        (cause.empty() ? "whose results have another rank" : "which cannot run: " + cause);
  if (auto meaning = comparisons.find(condition); meaning != comparisons.end() && cause.empty()) {
    ArrayRef<SymbolicInt> allHold = meaning->second.allHold, oneHolds = meaning->second.oneHolds;
    if (isThen)
      for (const SymbolicInt &value : allHold)
        require(value, message);
    else // two, x - 1 and -x - 1: x * x - 1
      require(oneHolds.size() == 1 ? oneHolds[0] : -(oneHolds[0] * oneHolds[1]), message);
    return;
  }
  SymbolicInt taken = measure(cast(draft.getCondition(), i64()), "branch");
  RequireOp requirement = require(isThen ? taken - SymbolicInt(1) : -taken, message);
  if (requirement && !cause.empty())
    requirement->setAttr(leftOutAttribute, operations.getStringAttr(subject + "a run that chooses the " + name +
                                                                    " branch will be an error: " + problem));
}

/// Replaces the draft by the operators of one branch, preceded by an error for runs that choose the other.
void Builder::keepOnly(bool isThen, IfOp draft, Value condition, const BuiltBranch (&branches)[2]) {
  const BuiltBranch &kept = branches[isThen ? 0 : 1];
  requireBranch(isThen, draft, condition, branches[isThen ? 1 : 0].problem);
  Block &block = draft->getRegion(isThen ? 0 : 1).front();
  block.getTerminator()->erase();
  operations.getInsertionBlock()->getOperations().splice(operations.getInsertionPoint(), block.getOperations());
  for (const auto &[value, elements] : kept.contents)
    knownContents.try_emplace(value, elements);
}

SmallVector<Value> Builder::ifThenElse(Value given, Branch thenBody, Branch elseBody,
                                       ArrayRef<std::optional<int64_t>> declaredRanks) {
  Value condition = oneElement(given, operations.getI1Type(), "condition");
  if (!condition)
    return {};
  if (std::optional<SmallVector<int64_t>> known = constantContents(condition))
    return known->front() ? thenBody() : elseBody();
  auto draft = operations.create<IfOp>(location, TypeRange(), condition, operations.getArrayAttr({}));
  auto erased = llvm::make_scope_exit([&] { draft.erase(); });
  BuiltBranch branches[2];
  for (unsigned index : {0, 1}) {
    branches[index] = buildBranch(draft->getRegion(index), index == 0 ? thenBody : elseBody);
    if (branches[index].problem.empty() && (failed || llvm::is_contained(branches[index].results, Value())))
      return {};
  }
  const std::string &inThen = branches[0].problem, &inElse = branches[1].problem;
  if (!inThen.empty() && !inElse.empty())
    return raise(inThen, /*isContradiction=*/true), SmallVector<Value>();
  std::optional<bool> takesThen = inThen == inElse ? std::nullopt : std::optional(inThen.empty());
  SmallVector<Value> thenValues = branches[0].results, elseValues = branches[1].results;
  if (!takesThen && thenValues.size() == elseValues.size())
    dropUnits(*this, draft, thenValues, elseValues);
  // A result has one rank, so the model supports runs of one branch only; others are errors.
  if (!takesThen && resultOfTwoRanks(thenValues, elseValues))
    takesThen = chooseRank(draft, given, thenValues, elseValues, declaredRanks);
  if (!takesThen)
    return finishIf(draft, thenValues, elseValues);
  keepOnly(*takesThen, draft, given, branches);
  return branches[*takesThen ? 0 : 1].results;
}

SmallVector<Value> Builder::finishIf(IfOp draft, Values thenValues, Values elseValues) {
  SmallVector<StringAttr> inner = symbolsDefinedIn(draft.getThenRegion());
  llvm::append_range(inner, symbolsDefinedIn(draft.getElseRegion()));
  if (thenValues.size() != elseValues.size()) {
    fail("the then branch has " + Twine(thenValues.size()) + " results, the else branch has " +
         Twine(elseValues.size()));
    return {};
  }
  SmallVector<Type> types, elementTypes;
  SmallVector<Attribute> symbols;
  for (auto [index, a, b] : llvm::enumerate(thenValues, elseValues)) {
    if (!sameKind(a, b)) {
      fail("result " + Twine(index) + " is " + typeText(a) + " in the then branch and " + typeText(b) +
           " in the else branch\nhint: element types and numbers of dimensions must be equal");
      return {};
    }
    Shape shape = shapeOf(a);
    for (auto [extent, other] : llvm::zip(shape, shapeOf(b)))
      if (extent != other || mentionsAny(extent, inner)) {
        symbols.push_back(freshSymbol("if"));
        extent = SymbolicInt::symbol(::mlir::cast<StringAttr>(symbols.back()).getValue());
      }
    elementTypes.push_back(joinElementTypes(tensorTypeOf(a).getElementType(), tensorTypeOf(b).getElementType()));
    types.push_back(tensorType(shape, elementTypes.back()));
  }
  for (Region &region : draft->getRegions()) {
    OpBuilder::InsertionGuard guard(operations);
    Operation *yield = region.front().getTerminator();
    operations.setInsertionPoint(yield);
    for (auto [operand, elementType] : llvm::zip_equal(yield->getOpOperands(), elementTypes))
      operand.set(retype(operand.get(), elementType));
  }
  auto op = operations.create<IfOp>(location, types, draft.getCondition(), operations.getArrayAttr(symbols));
  for (unsigned index : {0, 1})
    op->getRegion(index).takeBody(draft->getRegion(index));
  return llvm::to_vector(ValueRange(op.getResults()));
}
} // namespace perpend::graph
