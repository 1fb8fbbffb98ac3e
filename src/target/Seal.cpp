//===- Seal.cpp - Checksums of linked artifacts ---------------------------===//
//
// The dynamic linker changes what can be written (relocations), so in memory only the sections that stay as they are
// can be compared. The loader, which sees the file before the dynamic linker does, compares all of it. In between lie
// the weights, which may be gigabytes.
//
//===----------------------------------------------------------------------===//
#include "target/Seal.h"
#include "target/WeightsObject.h"

#include "runtime/Checksum.h"
#include "runtime/Seal.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace llvm;
using object::ELF64LE;

namespace perpend::target {
namespace {

/// What matters of a file's sections.
struct Layout {
  struct Range {
    uint64_t address, offset, bytes; ///< in memory, and in the file
  };
  std::vector<Range> constant; ///< code and constants
  Range weights = {}, seal = {};
};

Expected<Layout> layoutOf(const object::ELFFile<ELF64LE> &file) {
  Expected<ELF64LE::ShdrRange> sections = file.sections();
  if (!sections)
    return sections.takeError();
  Layout layout;
  bool goesOn = false; // neighbours in one segment are one range
  for (const ELF64LE::Shdr &section : *sections) {
    Expected<StringRef> name = file.getSectionName(section);
    if (!name)
      return name.takeError();
    const Layout::Range range = {section.sh_addr, section.sh_offset, section.sh_size};
    const bool isWeights = *name == weightsSectionName;
    const bool isLoaderName = *name == ".interp"; // other systems give a program another
    const bool isConstant = section.sh_type == ELF::SHT_PROGBITS && (section.sh_flags & ELF::SHF_ALLOC) &&
                            !(section.sh_flags & ELF::SHF_WRITE) && !isWeights && !isLoaderName;
    if (isWeights)
      layout.weights = range;
    if (*name == PERPEND_SEAL_SECTION)
      layout.seal = range;
    if (isConstant && goesOn &&
        layout.constant.back().address - layout.constant.back().offset == range.address - range.offset)
      layout.constant.back().bytes = range.address + range.bytes - layout.constant.back().address;
    else if (isConstant)
      layout.constant.push_back(range);
    goesOn = isConstant;
  }
  return layout;
}

/// The largest ranges, if there are more than a seal has room for.
void writeSeal(Layout &layout, char *bytes) {
  runtime::Seal seal = {};
  llvm::sort(layout.constant, [](const auto &a, const auto &b) {
    return std::pair(b.bytes, a.address) < std::pair(a.bytes, b.address);
  });
  for (auto [range, place] : llvm::zip(layout.constant, seal.ranges)) {
    place = {static_cast<int64_t>(range.address - layout.seal.address), range.bytes};
    seal.checksum = runtime::crc32c(bytes + range.offset, range.bytes, seal.checksum);
  }
  seal.isSet = 1;
  std::memcpy(bytes + layout.seal.offset, &seal, sizeof seal);
}

runtime::FileSeal fileSealOf(const Layout &layout, const char *bytes, uint64_t byteCount) {
  runtime::FileSeal seal = {};
  std::memcpy(seal.magic, runtime::fileSealMagic, sizeof seal.magic);
  seal.weightsBegin = layout.weights.offset;
  seal.weightsEnd = layout.weights.offset + layout.weights.bytes;
  seal.checksum = runtime::crc32c(bytes, seal.weightsBegin);
  seal.checksum = runtime::crc32c(bytes + seal.weightsEnd, byteCount - seal.weightsEnd, seal.checksum);
  seal.checksum = runtime::crc32c(&seal, offsetof(runtime::FileSeal, checksum), seal.checksum);
  return seal;
}

Error cannotSeal(StringRef path, std::error_code reason) {
  return createStringError(
      reason, formatv("cannot write '{0}': {1}\nhint: is there room on the disk?", path, reason.message()));
}

/// Of the file, the seal in which is written.
Expected<runtime::FileSeal> sealInside(StringRef path) {
  uint64_t byteCount = 0;
  if (std::error_code error = sys::fs::file_size(path, byteCount))
    return cannotSeal(path, error);
  int file = -1;
  if (std::error_code error = sys::fs::openFileForReadWrite(path, file, sys::fs::CD_OpenExisting, sys::fs::OF_None))
    return cannotSeal(path, error);
  std::error_code error;
  sys::fs::mapped_file_region mapped(sys::fs::convertFDToNativeFile(file), sys::fs::mapped_file_region::readwrite,
                                     byteCount, 0, error);
  sys::fs::file_t native = sys::fs::convertFDToNativeFile(file);
  (void)sys::fs::closeFile(native);
  if (error)
    return cannotSeal(path, error);
  auto elf = object::ELFFile<ELF64LE>::create(StringRef(mapped.const_data(), byteCount));
  if (!elf)
    return elf.takeError();
  Expected<Layout> layout = layoutOf(*elf);
  if (!layout)
    return layout.takeError();
  if (layout->seal.bytes == sizeof(runtime::Seal))
    writeSeal(*layout, mapped.data());
  return fileSealOf(*layout, mapped.const_data(), byteCount);
}

} // namespace

Error sealArtifact(StringRef path, bool isSharedLibrary) {
  Expected<runtime::FileSeal> seal = sealInside(path);
  if (!seal)
    return seal.takeError();
  if (!isSharedLibrary)
    return Error::success();
  std::error_code error;
  raw_fd_ostream stream(path, error, sys::fs::OF_Append);
  if (!error) {
    stream.write(reinterpret_cast<const char *>(&*seal), sizeof *seal);
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  return error ? cannotSeal(path, error) : Error::success();
}

} // namespace perpend::target
