//===- Prefetch.cpp - constants come to LLB before they are read ----------===//
#include "target/quoin/compile/Prefetch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace perpend::quoin {

constexpr uint64_t lineBytes = 64;

/// Whether a kernel reads at least half of a buffer, in one of its nests: not only some rows of a table.
static bool readsMost(const Kernel &kernel, unsigned buffer) {
  return llvm::any_of(kernel.nests, [&](const Nest &nest) {
    return llvm::any_of(nest.nodes, [&](const Node &node) {
      if (node.kind != Node::Load || node.access.buffer != buffer)
        return false;
      int64_t elements = 1;
      for (auto [loop, stride] : llvm::zip_equal(nest.loops, node.access.strides))
        elements *= stride ? loop.extent : 1;
      return 2 * elements >= kernel.buffers[buffer].elements;
    });
  });
}

Prefetch::Prefetch(const MainProgram &main, const Config &config) : nearBytes(config.llbBytes) {
  constexpr uint64_t least = 2048; // less is not worth a copy
  for (auto [number, step] : llvm::enumerate(main.steps)) {
    uint64_t &end = ends.emplace_back(llvm::alignTo(step.nearEnd, lineBytes));
    std::vector<Constant> &list = constants.emplace_back();
    if (!step.nests)
      continue;
    for (const Buffer &buffer : llvm::ArrayRef(step.nests->buffers).drop_front(step.nests->arguments))
      if (!buffer.isTable())
        end += llvm::alignTo(static_cast<uint64_t>(buffer.elements) * buffer.elementBytes, lineBytes);
    for (auto [input, value] : llvm::enumerate(step.inputs)) {
      const Constant constant{value.spot.byte, value.bytes()};
      if (value.spot.space != Space::DDR || constant.first < main.weights.byte ||
          constant.first + constant.second > main.weights.end() || constant.first % lineBytes ||
          constant.second < least || llvm::is_contained(list, constant) ||
          !readsMost(*step.nests, static_cast<unsigned>(input)))
        continue;
      list.push_back(constant);
      readers[constant].push_back(number);
    }
  }
}

const Prefetch::Resident *Prefetch::find(const Constant &constant) const {
  auto found = llvm::find_if(residents, [&](const Resident &each) { return each.constant == constant; });
  return found == residents.end() ? nullptr : &*found;
}

void Prefetch::begin(size_t number, Step &step) {
  llvm::erase_if(residents, [&](const Resident &each) {
    return each.last < number ||
           (each.done < each.constant.second && llvm::is_contained(constants[number], each.constant));
  });
  for (Value &value : step.inputs)
    if (value.spot.space == Space::DDR)
      if (const Resident *resident = find({value.spot.byte, value.bytes()}))
        if (llvm::is_contained(constants[number], resident->constant))
          value.spot = {Space::LLB, resident->to};
}

uint64_t Prefetch::limit() const {
  uint64_t limit = nearBytes;
  for (const Resident &each : residents)
    limit = std::min(limit, each.to);
  return limit;
}

/// The highest place that is free from one step to another one, of which the first has LLB up to `used`.
std::optional<uint64_t> Prefetch::placeOf(size_t from, size_t last, uint64_t bytes, uint64_t used) const {
  uint64_t floor = used;
  for (size_t step = from; step <= last; ++step)
    floor = std::max(floor, ends[step]);
  uint64_t end = nearBytes;
  auto meets = [&](const Resident &each) {
    return each.to < end && end < each.to + llvm::alignTo(each.constant.second, lineBytes) + bytes;
  };
  while (end >= floor + bytes) {
    auto other = llvm::find_if(residents, meets);
    if (other == residents.end())
      return end - bytes;
    end = other->to;
  }
  return std::nullopt;
}

Prefetch::Resident *Prefetch::allocate(size_t number, const Constant &constant, uint64_t used) {
  const std::vector<size_t> &all = readers[constant];
  const auto first = llvm::upper_bound(all, number);
  for (auto last = all.end(); last != first; --last)
    if (std::optional<uint64_t> to = placeOf(number, *std::prev(last), llvm::alignTo(constant.second, lineBytes), used))
      return &residents.emplace_back(Resident{constant, *to, 0, *std::prev(last)});
  return nullptr;
}

uint64_t Prefetch::missingBytes(size_t number) const {
  uint64_t bytes = 0;
  if (number + 1 < constants.size())
    for (const Constant &constant : constants[number + 1]) {
      const Resident *resident = find(constant);
      bytes += constant.second - (resident ? resident->done : 0);
    }
  return bytes;
}

std::vector<Copy> Prefetch::next(size_t number, uint64_t used, uint64_t bytes) {
  std::vector<Copy> copies;
  for (size_t step = number + 1; step < constants.size(); ++step)
    for (const Constant &constant : constants[step]) {
      const bool isNeeded = step == number + 1;
      auto *resident = const_cast<Resident *>(find(constant));
      if (!resident && (isNeeded || bytes))
        resident = allocate(number, constant, used);
      if (!resident && isNeeded)
        continue;
      if (!resident)
        return copies;
      const uint64_t left = constant.second - resident->done;
      const uint64_t taken = isNeeded ? left : std::min(left, bytes / lineBytes * lineBytes);
      if (taken)
        copies.push_back({constant.first + resident->done, resident->to + resident->done, taken});
      resident->done += taken;
      bytes -= std::min(bytes, taken);
      if (taken < left)
        return copies;
    }
  return copies;
}

} // namespace perpend::quoin
