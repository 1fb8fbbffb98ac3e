//===- Overwrites.cpp - results that lie where operands did ---------------===//
#include "target/quoin/compile/Overwrites.h"

#include "llvm/ADT/STLExtras.h"

namespace perpend::quoin {

bool storesEachOnce(const Nest &nest) {
  llvm::SmallVector<std::pair<int64_t, int64_t>, 6> dims; // strides, and extents
  for (auto [loop, stride] : llvm::zip_equal(nest.loops, nest.store.strides)) {
    if (loop.isReduced ? stride != 0 : stride <= 0)
      return false;
    if (!loop.isReduced)
      dims.emplace_back(stride, loop.extent);
  }
  llvm::sort(dims);
  int64_t end = 1; // behind the last element of the loops before
  for (auto [stride, extent] : dims) {
    if (stride < end)
      return false;
    end += stride * (extent - 1);
  }
  return true;
}

static bool reads(const Nest &nest, unsigned buffer) {
  return (nest.rows && nest.rows->table == buffer) || llvm::any_of(nest.nodes, [&](const Node &node) {
           return node.kind == Node::Load && node.access.buffer == buffer;
         });
}

/// Whether a nest, which stores to another buffer, reads one only at the element that it stores.
static bool readsAtStore(const Nest &nest, unsigned buffer) {
  for (auto [number, node] : llvm::enumerate(nest.nodes)) {
    if (node.kind != Node::Load || node.access.buffer != buffer)
      continue;
    const bool isBeforeSum = nest.combine && !nest.isAfterSum(static_cast<unsigned>(number));
    if (isBeforeSum || node.access.base != nest.store.base || node.access.strides != nest.store.strides)
      return false;
  }
  return !(nest.rows && nest.rows->table == buffer);
}

/// The only nest that writes a buffer, or null.
static const Nest *writerOf(llvm::ArrayRef<Nest> nests, unsigned buffer) {
  const Nest *writer = nullptr;
  for (const Nest &nest : nests) {
    if (nest.store.buffer != buffer)
      continue;
    if (writer)
      return nullptr;
    writer = &nest;
  }
  return writer;
}

bool mayOverwrite(const Kernel &kernel, llvm::ArrayRef<Nest> nests, unsigned operand, unsigned result) {
  const Buffer &from = kernel.buffers[operand], &to = kernel.buffers[result];
  const Nest *writer = writerOf(nests, result);
  if (from.elementBytes != to.elementBytes || from.elements != to.elements || !writer || writer->continues ||
      !writer->borders.empty() || writer->rows || !storesEachOnce(*writer) || !readsAtStore(*writer, operand))
    return false;
  return llvm::none_of(nests.drop_front(static_cast<size_t>(writer - nests.begin()) + 1),
                       [&](const Nest &nest) { return reads(nest, operand); });
}

static unsigned resultOf(const Step &step, unsigned output) {
  return static_cast<unsigned>(step.inputs.size()) + output;
}

bool keepsOperands(const Step &step, llvm::ArrayRef<Nest> nests) {
  return llvm::all_of(step.overwrites, [&](const auto &pair) {
    return mayOverwrite(*step.nests, nests, pair.first, resultOf(step, pair.second));
  });
}

bool keepsOperands(const Step &step, const RowChain &chain) {
  auto staysInRows = [&](const Nest &nest, unsigned input, const Nest &writer) {
    return llvm::all_of(nest.nodes, [&](const Node &node) {
      if (node.kind != Node::Load || node.access.buffer != input)
        return true;
      const int64_t along = node.access.strides.back();
      return node.access.base == writer.store.base && (along == 0 || along == writer.store.strides.back()) &&
             llvm::ArrayRef(node.access.strides).drop_back() == llvm::ArrayRef(writer.store.strides).drop_back();
    });
  };
  return llvm::all_of(step.overwrites, [&](const auto &pair) {
    const unsigned result = resultOf(step, pair.second);
    return mayOverwrite(*step.nests, chain.nests, pair.first, result) &&
           llvm::all_of(chain.nests, [&](const Nest &nest) {
             return staysInRows(nest, pair.first, *writerOf(chain.nests, result));
           });
  });
}

} // namespace perpend::quoin
