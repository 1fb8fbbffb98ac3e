//===- Ranks.h - the shapes that inputs of a node must have ----*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_RANKS_H
#define PERPEND_FRONTEND_ONNX_RANKS_H

#include "frontend/onnx/Operators.h"

namespace perpend::onnx {
struct InputRank {
  size_t input;
  int64_t rank;
};

/// Whether each of these inputs that is there has its rank; an error otherwise.
bool hasRanks(const Node &node, llvm::ArrayRef<InputRank> ranks);
} // namespace perpend::onnx

#endif
