//===- LinkScalarCode.cpp - code for the scalar core --------------------------===//
#include "target/accelerator/LinkScalarCode.h"

#include "support/InternalError.h"
#include "target/Link.h"
#include "target/Lld.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace perpend::accelerator {

/// One read-only segment. Kernels keep their numbers on the stack or in buffers, and functions of numbers only read
/// their variables, so there is no data to write.
static std::string scriptText() {
  return formatv(R"(SECTIONS {
  . = {0:x};
  .text : {{ *(.text .text.*) }
  .rodata : {{ *(.rodata .rodata.* .srodata .srodata.* .data.rel.ro .data.rel.ro.* .data .data.* .sdata .sdata.* .got .got.plt) }
  .tbss : {{ *(.tbss .tbss.*) }
  .bss : {{ *(.bss .bss.* .sbss .sbss.* COMMON) }
  ASSERT(SIZEOF(.bss) == 0, "the scalar core has no memory for variables")
  ASSERT(SIZEOF(.tbss) <= 8, "the scalar core has one register for variables of threads")
  /DISCARD/ : {{ *(.eh_frame .comment .riscv.attributes .note*) }
}
)",
                 scalarCodeBase);
}

Expected<ScalarCode> linkScalarCode(ArrayRef<std::string> objects, ArrayRef<std::string> entries, StringRef folder) {
  SmallString<128> script(folder), output(folder);
  sys::path::append(script, "scalar.ld");
  sys::path::append(output, "scalar.elf");
  std::error_code error;
  raw_fd_ostream(script, error) << scriptText();
  if (error)
    return createStringError("cannot write '" + script + "': " + error.message());
  Expected<std::string> archive = target::runtimeFilePath("scalar/libperpend_scalar.a");
  if (!archive)
    return archive.takeError();
  std::vector<std::string> arguments = {
      "-m", "elf64lriscv",      "-static", "--gc-sections",      "--build-id=none", "-e", "0",
      "-T", script.str().str(), "-z",      "max-page-size=4096", "--error-limit=20"};
  for (const std::string &entry : entries)
    arguments.push_back("--undefined=" + entry);
  arguments.insert(arguments.end(), objects.begin(), objects.end());
  arguments.insert(arguments.end(), {*archive, "-o", output.str().str()});
  if (Error failed = target::runLld(arguments, "the code of the scalar core"))
    return std::move(failed);
  auto linked = MemoryBuffer::getFile(output);
  if (!linked)
    return createStringError("cannot read '" + output + "': " + linked.getError().message());
  Expected<ScalarCode> code = readScalarCode(**linked);
  if (!code)
    return code.takeError();
  erase_if(code->entries, [&](const ScalarCode::Entry &entry) { return !is_contained(entries, entry.name); });
  for (const std::string &entry : entries)
    if (!code->find(entry))
      return support::internalError("the scalar code has no function '" + entry + "'");
  return code;
}

} // namespace perpend::accelerator
