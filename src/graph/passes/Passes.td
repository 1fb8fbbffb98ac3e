//===- Passes.td - the passes of the graph level --------------------------===//

#ifndef PERPEND_GRAPH_PASSES_TD
#define PERPEND_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def GraphInferRequirements : Pass<"graph-infer-requirements", "::mlir::ModuleOp"> {
  let summary = "Records the requirements on symbols, which binding checks";
}

def GraphPlaceScales : Pass<"graph-place-scales", "::mlir::ModuleOp"> {
  let summary = "Moves the scales of widened integers past products, sums and movement, which then compute on integers";
}

def GraphSimplify : Pass<"graph-simplify", "::mlir::ModuleOp"> {
  let summary = "Folds constants, drops needless movement, folds scales into filters, merges equal operators";
  let options = [
    Option<"keepsNarrow", "keeps-narrow", "bool", "false",
           "Constants that only products read stay in fewer bits, for a packing that knows what it wants">
  ];
}

def GraphMakeNests : Pass<"graph-make-nests", "::mlir::ModuleOp"> {
  let summary = "Maps and reductions in place of short loops, small branches, scatters and sorts, for units that compute nothing else";
}

def GraphEmitGradients : Pass<"graph-emit-gradients", "::mlir::ModuleOp"> {
  let summary = "Gives main the gradient of its first result in each floating-point argument as further results";
}

def GraphPlaceChannelsLast : Pass<"graph-place-channels-last", "::mlir::func::FuncOp"> {
  let summary = "Makes convolutions and pools work on channels-last tensors, with explicit padding";
  let options = [
    Option<"skipsBorders", "skips-borders", "bool", "false", "Pools, and convolutions of many channels, keep their padding: windows skip what is outside">
  ];
}

def GraphPlaceTransposes : Pass<"graph-place-transposes", "::mlir::func::FuncOp"> {
  let summary = "Moves transposes towards the results, so that they meet and cancel";
}

def GraphPlaceProducts : Pass<"graph-place-products", "::mlir::func::FuncOp"> {
  let summary = "Moves products over channels in front of operators that enlarge tensors, such as resizing";
}

def GraphPlaceSmallTransposes : Pass<"graph-place-small-transposes", "::mlir::func::FuncOp"> {
  let summary = "Moves transposes in front of operators that enlarge tensors, such as resizing, where they move fewer elements";
}

def GraphPlaceReshapes : Pass<"graph-place-reshapes", "::mlir::func::FuncOp"> {
  let summary = "Moves the reshape after a contraction past elementwise operators, so that these fuse with the contraction";
}

def GraphPlaceCalls : Pass<"graph-place-calls", "::mlir::ModuleOp"> {
  let summary = "Calls functions of the runtime's library in place of operators that they compute faster";
}

def GraphFuseMaps : Pass<"graph-fuse-maps", "::mlir::func::FuncOp"> {
  let summary = "Merges an elementwise operator into its only user, if that is elementwise too";
  let options = [
    Option<"keepsNarrow", "keeps-narrow", "bool", "false",
           "A map that widens floats is merged into all of its users, and nothing into it: products read it in fewer bits">
  ];
}

def GraphPlaceStates : Pass<"graph-place-states", "::mlir::ModuleOp"> {
  let summary = "Marks the updates that happen in the memory of a state";
}

def GraphScheduleUpdates : Pass<"graph-schedule-updates", "::mlir::ModuleOp"> {
  let summary = "Moves updates of states behind the readers of the value that they overwrite";
}

def GraphScheduleCalls : Pass<"graph-schedule-calls", "::mlir::ModuleOp"> {
  let summary = "Moves calls of kernels to the first readers of their results, where that saves memory";
}

def GraphSplitBatches : Pass<"graph-split-batches", "::mlir::ModuleOp"> {
  let summary = "Runs chains of kernels part by part of leading dimensions, so that near memory holds the values between them";
  let options = [
    Option<"nearBytes", "near-bytes", "int64_t", "0", "What the near memory holds; 0: the machine has none, or one without end">,
    Option<"lineBytes", "line-bytes", "int64_t", "64", "Parts of a value begin at multiples of this">,
    Option<"launchBytes", "launch-bytes", "int64_t", "0", "As many bytes move to and from the far memory while a kernel starts and ends">,
    Option<"overwrites", "overwrites", "bool", "false", "Whether results may lie where operands did that are read no later">,
    Option<"productsPerByte", "products-per-byte", "int64_t", "512",
           "As many products take as long as to move a byte to or from the far memory; counts where rows are computed again">
  ];
}

def GraphFuseKernels : Pass<"graph-fuse-kernels", "::mlir::ModuleOp"> {
  let summary = "Moves every operator into a kernel function, together with the operators that it fuses with";
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let options = [
    Option<"isEnabled", "fuse", "bool", "true", "off: one kernel per operator">,
    Option<"keepsNarrow", "keeps-narrow", "bool", "false", "Products read floats of fewer bits than they add">,
    Option<"savesMemory", "saves-memory", "bool", "false",
           "The result of a product that is combined in windows apart from each other is not stored: the target's memory is small">,
    Option<"looksUpOnce", "looks-up-once", "bool", "false",
           "Where an element lies that is looked up is computed once for all elements beside it, so it need not be stored">,
    Option<"rowBytes", "row-bytes", "int64_t", "0",
           "Products that widen floats read rows of at least so many bytes where they are stored, in the order of a view; 0: views are stored">
  ];
}

#endif
