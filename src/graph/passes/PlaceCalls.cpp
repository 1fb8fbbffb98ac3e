//===- PlaceCalls.cpp - library functions in place of operators -----------===//
//
// An operator can say that a function of the runtime's library, or other operators,
// compute it, or its only user as well, faster than a kernel of its own (LibraryInterface). Runs before
// fusion, which stores the operands of calls.
//
//   %p = graph.sort %x dim 1 : [4, 900] -> [4, 9]   =>   %p = graph.call_library "order.sort"(%lines, %zero)
//
//===----------------------------------------------------------------------===//

#include "graph/LibraryCalls.h"
#include "graph/builder/Builder.h"
#include "graph/passes/Passes.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHPLACECALLS
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;

namespace {
struct PlaceCalls : perpend::graph::impl::GraphPlaceCallsBase<PlaceCalls> {
  void runOnOperation() override {
    SmallVector<LibraryInterface> operators;
    getOperation()->walk([&](LibraryInterface op) { operators.push_back(op); });
    for (LibraryInterface op : operators) {
      OpBuilder operations(op);
      perpend::graph::Builder builder(operations, op.getLoc());
      auto [replaced, result] = op.placeCall(builder);
      if (!replaced)
        continue;
      replaced->getResult(0).replaceAllUsesWith(result);
      replaced->erase();
      if (replaced != op.getOperation())
        op->erase();
    }
  }
};
} // namespace
