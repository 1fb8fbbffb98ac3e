//===- Ranks.h - checks ranks of a node's inputs ----------------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_RANKS_H
#define PERPEND_FRONTEND_ONNX_RANKS_H

#include "frontend/onnx/Operators.h"

namespace perpend::onnx {
struct InputRank {
  size_t input;
  int64_t rank;
};

/// Whether each present input has the given rank; otherwise emits an error.
bool hasRanks(const Node &node, llvm::ArrayRef<InputRank> ranks);
} // namespace perpend::onnx

#endif
