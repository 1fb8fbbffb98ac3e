//===- RunEmitter.h - emits perpend_run -------------------------*- C++ -*-===//
//
// Compiles main to one function: kernel calls through frame->parallel, allocation of memory whose size is only known
// then, symbols from data, and errors (EmitRun.cpp); branches and loops (RunControlFlow.cpp); library calls
// (RunLibrary.cpp); checked kernels (RunChecked.cpp). Places are those of memory planning (tile/Buffers.h).
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
  /// Compares extents where values of types `given` become values of types `expected` (results of a branch, carried
  /// values of a loop); a difference ends the run with an error. Expected extents that use one of `symbols` are not
  /// compared, and none is if `exempt` is true at run time.
  void checkExtents(mlir::Operation *op, mlir::TypeRange given, mlir::TypeRange expected, Names symbols,
                    mlir::Value exempt = {});
  /// Assigns symbols: an expected extent that is one of `symbols` alone gives it the value of the given extent. Then
  /// compares, as above, the expected extents that use `symbols` in expressions.
  void followExtents(mlir::Operation *op, mlir::TypeRange given, mlir::TypeRange expected, Names symbols);

  // Memory
  mlir::Value addressOf(tile::Place place);
  /// INT64_MAX for a negative extent or a size beyond 63 bits.
  mlir::Value bytesOf(mlir::Type type);
  mlir::Value growingEntry(tile::Place place);
  void reserve(tile::Place place, mlir::Value bytes, mlir::Value keptBytes);
  /// Allocates memory for a value of this type in a place that is not planned.
  void prepare(tile::Place place, mlir::Type type);
  void copyBytes(mlir::Value target, mlir::Value source, mlir::Value bytes);
  /// Does nothing if the value is already there.
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
  mlir::Block *leave; ///< block that returns its argument
  int64_t tables = 0;
  mlir::Value frame, inputs, outputs, weights, arena, offsets, symbols, parallel, growing, reserveFunction,
      refuseFunction, outputDims;
  mlir::Value list, slots, counters; ///< argument list of a call; addresses; iteration numbers, by slot
  mlir::Value kernelSymbols;         ///< symbols of a call
  mlir::Value extents;               ///< extents of a library call
  mlir::Value record;                ///< record of a checked kernel
};

/// For example "node 'x'": the origin of an error in a run.
std::string nodeText(mlir::Operation *op);

/// Reads the places in an attribute written by memory planning.
llvm::SmallVector<tile::Place> placesIn(mlir::Operation *op, mlir::StringRef attribute = tile::buffersAttribute);
} // namespace perpend::target

#endif
