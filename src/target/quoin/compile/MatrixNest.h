//===- MatrixNest.h - one nest for the matrix unit --------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_MATRIXNEST_H
#define PERPEND_TARGET_QUOIN_COMPILE_MATRIXNEST_H

#include "target/quoin/compile/LoadPlan.h"
#include "target/quoin/compile/Nest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <map>

namespace perpend::quoin {

struct Choices;
struct Ring;

enum Axis : unsigned { M, N, K };
constexpr unsigned numAxes = 3;
using AxisExtents = std::array<int64_t, numAxes>;

/// One of the two factors.
struct Factor {
  ElementAccess access;
  DType type = DType::None;
  std::optional<unsigned> value = {}; ///< the node that is multiplied, if it is computed of what is loaded
  unsigned load = 0;                  ///< the node that is loaded then
};

/// Where a factor's elements come from DDR or LLB.
enum class Hold : uint8_t {
  Pieces,  ///< with each piece of the sum
  OwnTile, ///< for all of the sum, inside of the loops along which only this factor changes
  All,     ///< for all tiles, inside of the loops along which both change
  Window,  ///< as OwnTile, and each element once that several iterations of the sum read
  Lines,   ///< as Window; rows are those of whole lines in L1, with what lies between lines of the result
};

/// How a product is cut.
struct Tiling {
  AxisExtents tile = {1, 1, 1};
  bool columnsOutside = false; ///< loops over columns are around those over rows
  std::array<Hold, 2> hold = {Hold::Pieces, Hold::Pieces};
  std::array<unsigned, 2> slots = {2, 2}; ///< of the factors in L1
  unsigned feedSlots = 2, resultSlots = 2;
  // Of a depthwise nest.
  int64_t line = 0;  ///< pixels of the parts that its lines are cut into; 0: they are whole
  int64_t block = 0; ///< rows of a tile that are in the matrix unit's memories at once; 0: all
  // Of a window.
  int64_t chunk = 0; ///< elements of the sum that are loaded at once; 0: all

  bool isInBlocks() const { return block && block < tile[M]; }
};

/// The rooms and turns of all parts of a nest.
struct MatrixRooms {
  enum Role : unsigned { Left, Right, FedLeft, FedRight, Accumulators, Result, Addend, Drained, Raw, numRoles };
  std::array<std::optional<unsigned>, numRoles> rooms;
  std::map<unsigned, unsigned> after;         ///< of nodes behind the sum
  bool hasColumns = false;                    ///< operands of columns are in L1, for all of them
  bool hasSides = false;                      ///< so are those of a computed factor that change along the sum alone
  std::vector<std::optional<unsigned>> turns; ///< by number of loops around
  std::optional<unsigned> pieceTurn, blockTurn, chunkTurn, rawTurn;
  std::array<std::optional<unsigned>, 2> loadTurns; ///< of held factors, which are loaded one turn ahead
  std::array<bool, 2> isLoaded = {};                ///< of factors that are the same in all parts
};

/// A held left factor whose loops of the sum go over the same elements as its rows do: images (MatrixWindows.cpp).
struct MatrixWindow {
  LoadPlan load;
  int64_t row = 0, line = 0;                                    ///< distances in L1, in elements
  llvm::SmallVector<std::pair<unsigned, int64_t>, 4> sums = {}; ///< loops of the sum, and their distances
  Extents first = {0, 0, 0}, count = {0, 0, 0};                 ///< of the extents of the load: inside of the image
};

/// See Matrix.cpp.
class MatrixNest {
public:
  MatrixNest(const Nest &nest, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream, unsigned sharers,
             Choices &choices)
      : nest(nest), places(places), config(config), stream(stream), sharers(sharers), choices(choices) {}
  std::string emit();
  std::string emit(const Ring &ring);
  void forEachWay(llvm::function_ref<void()> visit);
  bool isProduct() { return findFactors() && assignLoops(); }
  /// If it is a product, whether each column has its own sum.
  bool hasOwnSums() const { return isDepthwise; }

private:
  std::vector<Tiling> tilings() const; ///< the best ones by a formula (MatrixTiles.cpp)
  bool findFactors();
  bool assignLoops();
  bool chooseTiles();
  bool isEven(unsigned outer, unsigned inner);
  void findRowLoop();
  int longest(llvm::function_ref<bool(unsigned)> isWanted) const;
  bool emitTiling(const Tiling &wanted);
  bool emitTiling(const Tiling &wanted, bool keepsColumns);
  bool emitLines(MatrixRooms &shared);
  bool emitParts(Axis axis, MatrixRooms &shared);
  bool emitWhole(MatrixRooms &shared);
  void orderLoops();
  bool makeRooms();
  bool makeRoom(MatrixRooms::Role role, Space space, uint64_t bytes, unsigned slots, unsigned turn);
  bool emitLoops();
  bool emitLevel(unsigned level);
  bool emitTurn(unsigned level, int64_t begin, int64_t count, llvm::ArrayRef<bool> ahead);
  bool emitAhead(bool isRight, int64_t iteration);
  /// Whether the factor is loaded ahead, in the loops at this level.
  bool isAhead(bool isRight, unsigned level) const;
  bool emitSums();
  // A factor that comes in chunks (MatrixRing.cpp).
  std::vector<Tiling> ringTilings() const;
  bool emitChunks();
  std::optional<Operand> ringOperand(int64_t base);
  int64_t ringDistance() const;
  bool isFromRing(bool isRight) const { return isRight && ring; }
  void becomeOdd();
  bool makeOddRooms(const MatrixNest &main, MatrixRooms &own);
  bool numberLoops();
  bool emitHeldAt(unsigned level);
  bool emitHeld(bool isRight, int64_t ahead = 0);
  bool emitPiece(int64_t base, int64_t k, uint8_t loopMask, bool isFirst);
  bool emitProduct(int64_t base, int64_t k, uint8_t loopMask, bool isFirst);
  bool emitFeed(bool isRight, int64_t base, int64_t k);
  bool mayHoldWindow() const;
  void addChunked(std::vector<Tiling> &tilings) const;
  void cutIntoChunks();
  llvm::SmallVector<unsigned, 8> windowLoops() const;
  bool isWindow(bool isRight) const {
    return tiling.hold[isRight] == Hold::Window || tiling.hold[isRight] == Hold::Lines;
  }
  bool hasLines() const { return tiling.hold[false] == Hold::Lines; }
  bool mayHaveLines() const;
  /// From line to line of a tile, in rows of the product.
  int64_t rowsOfLine(const MatrixWindow &window) const { return window.row ? window.line / window.row : 0; }
  /// Of the product of a tile.
  int64_t productRows() const {
    return hasLines() ? (tile[M] / lineOf(M) - 1) * rowsOfLine(windowOf(tile[M])) + lineOf(M) : tile[M];
  }
  /// Of tiles of so many rows.
  MatrixWindow windowOf(int64_t rows) const;
  /// Finds the part of a window that is not border.
  bool findInside(MatrixWindow &window, llvm::ArrayRef<LoadDim> dims) const;
  bool findLevels(llvm::MutableArrayRef<LoadDim> dims, llvm::ArrayRef<unsigned> loops) const;
  bool mayHaveBorders();
  bool emitWindow(Operand from, Operand to);
  bool emitFill(const MatrixWindow &window, Operand to, unsigned level, int64_t first, int64_t count);
  std::vector<std::pair<int64_t, int64_t>> partsOf(Axis axis) const;
  bool emitWindowFeed(int64_t base, int64_t k);
  bool emitLoad(bool isRight, int64_t k, const Operand &from, const Operand &to, llvm::ArrayRef<LoadDim> more = {});
  bool isOneRow(bool isRight, int64_t k) const;
  bool isLoadedOnce() const;
  size_t loopsOfLoad(bool isRight, llvm::ArrayRef<unsigned> loops) const;
  bool emitResult();

  // A left factor that is computed of what is loaded (MatrixPrologue.cpp).
  std::optional<Factor> computedFactor(unsigned value) const;
  bool findPrologue();
  unsigned prologuePasses() const;
  bool makeRawRoom();
  bool emitSides();
  bool emitFactor(bool isRight, int64_t base, int64_t k, const Operand &from, const Operand &to,
                  llvm::ArrayRef<LoadDim> more = {});
  bool emitPrologue(int64_t base, int64_t k, const Operand &to);
  bool setPrologueOperand(Instruction &apply, unsigned index, unsigned number, int64_t base, int64_t k);

  // Sums of columns (MatrixDepthwise.cpp).
  struct DepthwiseShape {
    int64_t along = 1, across = 1;         ///< taps
    int64_t alongStep = 1, acrossStep = 1; ///< taps from a pixel or a line of the result to the next
    int64_t width = 1, lines = 1;          ///< of a tile of the result
    int64_t pixels = 1, inputLines = 1;    ///< of its window

    int64_t rowsOfLine() const { return pixels / alongStep; } ///< of a feed
    int64_t fedRows() const { return (inputLines - 1) * rowsOfLine() + width; }
  };
  bool assignDepthwise();
  DepthwiseShape depthwiseShape(int64_t rows) const;
  MatrixWindow depthwiseWindow(int64_t rows) const;
  std::vector<Tiling> depthwiseTilings() const;
  struct DepthwiseCycles {
    double loads = 0, feeds = 0, products = 0, drains = 0;
  };
  DepthwiseCycles depthwiseCycles(int64_t lines, int64_t block, int64_t columns) const;
  void rankDepthwise(std::vector<std::pair<double, Tiling>> &ranked, int64_t parts) const;
  MatrixNest partOfLines(int64_t begin, int64_t length) const;
  bool emitTapWeights(const Operand &from, const Operand &to);
  bool feedTapWeights();
  bool emitTaps(int64_t lines, llvm::ArrayRef<Advance> lineAdvances, int64_t firstLine);
  std::array<uint64_t, 3> depthwiseBytes() const;

  // What is done to each result (MatrixResult.cpp).
  struct Tile { ///< of a value in L1: 0 strides repeat
    unsigned room = 0;
    DType type = DType::None;
    uint32_t inner = 1, pitch = 0;
    std::optional<unsigned> node = {}; ///< of all columns: the operand of which the tile's columns are a part
    int64_t base = 0;                  ///< of that operand, where all columns begin
  };
  /// What `drain` does besides.
  struct Drain {
    unsigned node = 0;                   ///< whose value it leaves
    llvm::SmallVector<unsigned, 3> done; ///< nodes that it computes
    std::optional<unsigned> bias;
    std::optional<unsigned> scale, shift; ///< of sum * scale + shift, in place of a bias
    Activation activation = Activation::None;
  };
  bool addScale(Drain &drain, unsigned user) const;
  static bool addActivation(Drain &drain, const Node &next, const Node &other);
  Drain drainOf() const;
  bool isBias(const Node &node) const;
  bool emitOperands(unsigned level);
  bool emitOperand(unsigned number, unsigned level);
  bool isOfColumns(unsigned number) const;
  bool emitColumns();
  std::optional<Operand> operandOf(const Tile &tile);
  bool emitNumbers();
  bool emitNumbersOf(unsigned number);
  bool emitDrain();
  bool emitBlocks(const Instruction &drain, MatrixRooms::Role result);
  bool emitBlock(Instruction drain, MatrixRooms::Role result, int64_t lines, int64_t firstLine, bool isLooped);
  bool emitAfter(unsigned number);
  bool setTile(Instruction &instruction, unsigned operand, const Tile &tile);
  /// The numbers of tiles that belong to no node.
  unsigned wideBias() const { return static_cast<unsigned>(nest.nodes.size()); }
  unsigned quotient() const { return static_cast<unsigned>(nest.nodes.size()) + 1; }
  bool emitWideBias(const Drain &drain, unsigned number, int64_t columns, unsigned level);
  bool emitQuotient(const Drain &drain, int64_t columns, unsigned level);
  std::optional<unsigned> roomAfter(unsigned node, uint64_t bytes, unsigned slots, unsigned level);
  unsigned levelOf(const ElementAccess &access) const;
  void forEachAccess(llvm::function_ref<void(ElementAccess &)> visit);
  bool emitSum(const Operand &from, uint32_t rowDistance);
  bool add(Instruction instruction);
  bool refuse(const llvm::Twine &text) { return problem = text.str(), false; }
  bool refuseAddresses() { return refuse("more addresses than there are generators"); }

  int64_t extentOf(Axis axis) const {
    return (axes[axis] < 0 ? 1 : nest.loops[axes[axis]].extent) *
           (axis == M && rowLoop ? nest.loops[*rowLoop].extent : 1);
  }
  /// Elements from the first one of an axis to another one, which is a multiple of its lines.
  int64_t distanceOf(const ElementAccess &access, Axis axis, int64_t begin) const {
    return axis == M && rowLoop ? begin / lineOf(M) * access.strides[*rowLoop] : begin * strideOf(access, axis);
  }
  /// Iterations of the axis that are cut only as a whole.
  int64_t lineOf(Axis axis) const { return axis == M && rowLoop ? nest.loops[axes[M]].extent : 1; }
  bool isAround(unsigned loop) const { return !llvm::is_contained(axes, static_cast<int>(loop)) && loop != rowLoop; }
  int64_t strideOf(const ElementAccess &access, Axis axis) const {
    return axes[axis] < 0 ? 0 : access.strides[axes[axis]];
  }
  const Factor &factor(bool isRight) const { return isRight ? right : left; }
  bool changes(bool isRight, unsigned loop) const { return factor(isRight).access.strides[loop] != 0; }
  /// Whether elements of the factor lie one behind the other along the sum, so that a row of it is a row in memory.
  bool isAlongSum(bool isRight) const { return axes[K] < 0 || strideOf(factor(isRight).access, K) == 1; }
  DType sumType() const { return isFloat(left.type) ? DType::F32 : DType::I32; }
  unsigned turnOf(unsigned level);
  unsigned room(MatrixRooms::Role role) const { return *rooms->rooms[role]; }
  /// Of L1, in which a factor comes from DDR or LLB.
  unsigned loadedRoom(bool isRight) const {
    return room(isRight && !isLoadedOnce() ? MatrixRooms::Right : MatrixRooms::Left);
  }
  /// Bytes of a held factor for one tile of its own axis and one iteration of the loops of the sum.
  uint64_t blockBytes(bool isRight) const;
  /// Loops along which a held factor changes, inside of where it is loaded.
  llvm::SmallVector<unsigned, 8> heldLoops(bool isRight) const;
  std::optional<Operand> farOperand(const ElementAccess &access, DType type, int64_t offset);

  Nest nest;
  llvm::ArrayRef<Spot> places;
  const Config &config;
  Stream &stream;
  unsigned sharers; ///< cores that use DDR at the same time
  Choices &choices;
  Factor left, right;
  llvm::SmallVector<unsigned, 4> prologue, sides; ///< of a computed factor: what is applied, and what it reads besides
  std::map<unsigned, unsigned> prologueRooms;     ///< of what has been applied
  std::array<int, numAxes> axes = {-1, -1, -1};
  std::optional<unsigned> chunkLoop; ///< of the sum, in which parts of a window are loaded
  const Ring *ring = nullptr;
  MatrixNest *odd = nullptr; ///< the ring's odd rows
  bool isOdd = false;        ///< this is them: the right factor is there
  bool isDepthwise = false, hasPartsOfLines = false;
  unsigned tapAlong = 0, tapAcross = 0; ///< of a depthwise nest: loops of the sum
  std::optional<unsigned> rowLoop;      ///< around the one of the rows, whose lines follow on one another in the result
  Tiling tiling;
  std::array<bool, numAxes> isTiled = {false, false, false};
  std::array<bool, numAxes> isOnePart = {}; ///< all tiles of the axis are in one part
  AxisExtents tile = {1, 1, 1};             ///< of this part
  MatrixRooms *rooms = nullptr;
  std::vector<std::optional<unsigned>> loopNumbers;
  llvm::SmallVector<unsigned, 8> spatial, sums; ///< loops around the product, and those of the sum
  llvm::SmallVector<unsigned, 8> outer;         ///< those that are open
  std::map<unsigned, int64_t> begins;           ///< first iterations of loops of which this has only some
  std::array<unsigned, 2> holdLevel = {0, 0};   ///< spatial loops around the loads of a held factor
  std::map<unsigned, Tile> tiles;               ///< of nodes behind the sum
  const MatrixNest *whole = nullptr;            ///< all tiles, for which operands of columns are loaded once
  std::vector<unsigned> usersLeft;              ///< of them
  std::string problem;
};

} // namespace perpend::quoin

#endif
