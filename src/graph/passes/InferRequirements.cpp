//===- InferRequirements.cpp - infers requirements on symbols -------------===//
//
// Operators on symbolic shapes make assumptions that cannot be proved: two extents are equal (broadcasting [n] with
// [m]), no extent is negative (it would be if a window were larger than its input), an indexed dimension is not empty.
// Each assumption becomes an expression that must be >= 0, in the attribute graph.requirements of main, which is
// checked when inputs are bound; graph.requirement_subjects names the node that makes each. An assumption that uses a
// symbol defined by an operator, or that must hold only if a region runs, becomes a graph.require before the operator.
// One that no values of the symbols satisfy is an error, except in a region. Runs first, on the graph as imported.
//
//   map(x : [n], y : [m])  =>  graph.requirements = #graph.shape<[m - n, n - m]>
//
//===----------------------------------------------------------------------===//

#include "graph/Entries.h"
#include "graph/ErrorKind.h"
#include "graph/NodeNames.h"
#include "graph/Requirements.h"
#include "graph/Shapes.h"
#include "graph/States.h"
#include "graph/Symbols.h"
#include "graph/passes/Passes.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHINFERREQUIREMENTS
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;

namespace {
struct InferRequirements : perpend::graph::impl::GraphInferRequirementsBase<InferRequirements> {
  void runOnOperation() override {
    for (mlir::func::FuncOp main : entriesOf(getOperation())) {
      requireCapacities(main);
      BindingRequirements requirements(main);
      addBlock(main.getBody().front(), requirements);
      requirements.declare();
    }
  }

  /// Refuses a requirement that is negative for all values of the symbols. (Except in a region, which need not run.)
  static bool checkSatisfiable(Operation &op, ArrayRef<SymbolicInt> added) {
    for (const SymbolicInt &value : added)
      if (std::optional<int64_t> high = value.upperBound(); high && *high < 0) {
        std::string operands = llvm::join(llvm::map_range(op.getOperands(), typeText), ", ");
        op.emitError(nodeName(&op).empty() ? "" : "node '" + nodeName(&op) + "': ")
            << op.getName() << ": expected extents and positions that fit together, got operands " << operands
            << " and the result " << typeText(op.getResult(0)) << ", which are out by " << -*high
            << Hint("no extents of the inputs can make this operator valid; correct the shapes at this node");
        return false;
      }
    return true;
  }

  void addBlock(Block &block, BindingRequirements &requirements) {
    const bool isMain = isa<mlir::func::FuncOp>(block.getParentOp());
    for (Operation &op : llvm::make_early_inc_range(block)) {
      const size_t before = requirements.all.list.size();
      const SmallVector<SymbolicInt> atRun = requirements.add(&op);
      if (requirements.all.isIncomplete) {
        op.emitError(nodeName(&op).empty() ? "" : "node '" + nodeName(&op) + "': ")
            << op.getName() << ": what this operator needs of its extents is too long an expression"
            << ErrorKind::Unsupported << Hint("give the dimensions of the model's inputs as numbers (--dim)");
        return signalPassFailure();
      }
      if (isMain &&
          !(checkSatisfiable(op, ArrayRef(requirements.all.list).drop_front(before)) && checkSatisfiable(op, atRun)))
        return signalPassFailure();
      OpBuilder builder(&op);
      for (const SymbolicInt &value : atRun)
        builder.create<RequireOp>(op.getLoc(), ShapeAttr::get(op.getContext(), value), "the sizes do not fit");
      if (isa<SymbolInterface>(op))
        for (Region &region : op.getRegions()) {
          llvm::StringSet<> outside = requirements.all.known;
          addBlock(region.front(), requirements);
          requirements.all.known = std::move(outside);
        }
    }
  }
};
} // namespace
