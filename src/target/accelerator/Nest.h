//===- Nest.h - loops around one value, in numbers --------------*- C++ -*-===//
//
// What the units compute is a nest: loops whose extents are numbers, around one value, a tree of instructions on
// elements whose addresses are affine. Blocks of the tile level whose addresses have divisions, or whose conditions
// depend on iterators, become several nests without.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_ACCELERATOR_NEST_H
#define PERPEND_TARGET_ACCELERATOR_NEST_H

#include "target/accelerator/Elements.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>
#include <vector>

namespace perpend::accelerator {

/// Memory of a kernel: its arguments, then what it keeps between its nests, and tables of numbers.
struct Buffer {
  DType type = DType::None; ///< None: no unit computes with it
  int64_t elements = 0;
  unsigned elementBytes = 0;
  std::string contents; ///< of a table, as it lies in memory; empty: memory

  bool isTable() const { return !contents.empty(); }
};

/// The element `base` + sum over loops of stride * iterator.
struct Access {
  unsigned buffer = 0;
  int64_t base = 0;
  llvm::SmallVector<int64_t, 6> strides; ///< of each loop
  int64_t row = 0; ///< elements that lie together, between those of other values; 0: all of the buffer

  bool operator==(const Access &) const = default;
};

struct Node {
  enum Kind { Load, Number, Apply } kind = Number;
  DType type = DType::None;
  Access access;                           ///< of a load
  double number = 0;                       ///< of a number
  Function function = Function::mov;       ///< of an application, which is of `operands`
  llvm::SmallVector<unsigned, 3> operands; ///< earlier nodes
};

struct Loop {
  int64_t extent = 1;
  bool isReduced = false;
};

/// Iterations of a loop of results, [first, last), that each iteration of a loop of the sum has. The others lie in the
/// border of an image, and add nothing.
struct Border {
  unsigned loop = 0, reduced = 0;
  std::vector<std::pair<int64_t, int64_t>> iterations;
};

/// Of a nest that moves rows of a table: its value, an I32, is the number of a row, whose elements are those of the
/// last loop. The value does not change along that loop.
struct Rows {
  unsigned table = 0; ///< its buffer
  int64_t count = 0;  ///< of the table
};

struct Nest {
  std::string name;
  std::vector<Loop> loops; ///< the outermost first; none of one iteration
  std::vector<Node> nodes; ///< operands before their users
  unsigned value = 0;      ///< what is stored
  Access store;
  /// Of a reduction: the element becomes combine(element, value), from `initial` on.
  std::optional<Function> combine;
  double initial = 0;
  bool continues = false;   ///< from the element as it is on, in place of `initial`
  DType type = DType::None; ///< of the result
  std::vector<Border> borders = {};
  std::optional<Rows> rows = {}; ///< then the value is no element, but chooses them
};

/// Whether a node is its operand's bits, as another type.
inline bool reinterprets(const Nest &nest, const Node &node) {
  return node.kind == Node::Apply && node.function == Function::mov && node.type != nest.nodes[node.operands[0]].type &&
         nest.nodes[node.operands[0]].kind != Node::Number;
}

/// The nest, or few nests one after the other, without a load that goes backwards along a loop; some are left where
/// that takes many.
std::vector<Nest> forwards(Nest nest);

struct Kernel {
  std::vector<Buffer> buffers;
  unsigned arguments = 0;     ///< the first of them
  std::vector<Nest> nests;    ///< without borders: such sums begin with a nest, and continue in several
  std::vector<Nest> bordered; ///< the same, where sums with borders are one nest each; empty: there is none
};

} // namespace perpend::accelerator

#endif
