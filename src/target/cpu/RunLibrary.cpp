//===- RunLibrary.cpp - library calls of perpend_run ----------------------===//
//
// A call goes through perpend_call_library_v1 (runtime/library/Call.cpp), which
// presents this to the function: memory and extents of operands, and for each
// result its memory, if the size is known, and the extents that it must have.
// It returns the extents that the function chose.
//
//===----------------------------------------------------------------------===//

#include "target/cpu/LibraryCalls.h"
#include "target/cpu/RunEmitter.h"

#include "graph/ElementTypes.h"
#include "graph/Symbols.h"

#include "perpend.h"
#include "runtime/Types.h"
#include "runtime/library/CallSignature.h"

#include <array>
#include <cstring>

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using graph::SymbolicInt;

namespace {
/// The part of a function of the library for one type of the first operand, and instruction sets.
struct LibraryPart {
  StringRef function, suffix;
  perpend_type type;
  StringRef instructionSets;
};
} // namespace

constexpr LibraryPart libraryParts[] = {
#define PERPEND_ALL_LIBRARY_PARTS
#define LIBRARY_FUNCTION(...)
#define LIBRARY_PART(LIBRARY, NAME, PART, TYPE, SETS) {#LIBRARY "." #NAME, "_" #PART, PERPEND_##TYPE, SETS},
#include "runtime/library/Functions.def"
};

static perpend_type codeOf(RankedTensorType tensor) {
  perpend_type code = PERPEND_F32;
  (void)runtime::findType(graph::nameOf(tensor.getElementType()).c_str(), code);
  return code;
}

static bool hasAll(const Machine *machine, StringRef instructionSets) {
  SmallVector<StringRef> names;
  instructionSets.split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return llvm::all_of(names, [&](StringRef name) { return machine && machine->hasFeature(name); });
}

std::string perpend::target::symbolOfFunction(host::CallOp op, const Machine *machine) {
  auto [library, name] = op.getFunction().split('.');
  StringRef suffix;
  if (!op.getInputs().empty()) {
    const perpend_type type = codeOf(cast<host::PlaceType>(op.getInputs().front().getType()).getTensor());
    for (const LibraryPart &part : libraryParts)
      if (part.function == op.getFunction() && part.type == type && hasAll(machine, part.instructionSets))
        suffix = part.suffix;
  }
  return ("perpend_" + library + "_" + name + suffix).str();
}

/// A function of the runtime or the user, which gets so many addresses and returns a status.
static Value addressOfFunction(FunctionEmitter &f, ModuleOp module, StringRef name, unsigned arguments) {
  if (!module.lookupSymbol(name)) {
    OpBuilder atEnd = OpBuilder::atBlockEnd(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(f.builder.getI32Type(), SmallVector<Type>(arguments, f.pointer));
    auto function = atEnd.create<LLVM::LLVMFuncOp>(f.loc, name, type);
    function.setVisibility_(LLVM::Visibility::Hidden);
  }
  return f.builder.create<LLVM::AddressOfOp>(f.loc, f.pointer, name);
}

SmallVector<RankedTensorType> perpend::target::tensorsOf(host::CallOp op) {
  SmallVector<RankedTensorType> types;
  for (Value input : op.getInputs())
    types.push_back(cast<host::PlaceType>(input.getType()).getTensor());
  for (Type type : op.getTypes().getAsValueRange<TypeAttr>())
    types.push_back(cast<RankedTensorType>(type));
  return types;
}

SmallVector<int32_t> perpend::target::signatureOf(host::CallOp op) {
  SmallVector<int32_t> signature;
  auto append = [&](auto entry) {
    std::array<int32_t, sizeof(entry) / sizeof(int32_t)> words;
    std::memcpy(words.data(), &entry, sizeof entry);
    llvm::append_range(signature, words);
  };
  append(
      library::CallCounts{static_cast<int32_t>(op.getInputs().size()), static_cast<int32_t>(op.getOutputs().size())});
  for (auto [place, tensor] : llvm::zip_equal(op->getOperands(), tensorsOf(op))) {
    append(library::CallTensor{static_cast<int32_t>(codeOf(tensor)), static_cast<int32_t>(tensor.getRank()),
                               isa<host::RoomType>(place.getType()) ? library::Growing : library::Fixed});
  }
  return signature;
}

Value RunEmitter::constantTable(ArrayRef<int32_t> values) {
  OpBuilder atStart = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(f.builder.getI32Type(), values.size());
  auto shape = RankedTensorType::get(static_cast<int64_t>(values.size()), f.builder.getI32Type());
  auto global = atStart.create<LLVM::GlobalOp>(f.loc, type, /*isConstant=*/true, LLVM::Linkage::Private,
                                               f.function.getName().str() + "_table_" + std::to_string(tables++),
                                               DenseElementsAttr::get(shape, values));
  return f.builder.create<LLVM::AddressOfOp>(f.loc, global);
}

/// Symbols that the call defines get the extents that it returned; other extents that use them are checked.
void RunEmitter::readExtents(host::CallOp op, int64_t position) {
  SmallVector<StringAttr> symbols(op.getDefines().getAsRange<StringAttr>());
  std::set<std::string> defined;
  SmallVector<std::pair<SymbolicInt, Value>> others;
  for (Type type : op.getTypes().getAsValueRange<TypeAttr>())
    for (const SymbolicInt &extent : graph::shapeOf(cast<RankedTensorType>(type))) {
      Value got = f.load(f.i64, extents, position++);
      bool isSymbol =
          llvm::any_of(symbols, [&](StringAttr symbol) { return extent == SymbolicInt::symbol(symbol.str()); });
      if (isSymbol && defined.insert(extent.str()).second)
        setSymbol(extent.str(), got);
      else if (graph::mentionsAny(extent, symbols))
        others.emplace_back(extent, got);
    }
  for (auto &[extent, got] : others)
    check(f.compare(arith::CmpIPredicate::eq, got, evaluate(extent)), op, "expected an extent of " + extent.str(), got);
}

void RunEmitter::emitCall(host::CallOp op) {
  SmallVector<StringAttr> symbols(op.getDefines().getAsRange<StringAttr>());
  int64_t position = 0, resultsAt = 0;
  for (auto [number, place, type] : llvm::enumerate(op->getOperands(), tensorsOf(op))) {
    bool isResult = number >= op.getInputs().size();
    if (number == op.getInputs().size())
      resultsAt = position;
    f.store(addressOf(place), list, static_cast<int64_t>(number));
    for (const SymbolicInt &extent : graph::shapeOf(type))
      f.store(isResult && graph::mentionsAny(extent, symbols) ? f.integer(-1) : evaluate(extent), extents, position++);
  }
  // In the order of library::CallLibrary.
  const SmallVector<Value> arguments = {frame,
                                        addressOfFunction(f, module, symbolOfFunction(op, &machine), 1),
                                        f.text(graph::parametersText(op.getParameters())),
                                        f.text(nodeText(op)),
                                        constantTable(signatureOf(op)),
                                        list,
                                        extents};
  Value status = call(addressOfFunction(f, module, "perpend_call_library_v1", arguments.size()), f.builder.getI32Type(),
                      arguments);
  f.proceedIf(f.compare(arith::CmpIPredicate::eq, status, f.half(0)), leave, status);
  readExtents(op, resultsAt);
}
