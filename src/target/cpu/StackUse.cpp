//===- StackUse.cpp - how much stack compiled code takes ------------------===//

#include "target/cpu/StackUse.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"

using namespace llvm;

namespace perpend::target {
namespace {

/// The code generator reports frames of more bytes than a function's limit.
constexpr StringLiteral limitAttribute = "warn-stack-size";

/// Takes these reports, and leaves all others to the handler that was there.
class FrameHandler : public DiagnosticHandler {
public:
  FrameHandler(std::shared_ptr<StringMap<uint64_t>> frames, std::unique_ptr<DiagnosticHandler> other)
      : frames(std::move(frames)), other(std::move(other)) {}

  bool handleDiagnostics(const DiagnosticInfo &information) override {
    if (information.getKind() != DK_StackSize)
      return other && other->handleDiagnostics(information);
    const auto &size = static_cast<const DiagnosticInfoStackSize &>(information);
    (*frames)[size.getFunction().getName()] = size.getStackSize();
    return true;
  }

private:
  std::shared_ptr<StringMap<uint64_t>> frames;
  std::unique_ptr<DiagnosticHandler> other;
};

class ChainMeasurer {
public:
  ChainMeasurer(const Module &module, const StringMap<uint64_t> &frames) : frames(frames) {
    for (const Function &function : module)
      if (!function.isDeclaration() && function.hasAddressTaken())
        reachable.push_back(&function);
  }

  std::optional<uint64_t> bytesOf(const Function &function) {
    if (function.isDeclaration())
      return 0;
    auto [known, isNew] = bytes.try_emplace(&function, std::nullopt); // stays so in a circle
    if (!isNew)
      return known->second;
    uint64_t deepest = 0;
    for (const Instruction &instruction : instructions(function)) {
      const auto *memory = dyn_cast<AllocaInst>(&instruction);
      if (memory && !memory->isStaticAlloca())
        return std::nullopt;
      const auto *call = dyn_cast<CallBase>(&instruction);
      std::optional<uint64_t> inside = call ? bytesOf(*call) : 0;
      if (!inside)
        return std::nullopt;
      deepest = std::max(deepest, *inside);
    }
    return bytes[&function] = frames.lookup(function.getName()) + deepest;
  }

private:
  std::optional<uint64_t> bytesOf(const CallBase &call) {
    if (const auto *called = dyn_cast<Function>(call.getCalledOperand()->stripPointerCasts()))
      return bytesOf(*called);
    uint64_t deepest = 0;
    for (const Function *function : reachable) {
      if (call.isInlineAsm() || function->getFunctionType() != call.getFunctionType())
        continue;
      std::optional<uint64_t> inside = bytesOf(*function);
      if (!inside)
        return std::nullopt;
      deepest = std::max(deepest, *inside);
    }
    return deepest;
  }

  const StringMap<uint64_t> &frames;
  SmallVector<const Function *> reachable; ///< through pointers
  DenseMap<const Function *, std::optional<uint64_t>> bytes;
};

} // namespace

StackUse::StackUse(Module &module) : module(module), frames(std::make_shared<StringMap<uint64_t>>()) {
  for (Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr(limitAttribute, "0");
  LLVMContext &context = module.getContext();
  context.setDiagnosticHandler(std::make_unique<FrameHandler>(frames, context.getDiagnosticHandler()));
}

std::optional<uint64_t> StackUse::bytesOf(StringRef function) const {
  const Function *found = module.getFunction(function);
  return found ? ChainMeasurer(module, *frames).bytesOf(*found) : std::nullopt;
}

} // namespace perpend::target
