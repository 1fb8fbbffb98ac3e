//===- Lld.cpp - The linker as a function ---------------------------------===//
//
// lld keeps one context per process, part of which survives a link, and exits the process on fatal errors unless crash
// recovery is on. This file handles both.
//
//===----------------------------------------------------------------------===//
#include "target/Lld.h"
#include "support/InternalError.h"

#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/FormatVariadic.h"
#include <mutex>
#include <vector>

LLD_HAS_DRIVER(elf)
LLD_HAS_DRIVER(wasm)

using namespace llvm;

namespace perpend::target {

static Error linkError(StringRef product, StringRef report) {
  std::string text;
  SmallVector<StringRef> lines;
  report.split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    if (!line.consume_front("ld.lld: "))
      line.consume_front("wasm-ld: ");
    line.consume_front("error: ");
    text += "\n  " + line.str();
  }
  if (report.contains("undefined symbol"))
    text += "\nhint: an artifact may use the runtime, the libraries it is linked with, and the C library functions "
            "listed in "
            "LibcSymbols.def";
  if (lines.empty())
    text += "\n  the linker failed without a message";
  if (lines.empty() || (report.contains("failed to open") && report.contains("output")))
    text += "\nhint: is there room on the disk?";
  return createStringError(formatv("cannot link '{0}':{1}", product, text));
}

Error runLld(ArrayRef<std::string> arguments, StringRef product, Linker linker) {
  static std::mutex oneAtATime;
  const std::lock_guard<std::mutex> lock(oneAtATime);
  static bool isUsable = true;
  if (!isUsable)
    return support::internalError(formatv("cannot link '{0}': the linker did not recover from an earlier fatal error\n"
                                          "hint: start a new process",
                                          product));
  std::vector<const char *> argv = {linker == Linker::Elf ? "ld.lld" : "wasm-ld", "--threads=1",
                                    "--color-diagnostics=never"};
  // Once an object has mentioned this symbol, lld writes to its place at every later link, whether the symbol is there
  // or its memory has gone with the link: so that each link makes a new one, each mentions it.
  if (linker == Linker::Elf)
    argv.push_back("--undefined=_GLOBAL_OFFSET_TABLE_");
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  std::string report;
  raw_string_ostream stream(report);
  CrashRecoveryContext::Enable();
  const auto restore = make_scope_exit([] { CrashRecoveryContext::Disable(); });
  const lld::Result result =
      lld::lldMain(argv, stream, stream, {{lld::Gnu, &lld::elf::link}, {lld::Wasm, &lld::wasm::link}});
  // After a fatal error the context would remain, and the next link would find its symbols.
  if (!result.canRunAgain)
    isUsable = CrashRecoveryContext().RunSafely([] { lld::CommonLinkerContext::destroy(); });
  return result.retCode == 0 ? Error::success() : linkError(product, report);
}

} // namespace perpend::target
