//===- BareEntry.cpp - a model's function without a runtime ---------------===//

#include "target/cpu/BareEntry.h"
#include "target/WeightsObject.h"
#include "target/cpu/Architecture.h"

#include "perpend_module.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include <cstddef>

using namespace llvm;

namespace perpend::target {
namespace {

class BareEmitter {
public:
  BareEmitter(Module &module, const Architecture &architecture, const ModuleTable &table,
              const BareInterface &interface)
      : module(module), architecture(architecture), table(table), interface(interface), context(module.getContext()),
        builder(context), pointer(PointerType::getUnqual(context)), i32(Type::getInt32Ty(context)),
        i64(Type::getInt64Ty(context)), i8(Type::getInt8Ty(context)) {}

  void emitRun();
  void addTables();
  void addWeights();

private:
  Constant *arena();
  Constant *weights();
  Constant *integers(ArrayRef<int64_t> values, const Twine &name);
  Function *define(const Twine &name, Type *result, ArrayRef<Type *> arguments, GlobalValue::LinkageTypes linkage);
  Function *parallel();
  Function *refuse();
  Value *list(ArrayRef<Value *> addresses);

  Module &module;
  const Architecture &architecture;
  const ModuleTable &table;
  const BareInterface &interface;
  LLVMContext &context;
  IRBuilder<> builder;
  PointerType *pointer;
  Type *i32, *i64, *i8;
};

Function *BareEmitter::define(const Twine &name, Type *result, ArrayRef<Type *> arguments,
                              GlobalValue::LinkageTypes linkage) {
  auto *function = Function::Create(FunctionType::get(result, arguments, false), linkage, name, module);
  builder.SetInsertPoint(BasicBlock::Create(context, "", function));
  return function;
}

Constant *BareEmitter::arena() {
  auto *type = ArrayType::get(i8, std::max<uint64_t>(interface.arenaBytes, 1));
  auto *memory = new GlobalVariable(module, type, /*isConstant=*/false, GlobalValue::ExternalLinkage,
                                    ConstantAggregateZero::get(type), bareArenaPrefix + table.name);
  memory->setAlignment(Align(PERPEND_ALIGNMENT));
  return memory;
}

Constant *BareEmitter::weights() {
  if (table.weightsSymbol.empty())
    return ConstantPointerNull::get(pointer);
  auto *weights =
      new GlobalVariable(module, i8, /*isConstant=*/true, GlobalValue::ExternalLinkage, nullptr, table.weightsSymbol);
  if (!interface.weightsFile.empty()) { // the code finds them without the linker's tables
    weights->setVisibility(GlobalValue::HiddenVisibility);
    weights->setAlignment(Align(PERPEND_ALIGNMENT));
  }
  return weights;
}

Constant *BareEmitter::integers(ArrayRef<int64_t> values, const Twine &name) {
  SmallVector<uint64_t> words(values.begin(), values.end());
  Constant *content = ConstantDataArray::get(context, words);
  return new GlobalVariable(module, content->getType(), /*isConstant=*/true, GlobalValue::InternalLinkage, content,
                            name);
}

/// perpend_frame.parallel: all units, one after another.
Function *BareEmitter::parallel() {
  Function *function = define("perpend_run_units", Type::getVoidTy(context), {pointer, i32, pointer, pointer, i64, i64},
                              GlobalValue::InternalLinkage);
  auto *run = BasicBlock::Create(context, "", function), *end = BasicBlock::Create(context, "", function);
  Value *none = ConstantInt::get(i64, 0), *extent = function->getArg(4);
  builder.CreateCondBr(builder.CreateICmpSGT(extent, none), run, end);
  builder.SetInsertPoint(run);
  builder.CreateCall(FunctionType::get(Type::getVoidTy(context), {pointer, pointer, i64, i64}, false),
                     function->getArg(2), {function->getArg(3), ConstantPointerNull::get(pointer), none, extent});
  builder.CreateBr(end);
  builder.SetInsertPoint(end);
  builder.CreateRetVoid();
  return function;
}

/// perpend_frame.refuse: nobody reads the text.
Function *BareEmitter::refuse() {
  Function *function = define("perpend_refuse", i32, {pointer, i64}, GlobalValue::InternalLinkage);
  builder.CreateRet(ConstantInt::get(i32, PERPEND_INVALID_ARGUMENT));
  return function;
}

Value *BareEmitter::list(ArrayRef<Value *> addresses) {
  auto *type = ArrayType::get(pointer, std::max<size_t>(addresses.size(), 1));
  Value *memory = builder.CreateAlloca(type);
  for (size_t number = 0; number < addresses.size(); ++number)
    builder.CreateStore(addresses[number], builder.CreateConstInBoundsGEP1_64(pointer, memory, number));
  return memory;
}

void BareEmitter::emitRun() {
  Function *units = parallel(), *refusal = refuse();
  SmallVector<Type *> types(interface.inputCount + interface.outputCount, pointer);
  Function *function = define(bareRunPrefix + table.name, i32, types, GlobalValue::ExternalLinkage);
  SmallVector<Value *> inputs, outputs;
  for (Argument &argument : function->args())
    (argument.getArgNo() < interface.inputCount ? inputs : outputs).push_back(&argument);
  const std::pair<size_t, Value *> fields[] = {
      {offsetof(perpend_frame, inputs), list(inputs)},
      {offsetof(perpend_frame, outputs), list(outputs)},
      {offsetof(perpend_frame, weights), weights()},
      {offsetof(perpend_frame, arena), arena()},
      {offsetof(perpend_frame, offsets), integers(interface.offsets, "perpend_offsets")},
      {offsetof(perpend_frame, symbols), integers(/*one thread=*/{1}, "perpend_symbols")},
      {offsetof(perpend_frame, parallel), units},
      {offsetof(perpend_frame, refuse), refusal}};
  SmallVector<Value *> words(sizeof(perpend_frame) / sizeof(void *), ConstantPointerNull::get(pointer));
  for (auto [offset, value] : fields)
    words[offset / sizeof(void *)] = value;
  builder.CreateRet(builder.CreateCall(module.getFunction("perpend_run"), {list(words)}));
}

void BareEmitter::addTables() {
  auto *bytes = ConstantDataArray::getString(context, table.tables, /*AddNull=*/false);
  auto *tables = new GlobalVariable(module, bytes->getType(), /*isConstant=*/true, GlobalValue::InternalLinkage, bytes,
                                    tablesSymbol);
  tables->setSection(architecture.tablesSection);
  tables->setAlignment(Align(alignof(int64_t)));
  tables->setMetadata(LLVMContext::MD_exclude, MDNode::get(context, {}));
  appendToCompilerUsed(module, {tables});
}

/// The assembler copies them, so they never become LLVM's constants.
void BareEmitter::addWeights() {
  std::string path;
  raw_string_ostream(path).write_escaped(interface.weightsFile);
  const std::string symbol = ("_" + table.weightsSymbol); // Mach-O
  module.appendModuleInlineAsm(formatv("  .section {0}\n  .private_extern {1}\n  .globl {1}\n  .p2align {2}\n{1}:\n"
                                       "  .incbin \"{3}\", {4}\n",
                                       architecture.weightsSection, symbol, Log2_64(PERPEND_ALIGNMENT), path,
                                       packedWeightsOffset)
                                   .str());
}

} // namespace

void addBareEntry(Module &module, const Architecture &architecture, const ModuleTable &table,
                  const BareInterface &interface) {
  BareEmitter emitter(module, architecture, table, interface);
  emitter.emitRun();
  if (!interface.weightsFile.empty())
    emitter.addWeights();
  emitter.addTables();
  for (StringRef name : functionNamesOf(table.entryCount))
    module.getFunction(name)->setLinkage(GlobalValue::InternalLinkage);
}

} // namespace perpend::target
