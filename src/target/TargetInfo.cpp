//===- TargetInfo.cpp - Resolves target names ----------------------------===//
//
// LLVM says which extensions a processor has; Targets.def adds what LLVM does not know (caches, bandwidth, tiles).
// `host` is the entry for this processor if the system really offers all its extensions (a virtual machine may hide
// some), else the best generic level that it offers.
//
//===----------------------------------------------------------------------===//
#include "target/TargetInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <algorithm>
#include <limits>
#include <map>

using namespace llvm;

namespace perpend::target {
namespace {

struct Machine {
  StringLiteral name;
  unsigned l1KiB, l2KiB, l3KiB, fmaPerCycle, gemmRows, megabytesPerSecond, megahertz;
};

constexpr Machine machines[] = {
#define PERPEND_TARGET(name, ...) {name, __VA_ARGS__},
#include "target/Targets.def"
};

struct HostAlias {
  StringLiteral processor, entry;
};

constexpr HostAlias hostAliases[] = {
#define PERPEND_HOST_ALIAS(processor, entry) {processor, entry},
#include "target/Targets.def"
};

constexpr StringLiteral isaNames[] = {
#define PERPEND_ISA(name, ...) name,
#define PERPEND_ISA_UNUSED(...)
#include "runtime/IsaX86.def"
};

constexpr StringLiteral amxParts[] = {"amx-tile", "amx-int8", "amx-bf16"};

/// Generic levels, best first: what `host` falls back to.
constexpr StringLiteral genericLevels[] = {"x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64"};

/// Features asked for on top of a machine: name -> on or off. Sorted, so that the order of asking does not matter.
using FeatureChanges = std::map<std::string, bool>;

const Machine *findMachine(StringRef name) {
  const Machine *found = llvm::find_if(machines, [&](const Machine &machine) { return machine.name == name; });
  return found == std::end(machines) ? nullptr : found;
}

/// "did you mean 'haswell'? ", or nothing where no name is near enough for a misspelling.
std::string guess(StringRef text, ArrayRef<StringRef> names) {
  auto distance = [&](StringRef name) { return text.edit_distance(name); };
  StringRef best = *llvm::min_element(names, [&](StringRef a, StringRef b) { return distance(a) < distance(b); });
  return distance(best) <= text.size() / 3 ? formatv("did you mean '{0}'? ", best).str() : "";
}

std::vector<StringRef> isaNameList() { return {std::begin(isaNames), std::end(isaNames)}; }

std::vector<std::string> isaOf(StringRef cpu, const FeatureChanges &changes) {
  SmallVector<StringRef, 0> cpuFeatures;
  X86::getFeaturesForCPU(cpu, cpuFeatures);
  StringMap<bool> enabled;
  for (StringRef feature : cpuFeatures) {
    X86::updateImpliedFeatures(feature, true, enabled);
    enabled[feature] = true;
  }
  for (bool on : {true, false}) // switching off wins over what is implied by switching on
    for (const auto &[feature, wanted] : changes)
      if (wanted == on) {
        X86::updateImpliedFeatures(feature, on, enabled);
        enabled[feature] = on;
      }
  std::vector<std::string> isa;
  for (StringRef name : isaNames)
    if (enabled.lookup(name))
      isa.push_back(name.str());
  return isa;
}

bool hostOffers(StringRef machine, const StringMap<bool> &hostFeatures) {
  return llvm::all_of(isaOf(machine, {}), [&](const std::string &name) { return hostFeatures.lookup(name); });
}

StringRef hostMachineName() {
  StringRef processor = sys::getHostCPUName();
  for (const HostAlias &alias : hostAliases)
    if (alias.processor == processor)
      processor = alias.entry;
  const StringMap<bool> hostFeatures = sys::getHostCPUFeatures();
  if (const Machine *machine = findMachine(processor); machine && hostOffers(machine->name, hostFeatures))
    return machine->name;
  for (StringRef level : genericLevels)
    if (hostOffers(level, hostFeatures))
      return level;
  return "x86-64";
}

Error addFeature(StringRef text, StringRef feature, FeatureChanges &changes) {
  const bool on = feature.consume_front("+");
  if (!on && !feature.consume_front("-"))
    return createStringError(formatv("target '{0}': expected +feature or -feature after the comma, got '{1}'\n"
                                     "hint: write '+{1}' to switch it on",
                                     text, feature));
  if (on && (feature == "amx" || feature.starts_with("amx-")))
    return createStringError(
        formatv("target '{0}': nothing that is generated uses AMX yet, and the artifact would refuse "
                "machines without it\nhint: leave out '+{1}'",
                text, feature));
  if (feature == "amx") {
    for (StringRef part : amxParts)
      changes[part.str()] = on;
    return Error::success();
  }
  if (!llvm::is_contained(isaNames, feature))
    return createStringError(formatv("target '{0}': unknown feature '{1}'\nhint: {2}features: amx, {3}", text, feature,
                                     guess(feature, isaNameList()), join(isaNameList(), ", ")));
  changes[feature.str()] = on;
  return Error::success();
}

std::string featureText(const FeatureChanges &changes) {
  return join(llvm::map_range(changes, [](const auto &change) { return (change.second ? "+" : "-") + change.first; }),
              ",");
}

/// VNNI multiplies bytes. Pairs of 16 bits are part of SSE2, which every x86-64 has, of AVX2, and of AVX-512BW.
void setIntegerProducts(TargetInfo &info) {
  const bool isWide = info.vectorBytes == 64;
  info.accumulatesDots = isWide ? info.hasIsa("avx512vnni")
                                : info.hasIsa("avxvnni") || (info.hasIsa("avx512vnni") && info.hasIsa("avx512vl"));
  const bool hasPairs = !isWide || info.hasIsa("avx512bw");
  info.integersPerWord = info.accumulatesDots ? 4 : hasPairs ? 2 : 1;
}

TargetInfo makeTarget(const Machine &machine, const FeatureChanges &changes) {
  TargetInfo info;
  info.cpu = machine.name.str();
  info.features = featureText(changes);
  info.name = info.features.empty() ? info.cpu : info.cpu + "," + info.features;
  info.triple = "x86_64-unknown-linux-gnu";
  info.isa = isaOf(machine.name, changes);
  const bool hasAvx512 = info.hasIsa("avx512f") && info.hasIsa("avx512vl");
  info.vectorBytes = hasAvx512 ? 64 : info.hasIsa("avx2") ? 32 : 16;
  info.vectorRegisters = hasAvx512 ? 32 : 16;
  setIntegerProducts(info);
  info.l1Bytes = uint64_t(machine.l1KiB) << 10;
  info.l2Bytes = uint64_t(machine.l2KiB) << 10;
  info.l3Bytes = uint64_t(machine.l3KiB) << 10;
  info.fusesMultiplyAdds = info.hasIsa("fma");
  info.fmaPerCycle = machine.fmaPerCycle;
  // Features may take registers away from the tile of the entry: accumulators, two vectors of B, one of A.
  info.gemmRows = std::min(machine.gemmRows, (info.vectorRegisters - 3) / 2);
  info.bytesPerSecond = machine.megabytesPerSecond * 1e6;
  info.cyclesPerSecond = machine.megahertz * 1e6;
  return info;
}

std::string sizeText(uint64_t bytes) {
  const uint64_t kibibytes = bytes >> 10;
  return kibibytes % 1024 == 0 ? formatv("{0} MiB", kibibytes / 1024).str() : formatv("{0} KiB", kibibytes).str();
}

} // namespace

bool TargetInfo::hasIsa(StringRef extension) const { return llvm::is_contained(isa, extension); }

std::string TargetInfo::describe() const {
  return formatv("{0}: {1} vectors of {2} bytes, L1 {3}, L2 {4}, L3 {5}, tile {6} x 2 vectors, {7} integers "
                 "per product, {8:F0} GFLOP/s and {9:F0} GB/s per thread, isa {10}",
                 name, vectorRegisters, vectorBytes, sizeText(l1Bytes), sizeText(l2Bytes), sizeText(l3Bytes), gemmRows,
                 integersPerWord, flopsPerSecond() / 1e9, bytesPerSecond / 1e9, isa.empty() ? "sse2" : join(isa, " "));
}

std::vector<StringRef> targetNames() {
  std::vector<StringRef> names;
  for (const Machine &machine : machines)
    names.push_back(machine.name);
  return names;
}

Expected<TargetInfo> resolveTarget(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  const StringRef wanted = parts.front().trim();
  const Machine *machine = findMachine(wanted == "host" ? hostMachineName() : wanted);
  if (!machine) {
    std::vector<StringRef> names = targetNames();
    names.insert(names.begin(), "host");
    return createStringError(
        formatv("unknown target '{0}'\nhint: {1}targets: {2}", wanted, guess(wanted, names), join(names, ", ")));
  }
  FeatureChanges changes;
  for (StringRef feature : ArrayRef(parts).drop_front())
    if (Error error = addFeature(text, feature.trim(), changes))
      return std::move(error);
  return makeTarget(*machine, changes);
}

} // namespace perpend::target
