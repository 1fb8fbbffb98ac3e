//===- ObjectSections.h - the sections of an object file --------*- C++ -*-===//
//
// Numbers are little-endian and have their natural size; a text is its length (4 bytes) and its bytes.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_QUOIN_OBJECTSECTIONS_H
#define PERPEND_TARGET_QUOIN_OBJECTSECTIONS_H

#include "target/quoin/Program.h"

#include "llvm/Support/Endian.h"

namespace perpend::quoin {

inline constexpr llvm::StringLiteral textSection = ".qn.text."; ///< and the number of the core
inline constexpr llvm::StringLiteral dataSection = ".qn.data";
inline constexpr llvm::StringLiteral scalarSection = ".qn.sc";
inline constexpr llvm::StringLiteral metaSection = ".qn.meta"; ///< configuration, symbols, entries of scalar code
inline constexpr llvm::StringLiteral locationSection = ".qn.loc";
inline constexpr llvm::StringLiteral tablesSection = ".qn.tables";
inline constexpr uint32_t objectVersion = 1;

class ByteWriter {
public:
  std::vector<uint8_t> bytes;

  template <typename T> void number(T value) {
    size_t at = bytes.size();
    bytes.resize(at + sizeof(T));
    llvm::support::endian::write<T, llvm::endianness::little>(&bytes[at], value);
  }
  void text(llvm::StringRef value) { block(llvm::ArrayRef(value.bytes_begin(), value.bytes_end())); }
  void block(llvm::ArrayRef<uint8_t> value) {
    number<uint32_t>(value.size());
    bytes.insert(bytes.end(), value.begin(), value.end());
  }
};

/// Reads what ByteWriter wrote. Behind the end of the bytes everything is 0 or empty, and `failed` is set.
class ByteReader {
public:
  explicit ByteReader(llvm::ArrayRef<uint8_t> bytes) : bytes(bytes) {}
  bool failed = false;

  template <typename T> T number() {
    if (bytes.size() < sizeof(T)) {
      failed = true;
      bytes = {};
      return T(0);
    }
    T value = llvm::support::endian::read<T, llvm::endianness::little>(bytes.data());
    bytes = bytes.drop_front(sizeof(T));
    return value;
  }
  llvm::ArrayRef<uint8_t> block() {
    uint32_t size = number<uint32_t>();
    if (size > bytes.size()) {
      failed = true;
      size = 0;
    }
    llvm::ArrayRef<uint8_t> value = bytes.take_front(size);
    bytes = bytes.drop_front(size);
    return value;
  }
  std::string text() {
    llvm::ArrayRef<uint8_t> value = block();
    return std::string(value.begin(), value.end());
  }
  /// A number of things that have at least so many bytes each.
  uint32_t count(size_t bytesOfEach) {
    uint32_t value = number<uint32_t>();
    if (value > bytes.size() / bytesOfEach) {
      failed = true;
      value = 0;
    }
    return value;
  }
  bool atEnd() const { return bytes.empty(); }

private:
  llvm::ArrayRef<uint8_t> bytes;
};

/// Calls `visit` on each number of a configuration.
template <typename C, typename Visitor> void visitConfig(C &config, Visitor visit) {
  visit(config.clusters), visit(config.coresPerCluster);
  visit(config.ddrBytes), visit(config.llbBytes), visit(config.l1Bytes);
  visit(config.l0aBytes), visit(config.l0bBytes), visit(config.l0cBytes);
  visit(config.l1Banks), visit(config.llbBanks), visit(config.queueDepth);
  visit(config.ddrBytesPerCycle), visit(config.llbBytesPerCycle);
  visit(config.ddrLatency), visit(config.llbLatency), visit(config.l1Latency);
}

} // namespace perpend::quoin

#endif
