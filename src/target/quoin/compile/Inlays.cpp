//===- Inlays.cpp - values that lie inside of larger ones -----------------===//
//
// A value is rows of so many elements, one behind the other. Inside of a larger value its rows begin at a column, and
// are as far apart as the rows of that. A stride of a nest goes along a row, or over whole rows; the latter become
// longer. Steps are visited from the last one on, so that a value which gets its place inside of another one already
// has it when its own operands get theirs. Rows begin and end at lines of memory, so no line has elements of two
// values, which different cores may write.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Inlays.h"
#include "target/quoin/compile/NearArenas.h"
#include "target/quoin/compile/Overwrites.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace perpend::quoin {
namespace {

constexpr uint64_t lineBytes = 64;

struct Rows {
  int64_t elements = 0, pitch = 0;
};

/// An operand of a step, or with a number behind those of its operands a result.
struct Use {
  size_t step = 0;
  unsigned buffer = 0;
};

class Inlays {
public:
  Inlays(MainProgram &main, const Config &config) : main(main), config(config) {}
  bool lay();

private:
  struct Inlay {
    unsigned operand = 0;
    size_t copy = 0; ///< the nest that does it
    Rows rows;
    int64_t column = 0; ///< element of the result where the operand's first one goes
  };
  void findUses();
  static Value &valueOf(Step &step, unsigned buffer);
  std::optional<Inlay> inlayOf(size_t number, unsigned operand);
  bool mayMove(size_t number, const Inlay &inlay);
  bool isWrittenElsewhere(size_t number) const;
  void apply(size_t number, const Inlay &inlay);
  bool isNear(const Value &value) const {
    return value.arena && value.spot.space == Space::LLB && main.arenas[*value.arena].spot.space == Space::LLB;
  }

  MainProgram &main;
  const Config &config;
  std::vector<std::vector<Use>> uses; ///< of each arena
  std::vector<bool> hasInlays;        ///< of each step: values lie inside of its result
};

} // namespace

/// The access where rows are farther apart; nullopt: it has a stride that is neither along a row nor over whole ones.
static std::optional<ElementAccess> movedAccess(const ElementAccess &access, llvm::ArrayRef<NestLoop> loops,
                                                const Rows &rows) {
  const int64_t row = llvm::divideFloorSigned(access.base, rows.elements);
  int64_t least = access.base - row * rows.elements, most = least;
  ElementAccess moved = access;
  moved.row = rows.elements;
  moved.base = row * rows.pitch + least;
  for (auto [loop, stride] : llvm::zip_equal(loops, moved.strides)) {
    if (stride % rows.elements == 0) {
      stride = stride / rows.elements * rows.pitch;
      continue;
    }
    (stride > 0 ? most : least) += stride * (loop.extent - 1);
  }
  return least >= 0 && most < rows.elements ? std::optional(moved) : std::nullopt;
}

static bool isLoadOf(const Node &node, unsigned buffer) {
  return node.kind == Node::Load && node.access.buffer == buffer;
}

static bool loads(const Nest &nest, unsigned buffer) {
  return (nest.rows && nest.rows->table == buffer) ||
         llvm::any_of(nest.nodes, [&](const Node &node) { return isLoadOf(node, buffer); });
}

static int64_t iterationsOf(const Nest &nest) {
  int64_t iterations = 1;
  for (const NestLoop &loop : nest.loops)
    iterations *= loop.extent;
  return iterations;
}

/// The dimension in which alone a value is smaller.
static std::optional<unsigned> smallerDim(mlir::RankedTensorType value, mlir::RankedTensorType larger) {
  std::optional<unsigned> found;
  if (value.getRank() != larger.getRank() || value.getElementType() != larger.getElementType())
    return std::nullopt;
  for (unsigned dim = 0; dim < value.getRank(); ++dim) {
    if (value.getDimSize(dim) == larger.getDimSize(dim))
      continue;
    if (found || value.getDimSize(dim) > larger.getDimSize(dim))
      return std::nullopt;
    found = dim;
  }
  return found;
}

static int64_t elementsFrom(mlir::RankedTensorType type, unsigned dim) {
  int64_t elements = 1;
  for (int64_t extent : type.getShape().drop_front(dim))
    elements *= extent;
  return elements;
}

Value &Inlays::valueOf(Step &step, unsigned buffer) {
  return buffer < step.inputs.size() ? step.inputs[buffer] : step.outputs[buffer - step.inputs.size()];
}

void Inlays::findUses() {
  uses.resize(main.arenas.size());
  for (auto [number, step] : llvm::enumerate(main.steps))
    for (unsigned buffer = 0; buffer < step.inputs.size() + step.outputs.size(); ++buffer)
      if (const std::optional<unsigned> arena = valueOf(step, buffer).arena)
        uses[*arena].push_back({number, buffer});
}

/// Whether the nests of a kernel, plain loops, store each of so many elements of a buffer once.
static bool storeOnce(const Kernel &kernel, unsigned result, int64_t elements) {
  int64_t stored = 0;
  for (const Nest &nest : kernel.nests) {
    if (nest.combine || nest.rows || !nest.borders.empty() || !storesEachOnce(nest))
      return false;
    stored += nest.store.buffer == result ? iterationsOf(nest) : 0;
  }
  return stored == elements;
}

/// How a step copies an operand into its result.
std::optional<Inlays::Inlay> Inlays::inlayOf(size_t number, unsigned operand) {
  Step &step = main.steps[number];
  const Value &from = step.inputs[operand], &to = step.outputs.front();
  const Kernel &kernel = *step.nests;
  const auto result = static_cast<unsigned>(step.inputs.size());
  if (!isNear(from) || *from.arena == *to.arena || from.part)
    return std::nullopt;
  const std::optional<unsigned> dim = smallerDim(from.type, to.type);
  auto copy = llvm::find_if(kernel.nests, [&](const Nest &nest) { return loads(nest, operand); });
  if (!dim || copy == kernel.nests.end() ||
      llvm::count_if(kernel.nests, [&](const Nest &nest) { return loads(nest, operand); }) != 1)
    return std::nullopt;
  const Node &load = copy->nodes[copy->value];
  if (!isLoadOf(load, operand) || copy->store.buffer != result || load.type != copy->type || copy->sum ||
      kernel.buffers[operand].elementBytes != kernel.buffers[result].elementBytes ||
      iterationsOf(*copy) != kernel.buffers[operand].elements)
    return std::nullopt;
  const Rows own{elementsFrom(to.type, *dim), elementsFrom(to.type, *dim)};
  const auto size = static_cast<int64_t>(kernel.buffers[result].elementBytes);
  const Rows larger =
      to.part ? Rows{static_cast<int64_t>(to.part->bytes) / size, static_cast<int64_t>(to.part->pitch) / size} : own;
  const Rows rows{elementsFrom(from.type, *dim), larger.pitch};
  const std::optional<ElementAccess> moved = movedAccess(load.access, copy->loops, rows);
  if (larger.elements != own.elements || !moved || moved->strides != copy->store.strides)
    return std::nullopt;
  const int64_t column = copy->store.base - moved->base;
  auto isLines = [&](int64_t elements) {
    return static_cast<uint64_t>(elements) * kernel.buffers[result].elementBytes % lineBytes == 0;
  };
  if (column < 0 || !isLines(column) || !isLines(rows.elements) || !isLines(rows.pitch) ||
      to.spot.byte % lineBytes != 0)
    return std::nullopt;
  return Inlay{operand, static_cast<size_t>(copy - kernel.nests.begin()), rows, column};
}

/// Whether another step writes where the result of this one lies. What lies inside of others has columns of its own.
bool Inlays::isWrittenElsewhere(size_t number) const {
  const Value &to = main.steps[number].outputs.front();
  for (auto [other, step] : llvm::enumerate(main.steps))
    for (const Value &output : step.outputs)
      if (other != number && output.arena == to.arena && !output.part && !hasInlays[other] &&
          output.spot.byte < to.spot.byte + to.bytes() && to.spot.byte < output.spot.byte + output.bytes())
        return true;
  return false;
}

/// Whether all nests that use the operand can have it there.
bool Inlays::mayMove(size_t number, const Inlay &inlay) {
  const Value &from = main.steps[number].inputs[inlay.operand];
  const Arena &arena = main.arenas[*from.arena];
  for (const Step &step : main.steps)
    if (step.scratchArena == from.arena)
      return false;
  return llvm::all_of(uses[*from.arena], [&](const Use &use) {
    Step &step = main.steps[use.step];
    const Value &value = valueOf(step, use.buffer);
    if (!step.nests || !step.refusal.empty() || value.spot.byte != arena.spot.byte || value.bytes() != arena.bytes)
      return false;
    auto canMove = [&](const Nest &nest) {
      if (!nest.borders.empty() && loads(nest, use.buffer)) // whose lines are loaded with what lies between rows
        return false;
      auto isMovable = [&](const ElementAccess &access) {
        return access.buffer != use.buffer || movedAccess(access, nest.loops, inlay.rows);
      };
      return !(nest.rows && nest.rows->table == use.buffer) && isMovable(nest.store) &&
             llvm::all_of(nest.nodes,
                          [&](const Node &node) { return node.kind != Node::Load || isMovable(node.access); });
    };
    return llvm::all_of(step.nests->nests, canMove) && llvm::all_of(step.nests->bordered, canMove);
  });
}

void Inlays::apply(size_t number, const Inlay &inlay) {
  Step &step = main.steps[number];
  const Value to = step.outputs.front();
  const unsigned moved = *step.inputs[inlay.operand].arena;
  step.nests->nests.erase(step.nests->nests.begin() + static_cast<ptrdiff_t>(inlay.copy));
  for (const Use &use : uses[moved]) {
    Step &user = main.steps[use.step];
    Buffer &buffer = user.nests->buffers[use.buffer];
    const int64_t rows = buffer.elements / inlay.rows.elements;
    buffer.elements = (rows - 1) * inlay.rows.pitch + inlay.rows.elements;
    for (std::vector<Nest> *nests : {&user.nests->nests, &user.nests->bordered})
      for (Nest &nest : *nests) {
        if (nest.store.buffer == use.buffer)
          nest.store = *movedAccess(nest.store, nest.loops, inlay.rows);
        for (Node &node : nest.nodes)
          if (isLoadOf(node, use.buffer))
            node.access = *movedAccess(node.access, nest.loops, inlay.rows);
      }
    Value &value = valueOf(user, use.buffer);
    const auto bytes = static_cast<int64_t>(buffer.elementBytes);
    value.spot = {to.spot.space, to.spot.byte + static_cast<uint64_t>(inlay.column * bytes)};
    value.arena = to.arena;
    value.part = {static_cast<uint64_t>(inlay.rows.elements * bytes), static_cast<uint64_t>(inlay.rows.pitch * bytes),
                  static_cast<uint64_t>(rows)};
    uses[*to.arena].push_back(use);
  }
  uses[moved].clear();
}

bool Inlays::lay() {
  findUses();
  hasInlays.resize(main.steps.size());
  for (size_t number = main.steps.size(); number-- > 0;) {
    Step &step = main.steps[number];
    if (!step.nests || step.outputs.size() != 1 || !isNear(step.outputs.front()) || !step.nests->bordered.empty() ||
        !storeOnce(*step.nests, static_cast<unsigned>(step.inputs.size()),
                   step.outputs.front().type.getNumElements()) ||
        isWrittenElsewhere(number))
      continue;
    for (unsigned operand = 0; operand < step.inputs.size(); ++operand) {
      const std::optional<Inlay> inlay = inlayOf(number, operand);
      if (!inlay || !mayMove(number, *inlay))
        continue;
      const unsigned moved = *step.inputs[operand].arena;
      Arena &from = main.arenas[moved], &to = main.arenas[*step.outputs.front().arena];
      const Arena before = from, larger = to;
      to.first = std::min(to.first, from.first);
      to.last = std::max(to.last, from.last);
      from.bytes = 0;
      if (!planNear(main, config)) {
        from = before;
        to = larger;
        continue;
      }
      from.bytes = before.bytes; // by which its values are known
      apply(number, *inlay);
      from.bytes = 0;
      hasInlays[number] = true;
    }
  }
  const auto offsets = llvm::is_contained(hasInlays, true) ? planNear(main, config) : std::nullopt;
  if (!offsets)
    return false;
  moveNear(main, config, *offsets);
  return true;
}

bool layInside(MainProgram &main, const Config &config, const Decisions &decisions) {
  return decisions.sharing && !main.dynamic && Inlays(main, config).lay();
}

bool hasRefusedInlays(const MainProgram &main) {
  return llvm::any_of(main.steps, [](const Step &step) {
    auto isInside = [](const Value &value) { return value.part.has_value(); };
    return !step.refusal.empty() && (llvm::any_of(step.inputs, isInside) || llvm::any_of(step.outputs, isInside));
  });
}

} // namespace perpend::quoin
