//===- Dequantise.h - numbers of quantised blocks ---------------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_DEQUANTISE_H
#define PERPEND_FRONTEND_CHECKPOINT_DEQUANTISE_H

#include "frontend/checkpoint/StoredTensors.h"

namespace perpend::checkpoint {

/// Writes the numbers of one block. Each operation is rounded to f32.
using BlockReader = void (*)(const uint8_t *block, float *numbers);
/// Null for encodings that are not blocks, or whose numbers are not known.
BlockReader blockReaderOf(Encoding encoding);

/// Writes the numbers of whole blocks, one block after the other.
void dequantise(Encoding encoding, StringRef bytes, float *numbers);
} // namespace perpend::checkpoint

#endif
