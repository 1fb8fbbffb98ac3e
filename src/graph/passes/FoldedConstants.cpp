//===- FoldedConstants.cpp - memory of constants that are folded ----------===//

#include "graph/passes/FoldedConstants.h"

#include "support/MappedFile.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace perpend::graph {

static thread_local FoldedConstants *alive = nullptr;

FoldedConstants::FoldedConstants() : previous(std::exchange(alive, this)) {}
FoldedConstants::~FoldedConstants() { alive = previous; }
FoldedConstants *FoldedConstants::current() { return alive; }

static AsmResourceBlob *blobOf(Attribute value) {
  auto resource = dyn_cast<DenseResourceElementsAttr>(value);
  return resource ? resource.getRawHandle().getBlob() : nullptr;
}

static ArrayRef<char> bytesOf(Attribute value) {
  if (AsmResourceBlob *blob = blobOf(value))
    return blob->getData();
  auto dense = dyn_cast<DenseIntOrFPElementsAttr>(value);
  return dense ? dense.getRawData() : ArrayRef<char>();
}

void FoldedConstants::takeOver(ModuleOp module, DenseSet<AsmResourceBlob *> &taken) {
  DenseSet<AsmResourceBlob *> others; // first values of states, assets
  module.walk([&](Operation *op) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      AsmResourceBlob *blob = blobOf(constant.getValue());
      if (blob && !support::placeInFile(blob->getData().data()))
        taken.insert(blob);
    } else {
      op->getAttrDictionary().walk([&](DenseResourceElementsAttr value) { others.insert(blobOf(value)); });
    }
  });
  for (AsmResourceBlob *blob : others)
    taken.erase(blob);
  owned.insert(taken.begin(), taken.end());
}

/// A view of a constant may lie in its memory, and then neither owns it.
void FoldedConstants::note(ArrayRef<Attribute> operands, Attribute result) {
  AsmResourceBlob *made = blobOf(result);
  if (!made)
    return;
  ArrayRef<char> bytes = made->getData();
  bool isOwned = true;
  for (Attribute operand : operands)
    if (ArrayRef<char> other = bytesOf(operand); bytes.begin() < other.end() && other.begin() < bytes.end()) {
      isOwned = false;
      owned.erase(blobOf(operand));
    }
  if (isOwned)
    owned.insert(made);
}

void FoldedConstants::release(ArrayRef<ConstantOp> constants) {
  constexpr size_t leastBytes = 64 << 10;  // smaller ones are not worth looking for others
  constexpr uint64_t mostBytes = 16 << 20; // to copy them takes longer than to look at all constants
  for (ConstantOp constant : constants) {
    AsmResourceBlob *blob = blobOf(constant.getValue());
    if (own(blob) && blob->getData().size() >= leastBytes && constant->use_empty() && unread.insert(blob))
      unreadBytes += blob->getData().size();
  }
  if (unreadBytes >= mostBytes)
    releaseUnread(constants.front()->getParentOfType<ModuleOp>());
}

void FoldedConstants::releaseUnread(ModuleOp module) {
  if (unread.empty())
    return;
  DenseSet<AsmResourceBlob *> read;
  module.walk([&](ConstantOp constant) {
    if (!constant->use_empty())
      read.insert(blobOf(constant.getValue()));
  });
  for (AsmResourceBlob *blob : unread)
    if (own(blob) && !read.contains(blob))
      *blob = AsmResourceBlob();
  unread.clear();
  unreadBytes = 0;
}
} // namespace perpend::graph
