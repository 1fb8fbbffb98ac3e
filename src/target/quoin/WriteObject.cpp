//===- WriteObject.cpp - a program as a file -------------------------------===//

#include "target/quoin/ObjectSections.h"

#include "llvm/BinaryFormat/ELF.h"

#include <cstring>

namespace perpend::quoin {
namespace {
struct Section {
  std::string name;
  std::vector<uint8_t> bytes;
  uint32_t nameOffset = 0;
  uint64_t fileOffset = 0;
};

std::vector<uint8_t> metaBytes(const Program &program) {
  ByteWriter writer;
  writer.number(objectVersion);
  writer.number<uint64_t>(program.config.hash());
  writer.text(program.config.name);
  visitConfig(program.config, [&](auto value) { writer.number<uint64_t>(value); });
  writer.number<uint32_t>(program.cores.size());
  writer.number<uint32_t>(program.symbols.size());
  for (const Symbol &symbol : program.symbols) {
    writer.text(symbol.name);
    writer.number(uint8_t(symbol.kind));
    writer.number(uint8_t(symbol.space));
    writer.number(symbol.unit);
    writer.number(symbol.byte);
    writer.number(symbol.sizeBytes);
  }
  writer.number<uint32_t>(program.scalar.entries.size());
  for (const ScalarCode::Entry &entry : program.scalar.entries) {
    writer.text(entry.name);
    writer.number(entry.byte);
  }
  return std::move(writer.bytes);
}

std::vector<uint8_t> dataBytes(const Program &program) {
  ByteWriter writer;
  writer.number<uint32_t>(program.data.size());
  for (const Data &datum : program.data) {
    writer.number(datum.cluster);
    writer.number(datum.byte);
    writer.block(datum.bytes);
  }
  return std::move(writer.bytes);
}

/// The texts, and the instructions that have one: core, index, text.
std::vector<uint8_t> locationBytes(const Program &program) {
  ByteWriter writer;
  writer.number<uint32_t>(program.locations.size());
  for (const std::string &location : program.locations)
    writer.text(location);
  for (uint32_t core = 0; core < program.cores.size(); ++core)
    for (uint32_t index = 0; index < program.cores[core].size(); ++index)
      if (uint32_t location = program.cores[core][index].location; location != noLocation) {
        writer.number(core);
        writer.number(index);
        writer.number(location);
      }
  return std::move(writer.bytes);
}

std::vector<Section> sectionsOf(const Program &program) {
  std::vector<Section> sections;
  sections.push_back({"", {}});
  sections.push_back({metaSection.str(), metaBytes(program)});
  for (size_t core = 0; core < program.cores.size(); ++core) {
    std::vector<uint8_t> bytes;
    for (const Instruction &instruction : program.cores[core])
      encode(instruction, bytes);
    sections.push_back({textSection.str() + std::to_string(core), std::move(bytes)});
  }
  sections.push_back({dataSection.str(), dataBytes(program)});
  sections.push_back({scalarSection.str(), program.scalar.image});
  sections.push_back({locationSection.str(), locationBytes(program)});
  if (!program.tables.empty())
    sections.push_back({tablesSection.str(), {program.tables.begin(), program.tables.end()}});
  return sections;
}

Section nameSection(std::vector<Section> &sections) {
  Section names{".shstrtab", {}};
  for (Section &section : sections) {
    section.nameOffset = names.bytes.size();
    names.bytes.insert(names.bytes.end(), section.name.begin(), section.name.end());
    names.bytes.push_back(0);
  }
  names.nameOffset = names.bytes.size();
  names.bytes.insert(names.bytes.end(), names.name.begin(), names.name.end());
  names.bytes.push_back(0);
  return names;
}

void writeHeader(ByteWriter &writer, uint64_t sectionTable, size_t sections) {
  const uint8_t identity[16] = {
      0x7f, 'E', 'L', 'F', llvm::ELF::ELFCLASS64, llvm::ELF::ELFDATA2LSB, llvm::ELF::EV_CURRENT};
  writer.bytes.insert(writer.bytes.begin(), identity, identity + sizeof(identity));
  writer.number<uint16_t>(llvm::ELF::ET_EXEC);
  writer.number<uint16_t>(llvm::ELF::EM_NONE);
  writer.number<uint32_t>(llvm::ELF::EV_CURRENT);
  writer.number<uint64_t>(0); // entry
  writer.number<uint64_t>(0); // segments
  writer.number<uint64_t>(sectionTable);
  writer.number<uint32_t>(0); // flags
  writer.number<uint16_t>(64);
  writer.number<uint16_t>(0);
  writer.number<uint16_t>(0);
  writer.number<uint16_t>(64);
  writer.number<uint16_t>(sections);
  writer.number<uint16_t>(sections - 1); // the last has the names
}

void writeSectionHeader(ByteWriter &writer, const Section &section) {
  bool isNames = section.name == ".shstrtab";
  writer.number<uint32_t>(section.nameOffset);
  writer.number<uint32_t>(section.name.empty() ? llvm::ELF::SHT_NULL
                          : isNames            ? llvm::ELF::SHT_STRTAB
                                               : llvm::ELF::SHT_PROGBITS);
  writer.number<uint64_t>(0); // flags
  writer.number<uint64_t>(0); // address
  writer.number<uint64_t>(section.fileOffset);
  writer.number<uint64_t>(section.bytes.size());
  writer.number<uint32_t>(0);
  writer.number<uint32_t>(0);
  writer.number<uint64_t>(1); // alignment
  writer.number<uint64_t>(0);
}
} // namespace

std::vector<uint8_t> writeObject(const Program &program) {
  std::vector<Section> sections = sectionsOf(program);
  sections.push_back(nameSection(sections));
  constexpr uint64_t headerBytes = 64;
  uint64_t offset = headerBytes;
  for (Section &section : sections) {
    section.fileOffset = offset;
    offset += section.bytes.size();
  }
  uint64_t sectionTable = (offset + 7) / 8 * 8;
  ByteWriter writer;
  writeHeader(writer, sectionTable, sections.size());
  for (const Section &section : sections)
    writer.bytes.insert(writer.bytes.end(), section.bytes.begin(), section.bytes.end());
  writer.bytes.resize(sectionTable);
  for (const Section &section : sections)
    writeSectionHeader(writer, section);
  return std::move(writer.bytes);
}

} // namespace perpend::quoin
