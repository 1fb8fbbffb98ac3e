//===- Requirements.cpp - what the operators assume of symbols ------------===//

#include "graph/Requirements.h"
#include "graph/Shapes.h"
#include "support/Inequality.h"

using namespace mlir;
using namespace perpend::graph;

void Requirements::addNonNegative(const SymbolicInt &value) {
  if (!value.isPoison() && !value.knownNonNegative() && known.insert(value.str()).second)
    list.push_back(value);
}

void Requirements::addEqual(const SymbolicInt &a, const SymbolicInt &b) {
  addNonNegative(a - b);
  addNonNegative(b - a);
}

void Requirements::addReads(const SymbolicInt &extent, const SymbolicInt &count) {
  SymbolicInt last = extent - SymbolicInt(1);
  addNonNegative(count.knownPositive() ? last : max(last, -count));
}

void Requirements::addDivisors(const SymbolicInt &value) {
  using perpend::support::SymbolicAtomKind;
  for (const auto &term : value.terms())
    for (const auto &factor : term.factors) {
      ArrayRef<SymbolicInt> operands = factor.atom.operands();
      bool divides = factor.atom.kind() == SymbolicAtomKind::FloorDiv || factor.atom.kind() == SymbolicAtomKind::Mod;
      if (divides && operands[1].knownNonNegative())
        addNonNegative(operands[1] - SymbolicInt(1));
      for (const SymbolicInt &operand : operands)
        addDivisors(operand);
    }
}

void Requirements::addAll(Operation *op) {
  for (Value result : op->getResults())
    if (isa<RankedTensorType>(result.getType()))
      for (const SymbolicInt &extent : shapeOf(result)) {
        addDivisors(extent);
        addNonNegative(extent);
      }
  if (auto given = dyn_cast<RequireOp>(op)) // inferred before
    known.insert(given.getValue().values()[0].str());
  if (auto assuming = dyn_cast<RequirementInterface>(op))
    assuming.addRequirements(*this);
}

std::vector<std::string> perpend::graph::describeRequirements(func::FuncOp main, bool eachEquationOnce) {
  auto given = main->getAttrOfType<ShapeAttr>("graph.requirements");
  auto subjects = main->getAttrOfType<ArrayAttr>("graph.requirement_subjects");
  SmallVector<SymbolicInt> all;
  if (given)
    all = given.values();
  std::vector<std::string> texts;
  for (auto [index, requirement] : llvm::enumerate(all)) {
    if (eachEquationOnce && llvm::is_contained(ArrayRef(all).take_front(index), -requirement))
      continue;
    StringRef subject = subjects && index < subjects.size() ? cast<StringAttr>(subjects[index]).getValue() : "";
    bool isEquality = llvm::is_contained(all, -requirement);
    texts.push_back((subject.empty() ? "the model" : "node '" + subject.str() + "'") + " needs " +
                    support::Inequality(requirement, isEquality).text);
  }
  return texts;
}

//===----------------------------------------------------------------------===//
// Each primitive
//===----------------------------------------------------------------------===//

void MapOp::addRequirements(Requirements &requirements) {
  for (Value input : getInputs())
    for (auto [extent, wanted] : llvm::zip(shapeOf(input), shapeOf(getResult())))
      requirements.addEqual(extent, wanted);
}

void BroadcastOp::addRequirements(Requirements &requirements) {
  Shape result = shapeOf(getResult());
  for (auto [extent, dim] : llvm::zip(shapeOf(getInput()), getDims()))
    if (extent != SymbolicInt(1))
      requirements.addEqual(extent, result[dim]);
}

void ReshapeOp::addRequirements(Requirements &requirements) {
  requirements.addEqual(elementCount(shapeOf(getInput())), elementCount(shapeOf(getResult())));
}

void SliceOp::addRequirements(Requirements &requirements) {
  for (auto [start, step, extent, count] :
       llvm::zip(getStarts().values(), getSteps(), shapeOf(getInput()), shapeOf(getResult()))) {
    SymbolicInt last = start + (count - SymbolicInt(1)) * SymbolicInt(step);
    requirements.addNonNegative(step > 0 ? start : last);
    requirements.addNonNegative(extent - SymbolicInt(1) - (step > 0 ? last : start));
  }
}

void ConcatOp::addRequirements(Requirements &requirements) {
  Shape first = shapeOf(getInputs().front());
  for (Value input : getInputs().drop_front())
    for (auto [dim, extent] : llvm::enumerate(shapeOf(input)))
      if (dim != getAxis())
        requirements.addEqual(extent, first[dim]);
}

void ContractOp::addRequirements(Requirements &requirements) {
  Shape lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  for (auto [l, r] : llvm::zip(getLhsBatch(), getRhsBatch()))
    requirements.addEqual(lhs[l], rhs[r]);
  for (auto [l, r] : llvm::zip(getLhsContracted(), getRhsContracted()))
    requirements.addEqual(lhs[l], rhs[r]);
}

void ConvOp::addRequirements(Requirements &requirements) {
  requirements.addEqual(shapeOf(getInput())[channelDim()],
                        shapeOf(getFilter())[filterInputDim()] * SymbolicInt(getGroups()));
}

void GatherOp::addRequirements(Requirements &requirements) {
  requirements.addReads(shapeOf(getInput())[getAxis()], elementCount(shapeOf(getIndices())));
}

void GenerateOp::addRequirements(Requirements &requirements) {
  Shape result = shapeOf(getResult());
  for (Value input : getInputs())
    for (const SymbolicInt &extent : shapeOf(input))
      if (!extent.knownPositive() && !llvm::is_contained(result, extent))
        requirements.addReads(extent, elementCount(result));
}

void ScatterOp::addRequirements(Requirements &requirements) {
  Shape indices = shapeOf(getIndices()), input = shapeOf(getInput()), expected(indices.begin(), indices.end() - 1);
  expected.append(input.begin() + indexedDims(), input.end());
  for (auto [extent, wanted] : llvm::zip(shapeOf(getUpdates()), expected))
    requirements.addEqual(extent, wanted);
}
