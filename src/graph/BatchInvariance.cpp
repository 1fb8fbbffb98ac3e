//===- BatchInvariance.cpp - results that do not depend on the batch ------===//

#include "graph/BatchInvariance.h"

#include "graph/Attributes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

using namespace mlir;
using namespace perpend;

void graph::setBatchInvariant(Operation *op) { op->setAttr(batchInvariantAttribute, UnitAttr::get(op->getContext())); }

bool graph::isBatchInvariant(Operation *op) {
  while (op && !op->hasAttr(batchInvariantAttribute))
    op = op->getParentOp();
  return op;
}
