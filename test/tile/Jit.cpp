//===- Jit.cpp - runs tile-level functions in the test's process ----------===//

#include "Jit.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "tile/ir/Tile.h"

#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace perpend::tile;

static void registerDialects(MLIRContext &context) {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect,
                  scf::SCFDialect, vector::VectorDialect, TileDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
}

static void addLowering(PassManager &passes) {
  passes.addPass(createConvertSCFToCFPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createConvertMathToLibmPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

static std::vector<std::unique_ptr<Pass>> only(std::unique_ptr<Pass> pass) {
  std::vector<std::unique_ptr<Pass>> passes;
  passes.push_back(std::move(pass));
  return passes;
}

Jit::Jit(const std::string &source, std::unique_ptr<Pass> pass, const std::vector<std::string> &features,
         const std::function<void(llvm::Module &)> &prepare)
    : Jit(source, only(std::move(pass)), features, prepare) {}

Jit::Jit(const std::string &source, std::vector<std::unique_ptr<Pass>> lowerings,
         const std::vector<std::string> &features, const std::function<void(llvm::Module &)> &prepare) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  MLIRContext context;
  registerDialects(context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source, &context);
  if (!module)
    llvm::report_fatal_error("the test's module does not parse");
  PassManager passes(&context);
  for (std::unique_ptr<Pass> &lowering : lowerings)
    passes.addPass(std::move(lowering));
  addLowering(passes);
  if (failed(passes.run(*module)))
    llvm::report_fatal_error("the test's module does not lower");
  auto builder = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
  builder.addFeatures(features);
  auto machine = llvm::cantFail(builder.createTargetMachine());
  ExecutionEngineOptions options;
  auto optimise = makeOptimizingTransformer(/*optLevel=*/3, /*sizeLevel=*/0, machine.get());
  auto transform = [&](llvm::Module *code) {
    if (prepare)
      prepare(*code);
    return optimise(code);
  };
  options.transformer = transform;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Default;
  engine = llvm::cantFail(ExecutionEngine::create(*module, options, std::move(machine)));
}

void *Jit::address(const std::string &symbol) { return llvm::cantFail(engine->lookup(symbol)); }
