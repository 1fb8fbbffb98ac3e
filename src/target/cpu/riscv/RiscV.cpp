//===- RiscV.cpp - processors of RISC-V with 64 bits ----------------------===//
//
// A machine that LLVM has no processor for is named by what it executes, as in rv64gcv_zvl256b. Vectors in code have
// the length that every processor with the machine's features has (zvl256b: 256 bits); longer ones run it, too.
//
//===----------------------------------------------------------------------===//
#include "target/cpu/riscv/RiscV.h"
#include "target/Machine.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/RISCVISAInfo.h"
#include "llvm/TargetParser/RISCVTargetParser.h"
#include <map>

using namespace llvm;

namespace perpend::target {

constexpr StringLiteral extensions[] = {
#define PERPEND_ISA(name, ...) name,
#define PERPEND_ISA_UNUSED(...)
#include "runtime/IsaRiscV.def"
};

/// Emulators of its time do not execute it, and it makes no kernel faster.
constexpr StringLiteral attributes = "-zicond";

/// Vectors of at least so many bits, which the extension of vectors has without them.
constexpr std::pair<StringLiteral, unsigned> vectorLengths[] = {{"zvl1024b", 128}, {"zvl512b", 64}, {"zvl256b", 32}};
/// The extension of vectors, and the least that LLVM has vectors with. A length says nothing without them.
constexpr StringLiteral vectors = "v", anyVectors = "zve32x", lengthPrefix = "zvl", doubles = "d";

static bool isKnown(StringRef cpu) { return RISCV::parseCPU(cpu, /*IsRV64=*/true); }

/// What LLVM makes of a list of features: those, and what they imply. Empty: they do not go together.
static StringMap<bool> closureOf(ArrayRef<StringRef> features) {
  std::vector<std::string> list;
  for (StringRef feature : features)
    list.push_back("+" + feature.str());
  StringMap<bool> all;
  auto read = RISCVISAInfo::parseFeatures(/*XLen=*/64, list);
  if (!read)
    return consumeError(read.takeError()), all;
  for (const std::string &feature : (*read)->toFeatures())
    all[StringRef(feature).drop_front()] = true;
  return all;
}

static StringMap<bool> featuresOf(StringRef cpu) {
  SmallVector<std::string> own;
  if (isKnown(cpu)) {
    RISCV::getFeaturesForCPU(cpu, own);
  } else if (auto read = RISCVISAInfo::parseArchString(cpu, /*EnableExperimentalExtension=*/false)) {
    for (const std::string &feature : (*read)->toFeatures())
      own.push_back(StringRef(feature).drop_front().str());
  } else {
    consumeError(read.takeError());
  }
  StringMap<bool> features;
  for (const std::string &feature : own)
    features[feature] = true;
  return features;
}

/// Whether a feature is nothing without another one.
static bool needs(StringRef feature, StringRef other) {
  const bool isLength = feature.starts_with(lengthPrefix);
  return feature == other || closureOf({feature, isLength ? vectors : doubles}).lookup(other);
}

static void setFeature(StringRef feature, bool on, StringMap<bool> &features) {
  if (on) {
    const bool isLength = feature.starts_with(lengthPrefix);
    for (const auto &each : closureOf({feature, isLength ? vectors : doubles}))
      features[each.first()] = true;
    return;
  }
  const StringRef gone = feature == vectors ? StringRef(anyVectors) : feature;
  for (auto &each : features)
    if (each.second && needs(each.first(), gone))
      each.second = false;
}

static void describe(Machine &machine, const StringMap<bool> &) {
  machine.fusesMultiplyAdds = true;
  machine.vectorRegisters = 32;
  if (!machine.hasFeature(vectors))
    return;
  machine.units = {"vectors"};
  machine.cyclesOfWord = 8; // LLVM loads its elements and slides them; single numbers are operands of instructions
  machine.vectorBytes = 16;
  for (auto [name, bytes] : reverse(vectorLengths))
    if (machine.hasFeature(name))
      machine.vectorBytes = bytes;
  if (machine.hasFeature("zvfhmin"))
    machine.functions = {roundToF16Function.str()};
}

/// All features, since what LLVM switches off leaves what it implied.
static CodeGenerator codeFor(StringRef cpu, const StringMap<bool> &features) {
  std::map<std::string, bool> wanted; // lists of features are gone when it is read
  if (isKnown(cpu))
    for (const auto &each : featuresOf(cpu))
      if (each.second && !features.lookup(each.first()))
        wanted[each.first().str()] = false;
  for (const auto &each : features)
    if (each.second)
      wanted[each.first().str()] = true;
  CodeGenerator code;
  code.cpu = isKnown(cpu) ? cpu.str() : "generic-rv64";
  for (const auto &[feature, on] : wanted)
    code.attributes += (code.attributes.empty() ? "" : ",") + std::string(on ? "+" : "-") + feature;
  code.attributes += "," + attributes.str();
  return code;
}

/// qemu's processors have vectors, and numbers of f16, on demand. What qemu 7.2 executes cannot all be asked of it.
static std::vector<std::string> emulatorOptions(ArrayRef<std::string> extensions) {
  std::string cpu = "rv64";
  if (is_contained(extensions, vectors)) {
    unsigned bytes = 16;
    for (auto [name, least] : reverse(vectorLengths))
      if (is_contained(extensions, name))
        bytes = least;
    cpu += ",v=true,vext_spec=v1.0,vlen=" + std::to_string(8 * bytes);
  }
  std::string unasked;
  for (StringRef name : {"zba", "zbb", "zbs", "zfh", "zfhmin", "zvfh", "zvfhmin"})
    if (is_contained(extensions, name)) {
      unasked += (unasked.empty() ? "" : ":") + name.str();
      cpu += name == "zfh" ? ",Zfh=true" : "";
    }
  std::vector<std::string> options = {"-cpu", cpu};
  if (!unasked.empty())
    options.insert(options.end(), {"-E", "PERPEND_EXECUTES=" + unasked});
  return options;
}

static void initialise() {
  LLVMInitializeRISCVTargetInfo();
  LLVMInitializeRISCVTarget();
  LLVMInitializeRISCVTargetMC();
  LLVMInitializeRISCVAsmPrinter();
  LLVMInitializeRISCVAsmParser();
}

const Architecture &riscv() {
  static const Architecture architecture = {.name = "riscv64",
                                            .type = Triple::riscv64,
                                            .triple = "riscv64-unknown-linux-gnu",
                                            .baseCpu = "rv64gc",
                                            .elfMachine = ELF::EM_RISCV,
                                            .elfFlags = ELF::EF_RISCV_RVC | ELF::EF_RISCV_FLOAT_ABI_DOUBLE,
                                            .baseExtension = "d",
                                            .extensions = extensions,
                                            .group = {},
                                            .attributes = attributes,
                                            .featuresOf = featuresOf,
                                            .setFeature = setFeature,
                                            .describe = describe,
                                            .canHave = nullptr,
                                            .codeFor = codeFor,
                                            .functions = riscvFunctions(),
                                            .halfConversions = "zfhmin",
                                            .initialise = initialise,
                                            .emulation = "elf64lriscv",
                                            .dynamicLinker = "/lib/ld-linux-riscv64-lp64d.so.1",
                                            .start = riscvStart,
                                            .weightsFlags = 0,
                                            .oldestLibc = 27,
                                            .libcLacks = "pthread_atfork",
                                            .emulator = "qemu-riscv64-static",
                                            .emulatorOptions = emulatorOptions,
                                            .emulatorFolder = "/usr/riscv64-linux-gnu",
                                            .emulatorPackages = "qemu-user-static libc6-riscv64-cross"};
  return architecture;
}

} // namespace perpend::target
