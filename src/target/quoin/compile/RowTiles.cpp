//===- RowTiles.cpp - instructions for chains of rows ---------------------===//
//
// A tile is some rows. What the chain reads of them is loaded once; each value is an instruction on the tile, on a
// value for each row, or on what all rows share; what leaves the chain is stored.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Cost.h"
#include "target/quoin/compile/RowValues.h"
#include "target/quoin/compile/VectorNest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>

namespace perpend::quoin {
namespace {

/// Where a value of a tile lies.
struct Tile {
  unsigned room = 0;
  DType type = DType::None;
  bool hasRows = false, hasColumns = false;
};

class RowTiles {
public:
  RowTiles(const RowChain &chain, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream, unsigned sharers)
      : chain(chain), values(rowValuesOf(chain)), places(places), config(config), stream(stream), sharers(sharers) {}
  std::string emit();

private:
  bool emitTiling(int64_t rows);
  bool emitRows(int64_t begin, int64_t count, int64_t rows);
  bool emitValue(unsigned number);
  bool emitApply(const RowValue &value, Tile &result);
  bool emitReduction(const RowValue &value, Tile &result);
  bool emitLoad(const RowValue &value, Tile &result);
  bool emitNumber(const RowValue &value, Tile &result);
  bool emitStore(const RowStore &store);
  bool set(Instruction &instruction, unsigned operand, const Tile &tile, const Tile &shape);
  void setExtents(Instruction &instruction, const Tile &shape) const;
  bool findRoom(Tile &tile, bool isHandedOver, bool isShared = false);
  bool findRoomOf(const RowValue &value, Tile &tile);
  int64_t rowsOfLines() const;
  std::optional<Operand> farOperand(const ElementAccess &access, DType type);
  bool add(Instruction instruction);
  bool refuse(const llvm::Twine &text) { return problem = text.str(), false; }
  bool refuseAddresses() { return refuse("more addresses than there are generators"); }

  unsigned lastRow() const { return chain.rows - 1; }
  uint64_t elementsOf(const Tile &tile) const {
    return static_cast<uint64_t>((tile.hasRows ? tileRows : 1) * (tile.hasColumns ? chain.columns : 1));
  }

  const RowChain &chain;
  const RowValues values;
  llvm::ArrayRef<Spot> places;
  const Config &config;
  Stream &stream;
  unsigned sharers;

  std::vector<unsigned> rooms; ///< in the order of requests, which is the same in all parts
  size_t nextRoom = 0;
  unsigned turn = 0;                                               ///< of a tile
  int64_t tileRows = 1;                                            ///< of this part
  int64_t stepRows = 0;                                            ///< of the loop over tiles; 0: there is none
  int64_t firstRow = 0;                                            ///< of this part
  std::vector<std::optional<Tile>> tiles;                          ///< of values
  std::vector<unsigned> users;                                     ///< of values, that are still to come
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

/// Only the vector unit uses what is not stored, and is not the same for all rows: its memory is used again.
bool RowTiles::findRoomOf(const RowValue &value, Tile &tile) {
  auto &some = free[{tile.hasRows, sizeOf(tile.type)}];
  if (value.isShared || value.isStored || some.empty() || !tile.hasColumns)
    return findRoom(tile, value.isStored, value.isShared);
  tile.room = some.back();
  some.pop_back();
  return true;
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

bool RowTiles::emitLoad(const RowValue &value, Tile &result) {
  const int64_t row = value.access.strides[lastRow()], column = value.access.strides[chain.rows];
  if (column > 1 || column < 0 || row < 0)
    return refuse("elements of a row that lie apart");
  std::optional<Operand> from = farOperand(value.access, value.type);
  if (!findRoom(result, /*isHandedOver=*/true, value.isShared))
    return false;
  std::optional<Operand> to = stream.at(result.room);
  if (!from || !to)
    return refuseAddresses();
  const auto columns = static_cast<uint32_t>(result.hasColumns ? chain.columns : 1),
             rows = static_cast<uint32_t>(result.hasRows ? tileRows : 1);
  const bool isLine = rows == 1 || (columns == 1 && row == 1);
  Instruction load;
  load.opcode = isLine ? Opcode::ld_1d : Opcode::ld_2d;
  load.dstType = load.src0Type = value.type;
  load.extent = {isLine ? rows * columns : columns, isLine ? 0 : rows, 0};
  load.dst() = *to;
  load.src(0) = *from;
  if (!isLine) {
    load.stride1[Src0] = static_cast<uint32_t>(row);
    load.stride1[Dst] = columns;
  }
  return add(std::move(load));
}

bool RowTiles::emitNumber(const RowValue &value, Tile &result) {
  Instruction fill = fillWith(value.type, value.number);
  setExtents(fill, result);
  if (!findRoomOf(value, result) || !set(fill, Dst, result, result))
    return false;
  fill.inner[Dst] = 1;
  return add(std::move(fill));
}

bool RowTiles::emitApply(const RowValue &value, Tile &result) {
  Instruction apply;
  apply.opcode = value.opcode;
  apply.dstType = value.type;
  for (auto [index, operand] : llvm::enumerate(value.operands)) {
    const Tile &tile = *tiles[operand];
    if (index < 2)
      (index == 0 ? apply.src0Type : apply.src1Type) = tile.type;
    if (!set(apply, Src0 + static_cast<unsigned>(index), tile, result))
      return false;
  }
  if (value.numberType != DType::None) {
    apply.mode = Operands::Scalar;
    setNumber(apply, value.numberType, value.number);
  }
  // An operand that nobody reads any more leaves its room to what comes next, not to this result.
  if (!findRoomOf(value, result) || !set(apply, Dst, result, result))
    return false;
  if (!result.hasRows && !result.hasColumns)
    apply.inner[Dst] = 1;
  setExtents(apply, result);
  return add(std::move(apply));
}

static bool isNeutral(const RowValue &reduction) {
  const double infinity = std::numeric_limits<double>::infinity();
  return (reduction.opcode == Opcode::rmax && reduction.number == -infinity) ||
         (reduction.opcode == Opcode::rmin && reduction.number == infinity);
}

bool RowTiles::emitReduction(const RowValue &value, Tile &result) {
  const Tile &from = *tiles[value.operands[0]];
  Instruction reduce;
  reduce.opcode = value.opcode;
  reduce.dstType = value.type;
  reduce.src0Type = from.type;
  if (!findRoomOf(value, result) || !set(reduce, Src0, from, from) || !set(reduce, Dst, result, from))
    return false;
  reduce.inner[Dst] = 1;
  setExtents(reduce, from);
  if (!add(std::move(reduce)))
    return false;
  if (isNeutral(value))
    return true;
  Instruction combine;
  combine.opcode = value.opcode == Opcode::rprod  ? Opcode::mul
                   : value.opcode == Opcode::rmax ? Opcode::max
                   : value.opcode == Opcode::rmin ? Opcode::min
                                                  : Opcode::add;
  combine.dstType = combine.src0Type = value.type;
  combine.mode = Operands::Scalar;
  setNumber(combine, value.type, value.number);
  if (!set(combine, Src0, result, result) || !set(combine, Dst, result, result))
    return false;
  if (!result.hasRows)
    combine.inner[Dst] = combine.inner[Src0] = 1;
  setExtents(combine, result);
  return add(std::move(combine));
}

bool RowTiles::emitStore(const RowStore &stored) {
  const Tile &value = *tiles[stored.value];
  const int64_t row = stored.access.strides[lastRow()],
                column = value.hasColumns ? stored.access.strides[chain.rows] : 1;
  if (column != 1)
    return refuse("results of a row that lie apart");
  const auto columns = static_cast<uint32_t>(value.hasColumns ? chain.columns : 1),
             rows = static_cast<uint32_t>(tileRows);
  const bool isLine = rows == 1 || (columns == 1 && row == 1);
  std::optional<Operand> from = stream.at(value.room), to = farOperand(stored.access, value.type);
  if (!from || !to)
    return refuseAddresses();
  Instruction store;
  store.opcode = isLine ? Opcode::st_1d : Opcode::st_2d;
  store.dstType = store.src0Type = value.type;
  store.extent = {isLine ? rows * columns : columns, isLine ? 0 : rows, 0};
  store.dst() = *to;
  store.src(0) = *from;
  if (!isLine) {
    store.stride1[Src0] = columns;
    store.stride1[Dst] = static_cast<uint32_t>(row);
  }
  return add(std::move(store));
}

bool RowTiles::emitValue(unsigned number) {
  const RowValue &value = values.values[number];
  Tile result{0, value.type, value.hasRows, value.hasColumns};
  const bool isDone = value.kind == RowValue::Load     ? emitLoad(value, result)
                      : value.kind == RowValue::Number ? emitNumber(value, result)
                      : value.kind == RowValue::Reduce ? emitReduction(value, result)
                                                       : emitApply(value, result);
  if (!isDone)
    return false;
  tiles[number] = result;
  for (unsigned operand : value.operands) {
    const RowValue &read = values.values[operand];
    if (--users[operand] == 0 && read.kind == RowValue::Apply && read.hasColumns && !read.isShared && !read.isStored)
      free[{read.hasRows, sizeOf(read.type)}].push_back(tiles[operand]->room);
  }
  return llvm::all_of(values.stores, [&](const RowStore &store) { return store.value != number || emitStore(store); });
}

/// Rows from `begin` on, in tiles that divide them.
bool RowTiles::emitRows(int64_t begin, int64_t count, int64_t rows) {
  tileRows = rows;
  firstRow = begin;
  stepRows = rows;
  free.clear();
  for (auto [number, value] : llvm::enumerate(values.values))
    users[number] = value.users;
  for (unsigned loop = 0; loop < lastRow(); ++loop)
    stream.openLoop(static_cast<uint64_t>(chain.nests[0].loops[loop].extent));
  stream.openLoop(static_cast<uint64_t>(count / rows));
  stream.beginTurn(turn);
  for (unsigned number = 0; number < values.values.size(); ++number)
    if (!values.values[number].isShared && !emitValue(number))
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
  tiles.assign(values.values.size(), std::nullopt);
  users.assign(values.values.size(), 1);
  nextRoom = 0;
  firstRow = stepRows = 0;
  tileRows = rows;
  turn = stream.newTurn();
  for (unsigned number = 0; number < values.values.size(); ++number)
    if (values.values[number].isShared && !emitValue(number))
      return false;
  const size_t own = nextRoom;
  if (!emitRows(0, count - rest, rows))
    return false;
  nextRoom = own;
  return rest == 0 || emitRows(count - rest, rest, rest);
}

/// Rows after which all that is stored ends in whole lines, if it begins at one.
int64_t RowTiles::rowsOfLines() const {
  constexpr uint64_t lineBytes = 64;
  uint64_t rows = 1;
  for (const RowStore &stored : values.stores) {
    const auto row =
        static_cast<uint64_t>(std::abs(stored.access.strides[lastRow()])) * sizeOf(values.values[stored.value].type);
    rows = std::lcm(rows, lineBytes / std::gcd(row, lineBytes));
  }
  return static_cast<int64_t>(rows);
}

std::string RowTiles::emit() {
  if (!values.problem.empty())
    return values.problem;
  const int64_t count = chain.nests[0].loops[lastRow()].extent;
  constexpr int64_t mostRows = 4095;
  std::optional<int64_t> best;
  uint64_t least = 0;
  unsigned worse = 0;
  constexpr unsigned mostWorse = 4;
  const int64_t inLines = rowsOfLines();
  llvm::SmallVector<int64_t, 2> last;
  for (int64_t parts = (count + mostRows - 1) / mostRows; worse < mostWorse; parts += std::max<int64_t>(1, parts / 4)) {
    const int64_t rows = (count + parts - 1) / parts;
    llvm::SmallVector<int64_t, 2> tried{rows};
    if (const int64_t whole = rows / inLines * inLines; whole && whole != rows)
      tried.push_back(whole);
    for (int64_t each : tried) {
      if (llvm::is_contained(last, each) || !emitTiling(each))
        continue;
      const uint64_t cycles = estimatedCycles(stream.current(), config, sharers);
      worse = best && cycles >= least ? worse + 1 : 0;
      if (!best || cycles < least) {
        best = each;
        least = cycles;
      }
    }
    last = tried;
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
