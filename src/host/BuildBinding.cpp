//===- BuildBinding.cpp - from extents of inputs to symbols -----------------===//
//
// A symbol is read from one dimension of an input (graph::symbolSourcesOf); all
// other dimensions are compared. A requirement of the operators inside is turned
// into a bound on one dimension where it can be, because that is what a caller
// can change.
//
//===----------------------------------------------------------------------===//

#include "host/BuildBinding.h"

#include "graph/Attributes.h"
#include "graph/Repeats.h"
#include "graph/Requirements.h"
#include "graph/Shapes.h"
#include "graph/States.h"
#include "graph/Symbols.h"
#include "support/Inequality.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::host;
using graph::shapeOf;

namespace {
class BindingBuilder {
public:
  BindingBuilder(OpBuilder &b, func::FuncOp main, EntryOp entry)
      : b(b), main(main), entry(entry), symbols(graph::symbolsOf(main)), sources(graph::symbolSourcesOf(main)),
        repeats(graph::repeatsOf(main)) {}

  void run() {
    readSymbols();
    repeat();
    expectExtents();
    require();
  }

private:
  ShapeAttr list(const SymbolicInt &value) { return ShapeAttr::get(b.getContext(), {value}); }

  void readSymbols() {
    for (auto [symbol, source] : llvm::zip_equal(symbols, sources))
      if (source) // else an operator defines it: verifyModule refuses other models
        b.create<ExtentOp>(main.getLoc(), symbol, entry.input(source->input), source->dim, source->factor,
                           source->offset);
  }

  void repeat() {
    if (repeats.empty())
      return;
    SmallVector<Attribute> names, extents;
    for (const graph::Repeat &repeat : repeats) {
      graph::Shape choices{SymbolicInt::symbol(repeat.symbol)};
      choices.append(repeat.others);
      names.push_back(b.getStringAttr(repeat.symbol));
      extents.push_back(ShapeAttr::get(b.getContext(), choices));
    }
    b.create<RepeatOp>(main.getLoc(), b.getArrayAttr(names), b.getArrayAttr(extents));
  }

  void expectExtents() {
    for (BlockArgument argument : main.getArguments()) {
      unsigned input = argument.getArgNumber();
      uint32_t repeating = graph::repeatingDims(repeats, input);
      for (auto [dim, extent] : llvm::enumerate(shapeOf(argument)))
        if (!(repeating >> dim & 1))
          b.create<ExpectOp>(main.getLoc(), entry.input(input), dim, list(extent));
    }
  }

  void require() {
    auto attribute = main->getAttrOfType<ShapeAttr>(graph::requirementsAttribute);
    if (!attribute)
      return;
    SmallVector<SymbolicInt> all = attribute.values();
    std::vector<std::string> texts = graph::describeRequirements(main, /*eachEquationOnce=*/false);
    for (auto [requirement, text] : llvm::zip_equal(all, texts))
      require(requirement, text, all);
  }

  /// What a requirement says about one dimension of one input.
  struct Condition {
    graph::SymbolSource source;
    SymbolicInt extent; ///< a limit if it is a number, else the only one that fits
    bool isLeast;
  };

  /// Solves a requirement for the symbol that is bound last: a limit if that is a number, and where the opposite is
  /// required too, the one extent that fits.
  std::optional<Condition> conditionOf(const SymbolicInt &requirement, ArrayRef<SymbolicInt> all) {
    for (size_t number = symbols.size(); number-- > 0;)
      for (int64_t sign : {1, -1}) {
        SymbolicInt symbol = SymbolicInt::symbol(symbols[number]), rest = requirement - symbol * SymbolicInt(sign);
        if (!sources[number] || isState(sources[number]->input) || !requirement.uses(symbols[number]) ||
            rest.uses(symbols[number]))
          continue;
        SymbolicInt bound = sign > 0 ? -rest : rest;
        if (!bound.isConstant() && !llvm::is_contained(all, -requirement))
          continue;
        SymbolicInt extent = bound * SymbolicInt(sources[number]->factor) + SymbolicInt(sources[number]->offset);
        if (!extent.isPoison())
          return Condition{*sources[number], extent, sign > 0};
      }
    return std::nullopt;
  }

  /// Callers do not choose its extents.
  bool isState(unsigned input) { return main.getArgAttr(input, graph::stateAttribute) != nullptr; }

  /// At most `limit` bytes of a name, in a text whose braces stand for numbers.
  static std::string literal(StringRef name, size_t limit) {
    std::string text;
    for (char c : name.take_front(limit))
      text.append(c == '{' ? 2 : 1, c);
    return text;
  }

  /// What is needed, and which dimension that is about or what all of them are.
  std::string messageOf(StringRef needs, const support::Inequality &inequality,
                        const std::set<std::string> &mentioned) {
    std::string said = literal(needs, 200) + ", got {}", where;
    for (auto [number, source] : llvm::enumerate(sources)) {
      const std::string &symbol = symbols[number];
      if (!mentioned.count(symbol) || where.size() > 200)
        continue;
      where += (where.empty() ? ", where " : ", ") + literal(symbol, 60) + " = {" + std::to_string(number) + "}";
      if (!source || source->factor != 1 || source->offset != 0 || isState(source->input))
        continue;
      auto given = main.getArgAttrOfType<StringAttr>(source->input, graph::nameAttribute);
      std::string name = given ? given.str() : "input" + std::to_string(source->input), shape;
      std::string dimension = "input '" + literal(name, 60) + "', dimension " + std::to_string(source->dim);
      if (mentioned.size() > 1) {
        where += " (" + dimension + ")";
        continue;
      }
      for (const SymbolicInt &extent : shapeOf(main.getArgument(source->input)))
        shape += (shape.empty() ? "" : ", ") + extent.str();
      return dimension + ": " + said + (inequality.left == SymbolicInt::symbol(symbol) ? "" : where) +
             "; hint: its shape is [" + literal(shape, 160) + "]";
    }
    return "inputs: their shapes do not fit together: " + said + where + "; hint: choose extents for which that holds";
  }

  /// Names the dimension that is to blame if there is one.
  void require(const SymbolicInt &requirement, StringRef text, ArrayRef<SymbolicInt> all) {
    support::Inequality inequality(requirement, llvm::is_contained(all, -requirement));
    std::optional<Condition> condition = conditionOf(support::withoutRounding(requirement), all);
    std::set<std::string> mentioned;
    requirement.symbols(mentioned);
    StringAttr message = b.getStringAttr(messageOf(text, inequality, mentioned));
    if (!condition) {
      b.create<RequireOp>(main.getLoc(), list(requirement), list(inequality.left), message, Value(), IntegerAttr(),
                          ShapeAttr(), StringAttr());
      return;
    }
    StringRef bound = !condition->extent.isConstant() ? "exactly" : condition->isLeast ? "least" : "most";
    b.create<RequireOp>(main.getLoc(), list(requirement), list(inequality.left), message,
                        entry.input(condition->source.input), b.getI64IntegerAttr(condition->source.dim),
                        list(condition->extent), b.getStringAttr(bound));
  }

  OpBuilder &b;
  func::FuncOp main;
  EntryOp entry;
  std::vector<std::string> symbols;
  std::vector<std::optional<graph::SymbolSource>> sources;
  std::vector<graph::Repeat> repeats;
};
} // namespace

void perpend::host::buildBinding(OpBuilder &builder, func::FuncOp main, EntryOp entry) {
  BindingBuilder(builder, main, entry).run();
}
