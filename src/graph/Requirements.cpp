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
