//===- RunEmitter.h - the code of perpend_run --------------------*- C++ -*-===//
//
// Main as one function: kernel calls through frame->parallel, memory whose size
// is known now, symbols from data, and errors (EmitRun.cpp); branches and loops
// (RunControlFlow.cpp); library calls (RunLibrary.cpp); checked kernels (RunChecked.cpp). Places are those of memory
// planning (tile/Buffers.h).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_CPU_RUNEMITTER_H
#define PERPEND_TARGET_CPU_RUNEMITTER_H

#include "graph/Shapes.h"
#include "target/cpu/FunctionEmitter.h"
#include "tile/Attributes.h"
#include "tile/Buffers.h"

namespace perpend::target {

class RunEmitter {
public:
  explicit RunEmitter(mlir::func::FuncOp main);
  void run();

private:
  using Names = mlir::ArrayRef<mlir::StringAttr>;

  /// Loads the fields of perpend_frame.
  void loadFrame();

  // Operators
  void emitOperators(mlir::Block &block);
  llvm::SmallVector<mlir::func::FuncOp, 2> functionsOf(graph::CallKernelOp call);
  void emitCall(graph::CallKernelOp call);
  mlir::Value isInRange(graph::CallKernelOp call, mlir::func::FuncOp variant);
  void emitCall(graph::CallKernelOp call, mlir::func::FuncOp kernel);
  void prepareScratch(graph::CallKernelOp call, mlir::func::FuncOp kernel, mlir::Value units);
  void prepareRecord(graph::CallKernelOp call, mlir::func::FuncOp kernel);
  void checkRecord(graph::CallKernelOp call, mlir::func::FuncOp kernel);
  void emitLibrary(graph::CallLibraryOp op);
  void readExtents(graph::CallLibraryOp op, mlir::Value extents, int64_t position);
  void emitMeasure(graph::MeasureOp measure);
  void emitRequire(graph::RequireOp require);
  void emitIf(graph::IfOp op);
  void emitLoop(graph::LoopOp loop);
  void emitResults(mlir::Operation *terminator);

  // Symbols
  mlir::Value evaluate(const graph::SymbolicInt &value) { return f.evaluate(value, symbols, names); }
  void setSymbol(mlir::StringRef name, mlir::Value value);
  /// Where values of the types `given` become those of the types `expected` (results of a branch, what a loop carries),
  /// an extent that is not as expected ends the run with an error. Expected extents that mention one of `symbols` are
  /// not compared, and none is where `exempt` is true at run time.
  void checkExtents(mlir::Operation *op, mlir::TypeRange given, mlir::TypeRange expected, Names symbols,
                    mlir::Value exempt = {});
  /// An expected extent that is one of `symbols` alone gives it its value, the given extent; then the expected extents
  /// that mention `symbols` in expressions are compared, as above.
  void followExtents(mlir::Operation *op, mlir::TypeRange given, mlir::TypeRange expected, Names symbols);

  // Memory
  mlir::Value addressOf(tile::Place place);
  /// INT64_MAX for a negative extent and for more than 63 bits.
  mlir::Value bytesOf(mlir::Type type);
  mlir::Value growingEntry(tile::Place place);
  void reserve(tile::Place place, mlir::Value bytes, mlir::Value keptBytes);
  /// Makes room for a value of this type, where memory is not planned.
  void prepare(tile::Place place, mlir::Type type);
  void copyBytes(mlir::Value target, mlir::Value source, mlir::Value bytes);
  /// Nothing when the value is there.
  void copy(tile::Place target, tile::Place source, mlir::Type type);
  void setSlot(tile::Place slot, mlir::Value address) { f.store(address, slots, slot.number); }
  mlir::Value loadFlag(tile::Place place);

  /// Ends the run with an error unless `condition` holds: "node 'x': text, got ...".
  void check(mlir::Value condition, mlir::Operation *op, const llvm::Twine &text, mlir::Value got);
  mlir::Value constantTable(llvm::ArrayRef<int32_t> values);
  mlir::Value call(mlir::Value function, mlir::Type result, mlir::ValueRange arguments);

  struct Loop;
  void startLoop(Loop &loop);
  void startElements(Loop &loop);
  void emitHeader(Loop &loop);
  void emitBody(Loop &loop);
  void followElements(Loop &loop);
  void storeElement(Loop &loop, unsigned number, mlir::Value &position);
  void exchange(Loop &loop);
  void endLoop(Loop &loop);

  mlir::func::FuncOp main;
  mlir::ModuleOp module;
  std::vector<std::string> names;
  FunctionEmitter f;
  mlir::Block *leave; ///< returns its argument
  int64_t tables = 0;
  mlir::Value frame, inputs, outputs, weights, arena, offsets, symbols, parallel, growing, reserveFunction,
      refuseFunction, outputDims;
  mlir::Value list, slots, counters; ///< buffers of a call; addresses; numbers of iterations, by slot
  mlir::Value kernelSymbols;         ///< of a call
  mlir::Value extents;               ///< of a library call
  mlir::Value record;                ///< of a checked kernel
};

/// "node 'x'": where an error of a run comes from.
std::string nodeText(mlir::Operation *op);

/// The places in an attribute of memory planning.
llvm::SmallVector<tile::Place> placesIn(mlir::Operation *op, mlir::StringRef attribute = tile::buffersAttribute);
} // namespace perpend::target

#endif
