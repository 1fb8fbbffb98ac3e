//===- TargetInfo.cpp - Resolves target names -----------------------------===//
//
// LLVM knows the features of a processor; Targets.def adds what LLVM does not know (caches, bandwidth, register
// tiles). `host` is the most similar entry, plus and minus the differences of this processor. Its model number is not
// used: virtual machines report wrong ones, and new processors have unknown ones.
//
//===----------------------------------------------------------------------===//
#include "target/TargetInfo.h"
#include "target/Accelerator.h"
#include "target/DetectHost.h"
#include "target/IntrinsicTexts.h"
#include "target/cpu/Architecture.h"
#include "target/cpu/aarch64/AArch64.h"
#include "target/cpu/cortexm/CortexM.h"
#include "target/cpu/riscv/RiscV.h"
#include "target/cpu/wasm32/Wasm32.h"
#include "target/cpu/x86/X86.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

using namespace llvm;

namespace perpend::target {
namespace {

struct Entry {
  const Architecture &(*architecture)();
  StringLiteral name;
  unsigned l1KiB, l2KiB, l3KiB, fmaPerCycle, gemmRows, megabytesPerSecond, megahertz;
};

constexpr Entry entries[] = {
#define PERPEND_TARGET(architecture, name, ...) {architecture, name, __VA_ARGS__},
#include "target/Targets.def"
};

/// Changes to a machine's features: name -> on or off. Sorted, so that the order of the request does not matter.
using FeatureChanges = std::map<std::string, bool>;

/// Sizes of the three cache levels in KiB; 0: not given.
using CacheSizes = std::array<unsigned, 3>;

CacheSizes cachesOf(const Entry &entry) { return {entry.l1KiB, entry.l2KiB, entry.l3KiB}; }

const Entry *findEntry(StringRef name) {
  const Entry *found = llvm::find_if(entries, [&](const Entry &entry) { return entry.name == name; });
  return found == std::end(entries) ? nullptr : found;
}

/// "did you mean 'haswell'? ", or empty if no name is similar enough.
std::string guess(StringRef text, ArrayRef<StringRef> names) {
  auto distance = [&](StringRef name) { return text.edit_distance(name); };
  StringRef best = *llvm::min_element(names, [&](StringRef a, StringRef b) { return distance(a) < distance(b); });
  return distance(best) <= text.size() / 3 ? formatv("did you mean '{0}'? ", best).str() : "";
}

/// LLVM's name of the processor.
StringRef cpuOf(const Entry &entry) {
  const Architecture &architecture = entry.architecture();
  return entry.name == architecture.name ? architecture.baseCpu : StringRef(entry.name);
}

/// All features of a processor that LLVM knows.
StringMap<bool> featuresOf(const Entry &entry) { return entry.architecture().featuresOf(cpuOf(entry)); }

/// What is known of a machine by its features.
Machine machineWith(const Architecture &architecture, const StringMap<bool> &features) {
  Machine machine;
  machine.features.push_back(architecture.baseExtension.str());
  for (StringRef name : architecture.extensions)
    if (features.lookup(name))
      machine.features.push_back(name.str());
  architecture.describe(machine, features);
  return machine;
}

StringMap<bool> featuresWith(const Entry &entry, const FeatureChanges &changes) {
  StringMap<bool> enabled = featuresOf(entry);
  for (bool on : {true, false}) // switching off overrides what switching on implies
    for (const auto &[feature, wanted] : changes)
      if (wanted == on)
        entry.architecture().setFeature(feature, on, enabled);
  return enabled;
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
size_t differences(const Architecture &architecture, const StringMap<bool> &a, const StringMap<bool> &b) {
  return llvm::count_if(architecture.extensions, [&](StringRef name) {
    return !llvm::is_contained(architecture.group.parts, name) && a.lookup(name) != b.lookup(name);
  });
}

/// The entry with equally wide vectors, then the most instruction sets in common, then the most other features (virtual
/// machines hide some), then the most similar caches.
const Entry &nearestEntry(const HostFacts &facts, const CacheSizes &caches) {
  const Architecture &architecture = *facts.architecture;
  const unsigned vectorBytes = machineWith(architecture, facts.features).vectorBytes;
  auto unlikeness = [&](const Entry &entry) {
    const StringMap<bool> own = featuresOf(entry);
    return std::tuple(&entry.architecture() != &architecture, machineWith(architecture, own).vectorBytes != vectorBytes,
                      differences(architecture, own, facts.features), differences(own, facts.features),
                      differences(cachesOf(entry), caches));
  };
  return *llvm::min_element(entries, [&](const Entry &a, const Entry &b) { return unlikeness(a) < unlikeness(b); });
}

/// What a change can switch on or off: of each architecture its group, then its extensions.
std::vector<StringRef> namesOf(ArrayRef<const Architecture *> all) {
  std::vector<StringRef> names;
  for (const Architecture *architecture : all) {
    if (!architecture->group.name.empty())
      names.push_back(architecture->group.name);
    llvm::append_range(names, architecture->extensions);
  }
  return names;
}

Error checkExtension(StringRef name, ArrayRef<const Architecture *> all) {
  auto isExtension = [&](const Architecture *architecture) {
    return llvm::is_contained(architecture->extensions, name);
  };
  if (llvm::any_of(all, isExtension))
    return Error::success();
  const std::vector<StringRef> names = namesOf(all);
  if (names.empty())
    return createStringError(
        formatv("unknown feature '{0}'\nhint: {1} has none beyond its base level", name, all.front()->name));
  return createStringError(
      formatv("unknown feature '{0}'\nhint: {1}features: {2}", name, guess(name, names), join(names, ", ")));
}

Error addFeature(const Entry &entry, StringRef text, StringRef feature, FeatureChanges &changes) {
  const Architecture &architecture = entry.architecture();
  const StringRef cpu = cpuOf(entry);
  const bool on = feature.consume_front("+");
  if (!on && !feature.consume_front("-")) {
    std::string cure = feature.empty() ? "leave out the comma, or name another machine behind it"
                       : feature.contains('=')
                           ? "sizes are those of l1, l2 and l3, and ram where there is no operating system"
                           : ("write '+" + feature + "' to switch it on").str();
    return createStringError(formatv("target '{0}': expected +feature or -feature after the comma, got '{1}'\n"
                                     "hint: {2}",
                                     text, feature, cure));
  }
  if (!feature.empty() && feature == architecture.group.name) {
    for (StringRef part : architecture.group.parts)
      changes[part.str()] = on;
    return Error::success();
  }
  if (Error error = checkExtension(feature, &architecture))
    return createStringError(formatv("target '{0}': {1}", text, toString(std::move(error))));
  if (on && architecture.canHave && !architecture.canHave(cpu, feature))
    return createStringError(
        formatv("target '{0}': a {1} cannot have '{2}'\nhint: leave it out, or name a machine that has it", text, cpu,
                feature));
  changes[feature.str()] = on;
  return Error::success();
}

std::string featureText(const FeatureChanges &changes) {
  return join(llvm::map_range(changes, [](const auto &change) { return (change.second ? "+" : "-") + change.first; }),
              ",");
}

CodeGenerator codeOf(const Entry &entry, const FeatureChanges &changes, const StringMap<bool> &features) {
  const Architecture &architecture = entry.architecture();
  CodeGenerator code;
  if (architecture.codeFor)
    code = architecture.codeFor(cpuOf(entry), features);
  else
    code = {"", cpuOf(entry).str(),
            featureText(changes) + (changes.empty() ? "" : ",") + architecture.attributes.str()};
  code.triple = architecture.triple.str();
  return code;
}

constexpr StringLiteral cacheNames[] = {"l1", "l2", "l3"};
constexpr StringLiteral threadLevel = "thread";
/// The size of the memory of a processor without an operating system.
constexpr StringLiteral memoryName = "ram";

std::string sizeText(unsigned kibibytes) {
  return kibibytes % 1024 == 0 ? formatv("{0}M", kibibytes / 1024).str() : formatv("{0}K", kibibytes).str();
}

/// Sizes in KiB; 0: not given.
struct Sizes {
  CacheSizes caches = {};
  unsigned memory = 0;

  /// Null: there is no such name.
  unsigned *find(StringRef name) {
    const auto *level = llvm::find(cacheNames, name);
    return level != std::end(cacheNames) ? &caches[size_t(level - std::begin(cacheNames))]
           : name == memoryName          ? &memory
                                         : nullptr;
  }
};

/// Applies a change of the form "l2=2M"; false if it has another form.
Expected<bool> addSize(const Entry &entry, StringRef text, StringRef change, Sizes &sizes) {
  auto [name, value] = change.split('=');
  unsigned *size = sizes.find(name);
  if (!size)
    return false;
  if (name == memoryName && entry.architecture().boards.empty())
    return createStringError(formatv("target '{0}': expected '{1}' of a processor without an operating system only\n"
                                     "hint: leave it out: memory is what a run finds",
                                     text, name));
  constexpr unsigned mostKibibytes = 1u << 30;
  const unsigned factor = value.ends_with("M") ? 1024 : 1;
  unsigned count = 0;
  if (!(value.ends_with("M") || value.ends_with("K")) || value.drop_back().getAsInteger(10, count) || count == 0 ||
      count > mostKibibytes / factor)
    return createStringError(formatv("target '{0}': expected a size as in {1}=512K or {1}=2M, got '{2}'\n"
                                     "hint: {3}",
                                     text, name, change,
                                     name == memoryName ? "left out, it is what the emulated board has"
                                                        : "`perpend targets` lists the sizes of each target"));
  *size = count * factor;
  return true;
}

/// Lists differences only, so that equal targets have equal texts.
std::string canonicalText(const Entry &entry, const FeatureChanges &changes, const Sizes &sizes) {
  std::string text = entry.name.str();
  if (!changes.empty())
    text += "," + featureText(changes);
  for (auto [name, own, wanted] : llvm::zip_equal(cacheNames, cachesOf(entry), sizes.caches))
    if (wanted && wanted != own)
      text += ("," + name + "=").str() + sizeText(wanted);
  if (sizes.memory)
    text += ("," + memoryName + "=").str() + sizeText(sizes.memory);
  return text;
}

/// Sustained by one thread in bytes per cycle, typical of all of Targets.def. The cost models count loads and stores
/// that hit the first level, which is therefore as fast as the second one here.
constexpr double bytesPerCycleOfCaches[] = {32, 32, 16};

/// Each core has its own first and second level, and all share the third. Those of 0 bytes are not there.
std::vector<Memory> memoriesOf(const Entry &entry, const CacheSizes &caches) {
  std::vector<Memory> memories;
  for (size_t level = 0; level < caches.size(); ++level)
    if (const uint64_t kibibytes = caches[level] ? caches[level] : cachesOf(entry)[level])
      memories.push_back({cacheNames[level].str(), kibibytes << 10, MemoryKind::Cache,
                          level < 2 ? threadLevel.str() : "", /*lineBytes=*/64,
                          bytesPerCycleOfCaches[level] * (entry.megahertz * 1e6)});
  memories.push_back({"local"});
  return memories;
}

TargetInfo makeTarget(const Entry &entry, const FeatureChanges &changes, Sizes sizes) {
  const StringMap<bool> features = featuresWith(entry, changes);
  TargetInfo info;
  static_cast<Machine &>(info) = machineWith(entry.architecture(), features);
  info.code = codeOf(entry, changes, features);
  info.memories = memoriesOf(entry, sizes.caches);
  info.global.bytesPerSecond = entry.megabytesPerSecond * 1e6;
  if (const Board *board = boardOf(info.code)) {
    info.global.bytes = sizes.memory ? uint64_t{sizes.memory} << 10 : board->ram.bytes;
    if (info.global.bytes == board->ram.bytes)
      sizes.memory = 0; // as without the change
  }
  info.name = canonicalText(entry, changes, sizes);
  info.fmaPerCycle = entry.fmaPerCycle;
  info.gemmRows = std::min(entry.gemmRows, info.mostGemmRows()); // features may take registers away
  info.cyclesPerSecond = entry.megahertz * 1e6;
  return info;
}

} // namespace

std::vector<std::string> extensionsOf(const TargetInfo &target) {
  std::vector<std::string> extensions = target.features;
  if (const Architecture *architecture = architectureOf(target.code))
    llvm::erase(extensions, architecture->baseExtension);
  return extensions;
}

std::string TargetInfo::describe() const {
  return Machine::describe() + ", isa " + (features.size() == 1 ? features.front() : join(extensionsOf(*this), " "));
}

Error checkFeature(StringRef name) {
  auto isBase = [&](const Architecture *architecture) { return architecture->baseExtension == name; };
  return llvm::any_of(architectures(), isBase) ? Error::success() : checkExtension(name, architectures());
}

std::vector<StringRef> targetNames() {
  std::vector<StringRef> names;
  for (const Entry &entry : entries)
    names.push_back(entry.name);
  return names;
}

/// Whether a feature is offered together with everything that it requires, part of which a machine may hide.
static bool isUsable(StringRef feature, const HostFacts &facts) {
  StringMap<bool> needed;
  facts.architecture->setFeature(feature, true, needed);
  return facts.features.lookup(feature) &&
         llvm::all_of(needed, [&](const auto &entry) { return !entry.second || facts.features.lookup(entry.first()); });
}

std::string describeHost(const HostFacts &facts) {
  const CacheSizes caches = {unsigned(facts.l1Bytes >> 10), unsigned(facts.l2Bytes >> 10),
                             unsigned(facts.l3Bytes >> 10)};
  const Entry &entry = nearestEntry(facts, caches);
  const StringMap<bool> own = featuresOf(entry);
  FeatureChanges changes;
  for (StringRef name : facts.architecture->extensions)
    if (const bool isThere = isUsable(name, facts); own.lookup(name) != isThere)
      changes[name.str()] = isThere;
  return canonicalText(entry, changes, {caches});
}

/// `text` is a machine and its changes.
static Expected<TargetInfo> resolveOne(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  const StringRef wanted = parts.front().trim();
  if (std::optional<Expected<TargetInfo>> accelerator = resolveAccelerator(text.trim()))
    return std::move(*accelerator);
  std::string host;
  if (wanted == "host") {
    host = describeHost(detectHost());
    SmallVector<StringRef> found;
    StringRef(host).split(found, ',');
    found.append(parts.begin() + 1, parts.end());
    parts = found;
  }
  const Entry *entry = findEntry(parts.front().trim());
  if (!entry) {
    std::vector<StringRef> names = targetNames();
    const std::vector<std::string> more = acceleratorTargets();
    names.insert(names.begin(), "host");
    names.insert(names.end(), more.begin(), more.end());
    return createStringError(
        formatv("unknown target '{0}'\nhint: {1}targets: {2}", wanted, guess(wanted, names), join(names, ", ")));
  }
  FeatureChanges changes;
  Sizes sizes;
  for (StringRef change : ArrayRef(parts).drop_front()) {
    Expected<bool> isSize = addSize(*entry, text, change.trim(), sizes);
    if (!isSize)
      return isSize.takeError();
    if (!*isSize)
      if (Error error = addFeature(*entry, text, change.trim(), changes))
        return std::move(error);
  }
  return makeTarget(*entry, changes, sizes);
}

/// Whether an item of a list describes a change of a machine, or would with a sign or a size.
static bool isChange(StringRef item) {
  return item.starts_with("+") || item.starts_with("-") || item.contains('=') || is_contained(cacheNames, item) ||
         item == memoryName || is_contained(namesOf(architectures()), item);
}

static bool isSameKind(const CodeGenerator &a, const CodeGenerator &b) {
  return a.triple == b.triple && a.accelerator.empty() && b.accelerator.empty();
}

/// For errors.
static StringRef kindOf(const TargetInfo &target) {
  const Architecture *architecture = architectureOf(target.code);
  return !target.code.accelerator.empty() || !architecture ? StringRef(target.name) : architecture->name;
}

static bool isPreferred(const TargetInfo &a, const TargetInfo &b) {
  return std::pair(a.vectorBytes, a.features.size()) > std::pair(b.vectorBytes, b.features.size());
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
    if (!targets.empty() && !isSameKind(targets.front().code, target->code))
      return createStringError(formatv("target '{0}': expected machines of one architecture, got {1} and {2}\n"
                                       "hint: compile an artifact for each",
                                       text, kindOf(targets.front()), kindOf(*target)));
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

TargetInfo baselineTarget(const CodeGenerator &code) {
  const Architecture *architecture = architectureOf(code);
  const Entry *base = llvm::find_if(entries, [&](const Entry &entry) { return &entry.architecture() == architecture; });
  return makeTarget(*base, {}, {});
}

} // namespace perpend::target
