//===- ObjectCall.cpp - implementations in object files -------------------===//

#include "tile/intrinsics/ObjectCall.h"

#include "graph/Attributes.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

std::string perpend::tile::nameInObjects(const Intrinsic &intrinsic) {
  return ("_mlir_ciface_" + intrinsic.implementation.getSymName()).str();
}

static LLVM::LLVMFuncOp functionOfObject(ModuleOp module, const Intrinsic &intrinsic) {
  std::string name = nameInObjects(intrinsic);
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known; // shared with other intrinsics
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Type> addresses(intrinsic.implementation.getNumArguments(),
                              LLVM::LLVMPointerType::get(module.getContext()));
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()), addresses);
  auto function = builder.create<LLVM::LLVMFuncOp>(module.getLoc(), name, type);
  function.setPassthroughAttr(builder.getStrArrayAttr({"nounwind"}));
  return function;
}

static void addObjects(ModuleOp module, ArrayRef<std::string> paths) {
  Builder builder(module.getContext());
  SmallVector<Attribute> objects;
  if (auto known = module->getAttrOfType<ArrayAttr>(graph::objectsAttribute))
    objects.append(known.begin(), known.end());
  for (const std::string &path : paths)
    if (Attribute object = builder.getStringAttr(path); !llvm::is_contained(objects, object))
      objects.push_back(object);
  module->setAttr(graph::objectsAttribute, builder.getArrayAttr(objects));
}

func::FuncOp perpend::tile::callOfObject(ModuleOp module, const Intrinsic &intrinsic) {
  Location loc = module.getLoc();
  addObjects(module, intrinsic.objects);
  LLVM::LLVMFuncOp callee = functionOfObject(module, intrinsic);
  auto function =
      func::FuncOp::create(loc, intrinsic.implementation.getSymName(), intrinsic.implementation.getFunctionType());
  OpBuilder builder = OpBuilder::atBlockBegin(function.addEntryBlock());
  LLVMTypeConverter converter(module.getContext());
  Type address = LLVM::LLVMPointerType::get(module.getContext());
  Value one = builder.create<LLVM::ConstantOp>(loc, builder.getI64IntegerAttr(1));
  SmallVector<Value> places;
  for (Value buffer : function.getArguments()) {
    Type type = converter.convertType(buffer.getType());
    Value descriptor = builder.create<UnrealizedConversionCastOp>(loc, type, buffer).getResult(0);
    places.push_back(builder.create<LLVM::AllocaOp>(loc, address, type, one));
    builder.create<LLVM::StoreOp>(loc, descriptor, places.back());
  }
  builder.create<LLVM::CallOp>(loc, callee, places);
  builder.create<func::ReturnOp>(loc);
  return function;
}
