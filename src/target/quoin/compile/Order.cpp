//===- Order.cpp - what units know of each other's work -------------------===//
#include "target/quoin/compile/Order.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <tuple>

namespace perpend::quoin {

std::optional<Unit> Order::unknown(Unit unit, const Cell &cell, bool isWrite) const {
  const Knowledge &clock = known[unsigned(unit)];
  for (unsigned other = 0; other < numUnits; ++other)
    if (other != unsigned(unit) && (cell.written[other] > clock[other] || (isWrite && cell.read[other] > clock[other])))
      return Unit(other);
  return std::nullopt;
}

void Order::publish(Unit unit) {
  const Knowledge clock = known[unsigned(unit)];
  for (Knowledge &other : known)
    join(other, clock);
  forgetKnown();
}

void Order::publishAll() {
  Knowledge all = {};
  for (const Knowledge &clock : known)
    join(all, clock);
  known.fill(all);
  past.clear();
}

static bool isKnown(const Knowledge &clock, const Cell &cell) {
  for (unsigned unit = 0; unit < numUnits; ++unit)
    if (cell.written[unit] > clock[unit] || cell.read[unit] > clock[unit])
      return false;
  return true;
}

/// The scalar core is not among them: it runs alone.
void Order::forgetKnown() {
  constexpr Unit units[] = {Unit::LD, Unit::FD, Unit::MX, Unit::VX, Unit::ST};
  llvm::erase_if(past, [&](const Cell &cell) {
    return llvm::all_of(units, [&](Unit unit) { return isKnown(known[unsigned(unit)], cell); });
  });
}

/// The unit, if only one has accessed the cell.
static std::optional<unsigned> unitOf(const Cell &cell) {
  std::optional<unsigned> only;
  for (unsigned unit = 0; unit < numUnits; ++unit)
    if (cell.written[unit] || cell.read[unit]) {
      if (only)
        return std::nullopt;
      only = unit;
    }
  return only;
}

void Order::joinNeighbours() {
  constexpr uint64_t lineBytes = 64; // between rooms there may be a part of a line
  llvm::sort(past, [](const Cell &one, const Cell &other) {
    return std::tuple(one.space, one.begin, one.end) < std::tuple(other.space, other.begin, other.end);
  });
  std::vector<Cell> joined;
  for (const Cell &cell : past) {
    const bool isFar = cell.space == Space::DDR || cell.space == Space::LLB;
    Cell *last = joined.empty() || isFar || joined.back().space != cell.space ? nullptr : &joined.back();
    const std::optional<unsigned> unit = unitOf(cell);
    if (!last || !unit || unitOf(*last) != unit || cell.begin > llvm::alignTo(last->end, lineBytes)) {
      joined.push_back(cell);
      continue;
    }
    last->end = std::max(last->end, cell.end);
    join(last->written, cell.written);
    join(last->read, cell.read);
  }
  past = std::move(joined);
}

bool Order::knowsFar(Unit unit) const {
  return llvm::all_of(past, [&](const Cell &cell) {
    return (cell.space != Space::DDR && cell.space != Space::LLB) || isKnown(known[unsigned(unit)], cell);
  });
}

} // namespace perpend::quoin
