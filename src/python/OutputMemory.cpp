//===- OutputMemory.cpp - memory of returned numpy arrays -----------------===//

#include "python/OutputMemory.h"

#include "runtime/Allocate.h"

#include <algorithm>
#include <vector>

namespace nb = nanobind;

namespace perpend::python {

static constexpr int64_t mostKeptBytes = int64_t{64} << 20;
static constexpr size_t mostKept = 32;

std::vector<OutputMemory::Block> &OutputMemory::kept() {
  static auto &blocks = *new std::vector<Block>; // arrays may outlive static destructors
  return blocks;
}

OutputMemory::Block OutputMemory::take(int64_t bytes) {
  std::vector<Block> &blocks = kept();
  // Takes the most recently used block, which is still cached, unless it is much too large.
  auto found = std::find_if(blocks.rbegin(), blocks.rend(), [&](const Block &block) {
    return block.bytes >= bytes && block.bytes - block.bytes / 4 <= bytes;
  });
  if (found != blocks.rend()) {
    Block block = *found;
    blocks.erase(std::next(found).base());
    return block;
  }
  return {runtime::allocateTensor(bytes), bytes};
}

nb::object OutputMemory::make(int64_t bytes) {
  Block block = take(bytes);
  if (!block.data)
    throw std::bad_alloc();
  return nb::cast(new OutputMemory(block), nb::rv_policy::take_ownership);
}

OutputMemory::~OutputMemory() {
  std::vector<Block> &blocks = kept();
  blocks.push_back(block);
  int64_t bytes = 0;
  for (const Block &each : blocks)
    bytes += each.bytes;
  while (bytes > mostKeptBytes || blocks.size() > mostKept) {
    bytes -= blocks.front().bytes;
    std::free(blocks.front().data);
    blocks.erase(blocks.begin());
  }
}

int OutputMemory::getBuffer(PyObject *self, Py_buffer *view, int flags) {
  const Block &block = nb::inst_ptr<OutputMemory>(self)->block;
  return PyBuffer_FillInfo(view, self, block.data, block.bytes, /*readonly=*/0, flags);
}

void OutputMemory::bind(nb::module_ &module) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void *>(getBuffer)}, {0, nullptr}};
  nb::class_<OutputMemory>(module, "OutputMemory", "Memory of a result.", nb::type_slots(slots));
}
} // namespace perpend::python
