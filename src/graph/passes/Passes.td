//===- Passes.td - the passes of the graph level ---------------------------===//

#ifndef PERPEND_GRAPH_PASSES_TD
#define PERPEND_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif
