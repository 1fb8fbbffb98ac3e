//===- Nest.h - loops around one value, in numbers --------------*- C++ -*-===//
//
// What the units compute is a nest: loops whose extents are numbers, around one value, a tree of instructions on
// elements whose addresses are affine. Blocks of the tile level whose addresses have divisions, or whose conditions
// depend on iterators, become several nests without.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_NEST_H
#define PERPEND_TARGET_QUOIN_COMPILE_NEST_H

#include "target/quoin/Program.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>
#include <vector>

namespace perpend::quoin {

/// Where something lies.
struct Spot {
  Space space = Space::DDR;
  uint64_t byte = 0;

  /// As the scalar core sees it.
  uint64_t scalarAddress() const { return (space == Space::LLB ? scalarLlbBase : scalarDdrBase) + byte; }
};

/// Memory of a kernel: its arguments, then what it keeps between its nests, and tables of numbers.
struct Buffer {
  DType type = DType::None; ///< None: no unit computes with it
  int64_t elements = 0;
  unsigned elementBytes = 0;
  std::string contents; ///< of a table, as it lies in memory; empty: memory

  bool isTable() const { return !contents.empty(); }
};

/// The element `base` + sum over loops of stride * iterator.
struct ElementAccess {
  unsigned buffer = 0;
  int64_t base = 0;
  llvm::SmallVector<int64_t, 6> strides; ///< of each loop

  bool operator==(const ElementAccess &) const = default;
};

struct Node {
  enum Kind { Load, Number, Apply, Sum } kind = Number;
  DType type = DType::None;
  ElementAccess access;                    ///< of a load
  double number = 0;                       ///< of a number
  Opcode opcode = Opcode::mov;             ///< of an application, which is of `operands`
  llvm::SmallVector<unsigned, 3> operands; ///< earlier nodes
};

struct NestLoop {
  int64_t extent = 1;
  bool isReduced = false;
};

/// A reduction may go on: nodes from `sum` on, a node of that kind, are applied to each of its results.
struct Nest {
  std::string name;
  std::vector<NestLoop> loops; ///< the outermost first; none of one iteration
  std::vector<Node> nodes;     ///< operands before their users
  unsigned value = 0;          ///< what is stored, or combined
  std::optional<unsigned> sum;
  unsigned result = 0; ///< if there is a sum: what is stored
  ElementAccess store;
  /// Of a reduction: the element becomes combine(element, value), from `initial` on.
  std::optional<Opcode> combine;
  double initial = 0;
  bool continues = false;   ///< from the element as it is on, in place of `initial`
  DType type = DType::None; ///< of what is stored

  bool isAfterSum(unsigned node) const { return sum && node >= *sum; }
  unsigned stored() const { return sum ? result : value; }
};

/// Whether a node is its operand's bits, as another type.
inline bool reinterprets(const Nest &nest, const Node &node) {
  return node.kind == Node::Apply && node.opcode == Opcode::mov && node.type != nest.nodes[node.operands[0]].type &&
         nest.nodes[node.operands[0]].kind != Node::Number;
}

struct Kernel {
  std::vector<Buffer> buffers;
  unsigned arguments = 0; ///< the first of them
  std::vector<Nest> nests;
};

} // namespace perpend::quoin

#endif
