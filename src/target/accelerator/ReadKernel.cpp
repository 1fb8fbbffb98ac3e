//===- ReadKernel.cpp - from blocks to nests ------------------------------===//
#include "target/accelerator/ReadKernel.h"
#include "target/accelerator/ReadBody.h"
#include "target/accelerator/ReadBorders.h"
#include "target/accelerator/WideReductions.h"

#include "tile/kernel/Buffers.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

#include <functional>

using namespace mlir;
using perpend::support::SymbolicInt;

namespace perpend::accelerator {
namespace {

/// More digits are not worth it.
constexpr size_t mostDigits = 12;

/// How a block is read. Computed conditions take less than many boxes, but more than a few.
struct Attempt {
  bool comparesNumbers;
  size_t mostBoxes; ///< those that are cut included
};
constexpr Attempt attempts[] = {{false, 64}, {true, 64}, {false, 512}};

class KernelReader {
public:
  KernelReader(const llvm::StringMap<int64_t> &symbols, ArrayRef<ElementsAttr> contents)
      : symbols(symbols), contents(contents), tables([this](DType type, unsigned elementBytes, std::string contents) {
          return tableOf(type, elementBytes, std::move(contents));
        }) {}
  llvm::Expected<Kernel> read(func::FuncOp function);

private:
  bool addBuffer(mlir::Value value);
  bool readBlock(tile::BlockOp block);
  bool readDigits(tile::BlockOp block, std::vector<Digit> &digits);
  /// Nests for all boxes; a refinement: the digits are too coarse.
  std::optional<DigitCut> readBoxes(tile::BlockOp block, const std::vector<Digit> &digits);
  bool addNests(tile::BlockOp block, BodyReader &reader);
  bool addNest(tile::BlockOp block, const BodyReader &reader, const BodyReader::Store &store, bool isBeginning = false);
  bool addWideReduction(tile::BlockOp block, const BodyReader &reader, const BodyReader::Store &store);
  /// Of a move of elements of any type.
  void addMove(Nest nest, mlir::Type type);
  unsigned tableOf(DType type, unsigned elementBytes, std::string contents);
  BodyReader readerOf(const std::vector<Digit> &digits, const Box &box) {
    return BodyReader(AffineView(digits, box), symbols, buffers, contents, tables, attempt.comparesNumbers);
  }
  static bool isCut(tile::BlockOp block, const AffineView &view);
  Nest nestOf(tile::BlockOp block, const AffineView &view, const std::vector<Node> &nodes, ArrayRef<ElementAt> loads,
              const BodyReader::Store &store) const;
  /// Loads from rows that data chooses: nests that bring their elements before, from where `nest` reads them.
  bool addRows(const BodyReader &reader, Nest &nest);
  unsigned bufferOf(DType type, int64_t elements);
  void notePart(const BodyReader &reader, size_t before);
  void joinParts(tile::BlockOp block, const std::vector<Digit> &digits);
  bool addBeginning(tile::BlockOp block, const std::vector<Digit> &digits);
  bool addFirstValues(tile::BlockOp block, const std::vector<Digit> &digits);
  std::optional<double> initialOf(tile::BlockOp block);
  std::optional<int64_t> numberOf(const SymbolicInt &value) const { return value.evaluate(symbols); }
  bool refuse(const llvm::Twine &text) { return problem = text.str(), false; }

  const llvm::StringMap<int64_t> &symbols;
  ArrayRef<ElementsAttr> contents;
  std::function<unsigned(DType, unsigned, std::string)> tables;
  llvm::DenseMap<mlir::Value, unsigned> buffers;
  Kernel kernel;
  std::string problem;
  size_t firstOfBlock = 0;
  bool needsBeginning = false; ///< nests of the block continue what is in memory
  Attempt attempt = attempts[0];
  struct Part { ///< of a block: what one box made
    Box box;
    std::vector<Node> nodes;
    std::vector<ElementAt> loads;
    BodyReader::Store store;
    Nest nest;
  };
  std::vector<Part> parts;    ///< of the block; empty: they are no single nests
  std::optional<Nest> joined; ///< all parts of the block
  bool hasBorders = false;    ///< some block was joined
};

} // namespace

bool KernelReader::addBuffer(mlir::Value value) {
  auto type = cast<tile::BufferType>(value.getType());
  Buffer buffer{typeOf(type.getElementType()), 1, static_cast<unsigned>(tile::elementBytes(type.getElementType())), {}};
  for (const SymbolicInt &extent : type.extents()) {
    std::optional<int64_t> number = numberOf(extent);
    if (!number)
      return refuse("a size that is no number");
    buffer.elements *= *number;
  }
  buffers[value] = static_cast<unsigned>(kernel.buffers.size());
  kernel.buffers.push_back(buffer);
  return true;
}

unsigned KernelReader::tableOf(DType type, unsigned elementBytes, std::string contents) {
  auto isSame = [&](const Buffer &buffer) { return buffer.type == type && buffer.contents == contents; };
  auto found = llvm::find_if(kernel.buffers, isSame);
  if (found == kernel.buffers.end()) {
    const auto elements = static_cast<int64_t>(contents.size() / elementBytes);
    found = kernel.buffers.insert(found, {type, elements, elementBytes, std::move(contents)});
  }
  return static_cast<unsigned>(found - kernel.buffers.begin());
}

std::optional<double> KernelReader::initialOf(tile::BlockOp block) {
  std::optional<double> initial;
  for (Operation &op : block.init().getRegion().front()) {
    auto store = dyn_cast<tile::StoreOp>(op);
    if (!store)
      continue;
    Attribute value;
    if (!matchPattern(store.getValue(), m_Constant(&value)))
      return std::nullopt;
    if (auto number = dyn_cast<FloatAttr>(value))
      initial = number.getValueAsDouble();
    else
      initial = static_cast<double>(cast<IntegerAttr>(value).getInt());
  }
  return initial;
}

/// The other operand of `node` if it combines the element that the block stores with something else.
static std::optional<unsigned> combinedBy(const BodyReader &reader, const Node &node, const ElementAt &element) {
  using enum Function;
  if (node.kind != Node::Apply || node.operands.size() != 2 || !llvm::is_contained({add, mul, max, min}, node.function))
    return std::nullopt;
  for (unsigned side : {0u, 1u}) {
    const unsigned operand = node.operands[side];
    if (reader.nodes[operand].kind == Node::Load && reader.loads[operand] == element)
      return node.operands[1 - side];
  }
  return std::nullopt;
}

/// In the view's box.
Nest KernelReader::nestOf(tile::BlockOp block, const AffineView &view, const std::vector<Node> &nodes,
                          ArrayRef<ElementAt> loads, const BodyReader::Store &store) const {
  Nest nest;
  nest.name = block.getName().str();
  nest.type = typeOf(store.type);
  const SmallVector<unsigned> shown = loopsOf(view.box);
  for (unsigned digit : shown)
    nest.loops.push_back({view.box[digit].end - view.box[digit].begin,
                          block.kind(view.digits[digit].iterator) == tile::IteratorKind::Reduced});
  auto accessOf = [&](const ElementAt &element) {
    Access access{element.buffer, element.offset.base, {}};
    for (auto [digit, coefficient] : element.offset.terms)
      access.base += coefficient * view.box[digit].begin;
    for (unsigned digit : shown) {
      auto term = element.offset.terms.find(digit);
      access.strides.push_back(term == element.offset.terms.end() ? 0 : term->second);
    }
    return access;
  };
  nest.nodes = nodes;
  for (auto [node, element] : llvm::zip_equal(nest.nodes, loads))
    if (node.kind == Node::Load)
      node.access = accessOf(element);
  nest.store = accessOf(store.element);
  nest.value = store.value;
  return nest;
}

bool KernelReader::addNest(tile::BlockOp block, const BodyReader &reader, const BodyReader::Store &store,
                           bool isBeginning) {
  const AffineView &view = reader.view;
  if (store.combined)
    return addWideReduction(block, reader, store);
  Nest nest = nestOf(block, view, reader.nodes, reader.loads, store);
  if (block.isReduction() && !isBeginning) {
    if (nest.type == DType::None)
      return refuse("a reduction of a type that no unit has");
    const Node &root = reader.nodes[store.value];
    if (root.kind == Node::Load && reader.loads[store.value] == store.element)
      return needsBeginning = true; // a border, where the element stays as it is
    std::optional<unsigned> value = combinedBy(reader, root, store.element);
    std::optional<double> initial = block.init() ? initialOf(block) : std::nullopt;
    if (!value || !initial)
      return refuse("a reduction that no unit has");
    nest.combine = root.function;
    nest.initial = *initial;
    nest.value = *value;
    const Node &combined = reader.nodes[*value];
    if (combined.kind == Node::Number && combined.number == 0 && root.function == Function::add && isCut(block, view))
      return needsBeginning = true; // a border, which adds nothing
    nest.continues = isCut(block, view);
    needsBeginning |= nest.continues;
  }
  if (addRows(reader, nest))
    return true;
  if (nest.type == DType::None || nest.nodes[nest.value].type == DType::None)
    addMove(std::move(nest), store.type);
  else
    for (Nest &each : forwards(std::move(nest))) {
      needsBeginning |= each.continues;
      kernel.nests.push_back(std::move(each));
    }
  return true;
}

bool KernelReader::addWideReduction(tile::BlockOp block, const BodyReader &reader, const BodyReader::Store &store) {
  std::optional<int64_t> initial;
  if (block.isReduction() && block.init())
    for (auto first : block.init().getRegion().front().getOps<tile::StoreOp>())
      if (llvm::APInt number; matchPattern(first.getValue(), m_ConstantInt(&number)))
        initial = number.getSExtValue();
  if (!initial || isCut(block, reader.view))
    return refuse("a reduction of integers of 64 bits in parts");
  Nest nest = nestOf(block, reader.view, reader.nodes, reader.loads, store);
  nest.combine = store.combine;
  addRows(reader, nest);
  auto made = reduceWide(nest, {store.combined->low, store.combined->high}, *initial,
                         [&](int64_t elements) { return bufferOf(DType::I32, elements); });
  for (Nest &each : made)
    for (Nest &part : forwards(std::move(each))) {
      if (part.continues)
        return refuse("a reduction of integers of 64 bits in parts");
      kernel.nests.push_back(std::move(part));
    }
  return true;
}

unsigned KernelReader::bufferOf(DType type, int64_t elements) {
  kernel.buffers.push_back({type, elements, sizeOf(type), {}});
  return static_cast<unsigned>(kernel.buffers.size() - 1);
}

/// The nodes of which this one is computed.
static std::vector<bool> nodesBehind(const Nest &nest, unsigned node) {
  std::vector<bool> isUsed(nest.nodes.size());
  isUsed[node] = true;
  for (size_t number = node + 1; number-- > 0;)
    if (isUsed[number])
      for (unsigned operand : nest.nodes[number].operands)
        isUsed[operand] = true;
  return isUsed;
}

/// Strides of a dense buffer over these loops, of elements of so many.
static SmallVector<int64_t, 6> denseStrides(const Nest &nest, ArrayRef<unsigned> loops, int64_t elements) {
  SmallVector<int64_t, 6> strides(loops.size());
  for (size_t at = loops.size(); at-- > 0; elements *= nest.loops[loops[at]].extent)
    strides[at] = elements;
  return strides;
}

static SmallVector<int64_t, 6> stridesOf(const Access &access, ArrayRef<unsigned> loops) {
  SmallVector<int64_t, 6> strides;
  for (unsigned loop : loops)
    strides.push_back(access.strides[loop]);
  return strides;
}

/// True: the nest only moves elements of the rows, which do that by themselves.
bool KernelReader::addRows(const BodyReader &reader, Nest &nest) {
  for (unsigned number = 0; number < nest.nodes.size(); ++number) {
    const ElementAt &element = reader.loads[number];
    if (nest.nodes[number].kind != Node::Load || !element.row)
      continue;
    const std::vector<bool> isUsed = nodesBehind(nest, *element.row);
    SmallVector<unsigned> loops, inRow;
    for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
      const bool isOfIndex = llvm::any_of(llvm::enumerate(nest.nodes), [&](const auto &node) {
        return isUsed[node.index()] && node.value().kind == Node::Load && node.value().access.strides[loop];
      });
      if (isOfIndex)
        loops.push_back(loop);
      else if (nest.nodes[number].access.strides[loop])
        inRow.push_back(loop);
    }
    int64_t count = 1;
    for (unsigned loop : loops)
      count *= nest.loops[loop].extent;

    Nest index;
    index.name = nest.name + "_rows";
    index.nodes = nest.nodes;
    for (auto [node, used] : llvm::zip_equal(index.nodes, isUsed)) {
      if (!used)
        node = Node();
      else if (node.kind == Node::Load)
        node.access.strides = stridesOf(node.access, loops);
    }
    index.value = *element.row;
    index.type = DType::I32;
    for (unsigned loop : loops)
      index.loops.push_back({nest.loops[loop].extent});
    index.store = {bufferOf(DType::I32, count), 0, denseStrides(nest, loops, 1)};

    Nest rows;
    rows.name = nest.name + "_rows";
    rows.loops = index.loops;
    rows.loops.push_back({element.rowElements});
    rows.nodes.emplace_back();
    rows.nodes[0].kind = Node::Load;
    rows.nodes[0].type = DType::I32;
    rows.nodes[0].access = index.store;
    rows.nodes[0].access.strides.push_back(0);
    rows.type = nest.nodes[number].type;
    rows.rows = Rows{nest.nodes[number].access.buffer,
                     kernel.buffers[nest.nodes[number].access.buffer].elements / element.rowElements};
    const bool isMove = !nest.combine && nest.value == number && nest.type == rows.type &&
                        loops.size() + inRow.size() == nest.loops.size() && llvm::all_of(inRow, [&](unsigned loop) {
                          return nest.store.strides[loop] == nest.nodes[number].access.strides[loop];
                        });
    Access brought{0, 0, SmallVector<int64_t, 6>(nest.loops.size())};
    if (isMove) {
      rows.store = {nest.store.buffer, nest.store.base, stridesOf(nest.store, loops)};
    } else {
      rows.store = {bufferOf(rows.type, count * element.rowElements), 0,
                    denseStrides(nest, loops, element.rowElements)};
      brought.buffer = rows.store.buffer;
      for (auto [loop, stride] : llvm::zip_equal(loops, rows.store.strides))
        brought.strides[loop] = stride;
      for (unsigned loop : inRow)
        brought.strides[loop] = nest.nodes[number].access.strides[loop];
    }
    rows.store.strides.push_back(1);
    nest.nodes[number].access = brought;
    for (Nest *made : {&index, &rows})
      llvm::append_range(kernel.nests, forwards(std::move(*made)));
    if (isMove)
      return true;
  }
  return false;
}

/// A number as it lies in memory.
static std::string bytesOf(double number, mlir::Type type) {
  const auto bits = isa<FloatType>(type) ? llvm::bit_cast<int64_t>(number) : static_cast<int64_t>(number);
  return {reinterpret_cast<const char *>(&bits), tile::elementBytes(type) == 8 ? sizeof bits : 0};
}

/// Elements of 8 bytes are two of 4: one more loop, along which numbers go on as well.
void KernelReader::addMove(Nest nest, mlir::Type type) {
  constexpr int64_t wordBytes = 4;
  const auto bytes = static_cast<int64_t>(tile::elementBytes(type));
  const int64_t words = std::max<int64_t>(1, bytes / wordBytes);
  const DType word = bytes == 1 ? DType::U8 : bytes == 2 ? DType::I16 : DType::I32;
  auto widen = [&](Access &access) {
    access.base *= words;
    for (int64_t &stride : access.strides)
      stride *= words;
    if (words > 1)
      access.strides.push_back(1);
  };
  for (Node &node : nest.nodes) {
    if (std::string contents = node.kind == Node::Number && node.type == DType::None ? bytesOf(node.number, type) : "";
        !contents.empty()) {
      node.kind = Node::Load;
      node.access = {tableOf(DType::I32, wordBytes, std::move(contents)), 0, {}};
      node.access.strides.assign(nest.loops.size(), 0);
    }
    if (node.type == DType::None)
      widen(node.access);
    else if (words > 1)
      node.access.strides.push_back(0);
    node.type = node.type == DType::None ? word : node.type;
  }
  widen(nest.store);
  nest.type = word;
  if (words > 1)
    nest.loops.push_back({words, false});
  kernel.nests.push_back(std::move(nest));
}

/// Whether iterators of a sum have only a part of their values in the box.
bool KernelReader::isCut(tile::BlockOp block, const AffineView &view) {
  for (unsigned digit = 0; digit < view.digits.size(); ++digit)
    if (block.kind(view.digits[digit].iterator) == tile::IteratorKind::Reduced &&
        view.box[digit].end - view.box[digit].begin != view.digits[digit].extent)
      return true;
  return false;
}

/// Writes the first value to all elements of a reduction whose boxes continue it.
bool KernelReader::addBeginning(tile::BlockOp block, const std::vector<Digit> &digits) {
  Box box;
  for (const Digit &digit : digits) {
    const bool isReduced = block.kind(digit.iterator) == tile::IteratorKind::Reduced;
    box.push_back({0, isReduced ? 1 : digit.extent});
  }
  BodyReader reader = readerOf(digits, box);
  std::optional<double> initial = block.init() ? initialOf(block) : std::nullopt;
  if (!initial || !reader.read(&block.init().getRegion().front()) || reader.stores.size() != 1)
    return refuse("a reduction that no unit has");
  const size_t before = kernel.nests.size();
  if (!addNest(block, reader, reader.stores[0], /*isBeginning=*/true))
    return false;
  std::rotate(kernel.nests.begin() + static_cast<ptrdiff_t>(firstOfBlock),
              kernel.nests.begin() + static_cast<ptrdiff_t>(before), kernel.nests.end());
  return true;
}

/// Of a reduction of no elements.
bool KernelReader::addFirstValues(tile::BlockOp block, const std::vector<Digit> &digits) {
  firstOfBlock = kernel.nests.size();
  attempt = attempts[0];
  if (!addBeginning(block, digits))
    return false;
  kernel.bordered.insert(kernel.bordered.end(), kernel.nests.begin() + static_cast<ptrdiff_t>(firstOfBlock),
                         kernel.nests.end());
  return true;
}

bool KernelReader::addNests(tile::BlockOp block, BodyReader &reader) {
  return llvm::all_of(reader.stores, [&](const BodyReader::Store &store) { return addNest(block, reader, store); });
}

std::optional<DigitCut> KernelReader::readBoxes(tile::BlockOp block, const std::vector<Digit> &digits) {
  Box whole;
  for (const Digit &digit : digits)
    whole.push_back({0, digit.extent});
  std::vector<Box> boxes{whole};
  const size_t before = firstOfBlock = kernel.nests.size(), buffersBefore = kernel.buffers.size();
  needsBeginning = false;
  parts.clear();
  joined.reset();
  for (size_t next = 0; next < boxes.size(); ++next) {
    const Box box = boxes[next];
    BodyReader reader = readerOf(digits, box);
    if (reader.read(block.body()) && std::holds_alternative<std::monostate>(reader.view.refinement)) {
      const size_t nests = kernel.nests.size();
      if (!addNests(block, reader))
        return std::nullopt;
      notePart(reader, nests);
      continue;
    }
    if (const auto *cut = std::get_if<DigitCut>(&reader.view.refinement)) {
      kernel.nests.resize(before);
      kernel.buffers.erase(kernel.buffers.begin() + static_cast<ptrdiff_t>(buffersBefore), kernel.buffers.end());
      return *cut;
    }
    const auto *cut = std::get_if<BoxCut>(&reader.view.refinement);
    if (!cut || boxes.size() >= attempt.mostBoxes)
      return problem = cut ? "more cuts of its iterators than are worth it" : reader.problem, std::nullopt;
    boxes.insert(boxes.end(), 2, box);
    boxes[boxes.size() - 2][cut->digit].end = cut->at;
    boxes.back()[cut->digit].begin = cut->at;
  }
  joinParts(block, digits);
  return std::nullopt;
}

/// A part that adds nothing makes no nest.
void KernelReader::notePart(const BodyReader &reader, size_t before) {
  if (kernel.nests.size() == before)
    return;
  parts.push_back({reader.view.box, reader.nodes, reader.loads, reader.stores[0], kernel.nests.back()});
  if (kernel.nests.size() > before + 1 || reader.stores.size() != 1)
    parts.back().nest.combine.reset();
}

/// Parts that compute the same, each in its box, are one nest with borders.
void KernelReader::joinParts(tile::BlockOp block, const std::vector<Digit> &digits) {
  auto isSame = [&](const Part &part) {
    return part.nest.combine && part.nest.combine == parts[0].nest.combine && part.nest.value == parts[0].nest.value &&
           part.loads == parts[0].loads && isSameTree(part.nodes, parts[0].nodes) &&
           part.store.element == parts[0].store.element;
  };
  if (parts.size() < 2 || !llvm::all_of(parts, isSame))
    return;
  Box whole;
  SmallVector<bool> isReduced;
  for (const Digit &digit : digits) {
    whole.push_back({0, digit.extent});
    isReduced.push_back(block.kind(digit.iterator) == tile::IteratorKind::Reduced);
  }
  SmallVector<Box> boxes;
  for (const Part &part : parts)
    boxes.push_back(part.box);
  std::optional<std::vector<Border>> borders = bordersOf(boxes, whole, isReduced);
  if (!borders)
    return;
  const Part &first = parts[0];
  Nest nest = nestOf(block, AffineView(digits, whole), first.nodes, first.loads, first.store);
  nest.value = first.nest.value;
  nest.combine = first.nest.combine;
  nest.initial = first.nest.initial;
  nest.borders = std::move(*borders);
  if (isForwards(nest))
    joined = std::move(nest);
}

/// Divides digits where the block needs that.
bool KernelReader::readDigits(tile::BlockOp block, std::vector<Digit> &digits) {
  while (std::optional<DigitCut> cut = readBoxes(block, digits)) {
    if (digits.size() >= mostDigits)
      return refuse("an index with more divisions than are worth it");
    Digit &upper = digits[cut->digit];
    Digit lower{upper.iterator, upper.weight, cut->extent};
    upper.weight *= cut->extent;
    upper.extent /= cut->extent;
    digits.insert(digits.begin() + cut->digit + 1, lower);
  }
  return problem.empty();
}

bool KernelReader::readBlock(tile::BlockOp block) {
  if (!block.getConditions().values().empty())
    return refuse("a block with conditions");
  std::vector<Digit> digits;
  bool isOfNothing = false;
  for (auto [number, extent] : llvm::enumerate(block.getDomain().values())) {
    if (block.kind(number) == tile::IteratorKind::Opaque)
      return refuse("iterations that depend on one another");
    std::optional<int64_t> count = numberOf(extent);
    if (!count)
      return refuse("an extent that is no number");
    const bool isReduced = block.kind(number) == tile::IteratorKind::Reduced;
    if (*count == 0 && !isReduced)
      return true;
    isOfNothing |= *count == 0;
    digits.push_back({static_cast<unsigned>(number), 1, std::max<int64_t>(*count, 1)});
  }
  if (isOfNothing)
    return addFirstValues(block, digits);
  for (const Attempt &each : attempts) {
    attempt = each;
    problem.clear();
    if (readDigits(block, digits))
      break;
    kernel.nests.resize(firstOfBlock);
  }
  if (!problem.empty())
    return false;
  const std::optional<Nest> whole = joined;
  if (needsBeginning && !addBeginning(block, digits))
    return false;
  hasBorders |= whole.has_value();
  if (whole)
    kernel.bordered.push_back(*whole);
  else
    kernel.bordered.insert(kernel.bordered.end(), kernel.nests.begin() + static_cast<ptrdiff_t>(firstOfBlock),
                           kernel.nests.end());
  return true;
}

llvm::Expected<Kernel> KernelReader::read(func::FuncOp function) {
  auto refused = [&](StringRef block) {
    return llvm::createStringError(llvm::formatv("{0}{1}{2}", block, block.empty() ? "" : ": ", problem));
  };
  for (BlockArgument argument : function.getArguments())
    if (!addBuffer(argument))
      return refused("");
  kernel.arguments = static_cast<unsigned>(kernel.buffers.size());
  std::string failed;
  WalkResult result = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto alloc = dyn_cast<tile::AllocOp>(op))
      return addBuffer(alloc) ? WalkResult::advance() : WalkResult::interrupt();
    auto block = dyn_cast<tile::BlockOp>(op);
    if (!block)
      return WalkResult::advance();
    failed = block.getName().str();
    return readBlock(block) ? WalkResult::skip() : WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return refused(failed);
  if (!hasBorders)
    kernel.bordered.clear();
  return std::move(kernel);
}

llvm::Expected<Kernel> readKernel(func::FuncOp kernel, const llvm::StringMap<int64_t> &symbols,
                                  ArrayRef<ElementsAttr> contents) {
  return KernelReader(symbols, contents).read(kernel);
}

} // namespace perpend::accelerator
