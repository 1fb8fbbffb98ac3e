//===- StoredTensors.h - the tensors of a checkpoint, by name ---*- C++ -*-===//
//
// The readers of safetensors and GGUF files make this list: for each tensor its name, type, shape, and where its bytes
// are in a mapped file. No reader looks at these bytes.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_STOREDTENSORS_H
#define PERPEND_FRONTEND_CHECKPOINT_STOREDTENSORS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <optional>
#include <string>

namespace perpend::checkpoint {
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

enum class Encoding {
#define ENCODING(NAME, GGUF, SAFETENSORS, ELEMENTS, BYTES) NAME,
#include "frontend/checkpoint/Encodings.def"
};

struct EncodingInfo {
  StringRef name;
  int gguf;
  StringRef safetensors;
  int64_t blockElements, blockBytes;
};
const EncodingInfo &infoOf(Encoding encoding);
std::optional<Encoding> encodingOfGguf(uint32_t number);
std::optional<Encoding> encodingOfSafetensors(StringRef name);

/// Row-major; the outermost extent comes first.
struct StoredTensor {
  std::string name;
  Encoding encoding = Encoding::F32;
  llvm::SmallVector<int64_t, 4> shape;
  std::shared_ptr<llvm::MemoryBuffer> file; ///< holds the bytes
  StringRef bytes;

  uint64_t offset() const { return bytes.data() - file->getBufferStart(); }
};

/// For example "F16 [512, 64]".
std::string describe(const StoredTensor &tensor);

/// The number of bytes of such a tensor. Errors: nullopt, and a message that goes on behind "tensor 'x': ".
std::optional<uint64_t> sizeOf(Encoding encoding, ArrayRef<int64_t> shape, std::string &error);

/// All tensors of a checkpoint, and which of them have been asked for.
class StoredTensors {
public:
  /// Errors: false, and a message; the name is taken.
  bool add(StoredTensor tensor, std::string &error);
  /// Null if there is none.
  const StoredTensor *find(StringRef name) const;
  bool has(StringRef name) const { return find(name); }
  /// As find(); the tensor counts as used.
  const StoredTensor *use(StringRef name);
  size_t size() const { return tensors.size(); }
  /// In alphabetical order.
  llvm::SmallVector<StringRef> names() const;
  llvm::SmallVector<StringRef> unused() const;

private:
  struct Entry {
    StoredTensor tensor;
    bool isUsed = false;
  };
  llvm::StringMap<Entry> tensors;
};
} // namespace perpend::checkpoint

#endif
