//===- Lanes.cpp - scalar functions with vector counterparts --------------===//
#include "target/cpu/Lanes.h"

#include "target/TargetInfo.h"
#include "target/cpu/Architecture.h"
#include "tile/passes/FarFunctions.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace perpend::target {
namespace {

struct LaneFunction : InstructionFunction {
  Intrinsic::ID far = Intrinsic::not_intrinsic; ///< the function of f64 of those in tile/passes/FarFunctions.h
};
constexpr LaneFunction farFunctions[] = {{{tile::farSineFunction, nullptr}, Intrinsic::sin},
                                         {{tile::farCosineFunction, nullptr}, Intrinsic::cos},
                                         {{tile::farTangentFunction, nullptr}, Intrinsic::tan},
                                         {{tile::farSineFunctionDouble, nullptr}, Intrinsic::sin},
                                         {{tile::farCosineFunctionDouble, nullptr}, Intrinsic::cos}};
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
  double least = x->getType()->getScalarType()->isDoubleTy() ? tile::leastFarDouble : tile::leastFar;
  return builder.CreateFCmpOGE(builder.CreateUnaryIntrinsic(Intrinsic::fabs, x), ConstantFP::get(x->getType(), least));
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

/// Defines the scalar function by the first lane of the narrowest vector.
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

/// The architecture's instructions, and those that rare numbers alone need a call for.
static SmallVector<LaneFunction> laneFunctionsOf(const Architecture *architecture) {
  SmallVector<LaneFunction> all;
  for (const InstructionFunction &function : architecture ? architecture->functions : ArrayRef<InstructionFunction>())
    all.push_back({function});
  append_range(all, farFunctions);
  return all;
}

void defineLaneFunctions(Module &module, const TargetInfo &target) {
  for (const LaneFunction &function : laneFunctionsOf(architectureOf(target.code))) {
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

bool releaseLaneFunctions(Module &module, const TargetInfo &target) {
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
  for (const LaneFunction &function : laneFunctionsOf(architectureOf(target.code))) {
    release(function.name);
    for (unsigned lanes = leastLanesOfCalls; lanes <= mostLanes; lanes *= 2)
      release(variantName(function, lanes));
  }
  return isUsed;
}

} // namespace perpend::target
