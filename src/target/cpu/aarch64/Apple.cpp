//===- Apple.cpp - processors of AArch64 with macOS -----------------------===//
//
// The processors are those of AArch64.cpp. Objects are Mach-O, for which the compiler has neither a linker nor a
// runtime: that would need the headers of macOS. So a model is one object with a function, as without an operating
// system (docs/decisions/0074-objects-for-macos.md).
//
//===----------------------------------------------------------------------===//
#include "target/Machine.h"
#include "target/cpu/aarch64/AArch64.h"

using namespace llvm;

namespace perpend::target {

/// The first version of macOS for these processors.
constexpr StringLiteral triple = "arm64-apple-macosx11.0.0";
/// Linkers copy nothing of this segment into programs.
constexpr StringLiteral tablesSection = "__DWARF,__perpend_tables,regular,debug";
constexpr StringLiteral weightsSection = "__TEXT,__perpend_const";

/// They lie in the object of the code, whose sections begin and end at offsets of 32 bits.
constexpr uint64_t mostWeightsBytes = uint64_t{1} << 31;

static bool canHave(StringRef, StringRef extension) { return !extension.starts_with("sve"); }

static void describe(Machine &machine, const StringMap<bool> &features) {
  aarch64().describe(machine, features);
  machine.levels = {{"thread", /*count=*/1}};
}

const Architecture &apple() {
  static const Architecture architecture = [] {
    Architecture changed = aarch64();
    changed.name = "arm64-macos";
    changed.triple = triple;
    changed.baseCpu = "apple-m1";
    changed.elfMachine = 0;
    changed.canHave = canHave;
    changed.describe = describe;
    changed.emulation = changed.dynamicLinker = changed.start = changed.libcLacks = "";
    changed.emulator = changed.emulatorFolder = changed.emulatorPackages = "";
    changed.emulatorOptions = nullptr;
    changed.libraryEnding = ".o";
    changed.hasRuntime = changed.hasLinker = false;
    changed.mostWeightsBytes = mostWeightsBytes;
    changed.tablesSection = tablesSection;
    changed.weightsSection = weightsSection;
    return changed;
  }();
  return architecture;
}

} // namespace perpend::target
