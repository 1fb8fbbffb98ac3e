//===- Jit.h - runs tile-level functions in the test's process --*- C++ -*-===//

#ifndef PERPEND_TEST_TILE_JIT_H
#define PERPEND_TEST_TILE_JIT_H

#include "mlir/ExecutionEngine/CRunnerUtils.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/Pass/Pass.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace perpend::tile {

/// A module whose functions have the attribute llvm.emit_c_interface. Errors end the process with a message.
class Jit {
public:
  /// Parses `source`, runs `lowerings` on it, lowers it to machine code with vectorisation for this machine, and
  /// `features` that it has beside ("+amx-tile"). `prepare` sees the module before LLVM optimises it.
  Jit(const std::string &source, std::vector<std::unique_ptr<mlir::Pass>> lowerings,
      const std::vector<std::string> &features = {}, const std::function<void(llvm::Module &)> &prepare = {});
  Jit(const std::string &source, std::unique_ptr<mlir::Pass> pass, const std::vector<std::string> &features = {},
      const std::function<void(llvm::Module &)> &prepare = {});

  template <typename Function> Function *function(const std::string &name) {
    return reinterpret_cast<Function *>(address("_mlir_ciface_" + name));
  }

private:
  void *address(const std::string &symbol);

  std::unique_ptr<mlir::ExecutionEngine> engine;
};

using Buffer = StridedMemRefType<float, 1>;

template <typename Number> StridedMemRefType<Number, 1> bufferOf(std::vector<Number> &values) {
  return {values.data(), values.data(), 0, {static_cast<int64_t>(values.size())}, {1}};
}

} // namespace perpend::tile

#endif
