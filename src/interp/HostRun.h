//===- HostRun.h - one run of a host program --------------------*- C++ -*-===//
//
// Executes the operations of an entry in order, on bytes: an arena, whose buffers lie where the memory plan says;
// rooms, which are memory whose size a run decides; and constants. Internal to the interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTERP_HOSTRUN_H
#define PERPEND_INTERP_HOSTRUN_H

#include "host/LiveRanges.h"
#include "interp/Asynchrony.h"
#include "interp/Environment.h"

namespace perpend::interp {

/// Binds the symbols of an entry and checks its inputs; `inputs` become what the entry wants: repeated where an extent
/// of 1 stands for another. Errors: at the entry, naming the input.
mlir::LogicalResult bindInputs(host::EntryOp entry, Tensors &inputs, Environment &environment);

class HostRun {
public:
  HostRun(host::EntryOp entry, Environment &environment, Driver &driver)
      : entry(entry), environment(environment), driver(driver), asynchrony(driver) {}
  mlir::FailureOr<Tensors> run(llvm::ArrayRef<Tensor> inputs);

private:
  /// Bytes of a memory; whoever refers to them keeps them alive.
  struct Bytes {
    std::shared_ptr<std::byte> data;
    int64_t size = 0;
  };
  /// What a place, a buffer or a room is now.
  struct Memory {
    Bytes bytes;
    uint64_t room = 0; ///< number, of rooms only
  };

  mlir::LogicalResult createArenas();
  mlir::LogicalResult createArena(llvm::StringRef memory, const host::LiveRanges &ranges);
  mlir::LogicalResult createOutputs();
  /// An input and an output in one memory, that of the input first.
  mlir::LogicalResult shareState(unsigned state);
  mlir::FailureOr<Bytes> allocate(mlir::Operation *op, int64_t size, llvm::StringRef memory = host::hostMemory);
  mlir::FailureOr<int64_t> evaluate(mlir::Operation *op, graph::ShapeAttr expression) {
    return environment.evaluate(op, expression.values()[0]);
  }
  /// The memory of a place as a tensor. Error (at op): it leaves its memory.
  mlir::FailureOr<Tensor> tensorAt(mlir::Operation *op, mlir::Value place);
  mlir::FailureOr<Tensors> tensorsAt(mlir::Operation *op, mlir::ValueRange places);
  Bytes &room(mlir::Value value) { return rooms[memories.at(value).room]; }

  mlir::LogicalResult runBlock(mlir::Block &block);
  mlir::LogicalResult execute(mlir::Operation &op);
  mlir::LogicalResult defineConstant(host::ConstantOp op);
  mlir::FailureOr<Bytes> bytesInFile(host::ConstantOp op, host::SegmentOp segment);
  mlir::LogicalResult definePlace(host::PlaceOp op);
  mlir::LogicalResult defineScalar(host::ScalarOp op);
  mlir::LogicalResult reserve(host::ReserveOp op);
  /// What an operation touches now.
  Asynchrony::Ranges rangesOf(mlir::Operation *op);
  /// Does it, or starts it if it is asynchronous.
  mlir::LogicalResult give(Command command, bool isOfDevice);
  mlir::LogicalResult wait(host::WaitOp op);
  mlir::LogicalResult launch(host::LaunchOp op);
  mlir::LogicalResult call(host::CallOp op);
  mlir::LogicalResult copy(host::CopyOp op);
  mlir::LogicalResult copyRows(host::CopyRowsOp op);
  mlir::LogicalResult copySlices(host::CopySlicesOp op);
  mlir::LogicalResult read(host::ReadOp op);
  mlir::LogicalResult set(host::SetOp op);
  mlir::LogicalResult check(host::CheckOp op);
  mlir::LogicalResult choose(host::IfOp op);
  mlir::LogicalResult loop(host::LoopOp op);
  mlir::FailureOr<Tensors> results();

  host::EntryOp entry;
  Environment &environment;
  Driver &driver;
  Asynchrony asynchrony;
  llvm::DenseMap<mlir::Value, Driver::Event> events;
  llvm::DenseMap<mlir::Value, Memory> memories;
  std::map<uint64_t, Bytes> rooms; ///< by number
};
} // namespace perpend::interp

#endif
