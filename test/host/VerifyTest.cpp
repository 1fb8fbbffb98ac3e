//===- VerifyTest.cpp - host programs with one flaw -------------------------===//

#include "host/VerifyProgram.h"
#include "interp/Interpreter.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace perpend;

namespace {
constexpr const char *program = R"(
#nx4 = #graph.shape<["n", 4]>
host.segment @w0 at 64 = dense<1.0> : tensor<4xf32>
host.entry @main(%x: !host.place<[n, 4] x f32>, %c: !host.place<[] x i1>, %y: !host.place<[n, 4] x f32>, %z: !host.room)
    attributes {inputs = 2 : i64, output_types = [tensor<?x4xf32, #nx4>, tensor<?x4xf32, #graph.shape<["k", 4]>>],
                symbols = ["n", "k"], data_symbols = ["k"]} {
  host.extent "n" of %x dim 0 times 1 plus 0 : !host.place<[n, 4] x f32>
  host.expect %x dim 1 is [4] : !host.place<[n, 4] x f32>
  host.require [n + -1] else "{}" got [n] of %x dim 0 "least" [1] : !host.place<[n, 4] x f32>
  host.repeat ["n"] from [#graph.shape<["n", 7]>]
  %a = host.buffer bytes [16*n] parts [1] live [1, 4] : <host>
  %b = host.buffer bytes [1024] parts [1] live [2, 3] : <host>
  %r = host.room 2 : !host.room
  %w = host.constant @w0 : <[4] x f32>
  %p = host.place %a [0] : !host.memory<host> to <[n, 4] x f32>
  %q = host.place %b [0] : !host.memory<host> to <[8, 4] x f32>
  %h = host.place %q [64] : !host.place<[8, 4] x f32> to <[4, 4] x f32>
  host.read "flag" from %c : <[] x i1>
  host.launch @negate(%x) -> (%p) symbols [n] : (!host.place<[n, 4] x f32>) -> (!host.place<[n, 4] x f32>)
  host.launch @negate(%p) -> (%q) symbols [8] : (!host.place<[n, 4] x f32>) -> (!host.place<[8, 4] x f32>)
  host.copy %h to %y : <[4, 4] x f32> to <[n, 4] x f32>
  host.copy %p to %y : <[n, 4] x f32> to <[n, 4] x f32>
  host.if [flag] {
    host.set ["k"] to [1]
  } else {
    host.set ["k"] to [2]
  }
  %k = host.reserve %z : !host.room to <[k, 4] x f32>
  host.launch @negate(%x) -> (%k) symbols [n] : (!host.place<[n, 4] x f32>) -> (!host.place<[k, 4] x f32>)
  host.loop "i" below [3] carried () {
    %s = host.scalar [i] : <[] x i64>
    host.read "j" from %s : <[] x i64>
    host.yield
  }
  host.return
}
func.func private @negate(%a: memref<?xf32>, %r: memref<?xf32>, %s: memref<?xi64>, %begin: index, %end: index)
    attributes {tile.kernel, graph.symbols = ["n"], tile.extent = #graph.shape<["n"]>} {
  return
}
func.func private @other(%a: memref<?xf32>) { return }
)";

// "rows" grows, "ring" is overwritten in its memory, "sum" is computed into another.
constexpr const char *programWithStates = R"(
#more = #graph.shape<["length + n", 4]>
host.state @s0 "rows" : !host.place<[16, 4] x f32> growing 0
host.state @s1 "ring" : !host.place<[8, 4] x f32>
host.state @s2 "sum" : !host.place<[4] x f32>
host.entry @main(%x: !host.place<[n, 4] x f32>, %p: !host.place<[1, 1] x i64>, %rows: !host.place<[length, 4] x f32> {host.state = @s0},
    %ring: !host.place<[8, 4] x f32> {host.state = @s1}, %sum: !host.place<[4] x f32> {host.state = @s2},
    %y: !host.place<[4] x f32>, %more: !host.place<[length + n, 4] x f32> {host.state = @s0, host.in_place},
    %ring1: !host.place<[8, 4] x f32> {host.state = @s1, host.in_place}, %sum1: !host.place<[4] x f32> {host.state = @s2})
    attributes {inputs = 5 : i64, output_types = [tensor<4xf32>, tensor<?x4xf32, #more>, tensor<8x4xf32>, tensor<4xf32>],
                symbols = ["n", "length"], data_symbols = []} {
  host.extent "n" of %x dim 0 times 1 plus 0 : !host.place<[n, 4] x f32>
  host.extent "length" of %rows dim 0 times 1 plus 0 : !host.place<[length, 4] x f32>
  host.expect %x dim 1 is [4] : !host.place<[n, 4] x f32>
  host.expect %p dim 0 is [1] : !host.place<[1, 1] x i64>
  host.expect %p dim 1 is [1] : !host.place<[1, 1] x i64>
  host.expect %rows dim 1 is [4] : !host.place<[length, 4] x f32>
  host.expect %ring dim 0 is [8] : !host.place<[8, 4] x f32>
  host.expect %ring dim 1 is [4] : !host.place<[8, 4] x f32>
  host.expect %sum dim 0 is [4] : !host.place<[4] x f32>
  %last = host.place %rows [0] : !host.place<[length, 4] x f32> to <[4] x f32>
  %new = host.place %more [16*length] : !host.place<[length + n, 4] x f32> to <[n, 4] x f32>
  %third = host.place %ring1 [48] : !host.place<[8, 4] x f32> to <[4] x f32>
  host.copy %last to %third : <[4] x f32> to <[4] x f32>
  host.copy_rows [2] of %last to %ring1 at [64] every [16] : <[4] x f32> to <[8, 4] x f32>
  host.launch @negate(%x) -> (%new) symbols [n] : (!host.place<[n, 4] x f32>) -> (!host.place<[n, 4] x f32>)
  host.launch @negate(%rows) -> (%y) symbols [4] : (!host.place<[length, 4] x f32>) -> (!host.place<[4] x f32>)
  host.launch @negate(%sum) -> (%sum1) symbols [4] : (!host.place<[4] x f32>) -> (!host.place<[4] x f32>)
  %second = host.place %ring [32] : !host.place<[8, 4] x f32> to <[4] x f32>
  host.copy_slices %sum by %p to %ring1 : <[4] x f32>, <[1, 1] x i64>, <[8, 4] x f32>
  host.return
}
func.func private @negate(%a: memref<?xf32>, %r: memref<?xf32>, %s: memref<?xi64>, %begin: index, %end: index)
    attributes {tile.kernel, graph.symbols = ["n"], tile.extent = #graph.shape<["n"]>} {
  return
}
)";

struct Flaw {
  const char *before, *after, *message;
};

/// Each replaces one text of the program.
constexpr Flaw flaws[] = {
    // Operations
    {"at 64 = dense", "at 65 = dense", "C1: expected an offset that is a multiple of 64, got 65"},
    {"%x dim 1 is", "%x dim 2 is", "C1: expected a dimension of an input"},
    {"%x dim 1 is", "%y dim 1 is", "C1: expected a dimension of an input"},
    {"times 1 plus", "times 0 plus", "C2: expected a factor of at least 1, got 0"},
    {"\"least\" [1]", "\"least\" [n]", "C2: expected a dimension and `least` or `most` with a number"},
    {"\"least\" [1]", "\"about\" [1]", "C2: expected a dimension and `least` or `most` with a number"},
    {"host.repeat [\"n\"]", "host.repeat [\"n\", \"n\"]", "C1: expected a list of extents for each symbol"},
    {"[#graph.shape<[\"n\", 7]>]", "[#graph.shape<[]>]", "C1: expected a list of extents for each symbol"},
    {"set [\"k\"] to [1]", "set [\"k\"] to [1, 2]", "C1: expected a value for each of 1 symbols, got 2"},
    {"host.return", "%m = host.reserve %r keeping [1] : !host.room to <[] x f32>\n  host.return",
     "C1: expected a dimension, whose slices are kept"},
    {"host.yield", "%t = host.scalar [i] : <[2] x i64>\n    host.yield", "C1: expected a place of one i64"},
    {"read \"flag\" from %c : <[] x i1>", "read \"flag\" from %w : <[4] x f32>",
     "C1: expected a place of one i64 or i1"},
    {"place %q [64]", "place %q [65]", "C1: expected a place within 128 bytes, got one that ends at 129"},
    {"inputs = 2 : i64", "inputs = 5 : i64", "C1: expected at most 4 inputs, got 5"},
    {"inputs = 2 : i64", "inputs = 3 : i64", "C1: expected 1 output types, got 2"},
    {"carried () {", "carried (%p : !host.place<[n, 4] x f32>) -> (!host.place<[n, 4] x f32>) {",
     "C1: expected a body that takes and yields what is carried"},
    // Names
    {"host.return",
     "host.call \"string.x\"(%x) -> (%y) {} types [] defines [] : (!host.place<[n, 4] x f32>) -> "
     "!host.place<[n, 4] x f32>\n  host.return",
     "C1: expected the type of a tensor for each of 1 outputs"},
    {"host.set [\"k\"] to [1]", "%i = arith.constant 1 : i64", "expected operations of the host level in an entry"},
    {"host.extent \"n\"", "host.extent \"m\"", "C3: binding gives a value to 'm', which is no symbol of the entry"},
    {"host.repeat [\"n\"]", "host.repeat [\"m\"]", "C3: binding gives a value to 'm', which is no symbol of the entry"},
    {"%x dim 1 is [4]", "%x dim 1 is [5]", "C3: nothing compares dimension 1 of input 0 with its type"},
    {"times 1 plus 0", "times 1 plus 1", "C3: nothing compares dimension 0 of input 0 with its type"},
    {"bytes [16*n]", "bytes [16*k]", "C4: expected sizes over symbols of the entry that binding knows"},
    {"bytes [16*n]", "bytes [16*flag]", "C4: expected sizes over symbols of the entry that binding knows"},
    {"[\"k\", 4]>", "[\"flag\", 4]>", "C4: expected extents of output 1 over symbols of the entry"},
    {"host.room 2", "host.room 3", "C5: expected a room with the number 2 before 3"},
    {"host.room 2", "host.room 1", "C5: expected a number of at least 2, got 1"},
    {"%c: !host.place<[] x i1>, %y: !host.place<[n, 4] x f32>, %z: !host.room)\n    attributes {inputs = 2 : i64",
     "%f: !host.place<[] x f32, far>, %c: !host.place<[] x i1>, %y: !host.place<[n, 4] x f32>, %z: !host.room)\n"
     "    attributes {inputs = 3 : i64",
     "C6: expected arguments in the host's memory, got a place in 'far'"},
    {"%z: !host.room)\n    attributes {inputs = 2 : i64, output_types = [tensor<?x4xf32, #nx4>, ",
     "%f: !host.place<[] x f32, far>, %z: !host.room)\n"
     "    attributes {inputs = 2 : i64, output_types = [tensor<?x4xf32, #nx4>, tensor<f32>, ",
     "C6: expected arguments in the host's memory, got a place in 'far'"},
    {"host.return", "%m = host.content %r : !host.room to <[n] x f32, far>\n  host.return",
     "C6: expected a place in the host's memory, got a place in 'far'"},
    {"host.return", "%m = host.reserve %r : !host.room to <[n] x f32, far>\n  host.return",
     "C6: expected a place in the host's memory, got a place in 'far'"},
    {"host.yield", "%t = host.scalar [i] : <[] x i64, far>\n    host.yield",
     "C6: expected a place in the host's memory, got a place in 'far'"},
    {"symbols [8]", "symbols [flag + k]", "C2: 'flag + k' uses a symbol before it has a value"},
    {"host.set [\"k\"] to [2]", "host.set [\"l\"] to [2]", "C2: 'k' uses a symbol before it has a value"},
    {"host.return", "host.check [j] at_least [0] else \"j\" got [j]\n  host.return",
     "C2: 'j' uses a symbol before it has a value"},
    // Kernels and segments
    {"launch @negate(%p)", "launch @absent(%p)", "C1: 'absent' is no kernel"},
    {"launch @negate(%p)", "launch @other(%p)", "C1: 'other' is no kernel"},
    {"symbols [8]", "symbols [8, 9]", "C2: expected 2 places and 1 symbols, got 2 and 2"},
    {"constant @w0 : <[4] x f32>", "constant @w0 : <[5] x f32>", "expected a segment of type"},
    {"constant @w0 : <[4] x f32>", "constant @w0 : <[4] x f64>", "expected a segment of type"},
    {"constant @w0 : <[4] x f32>", "constant @w1 : <[4] x f32>", "called 'w1'"},
    {"= dense<1.0> : tensor<4xf32>", "", "C2: expected a value, or a part of a file"},
    {"= dense<1.0>", "= dense<1.0> : tensor<4xf32> file \"w\" at 64 bytes 16", "C2: expected a part of a file"},
    {"at 64 = dense<1.0>", "at 64 file \"w\" at 64 bytes 15", "C2: expected the 16 bytes of its type, got 15"},
    {"at 64 = dense<1.0>", "at 64 file \"w\" at 32 bytes 16",
     "C1: expected an offset that is a multiple of 4096 and 32, as in the file, got 64"},
    {"at 64 = dense<1.0>", "at 64 file \"w\" at -4032 bytes 16", "C2: expected a part of a file"},
    {"host.segment @w0", "host.segment @a at 0 = dense<2.0> : tensor<17xf32>\nhost.segment @w0",
     "C3: expected an offset of at least 68, where 'a' ends, got 64"},
    {"host.segment @w0", "host.segment @a at 64 = dense<2.0> : tensor<4xf32>\nhost.segment @w0",
     "C3: expected an offset of at least 80, where "},
    {"host.segment @w0", "host.segment @a at 128 file \"w\" at 128 bytes 16 : tensor<4xf32>\nhost.segment @w0",
     "C3: expected an offset of at least 4096, where 'w0' ends, got 128"},
    // The plan
    {"live [1, 4]", "live [1, 3]", "P1: expected a buffer that lives in [1, 4], got [1, 3]"},
    {"live [2, 3]", "live [3, 3]", "P1: expected a buffer that lives in [2, 3], got [3, 3]"},
    {"live [2, 3]", "live [2]", "P1: expected a buffer that lives in [2, 3], got 1 numbers"},
    {"live [2, 3]", "", "P1: expected a buffer that lives in [2, 3], got none"},
    {"%b = host.buffer", "%u = host.buffer bytes [64] parts [1] live [0, 0] : <host>\n  %b = host.buffer",
     "P1: expected a buffer without lifetime, since no step touches it, got [0, 0]"},
    {"live [2, 3]", "live [2, 3] at 32", "P2: expected an offset that is a multiple of 64, got 32"},
    {"live [2, 3]", "live [2, 3] at 64", "P2: expected an offset for each buffer or for none, got 1 for 2"},
    {"live [1, 4]", "live [1, 4] at 64", "P2: an offset needs a size that is a number"},
    {"live [2, 3]", "live [2, 3] at 9223372036854775744", "P2: expected a size that fits behind the offset, got 1024"},
    {"live [2, 3]", "live [2, 3] at 4611686018427387840", "P2: expected a size that fits behind the offset, got 1024"},
    {"bytes [1024]", "bytes [127]", "within 127 bytes"},
    {"bytes [16*n]", "bytes [8*n]", "P5: expected a place within 8*n bytes, got 16*n bytes at 0"},
    {"(%p) -> (%q) symbols [8] : (!host.place<[n, 4] x f32>) -> (!host.place<[8, 4] x f32>)",
     "(%p) -> (%p) symbols [8] : (!host.place<[n, 4] x f32>) -> (!host.place<[n, 4] x f32>)",
     "P6: writes memory that another of its operands is in"},
    {"negate(%x) -> (%p)", "negate(%x) -> (%y)", "P4: reads a place that nothing was written to"},
};

constexpr Flaw flawsOfStates[] = {
    {": !host.place<[16, 4] x f32> growing 0", ": !host.place<[n, 4] x f32> growing 0", "C1: expected a place whose"},
    {"growing 0", "growing 1", "C2: expected a dimension of"},
    {"\"ring\" : !host.place<[8, 4] x f32>", "\"ring\" : !host.place<[8, 4] x f32, far>",
     "C3: expected a capacity in the host's memory, got a place in 'far'"},
    {"growing 0", "growing 9", "C2: expected a dimension of"},
    {"growing 0", "growing 0 reads -1", "C4: expected a number of rows that runs read of a state that grows, got -1"},
    {"\"ring\" : !host.place<[8, 4] x f32>", "\"ring\" : !host.place<[8, 4] x f32> reads 3",
     "C4: expected a number of rows that runs read of a state that grows, got 3"},
    {"host.copy_rows [2]", "host.copy_rows [2, 3]", "C1: expected one expression, got 2"},
    {"by %p to %ring1 : <[4] x f32>, <[1, 1] x i64>", "by %sum to %ring1 : <[4] x f32>, <[4] x f32>",
     "host.copy_slices"},
    {"%sum: !host.place<[4] x f32> {host.state = @s2}", "%sum: !host.place<[4] x f32>",
     "S1: expected the states behind"},
    {"%sum1: !host.place<[4] x f32> {host.state = @s2}", "%sum1: !host.place<[4] x f32> {host.state = @s1}",
     "S1: expected a state, the same"},
    {"%ring: !host.place<[8, 4] x f32> {host.state = @s1}", "%ring: !host.place<[8, 4] x f32> {host.state = @s9}",
     "S1: expected a state, the same"},
    {"host.state @s2 \"sum\" : !host.place<[4] x f32>", "host.state @s2 \"sum\" : !host.place<[4] x f32> initially @w9",
     "S1: expected a segment with values, not one in a file, to begin the state 'sum'"},
    {"host.state @s1 \"ring\" : !host.place<[8, 4]", "host.state @s1 \"ring\" : !host.place<[9, 4]",
     "S1: expected a place for the state 'ring'"},
    {"(%new) symbols [n] : (!host.place<[n, 4] x f32>) -> (!host.place<[n, 4] x f32>)",
     "(%rows) symbols [n] : (!host.place<[n, 4] x f32>) -> (!host.place<[length, 4] x f32>)",
     "S2: reads the old value of state 'rows'"},
    {"%more [16*length]", "%more [0]", "S2: reads the old value of state 'rows' behind an update"},
    {"host.return", "host.copy %second to %y : <[4] x f32> to <[4] x f32>\n  host.return",
     "S2: reads the old value of state 'ring' behind an update"},
    {"launch @negate(%sum) -> (%sum1)", "launch @negate(%sum) -> (%sum)", "P6: writes memory that another"},
};

/// Errors of parser and verifier; empty if the text is a program that can run.
std::string errorsOf(const std::string &text) {
  DialectRegistry registry;
  interp::registerDialects(registry);
  MLIRContext context(registry);
  std::string messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { messages += diagnostic.str() + "\n"; });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (module && succeeded(host::verifyPrograms(*module)))
    return "";
  return messages.empty() ? "an error without a message" : messages;
}

std::string replaced(const Flaw &flaw, std::string text = program) {
  size_t at = text.find(flaw.before);
  EXPECT_NE(at, std::string::npos) << flaw.before;
  return text.replace(at, std::string(flaw.before).size(), flaw.after);
}
} // namespace

TEST(VerifyProgram, acceptsAProgram) { EXPECT_EQ(errorsOf(program), ""); }

TEST(VerifyProgram, findsEachFlaw) {
  for (const Flaw &flaw : flaws) {
    std::string said = errorsOf(replaced(flaw));
    EXPECT_NE(said.find(flaw.message), std::string::npos)
        << flaw.after << "\n  expected: " << flaw.message << "\n  got: " << said;
  }
}

TEST(VerifyProgram, findsEachFlawOfStates) {
  EXPECT_EQ(errorsOf(programWithStates), "");
  for (const Flaw &flaw : flawsOfStates) {
    std::string said = errorsOf(replaced(flaw, programWithStates));
    EXPECT_NE(said.find(flaw.message), std::string::npos)
        << flaw.after << "\n  expected: " << flaw.message << "\n  got: " << said;
  }
}

/// Two values of one state would be in one memory.
TEST(VerifyProgram, aStateIsOneInputAndOneOutput) {
  std::string text = programWithStates;
  for (const Flaw &flaw : {Flaw{"[4] x f32> {host.state = @s2},\n", "[8, 4] x f32> {host.state = @s1},\n", ""},
                           {"[4] x f32> {host.state = @s2})", "[8, 4] x f32> {host.state = @s1})", ""},
                           {"tensor<8x4xf32>, tensor<4xf32>", "tensor<8x4xf32>, tensor<8x4xf32>", ""},
                           {"%sum dim 0 is [4] : !host.place<[4] x f32>",
                            "%sum dim 0 is [8] : !host.place<[8, 4] x f32>\n"
                            "  host.expect %sum dim 1 is [4] : !host.place<[8, 4] x f32>",
                            ""},
                           {"(!host.place<[4] x f32>) -> (!host.place<[4] x f32>)",
                            "(!host.place<[8, 4] x f32>) -> (!host.place<[8, 4] x f32>)", ""},
                           {"%sum by %p to %ring1 : <[4]", "%x by %p to %ring1 : <[n, 4]", ""}})
    text = replaced(flaw, text);
  EXPECT_NE(errorsOf(text).find("S1: expected each state once, got 's1' again"), std::string::npos) << errorsOf(text);
}

/// What one branch writes is not there behind both, and a loop may not overwrite what its next iteration reads.
TEST(VerifyProgram, followsValuesThroughControlFlow) {
  auto said = [](StringRef body) {
    std::string text = program;
    size_t at = text.find("  host.copy %h to %y");
    text.insert(at, body.str());
    for (StringRef live : {"live [1, 4]", "live [2, 3]"}) // long enough for any of these
      text.replace(text.find(live.str()), live.size(), "live [0, 20]");
    return errorsOf(text);
  };
  const std::string other = "  %o = host.place %b [0] : !host.memory<host> to <[8, 4] x f32>\n",
                    write = "  host.copy %w to %o : <[4] x f32> to <[8, 4] x f32>\n",
                    read = "  host.copy %o to %p : <[8, 4] x f32> to <[n, 4] x f32>\n",
                    readOld = "  host.copy %q to %p : <[8, 4] x f32> to <[n, 4] x f32>\n";
  EXPECT_EQ(said(""), "");
  EXPECT_NE(said(other + write + "").find("P4: reads a place that another value was written to"), std::string::npos);
  EXPECT_EQ(said(other + "host.loop \"l\" below [2] carried () {\n" + readOld + "host.yield\n}\n"), "");
  EXPECT_NE(said(other + "host.loop \"l\" below [2] carried () {\n" + readOld + write + "host.yield\n}\n")
                .find("P4: reads a place"),
            std::string::npos);
  EXPECT_NE(said(other + "host.if [flag] {\n" + write + "} else {\n}\n" + read).find("P4: reads a place"),
            std::string::npos);
  EXPECT_NE(said(other + "host.if [flag] {\n" + write + "} else {\n" + read + "}\n").find("P4: reads a place"),
            std::string::npos);
}
