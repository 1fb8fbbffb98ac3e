//===- WasmVariants.cpp - one module for several engines ------------------===//
#include "target/WasmVariants.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/Wasm.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/LEB128.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace perpend::target {
namespace {

/// Equal runs of fewer bytes are not looked for. Of functions with equal numbers, most are longer.
constexpr size_t windowBytes = 64;

std::string sized(StringRef bytes) {
  std::string text;
  raw_string_ostream stream(text);
  encodeULEB128(bytes.size(), stream);
  stream << bytes;
  return text;
}

std::string customSection(StringRef name, StringRef content) {
  return std::string(1, char(wasm::WASM_SEC_CUSTOM)) + sized(sized(name) + content.str());
}

/// A polynomial of the bytes of a window, modulo 2^64.
class RollingHash {
public:
  explicit RollingHash(const char *window) {
    for (size_t i = 0; i < windowBytes; ++i) {
      value = value * factor + byte(window[i]);
      first *= i ? factor : 1;
    }
  }
  void move(char from, char to) { value = (value - first * byte(from)) * factor + byte(to); }
  uint64_t value = 0;

private:
  static uint64_t byte(char letter) { return uint64_t(uint8_t(letter)) + 1; }
  static constexpr uint64_t factor = 0x9E3779B97F4A7C15;
  uint64_t first = 1; ///< of the first byte
};

/// Where windows of a text lie.
class Windows {
public:
  explicit Windows(StringRef text) : text(text) {
    for (size_t at = 0; at + windowBytes <= text.size(); at += windowBytes)
      places.try_emplace(RollingHash(text.data() + at).value >> 1, at); // the map keeps two keys for itself
  }
  std::optional<size_t> find(uint64_t hash, const char *window) const {
    auto found = places.find(hash >> 1);
    if (found == places.end() || memcmp(text.data() + found->second, window, windowBytes) != 0)
      return std::nullopt;
    return found->second;
  }

private:
  StringRef text;
  DenseMap<uint64_t, size_t> places;
};

} // namespace

std::string piecesOf(StringRef base, StringRef wanted) {
  const Windows windows(base);
  std::string pieces;
  raw_string_ostream stream(pieces);
  size_t done = 0, at = 0; // of the wanted bytes
  auto emit = [&](size_t literalEnd, size_t from, size_t count) {
    stream << sized(wanted.slice(done, literalEnd));
    encodeULEB128(from, stream);
    encodeULEB128(count, stream);
    done = at = literalEnd + count;
  };
  while (at + windowBytes <= wanted.size()) {
    RollingHash hash(wanted.data() + at);
    std::optional<size_t> found;
    while (!(found = windows.find(hash.value, wanted.data() + at)) && at + windowBytes < wanted.size()) {
      hash.move(wanted[at], wanted[at + windowBytes]);
      ++at;
    }
    if (!found)
      break;
    size_t begin = at, from = *found, count = windowBytes;
    for (; begin > done && from > 0 && wanted[begin - 1] == base[from - 1]; --begin, --from)
      ++count;
    while (begin + count < wanted.size() && from + count < base.size() && wanted[begin + count] == base[from + count])
      ++count;
    emit(begin, from, count);
  }
  if (done < wanted.size())
    emit(wanted.size(), 0, 0);
  return pieces;
}

std::string sectionsOfNeeds(ArrayRef<std::string> extensions) {
  return customSection(needsSection, join(extensions, " ")) + customSection(lastSection, "");
}

Error joinWasmModules(StringRef base, ArrayRef<WasmVariant> variants, StringRef output) {
  auto read = [](StringRef path) -> Expected<std::unique_ptr<MemoryBuffer>> {
    auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!file)
      return createStringError(formatv("cannot read '{0}': {1}", path, file.getError().message()));
    return std::move(*file);
  };
  auto whole = read(base);
  if (!whole)
    return whole.takeError();
  std::error_code error;
  raw_fd_ostream stream(output, error);
  if (error)
    return createStringError(formatv("cannot write '{0}': {1}", output, error.message()));
  stream << (*whole)->getBuffer();
  for (const WasmVariant &variant : variants) {
    auto other = read(variant.path);
    if (!other)
      return other.takeError();
    stream << customSection(variantSection, sized(join(variant.extensions, " ")) +
                                                piecesOf((*whole)->getBuffer(), (*other)->getBuffer()));
  }
  stream << customSection(lastSection, "");
  stream.close();
  if (stream.has_error())
    return createStringError(formatv("cannot write '{0}': {1}", output, stream.error().message()));
  return Error::success();
}

} // namespace perpend::target
