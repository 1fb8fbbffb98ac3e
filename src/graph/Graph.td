//===- Graph.td - the graph dialect: attributes, enums, interfaces --------===//
//
// Operators on tensors with symbolic shapes. Values are RankedTensorType; if extents are not constant, the encoding
// #graph.shape gives all extents as expressions over symbols. Ops.td has the primitives.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_TD
#define PERPEND_GRAPH_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"

def GraphDialect : Dialect {
  let name = "graph";
  let cppNamespace = "::perpend::graph";
  let summary = "Operators on tensors with symbolic shapes";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let extraClassDeclaration = [{
    /// Parses an expression that an attribute stores as text; cached.
    ::perpend::support::SymbolicInt expression(::mlir::StringAttr text);
    /// Folds constant expressions: computes an operator with static shapes on constant operands. The interpreter
    /// registers itself here; without it nothing is folded.
    using Evaluator = ::mlir::LogicalResult (*)(::mlir::Operation *, ::llvm::ArrayRef<::mlir::Attribute>,
                                                ::llvm::SmallVectorImpl<::mlir::Attribute> &);
    Evaluator evaluator = nullptr;
    /// The identities of strings while graphs are built, folded and interpreted: equal strings have equal numbers, 0 is
    /// the empty string. An artifact has its own table.
    int64_t identityOf(::llvm::StringRef text);
    ::llvm::StringRef textOf(int64_t identity);
  private:
    ::llvm::StringMap<int64_t> identities;
    ::std::vector<::llvm::StringRef> texts;
    ::llvm::sys::Mutex textsMutex;
    ::llvm::DenseMap<::mlir::StringAttr, ::perpend::support::SymbolicInt> expressions;
    ::llvm::sys::Mutex expressionsMutex;
  public:
  }];
}

class Graph_Attr<string name, string mnemonic_, list<Trait> traits = []> : AttrDef<GraphDialect, name, traits> {
  let mnemonic = mnemonic_;
}

def ShapeAttr : Graph_Attr<"Shape", "shape", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "A list of integer expressions over the model's symbols";
  let description = [{
    As a tensor encoding it gives every dimension, and dimension i is `?` in the
    tensor type exactly when expression i is not a number. Also used for the
    starts of a slice and the like. Expressions are kept in canonical text, so
    equal shapes are the same attribute. Example: `#graph.shape<[n, 4*m + 1]>`.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$dims);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static ShapeAttr get(::mlir::MLIRContext *context, ::llvm::ArrayRef<::perpend::support::SymbolicInt> dims);
    ::llvm::SmallVector<::perpend::support::SymbolicInt> values() const;
  }];
}

class Graph_Type<string name, string mnemonic_> : TypeDef<GraphDialect, name> {
  let mnemonic = mnemonic_;
}

def StringType : Graph_Type<"String", "string"> {
  let summary = "Element type: text";
  let description = [{
    An element is the identity (i64) of a text in the table of a session; equal texts have equal identities, and 0 is the empty text. So operators
    that move or compare elements need no other code for texts (docs/decisions/0005).
  }];
}

def SequenceType : Graph_Type<"Sequence", "sequence"> {
  let summary = "Element type: a list of tensors, or an optional tensor";
  let description = [{
    Used as tensor<!graph.sequence<T>>; the element is the handle (i64) of a list of the session, 0 the empty list. T is the type of the elements, with `?` for
    extents that differ or are not numbers, or none while nothing has been put in. An optional value is a list of at most one element.
  }];
  let parameters = (ins "::mlir::Type":$element, DefaultValuedParameter<"bool", "false">:$isOptional);
  let assemblyFormat = "`<` $element (`,` `optional` `` $isOptional^)? `>`";
}

def ReductionKind : I32EnumAttr<"ReductionKind", "how elements are combined", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Product", 1, "product">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">]> {
  let cppNamespace = "::perpend::graph";
  let genSpecializedAttr = 0;
}
def ReductionKindAttr : EnumAttr<GraphDialect, ReductionKind, "reduction">;

def MinifloatFormat : I32EnumAttr<"MinifloatFormat", "the bits of a float of at most 8 bits", [
    I32EnumAttrCase<"F8E4M3FN", 0, "f8e4m3fn">, I32EnumAttrCase<"F8E4M3FNUZ", 1, "f8e4m3fnuz">,
    I32EnumAttrCase<"F8E5M2", 2, "f8e5m2">, I32EnumAttrCase<"F8E5M2FNUZ", 3, "f8e5m2fnuz">,
    I32EnumAttrCase<"F8E8M0FNU", 4, "f8e8m0fnu">, I32EnumAttrCase<"F6E2M3FN", 5, "f6e2m3fn">,
    I32EnumAttrCase<"F6E3M2FN", 6, "f6e3m2fn">, I32EnumAttrCase<"F4E2M1FN", 7, "f4e2m1fn">]> {
  let cppNamespace = "::perpend::graph";
  let genSpecializedAttr = 0;
}

def MinifloatType : TypeDef<GraphDialect, "Minifloat"> {
  let mnemonic = "minifloat";
  let summary = "An element type of at most 8 bits that is computed in f32";
  let description = [{
    Only tensors have it: scalar code sees the bits as i8, as it sees ui8 as i8, and converts them (graph::convert).
    In memory an element takes a byte, whose upper bits are 0. Example: `tensor<4x!graph.minifloat<f8e4m3fn>>`.
  }];
  let parameters = (ins EnumParameter<MinifloatFormat>:$format);
  let assemblyFormat = "`<` $format `>`";
}

//===----------------------------------------------------------------------===//
// Interfaces: facts about operators that passes query
//===----------------------------------------------------------------------===//

def ElementInterface : OpInterface<"ElementInterface"> {
  let cppNamespace = "::perpend::graph";
  let description = [{
    Every element of the (single) result can be computed from its index. This
    is the semantics of code generation for everything that is not a tensor
    intrinsic.
  }];
  let methods = [
    InterfaceMethod<"Emits scalar code for the element of the result at `index`.",
      "::mlir::Value", "element",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$index,
           "::perpend::graph::ElementEmitter &":$emitter)>,
    InterfaceMethod<[{
        Cost class of one element: a view only moves data (its index arithmetic is
        cheap), pointwise computes from one element of each operand, a reduction
        loops over many elements of an operand.
      }], "::perpend::graph::ElementKind", "elementKind", (ins)>,
    InterfaceMethod<"Whether code generation needs the operands in memory, row-major (tensor intrinsics).",
      "bool", "needsStoredOperands", (ins), "", [{ return false; }]>,
    InterfaceMethod<"Whether an element's place in the operands is looked for: by conditions, or in an operand.",
      "bool", "looksForElements", (ins), "", [{ return false; }]>,
    InterfaceMethod<"The number that stands in a view beside elements of operands; null: there is nothing else.",
      "::mlir::TypedAttr", "getFilling", (ins), "", [{ return {}; }]>,
    InterfaceMethod<"Puts another number there.",
      "void", "setFilling", (ins "::mlir::TypedAttr":$number), "", [{ llvm_unreachable("nothing else stands there"); }]>,
    InterfaceMethod<"Whether elements of the result may read the same element of this operand.",
      "bool", "readsAgain", (ins "unsigned":$operand), "",
      [{ return $_op.elementKind() == ::perpend::graph::ElementKind::Reduction; }]>
  ];
}

/// All tensors of the operator have the same dimensions, and lists with one entry per dimension say what it does along
/// them. So a transpose of the result equals the operator on transposed operands and permuted lists.
def DimensionWise : NativeOpTrait<"DimensionWise"> { let cppNamespace = "::perpend::graph"; }

def ReductionInterface : OpInterface<"ReductionInterface"> {
  let cppNamespace = "::perpend::graph";
  let description = [{
    Every element of the (single) result combines many elements of the operands, in an order that does not matter but
    for rounding. What ElementInterface says of such an operator in one piece, in the parts that loops are made of.
  }];
  let methods = [
    InterfaceMethod<"How elements, or products of elements, are combined.",
      "::perpend::graph::ReductionKind", "getKind", (ins), "", [{ return ReductionKind::Sum; }]>,
    InterfaceMethod<"The extents over which an element of the result combines.",
      "::perpend::graph::Shape", "reducedExtents", (ins)>,
    InterfaceMethod<"The scalar to begin with.",
      "::mlir::Value", "initial", (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc)>,
    InterfaceMethod<"`carried` combined with what the element at `index` takes from position `reduced`.",
      "::mlir::Value", "accumulate",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$index,
           "::mlir::ValueRange":$reduced, "::mlir::Value":$carried, "::perpend::graph::ElementEmitter &":$emitter)>
  ];
}

def ProductInterface : OpInterface<"ProductInterface"> {
  let cppNamespace = "::perpend::graph";
  let description = [{
    Every element of the (single) result is a sum of products, each of an element of the first operand and one of the second.
  }];
  let methods = [
    InterfaceMethod<"The product of matrices that this is; nullopt: it is none, as where windows overlap.",
      "std::optional<::perpend::graph::MatrixProduct>", "asMatrixProduct", (ins)>
  ];
}

def SequenceInterface : OpInterface<"SequenceInterface"> {
  let cppNamespace = "::perpend::graph";
  let description = [{
    The elements of the (single) result depend on one another along some dimensions, so they are computed together, in
    memory: the result is always stored, in a kernel of its own, into which operands may be pulled. Along the other
    dimensions, its lanes, the result is independent.
  }];
  let methods = [
    InterfaceMethod<"The dimensions of the result that one sequence covers, [first, second); lanes are before and after them.",
      "std::pair<unsigned, unsigned>", "sequentialDims", (ins)>,
    InterfaceMethod<"Emits the code that fills one block of lanes of the result.",
      "void", "emitSequence",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::perpend::graph::SequenceEmitter &":$emitter)>,
    InterfaceMethod<"Whether the code asks for each element of the operand about once, so that computing it there costs nothing.",
      "bool", "readsOnce", (ins "unsigned":$operand), "", [{ return true; }]>
  ];
}

def RequirementInterface : OpInterface<"RequirementInterface"> {
  let cppNamespace = "::perpend::graph";
  let description = [{
    An operator on symbolic extents that assumes what cannot be proved, such as the equality of two of them. The
    assumptions are checked where the symbols get their values.
  }];
  let methods = [
    InterfaceMethod<"Adds what the extents of the operands must satisfy.",
      "void", "addRequirements", (ins "::perpend::graph::Requirements &":$requirements)>
  ];
}

def DimensionFlowInterface : OpInterface<"DimensionFlowInterface"> {
  let cppNamespace = "::perpend::graph";
  let description = [{
    An operator of which it is known how far the dimensions of its operands go: whether elements that are equal along a
    dimension of an operand make elements of its (single) result that are.
  }];
  let methods = [
    InterfaceMethod<[{
        The dimension d of the result that follows dimension `dim` of an operand: elements of the result with the index
        i along d depend on no elements of this operand but those with the index i along `dim`. So where every operand
        is constant along the dimension that d follows, the result is constant along d. nullopt: there is no such d.
      }], "std::optional<unsigned>", "followingDim", (ins "::mlir::OpOperand &":$operand, "unsigned":$dim)>,
    InterfaceMethod<"Whether the result is constant along each of its dimensions that follow none, or only such with the extent 1.",
      "bool", "repeatsOperands", (ins), "", [{ return false; }]>,
    InterfaceMethod<"Whether this operator can say so: some have the interface for a part of their forms.",
      "bool", "keepsDimensions", (ins), "", [{ return true; }]>
  ];
  let extraClassOf = [{ return $_op.keepsDimensions(); }];
}

def DifferentiableInterface : OpInterface<"DifferentiableInterface"> {
  let cppNamespace = "::perpend::graph";
  let description = [{
    An operator with a single result of which floating-point operands have a derivative (docs/decisions/0007).
  }];
  let methods = [
    InterfaceMethod<[{
        The gradient of a scalar in one operand, given that in the result (of the result's type): the product of
        `gradient` with the Jacobian. Null: it is 0 everywhere, or the builder has reported why there is none.
      }], "::mlir::Value", "operandGradient",
      (ins "::perpend::graph::Builder &":$builder, "::mlir::Value":$gradient, "unsigned":$operand)>
  ];
}

def SymbolInterface : OpInterface<"SymbolInterface"> {
  let cppNamespace = "::perpend::graph";
  let description = [{
    An operator of main that gives symbols their values while main runs.
  }];
  let methods = [
    InterfaceMethod<"The names of the symbols that running this operator defines.",
      "::llvm::SmallVector<::mlir::StringAttr>", "definedSymbols", (ins)>
  ];
}

#endif
