//===- Scratch.cpp - scratch memory of kernels ----------------------------===//

#include "tile/kernel/Scratch.h"

#include "graph/Shapes.h"
#include "target/Machine.h"
#include "tile/kernel/Buffers.h"
#include "tile/kernel/KernelAbi.h"

using namespace mlir;
using perpend::graph::SymbolicInt;

namespace perpend::tile {

Scratch Scratch::of(func::FuncOp kernel) {
  Scratch scratch;
  if (!hasScratch(kernel))
    return scratch;
  scratch.elements = kernel->getAttrOfType<graph::ShapeAttr>(scratchAttribute).values();
  auto abi = KernelAbi::ofLowered(kernel);
  SymbolicInt alignment(scratchAlignment);
  for (auto [number, count] : llvm::enumerate(scratch.elements)) {
    auto type = cast<MemRefType>(kernel.getArgumentTypes()[abi.scratch(number)]);
    scratch.offsets.push_back(scratch.partBytes);
    scratch.partBytes =
        scratch.partBytes + ceilDiv(count * SymbolicInt(elementBytes(type.getElementType())), alignment) * alignment;
  }
  scratch.mostParts = graph::elementCount(kernel->getAttrOfType<graph::ShapeAttr>(extentAttribute).values());
  return scratch;
}

std::string exceededMemory(func::FuncOp kernel, const target::Machine &target) {
  for (const target::Memory &memory : target.memories) {
    SymbolicInt bytes(0);
    bool isHeldByTarget = false;
    kernel.walk([&](AllocOp alloc) {
      BufferType type = alloc.getBuffer().getType();
      if (type.getScope() != memory.name)
        return;
      bytes += graph::elementCount(type.extents()) * SymbolicInt(elementBytes(type.getElementType()));
      isHeldByTarget |= type.memorySpace() != nullptr;
    });
    if (memory.bytes && !(SymbolicInt(memory.bytes) - bytes).knownNonNegative())
      return "the memory '" + memory.name + "' of " + std::to_string(memory.bytes) + " bytes is too small for " +
             bytes.str();
    // Its buffers are made where the kernel begins, and scratch memory is that of the caller.
    if (isHeldByTarget && !bytes.constant())
      return "the memory '" + memory.name + "' holds buffers of known sizes, and not " + bytes.str() + " bytes";
  }
  return {};
}

LocalMemory LocalMemory::of(func::FuncOp kernel) {
  LocalMemory memory;
  int64_t stackBytes = 0;
  kernel.walk([&](AllocOp alloc) {
    BufferType type = alloc.getBuffer().getType();
    std::optional<int64_t> count = graph::elementCount(type.extents()).constant();
    int64_t width = elementBytes(type.getElementType());
    if (count && type.memorySpace()) // in a memory of the target
      return;
    bool fits = count && *count <= mostStackBytes &&
                stackBytes + llvm::alignTo(*count * width, scratchAlignment) <= mostStackBytes;
    if (fits)
      stackBytes += llvm::alignTo(*count * width, scratchAlignment);
    else
      memory.scratch.push_back(alloc);
  });
  return memory;
}

SmallVector<SymbolicInt> LocalMemory::elements() {
  return llvm::map_to_vector(scratch,
                             [](AllocOp alloc) { return graph::elementCount(alloc.getBuffer().getType().extents()); });
}

std::optional<unsigned> LocalMemory::numberOf(AllocOp alloc) const {
  auto found = llvm::find(scratch, alloc);
  return found == scratch.end() ? std::nullopt : std::optional<unsigned>(found - scratch.begin());
}
} // namespace perpend::tile
