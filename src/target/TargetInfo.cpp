//===- TargetInfo.cpp - Resolves target names -----------------------------===//
//
// LLVM knows the features of a processor; Targets.def adds what LLVM does not know (caches, bandwidth, register
// tiles). `host` is the most similar entry, plus and minus the differences of this processor. Its model number is not
// used: virtual machines report wrong ones, and new processors have unknown ones.
//
//===----------------------------------------------------------------------===//
#include "target/TargetInfo.h"
#include "target/Host.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <algorithm>
#include <array>
#include <cmath>
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

constexpr StringLiteral isaNames[] = {
#define PERPEND_ISA(name, ...) name,
#define PERPEND_ISA_UNUSED(...)
#include "runtime/IsaX86.def"
};

constexpr StringLiteral amxParts[] = {"amx-tile", "amx-int8", "amx-bf16"};

/// Changes to a machine's features: name -> on or off. Sorted, so that the order of the request does not matter.
using FeatureChanges = std::map<std::string, bool>;

/// Sizes of the three cache levels in KiB; 0: not given.
using CacheSizes = std::array<unsigned, 3>;

CacheSizes cachesOf(const Machine &machine) { return {machine.l1KiB, machine.l2KiB, machine.l3KiB}; }

const Machine *findMachine(StringRef name) {
  const Machine *found = llvm::find_if(machines, [&](const Machine &machine) { return machine.name == name; });
  return found == std::end(machines) ? nullptr : found;
}

/// "did you mean 'haswell'? ", or empty if no name is similar enough.
std::string guess(StringRef text, ArrayRef<StringRef> names) {
  auto distance = [&](StringRef name) { return text.edit_distance(name); };
  StringRef best = *llvm::min_element(names, [&](StringRef a, StringRef b) { return distance(a) < distance(b); });
  return distance(best) <= text.size() / 3 ? formatv("did you mean '{0}'? ", best).str() : "";
}

std::vector<StringRef> isaNameList() { return {std::begin(isaNames), std::end(isaNames)}; }

/// All features of a processor that LLVM knows.
StringMap<bool> featuresOf(StringRef cpu) {
  SmallVector<StringRef, 0> cpuFeatures;
  X86::getFeaturesForCPU(cpu, cpuFeatures);
  StringMap<bool> enabled;
  for (StringRef feature : cpuFeatures) {
    X86::updateImpliedFeatures(feature, true, enabled);
    enabled[feature] = true;
  }
  return enabled;
}

std::vector<std::string> isaOf(StringRef cpu, const FeatureChanges &changes) {
  StringMap<bool> enabled = featuresOf(cpu);
  for (bool on : {true, false}) // switching off overrides what switching on implies
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

/// Only AVX-512BW has 64-byte instructions for elements of 8 and 16 bits.
unsigned vectorBytesOf(function_ref<bool(StringRef)> has) {
  if (has("avx512f") && has("avx512vl") && has("avx512bw"))
    return 64;
  return has("avx2") ? 32 : 16;
}
unsigned vectorBytesOf(const StringMap<bool> &features) {
  return vectorBytesOf([&](StringRef name) { return features.lookup(name); });
}

/// Difference of two processors: the number of features that only one of them has.
size_t differences(const StringMap<bool> &a, const StringMap<bool> &b) {
  auto missing = [](const StringMap<bool> &from, const StringMap<bool> &in) {
    return llvm::count_if(from, [&](const auto &entry) { return entry.second && !in.lookup(entry.first()); });
  };
  return size_t(missing(a, b) + missing(b, a));
}

/// Difference of caches: the sum of the logarithms of the ratios of known sizes.
double differences(const CacheSizes &a, const CacheSizes &b) {
  double sum = 0;
  for (auto [one, other] : llvm::zip_equal(a, b))
    if (one && other)
      sum += std::abs(std::log2(double(one) / other));
  return sum;
}

/// Difference in the features that generated code may use, except those that a system may refuse, since they say
/// nothing about the processor.
size_t isaDifferences(const StringMap<bool> &a, const StringMap<bool> &b) {
  return llvm::count_if(isaNames, [&](StringRef name) {
    return !llvm::is_contained(amxParts, name) && a.lookup(name) != b.lookup(name);
  });
}

/// The entry with equally wide vectors, then the most instruction sets in common, then the most other features (virtual
/// machines hide some), then the most similar caches.
const Machine &nearestMachine(const StringMap<bool> &features, const CacheSizes &caches) {
  auto unlikeness = [&](const Machine &machine) {
    const StringMap<bool> own = featuresOf(machine.name);
    return std::tuple(vectorBytesOf(own) != vectorBytesOf(features), isaDifferences(own, features),
                      differences(own, features), differences(cachesOf(machine), caches));
  };
  return *llvm::min_element(machines,
                            [&](const Machine &a, const Machine &b) { return unlikeness(a) < unlikeness(b); });
}

Error addFeature(StringRef text, StringRef feature, FeatureChanges &changes) {
  const bool on = feature.consume_front("+");
  if (!on && !feature.consume_front("-")) {
    std::string cure = feature.empty()         ? "leave out the comma, or name another machine behind it"
                       : feature.contains('=') ? "sizes are those of l1, l2 and l3"
                                               : ("write '+" + feature + "' to switch it on").str();
    return createStringError(formatv("target '{0}': expected +feature or -feature after the comma, got '{1}'\n"
                                     "hint: {2}",
                                     text, feature, cure));
  }
  if (feature == "amx") {
    for (StringRef part : amxParts)
      changes[part.str()] = on;
    return Error::success();
  }
  if (Error error = checkFeature(feature))
    return createStringError(formatv("target '{0}': {1}", text, toString(std::move(error))));
  changes[feature.str()] = on;
  return Error::success();
}

std::string featureText(const FeatureChanges &changes) {
  return join(llvm::map_range(changes, [](const auto &change) { return (change.second ? "+" : "-") + change.first; }),
              ",");
}

constexpr StringLiteral cacheNames[] = {"l1", "l2", "l3"};

std::string cacheText(unsigned kibibytes) {
  return kibibytes % 1024 == 0 ? formatv("{0}M", kibibytes / 1024).str() : formatv("{0}K", kibibytes).str();
}

/// Applies a change of the form "l2=2M"; false if it has another form.
Expected<bool> addCache(StringRef text, StringRef change, CacheSizes &caches) {
  auto [name, value] = change.split('=');
  const auto *level = llvm::find(cacheNames, name);
  if (level == std::end(cacheNames))
    return false;
  constexpr unsigned mostKibibytes = 1u << 30;
  const unsigned factor = value.ends_with("M") ? 1024 : 1;
  unsigned count = 0;
  if (!(value.ends_with("M") || value.ends_with("K")) || value.drop_back().getAsInteger(10, count) || count == 0 ||
      count > mostKibibytes / factor)
    return createStringError(formatv("target '{0}': expected the size of a cache as in {1}=512K or {1}=2M, got '{2}'\n"
                                     "hint: `perpend targets` lists the sizes of each target",
                                     text, name, change));
  caches[size_t(level - std::begin(cacheNames))] = count * factor;
  return true;
}

/// Lists differences only, so that equal targets have equal texts.
std::string canonicalText(const Machine &machine, const FeatureChanges &changes, const CacheSizes &caches) {
  std::string text = machine.name.str();
  if (!changes.empty())
    text += "," + featureText(changes);
  for (auto [name, own, wanted] : llvm::zip_equal(cacheNames, cachesOf(machine), caches))
    if (wanted && wanted != own)
      text += ("," + name + "=").str() + cacheText(wanted);
  return text;
}

TargetInfo makeTarget(const Machine &machine, const FeatureChanges &changes, const CacheSizes &caches) {
  TargetInfo info;
  info.cpu = machine.name.str();
  info.features = featureText(changes);
  info.name = canonicalText(machine, changes, caches);
  info.triple = "x86_64-unknown-linux-gnu";
  info.isa = isaOf(machine.name, changes);
  info.vectorBytes = vectorBytesOf([&](StringRef name) { return info.hasIsa(name); });
  info.vectorRegisters = info.hasIsa("avx512vl") ? 32 : 16;
  for (auto [bytes, own, wanted] :
       llvm::zip_equal(std::array{&info.l1Bytes, &info.l2Bytes, &info.l3Bytes}, cachesOf(machine), caches))
    *bytes = uint64_t(wanted ? wanted : own) << 10;
  info.fusesMultiplyAdds = info.hasIsa("fma");
  info.scalesByPowers = info.hasIsa("avx512f") && info.hasIsa("avx512vl");
  info.roundsToBF16 = info.scalesByPowers && info.hasIsa("avx512bf16");
  info.roundsToF16 = info.hasIsa("f16c") && !info.hasIsa("avx512fp16"); // LLVM vectorises avx512fp16 itself
  info.fmaPerCycle = machine.fmaPerCycle;
  info.gemmRows = std::min(machine.gemmRows, info.mostGemmRows()); // features may take registers away
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

std::vector<std::string> TargetInfo::scopes() const {
  std::vector<std::string> names;
  for (const Memory &memory : memories)
    names.push_back(memory.name);
  return names;
}

std::string TargetInfo::describe() const {
  return formatv("{0}: {1} vectors of {2} bytes, L1 {3}, L2 {4}, L3 {5}, tile {6} x 2 vectors, "
                 "{7:F0} GFLOP/s and {8:F0} GB/s per thread, isa {9}",
                 name, vectorRegisters, vectorBytes, sizeText(l1Bytes), sizeText(l2Bytes), sizeText(l3Bytes), gemmRows,
                 flopsPerSecond() / 1e9, bytesPerSecond / 1e9, isa.empty() ? "sse2" : join(isa, " "));
}

Error checkFeature(StringRef name) {
  if (llvm::is_contained(isaNames, name))
    return Error::success();
  return createStringError(formatv("unknown feature '{0}'\nhint: {1}features: amx, {2}", name,
                                   guess(name, isaNameList()), join(isaNameList(), ", ")));
}

std::vector<StringRef> targetNames() {
  std::vector<StringRef> names;
  for (const Machine &machine : machines)
    names.push_back(machine.name);
  return names;
}

/// Whether a feature is offered together with everything that it requires, part of which a machine may hide.
static bool isUsable(StringRef feature, const StringMap<bool> &offered) {
  StringMap<bool> needed;
  X86::updateImpliedFeatures(feature, true, needed);
  return offered.lookup(feature) &&
         llvm::all_of(needed, [&](const auto &entry) { return offered.lookup(entry.first()); });
}

std::string describeHost(const HostFacts &facts) {
  const CacheSizes caches = {unsigned(facts.l1Bytes >> 10), unsigned(facts.l2Bytes >> 10),
                             unsigned(facts.l3Bytes >> 10)};
  const Machine &machine = nearestMachine(facts.features, caches);
  const StringMap<bool> own = featuresOf(machine.name);
  FeatureChanges changes;
  for (StringRef name : isaNames)
    if (const bool isThere = isUsable(name, facts.features); own.lookup(name) != isThere)
      changes[name.str()] = isThere;
  return canonicalText(machine, changes, caches);
}

/// `text` is a machine and its changes.
static Expected<TargetInfo> resolveOne(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  const StringRef wanted = parts.front().trim();
  std::string host;
  if (wanted == "host") {
    host = describeHost(detectHost());
    SmallVector<StringRef> found;
    StringRef(host).split(found, ',');
    found.append(parts.begin() + 1, parts.end());
    parts = found;
  }
  const Machine *machine = findMachine(parts.front().trim());
  if (!machine) {
    std::vector<StringRef> names = targetNames();
    names.insert(names.begin(), "host");
    return createStringError(
        formatv("unknown target '{0}'\nhint: {1}targets: {2}", wanted, guess(wanted, names), join(names, ", ")));
  }
  FeatureChanges changes;
  CacheSizes caches = {};
  for (StringRef change : ArrayRef(parts).drop_front()) {
    Expected<bool> isCache = addCache(text, change.trim(), caches);
    if (!isCache)
      return isCache.takeError();
    if (!*isCache)
      if (Error error = addFeature(text, change.trim(), changes))
        return std::move(error);
  }
  return makeTarget(*machine, changes, caches);
}

/// Whether an item of a list describes a change of a machine, or would with a sign or a size.
static bool isChange(StringRef item) {
  return item.starts_with("+") || item.starts_with("-") || item.contains('=') || item == "amx" ||
         is_contained(isaNames, item) || is_contained(cacheNames, item);
}

static bool isPreferred(const TargetInfo &a, const TargetInfo &b) {
  return std::pair(a.vectorBytes, a.isa.size()) > std::pair(b.vectorBytes, b.isa.size());
}

Expected<std::vector<TargetInfo>> resolveTargets(StringRef text) {
  std::vector<std::string> texts;
  for (StringRef item : split(text, ',')) {
    item = item.trim();
    const bool belongs = isChange(item) || (item.empty() && !texts.empty());
    if (belongs && texts.empty())
      return createStringError(formatv("target '{0}': '{1}' does not follow a machine\n"
                                       "hint: name the machine first, as in x86-64-v3,+avxvnni",
                                       text, item));
    if (belongs)
      texts.back() += "," + item.str();
    else
      texts.push_back(item.str());
  }
  std::vector<TargetInfo> targets;
  for (const std::string &one : texts) {
    Expected<TargetInfo> target = resolveOne(one);
    if (!target)
      return target.takeError();
    if (any_of(targets, [&](const TargetInfo &other) { return other.name == target->name; }))
      return createStringError(
          formatv("target '{0}': it names the machine '{1}' twice\nhint: leave one of them out", text, target->name));
    targets.insert(upper_bound(targets, *target, isPreferred), std::move(*target));
  }
  return targets;
}

Expected<TargetInfo> resolveTarget(StringRef text) {
  Expected<std::vector<TargetInfo>> targets = resolveTargets(text);
  if (!targets)
    return targets.takeError();
  if (targets->size() > 1)
    return createStringError(
        formatv("target '{0}': expected one machine here, got {1}\nhint: name one of them", text, targets->size()));
  return std::move(targets->front());
}

TargetInfo baselineTarget() { return makeTarget(machines[0], {}, {}); }

} // namespace perpend::target
