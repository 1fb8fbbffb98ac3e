//===- Blocks.h - kernels of plain blocks, and their spaces -----*- C++ -*-===//

#ifndef PERPEND_TEST_TUNE_BLOCKS_H
#define PERPEND_TEST_TUNE_BLOCKS_H

#include "Module.h"
#include "Workloads.h"

#include "target/TargetInfo.h"
#include "tune/sketches/Sketches.h"

namespace perpend::tune {

/// A workload's kernel before it is scheduled.
class Blocks {
public:
  explicit Blocks(const tile::Workload &workload);
  /// One of tile::workloads().
  static tile::Workload named(llvm::StringRef name);
  /// A product of m x k and k x n.
  static tile::Workload product(const std::string &m, const std::string &k, const std::string &n);

  mlir::func::FuncOp kernel() { return module.module->lookupSymbol<mlir::func::FuncOp>("k"); }
  /// What its rule does.
  Trace ruleTrace();
  Space spaceOf(const Trace &trace) { return Space::ofTrace(kernel(), target, trace); }
  Space space() { return spaceOf(ruleTrace()); }
  std::vector<Trace> sketches() { return sketchesOf(kernel(), target); }
  Space spaceOfRules() { return spaces()[1].make(kernel(), target, ruleTrace()); }
  /// Whether the primitives take all of it.
  bool takes(const Trace &trace);

  const target::TargetInfo target;

private:
  interp::Module module;
};

/// Three splits of a product: some thousand points.
Trace tiledProduct();
/// The number of a point, of space.size().
double numberOf(const Space &space, const Point &point);
} // namespace perpend::tune

#endif
