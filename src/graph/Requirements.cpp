//===- Requirements.cpp - what operators require of symbols ---------------===//

#include "graph/Requirements.h"
#include "graph/Attributes.h"
#include "graph/NodeNames.h"
#include "graph/Shapes.h"
#include "graph/States.h"
#include "graph/Symbols.h"
#include "support/Inequality.h"

using namespace mlir;
using namespace perpend::graph;

void Requirements::addNonNegative(const SymbolicInt &value) {
  isIncomplete |= value.isPoison();
  if (!value.isPoison() && !value.knownNonNegative() && known.insert(value.str()).second)
    list.push_back(value);
}

void Requirements::addEqual(const SymbolicInt &a, const SymbolicInt &b) {
  addNonNegative(a - b);
  addNonNegative(b - a);
}

void Requirements::addReads(const SymbolicInt &extent, ArrayRef<SymbolicInt> readers) {
  SymbolicInt last = extent - SymbolicInt(1), count = elementCount(readers);
  if (count.knownPositive())
    return addNonNegative(last);
  if (!count.isPoison())
    return addNonNegative(max(last, -count));
  for (const SymbolicInt &reader : readers) // equivalent: one of them is 0
    if (!reader.knownPositive())
      last = max(last, -reader);
  addNonNegative(last);
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
  if (auto given = dyn_cast<RequireOp>(op)) // inferred earlier
    known.insert(given.getValue().values()[0].str());
  if (auto assuming = dyn_cast<RequirementInterface>(op))
    assuming.addRequirements(*this);
}

//===----------------------------------------------------------------------===//
// Requirements of main
//===----------------------------------------------------------------------===//

BindingRequirements::BindingRequirements(func::FuncOp main) : main(main), dataSymbols(dataSymbolsOf(main)) {
  auto given = main->getAttrOfType<ShapeAttr>(requirementsAttribute);
  auto names = main->getAttrOfType<ArrayAttr>(requirementSubjectsAttribute);
  for (auto [index, value] : llvm::enumerate(given ? given.values() : Shape())) {
    all.addNonNegative(value);
    if (all.list.size() > subjects.size())
      subjects.push_back(names && index < names.size() ? cast<StringAttr>(names[index]).getValue() : "");
  }
}

SmallVector<SymbolicInt> BindingRequirements::keepCheckable(Operation *op) {
  SmallVector<SymbolicInt> added(llvm::drop_begin(all.list, subjects.size())), others;
  all.list.truncate(subjects.size());
  for (const SymbolicInt &value : added) {
    if (op->getParentOp() != main || mentionsAny(value, dataSymbols)) {
      others.push_back(value);
      continue;
    }
    all.list.push_back(value);
    subjects.push_back(nodeName(op));
  }
  return others;
}

SmallVector<SymbolicInt> BindingRequirements::add(Operation *op) {
  all.addAll(op);
  return keepCheckable(op);
}

SmallVector<SymbolicInt> BindingRequirements::addOfOperands(RequirementInterface op) {
  op.addRequirements(all);
  return keepCheckable(op);
}

void BindingRequirements::declare() {
  if (all.list.empty())
    return;
  main->setAttr(requirementsAttribute, ShapeAttr::get(main.getContext(), all.list));
  main->setAttr(requirementSubjectsAttribute, mlir::Builder(main.getContext()).getStrArrayAttr(subjects));
}

std::vector<std::string> perpend::graph::describeRequirements(Operation *main, bool eachEquationOnce) {
  auto given = main->getAttrOfType<ShapeAttr>(requirementsAttribute);
  auto subjects = main->getAttrOfType<ArrayAttr>(requirementSubjectsAttribute);
  SmallVector<SymbolicInt> all;
  if (given)
    all = given.values();
  std::vector<std::string> texts;
  for (auto [index, requirement] : llvm::enumerate(all)) {
    if (eachEquationOnce && llvm::is_contained(ArrayRef(all).take_front(index), -requirement))
      continue;
    StringRef subject = subjects && index < subjects.size() ? cast<StringAttr>(subjects[index]).getValue() : "";
    bool isEquality = llvm::is_contained(all, -requirement);
    std::string who = subject.empty() ? "the model" : "node '" + subject.str() + "'";
    if (subject.consume_front(stateSubject))
      who = "state '" + subject.str() + "'";
    texts.push_back(who + " needs " + support::Inequality(requirement, isEquality).text);
  }
  return texts;
}
