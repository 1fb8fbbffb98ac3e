//===- Workloads.cpp - small kernels to schedule --------------------------===//

#include "Workloads.h"

#include <algorithm>

using namespace perpend::tile;
using Dims = std::vector<std::string>;

static bool isNumber(const std::string &dim) { return dim.find_first_not_of("0123456789") == std::string::npos; }

bool TensorText::isSymbolic() const { return !std::all_of(dims.begin(), dims.end(), isNumber); }

std::string TensorText::str() const {
  std::string text = "tensor<", shape;
  for (const std::string &dim : dims) {
    text += (isNumber(dim) ? dim : "?") + "x";
    shape += (shape.empty() ? "" : ", ") + (isNumber(dim) ? dim : "\"" + dim + "\"");
  }
  return text + element + (isSymbolic() ? ", #graph.shape<[" + shape + "]>>" : ">");
}

bool Workload::isSymbolic() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const TensorText &input) { return input.isSymbolic(); });
}

std::string Workload::text() const {
  std::string arguments, values, types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string comma = i ? ", " : "", value = std::string("%") + static_cast<char>('a' + i);
    arguments += comma + value + ": " + inputs[i].str();
    values += comma + value;
    types += comma + inputs[i].str();
  }
  std::string r = result.str();
  return "func.func private @k(" + arguments + ") -> " + r + " attributes {graph.symbols = [" +
         (isSymbolic() ? "\"n\"" : "") + "], tile.kernel} {\n" + body + "  return %r : " + r + "\n}\n" +
         "func.func @main(" + arguments + ") -> " + r + " {\n  %r = graph.call_kernel @k(" + values + ")" +
         (isSymbolic() ? " {graph.symbols = #graph.shape<[\"n\"]>}" : "") + " : (" + types + ") -> " + r +
         "\n  return %r : " + r + "\n}\n";
}

//===----------------------------------------------------------------------===//
// Operators as text
//===----------------------------------------------------------------------===//

static std::string typed(const std::string &line, const std::vector<TensorText> &from, const TensorText &to) {
  std::string types;
  for (const TensorText &type : from)
    types += (types.empty() ? "" : ", ") + type.str();
  return "  " + line + " : (" + types + ") -> " + to.str() + "\n";
}

static std::string moved(const std::string &line, const TensorText &from, const TensorText &to) {
  return "  " + line + " : " + from.str() + " -> " + to.str() + "\n";
}

/// A map with the scalar code `code`, from %x and %y to %z.
static std::string mapOf(const std::string &result, const std::vector<std::string> &operands, const TensorText &type,
                         const std::string &code) {
  std::string list, types, arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string comma = i ? ", " : "";
    list += comma + operands[i];
    types += comma + type.str();
    arguments += comma + (i ? "%y: " : "%x: ") + type.element;
  }
  return "  " + result + " = graph.map (" + list + ") : (" + types + ") -> " + type.str() + " {\n  ^bb0(" + arguments +
         "):\n    " + code + "\n    graph.yield %z : " + type.element + "\n  }\n";
}

static std::string binary(const std::string &op, const std::string &element) {
  return "%z = arith." + op + (element == "f32" ? "f" : "i") + " %x, %y : " + element;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static Workload matmul(const std::string &name, const Dims &mkn, const std::string &element, bool transposed,
                       bool follows, std::vector<int64_t> sizes = {1}) {
  TensorText a{{mkn[0], mkn[1]}, element}, b{{mkn[1], mkn[2]}, element}, c{{mkn[0], mkn[2]}, element};
  if (transposed)
    std::swap(b.dims[0], b.dims[1]);
  std::string over = transposed ? "[1] x [1]" : "[1] x [0]", product = follows ? "%p" : "%r";
  Workload workload{
      name, {a, b}, typed(product + " = graph.contract %a, %b batch [] x [] over " + over, {a, b}, c), c, sizes};
  if (follows) // (p - max over the row of p) * p
    workload.body += moved("%m = graph.reduce max %p dims [1]", c, {{mkn[0]}, element}) +
                     moved("%w = graph.broadcast %m dims [0]", {{mkn[0]}, element}, c) +
                     mapOf("%d", {"%p", "%w"}, c, binary("sub", element)) +
                     mapOf("%r", {"%d", "%p"}, c, binary("add", element));
  return workload;
}

static Workload batched(const std::string &name, const std::string &n, const std::string &element,
                        std::vector<int64_t> sizes = {1}) {
  TensorText a{{"3", n, "7"}, element}, b{{"3", "5", "7"}, element}, c{{"3", n, "5"}, element};
  return {name, {a, b}, typed("%r = graph.contract %a, %b batch [0] x [0] over [2] x [2]", {a, b}, c), c, sizes};
}

static Workload conv(const std::string &name, const std::string &groups, const TensorText &a, const TensorText &w,
                     const TensorText &r) {
  return {
      name,
      {a, w},
      typed("%r = graph.conv %a, %b strides [2, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups " + groups,
            {a, w}, r),
      r};
}

/// A row minus its maximum, squared, minus the sum of that: the form of softmax, exact.
static Workload softmax(const std::string &name, const std::string &rows, const std::string &cols,
                        const std::string &element, std::vector<int64_t> sizes = {1}) {
  TensorText s{{rows, cols}, element}, r{{rows}, element};
  return {name,
          {s},
          moved("%m = graph.reduce max %a dims [1]", s, r) + moved("%w = graph.broadcast %m dims [0]", r, s) +
              mapOf("%d", {"%a", "%w"}, s, binary("sub", element)) +
              mapOf("%e", {"%d", "%d"}, s, binary("mul", element)) + moved("%t = graph.reduce sum %e dims [1]", s, r) +
              moved("%b = graph.broadcast %t dims [0]", r, s) + mapOf("%r", {"%e", "%b"}, s, binary("sub", element)),
          s,
          sizes};
}

/// Two sums, and what is left: the form of layer normalisation.
static Workload layerNorm(const std::string &name, const std::string &rows, const std::string &element,
                          std::vector<int64_t> sizes = {1}) {
  TensorText s{{"2", rows, "8"}, element}, r{{"2", rows}, element}, g{{"8"}, element};
  return {name,
          {s, g},
          moved("%m = graph.reduce sum %a dims [2]", s, r) + moved("%w = graph.broadcast %m dims [0, 1]", r, s) +
              mapOf("%d", {"%a", "%w"}, s, binary("sub", element)) +
              mapOf("%q", {"%d", "%d"}, s, binary("mul", element)) + moved("%v = graph.reduce sum %q dims [2]", s, r) +
              moved("%vw = graph.broadcast %v dims [0, 1]", r, s) +
              mapOf("%dv", {"%d", "%vw"}, s, binary("add", element)) +
              moved("%gw = graph.broadcast %b dims [2]", g, s) + mapOf("%r", {"%dv", "%gw"}, s, binary("sub", element)),
          s,
          sizes};
}

/// Sums over rows of what is moved about.
static Workload views(const std::string &name, const std::string &n, const std::string &element,
                      std::vector<int64_t> sizes = {1}) {
  std::string product = isNumber(n) ? std::to_string(6 * std::stoi(n)) : "6*" + n;
  TensorText a{{n, "6"}, element}, t{{"6", n}, element}, f{{product}, element}, s{{"6"}, element};
  return {name,
          {a},
          moved("%t = graph.transpose %a [1, 0]", a, t) + moved("%s = graph.reduce sum %t dims [1]", t, s) +
              moved("%u = graph.broadcast %s dims [0]", s, t) + mapOf("%v", {"%t", "%u"}, t, binary("add", element)) +
              moved("%r = graph.reshape %v", t, f),
          f,
          sizes};
}

static Workload gather(const std::string &name, const std::string &n, std::vector<int64_t> sizes = {1}) {
  TensorText a{{"5", "4"}}, i{{n}, "i64", 0, 4}, r{{n, "4"}}, s{{n}};
  return {name,
          {a, i},
          typed("%g = graph.gather %a[%b] axis 0", {a, i}, r) + moved("%s = graph.reduce sum %g dims [1]", r, s) +
              moved("%u = graph.broadcast %s dims [0]", s, r) + mapOf("%r", {"%g", "%u"}, r, binary("add", "f32")),
          r,
          sizes};
}

/// Rows of what is computed first.
static Workload gatherOfSquares(const std::string &name, const std::string &n, std::vector<int64_t> sizes = {1}) {
  TensorText a{{"5", n}, "i32"}, i{{"3"}, "i64", 0, 4}, r{{"3", n}, "i32"}, s{{n}, "i32"};
  return {name,
          {a, i},
          mapOf("%q", {"%a", "%a"}, a, binary("mul", "i32")) + typed("%g = graph.gather %q[%b] axis 0", {a, i}, r) +
              moved("%s = graph.reduce sum %q dims [0]", a, s) + moved("%u = graph.broadcast %s dims [1]", s, r) +
              mapOf("%r", {"%g", "%u"}, r, binary("add", "i32")),
          r,
          sizes};
}

static Workload padConcat(const std::string &name, const std::string &n, std::vector<int64_t> sizes = {1}) {
  bool number = isNumber(n);
  TensorText a{{n, "3"}}, p{{number ? std::to_string(std::stoi(n) + 2) : n + " + 2", "3"}};
  TensorText c{{number ? std::to_string(2 * std::stoi(n) + 2) : "2*" + n + " + 2", "3"}}, s{{"3"}};
  return {name,
          {a},
          "  %p = graph.pad %a <[1, 0]> 0.5 : f32 : " + a.str() + " -> " + p.str() + "\n" +
              typed("%c = graph.concat %p, %a axis 0", {p, a}, c) + moved("%s = graph.reduce max %c dims [0]", c, s) +
              moved("%u = graph.broadcast %s dims [1]", s, c) + mapOf("%r", {"%c", "%u"}, c, binary("sub", "f32")),
          c,
          sizes};
}

/// What lies across behind a padding, and beside it what does not.
static Workload padTransposed(const std::string &name, const std::string &n, const std::string &element,
                              std::vector<int64_t> sizes = {1}) {
  std::string more = isNumber(n) ? std::to_string(std::stoi(n) + 3) : n + " + 3";
  TensorText a{{"2", "6", n}, element}, b{{"6"}, element}, p{{"2", "6", more}, element}, r{{"2", more, "6"}, element};
  return {name,
          {a, b},
          "  %p = graph.pad %a <[0, 0, 1]> " + std::string(element == "f32" ? "2.0" : "2") + " : " + element + " : " +
              a.str() + " -> " + p.str() + "\n" + moved("%t = graph.transpose %p [0, 2, 1]", p, r) +
              moved("%u = graph.broadcast %b dims [2]", b, r) + mapOf("%r", {"%t", "%u"}, r, binary("sub", element)),
          r,
          sizes};
}

/// A product with something added to its columns.
static Workload biased(const std::string &name, const std::string &n, const std::string &depth,
                       const std::string &element, std::vector<int64_t> sizes = {1}) {
  TensorText a{{n, depth}, element}, b{{depth, "6"}, element}, bias{{"6"}, element}, r{{n, "6"}, element};
  return {name,
          {a, b, bias},
          typed("%p = graph.contract %a, %b batch [] x [] over [1] x [0]", {a, b}, r) +
              moved("%w = graph.broadcast %c dims [1]", bias, r) + mapOf("%r", {"%p", "%w"}, r, binary("add", element)),
          r,
          sizes};
}

/// A product whose right operand lies in panels of 4 columns, and what follows.
static Workload packed(const std::string &name, const std::string &rows, const std::string &depth,
                       std::vector<int64_t> sizes = {1}) {
  TensorText a{{rows, depth}}, b{{"2", depth, "4"}}, r{{rows, "7"}};
  return {name,
          {a, b},
          typed("%p = tile.matmul %a, %b", {a, b}, r) + mapOf("%r", {"%p", "%p"}, r, binary("add", "f32")),
          r,
          sizes};
}

/// Sums of neighbours, of sums of rows.
static Workload neighbours(const std::string &name, const std::string &cols, std::vector<int64_t> sizes = {1}) {
  TensorText a{{"9", cols}}, m{{"9"}}, r{{"7"}};
  return {name,
          {a},
          moved("%m = graph.reduce sum %a dims [1]", a, m) + moved("%s = graph.slice %m <[0]> [1]", m, r) +
              moved("%t = graph.slice %m <[1]> [1]", m, r) + moved("%u = graph.slice %m <[2]> [1]", m, r) +
              mapOf("%v", {"%s", "%t"}, r, binary("sub", "f32")) + mapOf("%r", {"%v", "%u"}, r, binary("add", "f32")),
          r,
          sizes};
}

/// Nothing but an edge of a constant.
static Workload padded(const std::string &name, const std::string &n, std::vector<int64_t> sizes = {1}) {
  TensorText a{{n, "4"}}, r{{isNumber(n) ? std::to_string(std::stoi(n) + 3) : n + " + 3", "4"}};
  return {name, {a}, "  %r = graph.pad %a <[2, 0]> 0.5 : f32 : " + a.str() + " -> " + r.str() + "\n", r, sizes};
}

/// Sums of the first columns of what is padded behind them.
static Workload paddedPrefix(const std::string &name, const std::string &n, const std::string &count,
                             std::vector<int64_t> sizes = {1}) {
  std::string more = isNumber(n) ? std::to_string(std::stoi(n) + 2) : n + " + 2";
  TensorText a{{"5", n}}, p{{"5", more}}, c{{"5", count}}, b{{"3", "5", count}};
  return {name,
          {a, b},
          "  %p = graph.pad %a <[0, 0]> 2.0 : f32 : " + a.str() + " -> " + p.str() + "\n" +
              mapOf("%q", {"%p", "%p"}, p, binary("add", "f32")) + moved("%c = graph.slice %q <[0, 0]> [1, 1]", p, c) +
              moved("%w = graph.broadcast %c dims [1, 2]", c, b) + mapOf("%d", {"%w", "%b"}, b, binary("sub", "f32")) +
              moved("%r = graph.reduce sum %d dims [0]", b, c),
          c,
          sizes};
}

std::vector<Workload> perpend::tile::workloads() {
  std::vector<int64_t> several = {0, 1, 5, 13};
  return {
      matmul("matmul", {"7", "5", "6"}, "f32", false, false),
      matmul("matmulOfNothing", {"4", "0", "3"}, "f32", false, true),
      matmul("matmulOfOne", {"1", "13", "1"}, "i32", false, true),
      matmul("matmulTransposed", {"4", "12", "5"}, "i32", true, true),
      matmul("matmulSymbolicRows", {"n", "8", "5"}, "f32", false, true, several),
      matmul("matmulSymbolicDepth", {"3", "n", "4"}, "i32", true, true, several),
      packed("packed", "7", "5"),
      packed("packedSymbolic", "n", "3", several),
      batched("batched", "4", "i32"),
      batched("batchedSymbolic", "n", "f32", several),
      conv("conv", "1", {{"2", "3", "6", "5"}}, {{"4", "3", "3", "3"}}, {{"2", "4", "3", "5"}}),
      conv("depthwise", "3", {{"1", "3", "6", "5"}, "f32"}, {{"3", "1", "3", "3"}, "f32"},
           {{"1", "3", "3", "5"}, "f32"}),
      softmax("softmax", "5", "7", "f32"),
      softmax("softmaxSymbolicRows", "n", "8", "i32", several),
      softmax("softmaxSymbolicColumns", "3", "n", "f32", several),
      layerNorm("layerNorm", "3", "i32"),
      layerNorm("layerNormSymbolic", "n", "f32", several),
      views("views", "5", "i32"),
      views("viewsSymbolic", "n", "f32", several),
      gather("gather", "7"),
      gather("gatherSymbolic", "n", several),
      gatherOfSquares("gatherOfSquares", "3"),
      gatherOfSquares("gatherOfSquaresSymbolic", "n", several),
      padConcat("padConcat", "4"),
      padConcat("padConcatSymbolic", "n", several),
      padTransposed("padTransposed", "5", "i32"),
      padTransposed("padTransposedSymbolic", "n", "f32", several),
      biased("biased", "4", "5", "f32"),
      biased("biasedOfNothing", "4", "0", "i32"),
      biased("biasedSymbolicDepth", "4", "n", "f32", several),
      biased("biasedSymbolic", "n", "5", "i32", several),
      neighbours("neighbours", "4"),
      neighbours("neighboursSymbolic", "n", several),
      padded("padded", "5"),
      padded("paddedSymbolic", "n", several),
      paddedPrefix("paddedPrefix", "6", "4"),
      paddedPrefix("paddedPrefixSymbolic", "n", "2", several),
  };
}
