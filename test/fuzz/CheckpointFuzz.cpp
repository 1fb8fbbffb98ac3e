//===- CheckpointFuzz.cpp - libFuzzer target: bytes as a checkpoint -------===//

#include "frontend/checkpoint/Gguf.h"
#include "frontend/checkpoint/Safetensors.h"

using namespace perpend::checkpoint;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::shared_ptr<llvm::MemoryBuffer> file =
      llvm::MemoryBuffer::getMemBuffer(StringRef(reinterpret_cast<const char *>(data), size), "", false);
  StoredTensors tensors, others;
  std::string error;
  (void)readGguf(file, tensors, error);
  (void)readSafetensors(file, others, error);
  for (const StoredTensors *all : {&tensors, &others})
    for (StringRef name : all->names())
      if (const StoredTensor *tensor = all->find(name); tensor->bytes.size() > size)
        __builtin_trap();
  return 0;
}
