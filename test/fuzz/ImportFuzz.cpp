//===- ImportFuzz.cpp - libFuzzer target: bytes to a simplified module ----===//
//
// What an imported model still says of itself must verify, and a failure must
// have been reported.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Import.h"
#include "graph/passes/Passes.h"
#include "interp/Interpreter.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <cstdlib>

using namespace mlir;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  DialectRegistry registry;
  perpend::interp::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  bool hasReported = false;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    hasReported |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    return success();
  });
  StringRef bytes(reinterpret_cast<const char *>(data), size);
  std::shared_ptr<llvm::MemoryBuffer> buffer = llvm::MemoryBuffer::getMemBufferCopy(bytes);
  OwningOpRef<ModuleOp> module = perpend::onnx::importOnnx(context, buffer, "fuzzed");
  PassManager passes(&context);
  passes.addPass(perpend::graph::createGraphInferRequirements());
  passes.addPass(perpend::graph::createGraphSimplify());
  bool holds = module && succeeded(passes.run(*module)) && succeeded(verify(*module));
  if (!holds && !hasReported)
    abort();
  return 0;
}
