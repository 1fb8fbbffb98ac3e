//===- PanelLayoutTest.cpp - how intrinsics want their operands, read off their strides --===//

#include "Module.h"

#include "target/IntrinsicTexts.h"
#include "target/TargetInfo.h"
#include "tile/intrinsics/Intrinsic.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/FormatVariadic.h"

using namespace perpend::tile;
using perpend::interp::Module;

namespace {
using Changes = std::vector<std::pair<std::string, std::string>>;

// A block of rows and columns, over words of four bytes.
const char *const bytes = R"mlir(
func.func private @bytes(%a: !tile.buffer<[rows, depth, 4] x ui8>, %b: !tile.buffer<[depth, cols, 4] x i8>,
                         %c: !tile.buffer<[rows, cols] x i32>) attributes {
  tile.intrinsic = {
    strides = [["_", "4", "1"], ["4 * cols", "4", "1"], ["_", "1"]],
    where = ["rows <= 8", "cols <= 32"],
    cycles = "ceildiv(rows * depth * ceildiv(cols, lanes), fmas)"
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %k in depth { tile.for %g in 4 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vk in depth = %k, %vg in 4 = %g) {
      tile.init {
        %zero = arith.constant 0 : i32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      %x = tile.load %a[%vi, %vk, %vg] : !tile.buffer<[rows, depth, 4] x ui8>
      %left = arith.extui %x : i8 to i32
      %y = tile.load %b[%vk, %vj, %vg] : !tile.buffer<[depth, cols, 4] x i8>
      %right = arith.extsi %y : i8 to i32
      %product = arith.muli %left, %right : i32
      %next = arith.addi %sum, %product : i32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
    }
  } } } }
  return
})mlir";

class PanelLayoutTest : public testing::Test {
protected:
  Module owner{"module {}"};

  /// The intrinsic of the text above, with every such change.
  const Intrinsic &read(const Changes &changes = {}) {
    std::string text = bytes;
    for (const auto &[from, to] : changes) {
      EXPECT_NE(text.find(from), std::string::npos) << from;
      for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    }
    owner.context.loadDialect<TileDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect>();
    library = {};
    perpend::target::Machine machine;
    EXPECT_TRUE(mlir::succeeded(library.add(&owner.context, "bytes.mlir", text, &machine, /*needsCode=*/false)))
        << owner.messages;
    return *library.list().front();
  }

  mlir::Type ui8() { return mlir::IntegerType::get(&owner.context, 8, mlir::IntegerType::Unsigned); }
  mlir::Type i8() { return mlir::IntegerType::get(&owner.context, 8); }

  IntrinsicLibrary library;
};

TEST_F(PanelLayoutTest, StridesSayPanelsAndWords) {
  std::optional<PanelLayout> layout = read().panels;
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->left, ui8());
  EXPECT_EQ(layout->right, i8());
  EXPECT_EQ(layout->sum, mlir::IntegerType::get(&owner.context, 32));
  EXPECT_EQ(layout->group, 4);
  EXPECT_EQ(layout->depth, 4);
  EXPECT_EQ(layout->columns.str(), "cols");
}

TEST_F(PanelLayoutTest, NumbersAreKept) {
  std::optional<PanelLayout> layout = read({{"cols", "16"}, {"16 <= 32", "rows <= 4"}, {"depth", "3"}}).panels;
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->columns.constant(), 16);
  EXPECT_EQ(layout->depth, 12);
}

TEST_F(PanelLayoutTest, ADepthCanBeOfMultiples) {
  const Intrinsic &intrinsic = read({{R"("cols <= 32")", R"("cols <= 32", "mod(depth, 6) <= 0")"}});
  EXPECT_EQ(intrinsic.panels->depth, 24);
  auto target = llvm::cantFail(perpend::target::resolveTarget("x86-64-v3"));
  auto cycles = [&](int64_t depth) {
    ProductExtents extents{SymbolicInt(8), SymbolicInt(16), SymbolicInt(depth)};
    return intrinsic.panels->fit(intrinsic, extents, 16, 8, target)->cyclesPerPoint;
  };
  EXPECT_NEAR(cycles(20) / cycles(24), 24.0 / 20, 1e-9);
  EXPECT_TRUE(intrinsic.allows({SymbolicInt(8), SymbolicInt(16), SymbolicInt(12), SymbolicInt(4)}));
  EXPECT_FALSE(intrinsic.allows({SymbolicInt(8), SymbolicInt(16), SymbolicInt(8), SymbolicInt(4)}));
  SymbolicInt some = ceilDiv(SymbolicInt::symbol("k"), SymbolicInt(24)) * SymbolicInt(6);
  EXPECT_TRUE(intrinsic.allows({SymbolicInt(8), SymbolicInt(16), some, SymbolicInt(4)}));
}

TEST_F(PanelLayoutTest, ColumnsAreWhatFollowsInTheSums) {
  // The same, transposed: rows of the left operand are the panels.
  std::optional<PanelLayout> layout = read({{R"(["_", "4", "1"], ["4 * cols", "4", "1"], ["_", "1"])",
                                             R"(["4", "4 * rows", "1"], ["4", "_", "1"], ["1", "_"])"}})
                                          .panels;
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->left, i8());
  EXPECT_EQ(layout->right, ui8());
  EXPECT_EQ(layout->columns.str(), "rows");
}

TEST_F(PanelLayoutTest, OtherLayoutsPackNothing) {
  const std::vector<Changes> others = {
      {{R"("4 * cols", "4", "1")", R"("4", "_", "1")"}},         // columns by any stride
      {{R"("4 * cols", "4", "1")", R"("4", "4 * depth", "1")"}}, // columns one after another
      {{R"("4 * cols", "4", "1")", R"("8 * cols", "4", "1")"}},  // rows of a panel with room between them
      {{R"(["_", "4", "1"])", R"(["_", "1", "depth"])"}},        // words that are scattered in a row
      {{R"(["_", "4", "1"])", R"(["4", "4 * rows", "1"])"}},     // rows in panels, too
      {{"arith.muli", "arith.maxsi"}},
      {{"arith.addi", "arith.muli"}},
      {{"%zero = arith.constant 0", "%zero = arith.constant 1"}},
      {{"arith.extui", "arith.extsi"}}, // of bytes that have no sign
  };
  for (const Changes &changes : others)
    EXPECT_FALSE(read(changes).panels) << changes.front().second;
}

TEST_F(PanelLayoutTest, AFitIsWhatConditionsAllow) {
  const Intrinsic &intrinsic = read();
  auto target = llvm::cantFail(perpend::target::resolveTarget("x86-64-v3"));
  ProductExtents extents{SymbolicInt(10), SymbolicInt(16), SymbolicInt(30)};
  auto fit = intrinsic.panels->fit(intrinsic, extents, 16, 12, target);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->rows, 8);
  // Two vectors of eight columns for each word of each row; eight words where 30 bytes count.
  EXPECT_NEAR(fit->cyclesPerPoint, 8 * 8 * 2 / double(target.fmaPerCycle) / (8 * 8 * 16 * 4) * 32 / 30, 1e-9);
  EXPECT_FALSE(intrinsic.panels->fit(intrinsic, extents, 64, 12, target));
  extents.windows = 1;
  EXPECT_FALSE(intrinsic.panels->fit(intrinsic, extents, 16, 12, target));
}

TEST_F(PanelLayoutTest, RowsThatAreNoWholeBlockRunAsLoops) {
  const Intrinsic &intrinsic = read({{"rows", "4"}, {"4 <= 8", "depth <= 64"}});
  auto target = llvm::cantFail(perpend::target::resolveTarget("x86-64-v3"));
  auto cycles = [&](int64_t rows) {
    auto fit = intrinsic.panels->fit(intrinsic, {SymbolicInt(rows), SymbolicInt(16), SymbolicInt(32)}, 16, 12, target);
    return fit ? fit->cyclesPerPoint : -1;
  };
  EXPECT_NEAR(cycles(5), 0.8 * cycles(4) + 0.2, 1e-9);
  EXPECT_EQ(cycles(3), -1);
}

// Around the rows there may be lines, of which a block has several where those have all of their rows.
TEST_F(PanelLayoutTest, LinesAreOfRows) {
  const Changes lines = {{"[rows, depth, 4]", "[lines, rows, depth, 4]"},
                         {"[rows, cols]", "[lines, rows, cols]"},
                         {R"(["_", "4", "1"])", R"(["_", "_", "4", "1"])"},
                         {R"(["_", "1"])", R"(["_", "_", "1"])"},
                         {R"("rows <= 8")", R"("lines <= 3", "lines * rows <= 16")"},
                         {"rows * depth *", "lines * rows * depth *"},
                         {"tile.for %i in rows", "tile.for %l in lines { tile.for %i in rows"},
                         {"} } } }", "} } } } }"},
                         {"%vi in rows", "%vl in lines = %l, %vi in rows"},
                         {"[%vi,", "[%vl, %vi,"}};
  const Intrinsic &intrinsic = read(lines);
  ASSERT_TRUE(intrinsic.panels);
  auto target = llvm::cantFail(perpend::target::resolveTarget("x86-64-v3"));
  auto fit = [&](int64_t rows, int64_t depth, int64_t count) {
    ProductExtents extents{SymbolicInt(rows), SymbolicInt(16), SymbolicInt(depth)};
    extents.lines = count;
    return *intrinsic.panels->fit(intrinsic, extents, 16, std::min<int64_t>(rows, 12), target);
  };
  EXPECT_EQ(fit(5, 32, 7).lines, 3);
  EXPECT_EQ(fit(5, 32, 2).lines, 2);
  EXPECT_EQ(fit(8, 32, 7).lines, 2);
  EXPECT_EQ(fit(9, 32, 7).lines, 1);
  EXPECT_EQ(fit(24, 32, 7).lines, 1) << "two blocks of rows";
  EXPECT_EQ(fit(5, 30, 7).lines, 1) << "it is for whole words";
  EXPECT_EQ(fit(5, 32, 7).cyclesPerPoint, fit(5, 32, 1).cyclesPerPoint);

  Changes twoOfThem = lines;
  twoOfThem.front().second = "[2, rows, depth, 4]";
  for (auto &[from, to] : twoOfThem)
    for (size_t at; (at = to.find("lines")) != std::string::npos;)
      to.replace(at, 5, "2");
  EXPECT_FALSE(read(twoOfThem).panels) << "a number of lines";
}

// What the compiler's own intrinsics name as steps.
TEST_F(PanelLayoutTest, StepsAreFunctionsOfVectorsOfWords) {
  auto file = llvm::find_if(perpend::target::intrinsicTexts(),
                            [](const auto &text) { return text.file.ends_with("i16.block.mlir"); });
  ASSERT_NE(file, perpend::target::intrinsicTexts().end());
  owner.context.loadDialect<TileDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
                            mlir::vector::VectorDialect, mlir::LLVM::LLVMDialect>();
  auto messageOf = [&](const std::string &step) {
    std::string text = file->text.str(), known = "@i16.step.vnni.16, ";
    text.replace(text.find(known), known.size(), step + ", ");
    text += "func.func private @odd(%a: vector<8xi32>, %b: vector<16xi16>, %c: vector<8xi32>) -> vector<8xi32> {\n"
            "  return %c : vector<8xi32>\n}\n";
    owner.messages.clear();
    EXPECT_TRUE(mlir::failed(IntrinsicLibrary().add(&owner.context, "i16.block.mlir", text)));
    return owner.messages;
  };
  EXPECT_NE(messageOf("@other").find("steps: expected names of functions of this text, with a body of one block, got "
                                     "@other"),
            std::string::npos);
  EXPECT_NE(messageOf("@odd").find("expected a step of type (vector<16xi16>, vector<16xi16>, vector<8xi32>) -> "
                                   "vector<8xi32>, got (vector<8xi32>, vector<16xi16>, vector<8xi32>)"),
            std::string::npos)
      << owner.messages;
}

// A step with sums of 16 bits names what adds them to those of 32.
TEST_F(PanelLayoutTest, FoldsAreFunctionsOfTwoVectorsOfSums) {
  owner.context.loadDialect<TileDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
                            mlir::vector::VectorDialect, mlir::LLVM::LLVMDialect>();
  auto messageOf = [&](const char *name, const std::string &from, const std::string &to) {
    auto file =
        llvm::find_if(perpend::target::intrinsicTexts(), [&](const auto &text) { return text.file.ends_with(name); });
    std::string text = file->text.str();
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
    text += "func.func private @narrow(%a: vector<16xi8>, %b: vector<16xi8>, %c: vector<8xi16>) -> vector<8xi16>\n"
            "    attributes {tile.fold = @fold} {\n  return %c : vector<8xi16>\n}\n"
            "func.func private @fold(%a: vector<8xi16>, %b: vector<4xi32>) -> vector<4xi32> {\n"
            "  return %b : vector<4xi32>\n}\n";
    owner.messages.clear();
    EXPECT_TRUE(mlir::failed(IntrinsicLibrary().add(&owner.context, name, text)));
    return owner.messages;
  };
  const char *groups = "i4.bytes.groups.mlir", *fold = "tile.fold = @i4.fold.8";
  EXPECT_NE(
      messageOf(groups, fold, "tile.fold = @other").find("tile.fold: expected the name of a function of this text"),
      std::string::npos);
  EXPECT_NE(messageOf(groups, fold, "tile.fold = @i4.fold.4")
                .find("expected a fold of type (vector<16xi16>, vector<8xi32>) -> vector<8xi32>, got (vector<8xi16>, "
                      "vector<4xi32>) -> vector<4xi32>"),
            std::string::npos)
      << owner.messages;
  EXPECT_NE(messageOf("i8.bytes.groups.mlir", "steps = [", "steps = [@narrow, ")
                .find("expected no fold: the products of a word do not fit an even number of sums of 16 bits"),
            std::string::npos)
      << owner.messages;
  EXPECT_NE(messageOf("i16.block.mlir", "tile.features = [\"avx512vnni\"]",
                      "tile.features = [\"avx512vnni\"], tile.fold = @i16.step.vnni.16")
                .find("expected no fold: only sums of bytes in groups have one"),
            std::string::npos)
      << owner.messages;
}
} // namespace
