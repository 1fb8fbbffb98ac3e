//===- Wasm32.cpp - WebAssembly with 32-bit addresses ---------------------===//
//
// An engine compiles a module's vectors of 16 bytes for the processor at hand. It refuses a module whose instructions
// it does not know, so a module that runs has all that it needs (docs/decisions/0075-several-machines-in-a-module.md).
//
//===----------------------------------------------------------------------===//
#include "target/cpu/wasm32/Wasm32.h"
#include "target/Machine.h"
#include "target/cpu/wasm32/RelaxedSums.h"

#include "llvm/Support/TargetSelect.h"

using namespace llvm;

namespace perpend::target {

/// Of WebAssembly 2.0, which engines have had since 2021 (Safari 2023).
constexpr StringLiteral attributes =
    "+simd128,+bulk-memory,+nontrapping-fptoint,+sign-ext,+mutable-globals,+multivalue";

/// Beyond that; a module with it is refused by engines without.
constexpr StringLiteral extensions[] = {relaxedSimd};

/// They lie in one block, and sizes of blocks are signed (runtime/wasm/Memory.cpp); a page is left for its alignment.
constexpr uint64_t mostWeightsBytes = (uint64_t{1} << 31) - (1 << 16);

static StringMap<bool> featuresOf(StringRef) { return {}; }

static void setFeature(StringRef feature, bool on, StringMap<bool> &features) { features[feature] = on; }

static void finishFunction(Function &function, const Machine &machine) {
  if (machine.hasFeature(relaxedSimd))
    relaxSums(function);
}

/// Engines have 16 vector registers on x86-64 and 32 on AArch64.
static void describe(Machine &machine, const StringMap<bool> &) {
  machine.units = {"vectors"};
  machine.pointerBytes = 4;
  machine.vectorBytes = 16;
  machine.vectorRegisters = 16;
  machine.hasF16 = false; // LLVM would compute with them in f32 without rounding in between
}

static void initialise() {
  LLVMInitializeWebAssemblyTargetInfo();
  LLVMInitializeWebAssemblyTarget();
  LLVMInitializeWebAssemblyTargetMC();
  LLVMInitializeWebAssemblyAsmPrinter();
  LLVMInitializeWebAssemblyAsmParser();
}

const Architecture &wasm32() {
  static const Architecture architecture = {.name = "wasm32",
                                            .type = Triple::wasm32,
                                            .triple = "wasm32-unknown-unknown",
                                            .baseCpu = "generic",
                                            .elfMachine = 0,
                                            .elfFlags = 0,
                                            .baseExtension = "simd128",
                                            .extensions = extensions,
                                            .group = {},
                                            .attributes = attributes,
                                            .featuresOf = featuresOf,
                                            .setFeature = setFeature,
                                            .describe = describe,
                                            .canHave = nullptr,
                                            .codeFor = nullptr,
                                            .functions = {},
                                            .halfConversions = "",
                                            .initialise = initialise,
                                            .emulation = "",
                                            .dynamicLinker = "",
                                            .start = "",
                                            .weightsFlags = 0,
                                            .oldestLibc = 0,
                                            .libcLacks = "",
                                            .emulator = "node",
                                            .emulatorOptions = nullptr,
                                            .emulatorFolder = "",
                                            .emulatorPackages = "nodejs",
                                            .runner = "perpend-runner.mjs",
                                            .finishFunction = finishFunction,
                                            .isEmulated = false,
                                            .libraryEnding = ".wasm",
                                            .joinsLibraries = true,
                                            .mostWeightsBytes = mostWeightsBytes,
                                            .isFixed = true};
  return architecture;
}

} // namespace perpend::target
