//===- ScalarCode.cpp - linked code of a scalar core ----------------------===//
#include "target/accelerator/scalar/ScalarCode.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Object/ELF.h"

namespace perpend::accelerator {
namespace {
using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;

llvm::Error malformed(llvm::StringRef name, const llvm::Twine &text) {
  return llvm::createStringError(name + ": " + text);
}

llvm::Error readSegments(const ElfFile &file, ScalarCode &code, llvm::StringRef name) {
  auto headers = file.program_headers();
  if (!headers)
    return headers.takeError();
  for (const auto &header : *headers) {
    if (header.p_type != llvm::ELF::PT_LOAD || header.p_memsz == 0)
      continue;
    uint64_t begin = header.p_vaddr - scalarCodeBase;
    if (header.p_vaddr < scalarCodeBase || begin > maxScalarBytes || header.p_memsz > maxScalarBytes - begin ||
        header.p_filesz > header.p_memsz)
      return malformed(name, "a segment of " + llvm::Twine(uint64_t(header.p_memsz)) + " bytes at " +
                                 llvm::Twine(uint64_t(header.p_vaddr)) + ", expected 16 MiB from " +
                                 llvm::Twine(scalarCodeBase) + "; hint: link with --image-base");
    auto bytes = file.getSegmentContents(header);
    if (!bytes)
      return bytes.takeError();
    if (code.image.size() < begin + header.p_memsz)
      code.image.resize(begin + header.p_memsz);
    std::copy(bytes->begin(), bytes->end(), code.image.begin() + begin);
  }
  return code.image.empty() ? malformed(name, "it has no segment to load") : llvm::Error::success();
}

llvm::Error readEntries(const ElfFile &file, ScalarCode &code) {
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const auto &section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_SYMTAB)
      continue;
    auto symbols = file.symbols(&section);
    auto names = file.getStringTableForSymtab(section);
    if (!symbols)
      return symbols.takeError();
    if (!names)
      return names.takeError();
    for (const auto &symbol : *symbols) {
      uint64_t byte = symbol.st_value - scalarCodeBase;
      if (symbol.getType() != llvm::ELF::STT_FUNC || byte >= code.image.size())
        continue;
      llvm::Expected<llvm::StringRef> name = symbol.getName(*names);
      if (!name)
        return name.takeError();
      code.entries.push_back({name->str(), byte});
    }
  }
  return llvm::Error::success();
}
} // namespace

const ScalarCode::Entry *ScalarCode::find(llvm::StringRef name) const {
  const auto *found = llvm::find_if(llvm::ArrayRef(entries), [&](const Entry &entry) { return entry.name == name; });
  return found == entries.data() + entries.size() ? nullptr : found;
}

llvm::Expected<ScalarCode> readScalarCode(llvm::MemoryBufferRef elf) {
  llvm::StringRef name = elf.getBufferIdentifier();
  auto file = ElfFile::create(elf.getBuffer());
  if (!file)
    return malformed(name, llvm::toString(file.takeError()));
  const auto &header = file->getHeader();
  if (!header.checkMagic() || header.getFileClass() != llvm::ELF::ELFCLASS64 || header.e_machine != llvm::ELF::EM_RISCV)
    return malformed(name, "no ELF file for RISC-V with 64 bits");
  if (header.e_type != llvm::ELF::ET_EXEC)
    return malformed(name, "it is not linked; hint: ld.lld -static --image-base=0x10000000");
  if (header.e_flags & llvm::ELF::EF_RISCV_RVC)
    return malformed(name, "it has compressed instructions; hint: -march=rv64imfd");
  ScalarCode code;
  if (llvm::Error error = readSegments(*file, code, name))
    return std::move(error);
  if (llvm::Error error = readEntries(*file, code))
    return std::move(error);
  return code;
}

} // namespace perpend::accelerator
