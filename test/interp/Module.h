//===- Module.h - running MLIR text in tests --------------------*- C++ -*-===//

#ifndef PERPEND_TEST_INTERP_MODULE_H
#define PERPEND_TEST_INTERP_MODULE_H

#include "interp/Evaluate.h"
#include "interp/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include "gtest/gtest.h"

#include <numeric>
#include <random>

namespace perpend::interp {

/// A module from text, with the diagnostics it causes collected in `messages`.
class Module {
public:
  explicit Module(const std::string &text);
  /// Results of @main; empty after an error.
  std::vector<Tensor> run(llvm::ArrayRef<Tensor> inputs, const InterpreterOptions &options = {});
  mlir::func::FuncOp main();
  mlir::Type type(llvm::StringRef text);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string messages;
};

/// A module with one function @main(%a, %b, ...) of these argument types, whose body is one operator.
std::string mainOf(llvm::ArrayRef<std::string> argumentTypes, const std::string &op, const std::string &resultType);
/// "tensor<2x3xf32>"
std::string tensorText(llvm::ArrayRef<int64_t> shape, const std::string &elementType);
/// "array<i64: 1, 2>"
std::string arrayText(llvm::ArrayRef<int64_t> values);
inline std::string listText(llvm::ArrayRef<int64_t> values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

/// Of rows of seven.
inline constexpr const char *softmaxText = R"(
#s = #graph.shape<["n", 7]>
#r = #graph.shape<["n"]>
func.func @main(%a: tensor<?x7xf32, #s>) -> tensor<?x7xf32, #s> {
  %m = graph.reduce max %a dims [1] : tensor<?x7xf32, #s> -> tensor<?xf32, #r>
  %w = graph.broadcast %m dims [0] : tensor<?xf32, #r> -> tensor<?x7xf32, #s>
  %e = graph.map (%a, %w) : (tensor<?x7xf32, #s>, tensor<?x7xf32, #s>) -> tensor<?x7xf32, #s> {
  ^bb0(%x: f32, %y: f32):
    %d = arith.subf %x, %y : f32
    %z = math.exp %d : f32
    graph.yield %z : f32
  }
  %t = graph.reduce sum %e dims [1] : tensor<?x7xf32, #s> -> tensor<?xf32, #r>
  %b = graph.broadcast %t dims [0] : tensor<?xf32, #r> -> tensor<?x7xf32, #s>
  %q = graph.map (%e, %b) : (tensor<?x7xf32, #s>, tensor<?x7xf32, #s>) -> tensor<?x7xf32, #s> {
  ^bb0(%x: f32, %y: f32):
    %z = arith.divf %x, %y : f32
    graph.yield %z : f32
  }
  return %q : tensor<?x7xf32, #s>
})";

template <typename T> std::vector<T> valuesOf(const Tensor &tensor) { return tensor.elements<T>().vec(); }

struct Random {
  std::mt19937 engine{12345};
  int64_t integer(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine); }
  /// One of 0, 1, small numbers and primes.
  int64_t extent() { return std::array<int64_t, 6>{0, 1, 2, 3, 5, 7}[static_cast<size_t>(integer(0, 5))]; }
  /// Small integers, so that sums in f32 are exact in any order.
  Tensor floats(mlir::Type f32, llvm::ArrayRef<int64_t> shape) {
    Tensor tensor = *Tensor::allocate(f32, shape);
    for (float &value : tensor.mutableElements<float>())
      value = static_cast<float>(integer(-8, 8));
    return tensor;
  }
};

/// The index tuple of a row-major position.
inline std::vector<int64_t> indexOf(int64_t position, llvm::ArrayRef<int64_t> shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t dim = shape.size(); dim-- > 0; position /= shape[dim])
    index[dim] = position % shape[dim];
  return index;
}
inline int64_t positionOf(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape) {
  int64_t position = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    position = position * shape[dim] + index[dim];
  return position;
}
} // namespace perpend::interp

#endif
