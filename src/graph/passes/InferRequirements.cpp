//===- InferRequirements.cpp - what symbols must satisfy ---------------------===//
//
// Operators on symbolic shapes assume what cannot be proved: that two extents
// are equal (broadcasting [n] with [m]), that none is negative (a window larger
// than a small input), that a dimension that is indexed is not empty. Each
// assumption becomes an expression that must be >= 0, in the attribute
// graph.requirements of main, and binding the inputs checks it; the node that
// assumes it is in graph.requirement_subjects. One that mentions
// a symbol that an operator defines, or that holds only where a region runs, is a
// graph.require in front of the operator that assumes it.
// Runs first, on the graph as it was imported.
//
//   map(x : [n], y : [m])  =>  graph.requirements = #graph.shape<[m - n, n - m]>
//
//===----------------------------------------------------------------------===//

#include "graph/Requirements.h"
#include "graph/Shapes.h"
#include "graph/Symbols.h"
#include "graph/passes/Passes.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHINFERREQUIREMENTS
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;

/// The model's name for what became this operator, "" without one.
static StringRef nodeName(Operation *op) {
  auto name = op->getLoc()->findInstanceOf<NameLoc>();
  return name ? name.getName().getValue() : "";
}

namespace {
struct InferRequirements : perpend::graph::impl::GraphInferRequirementsBase<InferRequirements> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<mlir::func::FuncOp>("main");
    if (!main)
      return;
    Requirements requirements;
    subjects.clear();
    if (auto given =
            main->getAttrOfType<ShapeAttr>("graph.requirements")) // limits of the front end, or inferred before
      takeGiven(main, given, requirements);
    addBlock(main.getBody().front(), requirements, dataSymbolsOf(main));
    if (requirements.list.empty())
      return;
    main->setAttr("graph.requirements", ShapeAttr::get(&getContext(), requirements.list));
    main->setAttr("graph.requirement_subjects", mlir::Builder(&getContext()).getStrArrayAttr(subjects));
  }

  void takeGiven(mlir::func::FuncOp main, ShapeAttr given, Requirements &requirements) {
    auto names = main->getAttrOfType<ArrayAttr>("graph.requirement_subjects");
    for (auto [index, value] : llvm::enumerate(given.values())) {
      requirements.addNonNegative(value);
      if (requirements.list.size() > subjects.size())
        subjects.push_back(names && index < names.size() ? cast<StringAttr>(names[index]).getValue() : "");
    }
  }

  /// No binding satisfies what is negative for every value of the symbols. (A region need not run.)
  static bool checkSatisfiable(Operation &op, ArrayRef<SymbolicInt> added) {
    for (const SymbolicInt &value : added)
      if (std::optional<int64_t> high = value.upperBound(); high && *high < 0) {
        std::string operands = llvm::join(llvm::map_range(op.getOperands(), typeText), ", ");
        op.emitError(nodeName(&op).empty() ? "" : "node '" + nodeName(&op) + "': ")
            << op.getName() << ": expected extents and positions that fit together, got operands " << operands
            << " and the result " << typeText(op.getResult(0)) << ", which are out by " << -*high
            << "\nhint: no extents of the inputs can make this operator valid; correct the shapes at this node";
        return false;
      }
    return true;
  }

  /// Leaves in `requirements` what binding can check; the rest becomes operators.
  void addBlock(Block &block, Requirements &requirements, ArrayRef<std::string> dataSymbols) {
    bool isMain = isa<mlir::func::FuncOp>(block.getParentOp());
    for (Operation &op : llvm::make_early_inc_range(block)) {
      size_t before = requirements.list.size();
      requirements.addAll(&op);
      if (isMain && !checkSatisfiable(op, ArrayRef(requirements.list).drop_front(before)))
        return signalPassFailure();
      OpBuilder builder(&op);
      for (size_t i = before; i < requirements.list.size();) {
        SymbolicInt value = requirements.list[i];
        if (isMain && !mentionsAny(value, dataSymbols)) {
          subjects.push_back(nodeName(&op));
          ++i;
          continue;
        }
        requirements.list.erase(requirements.list.begin() + i);
        builder.create<RequireOp>(op.getLoc(), ShapeAttr::get(op.getContext(), value), "the sizes do not fit");
      }
      for (Region &region : op.getRegions())
        if (isa<SymbolInterface>(op)) {
          llvm::StringSet<> outside = requirements.known;
          addBlock(region.front(), requirements, dataSymbols);
          requirements.known = std::move(outside);
        }
    }
  }

  /// Of each requirement that binding checks, the node that assumes it.
  SmallVector<StringRef> subjects;
};
} // namespace
