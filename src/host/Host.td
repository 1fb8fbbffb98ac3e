//===- Host.td - the host dialect -----------------------------------------===//
//
// Who runs what, where, in which memory, in which order. See
// docs/levels/host.md and docs/decisions/0042-the-host-program.md.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_HOST_TD
#define PERPEND_HOST_TD

include "graph/Graph.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"

def HostDialect : Dialect {
  let name = "host";
  let cppNamespace = "::perpend::host";
  let summary = "Launches of kernels on places in memories, in order";
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::perpend::graph::GraphDialect", "::perpend::tile::TileDialect"];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class Host_Type<string name, string mnemonic_> : TypeDef<HostDialect, name> {
  let mnemonic = mnemonic_;
}

def PlaceType : Host_Type<"Place", "place"> {
  let summary = "Memory that holds a value: a shape, an element type and the memory's name";
  let description = [{ Row-major, without gaps. Example: `!host.place<[n, 64] x f32>`; another memory than the host's stands behind a comma. }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor, "::mlir::StringAttr":$memory);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static PlaceType get(::mlir::RankedTensorType tensor, ::llvm::StringRef memory = hostMemory);
    ::perpend::graph::Shape extents() const;
    /// May be poison: more than 63 bits.
    ::perpend::support::SymbolicInt bytes() const;
  }];
}

def MemoryType : Host_Type<"Memory", "memory"> {
  let summary = "Bytes of a memory, without a type";
  let description = [{ Example: `!host.memory<host>`. }];
  let parameters = (ins "::mlir::StringAttr":$memory);
  let hasCustomAssemblyFormat = 1;
}

def RoomType : Host_Type<"Room", "room"> {
  let summary = "Memory whose size a run decides; it keeps its capacity from run to run";
}

def EventType : Host_Type<"Event", "event"> {
  let summary = "An asynchronous operation has finished";
}

class Host_Op<string mnemonic, list<Trait> traits = []> : Op<HostDialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Of a module
//===----------------------------------------------------------------------===//

def SegmentOp : Host_Op<"segment", [Symbol]> {
  let summary = "Constant bytes: a value, or a part of a file";
  let description = [{
    `offset` counts bytes from the start of all constants. A value goes into the artifact, or into a file beside it; a part of a file stays where it is,
    and runs map it. Examples: `host.segment @w0 at 128 = dense<1.0> : tensor<4xf32>`,
    `host.segment @w1 at 4128 file "model.onnx.data" at 32 bytes 16 : tensor<4xf32>`.
    Errors: C1 the offset of a value is no multiple of 64, or that of a part of a file is not that in the file modulo 4096, C2 neither a value nor a
    part of a file with the bytes of its type, C3 it begins in another segment, or in a page of a file's part.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$offset, OptionalAttr<ElementsAttr>:$value, OptionalAttr<StrAttr>:$file,
                       OptionalAttr<I64Attr>:$file_offset, OptionalAttr<I64Attr>:$file_bytes, OptionalAttr<TypeAttr>:$type);
  let assemblyFormat = [{
    $sym_name `at` $offset (`=` $value^)? (`file` $file^ `at` $file_offset `bytes` $file_bytes `:` $type)? attr-dict
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "int64_t":$offset, "::mlir::ElementsAttr":$value)>];
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType tensor();
    int64_t bytes();
    /// From the start of all constants.
    int64_t position() { return static_cast<int64_t>(getOffset()); }
    bool isInFile() { return getFile().has_value(); }
  }];
}

def StateOp : Host_Op<"state", [Symbol]> {
  let summary = "Bytes of a session, which runs read and update";
  let description = [{
    `capacity` is the largest value; along the dimension `growing`, if there is one, a value may have fewer elements, its length. The first value is that of
    the segment `initially`, or zeros, without elements along `growing`. A reset gives it again. Of a state that grows, runs read at most the `reads` last
    elements along that dimension that were there before them; without it, all.
    Example: `host.state @s0 "k" : !host.place<[4096, 64] x f32> growing 0`. Errors: C1 the capacity is no number, C2 the growing dimension is none, or
    behind one that is not 1, C3 it is in another memory than the host's, C4 it does not grow, or reads fewer than no rows.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$name, TypeAttr:$capacity, OptionalAttr<I64Attr>:$growing,
                       OptionalAttr<I64Attr>:$reads, OptionalAttr<FlatSymbolRefAttr>:$initially);
  let assemblyFormat =
      "$sym_name $name `:` $capacity (`growing` $growing^)? (`reads` $reads^)? (`initially` $initially^)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType tensor() { return ::llvm::cast<PlaceType>(getCapacity()).getTensor(); }
  }];
}

def EntryOp : Host_Op<"entry", [FunctionOpInterface, IsolatedFromAbove, SingleBlock]> {
  let summary = "A program that callers run";
  let description = [{
    Arguments are the places of the inputs, then those of the outputs (a room for an output whose size a run decides), which have the types `output_types`.
    `symbols` names the integers that callers see, in the order of every symbols buffer; `data_symbols` are those of them that a run
    gives values to. Other names are integers of the run alone.
    The last inputs and outputs may be states (`host.state = @s0` of both): an input is the state's value before the run, and the output of the same state its
    value after it, in the same memory with `host.in_place`, else in another one, which becomes the state's when the run has succeeded.
    First come operations that bind symbols to extents of inputs, then those that name memory, then what runs.
    Errors: C1 an argument is neither place nor room or does not fit its type, C2 a symbol is used before it has a value.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs, I64Attr:$inputs, TypeArrayAttr:$output_types, StrArrayAttr:$symbols,
                       StrArrayAttr:$data_symbols);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    unsigned inputCount() { return static_cast<unsigned>(getInputs()); }
    unsigned outputCount() { return getNumArguments() - inputCount(); }
    /// How many of the inputs, and of the outputs, are states.
    unsigned stateCount();
    /// The state of an argument; empty: it is the caller's.
    ::llvm::StringRef stateOf(unsigned argument);
    /// Whether a state (by its number among those of the entry) keeps its memory.
    bool isInPlace(unsigned state);
    ::mlir::BlockArgument input(unsigned number) { return getBody().getArgument(number); }
    ::mlir::BlockArgument output(unsigned number) { return getBody().getArgument(inputCount() + number); }
    /// Of an input or an output.
    ::mlir::RankedTensorType tensorOf(unsigned argument);
    /// How many numbers rooms have, behind those of outputs.
    unsigned roomCount();
    ::std::vector<::std::string> symbolNames();
    ::std::vector<::std::string> dataSymbolNames();
  }];
}

//===----------------------------------------------------------------------===//
// Binding: from extents of inputs to symbols
//===----------------------------------------------------------------------===//

def ExtentOp : Host_Op<"extent", [HasParent<"EntryOp">]> {
  let summary = "Reads a symbol from an extent of an input";
  let description = [{ symbol = (extent of dimension `dim` - offset) / factor. An extent below the offset refuses the inputs. }];
  let arguments = (ins StrAttr:$symbol, AnyType:$input, I64Attr:$dim, I64Attr:$factor, I64Attr:$offset);
  let assemblyFormat = "$symbol `of` $input `dim` $dim `times` $factor `plus` $offset attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def RepeatOp : Host_Op<"repeat", [HasParent<"EntryOp">]> {
  let summary = "Extents of 1 that stand for another one";
  let description = [{ Each of `symbols` becomes the first number of its list that is not 1, else the last; all lists are evaluated before a symbol changes. }];
  let arguments = (ins StrArrayAttr:$symbols, ArrayAttr:$extents);
  let assemblyFormat = "$symbols `from` $extents attr-dict";
  let hasVerifier = 1;
}

def ExpectOp : Host_Op<"expect", [HasParent<"EntryOp">]> {
  let summary = "An extent of an input must be what an expression says";
  let arguments = (ins AnyType:$input, I64Attr:$dim, ShapeAttr:$extent);
  let assemblyFormat = "$input `dim` $dim `is` custom<Expressions>($extent) attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def RequireOp : Host_Op<"require", [HasParent<"EntryOp">]> {
  let summary = "An expression must not be negative";
  let description = [{
    Else the inputs are refused: by an extent of `input`, which must be at least (least), at most (most) or just the value of `extent`, or,
    without an input, by `message`, in which `{}` stands for the value of `got` and `{2}` for that of the third symbol.
  }];
  let arguments = (ins ShapeAttr:$value, ShapeAttr:$got, StrAttr:$message, Optional<AnyType>:$input, OptionalAttr<I64Attr>:$dim,
                       OptionalAttr<ShapeAttr>:$extent, OptionalAttr<StrAttr>:$bound);
  let assemblyFormat = [{
    custom<Expressions>($value) `else` $message `got` custom<Expressions>($got)
    (`of` $input^ `dim` $dim $bound custom<Expressions>($extent) `:` type($input))? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def BufferOp : Host_Op<"buffer", [HasParent<"EntryOp">]> {
  let summary = "A part of an arena that memory planning has placed";
  let description = [{
    `bytes` for each of at most `parts` parts (one for each thread that runs a kernel; 1 for values). It lives from the first to the last of the
    steps `live`, which memory planning adds and the verifier checks; what no step touches has none. `offset` is where it lies in the arena of
    its memory; without one, binding finds a place.
  }];
  let arguments = (ins ShapeAttr:$bytes, ShapeAttr:$parts, OptionalAttr<DenseI64ArrayAttr>:$live, OptionalAttr<I64Attr>:$offset);
  let results = (outs MemoryType:$memory);
  let assemblyFormat = [{
    `bytes` custom<Expressions>($bytes) `parts` custom<Expressions>($parts) (`live` $live^)? (`at` $offset^)? attr-dict `:` type($memory)
  }];
}

def RoomOp : Host_Op<"room", [HasParent<"EntryOp">]> {
  let summary = "Memory whose size the run decides";
  let description = [{ Rooms with one number are the same memory, so one of them may be used only when the value of another is no longer read. }];
  let arguments = (ins I64Attr:$number);
  let results = (outs RoomType:$room);
  let assemblyFormat = "$number attr-dict `:` type($room)";
}

def ReserveOp : Host_Op<"reserve"> {
  let summary = "Makes a room large enough for a value";
  let description = [{ The first `kept` slices along dimension 0 stay as they are; the rest of what the room held is lost, as is every place in it. }];
  let arguments = (ins RoomType:$room, OptionalAttr<ShapeAttr>:$kept);
  let results = (outs PlaceType:$place);
  let assemblyFormat = "$room (`keeping` custom<Expressions>($kept)^)? attr-dict `:` type($room) `to` type($place)";
  let hasVerifier = 1;
}

def ContentOp : Host_Op<"content"> {
  let summary = "The value that lies in a room";
  let arguments = (ins RoomType:$room);
  let results = (outs PlaceType:$place);
  let assemblyFormat = "$room attr-dict `:` type($room) `to` type($place)";
}

def ConstantOp : Host_Op<"constant"> {
  let summary = "The place of a segment";
  let description = [{ In another memory than the host's it is a copy that loading the program makes. }];
  let arguments = (ins FlatSymbolRefAttr:$segment);
  let results = (outs PlaceType:$place);
  let assemblyFormat = "$segment attr-dict `:` type($place)";
}

def PlaceOp : Host_Op<"place"> {
  let summary = "A value's place in memory or in another place";
  let description = [{ `offset` counts bytes from the start of the source. Errors: C1 the place ends behind its source.
    Where only a run knows the sizes, the run ends with an error. }];
  let arguments = (ins AnyType:$source, ShapeAttr:$offset);
  let results = (outs PlaceType:$place);
  let assemblyFormat = "$source custom<Expressions>($offset) attr-dict `:` type($source) `to` type($place)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether it provably ends inside its source, which is another place.
    bool isWithinSource();
  }];
}

def ScalarOp : Host_Op<"scalar"> {
  let summary = "A place that holds the value of an expression";
  let arguments = (ins ShapeAttr:$value);
  let results = (outs PlaceType:$place);
  let assemblyFormat = "custom<Expressions>($value) attr-dict `:` type($place)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// What runs
//===----------------------------------------------------------------------===//

def LaunchOp : Host_Op<"launch", [AttrSizedOperandSegments]> {
  let summary = "Runs a kernel";
  let description = [{
    The kernel reads `inputs` and writes `outputs`; `scratch` is memory for its parts. `symbols` are the values of the kernel's own symbols.
    Example: `host.launch @k(%a, %b) -> (%c) symbols [n] : …`. Errors: C1 no such kernel, C2 buffers or symbols are not those of the kernel, C3 too little scratch memory.
    On a device it is a grid of `extents` instances, one for each level of the device. An `async` launch begins once the events `after` have
    happened, and gives an event; others end before the next operation begins.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<PlaceType>:$inputs, Variadic<PlaceType>:$outputs, Optional<AnyType>:$scratch,
                       ShapeAttr:$symbols, OptionalAttr<StrAttr>:$device, OptionalAttr<ShapeAttr>:$extents, Variadic<EventType>:$after);
  let results = (outs Optional<EventType>:$event);
  let assemblyFormat = [{
    `` custom<Asynchronous>(type($event)) $kernel `(` $inputs `)` `->` `(` $outputs `)` (`on` $device^ `over` custom<Expressions>($extents))?
    (`after` `(` $after^ `)`)? (`scratch` $scratch^ `:` type($scratch))? `symbols` custom<Expressions>($symbols)
    attr-dict `:` functional-type($inputs, $outputs)
  }];
  let builders = [OpBuilder<(ins "::mlir::FlatSymbolRefAttr":$kernel, "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$outputs,
                                 "::mlir::Value":$scratch, "::perpend::graph::ShapeAttr":$symbols), [{
    build($_builder, $_state, ::mlir::Type(), kernel, inputs, outputs, scratch, symbols, ::mlir::StringAttr(),
          ::perpend::graph::ShapeAttr(), ::mlir::ValueRange());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The values of the symbols that a kernel, or a variant of it, lists.
    ::llvm::StringMap<::perpend::support::SymbolicInt> symbolsOf(::mlir::Operation *kernel);
  }];
}

def CallOp : Host_Op<"call", [AttrSizedOperandSegments]> {
  let summary = "Calls a C function of the runtime's library or of the user";
  let description = [{
    As graph.call_library, on places. Each of `outputs` is a place, or a room where the function decides the size; the values
    in rooms are of the types `types`, one for each output. The symbols `defines` take the extents that come back.
  }];
  let arguments = (ins StrAttr:$function, Variadic<PlaceType>:$inputs, Variadic<AnyType>:$outputs, DictionaryAttr:$parameters, TypeArrayAttr:$types,
                       StrArrayAttr:$defines);
  let assemblyFormat = [{
    $function `(` $inputs `)` `->` `(` $outputs `)` $parameters `types` $types `defines` $defines attr-dict
    `:` functional-type($inputs, $outputs)
  }];
}

def CopyOp : Host_Op<"copy"> {
  let summary = "Copies a value to another place";
  let description = [{ As many bytes as the source has; nothing where both are the same memory. `async` and `after` are those of a launch. }];
  let arguments = (ins PlaceType:$source, PlaceType:$target, Variadic<EventType>:$after);
  let results = (outs Optional<EventType>:$event);
  let assemblyFormat = [{
    `` custom<Asynchronous>(type($event)) $source `to` $target (`after` `(` $after^ `)`)? attr-dict `:` type($source) `to` type($target)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$source, "::mlir::Value":$target), [{
    build($_builder, $_state, ::mlir::Type(), source, target, ::mlir::ValueRange());
  }]>];
  let hasVerifier = 1;
}

def WaitOp : Host_Op<"wait"> {
  let summary = "The host waits until events have happened";
  let arguments = (ins Variadic<EventType>:$events);
  let assemblyFormat = "$events attr-dict";
}

def TransferOp : Host_Op<"transfer", [AllTypesMatch<["value", "result"]>]> {
  let summary = "A value in another memory, before memory is planned";
  let arguments = (ins AnyRankedTensor:$value, StrAttr:$memory);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value `to` $memory attr-dict `:` type($value)";
}

def CopyRowsOp : Host_Op<"copy_rows"> {
  let summary = "Copies the rows of a value to equal distances in another";
  let description = [{
    The source has `count` rows of equal size, one after the other. Row i goes to the byte `offset` + i * `distance` of the target. Errors: C1 one expression
    each. Where a row ends outside of the target, the run ends with an error.
  }];
  let arguments = (ins PlaceType:$source, PlaceType:$target, ShapeAttr:$count, ShapeAttr:$offset, ShapeAttr:$distance);
  let assemblyFormat = [{
    custom<Expressions>($count) `of` $source `to` $target `at` custom<Expressions>($offset) `every` custom<Expressions>($distance) attr-dict
    `:` type($source) `to` type($target)
  }];
  let hasVerifier = 1;
}

def CopySlicesOp : Host_Op<"copy_slices"> {
  let summary = "Copies slices of a value to positions in another";
  let description = [{
    As graph.scatter: `positions` are integers [k..., r], the slices of the source [k..., rest...] go to the elements [position..., rest...] of the target, in
    order; a position outside is left out. Errors: C1 the positions are no integers whose last extent is a number of at most the target's rank.
  }];
  let arguments = (ins PlaceType:$source, PlaceType:$positions, PlaceType:$target);
  let assemblyFormat = [{
    $source `by` $positions `to` $target attr-dict `:` type($source) `,` type($positions) `,` type($target)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many dimensions a position addresses.
    unsigned depth() { return *getPositions().getType().extents().back().constant(); }
    /// A slice of the target behind a position.
    PlaceType slice();
  }];
}

def ExchangeOp : Host_Op<"exchange"> {
  let summary = "Two rooms exchange what they hold";
  let description = [{ Nothing where both are the same room. Places in them are lost. }];
  let arguments = (ins RoomType:$first, RoomType:$second);
  let assemblyFormat = "$first `and` $second attr-dict `:` type($first)";
}

def ReadOp : Host_Op<"read"> {
  let summary = "An element comes to the host as the value of a symbol";
  let description = [{ The place holds one element of type i64 or i1. }];
  let arguments = (ins StrAttr:$symbol, PlaceType:$place);
  let assemblyFormat = "$symbol `from` $place attr-dict `:` type($place)";
  let hasVerifier = 1;
}

def SetOp : Host_Op<"set"> {
  let summary = "Gives symbols values";
  let description = [{ All are evaluated before the first symbol changes. }];
  let arguments = (ins StrArrayAttr:$symbols, ShapeAttr:$values);
  let assemblyFormat = "$symbols `to` custom<Expressions>($values) attr-dict";
  let hasVerifier = 1;
}

def CheckOp : Host_Op<"check"> {
  let summary = "Ends the run with an error unless a comparison holds";
  let description = [{ Expressions: what is compared, with what, and what the error says it got; `unless` an expression is 0. }];
  let arguments = (ins ShapeAttr:$value, BoolAttr:$is_equal, ShapeAttr:$expected, ShapeAttr:$got, StrAttr:$message, OptionalAttr<ShapeAttr>:$unless);
  let assemblyFormat = [{
    custom<Expressions>($value) custom<Comparison>($is_equal) custom<Expressions>($expected) `else` $message `got` custom<Expressions>($got)
    (`unless` custom<Expressions>($unless)^ `is_zero`)? attr-dict
  }];
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

def IfOp : Host_Op<"if", [NoRegionArguments, SingleBlock, NoTerminator]> {
  let summary = "Runs one of two regions: the first where an expression is not 0";
  let arguments = (ins ShapeAttr:$condition);
  let regions = (region SizedRegion<1>:$then, SizedRegion<1>:$otherwise);
  let assemblyFormat = "custom<Expressions>($condition) $then `else` $otherwise attr-dict";
}

def LoopOp : Host_Op<"loop", [SingleBlock, AllTypesMatch<["initial", "results"]>]> {
  let summary = "A loop that carries places";
  let description = [{
    `iteration` is 0, 1, … inside, and how many iterations there were behind the loop. It goes on while that is below `below` (evaluated once)
    and the symbol `condition` is not 0. The yielded places are the arguments of the next iteration, and the results.
  }];
  let arguments = (ins StrAttr:$iteration, OptionalAttr<ShapeAttr>:$below, OptionalAttr<ShapeAttr>:$condition, Variadic<AnyType>:$initial);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $iteration (`below` custom<Expressions>($below)^)? (`while` custom<Expressions>($condition)^)?
    `carried` `(` ($initial^ `:` type($initial))? `)` (`->` `(` type($results)^ `)`)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def YieldOp : Host_Op<"yield", [Terminator, HasParent<"LoopOp">]> {
  let summary = "Ends an iteration";
  let arguments = (ins Variadic<AnyType>:$places);
  let assemblyFormat = "($places^ `:` type($places))? attr-dict";
}

def ReturnOp : Host_Op<"return", [Terminator, HasParent<"EntryOp">]> {
  let summary = "Ends the program; every output lies in its place";
  let assemblyFormat = "attr-dict";
}

#endif
