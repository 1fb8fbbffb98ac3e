//===- RowTiles.cpp - instructions for chains of rows ---------------------===//
//
// A tile is some rows. What the chain reads of them is loaded once; each node of each nest is an instruction on the
// tile, on a value for each row, or on what all rows share; what leaves the chain is stored.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Cost.h"
#include "target/quoin/compile/RowChain.h"
#include "target/quoin/compile/VectorNest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

namespace perpend::quoin {
namespace {

/// A value of a tile: an element for each row, for each column, for both or for neither.
struct Tile {
  unsigned room = 0;
  DType type = DType::None;
  bool hasRows = false, hasColumns = false;
};

class RowTiles {
public:
  RowTiles(const RowChain &chain, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream, unsigned sharers)
      : chain(chain), places(places), config(config), stream(stream), sharers(sharers) {}
  std::string emit();

private:
  bool emitTiling(int64_t rows);
  bool emitRows(int64_t begin, int64_t count, int64_t rows);
  bool emitShared();
  bool emitNest(const Nest &nest, size_t number);
  bool emitNode(const Nest &nest, unsigned number, bool isStored);
  struct Reduced {
    Opcode opcode;
    unsigned node;
  };
  Reduced reducedOf(const Nest &nest) const;
  bool emitReduction(const Nest &nest, Tile &result);
  bool emitLoad(const Node &node, bool isShared);
  bool emitStore(const Nest &nest, const Tile &value);
  bool emitMove(const Nest &nest, const Tile &from, Tile &to);
  bool emitNumber(const Nest &nest, unsigned number);
  bool set(Instruction &instruction, unsigned operand, const Tile &tile, const Tile &shape);
  void setExtents(Instruction &instruction, const Tile &shape) const;
  bool findRoom(Tile &tile, bool isHandedOver, bool isShared = false);
  bool findTemporary(Tile &tile);
  void release(const Tile &tile);
  const Tile *operandOf(const Nest &nest, unsigned number);
  std::optional<Operand> farOperand(const ElementAccess &access, DType type);
  bool add(Instruction instruction);
  bool refuse(const llvm::Twine &text) { return problem = text.str(), false; }
  bool refuseAddresses() { return refuse("more addresses than there are generators"); }

  unsigned lastRow() const { return chain.rows - 1; }
  uint64_t elementsOf(const Tile &tile) const {
    return static_cast<uint64_t>((tile.hasRows ? tileRows : 1) * (tile.hasColumns ? chain.columns : 1));
  }

  using LoadKey = std::tuple<unsigned, int64_t, std::vector<int64_t>>;
  static LoadKey keyOf(const ElementAccess &access) {
    return {access.buffer, access.base, {access.strides.begin(), access.strides.end()}};
  }

  const RowChain &chain;
  llvm::ArrayRef<Spot> places;
  const Config &config;
  Stream &stream;
  unsigned sharers;

  std::vector<unsigned> rooms; ///< in the order of requests, which is the same in all parts
  size_t nextRoom = 0;
  unsigned turn = 0;    ///< of a tile
  int64_t tileRows = 1; ///< of this part
  int64_t stepRows = 0; ///< of the loop over tiles; 0: there is none
  int64_t firstRow = 0; ///< of this part
  std::map<LoadKey, Tile> loaded, shared;
  std::map<unsigned, Tile> between; ///< of buffers
  std::map<unsigned, size_t> lastUse;
  std::vector<std::optional<Tile>> nodes; ///< of the nest that is being emitted
  std::vector<unsigned> users;
  std::map<std::pair<bool, unsigned>, std::vector<unsigned>> free; ///< rooms of temporaries
  std::string problem;
};

bool RowTiles::add(Instruction instruction) {
  std::string violated = check(instruction, config);
  if (!violated.empty())
    return refuse(instruction.info().name + ": " + violated);
  stream.add(std::move(instruction));
  return true;
}

bool RowTiles::findRoom(Tile &tile, bool isHandedOver, bool isShared) {
  if (nextRoom == rooms.size()) {
    const bool hasSlots = isHandedOver && !isShared && turn != 0;
    std::optional<unsigned> room =
        stream.newRoom(Space::L1, elementsOf(tile) * sizeOf(tile.type), hasSlots ? 2 : 1, isShared ? 0 : turn);
    if (!room)
      return refuse("a row that L1 does not hold");
    rooms.push_back(*room);
  }
  tile.room = rooms[nextRoom++];
  return true;
}

/// Only the vector unit uses it.
bool RowTiles::findTemporary(Tile &tile) {
  auto &some = free[{tile.hasRows && tile.hasColumns, sizeOf(tile.type)}];
  if (some.empty() || !tile.hasColumns)
    return findRoom(tile, /*isHandedOver=*/false);
  tile.room = some.back();
  some.pop_back();
  return true;
}

void RowTiles::release(const Tile &tile) {
  if (tile.hasColumns)
    free[{tile.hasRows, sizeOf(tile.type)}].push_back(tile.room);
}

std::optional<Operand> RowTiles::farOperand(const ElementAccess &access, DType type) {
  const auto size = static_cast<int64_t>(sizeOf(type));
  llvm::SmallVector<Advance, 8> advances;
  for (unsigned loop = 0; loop < lastRow(); ++loop)
    advances.push_back({loop, access.strides[loop] * size});
  if (stepRows)
    advances.push_back({lastRow(), access.strides[lastRow()] * stepRows * size});
  const int64_t base = access.base + firstRow * access.strides[lastRow()];
  return stream.operand(places[access.buffer].space, places[access.buffer].byte + static_cast<uint64_t>(base * size),
                        advances);
}

void RowTiles::setExtents(Instruction &instruction, const Tile &shape) const {
  const auto columns = static_cast<uint32_t>(chain.columns), rows = static_cast<uint32_t>(tileRows);
  instruction.extent = {shape.hasColumns ? columns
                        : shape.hasRows  ? rows
                                         : 1,
                        shape.hasColumns && shape.hasRows ? rows : 1, 1};
}

/// An operand of an instruction on elements of `shape`.
bool RowTiles::set(Instruction &instruction, unsigned operand, const Tile &tile, const Tile &shape) {
  std::optional<Operand> at = stream.at(tile.room);
  if (!at)
    return refuseAddresses();
  instruction.operands[operand] = *at;
  const bool isInner = shape.hasColumns ? tile.hasColumns : tile.hasRows;
  instruction.inner[operand] = isInner;
  instruction.stride1[operand] =
      shape.hasColumns && tile.hasRows ? (tile.hasColumns ? static_cast<uint32_t>(chain.columns) : 1) : 0;
  return true;
}

bool RowTiles::emitLoad(const Node &node, bool isShared) {
  const int64_t row = node.access.strides[lastRow()], column = node.access.strides[chain.rows];
  if (column > 1 || column < 0 || row < 0)
    return refuse("elements of a row that lie apart");
  Tile tile{0, node.type, row != 0, column != 0};
  std::optional<Operand> from = farOperand(node.access, node.type);
  if (!findRoom(tile, /*isHandedOver=*/true, isShared))
    return false;
  std::optional<Operand> to = stream.at(tile.room);
  if (!from || !to)
    return refuseAddresses();
  const auto columns = static_cast<uint32_t>(tile.hasColumns ? chain.columns : 1),
             rows = static_cast<uint32_t>(tile.hasRows ? tileRows : 1);
  const bool isLine = rows == 1 || (columns == 1 && row == 1);
  Instruction load;
  load.opcode = isLine ? Opcode::ld_1d : Opcode::ld_2d;
  load.dstType = load.src0Type = node.type;
  load.extent = {isLine ? rows * columns : columns, isLine ? 0 : rows, 0};
  load.dst() = *to;
  load.src(0) = *from;
  if (!isLine) {
    load.stride1[Src0] = static_cast<uint32_t>(row);
    load.stride1[Dst] = columns;
  }
  (isShared ? shared : loaded)[keyOf(node.access)] = tile;
  return add(std::move(load));
}

/// Loads what all rows read, before the loops.
bool RowTiles::emitShared() {
  for (const Nest &nest : chain.nests)
    for (const Node &node : nest.nodes) {
      const bool isShared =
          node.kind == Node::Load && node.access.buffer < chain.between &&
          llvm::all_of(
              llvm::ArrayRef(node.access.strides).take_front(chain.rows), [](int64_t s) { return s == 0; }) &&
          !shared.contains(keyOf(node.access));
      const bool isWritten =
          llvm::any_of(chain.nests, [&](const Nest &other) { return other.store.buffer == node.access.buffer; });
      if (isShared && !isWritten && !emitLoad(node, /*isShared=*/true))
        return false;
    }
  return true;
}

const Tile *RowTiles::operandOf(const Nest &nest, unsigned number) {
  const Node &node = nest.nodes[number];
  if (node.kind != Node::Load)
    return nodes[number] ? &*nodes[number] : nullptr;
  if (auto known = between.find(node.access.buffer); known != between.end())
    return &known->second;
  if (auto known = shared.find(keyOf(node.access)); known != shared.end())
    return &known->second;
  auto known = loaded.find(keyOf(node.access));
  return known == loaded.end() ? nullptr : &known->second;
}

bool RowTiles::emitNumber(const Nest &nest, unsigned number) {
  const Node &node = nest.nodes[number];
  if (node.type == DType::Pred8)
    return refuse("a truth that does not change");
  Tile one{0, node.type, false, false};
  Instruction fill = fillWith(node.type, node.number);
  setExtents(fill, one);
  if (!findTemporary(one) || !set(fill, Dst, one, one))
    return false;
  fill.inner[Dst] = 1;
  nodes[number] = one;
  return add(std::move(fill));
}

bool RowTiles::emitNode(const Nest &nest, unsigned number, bool isStored) {
  const Node &node = nest.nodes[number];
  const llvm::SmallVector<unsigned, 3> operands = operandsOf(nest, node);
  Instruction apply;
  apply.opcode = node.opcode;
  apply.dstType = node.type;
  const bool usesScalar = apply.info().modes && nest.nodes[operands.back()].kind == Node::Number;
  Tile result{0, node.type, false, false};
  for (auto [index, operand] : llvm::enumerate(operands)) {
    if (usesScalar && index + 1 == operands.size())
      continue;
    if (nest.nodes[operand].kind == Node::Number && !nodes[operand] && !emitNumber(nest, operand))
      return false;
    const Tile *tile = operandOf(nest, operand);
    if (!tile)
      return refuse("a value that no nest leaves");
    result.hasRows |= tile->hasRows;
    result.hasColumns |= tile->hasColumns;
  }
  for (auto [index, operand] : llvm::enumerate(operands)) {
    if (usesScalar && index + 1 == operands.size()) {
      apply.mode = Operands::Scalar;
      setNumber(apply, nest.nodes[operand].type, nest.nodes[operand].number);
      if (index == 0)
        return refuse("a function of a number");
      continue;
    }
    const Tile &tile = *operandOf(nest, operand);
    if (index < 2)
      (index == 0 ? apply.src0Type : apply.src1Type) = tile.type;
    if (!set(apply, Src0 + static_cast<unsigned>(index), tile, result))
      return false;
  }
  // An operand that nobody reads any more leaves its room to what comes next, not to this result.
  if (!(isStored ? findRoom(result, /*isHandedOver=*/true) : findTemporary(result)) || !set(apply, Dst, result, result))
    return false;
  if (!result.hasRows && !result.hasColumns)
    apply.inner[Dst] = 1;
  for (unsigned operand : operands)
    if (nest.nodes[operand].kind == Node::Apply && --users[operand] == 0)
      release(*nodes[operand]);
  setExtents(apply, result);
  nodes[number] = result;
  return add(std::move(apply));
}

/// What is reduced: a sum of squares squares by itself, and a reduction widens floats by itself.
RowTiles::Reduced RowTiles::reducedOf(const Nest &nest) const {
  const Node &value = nest.nodes[nest.value];
  Reduced reduced{*nest.combine == Opcode::add   ? Opcode::rsum
                  : *nest.combine == Opcode::mul ? Opcode::rprod
                  : *nest.combine == Opcode::max ? Opcode::rmax
                                                 : Opcode::rmin,
                  nest.value};
  if (value.kind != Node::Apply || !isFloat(value.type) || !isFloat(nest.nodes[value.operands[0]].type))
    return reduced;
  if (value.opcode == Opcode::mul && value.operands[0] == value.operands[1] && *nest.combine == Opcode::add)
    return {Opcode::rsumsq, value.operands[0]};
  if (value.opcode == Opcode::cvt && sizeOf(nest.nodes[value.operands[0]].type) < sizeOf(value.type))
    reduced.node = value.operands[0];
  return reduced;
}

bool RowTiles::emitReduction(const Nest &nest, Tile &result) {
  const Reduced reduced = reducedOf(nest);
  const DType type = nest.nodes[nest.value].type;
  const Tile *from = operandOf(nest, reduced.node);
  if (!from || !from->hasColumns)
    return refuse("a reduction of what does not change");
  Instruction reduce;
  reduce.opcode = reduced.opcode;
  reduce.dstType = type;
  reduce.src0Type = from->type;
  result = {0, type, from->hasRows, false};
  if (!findTemporary(result) || !set(reduce, Src0, *from, *from) || !set(reduce, Dst, result, *from))
    return false;
  reduce.inner[Dst] = 1;
  setExtents(reduce, *from);
  if (!add(std::move(reduce)))
    return false;
  const double infinity = std::numeric_limits<double>::infinity();
  if ((*nest.combine == Opcode::max && nest.initial == -infinity) ||
      (*nest.combine == Opcode::min && nest.initial == infinity))
    return true;
  Instruction combine;
  combine.opcode = *nest.combine;
  combine.dstType = combine.src0Type = type;
  combine.mode = Operands::Scalar;
  setNumber(combine, type, nest.initial);
  if (!set(combine, Src0, result, result) || !set(combine, Dst, result, result))
    return false;
  if (!result.hasRows)
    combine.inner[Dst] = combine.inner[Src0] = 1;
  setExtents(combine, result);
  return add(std::move(combine));
}

bool RowTiles::emitMove(const Nest &nest, const Tile &from, Tile &to) {
  Instruction move;
  move.opcode = from.type == to.type || (isFloat(from.type) && isFloat(to.type)) ? Opcode::mov : Opcode::cvt;
  move.dstType = to.type;
  move.src0Type = from.type;
  if (!set(move, Src0, from, to) || !set(move, Dst, to, to))
    return false;
  if (!to.hasRows && !to.hasColumns)
    move.inner[Dst] = 1;
  setExtents(move, to);
  return add(std::move(move));
}

bool RowTiles::emitStore(const Nest &nest, const Tile &value) {
  const int64_t row = nest.store.strides[lastRow()], column = value.hasColumns ? nest.store.strides[chain.rows] : 1;
  if (column != 1)
    return refuse("results of a row that lie apart");
  const auto columns = static_cast<uint32_t>(value.hasColumns ? chain.columns : 1),
             rows = static_cast<uint32_t>(tileRows);
  const bool isLine = rows == 1 || (columns == 1 && row == 1);
  std::optional<Operand> from = stream.at(value.room), to = farOperand(nest.store, nest.type);
  if (!from || !to)
    return refuseAddresses();
  Instruction store;
  store.opcode = isLine ? Opcode::st_1d : Opcode::st_2d;
  store.dstType = store.src0Type = nest.type;
  store.extent = {isLine ? rows * columns : columns, isLine ? 0 : rows, 0};
  store.dst() = *to;
  store.src(0) = *from;
  if (!isLine) {
    store.stride1[Src0] = columns;
    store.stride1[Dst] = static_cast<uint32_t>(row);
  }
  return add(std::move(store));
}

bool RowTiles::emitNest(const Nest &nest, size_t number) {
  nodes.assign(nest.nodes.size(), std::nullopt);
  users.assign(nest.nodes.size(), 0);
  for (const Node &node : nest.nodes)
    for (unsigned operand : node.operands)
      ++users[operand];
  ++users[nest.value];
  const bool leaves = nest.store.buffer < chain.between;
  const Node &root = nest.nodes[nest.value];
  const bool hasColumns = !nest.combine && nest.store.strides[chain.rows] != 0;
  for (unsigned node = 0; node < nest.nodes.size(); ++node) {
    const Node &each = nest.nodes[node];
    if (each.kind == Node::Load && !operandOf(nest, node) && !emitLoad(each, /*isShared=*/false))
      return false;
    const bool isOnlySummed = nest.combine && node == nest.value && reducedOf(nest).node != node;
    if (each.kind == Node::Apply && !isOnlySummed &&
        !emitNode(nest, node, leaves && !nest.combine && node == nest.value && each.type == nest.type))
      return false;
  }
  Tile value;
  if (nest.combine) {
    if (!emitReduction(nest, value))
      return false;
  } else if (root.kind == Node::Number && !nodes[nest.value] && !emitNumber(nest, nest.value)) {
    return false;
  } else {
    value = *operandOf(nest, nest.value);
  }
  const bool isFinal = value.type == nest.type && value.hasRows && value.hasColumns == hasColumns;
  const bool isOwn = nest.combine ? !leaves : root.kind == Node::Apply; // its room is this value's alone
  if (!isFinal || !isOwn) {
    Tile moved{0, nest.type, true, hasColumns};
    if (!(leaves ? findRoom(moved, /*isHandedOver=*/true) : findTemporary(moved)) || !emitMove(nest, value, moved))
      return false;
    value = moved;
  }
  between[nest.store.buffer] = value;
  for (auto [buffer, last] : lastUse)
    if (last == number && buffer >= chain.between && between.contains(buffer))
      release(between[buffer]);
  return !leaves || emitStore(nest, value);
}

/// Rows from `begin` on, in tiles that divide them.
bool RowTiles::emitRows(int64_t begin, int64_t count, int64_t rows) {
  tileRows = rows;
  firstRow = begin;
  stepRows = rows;
  loaded.clear();
  between.clear();
  free.clear();
  for (unsigned loop = 0; loop < lastRow(); ++loop)
    stream.openLoop(static_cast<uint64_t>(chain.nests[0].loops[loop].extent));
  stream.openLoop(static_cast<uint64_t>(count / rows));
  stream.beginTurn(turn);
  for (auto [number, nest] : llvm::enumerate(chain.nests))
    if (!emitNest(nest, number))
      return false;
  stream.endTurn(turn);
  while (stream.depth())
    stream.closeLoop();
  return true;
}

bool RowTiles::emitTiling(int64_t rows) {
  const int64_t count = chain.nests[0].loops[lastRow()].extent, rest = count % rows;
  stream.begin();
  rooms.clear();
  shared.clear();
  nextRoom = 0;
  firstRow = stepRows = 0;
  tileRows = rows;
  turn = stream.newTurn();
  if (!emitShared())
    return false;
  const size_t own = nextRoom;
  if (!emitRows(0, count - rest, rows))
    return false;
  nextRoom = own;
  return rest == 0 || emitRows(count - rest, rest, rest);
}

std::string RowTiles::emit() {
  for (auto [number, nest] : llvm::enumerate(chain.nests))
    for (const Node &node : nest.nodes)
      if (node.kind == Node::Load)
        lastUse[node.access.buffer] = number;
  const int64_t count = chain.nests[0].loops[lastRow()].extent;
  constexpr int64_t mostRows = 4095;
  std::optional<int64_t> best;
  uint64_t least = 0;
  unsigned worse = 0;
  constexpr unsigned mostWorse = 4;
  for (int64_t parts = (count + mostRows - 1) / mostRows, last = 0; worse < mostWorse;
       parts += std::max<int64_t>(1, parts / 4)) {
    const int64_t rows = (count + parts - 1) / parts;
    if (rows != last && emitTiling(rows)) {
      const uint64_t cycles = estimatedCycles(stream.current(), config, sharers);
      worse = best && cycles >= least ? worse + 1 : 0;
      if (!best || cycles < least) {
        best = rows;
        least = cycles;
      }
    }
    last = rows;
    if (rows == 1)
      break;
  }
  if (best && emitTiling(*best))
    return "";
  stream.abandon();
  return problem;
}

} // namespace

std::string emitRowChain(const RowChain &chain, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream,
                         unsigned sharers) {
  return RowTiles(chain, places, config, stream, sharers).emit();
}

} // namespace perpend::quoin
