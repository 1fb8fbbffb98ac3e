//===- CortexM.cpp - microcontrollers of Arm ------------------------------===//
//
// Processors without an operating system, with some hundred kilobytes of memory. A core without vectors keeps sums in
// its registers of floats, so a register tile has vectors of one float. Multiply-adds of pairs of 16 bits (DSP) add up
// the words of bytes.
//
//===----------------------------------------------------------------------===//
#include "target/cpu/cortexm/CortexM.h"
#include "target/Machine.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/ARMTargetParser.h"

using namespace llvm;

namespace perpend::target {

/// In four parts: of three, LLVM would take the last for an operating system, and pass floats in integer registers.
constexpr StringLiteral triple = "thumbv7em-none-unknown-eabihf";

/// Vectors of 128 bits: of integers, and of f32, too.
constexpr StringLiteral extensions[] = {"mve", "mve.fp"};

/// What FPGA images of the boards have, from which programs run in memory that microcontrollers would have as flash.
constexpr Board boards[] = {
    {"cortex-m4", "mps2-an386", {0, 0x400}, {0x400, 0x3FFC00}, {0x21000000, 0x1000000}},
    {"cortex-m7", "mps2-an500", {0, 0x400}, {0x400, 0x3FFC00}, {0x60000000, 0x1000000}},
    {"cortex-m55", "mps3-an547", {0, 0x400}, {0x70000000, 0x4000000}, {0x74000000, 0x4000000}},
};

/// Without a screen; inputs and outputs are streams of semihosting.
constexpr StringLiteral imageOptions[] = {
    "-display", "none", "-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native",
    "-kernel"};

static StringMap<bool> featuresOf(StringRef cpu) {
  std::vector<StringRef> list;
  ARM::getExtensionFeatures(ARM::getDefaultExtensions(cpu, ARM::parseCPUArch(cpu)), list);
  StringMap<bool> features;
  for (StringRef feature : list)
    features[feature.drop_front()] = feature.starts_with("+");
  return features;
}

static void setFeature(StringRef feature, bool on, StringMap<bool> &features) {
  features[feature] = on;
  for (StringRef each : extensions) // the second needs the first
    if (each.size() < feature.size() ? on : !on)
      features[each] = on;
}

/// Vectors came with the second version of the architecture.
static bool canHave(StringRef cpu, StringRef extension) {
  return !is_contained(extensions, extension) || ARM::parseCPUArch(cpu) == ARM::ArchKind::ARMV8_1MMainline;
}

static void describe(Machine &machine, const StringMap<bool> &) {
  machine.levels = {{"thread", /*count=*/1}};
  machine.pointerBytes = 4;
  const bool hasVectors = machine.hasFeature("mve.fp");
  machine.units = {"vectors"};
  if (!hasVectors)
    machine.units.push_back("pairs");
  machine.vectorBytes = hasVectors ? 16 : 4;
  machine.vectorRegisters = hasVectors ? 8 : 16;
  machine.fusesMultiplyAdds = true;
  machine.hasF64 = machine.hasFeature("fp64");
  machine.hasF16 = false; // LLVM would compute with them in f32 without rounding in between
}

static void initialise() {
  LLVMInitializeARMTargetInfo();
  LLVMInitializeARMTarget();
  LLVMInitializeARMTargetMC();
  LLVMInitializeARMAsmPrinter();
  LLVMInitializeARMAsmParser();
}

const Architecture &cortexm() {
  static const Architecture architecture = {.name = "cortex-m",
                                            .type = Triple::thumb,
                                            .triple = triple,
                                            .baseCpu = "cortex-m4",
                                            .elfMachine = ELF::EM_ARM,
                                            .elfFlags = ELF::EF_ARM_EABI_VER5,
                                            .baseExtension = "dsp",
                                            .extensions = extensions,
                                            .group = {},
                                            .attributes = "",
                                            .featuresOf = featuresOf,
                                            .setFeature = setFeature,
                                            .describe = describe,
                                            .canHave = canHave,
                                            .codeFor = nullptr,
                                            .functions = {},
                                            .halfConversions = "",
                                            .initialise = initialise,
                                            .emulation = "armelf",
                                            .dynamicLinker = "",
                                            .start = "",
                                            .weightsFlags = 0,
                                            .oldestLibc = 0,
                                            .libcLacks = "roundeven roundevenf",
                                            .emulator = "qemu-system-arm",
                                            .emulatorOptions = nullptr,
                                            .emulatorFolder = "",
                                            .emulatorPackages = "qemu-system-arm",
                                            .libraryEnding = ".o",
                                            .isFixed = true,
                                            .hasRuntime = false,
                                            .boards = boards,
                                            .imageOptions = imageOptions,
                                            .imageEntry = "reset"};
  return architecture;
}

} // namespace perpend::target
