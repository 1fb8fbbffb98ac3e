//===- WeightsObject.h - Files of weights -----------------------*- C++ -*-===//
//
// Weights go from the memory-mapped model directly into a file: they never become LLVM constants and are never copied
// in memory. The file is an object, which is linked into the artifact, or one that lies beside it
// (docs/decisions/0048-segments-and-entries.md). Both are mapped on demand, read-only and shared between processes.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_WEIGHTSOBJECT_H
#define PERPEND_TARGET_WEIGHTSOBJECT_H

#include "target/TargetInfo.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

namespace perpend::target {

struct Architecture;

inline constexpr llvm::StringLiteral weightsSectionName = ".perpend.weights";

struct WeightBlob {
  uint64_t offset = 0; ///< from the start of the weights
  llvm::ArrayRef<char> bytes;
};

struct WeightsSummary {
  std::string symbol; ///< of an object: "perpend_weights_<name>", hidden, its size is byteCount
  uint64_t byteCount = 0;
  uint32_t checksum = 0; ///< CRC-32C of all weights, as the runtime verifies it
};

/// Of the weights in a packed file.
inline constexpr uint64_t packedWeightsOffset = 4096;

enum class WeightsForm {
  Object, ///< relocatable, with one read-only section aligned to 4096, or to 64 where it is never mapped
  Packed  ///< a perpend_weights_header, and the weights from byte 4096 on
};

/// Writes weights incrementally, from start to end.
class WeightsFile {
public:
  /// Errors: a target without an ELF machine number, a file that cannot be created.
  static llvm::Expected<WeightsFile> create(llvm::StringRef path, const TargetInfo &target,
                                            WeightsForm form = WeightsForm::Object);
  WeightsFile(WeightsFile &&) = default;
  ~WeightsFile();

  uint64_t end() const; ///< end of the weights written so far
  void write(llvm::ArrayRef<char> bytes);
  /// Writes zeros up to this offset.
  void fill(uint64_t offset);
  /// byteCount: at least end(). Errors: the file cannot be written.
  llvm::Expected<WeightsSummary> finish(llvm::StringRef name, uint64_t byteCount);

private:
  WeightsFile(llvm::StringRef path, WeightsForm form, const Architecture &architecture,
              std::unique_ptr<llvm::raw_fd_ostream> stream);
  void finishObject(llvm::StringRef symbol, uint64_t byteCount);
  void finishPacked(uint64_t byteCount);

  std::string path;
  WeightsForm form;
  const Architecture *architecture;
  uint32_t checksum = 0; ///< of the weights so far
  std::unique_ptr<llvm::raw_fd_ostream> stream;
};

/// Writes a file of `byteCount` bytes of weights; gaps between blobs are zero, and pages of mapped files are released
/// as they are written. afterBlob: is told the number of each blob that has been written. Blobs are in the order of
/// their offsets and do not overlap (W1), and lie inside byteCount (W2). Errors: W1, W2, a target without a machine
/// number, file cannot be written.
llvm::Expected<WeightsSummary> writeWeights(
    llvm::StringRef path, llvm::StringRef name, llvm::ArrayRef<WeightBlob> blobs, uint64_t byteCount,
    const TargetInfo &target, WeightsForm form = WeightsForm::Object,
    llvm::function_ref<void(size_t)> afterBlob = [](size_t) {});

} // namespace perpend::target

#endif
