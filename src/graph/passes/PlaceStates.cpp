//===- PlaceStates.cpp - marks updates of states as in place --------------===//
//
// If updates alone make a state's result from its argument, the state is updated in its own memory: only the blocks
// are written. The updates stay in main, beside calls of kernels, and memory planning makes their blocks aliases of
// the state. Slices of whole rows of what the last of them makes stay there, too, as do those of constants: they are
// parts of that memory. Any other state is computed as a whole, into a second buffer, and the two are swapped when the
// run has succeeded.
//
// Where only the latest rows of a state that grows are read, their number is noted (graph.read_rows), so that a session
// need not keep the others.
//
// Runs right before fusion, so that no later pass moves a reader past an update.
//
//   return %y, graph.update %k, %rows … {graph.state = "k"}   =>   … {graph.in_place}
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/Entries.h"
#include "graph/Rows.h"
#include "graph/States.h"
#include "graph/passes/Passes.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHPLACESTATES
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;

namespace {
struct PlaceStates : perpend::graph::impl::GraphPlaceStatesBase<PlaceStates> {
  void runOnOperation() override {
    for (func::FuncOp main : entriesOf(getOperation()))
      place(main);
    getOperation().walk([&](Operation *op) {
      if (op->hasTrait<OpTrait::ConstantLike>())
        markRows(op->getResult(0));
    });
  }

  void markRows(Value whole) {
    for (Operation *user : whole.getUsers())
      if (isOfWholeRows(user))
        user->setAttr(inPlaceAttribute, UnitAttr::get(&getContext()));
  }

  void place(func::FuncOp main) {
    auto mark = UnitAttr::get(&getContext());
    for (const State &state : statesOf(main)) {
      main.removeArgAttr(state.argument, readRowsAttribute); // of a program that was read
      auto updates = updatesOf(main, state);
      if (!updates)
        continue;
      main.setResultAttr(state.result, inPlaceAttribute, mark);
      if (std::optional<int64_t> rows = readRowsOf(main, state))
        main.setArgAttr(state.argument, readRowsAttribute, mlir::Builder(&getContext()).getI64IntegerAttr(*rows));
      for (UpdateInterface update : *updates)
        update->setAttr(inPlaceAttribute, mark);
      if (!updates->empty())
        markRows(updates->back()->getResult(0));
    }
  }
};
} // namespace
