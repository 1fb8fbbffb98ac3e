//===- AArch64.cpp - processors of AArch64 --------------------------------===//
//
// Vectors have 16 bytes, or the length of SVE that a target names: LLVM knows which processors have SVE, but not how
// long their vectors are. Code for a length runs where vectors have exactly this one, so that a register is a vector
// and addresses are constants; the runtime asks for it.
//
#include "target/cpu/aarch64/AArch64.h"
#include "target/Machine.h"
#include "target/vector/WordProducts.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/AArch64TargetParser.h"
#include <map>

using namespace llvm;

namespace perpend::target {

constexpr StringLiteral extensions[] = {
#define PERPEND_ISA(name, ...) name,
#define PERPEND_ISA_UNUSED(...)
#include "runtime/IsaAArch64.def"
};

/// Vectors of so many bytes. Of a machine with several of these names, the first counts.
constexpr std::pair<StringLiteral, unsigned> vectorLengths[] = {{"sve256", 32}};
constexpr StringLiteral vectors = "sve", withoutVectors = "-sve";
/// A load to all lanes occupies a load; LLVM's choice for some processors, a load and a copy, also what multiplies.
constexpr StringLiteral withVectors = "+sve,-no-sve-fp-ld1r";
constexpr unsigned leastVectorBytes = 16; // which all processors have without SVE

/// The lengths of LLVM's processors, as their manuals give them, where they are not the least one.
constexpr std::pair<StringLiteral, StringLiteral> lengthsOfProcessors[] = {{"neoverse-v1", "sve256"}};

static bool isLength(StringRef feature) {
  return any_of(vectorLengths, [&](const auto &length) { return length.first == feature; });
}

static unsigned vectorBytesOf(function_ref<bool(StringRef)> hasFeature) {
  for (auto [name, bytes] : vectorLengths)
    if (hasFeature(name))
      return bytes;
  return leastVectorBytes;
}

static std::optional<AArch64::ExtensionInfo> extensionOf(StringRef feature) {
  return AArch64::targetFeatureToExtension(("+" + feature).str());
}

static void read(const AArch64::ExtensionSet &set, StringMap<bool> &features) {
  for (const AArch64::ExtensionInfo &each : AArch64::Extensions)
    if (!each.PosTargetFeature.empty())
      features[each.PosTargetFeature.drop_front()] = set.Enabled.test(each.ID);
}

/// A length needs SVE, which stays behind without: LLVM's processors have it, and code does not use it.
static void setFeature(StringRef feature, bool on, StringMap<bool> &features) {
  if (isLength(feature))
    features[feature] = on;
  if (isLength(feature) && !on)
    return;
  std::optional<AArch64::ExtensionInfo> changed = extensionOf(isLength(feature) ? StringRef(vectors) : feature);
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
  for (auto [name, bytes] : vectorLengths)
    if (!features.lookup(vectors))
      features[name] = false;
}

static StringMap<bool> featuresOf(StringRef cpu) {
  StringMap<bool> features;
  AArch64::ExtensionSet set;
  if (std::optional<AArch64::CpuInfo> known = AArch64::parseCpu(cpu))
    set.addCPUDefaults(*known);
  read(set, features);
  for (auto [processor, length] : lengthsOfProcessors)
    if (processor == cpu)
      features[length] = true;
  return features;
}

static void describe(Machine &machine, const StringMap<bool> &) {
  machine.functions = {roundToF16Function.str()};
  machine.units = {"vectors"};
  machine.vectorBytes = vectorBytesOf([&](StringRef name) { return machine.hasFeature(name); });
  if (machine.vectorBytes == leastVectorBytes) // longer vectors have lanes of each part of 16 bytes only
    machine.units.push_back(laneUnit.str());
  machine.vectorRegisters = 32;
  machine.fusesMultiplyAdds = true;
}

/// What a processor has beyond or less than LLVM's of this name.
static CodeGenerator codeFor(StringRef cpu, const StringMap<bool> &features) {
  const StringMap<bool> own = featuresOf(cpu);
  std::map<std::string, bool> changes;
  for (const AArch64::ExtensionInfo &each : AArch64::Extensions)
    if (const StringRef feature = each.PosTargetFeature; !feature.empty()) {
      const StringRef name = feature.drop_front();
      if (const bool on = features.lookup(name); name != vectors && on != own.lookup(name))
        changes[name.str()] = on;
    }
  CodeGenerator code;
  code.cpu = cpu.str();
  for (const auto &[name, on] : changes)
    code.attributes += (on ? "+" : "-") + name + ",";
  const bool hasLength = vectorBytesOf([&](StringRef name) { return features.lookup(name); }) != leastVectorBytes;
  code.attributes += hasLength ? withVectors : withoutVectors;
  return code;
}

static void prepareFunction(Function &function, const Machine &machine) {
  if (const unsigned parts = machine.vectorBytes / leastVectorBytes; parts > 1)
    function.addFnAttr(Attribute::getWithVScaleRangeArgs(function.getContext(), parts, parts));
}

/// Without options, qemu's processor has all extensions, and vectors of 64 bytes.
static std::vector<std::string> emulatorOptions(ArrayRef<std::string> extensions) {
  const unsigned bytes = vectorBytesOf([&](StringRef name) { return is_contained(extensions, name); });
  if (bytes == leastVectorBytes)
    return {};
  return {"-cpu", "max,sve-default-vector-length=" + std::to_string(bytes)};
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
                                            .attributes = {},
                                            .featuresOf = featuresOf,
                                            .setFeature = setFeature,
                                            .describe = describe,
                                            .canHave = nullptr,
                                            .codeFor = codeFor,
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
                                            .emulatorOptions = emulatorOptions,
                                            .emulatorFolder = "/usr/aarch64-linux-gnu",
                                            .emulatorPackages = "qemu-user-static libc6-arm64-cross",
                                            .prepareFunction = prepareFunction};
  return architecture;
}

} // namespace perpend::target
