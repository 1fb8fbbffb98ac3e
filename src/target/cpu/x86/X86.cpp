//===- X86.cpp - processors of x86-64 -------------------------------------===//
#include "target/cpu/x86/X86.h"
#include "target/Machine.h"
#include "target/vector/ByteGroupCode.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace llvm;

namespace perpend::target {

constexpr StringLiteral extensions[] = {
#define PERPEND_ISA(name, ...) name,
#define PERPEND_ISA_UNUSED(...)
#include "runtime/IsaX86.def"
};

constexpr StringLiteral amxParts[] = {"amx-tile", "amx-int8", "amx-bf16"};

/// LLVM's masked comparisons of f16 in avx512fp16 swap their operands when one of them comes from memory: x <= y
/// becomes y <= x.
constexpr StringLiteral attributes = "-avx512fp16";

static void setFeature(StringRef feature, bool on, StringMap<bool> &features) {
  X86::updateImpliedFeatures(feature, on, features);
  features[feature] = on;
}

static StringMap<bool> featuresOf(StringRef cpu) {
  SmallVector<StringRef, 0> own;
  X86::getFeaturesForCPU(cpu, own);
  StringMap<bool> features;
  for (StringRef feature : own)
    setFeature(feature, true, features);
  return features;
}

static std::vector<std::string> functionsOf(const Machine &machine) {
  std::vector<std::string> functions;
  const bool scales = machine.hasFeature("avx512f") && machine.hasFeature("avx512vl");
  if (scales)
    functions.push_back(scaleFunction.str());
  if (scales && machine.hasFeature("avx512bf16"))
    functions.push_back(roundToBF16Function.str());
  if (machine.hasFeature("f16c"))
    functions.push_back(roundToF16Function.str());
  return functions;
}

/// Only AVX-512BW has 64-byte instructions for elements of 8 and 16 bits.
static unsigned vectorBytesOf(const Machine &machine) {
  if (machine.hasFeature("avx512f") && machine.hasFeature("avx512vl") && machine.hasFeature("avx512bw"))
    return 64;
  return machine.hasFeature("avx2") ? 32 : 16;
}

static void describe(Machine &machine, const StringMap<bool> &features) {
  machine.functions = functionsOf(machine);
  machine.units = {"vectors"};
  if (machine.hasFeature("amx-tile"))
    machine.units.push_back("tiles");
  const bool addsFours =
      machine.hasFeature("avxvnni") || (machine.hasFeature("avx512vl") && machine.hasFeature("avx512vnni"));
  if (machine.hasFeature("avx2") && !addsFours) // products of bytes are added in pairs, to sums of 16 bits
    machine.units.push_back("byte-pairs");
  machine.vectorBytes = vectorBytesOf(machine);
  if (machine.vectorBytes == 64 && features.lookup("clzero")) // measured on a Zen 4
    machine.units.push_back(nearPrefetchUnit.str());
  machine.vectorRegisters = machine.hasFeature("avx512vl") ? 32 : 16;
  machine.fusesMultiplyAdds = machine.hasFeature("fma");
}

static void initialise() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();
}

const Architecture &x86() {
  static const Architecture architecture = {.name = "x86-64",
                                            .type = Triple::x86_64,
                                            .triple = "x86_64-unknown-linux-gnu",
                                            .baseCpu = "x86-64",
                                            .elfMachine = ELF::EM_X86_64,
                                            .elfFlags = 0,
                                            .baseExtension = "sse2",
                                            .extensions = extensions,
                                            .group = {"amx", amxParts},
                                            .attributes = attributes,
                                            .featuresOf = featuresOf,
                                            .setFeature = setFeature,
                                            .describe = describe,
                                            .canHave = nullptr,
                                            .codeFor = nullptr,
                                            .functions = x86Functions(),
                                            .halfConversions = "f16c",
                                            .initialise = initialise,
                                            .emulation = "elf_x86_64",
                                            .dynamicLinker = "/lib64/ld-linux-x86-64.so.2",
                                            .start = x86Start,
                                            .weightsFlags = ELF::SHF_X86_64_LARGE,
                                            .oldestLibc = 0,
                                            .libcLacks = "",
                                            .emulator = "qemu-x86_64-static",
                                            .emulatorOptions = nullptr,
                                            .emulatorFolder = "/usr/x86_64-linux-gnu",
                                            .emulatorPackages = "qemu-user-static libc6-amd64-cross"};
  return architecture;
}

} // namespace perpend::target
