//===- ReadBody.h - the body of a block as a tree ---------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_READBODY_H
#define PERPEND_TARGET_QUOIN_COMPILE_READBODY_H

#include "target/quoin/compile/Affine.h"
#include "target/quoin/compile/Nest.h"
#include "tile/ir/Tile.h"

#include "llvm/ADT/StringMap.h"

namespace perpend::quoin {

/// The type of elements; None: no unit computes with it.
DType typeOf(mlir::Type type);

/// An element of a buffer, over digits.
struct ElementAt {
  unsigned buffer = 0;
  Affine offset;

  bool operator==(const ElementAt &other) const {
    return buffer == other.buffer && offset.base == other.offset.base && offset.terms == other.offset.terms;
  }
};

/// What a value of the body is in one box.
using Known = std::variant<std::monostate, unsigned /*node*/, Affine /*index*/, bool>;

/// Reads the body of a block in one box of its iterators.
class BodyReader {
public:
  BodyReader(AffineView view, const llvm::StringMap<int64_t> &symbols,
             const llvm::DenseMap<mlir::Value, unsigned> &buffers)
      : view(std::move(view)), symbols(symbols), buffers(buffers) {}

  /// False: `problem` says why; or `view.refinement` how it goes.
  bool read(mlir::Block *body);

  AffineView view;
  std::vector<Node> nodes;
  std::vector<ElementAt> loads; ///< of nodes that are loads, by number of node
  struct Store {
    unsigned value;
    ElementAt element;
    DType type;
  };
  std::vector<Store> stores;
  std::string problem;

private:
  bool visit(mlir::Operation *op);
  bool visitIf(mlir::Operation *op);
  bool visitCompare(mlir::Operation *op);
  bool visitLogic(mlir::Operation *op);
  bool visitSelect(mlir::Operation *op);
  bool visitCast(mlir::Operation *op);
  bool visitArithmetic(mlir::Operation *op);
  bool visitIndexArithmetic(mlir::Operation *op);
  bool visitCompareNumbers(mlir::Operation *op);
  bool visitConstant(mlir::Operation *op);
  bool refuse(const llvm::Twine &text) { return problem = text.str(), false; }

  std::optional<Affine> indexOf(mlir::Value value);
  std::optional<ElementAt> elementAt(mlir::Value buffer, graph::ShapeAttr indices, mlir::ValueRange variables);
  std::optional<unsigned> nodeOf(mlir::Value value);
  unsigned addNode(Node node);
  bool apply(mlir::Operation *op, Opcode opcode, DType type, llvm::ArrayRef<mlir::Value> operands);
  std::optional<Affine> evaluate(const support::SymbolicInt &value, mlir::ValueRange variables);

  const llvm::StringMap<int64_t> &symbols;
  const llvm::DenseMap<mlir::Value, unsigned> &buffers;
  llvm::DenseMap<mlir::Value, Known> values;
};

} // namespace perpend::quoin

#endif
