//===- VectorNest.h - one nest for the vector unit --------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_VECTORNEST_H
#define PERPEND_TARGET_QUOIN_COMPILE_VECTORNEST_H

#include "target/quoin/compile/Nest.h"
#include "target/quoin/compile/Stream.h"

#include "llvm/ADT/Twine.h"

#include <map>

namespace perpend::quoin {

struct Choices;

/// Of the extents of an instruction.
constexpr unsigned boxRank = 3;
using Extents = std::array<int64_t, boxRank>;

/// A value in L1: its strides along the box, in elements, from the innermost.
struct Place {
  unsigned room = 0;
  Extents strides = {0, 0, 0};
};

/// What parts of a nest have in common: the rooms of values, by role, and the turns of loops.
struct VectorRooms {
  std::map<std::pair<unsigned, unsigned>, unsigned> rooms;
  std::map<unsigned, unsigned> turns; ///< by number of loops around
};

/// How an operand comes into L1: e1 * e2 rows of e0 elements.
struct LoadPlan {
  Extents extents = {1, 1, 1}, from = {0, 0, 0}, to = {0, 0, 0};
  Extents strides = {0, 0, 0}; ///< of the box, where it lies in L1
  int64_t elements = 0;
};

/// Of two operands that may be swapped, a number comes last, where it may be an operand mode.
llvm::SmallVector<unsigned, 3> operandsOf(const Nest &nest, const Node &node);
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

private:
  /// What a room holds, together with a number of a node.
  enum Role : unsigned { Loaded, Computed, Sums, Partial, Stored };

  void chooseBox();
  bool chooseTiles();
  std::vector<Extents> tilings() const;
  bool emitTiling(const Extents &tiling, unsigned slots);
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
  std::optional<Operand> farOperand(const ElementAccess &access, DType type);
  LoadPlan planOf(const ElementAccess &access) const;
  unsigned turnOf(unsigned level);
  bool findRoom(Place &place, Role role, unsigned number, int64_t elements, DType type, unsigned level);
  bool findPlace(Place &place, Role role, unsigned number, DType type, unsigned level, bool isResult);
  Extents denseStrides(bool isResult) const;
  bool setPlace(Instruction &instruction, unsigned operand, const Place &place, bool isResult = false);
  Place placeOf(unsigned number);
  bool isReducing() const { return reducedDim >= 0; }
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
  VectorRooms *shared = nullptr;
  llvm::SmallVector<unsigned, 8> outer;             ///< loops around the box, spatial ones first
  unsigned spatial = 0;                             ///< the first of them
  std::vector<std::optional<unsigned>> loopNumbers; ///< of the stream, of each loop
  std::vector<unsigned> levels;                     ///< of each node: how many of the outer loops change it
  std::vector<std::optional<Place>> nodePlaces;
  std::vector<LoadPlan> plans;
  std::vector<std::optional<Operand>> far; ///< of loads
  std::optional<Operand> farStore;
  Place sums; ///< of a reduction
  std::string problem;
};
} // namespace perpend::quoin

#endif
