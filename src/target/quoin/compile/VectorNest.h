//===- VectorNest.h - one nest for the vector unit --------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_VECTORNEST_H
#define PERPEND_TARGET_QUOIN_COMPILE_VECTORNEST_H

#include "target/quoin/compile/LoadPlan.h"
#include "target/quoin/compile/Nest.h"

#include "llvm/ADT/Twine.h"

#include <map>

namespace perpend::quoin {

struct Choices;

/// How a nest is cut.
struct VectorTiling {
  Extents tile = {1, 1, 1};
  unsigned slots = 2;
  bool holdsSums = false; ///< see VectorNest
};

/// A value in L1: its strides along the box, in elements, from the innermost.
struct Place {
  unsigned room = 0;
  Extents strides = {0, 0, 0};
  unsigned elementBytes = 0;
  int64_t base = 0; ///< of the box, in elements; below 0 if that begins in a border
  llvm::SmallVector<std::pair<unsigned, int64_t>, 2> held = {}; ///< loops of a sum, and their strides in L1
};

/// What parts of a nest have in common: the rooms of values, by role, and the turns of loops.
struct VectorRooms {
  std::map<std::pair<unsigned, unsigned>, unsigned> rooms;
  std::map<unsigned, unsigned> turns; ///< by number of loops around
};

/// How an operand comes into L1. `held`: loops of a sum whose iterations are all in it.
struct OperandPlan {
  LoadPlan load;
  Extents strides = {0, 0, 0};                                  ///< of the box, in L1
  llvm::SmallVector<std::pair<unsigned, int64_t>, 2> held = {}; ///< loops, and their strides in L1
  int64_t roomElements = 0;                                     ///< as many as any tile has
  int64_t from = 0;   ///< the first element that is loaded, from where the box begins
  int64_t base = 0;   ///< where the box begins in L1
  bool isRead = true; ///< some iterations do not lie in a border
};

/// Of two operands that may be swapped, a number comes last, where it may be an operand mode.
llvm::SmallVector<unsigned, 3> operandsOf(const Nest &nest, const Node &node);
void setBox(Instruction &instruction, const Extents &extents);
/// The opcode is the one for the rank of the extents.
void setTransfer(Instruction &instruction, DType type, const Extents &extents, std::array<Opcode, boxRank> opcodes);
/// An immediate of floats is an f32, any other an i32.
void setNumber(Instruction &instruction, DType type, double value);
/// Writes a number to all elements of dst, which is not set.
Instruction fillWith(DType type, double value);

/// See Vector.cpp.
class VectorNest {
public:
  VectorNest(Nest nest, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream, unsigned sharers,
             Choices &choices)
      : nest(std::move(nest)), places(places), config(config), stream(stream), sharers(sharers), choices(choices) {}
  std::string emit();
  void forEachWay(llvm::function_ref<void()> visit);

private:
  /// What a room holds, together with a number of a node.
  enum Role : unsigned { Loaded, Computed, Sums, Partial, Stored };

  bool prepare();
  void chooseBox();
  bool chooseTiles();
  std::vector<Extents> tilings() const;
  bool emitTiling(const VectorTiling &tiling);
  bool emitParts(unsigned dim, VectorRooms &shared);
  bool emitWhole(VectorRooms &shared);
  void stripMine();
  bool planLoads();
  void findLevels();
  bool emitLoops();
  bool emitLevel(unsigned level);
  bool emitSums();
  bool emitRestOfSums();
  void closeLoops(unsigned level);
  bool emitNumbers();
  bool emitLoad(unsigned number);
  bool emitNode(unsigned number);
  bool emitAfterSum();
  bool emitFill(const Place &place, DType type, double value, const Extents &extents, bool isResult = false);
  bool emitReload();
  bool emitReduction();
  bool emitProduct();
  bool emitStore();
  bool emitTransfer(const Place &value);
  bool add(Instruction instruction);
  bool refuse(const llvm::Twine &text) { return problem = text.str(), false; }

  int64_t extentOf(unsigned dim) const { return box[dim] < 0 ? 1 : nest.loops[box[dim]].extent; }
  /// isResult: of what a reduction leaves, whose dimensions are the box's without the reduced one.
  Extents extents(bool isResult = false) const {
    return isResult && isReducing() ? Extents{extentOf(1), extentOf(2), 1}
                                    : Extents{extentOf(0), extentOf(1), extentOf(2)};
  }
  /// Of instructions in an iteration of unrolled loops.
  Extents shown(bool isResult = false) const { return count[0] ? count : extents(isResult); }
  std::optional<Operand> farOperand(const ElementAccess &access, DType type);
  OperandPlan planOf(const ElementAccess &access) const;
  bool mayHaveBorders() const;
  std::vector<std::pair<int64_t, int64_t>> partsOf(unsigned dim) const;
  bool emitTaps();
  bool emitTap();
  bool mayHold() const;
  void readNarrow();
  void widenFactor();
  unsigned turnOf(unsigned level);
  bool findRoom(Place &place, Role role, unsigned number, int64_t elements, DType type, unsigned level);
  bool findPlace(Place &place, Role role, unsigned number, DType type, unsigned level, bool isResult);
  Extents denseStrides(bool isResult) const;
  bool setPlace(Instruction &instruction, unsigned operand, const Place &place, bool isResult = false);
  Place placeOf(unsigned number);
  bool isReducing() const { return reducedDim >= 0; }
  DType farType(unsigned node) const { return node == widened ? narrow : nest.nodes[node].type; }
  bool isStored(unsigned node) const { return (!nest.combine || nest.sum) && node == nest.stored(); }

  Nest nest;
  llvm::ArrayRef<Spot> places;
  const Config &config;
  Stream &stream;
  unsigned sharers; ///< cores that use DDR at the same time
  Choices &choices;

  std::array<int, boxRank> box = {-1, -1, -1}; ///< loops, from the innermost extent
  int reducedDim = -1;                         ///< the dimension of the box that is reduced: the inner one, or none
  Extents tiles = {1, 1, 1};
  std::array<bool, boxRank> isTiled = {false, false, false}; ///< there is a loop over tiles
  int64_t reducedRest = 0; ///< iterations of the reduced dimension behind its last tile
  unsigned restLoop = 0;   ///< over its tiles
  unsigned slots = 2;
  std::vector<int64_t> tap;                     ///< of each loop: the iteration, if the loops of a sum are unrolled
  Extents first = {0, 0, 0}, count = {0, 0, 0}; ///< of the box, in the iteration of unrolled loops; counts of 0: all
  bool holdsSums = false; ///< operands are loaded for all iterations of the loops of a sum at once
  VectorRooms *shared = nullptr;
  llvm::SmallVector<unsigned, 8> outer;             ///< loops around the box, spatial ones first
  unsigned spatial = 0;                             ///< the first of them
  std::vector<std::optional<unsigned>> loopNumbers; ///< of the stream, of each loop
  std::vector<unsigned> levels;                     ///< of each node: how many of the outer loops change it
  std::vector<unsigned> loadLevels;                 ///< of each load: in how many of them it is
  std::vector<std::optional<Place>> nodePlaces;
  std::vector<OperandPlan> plans;
  std::vector<std::optional<Operand>> far; ///< of loads
  std::optional<Operand> farStore;
  Place sums;                      ///< of a reduction
  DType sumType = DType::None;     ///< of a reduction
  std::optional<unsigned> fused;   ///< a node that the combination of a sum computes by the way
  std::optional<unsigned> widened; ///< a load that makes wider floats of what is in memory,
  DType narrow = DType::None;      ///< which has this type
  std::string problem;
};
} // namespace perpend::quoin

#endif
