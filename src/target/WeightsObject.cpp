//===- WeightsObject.cpp - Files of weights -------------------------------===//
//
// The object is written by hand because the file consists mostly of weights: a header, the section at offset 4096, then
// a symbol table with one entry. The section is marked large, so that the linker places it away from code and data,
// which address each other with 32-bit distances. Objects of WebAssembly are in LinkWasm.cpp.
//
//===----------------------------------------------------------------------===//
#include "target/WeightsObject.h"
#include "support/InternalError.h"
#include "support/MappedFile.h"
#include "target/LinkWasm.h"
#include "target/cpu/Architecture.h"

#include "runtime/Checksum.h"

#include "perpend_module.h"
#include "perpend_tables.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <bit>
#include <cstring>
#include <string_view>

using namespace llvm;

static_assert(std::endian::native == std::endian::little, "ELF structures are written as they lie in memory");

namespace perpend::target {
namespace {

constexpr uint64_t pageBytes = packedWeightsOffset;
enum SectionIndex : uint16_t { nullSection, weightsSection, symbolSection, stringSection, stackNote, sectionCount };
constexpr char strings[] = "\0.perpend.weights\0.symtab\0.strtab\0.note.GNU-stack"; // names at 1, 18, 26, 34
static_assert(std::string_view(strings + 1) == std::string_view(weightsSectionName.data(), weightsSectionName.size()));
constexpr uint32_t weightsName = 1, symtabName = 18, strtabName = 26, stackNoteName = 34;

/// The structures of objects with 64-bit and with 32-bit addresses.
struct Elf64 {
  using Header = ELF::Elf64_Ehdr;
  using Section = ELF::Elf64_Shdr;
  using Symbol = ELF::Elf64_Sym;
  static constexpr unsigned char kind = ELF::ELFCLASS64;
};
struct Elf32 {
  using Header = ELF::Elf32_Ehdr;
  using Section = ELF::Elf32_Shdr;
  using Symbol = ELF::Elf32_Sym;
  static constexpr unsigned char kind = ELF::ELFCLASS32;
};

struct Layout {
  uint64_t symbols, strings, sections; // file offsets
  std::string stringTable;
};

template <typename Elf> Layout layOut(uint64_t byteCount, StringRef symbol) {
  Layout layout;
  layout.stringTable.assign(strings, sizeof(strings));
  layout.stringTable += symbol.str() + '\0';
  layout.symbols = alignTo(pageBytes + byteCount, 8);
  layout.strings = layout.symbols + 2 * sizeof(typename Elf::Symbol);
  layout.sections = alignTo(layout.strings + layout.stringTable.size(), 8);
  return layout;
}

template <typename T> void writeRaw(raw_ostream &stream, const T &value) {
  stream.write(reinterpret_cast<const char *>(&value), sizeof(value));
}

template <typename Elf> void writeHeader(raw_ostream &stream, const Architecture &architecture, const Layout &layout) {
  typename Elf::Header header = {};
  std::memcpy(header.e_ident, ELF::ElfMagic, 4);
  header.e_ident[ELF::EI_CLASS] = Elf::kind;
  header.e_ident[ELF::EI_DATA] = ELF::ELFDATA2LSB;
  header.e_ident[ELF::EI_VERSION] = ELF::EV_CURRENT;
  header.e_type = ELF::ET_REL;
  header.e_machine = architecture.elfMachine;
  header.e_flags = architecture.elfFlags;
  header.e_version = ELF::EV_CURRENT;
  header.e_shoff = static_cast<decltype(header.e_shoff)>(layout.sections);
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(typename Elf::Section);
  header.e_shnum = sectionCount;
  header.e_shstrndx = stringSection;
  writeRaw(stream, header);
}

template <typename Elf> void writeSymbols(raw_ostream &stream, uint64_t byteCount) {
  writeRaw(stream, typename Elf::Symbol{});
  typename Elf::Symbol symbol = {};
  symbol.st_name = sizeof(strings);
  symbol.setBindingAndType(ELF::STB_GLOBAL, ELF::STT_OBJECT);
  symbol.st_other = ELF::STV_HIDDEN;
  symbol.st_shndx = weightsSection;
  symbol.st_size = static_cast<decltype(symbol.st_size)>(byteCount);
  writeRaw(stream, symbol);
}

template <typename Section>
Section describeSection(uint32_t name, uint32_t type, uint64_t offset, uint64_t size, uint64_t alignment) {
  Section section = {};
  section.sh_name = name;
  section.sh_type = type;
  section.sh_offset = static_cast<decltype(section.sh_offset)>(offset);
  section.sh_size = static_cast<decltype(section.sh_size)>(size);
  section.sh_addralign = static_cast<decltype(section.sh_addralign)>(alignment);
  return section;
}

template <typename Elf>
void writeSections(raw_ostream &stream, const Architecture &architecture, uint64_t byteCount, const Layout &layout) {
  using Section = typename Elf::Section;
  constexpr uint64_t symbolBytes = sizeof(typename Elf::Symbol);
  const uint64_t alignment = architecture.isFixed ? PERPEND_ALIGNMENT : pageBytes; // pages are mapped
  Section sections[sectionCount] = {};
  sections[weightsSection] = describeSection<Section>(weightsName, ELF::SHT_PROGBITS, pageBytes, byteCount, alignment);
  sections[weightsSection].sh_flags =
      static_cast<decltype(Section::sh_flags)>(ELF::SHF_ALLOC | architecture.weightsFlags);
  sections[symbolSection] = describeSection<Section>(symtabName, ELF::SHT_SYMTAB, layout.symbols, 2 * symbolBytes, 8);
  sections[symbolSection].sh_link = stringSection;
  sections[symbolSection].sh_info = 1; // index of the first global symbol
  sections[symbolSection].sh_entsize = symbolBytes;
  sections[stringSection] =
      describeSection<Section>(strtabName, ELF::SHT_STRTAB, layout.strings, layout.stringTable.size(), 1);
  sections[stackNote] = describeSection<Section>(stackNoteName, ELF::SHT_PROGBITS, layout.strings, 0, 1);
  for (const Section &section : sections)
    writeRaw(stream, section);
}

/// All but the weights, which the stream is behind.
template <typename Elf>
void finishElf(raw_fd_ostream &stream, const Architecture &architecture, StringRef symbol, uint64_t byteCount) {
  const Layout layout = layOut<Elf>(byteCount, symbol);
  stream.write_zeros(layout.symbols - stream.tell());
  writeSymbols<Elf>(stream, byteCount);
  stream << layout.stringTable;
  stream.write_zeros(layout.sections - stream.tell());
  writeSections<Elf>(stream, architecture, byteCount, layout);
  stream.seek(0);
  writeHeader<Elf>(stream, architecture, layout);
}

Error checkBlobs(StringRef name, ArrayRef<WeightBlob> blobs, uint64_t byteCount) {
  uint64_t end = 0;
  for (const auto &[index, blob] : enumerate(blobs)) {
    if (blob.offset < end)
      return support::internalError(formatv("weights of '{0}': blob {1} starts at {2}, expected {3} or more (W1)", name,
                                            index, blob.offset, end));
    end = blob.offset + blob.bytes.size();
    if (end > byteCount || end < blob.offset)
      return support::internalError(
          formatv("weights of '{0}': blob {1} ends at {2}, expected {3} or less (W2)", name, index, end, byteCount));
  }
  return Error::success();
}

Expected<const Architecture *> findArchitecture(const TargetInfo &target) {
  if (const Architecture *architecture = architectureOf(target.code))
    return architecture;
  return createStringError(formatv("target '{0}': no object format for '{1}'", target.name, target.code.triple));
}

Error cannotWrite(StringRef path, std::error_code reason) {
  return createStringError(
      reason, formatv("cannot write weights to '{0}': {1}\nhint: is there room on the disk?", path, reason.message()));
}

} // namespace

Expected<WeightsFile> WeightsFile::create(StringRef path, const TargetInfo &target, WeightsForm form) {
  Expected<const Architecture *> architecture = findArchitecture(target);
  if (!architecture)
    return architecture.takeError();
  std::error_code reason;
  auto stream = std::make_unique<raw_fd_ostream>(path, reason);
  if (reason)
    return cannotWrite(path, reason);
  stream->write_zeros(pageBytes); // reserves space for the header
  return WeightsFile(path, form, **architecture, std::move(stream));
}

WeightsFile::WeightsFile(StringRef path, WeightsForm form, const Architecture &architecture,
                         std::unique_ptr<raw_fd_ostream> stream)
    : path(path), form(form), architecture(&architecture), stream(std::move(stream)) {}

WeightsFile::~WeightsFile() {
  if (!stream)
    return;
  stream->flush();
  stream->clear_error(); // the file is discarded anyway
}

uint64_t WeightsFile::end() const { return stream->tell() - pageBytes; }

void WeightsFile::write(ArrayRef<char> bytes) {
  // The system cannot write pages of a mapped file that have vanished (support/MappedFile.h), so touch them first.
  checksum = runtime::crc32c(bytes.data(), bytes.size(), checksum);
  stream->write(bytes.data(), bytes.size());
}

void WeightsFile::fill(uint64_t offset) {
  static constexpr char zeros[pageBytes] = {};
  while (end() < offset)
    write(ArrayRef(zeros, std::min<uint64_t>(pageBytes, offset - end())));
}

void WeightsFile::finishPacked(uint64_t byteCount) {
  perpend_weights_header header = {};
  std::memcpy(header.magic, PERPEND_WEIGHTS_MAGIC, sizeof header.magic);
  header.bytes = byteCount;
  header.checksum = checksum;
  stream->seek(0);
  writeRaw(*stream, header);
}

void WeightsFile::finishObject(StringRef symbol, uint64_t byteCount) {
  if (!architecture->linksElf()) {
    *stream << wasmDataTrailer(symbol, byteCount, PERPEND_ALIGNMENT);
    stream->seek(0);
    *stream << wasmDataHeader(byteCount, pageBytes);
    return;
  }
  if (architecture->isElf32())
    finishElf<Elf32>(*stream, *architecture, symbol, byteCount);
  else
    finishElf<Elf64>(*stream, *architecture, symbol, byteCount);
}

Expected<WeightsSummary> WeightsFile::finish(StringRef name, uint64_t byteCount) {
  WeightsSummary summary = {.symbol = "perpend_weights_" + name.str(), .byteCount = byteCount};
  if (form == WeightsForm::Object && !architecture->linksElf() && byteCount > mostWasmBytes)
    return createStringError(formatv(
        "the weights of '{0}' have {1} bytes, and a module of WebAssembly holds at most {2}\n"
        "hint: --weights beside writes a file of their own; --precision or a quantised model makes them smaller",
        name, byteCount, mostWasmBytes));
  fill(byteCount);
  summary.checksum = checksum;
  if (form == WeightsForm::Object)
    finishObject(summary.symbol, byteCount);
  else
    finishPacked(byteCount);
  stream->close();
  const std::error_code reason = stream->error();
  stream->clear_error();
  if (reason)
    return cannotWrite(path, reason);
  return summary;
}

Expected<WeightsSummary> writeWeights(StringRef path, StringRef name, ArrayRef<WeightBlob> blobs, uint64_t byteCount,
                                      const TargetInfo &target, WeightsForm form,
                                      function_ref<void(size_t)> afterBlob) {
  if (Error error = checkBlobs(name, blobs, byteCount))
    return std::move(error);
  Expected<WeightsFile> file = WeightsFile::create(path, target, form);
  if (!file)
    return file.takeError();
  for (const auto &[number, blob] : enumerate(blobs)) {
    file->fill(blob.offset);
    file->write(blob.bytes);
    support::forgetPages(blob.bytes.data(), blob.bytes.size());
    afterBlob(number);
  }
  return file->finish(name, byteCount);
}

} // namespace perpend::target
