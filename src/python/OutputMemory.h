//===- OutputMemory.h - memory of returned numpy arrays ---------*- C++ -*-===//

#ifndef PERPEND_PYTHON_OUTPUTMEMORY_H
#define PERPEND_PYTHON_OUTPUTMEMORY_H

#include <nanobind/nanobind.h>

#include <vector>

namespace perpend::python {

/// Memory with Python's buffer protocol, aligned to a cache line: numpy's own is not, so that every vector that a
/// kernel stores would cross two lines. When the last array on it dies, the memory is kept for later calls, up to 64
/// MiB in some blocks: new memory costs a page fault per 4 KiB, which takes as long as a fast kernel. The interpreter
/// lock guards the kept blocks.
class OutputMemory {
public:
  /// For smaller arrays the gain would not cover the cost of an additional object.
  static bool isWorthIt(int64_t bytes) { return bytes >= (16 << 10); }
  /// At least this many bytes, uninitialised. Errors: MemoryError.
  static nanobind::object make(int64_t bytes);
  static void bind(nanobind::module_ &module);

  OutputMemory(const OutputMemory &) = delete;
  OutputMemory &operator=(const OutputMemory &) = delete;
  ~OutputMemory();

private:
  struct Block {
    void *data;
    int64_t bytes;
  };
  explicit OutputMemory(Block block) : block(block) {}
  /// Blocks without an array, the most recently released last.
  static std::vector<Block> &kept();
  static Block take(int64_t bytes);
  static int getBuffer(PyObject *self, Py_buffer *view, int flags);

  Block block;
};
} // namespace perpend::python

#endif
