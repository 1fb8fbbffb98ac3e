//===- Branches.cpp - if in the builder -----------------------------------===//
//
// The branches are callbacks that build into the regions of a draft; the types of
// results follow from what they yield. Where only one of them can run, it takes
// the place of the draft, and a requirement stands for the other.
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/SequenceTypes.h"
#include "graph/Symbols.h"
#include "graph/builder/Builder.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace perpend::graph {

/// Whether the first branch has fewer dimensions, where the ranks of results differ.
static std::optional<bool> branchOfLeastRank(ArrayRef<Value> thenValues, ArrayRef<Value> elseValues) {
  for (auto [a, b] : llvm::zip(thenValues, elseValues))
    if (tensorTypeOf(a).getRank() != tensorTypeOf(b).getRank())
      return tensorTypeOf(a).getRank() < tensorTypeOf(b).getRank();
  return std::nullopt;
}

/// Result `index` of a branch, which has one element, without its dimensions.
static void dropDimensions(Builder &b, Region &branch, unsigned index, Value &result) {
  OpBuilder::InsertionGuard guard(b.operations);
  Operation *yield = branch.front().getTerminator();
  b.operations.setInsertionPoint(yield);
  result = b.reshape(result, {});
  yield->setOperand(index, result);
}

/// A result of one element that has rank 0 in one branch has rank 0 in both: broadcasting sees no difference.
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
  /// Why it cannot run; empty where it can.
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

/// Moves the operators of one branch behind the draft, behind an error of the runs that choose the other one.
void Builder::keepOnly(bool isThen, IfOp draft, const BuiltBranch (&branches)[2]) {
  const BuiltBranch &kept = branches[isThen ? 0 : 1], &other = branches[isThen ? 1 : 0];
  std::string name = isThen ? "else" : "then", cause = other.problem.substr(0, other.problem.find('\n'));
  SymbolicInt taken = measure(cast(draft.getCondition(), i64()), "branch");
  RequireOp requirement =
      require(isThen ? taken - SymbolicInt(1) : -taken,
              "the condition chooses the " + name + " branch, " +
                  (cause.empty() ? "whose results have another number of dimensions" : "which cannot run: " + cause));
  if (requirement && !cause.empty())
    requirement->setAttr(leftOutAttribute, operations.getStringAttr(subject + "a run that chooses the " + name +
                                                                    " branch will be an error: " + other.problem));
  Block &block = draft->getRegion(isThen ? 0 : 1).front();
  block.getTerminator()->erase();
  operations.getInsertionBlock()->getOperations().splice(operations.getInsertionPoint(), block.getOperations());
  for (const auto &[value, elements] : kept.contents)
    knownContents.try_emplace(value, elements);
}

SmallVector<Value> Builder::ifThenElse(Value condition, Branch thenBody, Branch elseBody) {
  condition = oneElement(condition, operations.getI1Type(), "condition");
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
  // Another rank cannot be a result: the model is for runs that drop the dimension, and others are errors.
  if (!takesThen)
    takesThen = branchOfLeastRank(thenValues, elseValues);
  if (!takesThen)
    return finishIf(draft, thenValues, elseValues);
  keepOnly(*takesThen, draft, branches);
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
