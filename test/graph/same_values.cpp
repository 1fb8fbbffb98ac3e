//===- same_values.cpp - functions before and after passes ----------------===//
//
// The second RUN line of a pass's test:
//
//   same-values FILE.mlir PIPELINE [--varied] [--within=PART]
//
// interprets each function of the file that is not private (of each part of a split file) as it is and behind the
// passes, on random inputs, with the symbols at 0, 1 and primes: all alike, and each another. What the original refuses
// must be refused behind the passes, too; something must have run, and something must have changed. The first
// difference ends the program with status 1. --varied: constants whose elements are all the same have random ones
// instead, so that a file that says what weights become need not list them. --within: floats may differ by that part of
// the largest result, for passes that round.
//
//===----------------------------------------------------------------------===//

#include "graph/Graph.h"
#include "graph/Shapes.h"
#include "graph/passes/Passes.h"
#include "host/Host.h"
#include "host/passes/Passes.h"
#include "interp/Evaluate.h"
#include "interp/Interpreter.h"
#include "tile/passes/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace perpend;
using interp::Tensor;

namespace {
constexpr int64_t extents[] = {0, 1, 2, 3, 5, 7, 13};
using Symbols = llvm::StringMap<int64_t>;

int fail(const Twine &text) {
  llvm::errs() << "same-values: " << text << "\n";
  return 1;
}

struct Options {
  StringRef file, pipeline;
  bool areVaried = false;
  double within = 0; ///< 0: but for the order of sums
};

/// Any integers, and floats that are the element times 1 to 8, of either sign.
DenseElementsAttr varied(DenseElementsAttr splat, std::mt19937 &random) {
  ShapedType type = splat.getType();
  if (auto element = dyn_cast<FloatType>(type.getElementType())) {
    SmallVector<APFloat> values;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      APFloat factor(double(1 + random() % 8) * (random() % 2 ? 1 : -1));
      bool losesInfo = false;
      factor.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
      values.push_back(splat.getSplatValue<APFloat>() * factor);
    }
    return DenseElementsAttr::get(type, values);
  }
  SmallVector<APInt> values;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    values.push_back(APInt(64, random()).trunc(type.getElementTypeBitWidth()));
  return DenseElementsAttr::get(type, values);
}

/// One part of a file, in a context of its own.
struct Part {
  Part(StringRef text, bool areVaried) : context(MLIRContext::Threading::DISABLED) {
    DialectRegistry registry;
    interp::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.getLoadedDialect<graph::GraphDialect>()->evaluator = [](Operation *op, auto operands, auto &results) {
      return interp::evaluate(op, operands, results);
    };
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) { messages += diagnostic.str() + "\n"; });
    module = parseSourceString<ModuleOp>(text.str(), &context); // which wants a zero behind it
    if (module && areVaried)
      varyConstants();
  }

  void varyConstants() {
    std::mt19937 random(11);
    module->walk([&](graph::ConstantOp constant) {
      if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
        constant.setValueAttr(varied(splat, random));
    });
  }

  bool apply(StringRef pipeline) {
    PassManager passes(&context); // of a module; one inside of it there is not
    if (pipeline.consume_front("builtin.module("))
      pipeline.consume_back(")");
    return succeeded(parsePassPipeline(pipeline, passes, llvm::errs())) && succeeded(passes.run(*module));
  }

  std::string print() {
    std::string printed;
    llvm::raw_string_ostream stream(printed);
    module->print(stream);
    return printed;
  }

  std::optional<std::vector<Tensor>> run(StringRef function, const Symbols &symbols);

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string messages;
};

/// Small integers, so that sums of floats are exact in any order; indices and conditions may be 0 and 1.
Tensor randomTensor(RankedTensorType type, const Symbols &symbols, std::mt19937 &random) {
  SmallVector<int64_t> shape;
  for (const graph::SymbolicInt &extent : graph::shapeOf(type))
    shape.push_back(extent.evaluate(symbols).value_or(0));
  Tensor tensor = *Tensor::allocate(type.getElementType(), shape);
  auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  if (type.getElementType().isF32())
    for (float &value : tensor.mutableElements<float>())
      value = static_cast<float>(pick(-8, 8));
  else if (type.getElementType().isF64())
    for (double &value : tensor.mutableElements<double>())
      value = static_cast<double>(pick(-8, 8));
  else if (auto narrow = dyn_cast<FloatType>(type.getElementType()); narrow && narrow.getWidth() == 16)
    for (uint16_t &value : tensor.mutableElements<uint16_t>()) {
      llvm::APFloat number(static_cast<double>(pick(-8, 8)));
      bool isRounded = false;
      number.convert(narrow.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &isRounded);
      value = static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
    }
  else if (type.getElementType().isInteger(64))
    for (int64_t &value : tensor.mutableElements<int64_t>())
      value = pick(0, 1);
  else if (type.getElementType().isInteger(1))
    for (bool &value : tensor.mutableElements<bool>())
      value = pick(0, 1) == 1;
  else if (graph::bitWidth(type.getElementType()) == 8)
    for (int8_t &value : tensor.mutableElements<int8_t>())
      value = static_cast<int8_t>(pick(-128, 127));
  else
    llvm::report_fatal_error("same-values knows no inputs of this type");
  return tensor;
}

std::optional<std::vector<Tensor>> Part::run(StringRef function, const Symbols &symbols) {
  auto main = module->lookupSymbol<func::FuncOp>(function);
  auto entry = module->lookupSymbol<host::EntryOp>(function); // behind memory planning
  std::mt19937 random(7);
  std::vector<Tensor> inputs;
  for (unsigned i = 0, count = entry ? entry.inputCount() : main.getNumArguments(); i < count; ++i) {
    Type type = entry ? entry.tensorOf(i) : main.getArgumentTypes()[i];
    inputs.push_back(randomTensor(cast<RankedTensorType>(type), symbols, random));
  }
  interp::InterpreterOptions options;
  options.memoryLimitBytes = uint64_t{1} << 30;
  FailureOr<SmallVector<Tensor>> results =
      entry ? interp::interpret(entry, inputs, options) : interp::interpret(main, inputs, options);
  if (failed(results))
    return std::nullopt;
  return std::vector<Tensor>(results->begin(), results->end());
}

bool areEqual(const Tensor &a, const Tensor &b, double within) {
  if (a.shape != b.shape)
    return false;
  if (!a.elementType.isF32())
    return std::memcmp(a.data(), b.data(), a.sizeBytes()) == 0;
  float largest = 0;
  for (float x : a.elements<float>())
    largest = std::max(largest, std::abs(x));
  return llvm::all_of(llvm::zip(a.elements<float>(), b.elements<float>()), [&](auto pair) {
    auto [x, y] = pair;
    double most = within > 0 ? within * largest : 1e-5 * (1 + std::abs(x));
    return x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= most;
  });
}

/// All alike, then each another.
std::vector<Symbols> valuesOf(func::FuncOp function) {
  std::set<std::string> names;
  for (Type type : function.getArgumentTypes())
    for (const graph::SymbolicInt &extent : graph::shapeOf(cast<RankedTensorType>(type)))
      extent.symbols(names);
  if (names.empty())
    return {Symbols()};
  std::vector<Symbols> values;
  for (bool isAlike : {true, false})
    for (size_t i = 0; i < std::size(extents); ++i) {
      size_t position = i;
      Symbols symbols;
      for (const std::string &name : names)
        symbols[name] = extents[(isAlike ? position : position++) % std::size(extents)];
      values.push_back(std::move(symbols));
    }
  return values;
}

int compare(Part &before, Part &after, func::FuncOp function, double within) {
  StringRef name = function.getSymName();
  unsigned runs = 0;
  for (const Symbols &symbols : valuesOf(function)) {
    std::string where = ("'" + name + "'").str();
    for (const auto &symbol : symbols)
      where += (", " + symbol.first() + " = " + Twine(symbol.second)).str();
    auto expected = before.run(name, symbols), got = after.run(name, symbols);
    if (expected.has_value() != got.has_value())
      return fail(where + ": one of both refuses its inputs\n" + before.messages + after.messages);
    if (!expected)
      continue;
    ++runs;
    for (size_t i = 0; i < expected->size(); ++i)
      if (!areEqual((*expected)[i], (*got)[i], within))
        return fail(where + ": result " + Twine(i) + " is another");
  }
  return runs ? 0 : fail("'" + name + "' ran with no value of its symbols\n" + before.messages);
}

int comparePart(StringRef text, const Options &options, bool &isChanged) {
  Part before(text, options.areVaried), after(text, options.areVaried);
  if (!before.module || !after.apply(options.pipeline))
    return fail("a part of the file is not what the passes take\n" + before.messages + after.messages);
  isChanged |= before.print() != after.print();
  for (auto function : before.module->getOps<func::FuncOp>())
    if (!function.isPrivate() && compare(before, after, function, options.within))
      return 1;
  return 0;
}
} // namespace

int main(int argc, char **argv) {
  if (argc < 3)
    return fail("expected FILE.mlir and PIPELINE");
  Options options{argv[1], argv[2]};
  for (StringRef option : ArrayRef(argv + 3, argv + argc))
    if (option == "--varied")
      options.areVaried = true;
    else if (!option.consume_front("--within=") || option.getAsDouble(options.within))
      return fail("expected --varied or --within=PART, got '" + option + "'");
  graph::registerGraphPasses();
  tile::registerTilePasses();
  host::registerHostPasses();
  registerTransformsPasses();
  auto file = llvm::MemoryBuffer::getFile(options.file, /*IsText=*/true);
  if (!file)
    return fail(options.file + ": " + file.getError().message());
  SmallVector<StringRef> parts;
  (*file)->getBuffer().split(parts, "\n// -----\n");
  bool isChanged = false;
  for (StringRef part : parts)
    if (comparePart(part, options, isChanged))
      return 1;
  return isChanged ? 0 : fail("the passes change nothing");
}
