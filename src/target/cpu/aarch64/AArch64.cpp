//===- AArch64.cpp - processors of AArch64 --------------------------------===//
#include "target/cpu/aarch64/AArch64.h"
#include "target/Machine.h"
#include "target/vector/WordProducts.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/AArch64TargetParser.h"

using namespace llvm;

namespace perpend::target {

constexpr StringLiteral extensions[] = {
#define PERPEND_ISA(name, ...) name,
#define PERPEND_ISA_UNUSED(...)
#include "runtime/IsaAArch64.def"
};

/// Code has vectors of 16 bytes. Those whose length is known at run time only are not described yet.
constexpr StringLiteral attributes = "-sve";

static std::optional<AArch64::ExtensionInfo> extensionOf(StringRef feature) {
  return AArch64::targetFeatureToExtension(("+" + feature).str());
}

static void read(const AArch64::ExtensionSet &set, StringMap<bool> &features) {
  for (const AArch64::ExtensionInfo &each : AArch64::Extensions)
    if (!each.PosTargetFeature.empty())
      features[each.PosTargetFeature.drop_front()] = set.Enabled.test(each.ID);
}

static void setFeature(StringRef feature, bool on, StringMap<bool> &features) {
  std::optional<AArch64::ExtensionInfo> changed = extensionOf(feature);
  if (!changed)
    return;
  AArch64::ExtensionSet set;
  for (const auto &each : features)
    if (std::optional<AArch64::ExtensionInfo> known = each.second ? extensionOf(each.first()) : std::nullopt)
      set.Enabled.set(known->ID);
  if (on)
    set.enable(changed->ID);
  else
    set.disable(changed->ID);
  read(set, features);
}

static StringMap<bool> featuresOf(StringRef cpu) {
  StringMap<bool> features;
  AArch64::ExtensionSet set;
  if (std::optional<AArch64::CpuInfo> known = AArch64::parseCpu(cpu))
    set.addCPUDefaults(*known);
  read(set, features);
  return features;
}

static void describe(Machine &machine) {
  machine.functions = {roundToF16Function.str()};
  machine.units = {"vectors", laneUnit.str()};
  machine.vectorBytes = 16;
  machine.vectorRegisters = 32;
  machine.fusesMultiplyAdds = true;
}

static void initialise() {
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
  LLVMInitializeAArch64AsmParser();
}

const Architecture &aarch64() {
  static const Architecture architecture = {.name = "aarch64",
                                            .type = Triple::aarch64,
                                            .triple = "aarch64-unknown-linux-gnu",
                                            .baseCpu = "generic",
                                            .elfMachine = ELF::EM_AARCH64,
                                            .elfFlags = 0,
                                            .baseExtension = "neon",
                                            .extensions = extensions,
                                            .group = {},
                                            .attributes = attributes,
                                            .featuresOf = featuresOf,
                                            .setFeature = setFeature,
                                            .describe = describe,
                                            .canHave = nullptr,
                                            .codeFor = nullptr,
                                            .functions = aarch64Functions(),
                                            .halfConversions = "",
                                            .initialise = initialise,
                                            .emulation = "aarch64linux",
                                            .dynamicLinker = "/lib/ld-linux-aarch64.so.1",
                                            .start = aarch64Start,
                                            .weightsFlags = 0,
                                            .oldestLibc = 17,
                                            .libcLacks = "pthread_atfork",
                                            .emulator = "qemu-aarch64-static",
                                            .emulatorOptions = nullptr,
                                            .emulatorFolder = "/usr/aarch64-linux-gnu",
                                            .emulatorPackages = "qemu-user-static libc6-arm64-cross"};
  return architecture;
}

} // namespace perpend::target
