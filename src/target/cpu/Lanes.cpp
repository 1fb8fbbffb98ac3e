//===- Lanes.cpp - functions of numbers that LLVM makes vectors of ------------===//
#include "target/cpu/Lanes.h"

#include "target/TargetInfo.h"
#include "tile/FarFunctions.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace perpend::target {
namespace {

Value *scale(IRBuilder<> &builder, ArrayRef<Value *> operands, unsigned lanes) {
  const Intrinsic::ID instruction = lanes == 16  ? Intrinsic::x86_avx512_mask_scalef_ps_512
                                    : lanes == 8 ? Intrinsic::x86_avx512_mask_scalef_ps_256
                                                 : Intrinsic::x86_avx512_mask_scalef_ps_128;
  SmallVector<Value *> arguments(operands);
  arguments.push_back(operands[0]);
  arguments.push_back(builder.getIntN(std::max(lanes, 8u), lanes == 4 ? 0xf : lanes == 8 ? 0xff : 0xffff));
  if (lanes == 16)
    arguments.push_back(builder.getInt32(4)); // rounds as the control register says
  return builder.CreateIntrinsic(instruction, {}, arguments);
}

Value *roundToBF16(IRBuilder<> &builder, ArrayRef<Value *> operands, unsigned lanes) {
  if (lanes == 4) {
    Value *wide = builder.CreateShuffleVector(operands[0], {0, 1, 2, 3, -1, -1, -1, -1});
    return builder.CreateShuffleVector(roundToBF16(builder, wide, 8), {0, 1, 2, 3});
  }
  const Intrinsic::ID instruction =
      lanes == 16 ? Intrinsic::x86_avx512bf16_cvtneps2bf16_512 : Intrinsic::x86_avx512bf16_cvtneps2bf16_256;
  return builder.CreateBitCast(builder.CreateIntrinsic(instruction, {}, operands[0]),
                               FixedVectorType::get(builder.getInt16Ty(), lanes));
}

Value *roundToF16(IRBuilder<> &builder, ArrayRef<Value *> operands, unsigned lanes) {
  Value *nearestEven = builder.getInt32(0);
  if (lanes == 16)
    return builder.CreateIntrinsic(Intrinsic::x86_avx512_mask_vcvtps2ph_512, {},
                                   {operands[0], nearestEven,
                                    Constant::getNullValue(FixedVectorType::get(builder.getInt16Ty(), lanes)),
                                    builder.getInt16(0xffff)});
  if (lanes == 8)
    return builder.CreateIntrinsic(Intrinsic::x86_vcvtps2ph_256, {}, {operands[0], nearestEven});
  Value *numbers = builder.CreateIntrinsic(Intrinsic::x86_vcvtps2ph_128, {}, {operands[0], nearestEven});
  return builder.CreateShuffleVector(numbers, {0, 1, 2, 3});
}

struct LaneFunction {
  StringRef name;
  Value *(*emit)(IRBuilder<> &builder, ArrayRef<Value *> operands, unsigned lanes);
  Intrinsic::ID far = Intrinsic::not_intrinsic; ///< the function of f64 of those in tile/FarFunctions.h
};
constexpr LaneFunction laneFunctions[] = {{scaleFunction, scale},
                                          {roundToBF16Function, roundToBF16},
                                          {roundToF16Function, roundToF16},
                                          {tile::farSineFunction, nullptr, Intrinsic::sin},
                                          {tile::farCosineFunction, nullptr, Intrinsic::cos}};
constexpr unsigned leastLanes = 4, mostLanes = 16;
constexpr unsigned leastLanesOfCalls = 2; // beside two numbers of f64, where vectors have 16 bytes

StringRef mappings() { return "vector-function-abi-variant"; }

std::string variantName(const LaneFunction &function, unsigned lanes) {
  return formatv("{0}.{1}", function.name, lanes).str();
}

void setAttributes(Function &function) {
  for (Attribute::AttrKind kind : {Attribute::NoInline, Attribute::NoSync, Attribute::NoFree, Attribute::NoUnwind,
                                   Attribute::WillReturn, Attribute::Speculatable})
    function.addFnAttr(kind);
  function.setDoesNotAccessMemory();
}

Value *isFar(IRBuilder<> &builder, Value *x) {
  return builder.CreateFCmpOGE(builder.CreateUnaryIntrinsic(Intrinsic::fabs, x),
                               ConstantFP::get(x->getType(), tile::leastFar));
}

/// (x, near) -> of each number, in a function of its own, which is not written in place: loops keep no registers for
/// it.
Function *makeFar(Function &function, Intrinsic::ID meaning) {
  auto *far = Function::Create(function.getFunctionType(), GlobalValue::InternalLinkage, function.getName() + ".far",
                               function.getParent());
  setAttributes(*far);
  far->addFnAttr(Attribute::Cold);
  IRBuilder<> builder(BasicBlock::Create(function.getContext(), "", far));
  Argument *x = far->getArg(0), *near = far->getArg(1);
  Value *wide = builder.CreateFPExt(x, x->getType()->getWithNewType(builder.getDoubleTy()));
  Value *result = builder.CreateFPTrunc(builder.CreateUnaryIntrinsic(meaning, wide), x->getType());
  builder.CreateRet(builder.CreateSelect(isFar(builder, x), result, near));
  return far;
}

/// (x, near) -> near, unless x or a number of it is far.
void defineChoice(Function &function, Intrinsic::ID meaning) {
  LLVMContext &context = function.getContext();
  auto *entry = BasicBlock::Create(context, "", &function), *far = BasicBlock::Create(context, "far", &function),
       *usual = BasicBlock::Create(context, "usual", &function);
  Argument *x = function.getArg(0), *near = function.getArg(1);
  IRBuilder<> builder(entry);
  Value *isAny = isFar(builder, x);
  if (x->getType()->isVectorTy())
    isAny = builder.CreateOrReduce(isAny);
  builder.CreateCondBr(isAny, far, usual, MDBuilder(context).createBranchWeights(1, 1 << 20));
  builder.SetInsertPoint(far);
  builder.CreateRet(builder.CreateCall(makeFar(function, meaning), {x, near}));
  builder.SetInsertPoint(usual);
  builder.CreateRet(near);
}

void defineVariant(Function &scalar, const LaneFunction &function, unsigned lanes) {
  auto inLanes = [&](Type *type) -> Type * { return FixedVectorType::get(type, lanes); };
  auto *type = FunctionType::get(inLanes(scalar.getReturnType()),
                                 map_to_vector(scalar.getFunctionType()->params(), inLanes), /*isVarArg=*/false);
  auto *variant =
      Function::Create(type, GlobalValue::ExternalLinkage, variantName(function, lanes), scalar.getParent());
  setAttributes(*variant);
  if (function.far)
    return defineChoice(*variant, function.far);
  IRBuilder<> builder(BasicBlock::Create(scalar.getContext(), "", variant));
  builder.CreateRet(
      function.emit(builder, map_to_vector(variant->args(), [](Argument &x) -> Value * { return &x; }), lanes));
}

/// The first lane of the narrowest vectors.
void defineScalar(Function &scalar, const LaneFunction &function) {
  if (function.far)
    return defineChoice(scalar, function.far);
  IRBuilder<> builder(BasicBlock::Create(scalar.getContext(), "", &scalar));
  auto operands = map_to_vector(scalar.args(), [&](Argument &x) -> Value * {
    return builder.CreateInsertElement(PoisonValue::get(FixedVectorType::get(x.getType(), leastLanes)), &x,
                                       uint64_t(0));
  });
  builder.CreateRet(builder.CreateExtractElement(function.emit(builder, operands, leastLanes), uint64_t(0)));
}
} // namespace

void defineLaneFunctions(Module &module, const TargetInfo &target) {
  for (const LaneFunction &function : laneFunctions) {
    Function *scalar = module.getFunction(function.name);
    if (!scalar || scalar->use_empty())
      continue;
    scalar->deleteBody();
    scalar->setLinkage(GlobalValue::ExternalLinkage);
    setAttributes(*scalar);
    std::string variants;
    for (unsigned lanes = function.far ? leastLanesOfCalls : leastLanes;
         lanes <= target.vectorLanes(/*elementBytes=*/4); lanes *= 2) {
      defineVariant(*scalar, function, lanes);
      variants += formatv("{0}_ZGV_LLVM_N{1}{2}_{3}({4})", variants.empty() ? "" : ",", lanes,
                          std::string(scalar->arg_size(), 'v'), function.name, variantName(function, lanes));
    }
    scalar->addFnAttr(mappings(), variants);
    defineScalar(*scalar, function);
  }
}

bool releaseLaneFunctions(Module &module) {
  bool isUsed = false;
  auto release = [&](StringRef name) {
    Function *function = module.getFunction(name);
    if (!function)
      return;
    function->setLinkage(GlobalValue::InternalLinkage);
    function->removeFnAttr(Attribute::NoInline);
    function->addFnAttr(Attribute::AlwaysInline);
    isUsed = true;
  };
  for (const LaneFunction &function : laneFunctions) {
    release(function.name);
    for (unsigned lanes = leastLanesOfCalls; lanes <= mostLanes; lanes *= 2)
      release(variantName(function, lanes));
  }
  return isUsed;
}

} // namespace perpend::target
