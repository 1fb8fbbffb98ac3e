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

/// The lowest places beside the values of the step.
void Prefetch::placeLocals(const Step &step) {
  std::vector<Range> &ranges = taken.emplace_back(step.near);
  auto &places = locals.emplace_back();
  if (!step.nests)
    return;
  NearMemory near(nearBytes);
  near.take(ranges);
  for (const Buffer &buffer : llvm::ArrayRef(step.nests->buffers).drop_front(step.nests->arguments)) {
    const auto bytes = static_cast<uint64_t>(buffer.elements) * buffer.elementBytes;
    places.push_back(buffer.isTable() || bytes == 0 ? std::nullopt : near.takeLowest(bytes));
    if (places.back())
      ranges.push_back({*places.back(), bytes});
  }
}

Prefetch::Constant Prefetch::constantOf(const Value &value) {
  if (value.part && value.part->bytes != value.part->pitch)
    return {value.spot.byte, value.part->bytes, value.part->rows, value.part->pitch};
  const uint64_t bytes = value.part ? value.part->bytes * value.part->rows : value.bytes();
  return {value.spot.byte, bytes, 1, bytes};
}

Prefetch::Prefetch(llvm::ArrayRef<Piece> pieces, const Range &weights, const Config &config)
    : nearBytes(config.llbBytes) {
  constexpr uint64_t least = 2048; // less is not worth a copy
  for (auto [number, piece] : llvm::enumerate(pieces)) {
    const Step &step = piece.step;
    placeLocals(step);
    std::vector<Constant> &list = constants.emplace_back();
    if (!step.nests)
      continue;
    for (auto [input, value] : llvm::enumerate(step.inputs)) {
      const Constant constant = constantOf(value);
      const uint64_t end = constant.byte + constant.pitch * (constant.rows - 1) + constant.row;
      if (value.spot.space != Space::DDR || constant.byte < weights.byte || end > weights.end() ||
          constant.byte % lineBytes || constant.bytes() < least || llvm::is_contained(list, constant) ||
          !(value.part || readsMost(*step.nests, static_cast<unsigned>(input))))
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

/// A part of the rows lies where whole ones did.
static void readRows(Kernel &kernel, unsigned buffer, const ValuePart &part) {
  const auto size = static_cast<int64_t>(kernel.buffers[buffer].elementBytes);
  const int64_t pitch = static_cast<int64_t>(part.pitch) / size, row = static_cast<int64_t>(part.bytes) / size;
  for (Nest &nest : kernel.nests)
    for (Node &node : nest.nodes)
      if (node.kind == Node::Load && node.access.buffer == buffer)
        for (int64_t &stride : node.access.strides)
          stride = stride % pitch ? stride : stride / pitch * row;
}

void Prefetch::begin(size_t number, Step &step) {
  llvm::erase_if(residents, [&](const Resident &each) {
    return each.last < number ||
           (each.done < each.constant.bytes() && llvm::is_contained(constants[number], each.constant));
  });
  for (auto [input, value] : llvm::enumerate(step.inputs)) {
    const Resident *resident = value.spot.space == Space::DDR ? find(constantOf(value)) : nullptr;
    if (!resident || !llvm::is_contained(constants[number], resident->constant))
      continue;
    value.spot = {Space::LLB, resident->to};
    if (resident->constant.rows > 1)
      readRows(*step.nests, static_cast<unsigned>(input), *value.part);
  }
}

NearMemory Prefetch::near(size_t number) const {
  NearMemory near(nearBytes);
  near.take(taken[number]);
  for (const Resident &each : residents)
    near.take({each.to, each.constant.bytes()});
  return near;
}

/// What is taken from one step to another one, of which the first uses these ranges, too.
NearMemory Prefetch::nearUntil(size_t from, size_t last, llvm::ArrayRef<Range> used) const {
  NearMemory free = near(from);
  free.take(used);
  for (size_t step = from + 1; step <= last; ++step)
    free.take(taken[step]);
  return free;
}

/// Until the last reader that leaves space for others; until the first one in any case.
Prefetch::Resident *Prefetch::allocate(size_t number, const Constant &constant, llvm::ArrayRef<Range> used) {
  const uint64_t bytes = llvm::alignTo(constant.bytes(), lineBytes), left = nearBytes / 4;
  const std::vector<size_t> &all = readers[constant];
  const auto first = llvm::upper_bound(all, number);
  for (auto last = all.end(); last != first; --last) {
    const size_t reader = *std::prev(last);
    NearMemory free = nearUntil(number, reader, used);
    const std::optional<uint64_t> to = free.highest(bytes);
    if (!to)
      continue;
    free.take({*to, bytes});
    if (std::prev(last) == first || free.highest(left))
      return &residents.emplace_back(Resident{constant, *to, 0, reader});
  }
  return nullptr;
}

uint64_t Prefetch::missingBytes(size_t number) const {
  uint64_t bytes = 0;
  if (number + 1 < constants.size())
    for (const Constant &constant : constants[number + 1]) {
      const Resident *resident = find(constant);
      bytes += constant.bytes() - (resident ? resident->done : 0);
    }
  return bytes;
}

std::vector<Copy> Prefetch::next(size_t number, llvm::ArrayRef<Range> used, uint64_t bytes) {
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
      const uint64_t left = constant.bytes() - resident->done, unit = constant.rows > 1 ? constant.row : lineBytes;
      const uint64_t taken = isNeeded ? left : std::min(left, bytes / unit * unit), to = resident->to + resident->done;
      if (taken && constant.rows > 1)
        copies.push_back(
            {constant.byte + resident->done / unit * constant.pitch, to, unit, taken / unit, constant.pitch});
      else if (taken)
        copies.push_back({constant.byte + resident->done, to, taken});
      resident->done += taken;
      bytes -= std::min(bytes, taken);
      if (taken < left)
        return copies;
    }
  return copies;
}

} // namespace perpend::quoin
