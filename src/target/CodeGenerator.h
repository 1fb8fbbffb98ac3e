//===- CodeGenerator.h - what makes code for a machine ----------*- C++ -*-===//
//
// The other half of a target (TargetInfo.h): nothing here is read by rules, cost model, planner, tuner or report.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_CODEGENERATOR_H
#define PERPEND_TARGET_CODEGENERATOR_H

#include <string>

namespace perpend::target {

struct CodeGenerator {
  std::string triple;     ///< e.g. "x86_64-unknown-linux-gnu"; empty: no code is made, the interpreter runs it
  std::string cpu;        ///< LLVM's -mcpu
  std::string attributes; ///< LLVM's -mattr on top of cpu, may be empty
  /// Whose programs artifacts are (Accelerator.h), which contain this code; empty: they are this code.
  std::string accelerator = "";
};

} // namespace perpend::target

#endif
