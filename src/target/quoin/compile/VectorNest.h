//===- VectorNest.h - one nest for the vector unit --------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_VECTORNEST_H
#define PERPEND_TARGET_QUOIN_COMPILE_VECTORNEST_H

#include "target/quoin/compile/Nest.h"
#include "target/quoin/compile/Stream.h"

#include "llvm/ADT/Twine.h"

namespace perpend::quoin {

/// Of the extents of an instruction.
constexpr unsigned boxRank = 3;
constexpr uint64_t l1Alignment = 64;

/// A value in L1: its strides along the box, in elements, from the innermost.
struct Place {
  uint64_t byte = 0;
  std::array<int64_t, boxRank> strides = {0, 0, 0};
};

/// How an operand comes into L1: e1 * e2 rows of e0 elements.
struct LoadPlan {
  std::array<int64_t, boxRank> extents = {1, 1, 1}, from = {0, 0, 0}, to = {0, 0, 0};
  std::array<int64_t, boxRank> strides = {0, 0, 0}; ///< of the box, where it lies in L1
  int64_t elements = 0;
};

/// See Vector.cpp.
class VectorNest {
public:
  VectorNest(Nest nest, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream)
      : nest(std::move(nest)), places(places), config(config), stream(stream) {}
  std::string emit();

private:
  void chooseBox();
  bool chooseTiles();
  uint64_t bytesNeeded();
  void stripMine();
  bool planLoads();
  bool emitLoops();
  bool emitIteration();
  bool emitLoad(unsigned number);
  bool emitNode(unsigned number);
  bool emitFill(const Place &place, DType type, double value, const std::array<int64_t, boxRank> &extents);
  bool emitReload(const std::array<int64_t, boxRank> &shape);
  bool emitReduction();
  bool emitStore();
  bool add(Instruction instruction);
  bool refuse(const llvm::Twine &text) { return problem = text.str(), false; }

  uint64_t take(int64_t elements, DType type);
  int64_t extentOf(unsigned dim) const { return box[dim] < 0 ? 1 : nest.loops[box[dim]].extent; }
  std::array<int64_t, boxRank> extents() const { return {extentOf(0), extentOf(1), extentOf(2)}; }
  std::optional<Operand> farOperand(const Access &access, DType type);
  LoadPlan planOf(const Access &access) const;
  Place compactPlace(DType type, const std::array<int64_t, boxRank> &extents);
  Place placeOf(unsigned number);
  bool isReducing() const { return reducedDim >= 0; }

  Nest nest;
  llvm::ArrayRef<Spot> places;
  const Config &config;
  Stream &stream;

  std::array<int, boxRank> box = {-1, -1, -1}; ///< loops, from the innermost extent
  int reducedDim = -1;                         ///< the dimension of the box that is reduced: the inner one, or none
  std::array<int64_t, boxRank> tiles = {1, 1, 1};
  llvm::SmallVector<unsigned, 8> outer;             ///< loops around the box, spatial ones first
  std::vector<std::optional<unsigned>> loopNumbers; ///< of the stream, of each loop
  std::vector<std::optional<Place>> nodePlaces;
  std::vector<LoadPlan> plans;
  std::vector<std::optional<Operand>> far; ///< of loads
  std::optional<Operand> farStore;
  Place sums; ///< of a reduction
  uint64_t l1End = 0;
  std::string problem;
};
} // namespace perpend::quoin

#endif
