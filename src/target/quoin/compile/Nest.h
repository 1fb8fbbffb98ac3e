//===- Nest.h - loops around one value, in numbers --------------*- C++ -*-===//
//
// The nests of target/accelerator/Nest.h in terms of this machine: functions are opcodes, and a reduction may go on
// with what is done to its results.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_NEST_H
#define PERPEND_TARGET_QUOIN_COMPILE_NEST_H

#include "target/accelerator/Nest.h"
#include "target/quoin/Program.h"

#include "llvm/ADT/SmallVector.h"

#include <limits>
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

using ElementAccess = accelerator::Access;
using NestLoop = accelerator::Loop;

struct Node {
  enum Kind { Load, Number, Apply, Sum } kind = Number;
  DType type = DType::None;
  ElementAccess access;                    ///< of a load
  double number = 0;                       ///< of a number
  Opcode opcode = Opcode::mov;             ///< of an application, which is of `operands`
  llvm::SmallVector<unsigned, 3> operands; ///< earlier nodes
  /// Of a load: the least and the greatest magnitude of its elements, if they are known.
  double least = 0, most = std::numeric_limits<double>::infinity();
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
  std::vector<accelerator::Border> borders = {};
  std::optional<accelerator::Rows> rows = {}; ///< then the value is no element, but chooses them

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
  unsigned arguments = 0;     ///< the first of them
  std::vector<Nest> nests;    ///< without borders
  std::vector<Nest> bordered; ///< the same with them, or empty
};

} // namespace perpend::quoin

#endif
