//===- Intrinsic.cpp - reading the texts of intrinsics --------------------===//

#include "tile/intrinsics/Intrinsic.h"

#include "tile/Attributes.h"
#include "tile/schedule/Nests.h"

#include "target/Intrinsics.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
class Reader {
public:
  explicit Reader(func::FuncOp function) : function(function) { intrinsic.description = function; }

  FailureOr<Intrinsic> run() {
    intrinsic.name = function.getSymName();
    if (function.isDeclaration() || !isDescribed() || !areEntriesRead() || !isImplemented())
      return failure();
    return std::move(intrinsic);
  }

private:
  bool fail(const Twine &message) {
    function.emitError("intrinsic '") << function.getSymName() << "': " << message.str()
                                      << "\nhint: src/tile/intrinsics/Intrinsic.h shows one";
    return false;
  }

  bool isDescribed();
  bool areEntriesRead();
  bool readStrides(Attribute value);
  bool readWhere(Attribute value);
  bool isImplemented();
  std::optional<SymbolicInt> expression(StringRef text, StringRef entry);

  func::FuncOp function;
  Intrinsic intrinsic;
};
} // namespace

/// One block in loops, each access at different iterators of it, on buffers that are arguments.
bool Reader::isDescribed() {
  SmallVector<BlockOp> blocks;
  function.walk([&](BlockOp block) { blocks.push_back(block); });
  if (blocks.size() != 1 || !llvm::all_of(function.getArgumentTypes(), llvm::IsaPred<BufferType>))
    return fail("expected a function on buffers with one block, got " + Twine(blocks.size()) + " blocks");
  intrinsic.block = blocks.front();
  std::string why;
  if (!singleStoreOf(intrinsic.block, why))
    return fail("the block '" + intrinsic.block.getName() + "' cannot be matched: " + why);
  for (const Access &access : accessesIn(intrinsic.block))
    if (!asIterators(intrinsic.block, access))
      return fail("expected each index to be another iterator of the block");
  std::set<std::string> symbols;
  for (Type type : function.getArgumentTypes())
    for (const SymbolicInt &extent : cast<BufferType>(type).extents())
      extent.symbols(symbols);
  for (const SymbolicInt &extent : intrinsic.block.getDomain().values()) {
    std::set<std::string> used;
    extent.symbols(used);
    if (!extent.isConstant() && (used.size() != 1 || extent != SymbolicInt::symbol(*used.begin())))
      return fail("expected extents that are a number or a symbol, got " + extent.str());
  }
  intrinsic.parameters.assign(symbols.begin(), symbols.end());
  return true;
}

std::optional<SymbolicInt> Reader::expression(StringRef text, StringRef entry) {
  std::string error;
  std::optional<SymbolicInt> value = SymbolicInt::parse(text, &error);
  if (!value)
    return fail(entry + ": \"" + text + "\": " + error), std::nullopt;
  std::set<std::string> used;
  value->symbols(used);
  for (const std::string &name : used)
    if (!llvm::is_contained(intrinsic.parameters, name))
      return fail(entry + ": expected some of " + llvm::join(intrinsic.parameters, ", ") + ", got " + name),
             std::nullopt;
  return value;
}

bool Reader::readStrides(Attribute value) {
  auto buffers = dyn_cast<ArrayAttr>(value);
  if (!buffers || buffers.size() != function.getNumArguments())
    return fail("strides: expected a list for each of " + Twine(function.getNumArguments()) + " buffers");
  for (auto [list, type] : llvm::zip(buffers, function.getArgumentTypes())) {
    auto texts = dyn_cast<ArrayAttr>(list);
    if (!texts || texts.size() != cast<BufferType>(type).rank() || !llvm::all_of(texts, llvm::IsaPred<StringAttr>))
      return fail("strides: expected a text for each of " + Twine(cast<BufferType>(type).rank()) + " dimensions");
    auto &strides = intrinsic.strides.emplace_back();
    for (auto text : texts.getAsRange<StringAttr>()) {
      strides.emplace_back();
      if (text != "_" && !(strides.back() = expression(text, "strides")))
        return false;
    }
  }
  return true;
}

bool Reader::readWhere(Attribute value) {
  auto texts = dyn_cast<ArrayAttr>(value);
  if (!texts || !llvm::all_of(texts, llvm::IsaPred<StringAttr>))
    return fail("where: expected a list of texts");
  for (auto text : texts.getAsRange<StringAttr>()) {
    auto [left, right] = text.getValue().split("<=");
    std::optional<SymbolicInt> least = expression(left, "where");
    std::optional<SymbolicInt> most = least ? expression(right, "where") : std::nullopt;
    if (!most)
      return false;
    intrinsic.where.append({*least, *most});
  }
  return true;
}

bool Reader::areEntriesRead() {
  auto entries = function->getAttrOfType<DictionaryAttr>(intrinsicAttribute);
  if (!entries || !entries.get("strides"))
    return fail("expected the attribute tile.intrinsic with strides");
  for (NamedAttribute entry : entries) {
    StringRef name = entry.getName();
    auto text = dyn_cast<StringAttr>(entry.getValue());
    if (name == "strides" || name == "where") {
      if (!(name == "strides" ? readStrides(entry.getValue()) : readWhere(entry.getValue())))
        return false;
    } else if (name == "emitter" && text) {
      intrinsic.emitter = text.str();
    } else {
      return fail("'" + name + "' is no entry, or has a value of another kind: expected strides, where and emitter");
    }
  }
  return true;
}

bool Reader::isImplemented() {
  if (!isIntrinsicEmitter(intrinsic.emitter))
    return fail("expected one of the emitters " + intrinsicEmitterNames() + ", got '" + intrinsic.emitter + "'");
  return true;
}

FailureOr<Intrinsic> perpend::tile::readIntrinsic(func::FuncOp description) { return Reader(description).run(); }

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

IntrinsicLibrary &IntrinsicLibrary::of(MLIRContext *context) {
  auto *dialect = context->getLoadedDialect<TileDialect>();
  if (!dialect->intrinsics) {
    dialect->intrinsics = std::make_shared<IntrinsicLibrary>(context);
    for (const target::IntrinsicText &text : target::intrinsicTexts())
      if (failed(dialect->intrinsics->add(text.file, text.text)))
        llvm::report_fatal_error("perpend bug: an intrinsic of the compiler cannot be read");
  }
  return *dialect->intrinsics;
}

LogicalResult IntrinsicLibrary::add(StringRef file, StringRef text) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context, file);
  if (!module)
    return failure();
  SmallVector<std::unique_ptr<Intrinsic>> read;
  for (auto function : module->getOps<func::FuncOp>()) {
    if (!function->hasAttr(intrinsicAttribute))
      continue;
    FailureOr<Intrinsic> intrinsic = readIntrinsic(function);
    if (failed(intrinsic))
      return failure();
    if (find(intrinsic->name))
      return function.emitError("intrinsic '") << intrinsic->name << "': there is one of this name already";
    read.push_back(std::make_unique<Intrinsic>(std::move(*intrinsic)));
  }
  if (read.empty())
    return module->emitError("expected a function with the attribute tile.intrinsic\n"
                             "hint: src/tile/intrinsics/Intrinsic.h shows one");
  texts.push_back(std::move(module));
  llvm::move(read, std::back_inserter(intrinsics));
  return success();
}

const Intrinsic *IntrinsicLibrary::find(StringRef name) const {
  for (const std::unique_ptr<Intrinsic> &intrinsic : intrinsics)
    if (intrinsic->name == name)
      return intrinsic.get();
  return nullptr;
}
