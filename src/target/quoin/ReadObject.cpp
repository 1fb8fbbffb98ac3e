//===- ReadObject.cpp - a program from a file ------------------------------===//

#include "target/quoin/ObjectSections.h"

#include "llvm/Object/ELF.h"

namespace perpend::quoin {
namespace {
using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;

llvm::Error malformed(llvm::StringRef name, const llvm::Twine &text) {
  return llvm::createStringError(name + ": " + text +
                                 "\nhint: the file is not whole, or of another version; make it again");
}

bool readConfig(ByteReader &reader, Config &config) {
  uint64_t hash = reader.number<uint64_t>();
  config.name = reader.text();
  bool fits = true;
  visitConfig(config, [&](auto &value) {
    uint64_t number = reader.number<uint64_t>();
    value = number;
    fits &= value == number;
  });
  return fits && !reader.failed && config.hash() == hash && config.problem().empty();
}

llvm::Error readMeta(llvm::ArrayRef<uint8_t> bytes, Program &program, llvm::StringRef name) {
  ByteReader reader(bytes);
  if (uint32_t version = reader.number<uint32_t>(); version != objectVersion)
    return malformed(name, ".qn.meta has version " + llvm::Twine(version) + ", expected " + llvm::Twine(objectVersion));
  if (!readConfig(reader, program.config))
    return malformed(name, ".qn.meta: the configuration is not one, or its checksum is wrong");
  uint32_t cores = reader.number<uint32_t>();
  if (cores > program.config.numCores())
    return malformed(name,
                     ".qn.meta has " + llvm::Twine(cores) + " cores of " + llvm::Twine(program.config.numCores()));
  program.cores.resize(cores);
  program.symbols.resize(reader.count(23));
  for (Symbol &symbol : program.symbols) {
    symbol.name = reader.text();
    symbol.kind = Symbol::Kind(reader.number<uint8_t>());
    symbol.space = Space(reader.number<uint8_t>());
    symbol.unit = reader.number<uint8_t>();
    symbol.byte = reader.number<uint64_t>();
    symbol.sizeBytes = reader.number<uint64_t>();
    if (symbol.kind > Symbol::Kind::Scratch || symbol.space > Space::L1)
      return malformed(name, ".qn.meta: symbol '" + symbol.name + "' is of no kind or lies in no memory");
  }
  program.scalar.entries.resize(reader.count(12));
  for (ScalarCode::Entry &entry : program.scalar.entries) {
    entry.name = reader.text();
    entry.byte = reader.number<uint64_t>();
  }
  return reader.failed || !reader.atEnd() ? malformed(name, ".qn.meta ends too early or too late")
                                          : llvm::Error::success();
}

llvm::Error readData(llvm::ArrayRef<uint8_t> bytes, Program &program, llvm::StringRef name) {
  ByteReader reader(bytes);
  program.data.resize(reader.count(13));
  for (Data &datum : program.data) {
    datum.cluster = reader.number<uint8_t>();
    datum.byte = reader.number<uint64_t>();
    datum.bytes = reader.block().vec();
  }
  return reader.failed || !reader.atEnd() ? malformed(name, ".qn.data ends too early or too late")
                                          : llvm::Error::success();
}

llvm::Error readText(llvm::ArrayRef<uint8_t> bytes, unsigned core, Program &program, llvm::StringRef name) {
  while (!bytes.empty()) {
    llvm::Expected<Instruction> instruction = decode(bytes);
    if (!instruction)
      return malformed(name, ".qn.text." + llvm::Twine(core) + ", instruction " +
                                 llvm::Twine(program.cores[core].size()) + ": " +
                                 llvm::toString(instruction.takeError()));
    program.cores[core].push_back(std::move(*instruction));
  }
  return llvm::Error::success();
}

llvm::Error readLocations(llvm::ArrayRef<uint8_t> bytes, Program &program, llvm::StringRef name) {
  ByteReader reader(bytes);
  program.locations.resize(reader.count(4));
  for (std::string &location : program.locations)
    location = reader.text();
  while (!reader.atEnd() && !reader.failed) {
    uint32_t core = reader.number<uint32_t>(), index = reader.number<uint32_t>(), location = reader.number<uint32_t>();
    if (core >= program.cores.size() || index >= program.cores[core].size() || location >= program.locations.size())
      return malformed(name, ".qn.loc names instruction " + llvm::Twine(index) + " of core " + llvm::Twine(core) +
                                 ", or text " + llvm::Twine(location) + ", which does not exist");
    program.cores[core][index].location = location;
  }
  return reader.failed ? malformed(name, ".qn.loc ends too early") : llvm::Error::success();
}

using Sections = std::vector<std::pair<std::string, llvm::ArrayRef<uint8_t>>>;

llvm::Expected<Sections> sectionsOf(const ElfFile &file) {
  Sections found;
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const auto &section : *sections) {
    if (section.sh_type == llvm::ELF::SHT_NULL)
      continue;
    llvm::Expected<llvm::StringRef> name = file.getSectionName(section);
    if (!name)
      return name.takeError();
    auto bytes = file.getSectionContents(section);
    if (!bytes)
      return bytes.takeError();
    found.emplace_back(name->str(), *bytes);
  }
  return found;
}

/// The section of that name; null if there is none.
const llvm::ArrayRef<uint8_t> *sectionNamed(const Sections &sections, llvm::StringRef name) {
  for (const auto &[each, bytes] : sections)
    if (each == name)
      return &bytes;
  return nullptr;
}

llvm::Error readSections(const Sections &sections, Program &program, llvm::StringRef name) {
  const llvm::ArrayRef<uint8_t> *meta = sectionNamed(sections, metaSection);
  if (!meta)
    return malformed(name, "section .qn.meta is missing");
  if (llvm::Error error = readMeta(*meta, program, name))
    return error;
  for (unsigned core = 0; core < program.cores.size(); ++core) {
    const llvm::ArrayRef<uint8_t> *text = sectionNamed(sections, textSection.str() + std::to_string(core));
    if (!text)
      return malformed(name, "section .qn.text." + llvm::Twine(core) + " is missing");
    if (llvm::Error error = readText(*text, core, program, name))
      return error;
  }
  if (const llvm::ArrayRef<uint8_t> *data = sectionNamed(sections, dataSection))
    if (llvm::Error error = readData(*data, program, name))
      return error;
  if (const llvm::ArrayRef<uint8_t> *code = sectionNamed(sections, scalarSection))
    program.scalar.image = code->vec();
  if (const llvm::ArrayRef<uint8_t> *tables = sectionNamed(sections, tablesSection))
    program.tables.assign(tables->begin(), tables->end());
  if (const llvm::ArrayRef<uint8_t> *locations = sectionNamed(sections, locationSection))
    return readLocations(*locations, program, name);
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Program> readObject(llvm::MemoryBufferRef buffer) {
  llvm::StringRef name = buffer.getBufferIdentifier();
  auto file = ElfFile::create(buffer.getBuffer());
  if (!file)
    return malformed(name, llvm::toString(file.takeError()));
  const auto &header = file->getHeader();
  if (!header.checkMagic() || header.getFileClass() != llvm::ELF::ELFCLASS64 ||
      header.getDataEncoding() != llvm::ELF::ELFDATA2LSB)
    return malformed(name, "no ELF file of 64 bits, little-endian");
  if (header.e_machine != llvm::ELF::EM_NONE)
    return malformed(name, "machine " + llvm::Twine(uint16_t(header.e_machine)) + ", expected EM_NONE");
  llvm::Expected<Sections> sections = sectionsOf(*file);
  if (!sections)
    return malformed(name, llvm::toString(sections.takeError()));
  Program program;
  if (llvm::Error error = readSections(*sections, program, name))
    return std::move(error);
  if (std::string problem = check(program); !problem.empty())
    return malformed(name, problem);
  return program;
}

} // namespace perpend::quoin
