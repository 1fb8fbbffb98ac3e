// Caches of operations on symbolic integers.
#ifndef PERPEND_SUPPORT_SYMBOLICINTCACHE_H
#define PERPEND_SUPPORT_SYMBOLICINTCACHE_H

#include "support/SymbolicInt.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <vector>

namespace perpend::support {

/// Caches results of whole operations, because loop analyses repeat the same ones. Keeps the latest for each of 4096
/// hashes.
class OperationCache {
public:
  /// For results with rewriting rules.
  static OperationCache &ofThread() {
    static thread_local OperationCache cache;
    return cache;
  }

  /// For results without rewriting.
  static OperationCache &exactOfThread() {
    static thread_local OperationCache cache;
    return cache;
  }

  SymbolicInt find(SymbolicAtomKind kind, llvm::ArrayRef<SymbolicInt> operands,
                   llvm::function_ref<SymbolicInt()> compute) {
    size_t hash = llvm::hash_combine(kind, llvm::hash_combine_range(operands.begin(), operands.end()));
    Entry &entry = entries[hash % entries.size()];
    if (entry.kind == kind && operands == llvm::ArrayRef(entry.operands))
      return entry.result;
    SymbolicInt result = compute();
    entry = {kind, {operands.begin(), operands.end()}, result};
    return result;
  }

private:
  struct Entry {
    SymbolicAtomKind kind = SymbolicAtomKind::Symbol;
    llvm::SmallVector<SymbolicInt, 2> operands;
    SymbolicInt result;
  };
  std::vector<Entry> entries = std::vector<Entry>(4096);
};

} // namespace perpend::support

#endif // PERPEND_SUPPORT_SYMBOLICINTCACHE_H
