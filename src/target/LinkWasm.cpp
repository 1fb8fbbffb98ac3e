//===- LinkWasm.cpp - Objects to modules of WebAssembly -------------------===//
//
// Objects follow the tool conventions of WebAssembly (Linking.md): sections with their size in front, data with a table
// of symbols behind.
//
//===----------------------------------------------------------------------===//
#include "target/LinkWasm.h"
#include "target/Lld.h"
#include "target/ScratchDirectory.h"
#include "target/WasmVariants.h"
#include "target/cpu/Architecture.h"
#include "target/cpu/ModuleTable.h"

#include "llvm/BinaryFormat/Wasm.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/LEB128.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace perpend::target {
namespace {

constexpr StringLiteral exportedFunctions[] = {
#define PERPEND_EXPORT(name) #name,
#include "runtime/wasm/Exports.def"
};

/// The C library, what code asks of the compiler (128-bit products), and parts of the C++ library.
constexpr StringLiteral systemArchives[] = {"libc.a", "libclang_rt.builtins.a", "libc++.a"};

/// Below the data, so that a stack that overflows traps. Kernels keep their tiles there.
constexpr StringLiteral stackBytes = "1048576";
/// All pages but one: the end of memory is an address.
constexpr StringLiteral mostMemoryBytes = "4294901760";

constexpr unsigned lebBytes = 5; ///< of numbers written before they are known, padded

std::string leb(uint64_t value, unsigned padding = 0) {
  std::string text;
  raw_string_ostream stream(text);
  encodeULEB128(value, stream, padding);
  return text;
}

std::string sized(StringRef bytes) { return leb(bytes.size()) + bytes.str(); }

std::string section(uint8_t id, StringRef content) { return std::string(1, char(id)) + sized(content); }

/// Objects take their memory from the module.
std::string importedMemory() {
  return leb(1) + sized("env") + sized("__linear_memory") + char(wasm::WASM_EXTERNAL_MEMORY) + leb(0) + leb(0);
}

} // namespace

std::string wasmDataHeader(uint64_t byteCount, uint64_t headerBytes) {
  std::string start(wasm::WasmMagic, sizeof wasm::WasmMagic);
  start += std::string("\1\0\0\0", 4);
  start += section(wasm::WASM_SEC_IMPORT, importedMemory());
  const std::string segment = leb(1) + leb(0) + char(wasm::WASM_OPCODE_I32_CONST) + leb(0) +
                              char(wasm::WASM_OPCODE_END) + leb(byteCount, lebBytes);
  const std::string data =
      std::string(1, char(wasm::WASM_SEC_DATA)) + leb(segment.size() + byteCount, lebBytes) + segment;
  // A section without meaning fills the space; of this name, the linker drops it with --strip-all.
  const uint64_t frame = 1 + lebBytes, filler = headerBytes - start.size() - frame - data.size();
  std::string content = sized(".debug_room");
  content.resize(filler, '\0');
  return start + char(wasm::WASM_SEC_CUSTOM) + leb(content.size(), lebBytes) + content + data;
}

std::string wasmDataTrailer(StringRef symbol, uint64_t byteCount, uint64_t alignment) {
  const std::string symbols = leb(1) + char(wasm::WASM_SYMBOL_TYPE_DATA) + leb(wasm::WASM_SYMBOL_VISIBILITY_HIDDEN) +
                              sized(symbol) + leb(0) + leb(0) + leb(byteCount);
  const std::string segments = leb(1) + sized(".rodata.weights") + leb(Log2_64(alignment)) + leb(0);
  return section(wasm::WASM_SEC_CUSTOM, sized("linking") + leb(wasm::WasmMetadataVersion) +
                                            section(wasm::WASM_SYMBOL_TABLE, symbols) +
                                            section(wasm::WASM_SEGMENT_INFO, segments));
}

Error linkWasmModule(const LinkRequest &request, const TargetInfo &target) {
  Expected<ScratchDirectory> scratch = ScratchDirectory::createBeside(request.output);
  if (!scratch)
    return scratch.takeError();
  std::vector<std::string> arguments = {"--no-entry",
                                        "--gc-sections",
                                        "--stack-first",
                                        "-z",
                                        "stack-size=" + stackBytes.str(),
                                        "--max-memory=" + mostMemoryBytes.str(),
                                        "--error-limit=20",
                                        "-O2",
                                        "--export-if-defined=" + tablesSymbol.str()};
  if (request.strip)
    arguments.push_back("--strip-all");
  for (StringRef name : exportedFunctions)
    arguments.push_back(("--export-if-defined=" + name).str());
  arguments.insert(arguments.end(), request.objects.begin(), request.objects.end());
  arguments.insert(arguments.end(), request.lazyArchives.begin(), request.lazyArchives.end());
  arguments.push_back("--whole-archive");
  arguments.insert(arguments.end(), request.archives.begin(), request.archives.end());
  arguments.push_back("--no-whole-archive");
  for (StringRef name : systemArchives) {
    Expected<std::string> path = runtimeArchivePath(target, name);
    if (!path)
      return path.takeError();
    arguments.push_back(*path);
  }
  const std::string unfinished = scratch->pathOf("output");
  arguments.insert(arguments.end(), {"-o", unfinished});
  if (Error error = runLld(arguments, request.output, Linker::Wasm))
    return error;
  if (const std::vector<std::string> needs = extensionsOf(target); !needs.empty()) {
    std::error_code failed;
    raw_fd_ostream stream(unfinished, failed, sys::fs::CD_OpenExisting, sys::fs::FA_Write, sys::fs::OF_Append);
    stream << sectionsOfNeeds(needs);
    stream.close();
    if (stream.has_error())
      return createStringError(formatv("cannot write '{0}': {1}", request.output, stream.error().message()));
  }
  return moveIntoPlace(unfinished, request.output);
}

} // namespace perpend::target
