//===- KernelIdentity.cpp - identity and name of a kernel -----------------===//

#include "graph/KernelIdentity.h"

#include "graph/Attributes.h"
#include "graph/Graph.h"
#include "graph/KernelSymbols.h"
#include "graph/SubstituteSymbols.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Endian.h"

using namespace mlir;

namespace perpend::graph {

/// Most operators that a name mentions.
static constexpr size_t wordsOfName = 4;
static constexpr size_t digitsOfName = 4;

//===----------------------------------------------------------------------===//
// The hash
//===----------------------------------------------------------------------===//

namespace {
class StructureHasher {
public:
  explicit StructureHasher(func::FuncOp kernel) {
    for (auto [number, name] : llvm::enumerate(symbolsOfKernel(kernel)))
      positions[name] = SymbolicInt::symbol("s" + std::to_string(number));
    addSymbolReplacements(replacer, positions);
    add(kernel.getBody());
  }

  std::string digits() {
    llvm::BLAKE3Result<8> bytes = hasher.final<8>();
    return llvm::toHex(bytes, /*LowerCase=*/true);
  }

private:
  void add(uint64_t number) {
    std::array<uint8_t, 8> bytes;
    llvm::support::endian::write64le(bytes.data(), number);
    hasher.update(bytes);
  }
  void add(StringRef text) {
    add(static_cast<uint64_t>(text.size()));
    hasher.update(text);
  }
  template <typename Printable> void addText(Printable printable) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << printable;
    add(StringRef(text));
  }

  void add(Type type) { addText(replacer.replace(type)); }

  void add(Attribute attribute) {
    if (auto elements = dyn_cast<DenseIntOrFPElementsAttr>(attribute)) {
      add(Type(elements.getType()));
      ArrayRef<char> bytes = elements.getRawData();
      return add(StringRef(bytes.data(), bytes.size()));
    }
    if (auto elements = dyn_cast<DenseResourceElementsAttr>(attribute)) {
      add(Type(elements.getType()));
      AsmResourceBlob *blob = elements.getRawHandle().getBlob();
      ArrayRef<char> bytes = blob ? blob->getData() : ArrayRef<char>();
      return add(StringRef(bytes.data(), bytes.size()));
    }
    addText(replacer.replace(attribute));
  }

  void add(Value defined) {
    numbers.try_emplace(defined, numbers.size());
    add(defined.getType());
  }

  void add(Region &region) {
    add(static_cast<uint64_t>(region.getBlocks().size()));
    for (Block &block : region) {
      add(static_cast<uint64_t>(block.getNumArguments()));
      for (Value argument : block.getArguments())
        add(argument);
      add(static_cast<uint64_t>(block.getOperations().size()));
      for (Operation &op : block)
        add(op);
    }
  }

  void add(Operation &op) {
    add(op.getName().getStringRef());
    add(static_cast<uint64_t>(op.getNumOperands()));
    for (Value operand : op.getOperands())
      add(static_cast<uint64_t>(numbers.lookup(operand)));
    add(static_cast<uint64_t>(op.getAttrs().size()));
    for (NamedAttribute attribute : op.getAttrs()) {
      add(attribute.getName().getValue());
      auto extent = dyn_cast<ExtentOp>(op);
      if (extent && attribute.getName() == extent.getExpressionAttrName())
        add(StringRef(substituted(extent.getExpression(), positions)));
      else
        add(attribute.getValue());
    }
    add(static_cast<uint64_t>(op.getNumResults()));
    for (Value result : op.getResults())
      add(result);
    for (Region &region : op.getRegions())
      add(region);
  }

  llvm::BLAKE3 hasher;
  llvm::StringMap<SymbolicInt> positions;
  AttrTypeReplacer replacer;
  llvm::DenseMap<Value, uint64_t> numbers;
};
} // namespace

std::string structuralHash(func::FuncOp kernel) { return StructureHasher(kernel).digits(); }

//===----------------------------------------------------------------------===//
// The name
//===----------------------------------------------------------------------===//

/// The mnemonic, without the suffix by which arith distinguishes types.
static StringRef wordOf(Operation &op) {
  StringRef word = op.getName().stripDialect();
  if (isa<arith::ArithDialect>(op.getDialect()) && (word.ends_with("f") || word.ends_with("i")))
    return word.drop_back();
  return word;
}

static bool isNamed(Operation &op) {
  return !op.hasTrait<OpTrait::IsTerminator>() && !op.hasTrait<OpTrait::ConstantLike>();
}

/// The operators to name a kernel after: those that compute, represented by their scalar code if they have some,
/// without conversions for storage; views only if there is nothing else.
static SetVector<StringRef> wordsOf(func::FuncOp kernel) {
  SetVector<StringRef> words, views;
  for (Operation &op : kernel.getBody().front()) {
    if (!isNamed(op) || op.hasAttr(computedByUsersAttribute))
      continue;
    auto element = dyn_cast<ElementInterface>(op);
    bool isView = element && element.elementKind() == ElementKind::View;
    bool hasCode = false;
    for (Region &region : op.getRegions())
      for (Operation &scalar : region.getOps())
        if (isNamed(scalar)) {
          words.insert(wordOf(scalar));
          hasCode = true;
        }
    if (!hasCode)
      (isView ? views : words).insert(wordOf(op));
  }
  return words.empty() ? views : words;
}

std::string kernelName(func::FuncOp kernel, StringRef hash) {
  SetVector<StringRef> words = wordsOf(kernel);
  std::string name = llvm::join(words.getArrayRef().take_front(wordsOfName), "_");
  auto module = kernel->getParentOfType<ModuleOp>();
  auto isTaken = [&](const std::string &full) { return module.lookupSymbol(full) != nullptr; };
  size_t digits = digitsOfName;
  while (digits < hash.size() && isTaken(name + "_" + hash.take_front(digits).str()))
    digits *= 2;
  name += "_" + hash.take_front(digits).str();
  std::string full = name;
  for (unsigned number = 2; isTaken(full); ++number)
    full = name + "_" + std::to_string(number);
  return full;
}
} // namespace perpend::graph
