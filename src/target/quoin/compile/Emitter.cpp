//===- Emitter.cpp - instructions for the steps of main -------------------===//
#include "target/quoin/compile/Emitter.h"
#include "target/quoin/compile/NestEmitter.h"
#include "target/quoin/compile/Records.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace perpend::quoin {
namespace {

class Emitter {
public:
  Emitter(MainProgram &main, const Config &config, const Decisions &decisions, ScalarCode scalar, Trial trial = {})
      : main(main), decisions(decisions), pieces(piecesOf(main, config, decisions)),
        program(programFor(config, std::move(scalar))),
        emitter(program, pieces, main.weights, decisions, std::move(trial)), records(main, program) {}
  Expected<Program> emit();
  Trial trial() { return emitter.trial(); }

private:
  static Program programFor(const Config &config, ScalarCode scalar) {
    Program program;
    program.config = config;
    program.scalar = std::move(scalar);
    return program;
  }
  void nameMemory();
  void reserveLocals();
  void emitPiece(Piece &piece);
  void emitStep(Step &step);
  /// Why the units cannot; empty: they do.
  std::string emitNests(const Step &step);
  SmallVector<Spot> placesOf(const Step &step, ArrayRef<Nest> nests);
  void call(const ScalarCall &scalar);

  MainProgram &main;
  const Decisions decisions;
  std::vector<Piece> pieces; ///< of the steps
  Program program;
  NestEmitter emitter;
  size_t number = 0; ///< of the piece
  Records records;
  Range locals; ///< what kernels keep between their nests, one after the other
};

} // namespace

static ArrayRef<Buffer> ownBuffers(const Kernel &kernel) {
  return ArrayRef(kernel.buffers).drop_front(kernel.arguments);
}

/// Of what a kernel keeps between its nests.
static uint64_t bytesOf(const Buffer &buffer) {
  return buffer.isTable() ? 0 : alignTo(static_cast<uint64_t>(buffer.elements) * buffer.elementBytes, wordBytes);
}

void Emitter::reserveLocals() {
  uint64_t most = 0;
  for (const Step &step : main.steps) {
    uint64_t bytes = 0;
    for (const Buffer &buffer : step.nests ? ownBuffers(*step.nests) : ArrayRef<Buffer>())
      bytes += bytesOf(buffer);
    most = std::max(most, bytes);
  }
  locals = records.takeRange(most);
}

void Emitter::call(const ScalarCall &scalar) {
  Instruction call;
  call.opcode = Opcode::sc_call;
  call.axis = static_cast<uint32_t>(scalar.entry);
  call.dst() = {Space::DDR, 0, ownCore, scalar.record};
  emitter.addAlone(std::move(call));
}

/// Of a step's buffers, for nests that may not use all of them: what they keep lies in LLB if there is space.
SmallVector<Spot> Emitter::placesOf(const Step &step, ArrayRef<Nest> nests) {
  SmallVector<Spot> places;
  for (const auto &values : {step.inputs, step.outputs})
    for (const Value &value : values)
      places.push_back(value.spot);
  uint64_t next = locals.byte;
  for (auto [local, buffer] : enumerate(ownBuffers(*step.nests))) {
    const auto number = static_cast<unsigned>(local);
    std::optional<uint64_t> near;
    if (buffer.isTable()) {
      places.push_back({Space::DDR, records.tableAt(buffer)});
      continue;
    }
    if (Prefetch::isUsed(nests, step.nests->arguments + number))
      near = emitter.takeLocal(number, static_cast<uint64_t>(buffer.elements) * buffer.elementBytes);
    places.push_back(near ? Spot{Space::LLB, *near} : Spot{Space::DDR, next});
    next += near ? 0 : bytesOf(buffer);
  }
  return places;
}

std::string Emitter::emitNests(const Step &step) {
  if (!step.nests)
    return step.refusal;
  if (step.nests->nests.empty()) // all of it lies where it belongs (Inlays.h)
    return "";
  const NestEmitter::State before = emitter.state();
  if (!pieces[number].isPart && emitter.emitRows(step, placesOf(step, {}))) // rows stay in L1
    return "";
  if (pieces[number].rolled && emitter.emitRolling(step, placesOf(step, waysOf(step, decisions).front())))
    return "";
  std::string problem = "results over operands that are read later";
  for (const std::vector<Nest> &nests : waysOf(step, decisions)) {
    problem.clear();
    const SmallVector<Spot> places = placesOf(step, nests);
    for (const Nest &nest : nests)
      if (problem = emitter.emitNest(nest, places); !problem.empty())
        break;
    if (problem.empty())
      return "";
    emitter.restore(before);
  }
  return problem;
}

/// Where a piece cannot be, the whole step is emitted.
void Emitter::emitPiece(Piece &piece) {
  if (!piece.isPart) {
    emitStep(piece.step);
    piece.whole->refusal = piece.step.refusal;
    return;
  }
  if (number > 0 && pieces[number - 1].whole == piece.whole && !pieces[number - 1].step.refusal.empty()) {
    piece.step.refusal = pieces[number - 1].step.refusal; // it has been emitted
    return;
  }
  emitter.setLocation(piece.step.location);
  if (piece.step.refusal = emitNests(piece.step); piece.step.refusal.empty())
    return;
  piece.isPart = false;
  emitStep(*piece.whole);
  piece.isPart = true;
}

void Emitter::emitStep(Step &step) {
  emitter.setLocation(step.location);
  if (step.call)
    return call(records.libraryCall(step));
  if (step.kernel.empty())
    return call(records.copyCall(step));
  step.refusal = emitNests(step);
  if (!step.refusal.empty())
    call(records.kernelCall(step));
}

void Emitter::nameMemory() {
  auto name = [&](StringRef name, size_t number, Symbol::Kind kind, const Range &range) {
    if (range.bytes)
      program.symbols.push_back({formatv("{0}{1}", name, number), kind, Space::DDR, 0, range.byte, range.bytes});
  };
  for (auto [number, range] : enumerate(main.inputs))
    name("in", number, Symbol::Kind::Input, range);
  for (auto [number, range] : enumerate(main.dynamic ? ArrayRef<Range>() : ArrayRef(main.outputs)))
    name("out", number, Symbol::Kind::Output, range);
  for (auto [number, range] :
       enumerate(main.dynamic ? ArrayRef(main.dynamic->outputs) : ArrayRef<std::optional<Range>>()))
    if (range)
      name("out", number, Symbol::Kind::Output, *range);
  name("arena", 0, Symbol::Kind::Scratch, main.arena);
  name("locals", 0, Symbol::Kind::Scratch, locals);
  program.symbols.push_back({"near", Symbol::Kind::Scratch, Space::LLB, 0, 0, program.config.llbBytes});
  for (const auto &[range, number] : main.scalars) {
    Data data{0, range.byte, std::vector<uint8_t>(sizeof number)};
    std::memcpy(data.bytes.data(), &number, sizeof number);
    program.data.push_back(std::move(data));
  }
}

Expected<Program> Emitter::emit() {
  reserveLocals();
  nameMemory();
  records.placeRun();
  if (llvm::any_of(main.steps, [](const Step &step) { return step.call.has_value(); }))
    call(records.beginCall());
  for (Piece &piece : pieces) {
    emitter.begin(number, piece.step);
    emitPiece(piece);
    ++number;
  }
  if (main.dynamic) {
    emitter.setLocation("main");
    call(records.mainCall(*main.dynamic));
  }
  main.inOrder += emitter.finish();
  if (records.end > program.config.ddrBytes)
    return createStringError(formatv("the program needs {0} bytes of DDR, {1} has {2}\nhint: compile a smaller model",
                                     records.end, program.config.name, program.config.ddrBytes));
  return std::move(program);
}

Expected<Program> emitProgram(MainProgram &main, const Config &config, const Decisions &decisions, ScalarCode scalar) {
  MainProgram copy = main; // a trial tells how much time the first core has for copies
  Emitter trial(copy, config, decisions, scalar);
  if (Expected<Program> program = trial.emit(); !program || !decisions.ahead || config.coresPerCluster == 1) {
    main = std::move(copy);
    return program;
  }
  return Emitter(main, config, decisions, std::move(scalar), trial.trial()).emit();
}

} // namespace perpend::quoin
