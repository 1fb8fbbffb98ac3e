//===- PlanMemory.cpp - a place for every value of main ---------------------===//
//
// Runs on main when it consists of constants, reshapes (aliases) and kernel
// calls. Results of main go to the caller's memory, constants to the weights;
// everything else gets a buffer of the arena with a lifetime. Offsets are chosen
// here when all sizes are numbers, else by the runtime with the same planner.
//
//===----------------------------------------------------------------------===//

#include "graph/Shapes.h"
#include "tile/Buffers.h"
#include "tile/passes/Passes.h"

#include "../runtime/Planner.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILEPLANMEMORY
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::SymbolicInt;

static constexpr int64_t weightAlignment = 64;

namespace {
struct ArenaBuffer {
  SymbolicInt bytes;
  int64_t first, last;
};

class MemoryPlanner {
public:
  explicit MemoryPlanner(func::FuncOp main) : main(main), builder(main.getContext()) {}

  void run() {
    for (BlockArgument argument : main.getArguments())
      places[argument] = {Space::Input, argument.getArgNumber()};
    for (auto [number, value] : llvm::enumerate(main.getBody().front().getTerminator()->getOperands()))
      places[originOf(value)] = {Space::Output, static_cast<int64_t>(number)};
    int64_t step = 0;
    for (Operation &op : main.getBody().front()) {
      if (auto constant = dyn_cast<graph::ConstantOp>(op))
        placeConstant(constant);
      else if (auto call = dyn_cast<graph::CallKernelOp>(op))
        placeCall(call, step++);
    }
    writeAttributes();
  }

private:
  struct Place {
    Space space;
    int64_t number;
  };

  static Value originOf(Value value) {
    while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
      value = reshape.getInput();
    return value;
  }

  void placeConstant(graph::ConstantOp constant) {
    if (constant->use_empty())
      return;
    auto type = cast<RankedTensorType>(constant.getType());
    constant->setAttr("tile.weight_offset", builder.getI64IntegerAttr(weightBytes));
    places[constant] = {Space::Weights, weightBytes};
    weightBytes =
        llvm::alignTo(weightBytes + type.getNumElements() * elementBytes(type.getElementType()), weightAlignment);
  }

  void placeCall(graph::CallKernelOp call, int64_t step) {
    SmallVector<int64_t> pairs;
    auto add = [&](Value value) {
      Place place = places.at(originOf(value));
      if (place.space == Space::Arena)
        arena[place.number].last = step;
      pairs.push_back(static_cast<int64_t>(place.space));
      pairs.push_back(place.number);
    };
    llvm::for_each(call.getInputs(), add);
    for (Value output : call.getOutputs()) {
      if (!places.count(output)) {
        auto type = cast<RankedTensorType>(output.getType());
        SymbolicInt count = graph::elementCount(graph::shapeOf(type));
        places[output] = {Space::Arena, static_cast<int64_t>(arena.size())};
        arena.push_back({count * SymbolicInt(elementBytes(type.getElementType())), step, step});
      }
      add(output);
    }
    call->setAttr("tile.buffers", builder.getDenseI64ArrayAttr(pairs));
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getKernelAttr());
    if (!kernel->hasAttr("tile.number"))
      kernel->setAttr("tile.number", builder.getI64IntegerAttr(kernelCount++));
  }

  void writeAttributes() {
    SmallVector<SymbolicInt> sizes;
    SmallVector<int64_t> lifetimes;
    for (const ArenaBuffer &buffer : arena) {
      sizes.push_back(buffer.bytes);
      lifetimes.append({buffer.first, buffer.last});
    }
    main->setAttr("tile.weight_bytes", builder.getI64IntegerAttr(weightBytes));
    main->setAttr("tile.buffer_bytes", graph::ShapeAttr::get(main.getContext(), sizes));
    main->setAttr("tile.lifetimes", builder.getDenseI64ArrayAttr(lifetimes));
    if (llvm::all_of(sizes, [](const SymbolicInt &size) { return size.isConstant(); }))
      chooseOffsets();
  }

  void chooseOffsets() {
    std::vector<int64_t> sizes, offsets(arena.size());
    std::vector<perpend_buffer_lifetime> lifetimes;
    for (const ArenaBuffer &buffer : arena) {
      sizes.push_back(*buffer.bytes.constant());
      lifetimes.push_back({static_cast<int32_t>(buffer.first), static_cast<int32_t>(buffer.last)});
    }
    int64_t total = runtime::planOffsets(sizes.data(), lifetimes.data(), sizes.size(), offsets.data());
    if (total < 0) {
      main.emitError("the intermediate values do not fit in memory");
      return;
    }
    main->setAttr("tile.offsets", builder.getDenseI64ArrayAttr(offsets));
    main->setAttr("tile.arena_bytes", builder.getI64IntegerAttr(total));
  }

  func::FuncOp main;
  Builder builder;
  llvm::DenseMap<Value, Place> places;
  std::vector<ArenaBuffer> arena;
  int64_t weightBytes = 0, kernelCount = 0;
};

struct PlanMemory : perpend::tile::impl::TilePlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    if (auto main = getOperation().lookupSymbol<func::FuncOp>("main"))
      MemoryPlanner(main).run();
  }
};
} // namespace
