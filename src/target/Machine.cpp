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

std::string Machine::describe() const {
  std::string parts;
  for (const Memory &memory : memories)
    if (memory.bytes)
      parts += ", " + (memory.kind == MemoryKind::Cache ? StringRef(memory.name).upper() : memory.name) + " " +
               sizeText(memory.bytes);
  for (const std::string &unit : units)
    parts += ", unit " + unit;
  for (const Link &link : links)
    parts += ", link " + link.from + " to " + link.to;
  for (const Machine &device : devices)
    parts += ", device " + device.name;
  return formatv("{0}: {1} vectors of {2} bytes{3}, tile {4} x 2 vectors, "
                 "{5:F0} GFLOP/s and {6:F0} GB/s per thread",
                 name, vectorRegisters, vectorBytes, parts, gemmRows, flopsPerSecond() / 1e9,
                 global.bytesPerSecond / 1e9);
}

} // namespace perpend::target
