//===- CallsTest.cpp - rules for intrinsics with code of their own --------===//
//
// A product by hand is offered for all of a nest, for rows and for columns of it,
// whatever stands around; and no point of these sketches computes something else.
//
//===----------------------------------------------------------------------===//

#include "Blocks.h"
#include "ScheduleCase.h"

#include "tile/intrinsics/Intrinsic.h"
#include "tune/sketches/Sketches.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tune;
using tile::TensorText;
using tile::Workload;

/// What the function does is never asked for here.
static constexpr llvm::StringLiteral gemm = R"mlir(
func.func private @gemm(%a: !tile.buffer<[m, k] x f32>, %b: !tile.buffer<[k, n] x f32>,
                        %c: !tile.buffer<[m, n] x f32>) attributes {
  tile.intrinsic = {strides = [["_", "1"], ["_", "1"], ["_", "1"]], implementation = @code, objects = ["gemm.o"]}} {
  tile.for %i in m { tile.for %j in n { tile.for %l in k {
    tile.block "sum" spatial(%vi in m = %i, %vj in n = %j) reduced(%vl in k = %l) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[m, n] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[m, n] x f32>
      %x = tile.load %a[%vi, %vl] : !tile.buffer<[m, k] x f32>
      %y = tile.load %b[%vl, %vj] : !tile.buffer<[k, n] x f32>
      %product = arith.mulf %x, %y : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[m, n] x f32>
    }
  } } }
  return
}
func.func private @code(memref<?x?xf32, strided<[?, 1], offset: ?>>, memref<?x?xf32, strided<[?, 1], offset: ?>>,
                        memref<?x?xf32, strided<[?, 1], offset: ?>>)
)mlir";

namespace {
/// While it lives, a context knows the product by hand.
class ByHand {
public:
  ByHand(MLIRContext *context, const target::TargetInfo &target) {
    context->loadDialect<memref::MemRefDialect>();
    auto library = std::make_shared<tile::IntrinsicLibrary>(tile::IntrinsicLibrary::of(context));
    EXPECT_TRUE(succeeded(library->add(context, "gemm.mlir", gemm, &target)));
    scope.emplace(context, library);
  }

private:
  std::optional<tile::IntrinsicScope> scope;
};
} // namespace

static std::string epilogue(const TensorText &type) {
  std::string types = type.str() + ", " + type.str();
  return "  %r = graph.map (%p, %p) : (" + types + ") -> " + type.str() +
         " {\n  ^bb0(%x: f32, %y: f32):\n    %z = arith.addf %x, %y : f32\n    graph.yield %z : f32\n  }\n";
}

/// And what follows it, element by element.
static Workload product(const std::string &rows, std::vector<int64_t> sizes = {1}) {
  TensorText a{{rows, "12"}}, b{{"12", "40"}}, r{{rows, "40"}};
  std::string types = " : (" + a.str() + ", " + b.str() + ") -> " + r.str() + "\n";
  return {
      "product", {a, b}, "  %p = graph.contract %a, %b batch [] x [] over [1] x [0]" + types + epilogue(r), r, sizes};
}

static Workload batched() {
  TensorText a{{"3", "7", "12"}}, b{{"3", "12", "20"}}, r{{"3", "7", "20"}};
  std::string types = " : (" + a.str() + ", " + b.str() + ") -> " + r.str() + "\n";
  return {"batched", {a, b}, "  %p = graph.contract %a, %b batch [0] x [0] over [2] x [1]" + types + epilogue(r), r};
}

/// The right operand lies in panels of 16 columns.
static Workload packed() {
  TensorText a{{"13", "12"}}, b{{"3", "12", "16"}}, r{{"13", "40"}};
  std::string types = " : (" + a.str() + ", " + b.str() + ") -> " + r.str() + "\n";
  return {"packed", {a, b}, "  %p = tile.matmul %a, %b" + types + epilogue(r), r};
}

/// The sketches with calls of it, as texts.
static std::vector<std::string> callsIn(const Workload &workload) {
  Blocks blocks(workload);
  ByHand byHand(blocks.kernel().getContext(), blocks.target);
  std::vector<std::string> texts;
  for (const Trace &trace : blocks.sketches())
    if (std::string text = llvm::join(linesOf(trace), "\n"); llvm::StringRef(text).contains("\"gemm\""))
      texts.push_back(text);
  return texts;
}

static int64_t countWith(llvm::ArrayRef<std::string> texts, llvm::ArrayRef<llvm::StringRef> parts) {
  return llvm::count_if(texts, [&](llvm::StringRef text) {
    return llvm::all_of(parts, [&](llvm::StringRef part) { return text.contains(part); });
  });
}

TEST(Calls, OfAllRowsAndColumns) {
  std::vector<std::string> texts = callsIn(product("n", {5}));
  EXPECT_GE(countWith(texts, {"tensorize %i0, \"gemm\""}), 1);
  EXPECT_GE(countWith(texts, {"split %i0, [_, 64]", "compute_at %contract, "}), 1) << "rows";
  EXPECT_GE(countWith(texts, {"split %i1, [_, 256]", "compute_at %contract, "}), 1) << "columns";
}

TEST(Calls, OfEachOfABatch) { EXPECT_GE(callsIn(batched()).size(), 3U); }

TEST(Calls, OfPackedOperands) {
  std::vector<std::string> texts = callsIn(packed());
  EXPECT_GE(countWith(texts, {"cache_read %matmul, 1, \"local\"", "(p, k, c) -> (k, c + 16*p)"}), 1);
  EXPECT_GE(countWith(texts, {"[_, 16]"}), 1) << "columns of a panel";
}

TEST(Calls, AreOfCodeOfItsOwn) {
  Blocks blocks(product("n", {5}));
  for (const Trace &trace : blocks.sketches())
    EXPECT_EQ(llvm::join(linesOf(trace), "\n").find("[_, 64]"), std::string::npos);
}

TEST(Calls, NoPointChangesAResult) {
  int64_t each = std::getenv("PERPEND_LONG") ? 100 : 8, taken = 0, refused = 0;
  interp::Random random;
  for (const Workload &workload : {product("13"), product("n", {0, 1, 5, 70}), batched(), packed()}) {
    SCOPED_TRACE(workload.name);
    Blocks blocks(workload);
    tile::ScheduleCase same(workload);
    ByHand byHand(blocks.kernel().getContext(), blocks.target), there(same.context(), blocks.target);
    for (const Trace &sketch : blocks.sketches()) {
      Space space = blocks.spaceOf(sketch);
      for (int64_t i = 0; i < each && llvm::join(linesOf(sketch), "").find("gemm") != std::string::npos; ++i) {
        Point point;
        for (const Decision &decision : space.decisions())
          point.push_back(static_cast<unsigned>(random.integer(0, static_cast<int64_t>(decision.choices.size()) - 1)));
        Trace trace = space.traceAt(i == 0 ? space.given() : point);
        ++(blocks.takes(trace) ? taken : refused);
        if (blocks.takes(trace))
          (void)same.apply([&](tile::KernelSchedule &schedule) { EXPECT_TRUE(succeeded(schedule.replay(trace))); });
      }
    }
  }
  std::cout << taken << " points, " << refused << " refused\n";
  EXPECT_GE(taken, 100);
}
