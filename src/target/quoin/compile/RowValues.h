//===- RowValues.h - what a chain of rows computes --------------*- C++ -*-===//
//
// Nests of a chain often compute the same of a row: each value is there once, with those who read it.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_ROWVALUES_H
#define PERPEND_TARGET_QUOIN_COMPILE_ROWVALUES_H

#include "target/quoin/compile/RowChain.h"

namespace perpend::quoin {

/// An element for each row, for each column, for both or for neither.
struct RowValue {
  enum Kind { Load, Number, Apply, Reduce } kind = Number;
  DType type = DType::None;
  ElementAccess access = {};      ///< of a load
  double number = 0;              ///< of a number; the last operand of an application; what a reduction begins with
  DType numberType = DType::None; ///< None: an application has no number
  Opcode opcode = Opcode::mov;
  llvm::SmallVector<unsigned, 3> operands = {}; ///< earlier values
  bool hasRows = false, hasColumns = false;
  bool isShared = false; ///< the same for all rows
  bool isStored = false;
  unsigned users = 0;
};

struct RowStore {
  unsigned value = 0;
  ElementAccess access;
};

struct RowValues {
  std::vector<RowValue> values; ///< operands before their users
  std::vector<RowStore> stores;
  std::string problem; ///< why no unit computes them; empty: it does
};

RowValues rowValuesOf(const RowChain &chain);

} // namespace perpend::quoin

#endif
