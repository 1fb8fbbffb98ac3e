//===- ProgramMaker.h - makes programs of accelerators ----------*- C++ -*-===//
//
// Models for an accelerator go through the phases of Pipeline.cpp as all others do. A maker sees the module twice:
// where kernels are operators, to find what the accelerator's units can compute, and where main is a host program, to
// order it. Kernels become scalar code, too, which the accelerator's scalar core runs where no unit computes them.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_PROGRAMMAKER_H
#define PERPEND_TARGET_PROGRAMMAKER_H

#include "target/Accelerator.h"
#include "target/Program.h"
#include "target/TargetInfo.h"
#include "target/WeightsObject.h"

#include "mlir/IR/BuiltinOps.h"

namespace perpend::target {

/// What a program has besides main.
struct ProgramParts {
  std::vector<std::string>
      objects;        ///< paths: the scalar code, with the functions of ModuleFunctions.h and entries of kernels
  std::string tables; ///< runtime/include/perpend_tables.h
  std::vector<WeightBlob> weights;
  uint64_t weightsBytes = 0;
};

class ProgramMaker {
public:
  virtual ~ProgramMaker() = default;
  /// Behind the phase `fuse`. Errors: diagnostics.
  virtual mlir::LogicalResult takeKernels(mlir::ModuleOp module) = 0;
  /// Behind the phase `plan`. Errors: diagnostics; main has what programs cannot do.
  virtual mlir::LogicalResult takePlan(mlir::ModuleOp module) = 0;
  /// Whether the scalar code has to have main, too: data decides what runs, or sizes.
  virtual bool needsMain() const { return false; }
  /// Behind the last phase.
  virtual llvm::Error write(const ProgramParts &parts, llvm::StringRef output) = 0;
  /// Lines for users: which kernels the units compute, and why the scalar core runs the others.
  virtual std::vector<std::string> report() const { return {}; }
};

/// Of a target of an accelerator.
std::unique_ptr<ProgramMaker> makerOf(const TargetInfo &target);

/// What an accelerator's folder defines for ProgramMaker.cpp.
struct ProgramTools {
  std::unique_ptr<ProgramMaker> (*make)(const TargetInfo &target);
  llvm::Expected<std::unique_ptr<Program>> (*load)(llvm::StringRef path);
};

/// At the start of a tool: an accelerator that Accelerators.def does not list.
void addAccelerator(const Accelerator &accelerator, const ProgramTools &tools);

} // namespace perpend::target

#endif
