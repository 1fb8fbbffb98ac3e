//===- Prefetch.cpp - constants come to LLB before they are read ----------===//
#include "target/quoin/compile/Prefetch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <set>

namespace perpend::quoin {

/// Constants of fewer bytes are not worth a copy.
constexpr uint64_t least = 2048;

constexpr uint64_t lineBytes = 64;

/// How much of a buffer a kernel reads, at most 1: of a table only rows that no data chooses.
static double shareRead(const Kernel &kernel, unsigned buffer) {
  double elements = 0;
  for (const Nest &nest : kernel.nests)
    for (const Node &node : nest.nodes) {
      if (node.kind != Node::Load || node.access.buffer != buffer)
        continue;
      double read = 1;
      for (auto [loop, stride] : llvm::zip_equal(nest.loops, node.access.strides))
        read *= stride ? double(loop.extent) : 1;
      elements += read;
    }
  return std::min(1.0, elements / double(std::max<int64_t>(1, kernel.buffers[buffer].elements)));
}

bool Prefetch::isUsed(llvm::ArrayRef<Nest> nests, unsigned buffer) {
  return llvm::any_of(nests, [&](const Nest &nest) {
    return nest.store.buffer == buffer || (nest.rows && nest.rows->table == buffer) ||
           llvm::any_of(nest.nodes,
                        [&](const Node &node) { return node.kind == Node::Load && node.access.buffer == buffer; });
  });
}

std::optional<uint64_t> Prefetch::takeLocal(size_t number, unsigned buffer, uint64_t bytes) {
  std::optional<uint64_t> &place = locals[number][buffer];
  if (!place && bytes)
    if (place = near(number).takeLowest(bytes); place)
      taken[number].push_back({*place, bytes});
  return place;
}

std::optional<uint64_t> Prefetch::takeForNext(size_t number, uint64_t bytes) {
  const std::optional<uint64_t> place = nearUntil(number, number + 1, {}).highest(bytes);
  for (size_t step : {number, number + 1})
    if (place)
      taken[step].push_back({*place, bytes});
  return place;
}

/// The lowest places beside the values of the step: of what the best list of nests keeps.
void Prefetch::placeLocals(const Step &step, const Decisions &decisions) {
  const size_t number = taken.size();
  taken.push_back(step.near);
  auto &places = locals.emplace_back();
  if (!step.nests)
    return;
  const Kernel &kernel = *step.nests;
  places.resize(kernel.buffers.size() - kernel.arguments);
  const std::vector<std::vector<Nest>> ways = waysOf(step, decisions);
  const std::vector<Nest> best = ways.empty() ? std::vector<Nest>() : ways.front();
  for (unsigned local = 0; local < places.size(); ++local)
    if (const Buffer &buffer = kernel.buffers[kernel.arguments + local];
        !buffer.isTable() && isUsed(best, kernel.arguments + local))
      takeLocal(number, local, static_cast<uint64_t>(buffer.elements) * buffer.elementBytes);
}

Prefetch::Constant Prefetch::constantOf(const Value &value) {
  if (value.part && value.part->bytes != value.part->pitch)
    return {value.spot.byte, value.part->bytes, value.part->rows, value.part->pitch};
  const uint64_t bytes = value.part ? value.part->bytes * value.part->rows : value.bytes();
  return {value.spot.byte, bytes, 1, bytes};
}

/// The step behind the last one before `number` that writes to a range of DDR; 0: none does.
static size_t stepBehindWriter(llvm::ArrayRef<Piece> pieces, size_t number, uint64_t begin, uint64_t end) {
  for (; number > 0; --number)
    for (const Value &output : pieces[number - 1].step.outputs)
      if (output.spot.space == Space::DDR && output.spot.byte < end && begin < output.spot.byte + output.bytes())
        return number;
  return 0;
}

Prefetch::Prefetch(llvm::ArrayRef<Piece> pieces, const Range &weights, const Config &config, const Decisions &decisions)
    : nearBytes(config.llbBytes) {
  std::map<Constant, double> shares; // how much of it all steps read, together
  for (auto [number, piece] : llvm::enumerate(pieces)) {
    const Step &step = piece.step;
    placeLocals(step, decisions);
    std::vector<Constant> &list = constants.emplace_back();
    if (!step.nests)
      continue;
    for (auto [input, value] : llvm::enumerate(step.inputs)) {
      if (piece.rolled == static_cast<unsigned>(input))
        continue; // it comes while the step runs
      Constant constant = constantOf(value);
      const uint64_t end = constant.byte + constant.pitch * (constant.rows - 1) + constant.row;
      if (constant.byte < weights.byte || end > weights.end())
        constant.since = stepBehindWriter(pieces, number, constant.byte, end);
      if (value.spot.space != Space::DDR || constant.byte % lineBytes || llvm::is_contained(list, constant))
        continue;
      list.push_back(constant);
      shares[constant] += value.part ? 1 : shareRead(*step.nests, static_cast<unsigned>(input));
    }
  }
  joinSmall(weights, config);
  for (auto [number, list] : llvm::enumerate(constants)) {
    llvm::erase_if(list, [&](const Constant &constant) {
      const auto share = shares.find(constant); // of what has been joined, it is enough
      return constant.bytes() < least || (share != shares.end() && share->second < 0.5);
    });
    for (const Constant &constant : list)
      readers[constant].push_back(number);
  }
}

/// Small constants that lie side by side, such as scales and shifts, come as one: alone, each would take little more
/// than the time that DDR takes to answer.
void Prefetch::joinSmall(const Range &weights, const Config &config) {
  // 4 and 16 kB of 8 MB; with a small LLB, what is joined would not be copied.
  const uint64_t mostSmall = config.llbBytes / 2048, mostJoined = config.llbBytes / 512;
  if (mostJoined < least)
    return;
  auto isSmall = [&](const Constant &constant) {
    return constant.rows == 1 && constant.row <= mostSmall && constant.byte >= weights.byte &&
           constant.byte + constant.row <= weights.end();
  };
  std::map<uint64_t, uint64_t> small; // bytes of those that begin there
  for (const std::vector<Constant> &list : constants)
    for (const Constant &constant : list)
      if (isSmall(constant))
        small[constant.byte] = std::max(small[constant.byte], constant.row);
  std::map<uint64_t, Constant> joinedAt; // by where it begins
  for (auto [byte, bytes] : small) {
    Constant *last = joinedAt.empty() ? nullptr : &joinedAt.rbegin()->second;
    const uint64_t end = byte + bytes;
    if (last && byte <= llvm::alignTo(last->byte + last->row, lineBytes) && end <= last->byte + mostJoined)
      last->row = last->pitch = std::max(last->row, end - last->byte);
    else
      joinedAt[byte] = {byte, bytes, 1, bytes};
  }
  for (std::vector<Constant> &list : constants) {
    std::vector<Constant> joined;
    for (const Constant &constant : list) {
      const Constant each = isSmall(constant) ? std::prev(joinedAt.upper_bound(constant.byte))->second : constant;
      if (!llvm::is_contained(joined, each))
        joined.push_back(each);
    }
    list = std::move(joined);
  }
}

/// One that is there, or on its way, and may stay until a step.
const Prefetch::Resident *Prefetch::find(const Constant &constant, size_t step) const {
  auto mayStay = [&](const Resident &each) {
    if (!(each.constant == constant))
      return false;
    const Range range{each.to, each.constant.bytes()};
    for (size_t later = each.last + 1; later <= step; ++later) {
      NearMemory near(nearBytes);
      near.take(taken[later]);
      if (!near.isFree(range))
        return false;
    }
    return true;
  };
  auto found = llvm::find_if(residents, mayStay);
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
    const Constant wanted = constantOf(value);
    const auto known = llvm::find_if(constants[number], [&](const Constant &each) { return each.has(wanted); });
    const bool isKnown = value.spot.space == Space::DDR && known != constants[number].end();
    const Resident *resident = isKnown ? find(*known, number) : nullptr;
    if (!resident)
      continue;
    value.spot = {Space::LLB, resident->to + wanted.byte - known->byte};
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

/// Of what nobody reads behind a step: where values of the next step lie that come there, because what is free for
/// longer is left to others; or else the highest place.
std::optional<uint64_t> Prefetch::placeUntil(size_t last, const NearMemory &free, uint64_t bytes) const {
  for (const Range &range : last + 1 < taken.size() ? llvm::ArrayRef(taken[last + 1]) : llvm::ArrayRef<Range>())
    if (range.bytes >= bytes) {
      const uint64_t to = (range.end() - bytes) / lineBytes * lineBytes;
      if (free.isFree({to, bytes}))
        return to;
    }
  return free.highest(bytes);
}

/// Until the last reader that leaves space for others; until the first one in any case.
Prefetch::Resident *Prefetch::allocate(size_t number, const Constant &constant, llvm::ArrayRef<Range> used) {
  const uint64_t bytes = llvm::alignTo(constant.bytes(), lineBytes), left = nearBytes / 4;
  const std::vector<size_t> &all = readers[constant];
  const auto first = llvm::upper_bound(all, number);
  for (auto last = all.end(); last != first; --last) {
    const size_t reader = *std::prev(last);
    NearMemory free = nearUntil(number, reader, used);
    const std::optional<uint64_t> to = last == all.end() ? placeUntil(reader, free, bytes) : free.highest(bytes);
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
      if (constant.since > number)
        continue; // nobody has written it
      const Resident *resident = find(constant, number + 1);
      if (resident || nearUntil(number, number + 1, {}).highest(llvm::alignTo(constant.bytes(), lineBytes)))
        bytes += constant.bytes() - (resident ? resident->done : 0);
    }
  return bytes;
}

std::vector<uint64_t> Prefetch::missingAhead(size_t number, size_t steps) const {
  std::vector<uint64_t> missing;
  std::vector<Range> used;
  std::set<Constant> counted;
  uint64_t bytes = 0;
  for (size_t step = number + 1; step < std::min(constants.size(), number + 1 + steps); ++step) {
    for (const Constant &constant : constants[step]) {
      if (constant.since > number || !counted.insert(constant).second)
        continue;
      const Resident *resident = find(constant, step);
      if (!resident) {
        const uint64_t size = llvm::alignTo(constant.bytes(), lineBytes);
        const std::optional<uint64_t> to = nearUntil(number, step, used).highest(size);
        if (!to)
          return missing;
        used.push_back({*to, size});
      }
      bytes += constant.bytes() - (resident ? resident->done : 0);
    }
    missing.push_back(bytes);
  }
  return missing;
}

std::vector<Copy> Prefetch::next(size_t number, llvm::ArrayRef<Range> used, uint64_t bytes) {
  std::vector<Copy> copies;
  constexpr unsigned mostWithoutSpace = 4; // values; looking for space takes long
  unsigned withoutSpace = 0;
  for (size_t step = number + 1; step < constants.size(); ++step)
    for (const Constant &constant : constants[step]) {
      if (constant.since > number)
        continue; // nobody has written it
      const bool isNeeded = step == number + 1;
      auto *resident = const_cast<Resident *>(find(constant, step));
      if (resident && resident->last < step) { // it stays, if that leaves space for others
        if (!isNeeded && !nearUntil(number, step, used).highest(nearBytes / 4))
          continue;
        resident->last = step;
      }
      if (!resident && (isNeeded || bytes))
        resident = allocate(number, constant, used);
      if (!resident && !isNeeded && (!constant.since || ++withoutSpace > mostWithoutSpace))
        return copies;
      if (!resident)
        continue;
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
