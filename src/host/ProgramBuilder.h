//===- ProgramBuilder.h - main as a host program, operator by operator -----===//
//
// Internal to BuildProgram.cpp (memory, launches, results) and
// BuildControlFlow.cpp (branches and loops).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_HOST_PROGRAMBUILDER_H
#define PERPEND_HOST_PROGRAMBUILDER_H

#include "graph/States.h"
#include "graph/Updates.h"
#include "host/BuildProgram.h"

#include "llvm/ADT/StringSet.h"

namespace perpend::host {

class ProgramBuilder {
public:
  ProgramBuilder(mlir::func::FuncOp main, const MemoryPlan &plan, const target::Machine &machine);
  EntryOp run();

private:
  using Names = mlir::ArrayRef<mlir::StringAttr>;

  // The entry and its memory
  EntryOp createEntry();
  StateOp declared(const graph::State &state);
  void createStates();
  SegmentOp createSegment(mlir::Location loc, int64_t offset, mlir::ElementsAttr value);
  void createMemory();

  // Operators
  void emitOperators(mlir::Block &block);
  void emitConstant(graph::ConstantOp constant);
  void emitTransfer(TransferOp transfer);
  void emitView(mlir::Operation *op);
  void emitCall(graph::CallKernelOp call);
  void emitLibrary(graph::CallLibraryOp call);
  void emitUpdate(graph::UpdateInterface update);
  void emitAssembled(mlir::Operation *concat);
  bool isFilled(mlir::OpOperand &operand);
  void emitMeasure(graph::MeasureOp measure);
  void emitRequire(graph::RequireOp require);
  void emitIf(graph::IfOp op);
  void emitLoop(graph::LoopOp loop);
  void emitResults(mlir::Operation *terminator);

  // Places
  mlir::Value placeOf(mlir::Value value) { return places.at(value); }
  /// Where a value of this type lies in storage; a room must hold it.
  mlir::Value typedPlace(mlir::Location loc, Storage storage, mlir::RankedTensorType type);
  mlir::Value slotPlace(mlir::Location loc, int64_t slot, mlir::RankedTensorType type);
  mlir::Value typedPlace(mlir::Location loc, mlir::Value source, mlir::RankedTensorType type,
                         const SymbolicInt &offset = 0);
  /// Where an operator writes a result: rooms are made large enough.
  mlir::Value placeForWriting(mlir::Location loc, Storage storage, mlir::RankedTensorType type);
  mlir::Value roomOf(Storage storage) { return rooms[storage.number]; }
  /// Copies a value to where it is wanted, unless it is there.
  void copyTo(mlir::Location loc, Storage target, Storage source, mlir::Value value);

  // Symbols
  std::string freshSymbol(llvm::StringRef prefix);
  ShapeAttr list(const SymbolicInt &value) { return ShapeAttr::get(b.getContext(), {value}); }
  void set(mlir::Location loc, llvm::ArrayRef<std::string> symbols, llvm::ArrayRef<SymbolicInt> values);
  std::string read(mlir::Location loc, llvm::StringRef prefix, mlir::Value place);
  void check(mlir::Location loc, const SymbolicInt &value, bool isEqual, const SymbolicInt &expected,
             const llvm::Twine &message, const SymbolicInt &got, std::optional<SymbolicInt> unless = std::nullopt);
  /// Where values of the types `given` become those of the types `expected` (results of a branch, what a loop carries),
  /// an extent that is not as expected ends the run with an error. Expected extents that mention one of `symbols` are
  /// not compared, and none is where `unless` is 0.
  void checkExtents(mlir::Location loc, mlir::TypeRange given, mlir::TypeRange expected, Names symbols,
                    std::optional<SymbolicInt> unless = std::nullopt);
  /// An expected extent that is one of `symbols` alone gives it its value, the given extent; then the expected extents
  /// that mention `symbols` in expressions are compared, as above.
  void followExtents(mlir::Location loc, mlir::TypeRange given, mlir::TypeRange expected, Names symbols);

  // Loops
  struct Loop;
  void startLoop(Loop &loop);
  void startScan(Loop &loop, unsigned element);
  void carry(Loop &loop);
  void startBody(Loop &loop);
  void startElements(Loop &loop);
  void endBody(Loop &loop);
  void followElements(Loop &loop);
  void storeElement(Loop &loop, unsigned element);
  void endLoop(Loop &loop);

  mlir::func::FuncOp main;
  const MemoryPlan &plan;
  const target::Machine &machine;
  mlir::OpBuilder b;
  EntryOp entry;
  llvm::DenseMap<mlir::Value, mlir::Value> places;
  std::vector<mlir::Value> memories;                             ///< of the arena
  std::vector<mlir::Value> arenaPlaces;                          ///< of the value in each; null: none yet
  std::vector<mlir::Value> rooms;                                ///< by number; those of outputs first
  llvm::DenseMap<int64_t, mlir::Value> slots;                    ///< what a slot is now
  llvm::StringSet<> symbols;                                     ///< all names that are taken
  llvm::DenseMap<mlir::Operation *, mlir::StringAttr> constants; ///< their segments
  unsigned segments = 0;                                         ///< in the module, for their names
};
} // namespace perpend::host

#endif
