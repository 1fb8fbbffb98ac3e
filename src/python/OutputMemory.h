//===- OutputMemory.h - memory of numpy's arrays that calls return -*- C++ -*-===//

#ifndef PERPEND_PYTHON_OUTPUTMEMORY_H
#define PERPEND_PYTHON_OUTPUTMEMORY_H

#include <nanobind/nanobind.h>

#include <vector>

namespace perpend::python {

/// Memory with Python's buffer protocol. It begins with a line of the cache: numpy's own begins anywhere in one, and
/// then each vector that a kernel stores crosses two lines. When the last array on it is gone, the memory is kept for
/// later calls, up to 64 MiB in some blocks: new memory costs a page fault for each 4 KiB, which is as long as a fast
/// kernel takes. The interpreter lock guards what is kept.
class OutputMemory {
public:
  /// Of smaller arrays the lines are few, and an object more would cost as much.
  static bool isWorthIt(int64_t bytes) { return bytes >= (16 << 10); }
  /// At least so many bytes, with any contents. Errors: MemoryError.
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
  /// Blocks without an array; the one that was given back last is the last.
  static std::vector<Block> &kept();
  static Block take(int64_t bytes);
  static int getBuffer(PyObject *self, Py_buffer *view, int flags);

  Block block;
};
} // namespace perpend::python

#endif
