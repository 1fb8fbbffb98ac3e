//===- TableRows.cpp - rows of a table that data chooses ------------------===//
//
// Numbers of rows come into L1, the rows behind them, and from there they are stored. Rows that are too short for
// ld.gather are copied in L1, into which the whole table is loaded before.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/TableRows.h"

#include "llvm/Support/MathExtras.h"

namespace perpend::quoin {

/// Of a number, of rows that ld.gather loads, and of one transfer.
constexpr int64_t indexBytes = 4, leastRowBytes = 32, mostElements = 65535, mostRows = 4095;

namespace {
class TableRows {
public:
  TableRows(const Nest &nest, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream)
      : nest(nest), places(places), config(config), stream(stream), columns(nest.loops.back().extent),
        size(sizeOf(nest.type)) {}
  std::string emit();

private:
  bool loadTable();
  bool emitRows(int64_t first, int64_t rows, int64_t times);
  bool loadNumbers(unsigned room, int64_t first, int64_t rows, llvm::ArrayRef<Advance> advances);
  bool gather(unsigned numbers, unsigned elements, int64_t rows);
  bool store(unsigned room, int64_t first, int64_t rows, llvm::ArrayRef<Advance> advances);
  std::optional<Operand> far(unsigned buffer, int64_t element, int64_t bytes, llvm::ArrayRef<Advance> advances) {
    return stream.operand(places[buffer].space, places[buffer].byte + static_cast<uint64_t>(element * bytes), advances);
  }
  bool add(Instruction instruction, std::optional<Operand> to, std::optional<Operand> from) {
    if (!to || !from)
      return refuse("more addresses than there are generators");
    instruction.dst() = *to;
    instruction.src(0) = *from;
    if (problem = check(instruction, config); problem.empty())
      stream.add(instruction);
    return problem.empty();
  }
  bool refuse(const char *why) { return problem = why, false; }
  const Node &index() const { return nest.nodes[nest.value]; }
  int64_t indexStride() const { return row ? index().access.strides[*row] : 0; }
  int64_t storeStride() const { return row ? nest.store.strides[*row] : columns; }

  const Nest &nest;
  llvm::ArrayRef<Spot> places;
  const Config &config;
  Stream &stream;
  const int64_t columns, size;
  std::optional<unsigned> row;  ///< the loop over rows of one instruction
  std::vector<unsigned> around; ///< the other loops
  std::optional<unsigned> tableRoom;
  std::string problem;
};
} // namespace

bool TableRows::loadTable() {
  const int64_t elements = nest.rows->count * columns;
  if (elements * size > static_cast<int64_t>(config.l1Bytes) / 4)
    return refuse("a table of short rows that L1 does not hold");
  if (!(tableRoom = stream.newRoom(Space::L1, static_cast<uint64_t>(elements * size))))
    return refuse("a table of short rows that L1 does not hold");
  for (int64_t begin = 0; begin < elements; begin += mostElements) {
    Instruction load;
    load.opcode = Opcode::ld_1d;
    load.dstType = load.src0Type = nest.type;
    load.extent[0] = static_cast<uint32_t>(std::min(mostElements, elements - begin));
    if (!add(load, stream.at(*tableRoom, static_cast<uint64_t>(begin * size)), far(nest.rows->table, begin, size, {})))
      return false;
  }
  return true;
}

bool TableRows::loadNumbers(unsigned room, int64_t first, int64_t rows, llvm::ArrayRef<Advance> advances) {
  Instruction load;
  load.dstType = load.src0Type = DType::I32;
  const bool isDense = rows == 1 || indexStride() == 1;
  load.opcode = isDense ? Opcode::ld_1d : Opcode::ld_2d;
  load.extent[0] = static_cast<uint32_t>(isDense ? rows : 1);
  if (!isDense) {
    load.extent[1] = static_cast<uint32_t>(rows);
    load.stride1[Dst] = 1;
    load.stride1[Src0] = static_cast<uint32_t>(indexStride());
  }
  return add(load, stream.at(room),
             far(index().access.buffer, index().access.base + first * indexStride(), indexBytes, advances));
}

bool TableRows::gather(unsigned numbers, unsigned elements, int64_t rows) {
  Instruction gather;
  gather.opcode = tableRoom ? Opcode::gather : Opcode::ld_gather;
  gather.dstType = gather.src0Type = nest.type;
  gather.src1Type = DType::I32;
  gather.imm[0] = static_cast<uint32_t>(nest.rows->count);
  gather.extent[0] = static_cast<uint32_t>(columns);
  gather.extent[1] = static_cast<uint32_t>(rows);
  gather.inner[Dst] = gather.inner[Src0] = gather.inner[Src1] = 1;
  gather.stride1[Dst] = gather.stride1[Src0] = static_cast<uint32_t>(columns);
  std::optional<Operand> chosen = stream.at(numbers);
  if (!chosen)
    return refuse("more addresses than there are generators");
  gather.src(1) = *chosen;
  return add(gather, stream.at(elements), tableRoom ? stream.at(*tableRoom) : far(nest.rows->table, 0, size, {}));
}

bool TableRows::store(unsigned room, int64_t first, int64_t rows, llvm::ArrayRef<Advance> advances) {
  Instruction store;
  store.dstType = store.src0Type = nest.type;
  const bool isOne = storeStride() == columns && rows * columns <= mostElements;
  store.opcode = isOne ? Opcode::st_1d : Opcode::st_2d;
  store.extent[0] = static_cast<uint32_t>(isOne ? rows * columns : columns);
  if (!isOne) {
    store.extent[1] = static_cast<uint32_t>(rows);
    store.stride1[Dst] = static_cast<uint32_t>(storeStride());
    store.stride1[Src0] = static_cast<uint32_t>(columns);
  }
  return add(store, far(nest.store.buffer, nest.store.base + first * storeStride(), size, advances), stream.at(room));
}

/// So many rows from the first one on, and again so many of the next ones.
bool TableRows::emitRows(int64_t first, int64_t rows, int64_t times) {
  llvm::SmallVector<Advance, 8> ofIndex, ofStore;
  auto open = [&](int64_t extent, int64_t indexStep, int64_t storeStep) {
    const unsigned loop = stream.openLoop(static_cast<uint64_t>(extent));
    if (indexStep)
      ofIndex.push_back({loop, indexStep * indexBytes});
    if (storeStep)
      ofStore.push_back({loop, storeStep * size});
  };
  if (around.size() + (times > 1) > numLoops)
    return refuse("more loops than the sequencer has");
  for (unsigned loop : around)
    open(nest.loops[loop].extent, index().access.strides[loop], nest.store.strides[loop]);
  if (times > 1)
    open(times, rows * indexStride(), rows * storeStride());
  const unsigned turn = stream.depth() ? stream.newTurn() : 0, slots = turn ? 2 : 1;
  if (turn)
    stream.beginTurn(turn);
  const std::optional<unsigned> numbers =
                                    stream.newRoom(Space::L1, static_cast<uint64_t>(rows * indexBytes), slots, turn),
                                elements = stream.newRoom(Space::L1, static_cast<uint64_t>(rows * columns * size),
                                                          slots, turn);
  if (!numbers || !elements)
    return refuse("rows that L1 does not hold");

  if (!loadNumbers(*numbers, first, rows, ofIndex) || !gather(*numbers, *elements, rows) ||
      !store(*elements, first, rows, ofStore))
    return false;
  if (turn)
    stream.endTurn(turn);
  while (stream.depth())
    stream.closeLoop();
  return true;
}

std::string TableRows::emit() {
  stream.begin();
  for (unsigned loop = 0; loop + 1 < nest.loops.size(); ++loop)
    around.push_back(loop);
  if (!around.empty()) {
    row = around.back();
    around.pop_back();
  }
  const int64_t rows = row ? nest.loops[*row].extent : 1, rowBytes = columns * size;
  const int64_t space = static_cast<int64_t>(config.l1Bytes) / 8; // two slots, twice, beside a table
  const int64_t most = std::min(mostRows, space / (rowBytes + indexBytes));
  bool isDone = columns <= mostElements && most > 0;
  if (!isDone)
    refuse("rows that L1 does not hold");
  if (isDone && rowBytes < leastRowBytes)
    isDone = loadTable();
  const int64_t parts = isDone ? static_cast<int64_t>(llvm::divideCeil(rows, most)) : 1,
                length = static_cast<int64_t>(llvm::divideCeil(rows, parts)), full = rows / length;
  isDone = isDone && emitRows(0, length, full) && (rows == full * length || emitRows(full * length, rows % length, 1));
  if (!isDone)
    stream.abandon();
  return problem;
}

std::string emitTableRows(const Nest &nest, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream) {
  return TableRows(nest, places, config, stream).emit();
}

static bool reads(const Nest &nest, unsigned buffer) {
  return (nest.rows && nest.rows->table == buffer) || (nest.continues && nest.store.buffer == buffer) ||
         llvm::any_of(nest.nodes,
                      [&](const Node &node) { return node.kind == Node::Load && node.access.buffer == buffer; });
}

/// Whether two nests that follow on one another compute the same in the other order.
static bool mayChangePlaces(const Nest &first, const Nest &second) {
  return first.store.buffer != second.store.buffer && !reads(second, first.store.buffer) &&
         !reads(first, second.store.buffer);
}

void delayLookups(std::vector<Nest> &nests) {
  for (size_t number = 1; number < nests.size(); ++number)
    for (size_t place = number;
         place > 0 && !nests[place].rows && nests[place - 1].rows && mayChangePlaces(nests[place - 1], nests[place]);
         --place)
      std::swap(nests[place - 1], nests[place]);
}

} // namespace perpend::quoin
