//===- RunEmitter.h - emits perpend_run -------------------------*- C++ -*-===//
//
// Compiles a host program to one function: launches through frame->parallel, allocation of memory whose size is only
// known then, symbols, and errors (EmitRun.cpp); branches and loops (RunControlFlow.cpp); library calls
// (RunLibrary.cpp); checked kernels (RunChecked.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_CPU_RUNEMITTER_H
#define PERPEND_TARGET_CPU_RUNEMITTER_H

#include "graph/Shapes.h"
#include "host/Host.h"
#include "target/Machine.h"
#include "target/cpu/FunctionEmitter.h"

namespace perpend::target {

class RunEmitter {
public:
  RunEmitter(host::EntryOp entry, llvm::StringRef suffix, const Machine &machine);
  void run();

private:
  void loadFrame();
  void allocateLists();
  void numberSymbols();

  // Operations
  void emitBlock(mlir::Block &block);
  llvm::SmallVector<mlir::func::FuncOp, 2> functionsOf(host::LaunchOp launch);
  void emitLaunch(host::LaunchOp launch);
  mlir::Value isInRange(host::LaunchOp launch, mlir::func::FuncOp variant);
  void emitLaunch(host::LaunchOp launch, mlir::func::FuncOp kernel);
  void prepareScratch(host::LaunchOp launch, mlir::func::FuncOp kernel, mlir::Value units);
  void prepareRecord(host::LaunchOp launch, mlir::func::FuncOp kernel);
  void checkRecord(host::LaunchOp launch, mlir::func::FuncOp kernel);
  void emitCall(host::CallOp call);
  void readExtents(host::CallOp call, int64_t position);
  void emitReserve(host::ReserveOp reserve);
  void emitPlace(host::PlaceOp place);
  void emitContent(host::ContentOp content);
  void emitScalar(host::ScalarOp scalar);
  void emitCopy(host::CopyOp copy);
  void emitCopyRows(host::CopyRowsOp copy);
  void emitCopySlices(host::CopySlicesOp scatter);
  /// Emits a loop from 0 to `count`; the body gets the number.
  void emitFor(mlir::Value count, llvm::function_ref<void(mlir::Value)> body);
  void emitExchange(host::ExchangeOp exchange);
  void emitRead(host::ReadOp read);
  void emitSet(host::SetOp set);
  void emitCheck(host::CheckOp check);
  void emitIf(host::IfOp op);
  void emitLoop(host::LoopOp loop);
  void emitReturn();

  // Symbols: those of the entry lie in the frame, the others on the stack.
  mlir::Value evaluate(const graph::SymbolicInt &value, mlir::Value *isTooLarge = nullptr);
  mlir::Value evaluate(graph::ShapeAttr expression) { return evaluate(expression.values()[0]); }
  mlir::Value evaluateOr(const graph::SymbolicInt &value, int64_t otherwise);
  void setSymbol(mlir::StringRef name, mlir::Value value);
  /// The symbol's word: array and index.
  std::pair<mlir::Value, int64_t> wordOf(mlir::StringRef symbol);

  // Memory
  /// The address of the first byte of a place or memory, or of a room's perpend_buffer.
  mlir::Value addressOf(mlir::Value value);
  mlir::Value addressOf(mlir::BlockArgument argument);
  /// INT64_MAX for a negative extent or a size beyond 63 bits.
  mlir::Value bytesOf(host::PlaceType place);
  void reserve(mlir::Value room, mlir::Value bytes, mlir::Value keptBytes);

  /// Ends the run with an error unless `condition` holds: "node 'x': text, got ...".
  void check(mlir::Value condition, mlir::Operation *op, const llvm::Twine &text, mlir::Value got);
  mlir::Value constantTable(llvm::ArrayRef<int32_t> values);
  mlir::Value call(mlir::Value function, mlir::Type result, mlir::ValueRange arguments);

  host::EntryOp entry;
  const Machine &machine;
  mlir::ModuleOp module;
  std::vector<std::string> names;   ///< of the entry
  llvm::StringMap<int64_t> numbers; ///< of all symbols: in the frame, then among the run's own
  FunctionEmitter f;
  mlir::Block *leave; ///< block that returns its argument
  int64_t tables = 0;
  llvm::DenseMap<mlir::Value, mlir::Value> addresses; ///< that are not computed again at each use
  llvm::DenseMap<mlir::Operation *, int64_t> bufferNumbers;
  mlir::Value frame, inputs, outputs, weights, arena, offsets, symbols, parallel, growing, reserveFunction,
      refuseFunction, outputDims;
  mlir::Value list;       ///< argument list of a launch or call
  mlir::Value ownSymbols; ///< symbols of the run alone
  mlir::Value scalars;    ///< words of places that hold a symbol's value
  int64_t scalarCount = 0;
  mlir::Value kernelSymbols; ///< symbols of a launch
  mlir::Value extents;       ///< extents of a library call
  mlir::Value record;        ///< record of a checked kernel
};

/// For example "node 'x'": the origin of an error in a run.
std::string nodeText(mlir::Operation *op);
} // namespace perpend::target

#endif
