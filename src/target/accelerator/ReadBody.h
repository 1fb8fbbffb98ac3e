//===- ReadBody.h - the body of a block as a tree ---------------*- C++ -*-===//
#ifndef PERPEND_TARGET_ACCELERATOR_READBODY_H
#define PERPEND_TARGET_ACCELERATOR_READBODY_H

#include "target/accelerator/Affine.h"
#include "target/accelerator/Nest.h"
#include "tile/ir/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/StringMap.h"

#include <limits>
#include <memory>

namespace perpend::accelerator {

/// The type of elements; None: no unit computes with it.
DType typeOf(mlir::Type type);

/// Whether it is an index, or an integer that an index may become.
bool isCounted(mlir::Type type);
/// Whether all values of an index are integers of a type.
bool fits(const Affine &index, const Box &box, mlir::Type type);
/// The comparison of integers with a sign in place of one without.
mlir::arith::CmpIPredicate signedOf(mlir::arith::CmpIPredicate predicate);
/// nullopt: no unit compares so.
std::optional<Function> functionOf(mlir::arith::CmpIPredicate predicate);

/// The buffer of a table with these elements (Nest.h).
using TableOf = llvm::function_ref<unsigned(DType type, unsigned elementBytes, std::string contents)>;

/// Numbers from `first` on, as they lie in memory.
std::string bytesOfNumbers(DType type, int64_t first, int64_t count);
/// A number as it lies in memory.
void appendBytes(std::string &bytes, mlir::Attribute number);

/// The quotient of an affine index and a number, or the rest.
struct Division {
  Affine dividend;
  int64_t divisor = 1;
  bool isRest = false;
};

/// A function of one iterator that is not affine: its value for each iteration.
struct Samples {
  unsigned iterator = 0;
  std::vector<mlir::Attribute> values;
  std::optional<Division> division = {}; ///< where it is one
};

/// An integer of 64 bits, or an index that data decides: two nodes of I32, and between which numbers it is.
struct Wide {
  unsigned low = 0, high = 0;
  int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
};

/// An element of a buffer, over digits.
struct ElementAt {
  unsigned buffer = 0;
  Affine offset;
  /// What data adds to the offset, each so many times.
  std::vector<std::pair<Wide, int64_t>> chosen = {};
  /// Of a load: a node, the number of the row of so many elements in which the element is, at `offset`.
  std::optional<unsigned> row = {};
  int64_t rowElements = 1;

  bool isChosen() const { return !chosen.empty() || row; }
  bool operator==(const ElementAt &other) const {
    return !isChosen() && !other.isChosen() && buffer == other.buffer && offset.base == other.offset.base &&
           offset.terms == other.offset.terms;
  }
};

/// What a value of the body is in one box.
using Known = std::variant<std::monostate, unsigned /*node*/, Affine /*index*/, bool, std::shared_ptr<Samples>, Wide>;

/// Reads the body of a block in one box of its iterators.
class BodyReader {
public:
  /// comparesNumbers: conditions on indices that cut the box too often are computed.
  BodyReader(AffineView view, const llvm::StringMap<int64_t> &symbols,
             const llvm::DenseMap<mlir::Value, unsigned> &buffers, llvm::ArrayRef<mlir::ElementsAttr> contents,
             TableOf tableOf, bool comparesNumbers)
      : view(std::move(view)), symbols(symbols), buffers(buffers), contents(contents), tableOf(tableOf),
        comparesNumbers(comparesNumbers) {}

  /// False: `problem` says why; or `view.refinement` how it goes.
  bool read(mlir::Block *body);

  AffineView view;
  std::vector<Node> nodes;
  std::vector<ElementAt> loads; ///< of nodes that are loads, by number of node
  struct Store {
    unsigned value;
    ElementAt element;
    mlir::Type type;
    /// Of an integer of 64 bits that the element becomes combined with, in place of the value.
    std::optional<Wide> combined = {};
    Function combine = Function::min;
  };
  std::vector<Store> stores;
  std::string problem;

private:
  bool visit(mlir::Operation *op);
  bool visitIf(mlir::Operation *op);
  bool visitCompare(mlir::Operation *op);
  bool compareNumbers(mlir::arith::CmpIOp compare, const Affine &difference);
  bool visitLogic(mlir::Operation *op);
  bool visitBothBranches(mlir::Operation *op);
  bool visitSelect(mlir::Operation *op);
  bool visitTangent(mlir::Operation *op);
  bool visitCopySign(mlir::Operation *op);
  bool visitLoad(tile::LoadOp load);
  bool visitStore(tile::StoreOp store);
  std::optional<Store> wideCombination(mlir::Value value, const ElementAt &element);
  bool visitIndexCast(mlir::Operation *op);
  bool visitCast(mlir::Operation *op);
  bool visitArithmetic(mlir::Operation *op);
  /// Of indices, and of integers that indices have become. nullopt: the result is not affine.
  std::optional<Affine> affineResult(mlir::Operation *op);
  /// The index as an element: a load from a table. nullopt: it has too many values.
  std::optional<unsigned> numberOf(const Affine &index, DType type);
  std::optional<unsigned> differenceOf(const Affine &index, DType type);
  bool visitCompareNumbers(mlir::Operation *op);
  bool visitConstant(mlir::Operation *op);
  bool refuse(const llvm::Twine &text) { return problem = text.str(), false; }

  /// Evaluates an operation of constants and one iterator for each iteration. False: it is none, or has none.
  bool sample(mlir::Operation *op);
  bool isSampled(mlir::Operation *op);
  /// An index that is an element of a constant, which one iterator chooses. Null: it is none.
  std::shared_ptr<Samples> samplesOf(tile::LoadOp load, const ElementAt &element);
  std::optional<std::vector<mlir::Attribute>> samplesOf(mlir::Value value, std::optional<unsigned> &iterator);
  /// In this box. nullopt: it is not affine; `view.refinement` may cure that.
  std::optional<Affine> affineOf(const Samples &samples);
  /// Its truth in this box. nullopt: it has both, which `view.refinement` cures; or it is not known.
  std::optional<bool> truthOf(mlir::Value condition);
  /// What is known as an affine index, or is a constant.
  std::optional<Affine> indexOf(mlir::Value value);
  /// What is known as two words, or can be. nullopt: it is no integer of 64 bits, or the units do not have it.
  std::optional<Wide> wideOf(mlir::Value value);
  Wide wideNumber(int64_t number);
  std::optional<Wide> wideLoad(unsigned node);
  Wide wideOfFloat(unsigned node);
  unsigned lessOf(const Wide &a, const Wide &b);
  unsigned comparisonOf(mlir::arith::CmpIPredicate predicate, const Wide &a, const Wide &b);
  std::optional<Wide> wideChoice(mlir::Value condition, const Wide &one, const Wide &other);
  /// Of integers of 64 bits, or of indices that data decides. False: it is no such operation.
  bool visitWide(mlir::Operation *op);
  std::optional<Wide> wideResult(mlir::Operation *op);
  unsigned applied(Function function, DType type, std::initializer_list<unsigned> operands);
  unsigned wordOf(int64_t number);
  /// A load whose address data decides: from a row of a table.
  bool visitRowLoad(tile::LoadOp load, ElementAt element);
  void findDigits(unsigned node, std::vector<bool> &digits) const;
  std::optional<Wide> chosenBy(mlir::Value index) const;
  /// An integer whose digits are the indices of the dimensions from `dim` on, and the last of these dimensions.
  std::optional<std::pair<Wide, unsigned>> chosenDigits(llvm::ArrayRef<int64_t> sizes,
                                                        llvm::ArrayRef<support::SymbolicInt> indices,
                                                        mlir::ValueRange variables, unsigned dim) const;
  std::optional<Affine> dividendOf(mlir::Value outer, mlir::Value inner, int64_t size) const;
  std::optional<ElementAt> elementAt(mlir::Value buffer, graph::ShapeAttr indices, mlir::ValueRange variables);
  std::optional<unsigned> nodeOf(mlir::Value value);
  std::optional<unsigned> elementOf(const Samples &samples, mlir::Type type);
  unsigned addNode(Node node);
  bool apply(mlir::Value result, Function function, DType type, llvm::ArrayRef<mlir::Value> operands);
  void makeUnsigned(Node &node);
  /// Whether all operands are bytes without a sign.
  bool isOfUnsigned(mlir::Operation *op);
  bool chooseBits(mlir::Value result, mlir::Value condition, mlir::Value one, mlir::Value other);
  bool choose(mlir::Value result, mlir::Value condition, mlir::Value one, mlir::Value other);
  std::optional<Affine> evaluate(const support::SymbolicInt &value, mlir::ValueRange variables);

  const llvm::StringMap<int64_t> &symbols;
  const llvm::DenseMap<mlir::Value, unsigned> &buffers;
  llvm::ArrayRef<mlir::ElementsAttr> contents; ///< of the first buffers, or null
  TableOf tableOf;
  bool comparesNumbers;
  llvm::DenseMap<mlir::Value, Known> values;
  std::vector<mlir::Type> elementTypes; ///< of nodes whose type no unit has, which can only be moved
};

} // namespace perpend::accelerator

#endif
