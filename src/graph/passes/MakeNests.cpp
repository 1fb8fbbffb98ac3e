//===- MakeNests.cpp - maps and reductions in place of sequences ----------===//
//
// Units of an accelerator compute nests of loops around one value; a slow core does everything else. So what is not too
// large becomes maps, reductions and look-ups, even if that takes more operations:
// Each operator says itself by what it is replaced (Nests.td).
//
//===----------------------------------------------------------------------===//

#include "graph/Nests.h"
#include "graph/passes/Passes.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHMAKENESTS
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;

namespace {

struct MakeNests : perpend::graph::impl::GraphMakeNestsBase<MakeNests> {
  void runOnOperation() override {
    replaceAll([](NestInterface op) { return op.hasOperators(); });
    // In what stays, the slow core runs all operators.
    replaceAll([](NestInterface op) { return !op.hasOperators() && !op->getParentOfType<NestInterface>(); });
  }

  void replaceAll(llvm::function_ref<bool(NestInterface)> isReplaced) {
    SmallVector<NestInterface> operators; // those inside of another one before it
    getOperation()->walk([&](NestInterface op) {
      if (isReplaced(op))
        operators.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (NestInterface op : operators) {
      rewriter.setInsertionPoint(op);
      (void)op.makeNests(rewriter);
    }
  }
};

} // namespace
