//===- WeightsObject.h - Weights as an object file --------------*- C++ -*-===//
//
// Weights go from the memory-mapped model directly into an object file: they never become LLVM constants and are never
// copied in memory. The linked artifact maps them on demand, read-only and shared between processes.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_WEIGHTSOBJECT_H
#define PERPEND_TARGET_WEIGHTSOBJECT_H

#include "target/TargetInfo.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

namespace perpend::target {

inline constexpr llvm::StringLiteral weightsSectionName = ".perpend.weights";

struct WeightBlob {
  uint64_t offset = 0; ///< from the start of the section
  llvm::ArrayRef<char> bytes;
};

struct WeightsSummary {
  std::string symbol; ///< "perpend_weights_<name>", hidden, its size is byteCount
  uint64_t byteCount = 0;
  uint32_t checksum = 0; ///< CRC-32C of all bytes of the section, as the runtime verifies it
};

/// Writes a relocatable object incrementally: one read-only section aligned to 4096, from start to end.
class WeightsFile {
public:
  /// Errors: a target without an ELF machine number, a file that cannot be created.
  static llvm::Expected<WeightsFile> create(llvm::StringRef path, const TargetInfo &target);
  WeightsFile(WeightsFile &&) = default;
  ~WeightsFile();

  uint64_t end() const; ///< end of the part of the section written so far
  void write(llvm::ArrayRef<char> bytes);
  /// Writes zeros up to this offset in the section.
  void fill(uint64_t offset);
  /// byteCount: at least end(). Errors: the file cannot be written.
  llvm::Expected<WeightsSummary> finish(llvm::StringRef name, uint64_t byteCount);

private:
  WeightsFile(llvm::StringRef path, uint16_t machine, std::unique_ptr<llvm::raw_fd_ostream> stream);

  std::string path;
  uint16_t machine;
  uint32_t checksum = 0; ///< checksum of the section so far
  std::unique_ptr<llvm::raw_fd_ostream> stream;
};

/// Writes a relocatable object with one 4096-aligned read-only section of `byteCount` bytes; gaps between blobs are
/// zero. Blobs are in the order of their offsets and do not overlap (W1), and lie inside byteCount (W2). Errors: W1,
/// W2, a target without a machine number, file cannot be written.
llvm::Expected<WeightsSummary> writeWeightsObject(llvm::StringRef path, llvm::StringRef name,
                                                  llvm::ArrayRef<WeightBlob> blobs, uint64_t byteCount,
                                                  const TargetInfo &target);

} // namespace perpend::target

#endif
