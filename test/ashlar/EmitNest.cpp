// Nests for the systolic array, and for the unit that adds.
//
// A sum of products is a product of matrices along three of its loops: rows (m), which only the left operand has,
// columns (n), which only the right one has, and the sum (k). A sum of loads is one of rows and columns. Each
// combination of the other loops is instructions of its own: the machine has no loops.
#include "Ashlar.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace perpend::accelerator;

namespace ashlar {
namespace {

/// More instructions are not worth it.
constexpr size_t mostInstructions = 1 << 20;
constexpr int64_t elementBytes = 4;

class Emitter {
public:
  Emitter(const Nest &nest, llvm::ArrayRef<uint64_t> addresses, std::vector<Instruction> &instructions)
      : nest(nest), addresses(addresses), instructions(instructions), before(instructions.size()) {}
  std::string emit();

private:
  bool takeProduct();
  bool takeTerms(unsigned number);
  void chooseLoops();
  int longest(llvm::function_ref<bool(unsigned)> isWanted) const;
  /// Calls for all values of the loops that are neither rows, columns nor the inner sum.
  void forEach(bool isReduced, llvm::function_ref<void()> visit);
  void emitTile();
  void emitSums(int64_t rows, int64_t columns);
  void move(Opcode opcode, const Access &access, int rowLoop, int columnLoop, uint32_t row, int64_t rows,
            int64_t columns);
  int64_t extentOf(int loop) const { return loop < 0 ? 1 : nest.loops[loop].extent; }

  const Nest &nest;
  llvm::ArrayRef<uint64_t> addresses;
  std::vector<Instruction> &instructions;
  size_t before;
  std::vector<const Access *> terms; ///< of a sum of loads; of a product: its left and its right operand
  bool isProduct = false;
  int m = -1, n = -1, k = -1; ///< loops
  std::vector<int64_t> at;    ///< where each loop is
};

bool Emitter::takeProduct() {
  const Node &value = nest.nodes[nest.value];
  if (nest.combine != Function::add || value.kind != Node::Apply || value.function != Function::mul)
    return false;
  for (unsigned operand : value.operands) {
    if (nest.nodes[operand].kind != Node::Load || nest.nodes[operand].type != DType::F32)
      return false;
    terms.push_back(&nest.nodes[operand].access);
  }
  return isProduct = true;
}

/// A sum from left to right.
bool Emitter::takeTerms(unsigned number) {
  const Node &node = nest.nodes[number];
  if (node.kind == Node::Number && number == nest.value && !nest.combine)
    return node.number == 0 && !std::signbit(node.number);
  if (node.kind == Node::Load && node.type == nest.type)
    return terms.push_back(&node.access), true;
  return node.kind == Node::Apply && node.function == Function::add && node.type == DType::F32 &&
         nest.nodes[node.operands[1]].kind == Node::Load && takeTerms(node.operands[0]) && takeTerms(node.operands[1]);
}

int Emitter::longest(llvm::function_ref<bool(unsigned)> isWanted) const {
  int best = -1;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (isWanted(loop) && (best < 0 || nest.loops[loop].extent > nest.loops[best].extent))
      best = static_cast<int>(loop);
  return best;
}

void Emitter::chooseLoops() {
  auto isSpatial = [&](unsigned loop) { return !nest.loops[loop].isReduced; };
  if (!isProduct) {
    n = longest(isSpatial);
    m = longest([&](unsigned loop) { return isSpatial(loop) && static_cast<int>(loop) != n; });
    return;
  }
  auto isOnlyIn = [&](const Access &one, const Access &other) {
    return [&](unsigned loop) { return isSpatial(loop) && one.strides[loop] != 0 && other.strides[loop] == 0; };
  };
  if (longest(isOnlyIn(*terms[0], *terms[1])) >= 0 && longest(isOnlyIn(*terms[1], *terms[0])) < 0)
    std::swap(terms[0], terms[1]); // columns are there before rows
  m = longest(isOnlyIn(*terms[0], *terms[1]));
  n = longest(isOnlyIn(*terms[1], *terms[0]));
  k = longest([&](unsigned loop) { return nest.loops[loop].isReduced; });
}

void Emitter::forEach(bool isReduced, llvm::function_ref<void()> visit) {
  llvm::SmallVector<unsigned> loops;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (nest.loops[loop].isReduced == isReduced && !llvm::is_contained({m, n, k}, static_cast<int>(loop)))
      loops.push_back(loop);
  while (instructions.size() - before < mostInstructions) {
    visit();
    size_t next = loops.size();
    while (next > 0 && ++at[loops[next - 1]] == nest.loops[loops[next - 1]].extent)
      at[loops[--next]] = 0;
    if (next == 0)
      return;
  }
}

/// A piece of an operand that begins where the loops are.
void Emitter::move(Opcode opcode, const Access &access, int rowLoop, int columnLoop, uint32_t row, int64_t rows,
                   int64_t columns) {
  int64_t element = access.base;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    element += at[loop] * access.strides[loop];
  auto distance = [&](int loop) { return loop < 0 ? 0 : access.strides[loop] * elementBytes; };
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.row = row;
  instruction.rows = static_cast<uint32_t>(rows);
  instruction.columns = static_cast<uint32_t>(columns);
  instruction.address = addresses[access.buffer] + static_cast<uint64_t>(element * elementBytes);
  instruction.rowDistance = distance(rowLoop);
  instruction.columnDistance = distance(columnLoop);
  instructions.push_back(instruction);
}

/// Adds what the inner loops have to the accumulators.
void Emitter::emitSums(int64_t rows, int64_t columns) {
  constexpr uint32_t others = accumulatorRows / 2;
  if (!isProduct) {
    for (const Access *term : llvm::ArrayRef(terms).drop_front(nest.combine ? 0 : 1)) {
      move(Opcode::LoadSums, *term, m, n, others, rows, columns);
      instructions.push_back({Opcode::Add, 0, static_cast<uint32_t>(rows), 0, others});
    }
    return;
  }
  for (int64_t first = 0; first < extentOf(k); first += lanes) {
    const int64_t length = std::min<int64_t>(lanes, extentOf(k) - first);
    if (k >= 0)
      at[k] = first;
    move(Opcode::LoadActivations, *terms[0], m, k, 0, rows, length);
    if (length < lanes) // what was there before is no number for sure
      move(Opcode::LoadWeights, *terms[1], k, n, 0, lanes, 0);
    move(Opcode::LoadWeights, *terms[1], k, n, 0, length, columns);
    instructions.push_back({Opcode::Multiply, 0, static_cast<uint32_t>(rows)});
  }
  if (k >= 0)
    at[k] = 0;
}

void Emitter::emitTile() {
  constexpr int64_t mostRows = accumulatorRows / 2;
  for (int64_t row = 0; row < extentOf(m); row += mostRows)
    for (int64_t column = 0; column < extentOf(n); column += lanes) {
      const int64_t rows = std::min(mostRows, extentOf(m) - row),
                    columns = std::min<int64_t>(lanes, extentOf(n) - column);
      if (m >= 0)
        at[m] = row;
      if (n >= 0)
        at[n] = column;
      if (terms.empty())
        instructions.push_back({Opcode::Clear, 0, static_cast<uint32_t>(rows)});
      else if (!nest.combine) // the first term as it is: 0 + -0 were not -0
        move(Opcode::LoadSums, *terms[0], m, n, 0, rows, columns);
      else if (nest.continues)
        move(Opcode::LoadSums, nest.store, m, n, 0, rows, columns);
      else
        instructions.push_back({Opcode::Clear, 0, static_cast<uint32_t>(rows)});
      if (!terms.empty())
        forEach(/*isReduced=*/true, [&] { emitSums(rows, columns); });
      move(Opcode::Store, nest.store, m, n, 0, rows, columns);
    }
  for (int loop : {m, n})
    if (loop >= 0)
      at[loop] = 0;
}

std::string Emitter::emit() {
  if (nest.rows)
    return "rows of a table that data chooses";
  const bool isSum = !nest.combine || (nest.combine == Function::add && nest.initial == 0);
  const bool isCopy = !nest.combine && nest.nodes[nest.value].kind == Node::Load && sizeOf(nest.type) == elementBytes &&
                      nest.nodes[nest.value].type == nest.type;
  if (!isSum || (nest.type != DType::F32 && !isCopy))
    return "neither a sum nor a copy of numbers of 4 bytes";
  if (!takeProduct()) {
    terms.clear();
    if (!takeTerms(nest.value))
      return "something else than products and sums";
  }
  chooseLoops();
  at.assign(nest.loops.size(), 0);
  forEach(/*isReduced=*/false, [&] { emitTile(); });
  if (instructions.size() - before < mostInstructions)
    return "";
  instructions.resize(before);
  return "more instructions than are worth it";
}

} // namespace

std::string emitNest(const Nest &nest, llvm::ArrayRef<uint64_t> addresses, std::vector<Instruction> &instructions) {
  return Emitter(nest, addresses, instructions).emit();
}

} // namespace ashlar
