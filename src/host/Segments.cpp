//===- Segments.cpp - how much memory a host program needs ------------------===//

#include "host/Segments.h"

#include "tile/kernel/Buffers.h"

#include "perpend_module.h"

using namespace mlir;

namespace perpend::host {

int64_t endOf(SegmentOp segment) {
  auto type = segment.getValue().getShapedType();
  return static_cast<int64_t>(llvm::alignTo(
      segment.getOffset() + type.getNumElements() * tile::elementBytes(type.getElementType()), PERPEND_ALIGNMENT));
}

int64_t segmentBytesOf(ModuleOp module) {
  int64_t bytes = 0;
  for (auto segment : module.getOps<SegmentOp>())
    bytes = std::max(bytes, endOf(segment));
  return bytes;
}

void moveSegments(ModuleOp module, llvm::function_ref<int64_t(int64_t)> offsetOf) {
  for (auto segment : module.getOps<SegmentOp>())
    segment.setOffset(offsetOf(static_cast<int64_t>(segment.getOffset())));
}

int64_t arenaBytesOf(EntryOp entry) {
  int64_t bytes = 0;
  for (auto buffer : entry.getBody().getOps<BufferOp>()) {
    if (buffer.getMemory().getType().getMemory() != hostMemory)
      continue;
    int64_t size = buffer.getBytes().values()[0].constant().value_or(0);
    bytes = std::max<int64_t>(bytes, llvm::alignTo(*buffer.getOffset() + size, PERPEND_ALIGNMENT));
  }
  return bytes;
}
} // namespace perpend::host
