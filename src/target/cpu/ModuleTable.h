//===- ModuleTable.h - the table that a compiled model exports --*- C++ -*-===//
//
// Adds perpend_module_<name>() and the perpend_module it returns
// (runtime/include/perpend_module.h) to the LLVM module of a model.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_CPU_MODULETABLE_H
#define PERPEND_TARGET_CPU_MODULETABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace perpend::target {

/// The symbol of the tables in a shared library or program; of several, the first. No function of a model has this
/// name.
constexpr llvm::StringLiteral tablesSymbol = "perpend_module.tables";

struct ModuleTable {
  std::string name;            ///< an identifier
  bool isMain = true;          ///< found by perpend_module_main, too: the one model of a shared library or a program
  std::string descriptor;      ///< JSON, see perpend_module.h
  std::string tables;          ///< see perpend_tables.h
  std::string weightsSymbol;   ///< empty: no weights, or those of the process
  uint64_t weightsAddress = 0; ///< in the process that makes the artifact for itself; 0: of weightsSymbol
  uint64_t weightsBytes = 0;
  bool areWeightsInFiles = false; ///< which the runtime maps
  size_t entryCount = 1;          ///< whose functions have the names of suffixOfEntry
  std::vector<std::string> texts; ///< constant strings, the first is ""; empty list: no strings, lists or library calls
  bool hasStates = false;
  std::string suffix; ///< suffix of the functions' names
};

/// The names of the functions of all entries, as the phase `lower` makes them.
std::vector<std::string> functionNamesOf(size_t entryCount);

void addModuleTable(llvm::Module &module, const ModuleTable &table);

/// The part of a model that is specific to one of several machines.
struct VariantTable {
  ModuleTable table;
  std::string target;
  std::vector<std::string> isa; ///< instruction sets that the processor must have
};

/// Renames functions by the table's suffix and exposes them, so that tables in another object can refer to them.
void exposeFunctions(llvm::Module &module, const ModuleTable &table);

/// Adds perpend_module_<name>() of a model for several machines: the runtime chooses the first variant that the
/// processor can run (runtime/variants/ChooseVariant.h). The functions are those that exposeFunctions renamed.
void addVariantTables(llvm::Module &module, llvm::ArrayRef<VariantTable> variants);
} // namespace perpend::target

#endif
