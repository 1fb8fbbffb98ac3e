//===- SharedWeights.h - Weights of several machines ------------*- C++ -*-===//
//
// An artifact for several machines has one section of weights. Equal bytes of different machines are stored once,
// whatever their names and origins.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_SHAREDWEIGHTS_H
#define PERPEND_TARGET_SHAREDWEIGHTS_H

#include "target/WeightsObject.h"

#include <array>
#include <map>

namespace perpend::target {

class SharedWeights {
public:
  explicit SharedWeights(WeightsFile file) : file(std::move(file)) {}

  /// The offset of these bytes in the section. New bytes are written at once, so that the caller need not keep them.
  uint64_t place(llvm::ArrayRef<char> bytes);
  uint64_t byteCount() const;
  llvm::Expected<WeightsSummary> finish(llvm::StringRef name) { return file.finish(name, byteCount()); }

private:
  WeightsFile file;
  std::map<std::array<uint8_t, 32>, uint64_t> offsets; ///< by the BLAKE3 hash of the bytes
};

} // namespace perpend::target

#endif
