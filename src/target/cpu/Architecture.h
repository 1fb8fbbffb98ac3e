//===- Architecture.h - what processors of a kind share ---------*- C++ -*-===//
//
// Each architecture is one description: a folder beside this file, and a line in Architecture.cpp. Whatever depends on
// the kind of a processor is asked of it. What is known of one processor is in Machine.h and CodeGenerator.h.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_CPU_ARCHITECTURE_H
#define PERPEND_TARGET_CPU_ARCHITECTURE_H

#include "target/CodeGenerator.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/TargetParser/Triple.h"

namespace perpend::target {

struct Machine;
struct TargetInfo;

/// The instruction behind a name of Machine::functions.
struct InstructionFunction {
  llvm::StringRef name;
  /// On vectors of 4, 8 or 16 lanes.
  llvm::Value *(*emit)(llvm::IRBuilder<> &builder, llvm::ArrayRef<llvm::Value *> operands, unsigned lanes);
};

/// A name for several extensions, all of which it switches on or off.
struct ExtensionGroup {
  llvm::StringRef name; ///< empty: there is none
  llvm::ArrayRef<llvm::StringLiteral> parts;
};

struct AddressRange {
  uint64_t begin, bytes;
};

/// What runs programs for a processor that has no operating system: a board that the emulator knows.
struct Board {
  llvm::StringLiteral cpu;     ///< LLVM's name of the processor
  llvm::StringLiteral machine; ///< the emulator's of the board
  AddressRange vectors, flash, ram;
};

struct Architecture {
  llvm::StringRef name; ///< that of its base level in Targets.def
  llvm::Triple::ArchType type;
  llvm::StringRef triple;
  llvm::StringRef baseCpu; ///< LLVM's name of the base level
  uint16_t elfMachine;     ///< 0: its objects are not ELF
  uint32_t elfFlags;       ///< of object files, beside which the linker takes no others

  // Instruction sets, by LLVM's names.
  llvm::StringRef baseExtension;                  ///< what the base level has, for intrinsics that need it
  llvm::ArrayRef<llvm::StringLiteral> extensions; ///< beyond it; those that the runtime can ask for, in its order
  ExtensionGroup group;                           ///< of extensions that a system may refuse
  llvm::StringRef attributes;                     ///< LLVM's -mattr for all processors, behind a processor's own
  llvm::StringMap<bool> (*featuresOf)(llvm::StringRef cpu);
  /// Switches a feature on or off, with those that this implies.
  void (*setFeature)(llvm::StringRef feature, bool on, llvm::StringMap<bool> &features);
  /// From the features: vectors, registers, units and functions that are one instruction.
  void (*describe)(Machine &machine, const llvm::StringMap<bool> &features);
  /// Whether a processor can have an extension; null: LLVM knows all that have, and any other can be described.
  bool (*canHave)(llvm::StringRef cpu, llvm::StringRef extension);
  /// What makes code for a processor with these features; null: LLVM knows all processors by name, and adds changes.
  CodeGenerator (*codeFor)(llvm::StringRef cpu, const llvm::StringMap<bool> &features);

  // Code.
  llvm::ArrayRef<InstructionFunction> functions;
  llvm::StringRef halfConversions; ///< the extension that converts f16, without which an archive does; empty: all do
  void (*initialise)();            ///< registers LLVM's back end

  // Linking.
  llvm::StringRef emulation;     ///< lld's -m
  llvm::StringRef dynamicLinker; ///< path
  llvm::StringRef start;         ///< assembly of an executable's _start
  uint64_t weightsFlags;         ///< of the section of weights, which may be larger than what code reaches
  unsigned oldestLibc;           ///< the minor version of glibc 2 that was the first for it
  llvm::StringRef libcLacks;     ///< symbols of LibcSymbols.def that its C library lacks, separated by spaces

  // Running artifacts on other machines.
  llvm::StringRef emulator; ///< the program that runs its programs
  /// Its options for a processor with these extensions; null: it has all that are known without.
  std::vector<std::string> (*emulatorOptions)(llvm::ArrayRef<std::string> extensions);
  llvm::StringRef emulatorFolder;            ///< with its C library; empty: it needs none
  llvm::StringRef emulatorPackages;          ///< of Debian
  llvm::StringRef runner = "perpend-runner"; ///< the runtime's program that the emulator starts
  /// Gives functions LLVM's attributes beyond the processor and its features; null: there are none.
  void (*prepareFunction)(llvm::Function &function, const Machine &machine) = nullptr;
  /// Puts instructions of its own in place of LLVM's, after LLVM has optimised the function; null: there are none.
  void (*finishFunction)(llvm::Function &function, const Machine &machine) = nullptr;
  /// False: what runs there compiles code for this machine's processor, so its times say something.
  bool isEmulated = true;

  llvm::StringRef libraryEnding = ".so"; ///< of the names of libraries
  /// How a library holds several machines: a whole one for each, in a file that has common bytes once; otherwise the
  /// functions of each, and tables of all.
  bool joinsLibraries = false;
  uint64_t mostWeightsBytes = UINT64_MAX; ///< that one model can have
  /// What is linked is complete and has fixed addresses, and each byte is sent or stored: weights lie in it, and main
  /// is made small.
  bool isFixed = false;
  /// False: the runtime is not built for it, so a library is one object with a function (BareEntry.h).
  bool hasRuntime = true;
  /// False: the compiler cannot join its objects, so LLVM writes weights to that of the code.
  bool hasLinker = true;
  /// The sections of such an object, by LLVM's names. Programs leave out that of tables.
  llvm::StringRef tablesSection = ".perpend.tables", weightsSection = ".perpend.weights";
  /// One for each processor; empty: programs run on an operating system.
  llvm::ArrayRef<Board> boards = {};
  /// The emulator's options behind the board's, in front of an image; the image's entry.
  llvm::ArrayRef<llvm::StringLiteral> imageOptions = {};
  llvm::StringRef imageEntry = "";

  bool isElf32() const { return linksElf() && !llvm::Triple(triple).isArch64Bit(); }
  bool linksElf() const { return elfMachine != 0; }
  /// Whether its system has a C library that artifacts are linked with when they are loaded.
  bool hasLibcStubs() const { return linksElf() && hasRuntime; }
};

llvm::ArrayRef<const Architecture *> architectures();
/// That of the triple; null if it is none of these.
const Architecture *architectureOf(const CodeGenerator &code);
/// That of an ELF header's e_machine; null if it is none of these.
const Architecture *architectureOfElf(uint16_t elfMachine);
/// Of a processor without an operating system; null: it has one, or none is known that runs it.
const Board *boardOf(const CodeGenerator &code);
/// That of this process; null if it is none of these.
const Architecture *hostArchitecture();
/// The features of a target that its base level has not, which an artifact requires.
std::vector<std::string> extensionsOf(const TargetInfo &target);
/// For errors, such as "x86-64, aarch64".
std::string architectureNames();

} // namespace perpend::target

#endif
