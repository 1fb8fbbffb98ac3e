//===- ImportTest.cpp - shapes and errors of the ONNX importer ------------===//

#include "frontend/onnx/Import.h"
#include "ModelWriter.h"
#include "graph/Shapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <fstream>

using namespace mlir;
using namespace perpend::onnx;
using namespace perpend::onnx::test;

namespace {

struct Outcome {
  /// Result types as "f32 [n, 3]", joined by ';'.
  std::string types;
  std::string errors;
  size_t operations = 0;
};

Outcome importBytes(const std::string &bytes, const ImportOptions &options = {}, StringRef folder = "") {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  Outcome outcome;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { outcome.errors += diagnostic.str() + "\n"; });
  std::shared_ptr<llvm::MemoryBuffer> buffer = llvm::MemoryBuffer::getMemBufferCopy(bytes, "model.onnx");
  OwningOpRef<ModuleOp> module = importOnnx(context, buffer, "model.onnx", folder, options);
  if (!module)
    return outcome;
  auto main = *module->getOps<func::FuncOp>().begin();
  llvm::raw_string_ostream stream(outcome.types);
  for (Type type : main.getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    stream << (outcome.types.empty() ? "" : "; ") << tensor.getElementType() << " "
           << perpend::graph::toString(perpend::graph::shapeOf(tensor));
    stream.flush();
  }
  outcome.operations = std::distance(main.getBody().front().begin(), main.getBody().front().end());
  return outcome;
}

Outcome import(const ModelText &model, const ImportOptions &options = {}) {
  return importBytes(serialize(model), options);
}

std::string typesOf(const ModelText &model, const ImportOptions &options = {}) {
  Outcome outcome = import(model, options);
  EXPECT_EQ(outcome.errors, "");
  return outcome.types;
}

void expectError(const Outcome &outcome, const std::string &message) {
  EXPECT_EQ(outcome.types, "");
  EXPECT_NE(outcome.errors.find(message), std::string::npos) << "got: " << outcome.errors;
}

ModelText unary(NodeText node, ValueText input) {
  node.inputs.insert(node.inputs.begin(), input.name);
  node.outputs = {"y"};
  return {{std::move(input)}, {std::move(node)}, {"y"}, {}, 17};
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

TEST(OnnxImport, DimensionsBecomeSymbols) {
  ModelText model{{{"x", {"batch", 3}}, {"y", {"batch", 1}}}, {{"Add", {"x", "y"}, {"z"}, {}, "", ""}}, {"z"}, {}, 17};
  EXPECT_EQ(typesOf(model), "f32 [batch, 3]");
}

TEST(OnnxImport, UnnamedDimensionsGetTheirOwnSymbols) {
  EXPECT_EQ(typesOf(unary({"Relu", {}, {}, {}, "", ""}, {"in.put", {"?", "unk__7", ""}})),
            "f32 [in_put_dim0, in_put_dim1, in_put_dim2]");
}

TEST(OnnxImport, TextsOfNothingAreNoNames) {
  for (const char *text : {"None", "none", "null", "?", "-1", "*", "unk", "unk__5", "unknown", "Unknown_3", "N/A", " "})
    EXPECT_EQ(typesOf(unary({"Relu", {}, {}, {}, "", ""}, {"x", {text, text, text}})), "f32 [x_dim0, x_dim1, x_dim2]")
        << text;
  for (const char *text : {"batch", "n", "na", "none_of_them", "x-1", "-x", "\u6279", "unkind"}) {
    std::string types = typesOf(unary({"Relu", {}, {}, {}, "", ""}, {"x", {text, text}}));
    EXPECT_EQ(types.find("_dim"), std::string::npos) << text << ": " << types;
  }
}

TEST(OnnxImport, ParametersThatAreNoIdentifiersStayDistinct) {
  EXPECT_EQ(typesOf(unary({"Relu", {}, {}, {}, "", ""}, {"x", {"a.b", "a-b", "1"}})), "f32 [a_b, a_b_, _1]");
}

TEST(OnnxImport, OptionsFixRenameAndFreeDimensions) {
  ModelText model = unary({"Relu", {}, {}, {}, "", ""}, {"x:0", {"batch", 3, "seq"}});
  EXPECT_EQ(typesOf(model, {{{"batch", "4"}, {"x:0:1", "c"}, {"seq", "s"}}}), "f32 [4, c, s]");
}

TEST(OnnxImport, ConstantReshapeFollowsAFreedDimension) {
  ModelText model = unary({"Reshape", {"shape"}, {}, {}, "", ""}, {"x", {1, 4, 6, 6}});
  model.initializers = {integers("shape", {1, 144})};
  EXPECT_EQ(typesOf(model, {{{"x:0", "n"}}}), "f32 [n, 144]");
  EXPECT_EQ(typesOf(model, {{{"x:2", "h"}}}), "f32 [1, 24*h]");
}

TEST(OnnxImport, ShapeComputationsDisappear) {
  ModelText model{{{"x", {"n", "c", 8}}},
                  {{"Reshape", {"x", "target"}, {"y"}, {}, "", ""}, // before its producer: sorted
                   {"Shape", {"x"}, {"shape"}, {}, "", ""},
                   {"Gather", {"shape", "zero"}, {"batch"}, {}, "", ""},
                   {"Mul", {"batch", "two"}, {"double"}, {}, "", ""},
                   {"Concat", {"double", "rest"}, {"target"}, {{"axis", int64_t{0}}}, "", ""}},
                  {"y"},
                  {integers("zero", {0}), integers("two", {2}), integers("rest", {-1})},
                  17};
  Outcome outcome = import(model);
  EXPECT_EQ(outcome.errors, "");
  EXPECT_EQ(outcome.types, "f32 [2*n, 4*c]");
  EXPECT_EQ(outcome.operations, 2u); // reshape, return
}

TEST(OnnxImport, ConvolutionsWithSymbolicExtents) {
  ModelText model = unary(
      {"Conv", {"w"}, {}, {{"strides", std::vector<int64_t>{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}}, "", ""},
      {"x", {1, 2, "h", 9}});
  model.initializers = {floats("w", {4, 2, 3, 3}, std::vector<float>(72, 1))};
  EXPECT_EQ(typesOf(model), "f32 [1, 4, floordiv(h + 1, 2), 5]");
  model.nodes[0].operation = "ConvTranspose";
  model.initializers = {floats("w", {2, 4, 3, 3}, std::vector<float>(72, 1))};
  EXPECT_EQ(typesOf(model), "f32 [1, 4, 2*h, 18]");
}

TEST(OnnxImport, SoftmaxOfOldOperatorSetsFlattens) {
  ModelText model = unary({"Softmax", {}, {}, {}, "", ""}, {"x", {"n", 3, 4}});
  model.operatorSet = 11;
  EXPECT_EQ(typesOf(model), "f32 [n, 3, 4]");
  size_t flattened = import(model).operations;
  model.operatorSet = 13;
  EXPECT_LT(import(model).operations, flattened);
}

TEST(OnnxImport, ResizeOfSymbolicExtents) {
  ModelText model =
      unary({"Resize", {"", "scales"}, {}, {{"mode", std::string("linear")}}, "", ""}, {"x", {1, 1, "h", 5}});
  model.initializers = {floats("scales", {4}, {1, 1, 1.5, 2})};
  EXPECT_EQ(typesOf(model), "f32 [1, 1, h + floordiv(h, 2), 10]");
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(OnnxImportErrors, TruncatedFile) {
  std::string bytes = serialize(unary({"Relu", {}, {}, {}, "", ""}, {"x", {3}}));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(importBytes(bytes.substr(0, size)).errors, "") << size;
}

TEST(OnnxImportErrors, NotAModel) { expectError(importBytes("hello, this is text"), "it seems to be text"); }
TEST(OnnxImportErrors, NotAModelButAProgram) {
  for (const char *text :
       {"# makes a model\nimport onnx\n", "from torch import nn\n", "x = 1\n\ndef make(n):\n  pass\n"})
    expectError(importBytes(text), "it seems to be a Python program\nhint: run it, if it writes a model; ");
  for (const char *text : {"from here on\n", "define(x):\n", "import java.util;\n"})
    expectError(importBytes(text), "it seems to be text");
}
TEST(OnnxImportErrors, NotAModelInUtf8) { expectError(importBytes("Grüße, 日本語"), "it seems to be text"); }
TEST(OnnxImportErrors, Empty) { expectError(importBytes(""), "not an ONNX model: the file is empty"); }
TEST(OnnxImportErrors, NoGraph) { expectError(importBytes("\x08\x08"), "not an ONNX model: the file has no graph"); }

TEST(OnnxImportErrors, NoOperatorSet) {
  std::string bytes = serialize(unary({"Relu", {}, {}, {}, "", ""}, {"x", {3}}));
  expectError(importBytes(bytes.substr(0, bytes.size() - 4)), "the model imports no operator set");
}

TEST(OnnxImportErrors, UnreadableFile) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  EXPECT_FALSE(importOnnx(context, "no/such/file.onnx"));
  EXPECT_NE(message.find("cannot read the model"), std::string::npos);
}

TEST(OnnxImportErrors, AllUnsupportedOperatorsAtOnce) {
  ModelText model{{{"x", {3}}},
                  {{"Frobnicate", {"x"}, {"a"}, {}, "first", ""},
                   {"Frobnicate", {"a"}, {"b"}, {}, "second", ""},
                   {"Gizmo", {"b"}, {"y"}, {}, "third", "com.example"}},
                  {"y"},
                  {},
                  17};
  Outcome outcome = import(model);
  expectError(outcome, "Frobnicate-17 (2 nodes): 'first' 'second'");
  expectError(outcome, "com.example.Gizmo (1 node): 'third'\n");
  expectError(outcome, "hint: ");
}

TEST(OnnxImportErrors, UndefinedInput) {
  expectError(import(unary({"Add", {"nowhere"}, {}, {}, "sum", ""}, {"x", {3}})),
              "node 'sum' (Add): its input 'nowhere' is not defined anywhere");
}

TEST(OnnxImportErrors, Cycle) {
  ModelText model{
      {{"x", {3}}}, {{"Add", {"x", "b"}, {"a"}, {}, "one", ""}, {"Relu", {"a"}, {"b"}, {}, "two", ""}}, {"b"}, {}, 17};
  expectError(import(model), "cycle among or before the nodes 'one', 'two'");
}

TEST(OnnxImportErrors, NameDefinedTwice) {
  ModelText model{
      {{"x", {3}}}, {{"Relu", {"x"}, {"y"}, {}, "one", ""}, {"Abs", {"x"}, {"y"}, {}, "two", ""}}, {"y"}, {}, 17};
  expectError(import(model), "node 'two' (Abs): its output 'y' is already defined by node 'one' (Relu)");
  model.nodes = {{"Relu", {"x"}, {"x"}, {}, "one", ""}};
  expectError(import(model), "its output 'x' is already defined by an input or initializer");
}

TEST(OnnxImportErrors, DuplicateInputsAndInitializers) {
  ModelText model = unary({"Relu", {}, {}, {}, "", ""}, {"x", {3}});
  model.inputs.push_back({"x", {4}});
  expectError(import(model), "two inputs have the name 'x'");
  model = unary({"Relu", {}, {}, {}, "", ""}, {"x", {3}});
  model.initializers = {integers("w", {1}), integers("w", {2})};
  expectError(import(model), "two initializers have the name 'w'");
}

TEST(OnnxImportErrors, NumberOfInputs) {
  expectError(import(unary({"Add", {}, {}, {}, "sum", ""}, {"x", {3}})), "node 'sum' (Add): expected 2 inputs, got 1");
  expectError(import(unary({"Relu", {"x"}, {}, {}, "r", ""}, {"x", {3}})), "expected 1 input, got 2");
}

TEST(OnnxImportErrors, ShapesThatDoNotFit) {
  ModelText model{{{"x", {3, 4}}, {"y", {5, 4}}}, {{"Add", {"x", "y"}, {"z"}, {}, "sum", ""}}, {"z"}, {}, 17};
  expectError(import(model), "node 'sum' (Add): cannot broadcast the shapes [3, 4] and [5, 4] together");
  model.nodes[0].operation = "MatMul";
  expectError(import(model), "expected dimension 1 of [3, 4] to be dimension 0 of [5, 4], got 4 and 5");
}

TEST(OnnxImportErrors, ElementTypesThatDoNotFit) {
  ModelText model{{{"x", {3}}, {"y", {3}, 7}}, {{"Add", {"x", "y"}, {"z"}, {}, "sum", ""}}, {"z"}, {}, 17};
  expectError(import(model), "expected inputs of one element type, got f32 and i64");
  expectError(import(unary({"Exp", {}, {}, {}, "e", ""}, {"x", {3}, 7})), "expected floating-point elements, got i64");
}

TEST(OnnxImportErrors, RankFromRunTimeData) {
  ModelText model = unary({"Reshape", {"shape"}, {}, {}, "r", ""}, {"x", {3}});
  model.inputs.push_back({"shape", {"n"}, 7});
  expectError(import(model), "node 'r' (Reshape): ");
}

TEST(OnnxImportErrors, ReshapeOfAnotherSize) {
  ModelText model = unary({"Reshape", {"shape"}, {}, {}, "r", ""}, {"x", {3, "n"}});
  model.initializers = {integers("shape", {0, 0, 0})};
  expectError(import(model), "copies one of shape [3, n], which has none at that position");
  model.inputs[0].dims = {3, 4};
  model.initializers = {integers("shape", {5, -1})};
  expectError(import(model), "12 elements do not divide by 5");
  model.initializers = {integers("shape", {5, 3})};
  expectError(import(model), "the numbers of elements differ");
}

TEST(OnnxImportErrors, AxisOutOfRange) {
  expectError(import(unary({"Softmax", {}, {}, {{"axis", int64_t{2}}}, "s", ""}, {"x", {3, 4}})),
              "node 's' (Softmax): expected an axis from -2 to 1, got 2");
}

TEST(OnnxImportErrors, OutputThatIsNotThere) {
  ModelText model = unary({"Relu", {}, {}, {}, "p", ""}, {"x", {1, 1, 8}});
  model.nodes[0].outputs = {"y", "more"};
  expectError(import(model), "node 'p' (Relu): expected 1 output, got 2");
}

TEST(OnnxImportErrors, Initializers) {
  ModelText model = unary({"Add", {"w"}, {}, {}, "a", ""}, {"x", {3}});
  model.initializers = {{"w", 1, {3}, "1234", {}}};
  expectError(import(model), "initializer 'w': expected 12 bytes for its shape and type, got 4");
  model.initializers = {{"w", 1, {3, -1}, "", {}}};
  expectError(import(model), "initializer 'w': dimension -1 is negative");
  model.initializers = {{"w", 1, {int64_t{1} << 40, int64_t{1} << 40}, "", {}}};
  expectError(import(model), "initializer 'w': the number of elements is too large");
  model.initializers = {{"w", 8, {3}, "", {}}};
  expectError(import(model), "initializer 'w': expected 3 texts, got 0");
}

TEST(OnnxImportErrors, Inputs) {
  expectError(import(unary({"Relu", {}, {}, {}, "", ""}, {"x", {3}, 8})), "no arithmetic on elements of type string");
  expectError(import(unary({"Relu", {}, {}, {}, "", ""}, {"x", {}, 1, false})), "input 'x': its rank is unknown");
}

TEST(OnnxImportErrors, Outputs) {
  ModelText model = unary({"Relu", {}, {}, {}, "", ""}, {"x", {3}});
  model.outputs = {"z"};
  expectError(import(model), "output 'z' is not computed by any node");
  model.outputs = {};
  expectError(import(model), "the model has no outputs");
}

TEST(OnnxImportErrors, Options) {
  ModelText model = unary({"Relu", {}, {}, {}, "", ""}, {"x", {"n", 3}});
  expectError(import(model, {{{"m", "2"}}}), "no input has the dimension 'm'\nhint: there are x:0, n, x:1");
  expectError(import(model, {{{"n", "-2"}}}), "a dimension cannot be -2");
  expectError(import(model, {{{"n", "99999999999999999999"}}}),
              "a dimension cannot be 99999999999999999999: it is too large");
  expectError(import(model, {{{"n", "a b"}}}), "'a b' is neither a number nor a name");
}

//===----------------------------------------------------------------------===//
// External data
//===----------------------------------------------------------------------===//

class OnnxExternalData : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("perpend-onnx", root));
    inside = root;
    llvm::sys::path::append(inside, "model");
    ASSERT_FALSE(llvm::sys::fs::create_directory(inside));
    write(inside, "weights.bin");
    write(root, "secret.bin");
  }
  void TearDown() override { llvm::sys::fs::remove_directories(root); }

  void write(StringRef folder, StringRef name) {
    std::ofstream((folder + "/" + name).str(), std::ios::binary) << std::string(400, '\1');
  }
  Outcome importWith(const std::string &location, const std::string &offset = "0", const std::string &length = "400") {
    ModelText model = unary({"Add", {"w"}, {}, {}, "a", ""}, {"x", {100}});
    model.initializers = {{"w", 1, {100}, "", {{"location", location}, {"offset", offset}, {"length", length}}}};
    return importBytes(serialize(model), {}, inside);
  }
  llvm::SmallString<128> root, inside;
};

TEST_F(OnnxExternalData, IsRead) { EXPECT_EQ(importWith("weights.bin").types, "f32 [100]"); }

TEST_F(OnnxExternalData, StaysInTheFolder) {
  std::string confined = "must be a path inside the model's folder";
  expectError(importWith("../secret.bin"), confined);
  expectError(importWith("sub/../../secret.bin"), confined);
  expectError(importWith((root + "/secret.bin").str()), confined);
  expectError(importWith(""), confined);
  ASSERT_FALSE(llvm::sys::fs::create_link(root + "/secret.bin", inside + "/link.bin"));
  expectError(importWith("link.bin"), "leads out of the model's folder");
}

TEST_F(OnnxExternalData, IsChecked) {
  expectError(importWith("missing.bin"), "cannot open the external file 'missing.bin'");
  expectError(importWith("weights.bin", "4"), "its external data ends at byte 404, the file 'weights.bin' has 400");
  expectError(importWith("weights.bin", "18446744073709551615"), "its external data ends at byte");
  expectError(importWith("weights.bin", "x"), "is no number");
  expectError(importWith("weights.bin", "0", "396"), "expected 400 bytes for its shape and type, got 396");
}
} // namespace
