//===- Machine.cpp - questions about a machine ----------------------------===//

#include "target/Machine.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace perpend::target {

const Machine *Machine::device(StringRef device) const {
  auto found = find_if(devices, [&](const Machine &each) { return each.name == device; });
  return found == devices.end() ? nullptr : &*found;
}

const Link *Machine::link(StringRef from, StringRef to) const {
  auto found = find_if(links, [&](const Link &each) { return each.from == from && each.to == to; });
  return found == links.end() ? nullptr : &*found;
}

std::vector<StringRef> Machine::mainMemoryNames() const {
  std::vector<StringRef> names;
  for (const Memory &memory : mainMemories)
    names.push_back(memory.name);
  names.push_back(hostMemory);
  return names;
}

StringRef Machine::farthest(ArrayRef<std::string> memories) const {
  StringRef found;
  for (StringRef name : mainMemoryNames())
    if (is_contained(memories, name))
      found = name;
  return found;
}

std::vector<StringRef> Machine::route(StringRef from, ArrayRef<std::string> to) const {
  std::vector<std::vector<StringRef>> ways{{from}};
  std::vector<StringRef> known{from};
  const std::vector<StringRef> names = mainMemoryNames();
  while (!ways.empty()) {
    std::vector<std::vector<StringRef>> longer;
    for (StringRef next : reverse(names))
      for (const std::vector<StringRef> &way : ways)
        if (!is_contained(known, next) && link(way.back(), next)) {
          longer.push_back(way);
          longer.back().push_back(next);
          known.push_back(next);
        }
    for (const std::vector<StringRef> &way : longer)
      if (is_contained(to, way.back()))
        return {way.begin() + 1, way.end()};
    ways = std::move(longer);
  }
  return {};
}

/// The first name that is there twice; empty: none.
static StringRef twice(ArrayRef<StringRef> names) {
  for (size_t i = 0; i < names.size(); ++i)
    if (is_contained(names.take_front(i), names[i]))
      return names[i];
  return "";
}

std::string Machine::flaw() const {
  const std::vector<StringRef> known = mainMemoryNames();
  SmallVector<StringRef> deviceNames;
  for (const Machine &device : devices)
    deviceNames.push_back(device.name);
  if (StringRef name = twice(known); !name.empty())
    return "two memories of main are called '" + name.str() + "'";
  if (StringRef name = twice(deviceNames); !name.empty())
    return "two devices are called '" + name.str() + "'";
  for (const Memory &memory : mainMemories)
    if (!memory.level.empty())
      return "memory '" + memory.name + "' of main belongs to a level; main names memories of the whole machine";
  for (const Machine &device : devices)
    if (!device.mainMemories.empty() || !device.links.empty() || !device.devices.empty())
      return "device '" + device.name + "' has memories of main, links or devices; the machine around it lists them";
  auto unknown = [&](const std::string &who, ArrayRef<std::string> named) -> std::string {
    for (const std::string &each : named)
      if (!is_contained(known, each))
        return who + " names '" + each + "', which is no memory of main";
    return named.empty() ? who + " names no memory of main" : "";
  };
  SmallVector<std::pair<std::string, std::vector<std::string>>> all{{"the machine", reads}, {"the machine", writes}};
  for (const Machine &device : devices)
    for (const std::vector<std::string> &named : {device.reads, device.writes})
      all.emplace_back("device '" + device.name + "'", named);
  for (const Link &link : links)
    all.push_back({"a link", {link.from, link.to}});
  for (const auto &[who, named] : all)
    if (std::string what = unknown(who, named); !what.empty())
      return what;
  return "";
}

std::vector<std::string> Machine::scopes() const {
  std::vector<std::string> names;
  for (const Memory &memory : memories)
    if (memory.kind == MemoryKind::Addressed)
      names.push_back(memory.name);
  return names;
}

std::vector<std::string> Machine::levelNames() const {
  std::vector<std::string> names;
  for (const Level &level : levels)
    names.push_back(level.name);
  return names;
}

SmallVector<const Memory *, 4> Machine::caches() const {
  SmallVector<const Memory *, 4> found;
  for (const Memory &memory : memories)
    if (memory.kind == MemoryKind::Cache)
      found.push_back(&memory);
  return found;
}

uint64_t Machine::nearCacheBytes() const {
  auto all = caches();
  return all.empty() ? 0 : all.front()->bytes;
}

uint64_t Machine::ownCacheBytes() const {
  uint64_t bytes = 0;
  for (const Memory *cache : caches())
    if (isOwn(*cache))
      bytes = cache->bytes;
  return bytes;
}

uint64_t Machine::lastCacheBytes() const {
  auto all = caches();
  return all.empty() ? 0 : all.back()->bytes;
}

const Memory &Machine::innermostHolding(double bytes, StringRef level) const {
  auto depthOf = [&](StringRef name) { // 0: the whole machine
    auto found = find_if(levels, [&](const Level &each) { return each.name == name; });
    return found == levels.end() ? 0 : found - levels.begin() + 1;
  };
  for (const Memory *cache : caches())
    if (depthOf(cache->level) <= depthOf(level) && bytes <= double(cache->bytes))
      return *cache;
  return global;
}

double Machine::bytesPerSecondOf(double bytes) const {
  return innermostHolding(bytes, levels.empty() ? "" : levels.back().name).bytesPerSecond;
}

unsigned Machine::lineBytes() const {
  for (const Memory &memory : memories)
    if (memory.kind == MemoryKind::Cache)
      return memory.lineBytes;
  return global.lineBytes;
}

static std::string sizeText(uint64_t bytes) {
  const uint64_t kibibytes = bytes >> 10;
  if (bytes % 1024)
    return formatv("{0} bytes", bytes).str();
  return kibibytes % 1024 == 0 ? formatv("{0} MiB", kibibytes / 1024).str() : formatv("{0} KiB", kibibytes).str();
}

/// In 10^9 a second; small processors have less than one.
static std::string rateText(double perSecond) {
  const double giga = perSecond / 1e9;
  return formatv(giga < 0.05 || giga >= 10 ? "{0:F0}" : "{0:F1}", giga).str();
}

std::string Machine::describe() const {
  std::string parts;
  for (const Memory &memory : memories)
    if (memory.bytes)
      parts += ", " + (memory.kind == MemoryKind::Cache ? StringRef(memory.name).upper() : memory.name) + " " +
               sizeText(memory.bytes);
  for (const Memory &memory : mainMemories)
    parts += ", memory " + memory.name + (memory.bytes ? " of " + sizeText(memory.bytes) : "");
  for (const std::string &unit : units)
    parts += ", unit " + unit;
  for (const Link &link : links)
    parts += ", link " + link.from + " to " + link.to;
  for (const Machine &device : devices)
    parts += ", device " + device.name;
  std::string vectors = "no vectors", tile;
  if (vectorBytes) {
    vectors = formatv("{0} vectors of {1} bytes", vectorRegisters, vectorBytes);
    tile = formatv(", tile {0} x 2 vectors", gemmRows);
  }
  return formatv("{0}: {1}{2}{3}, {4} GFLOP/s and {5} GB/s per thread", name, vectors, parts, tile,
                 rateText(flopsPerSecond()), rateText(global.bytesPerSecond));
}

} // namespace perpend::target
