//===- Rotary.h - frequencies of rotary embeddings --------------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_ROTARY_H
#define PERPEND_FRONTEND_CHECKPOINT_ROTARY_H

#include "frontend/checkpoint/Form.h"
#include "graph/builder/Builder.h"

namespace perpend::checkpoint {

/// Cosines and sines [1, length, pairs] of the angles of these positions, [length]; f32, times the attention
/// factor. `extent`: the length of the whole sequence, on which some scalings depend.
struct RotaryTables {
  mlir::Value cosines, sines;
};
RotaryTables rotaryTables(graph::Builder &builder, const RotaryForm &form, mlir::Value positions,
                          const graph::SymbolicInt &extent);
} // namespace perpend::checkpoint

#endif
