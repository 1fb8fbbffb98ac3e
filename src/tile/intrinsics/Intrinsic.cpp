//===- Intrinsic.cpp - parses intrinsics ----------------------------------===//

#include "tile/intrinsics/Intrinsic.h"

#include "graph/ElementTypes.h"
#include "graph/ErrorKind.h"
#include "target/IntrinsicTexts.h"
#include "tile/Attributes.h"
#include "tile/intrinsics/Emitters.h"
#include "tile/intrinsics/Words.h"
#include "tile/kernel/KernelEmitter.h"
#include "tile/schedule/Nests.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

static constexpr StringLiteral usualHint = "docs/howto/add-an-intrinsic.md shows one";

namespace {
class Reader {
public:
  Reader(func::FuncOp function, const target::Machine *target, bool needsCode)
      : function(function), target(target), needsCode(needsCode) {
    intrinsic.description = function;
  }

  FailureOr<Intrinsic> run() {
    intrinsic.name = function.getSymName();
    if (!isNest() || !isDescribed() || !areEntriesRead())
      return failure();
    intrinsic.panels = PanelLayout::of(intrinsic);
    intrinsic.groups = GroupLayout::of(intrinsic);
    if (!areSteps() || !isImplemented())
      return failure();
    warnIfUnknown();
    return std::move(intrinsic);
  }

private:
  bool fail(const Twine &message, Operation *at = nullptr, StringRef hint = usualHint) {
    (at ? at : function.getOperation())->emitError("intrinsic '")
        << function.getSymName() << "': " << message.str() << graph::Hint(hint);
    return false;
  }
  bool isEntry(StringRef name, Attribute value);
  void warnIfUnknown();

  // What it computes
  bool isNest();
  bool isDescribed();
  bool isAccessDescribed(const Access &access);
  bool isBodyDescribed();
  // The attribute
  bool areEntriesRead();
  bool readStrides(Attribute value);
  bool readWhere(Attribute value);
  bool readStep(Attribute value);
  bool readTiles(DictionaryAttr entries);
  bool readTileCode(DictionaryAttr entries, StringRef name, ArrayRef<Type> arguments, Intrinsic::Code &code);
  bool readFeatures(Attribute value, Features &features);
  bool readObjects(ArrayAttr texts);
  bool readFeatureList(ArrayAttr texts, Features &features);
  std::optional<SymbolicInt> expression(StringRef text, StringRef entry, ArrayRef<std::string> others = {});
  // How it is computed
  bool isImplemented();
  bool isImplementation();
  /// Two numbers of 16 bits in the place of one of 32.
  VectorType shortSums(int64_t lanes);
  FunctionType typeOfStep(const Intrinsic::Step &step, int64_t lanes, bool isFolded);
  bool areSteps();
  bool hasType(func::FuncOp code, StringRef what, FunctionType expected);

  func::FuncOp function;
  const target::Machine *target;
  bool needsCode;
  Intrinsic intrinsic;
};
} // namespace

//===----------------------------------------------------------------------===//
// What it computes
//===----------------------------------------------------------------------===//

/// The body consists of loops around one block, on buffers that are arguments, and nothing else.
bool Reader::isNest() {
  SmallVector<BlockOp> blocks;
  function.walk([&](BlockOp block) { blocks.push_back(block); });
  bool isOnBuffers = llvm::all_of(function.getArgumentTypes(), llvm::IsaPred<BufferType>);
  if (function.isDeclaration() || blocks.size() != 1 || !isOnBuffers || function.getNumResults() != 0)
    return fail("expected a function on buffers with one block, got " + Twine(blocks.size()) + " blocks");
  intrinsic.block = blocks.front();
  std::string why;
  Block &body = function.getBody().front();
  bool isAlone = function.getBody().hasOneBlock() && llvm::hasSingleElement(body.without_terminator());
  if (!isAlone || !loopsOfIterators(intrinsic.block, why) || nestOf(intrinsic.block) != &body.front() ||
      !intrinsic.block.getConditions().values().empty())
    return fail("expected nothing but a loop for each iterator, of its extent, around the block '" +
                    intrinsic.block.getName() + "'",
                intrinsic.block);
  return true;
}

/// A file may describe intrinsics of several machines, so a unit or a memory that neither the target nor a device has
/// is no error, as little as a feature. The warning finds misspelt names.
void Reader::warnIfUnknown() {
  auto lacks = [&](const target::Machine &machine) { return !intrinsic.missingPartOn(machine).empty(); };
  if (target && lacks(*target) && llvm::all_of(target->devices, lacks))
    function.emitWarning("intrinsic '") << intrinsic.name << "' is not used: the target has no "
                                        << intrinsic.missingPartOn(*target);
}

/// Each index is a different iterator whose extent is that of the dimension.
bool Reader::isAccessDescribed(const Access &access) {
  std::optional<SmallVector<unsigned>> iterators = asIterators(intrinsic.block, access);
  if (!isa<BlockArgument>(access.buffer()) || !iterators)
    return fail("expected each index to be another iterator of the block", access.op);
  Shape extents = cast<BufferType>(access.buffer().getType()).extents();
  for (auto [iterator, extent] : llvm::zip(*iterators, extents))
    if (intrinsic.block.getDomain().values()[iterator] != extent)
      return fail("expected an iterator in " + extent.str() + " as the index of that dimension, got one in " +
                      intrinsic.block.getDomain().values()[iterator].str(),
                  access.op);
  return true;
}

/// The block has scalar operations, one store to the last buffer, and possibly one in its init.
bool Reader::isBodyDescribed() {
  Value last = function.getArguments().back();
  auto storesOnce = [&](Block &body) {
    auto stores = body.getOps<StoreOp>();
    return llvm::hasSingleElement(stores) && (*stores.begin()).getBuffer() == last;
  };
  InitOp init = intrinsic.block.init();
  if (!storesOnce(*intrinsic.block.body()) || (init && !storesOnce(init.getRegion().front())))
    return fail("expected one store in the block, and one in its init, of the last buffer", intrinsic.block);
  WalkResult result = intrinsic.block.walk([&](Operation *op) {
    bool isScalar = isa<BlockOp, InitOp, LoadOp, StoreOp>(op) ||
                    (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) && op->getNumRegions() == 0);
    return isScalar
               ? WalkResult::advance()
               : (fail("'" + op->getName().getStringRef() + "' is no scalar operation", op), WalkResult::interrupt());
  });
  return !result.wasInterrupted();
}

bool Reader::isDescribed() {
  std::string why;
  if (!singleStoreOf(intrinsic.block, why))
    return fail("the block '" + intrinsic.block.getName() + "' cannot be matched: " + why, intrinsic.block);
  llvm::SmallPtrSet<Value, 4> used;
  for (const Access &access : accessesIn(intrinsic.block)) {
    if (!isAccessDescribed(access))
      return false;
    used.insert(access.buffer());
  }
  if (used.size() != function.getNumArguments())
    return fail("expected every buffer to be read or written");
  std::set<std::string> symbols;
  for (const SymbolicInt &extent : intrinsic.block.getDomain().values()) {
    std::set<std::string> names;
    extent.symbols(names);
    if (!extent.isConstant() && (names.size() != 1 || extent != SymbolicInt::symbol(*names.begin())))
      return fail("expected extents that are a number or a symbol, got " + extent.str());
    symbols.insert(names.begin(), names.end());
  }
  std::set<std::string> ofBuffers;
  for (Type type : function.getArgumentTypes())
    for (const SymbolicInt &extent : cast<BufferType>(type).extents())
      extent.symbols(ofBuffers);
  if (symbols != ofBuffers)
    return fail("expected every symbol to be an extent of a buffer");
  intrinsic.parameters.assign(symbols.begin(), symbols.end());
  return isBodyDescribed();
}

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

std::optional<SymbolicInt> Reader::expression(StringRef text, StringRef entry, ArrayRef<std::string> others) {
  std::string error;
  std::optional<SymbolicInt> value = SymbolicInt::parse(text, &error);
  if (!value || value->isPoison())
    return fail(entry + ": \"" + text + "\": " + (value ? "too long" : error)), std::nullopt;
  SmallVector<std::string> known(intrinsic.parameters);
  known.append(others.begin(), others.end());
  std::set<std::string> used;
  value->symbols(used);
  for (const std::string &name : used)
    if (!llvm::is_contained(known, name))
      return fail(entry + ": unknown name '" + name + "', expected one of " + llvm::join(known, ", ")), std::nullopt;
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

bool Reader::readFeatures(Attribute value, Features &features) {
  auto list = dyn_cast<ArrayAttr>(value);
  if (list && !list.empty() && llvm::all_of(list, llvm::IsaPred<ArrayAttr>))
    return llvm::all_of(list, [&](Attribute one) { return readFeatureList(cast<ArrayAttr>(one), features); });
  return list ? readFeatureList(list, features) : fail("features: expected a list");
}

/// All features of a list are required.
bool Reader::readFeatureList(ArrayAttr texts, Features &features) {
  auto &needed = features.emplace_back();
  for (Attribute entry : texts) {
    auto text = dyn_cast<StringAttr>(entry);
    if (!text)
      return fail("features: expected a list of texts, or of lists of texts");
    bool isOfTarget = target && target->hasFeature(text.getValue());
    if (llvm::Error error = isOfTarget ? llvm::Error::success() : target::checkFeature(text.getValue())) {
      std::string all = llvm::toString(std::move(error));
      auto [message, hint] = StringRef(all).split("\nhint: ");
      return fail("features: " + message, nullptr, hint);
    }
    needed.push_back(text.str());
  }
  return true;
}

/// Files, relative to the folder of this file.
bool Reader::readObjects(ArrayAttr texts) {
  StringRef file;
  if (auto place = function.getLoc()->findInstanceOf<FileLineColLoc>())
    file = place.getFilename().getValue();
  for (Attribute entry : texts) {
    auto text = dyn_cast<StringAttr>(entry);
    if (!text || text.empty() || text.getValue().contains('\0'))
      return fail("objects: expected a list of paths of object files and archives");
    llvm::SmallString<256> path(text.getValue());
    if (llvm::sys::path::is_relative(path)) {
      path = llvm::sys::path::parent_path(file);
      llvm::sys::path::append(path, text.getValue());
    }
    intrinsic.objects.push_back(path.str().str());
  }
  return true;
}

/// The function with a body that an attribute names in this text; null if there is none.
static func::FuncOp codeNamed(Attribute value, func::FuncOp description) {
  auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(value);
  auto code = symbol ? description->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(symbol.getValue()) : nullptr;
  return code && !code.isDeclaration() ? code : nullptr;
}

bool Reader::readTileCode(DictionaryAttr entries, StringRef name, ArrayRef<Type> arguments, Intrinsic::Code &code) {
  code.code = codeNamed(entries.get(name), function);
  return (code.code && code.code.getFunctionType() == FunctionType::get(function.getContext(), arguments, {})) ||
         fail("tiles: expected " + name + ", the name of a function of this text with the right arguments");
}

bool Reader::readTiles(DictionaryAttr entries) {
  intrinsic.tiles = Intrinsic::Tiles();
  Intrinsic::Tiles &tiles = *intrinsic.tiles;
  auto rows = entries.getAs<IntegerAttr>("rows"), columns = entries.getAs<IntegerAttr>("columns");
  if (!rows || !columns || rows.getInt() < 1 || columns.getInt() < 1)
    return fail("tiles: expected rows and columns, which are numbers");
  tiles.rows = rows.getInt();
  tiles.columns = columns.getInt();
  Builder builder(function.getContext());
  Type number = builder.getI8Type(), memory = LLVM::LLVMPointerType::get(function.getContext());
  SmallVector<Type> move{number, memory, builder.getI64Type()};
  return readTileCode(entries, "configure", {number, number}, tiles.configure) &&
         readTileCode(entries, "release", {}, tiles.release) && readTileCode(entries, "zero", number, tiles.zero) &&
         readTileCode(entries, "load", move, tiles.load) && readTileCode(entries, "store", move, tiles.store) &&
         readTileCode(entries, "multiply", {number, number, number}, tiles.multiply);
}

bool Reader::readStep(Attribute value) {
  func::FuncOp code = codeNamed(value, function);
  if (!code || !code.getBody().hasOneBlock()) {
    std::string got;
    llvm::raw_string_ostream(got) << value;
    return fail("steps: expected names of functions of this text, with a body of one block, got " + got);
  }
  Attribute features = code->getAttr(featuresAttribute), fold = code->getAttr(foldAttribute);
  Intrinsic::Step &step = intrinsic.steps.emplace_back(Intrinsic::Step{{code}, {}, {}});
  step.fold.code = codeNamed(fold, function);
  if (fold && !(step.fold.code && step.fold.code.getBody().hasOneBlock()))
    return fail(foldAttribute + ": expected the name of a function of this text, with a body of one block", code);
  return !features || readFeatures(features, step.features);
}

bool Reader::isEntry(StringRef name, Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  if (name == "strides")
    return readStrides(value);
  if (name == "where")
    return readWhere(value);
  if (name == "unit" && text) {
    intrinsic.unit = text.str();
    return true;
  }
  if (name == "features")
    return readFeatures(value, intrinsic.features);
  if (name == "cycles" && text) {
    intrinsic.cycles = expression(text, "cycles", {"lanes", "fmas", "word"});
    return intrinsic.cycles.has_value();
  }
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(value); name == "implementation" && symbol) {
    intrinsic.implementation = function->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(symbol.getValue());
    return intrinsic.implementation || fail("the text has no function @" + symbol.getValue());
  }
  if (auto list = dyn_cast<ArrayAttr>(value); name == "objects" && list && target)
    return readObjects(list);
  if (name == "emitter" && text && !target) {
    intrinsic.emitter = text.str();
    return true;
  }
  if (auto list = dyn_cast<ArrayAttr>(value); name == "steps" && list && !target)
    return llvm::all_of(list, [&](Attribute step) { return readStep(step); });
  if (auto tiles = dyn_cast<DictionaryAttr>(value); name == "tiles" && tiles && !target)
    return readTiles(tiles);
  static constexpr std::pair<StringRef, StringRef> kinds[] = {
      {"unit", "a text"},
      {"cycles", "a text"},
      {"implementation", "the name of a function, such as @code"},
      {"objects", "a list of paths of object files and archives"},
  };
  for (auto [entry, kind] : kinds)
    if (name == entry)
      return fail(name + ": expected " + kind);
  return fail("'" + name + "' is no entry: expected strides, where, unit, features, cycles, implementation or objects");
}

bool Reader::areEntriesRead() {
  auto entries = function->getAttrOfType<DictionaryAttr>(intrinsicAttribute);
  if (!entries || !entries.get("strides"))
    return fail("expected the attribute tile.intrinsic with strides");
  return llvm::all_of(entries, [&](NamedAttribute entry) { return isEntry(entry.getName(), entry.getValue()); });
}

//===----------------------------------------------------------------------===//
// How it is computed
//===----------------------------------------------------------------------===//

BufferType Intrinsic::bufferType(unsigned buffer) const {
  return cast<BufferType>(description.getArgumentTypes()[buffer]);
}

int64_t Intrinsic::sumsOfColumn() const {
  bool isOfOneType = panels && panels->left == panels->sum && panels->right == panels->sum;
  return isOfOneType && isa<FloatType>(panels->sum) && steps.empty() ? panels->group : 1;
}

StringRef Intrinsic::memoryOf(unsigned buffer) const {
  StringAttr space = bufferType(buffer).memorySpace();
  return space ? space.getValue() : StringRef();
}

MemRefType Intrinsic::memoryType(unsigned buffer) const {
  auto number = [](const std::optional<SymbolicInt> &value) {
    return value && value->isConstant() ? *value->constant() : ShapedType::kDynamic;
  };
  SmallVector<int64_t> extents, steps;
  for (const SymbolicInt &extent : bufferType(buffer).extents())
    extents.push_back(number(extent));
  for (const std::optional<SymbolicInt> &stride : strides[buffer])
    steps.push_back(number(stride));
  auto layout = StridedLayoutAttr::get(description.getContext(), ShapedType::kDynamic, steps);
  return MemRefType::get(extents, tile::bufferType(bufferType(buffer).getElementType()).getElementType(), layout,
                         bufferType(buffer).memorySpace());
}

int64_t Intrinsic::Step::lanes() const {
  func::FuncOp sums = fold.code ? fold.code : code;
  return cast<VectorType>(sums.getResultTypes()[0]).getNumElements();
}

SmallVector<func::FuncOp> Intrinsic::functions() const {
  SmallVector<func::FuncOp> all{implementation};
  for (const Step &step : steps)
    for (const Code *code : {static_cast<const Code *>(&step), &step.fold})
      if (code->code)
        all.push_back(code->code);
  if (tiles)
    for (const Code *code :
         {&tiles->configure, &tiles->release, &tiles->zero, &tiles->load, &tiles->store, &tiles->multiply})
      all.push_back(code->code);
  return all;
}

Value Intrinsic::Code::inlined(OpBuilder &builder, ValueRange arguments) const {
  IRMapping values;
  values.map(code.getArguments(), arguments);
  Block &body = code.getBody().front();
  for (Operation &op : body.without_terminator())
    builder.clone(op, values);
  return body.getTerminator()->getNumOperands() ? values.lookup(body.getTerminator()->getOperand(0)) : Value();
}

/// Operations that the phase `lower` can lower in a standalone function.
static bool isCode(Operation *op) {
  if (isa<func::ReturnOp, memref::LoadOp, memref::StoreOp, memref::CastOp, memref::DimOp, memref::SubViewOp,
          memref::CollapseShapeOp, memref::ExpandShapeOp, memref::AllocaOp, memref::PrefetchOp,
          memref::ExtractAlignedPointerAsIndexOp, memref::ExtractStridedMetadataOp>(op))
    return true;
  bool isOperation = isa_and_nonnull<arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect,
                                     LLVM::LLVMDialect>(op->getDialect());
  auto refersTo = [](NamedAttribute attribute) { return isa<SymbolRefAttr>(attribute.getValue()); };
  return isOperation && llvm::none_of(op->getAttrs(), refersTo) && !op->hasTrait<OpTrait::SymbolTable>();
}

bool Reader::hasType(func::FuncOp code, StringRef what, FunctionType expected) {
  if (code.getFunctionType() == expected)
    return true;
  std::string texts[2];
  llvm::raw_string_ostream(texts[0]) << expected;
  llvm::raw_string_ostream(texts[1]) << code.getFunctionType();
  return fail("expected " + what + " of type " + texts[0] + ", got " + texts[1], code);
}

bool Reader::isImplementation() {
  func::FuncOp code = intrinsic.implementation;
  SmallVector<Type> expected;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    expected.push_back(intrinsic.memoryType(i));
  if (!hasType(code, "an implementation", FunctionType::get(function.getContext(), expected, {})))
    return false;
  if (code.isDeclaration() && !intrinsic.objects.empty())
    return true;
  if (!intrinsic.objects.empty())
    return fail("objects: expected an implementation without a body, which is in the objects", code);
  if (code.isDeclaration() || !code.getBody().hasOneBlock() || code->hasAttr(intrinsicAttribute))
    return fail("expected a body of one block as the implementation, or objects that have it", code);
  WalkResult result = code.getBody().walk([&](Operation *op) {
    if (isCode(op))
      return WalkResult::advance();
    fail("'" + op->getName().getStringRef() +
             "' is no operation of an implementation: expected only arith, math, memref, scf, vector and llvm, "
             "without calls",
         op);
    return WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

VectorType Reader::shortSums(int64_t lanes) {
  return VectorType::get(lanes * 2, IntegerType::get(function.getContext(), 16));
}

/// The largest sum of 16 bits after the products of one word: two for each set of four numbers.
static int64_t mostShortSum(const GroupLayout &groups) {
  const unsigned bits = groups.number.getIntOrFloatBitWidth();
  return groups.perUnit() / 4 * 2 * UINT8_MAX * ((int64_t(1) << bits) - 1);
}

/// A step maps vectors of words to a vector of sums, or one vector of words to numbers. For rows of bytes, it adds the
/// products of four unsigned and four signed bytes to each sum, or those of two to each half of it, as a fold does
/// then; or those of two numbers of 16 bits.
FunctionType Reader::typeOfStep(const Intrinsic::Step &step, int64_t lanes, bool isFolded) {
  auto vectorOf = [&](Type element, int64_t elements) -> Type {
    return VectorType::get(lanes * elements, graph::scalarType(element));
  };
  const std::optional<PanelLayout> &panels = intrinsic.panels;
  const std::optional<GroupLayout> &groups = intrinsic.groups;
  SmallVector<Type> arguments;
  if (panels)
    arguments = {vectorOf(panels->left, panels->group), vectorOf(panels->right, panels->group),
                 vectorOf(panels->sum, 1)};
  else if (takesPairs(intrinsic, step))
    arguments = {shortSums(lanes), shortSums(lanes), vectorOf(groups->word, 1)};
  else if (groups->hasBytes())
    arguments = {vectorOf(groups->left, 4), vectorOf(groups->left, 4),
                 isFolded ? shortSums(lanes) : vectorOf(groups->word, 1)};
  else
    arguments = {vectorOf(groups->word, 1)};
  Type result = arguments.size() > 1 ? arguments.back() : vectorOf(groups->real, 1);
  auto wordsOf = [&](Type element, int64_t words) {
    return VectorType::get(words * panels->group, graph::scalarType(element));
  };
  if (const int64_t words = wordsOfRow(intrinsic, step); words > 0) {
    arguments.front() = wordsOf(panels->left, words);
    arguments.push_back(IntegerType::get(function.getContext(), 32));
  } else if (isOnMatrices(intrinsic, step)) {
    arguments[0] = wordsOf(panels->left, rowsOfStep);
    arguments[1] = wordsOf(panels->right, lanes / rowsOfStep);
  }
  return FunctionType::get(function.getContext(), arguments, result);
}

bool Reader::areSteps() {
  for (const Intrinsic::Step &step : intrinsic.steps) {
    auto result = step.code.getNumResults() == 1 ? dyn_cast<VectorType>(step.code.getResultTypes()[0]) : VectorType();
    if (!(intrinsic.panels || intrinsic.groups) || !result || result.getRank() != 1)
      return fail("expected each step to return one vector: of sums, if the operands are in panels, or of the numbers "
                  "that words hold, if they are in groups",
                  step.code);
    const bool isFolded = bool(step.fold.code);
    if (isFolded && (!(intrinsic.groups && intrinsic.groups->hasBytes()) || takesPairs(intrinsic, step)))
      return fail("expected no fold: only sums of bytes in groups have one", step.code);
    if (isFolded && (mostShortSum(*intrinsic.groups) > INT16_MAX || result.getNumElements() % 2 != 0))
      return fail("expected no fold: the products of a word do not fit an even number of sums of 16 bits", step.code);
    int64_t lanes = result.getNumElements() / (isFolded ? 2 : 1);
    Type sums = isFolded ? VectorType::get(lanes, intrinsic.groups->word) : Type();
    if (!hasType(step.code, "a step", typeOfStep(step, lanes, isFolded)) ||
        (isFolded &&
         !hasType(step.fold.code, "a fold", FunctionType::get(function.getContext(), {shortSums(lanes), sums}, sums))))
      return false;
  }
  return true;
}

bool Reader::isImplemented() {
  if (intrinsic.implementation)
    return isImplementation();
  if (!needsCode)
    return true;
  if (target)
    return fail("expected the entry implementation, the name of a function");
  const Emitter *emitter = findEmitter(intrinsic.emitter);
  if (!emitter)
    return fail("expected one of the emitters " + emitterNames() + ", got '" + intrinsic.emitter + "'");
  return emitter->takes(intrinsic) || fail("the emitter makes no code for such a description");
}

FailureOr<Intrinsic> perpend::tile::readIntrinsic(func::FuncOp description, const target::Machine *target,
                                                  bool needsCode) {
  return Reader(description, target, needsCode).run();
}
