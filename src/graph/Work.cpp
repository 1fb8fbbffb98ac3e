//===- Work.cpp - cost of scalar code -------------------------------------===//

#include "graph/Work.h"

#include "graph/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace perpend::graph {

double workOf(Operation &op) {
  if (isa<math::MathDialect>(op.getDialect()))
    return 20;
  if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemFOp, arith::RemSIOp, arith::RemUIOp>(op))
    return 8;
  return op.hasTrait<OpTrait::ConstantLike>() ? 0 : 1;
}

double scalarWork(Operation &op) {
  double work = 0;
  for (Region &region : op.getRegions())
    region.walk([&](Operation *inner) { work += workOf(*inner); });
  return work;
}

double workOfElements(ElementInterface op) {
  double work = std::max(1.0, scalarWork(*op));
  if (auto reduction = dyn_cast<ReductionInterface>(*op))
    for (const SymbolicInt &extent : reduction.reducedExtents())
      work *= double(extent.constant().value_or(0));
  return work * double(tensorTypeOf(op->getResult(0)).getNumElements());
}

double estimatedElements(Value tensor) {
  constexpr int64_t assumedExtent = 64;
  SymbolicInt count = elementCount(shapeOf(tensor));
  std::set<std::string> names;
  llvm::StringMap<int64_t> values;
  count.symbols(names);
  for (const std::string &name : names)
    values[name] = assumedExtent;
  return static_cast<double>(count.evaluate(values).value_or(assumedExtent));
}
} // namespace perpend::graph
