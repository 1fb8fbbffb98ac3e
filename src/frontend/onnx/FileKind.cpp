//===- FileKind.cpp - recognises files that are not ONNX models -----------===//
//
// A table of the bytes with which files of other formats begin; the first match counts.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/FileKind.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace perpend::onnx {
using llvm::StringRef;

namespace {
/// `mark` is at `offset`, and `part` anywhere after it.
struct Mark {
  size_t offset;
  StringRef mark, part;
  FileKind kind;
};
} // namespace

static constexpr StringRef unpack = "unpack it first: the model is inside";
static constexpr StringRef exportPyTorch =
    "load it in Python and give the module to perpend.compile(module, example_inputs=(x,)), or export it with "
    "torch.onnx.export";
static constexpr StringRef exportTensorFlow =
    "convert it: python -m tf2onnx.convert --saved-model FOLDER (--graphdef or --tflite FILE) --output model.onnx";
static constexpr StringRef exportKeras =
    "load it in Python and convert it: model.export(\"model.onnx\", format=\"onnx\")";
static constexpr StringRef onlyWeights =
    "weights are no model: give the folder with their config.json, or load them into the module that they belong to, "
    "and give that to perpend.compile";

/// Strings that contain zeros.
template <size_t size> static constexpr StringRef bytes(const char (&text)[size]) { return StringRef(text, size - 1); }

static constexpr Mark marks[] = {
    {0,
     bytes("PK\3\4"),
     "serialized_exported_program",
     {"a program of torch.export", "load it in Python: perpend.compile(torch.export.load(\"model.pt2\"))"}},
    {0,
     bytes("PK\3\4"),
     "models/model.json",
     {"a program of torch.export", "load it in Python: perpend.compile(torch.export.load(\"model.pt2\"))"}},
    {0, bytes("PK\3\4"), "constants.pkl", {"a TorchScript file", exportPyTorch}},
    {0, bytes("PK\3\4"), "data.pkl", {"a PyTorch file (torch.save)", exportPyTorch}},
    {0, bytes("PK\3\4"), ".weights.h5", {"a Keras model", exportKeras}},
    {0, bytes("PK\3\4"), ".npy", {"a numpy archive (.npz)", "arrays are inputs; a model is an .onnx file"}},
    {0, bytes("PK\3\4"), "", {"a zip archive", unpack}},
    {0, bytes("\x80\2"), "", {"a Python pickle, as of an old torch.save or of scikit-learn", exportPyTorch}},
    {0, bytes("\x80\3"), "", {"a Python pickle", exportPyTorch}},
    {0, bytes("\x80\4"), "", {"a Python pickle, as of scikit-learn", "convert the model with skl2onnx"}},
    {0, bytes("\x80\5"), "", {"a Python pickle, as of scikit-learn", "convert the model with skl2onnx"}},
    {4, bytes("TFL3"), "", {"a TensorFlow Lite model", exportTensorFlow}},
    {4, bytes("ORTM"), "", {"a model in ONNX Runtime's own format", "use the .onnx file that it was made from"}},
    {0, bytes("\x08\x01\x12"), "saved_model", {"a TensorFlow SavedModel", exportTensorFlow}},
    {0, bytes("\x08\x01\x12"), "serve", {"a TensorFlow SavedModel", exportTensorFlow}},
    {0, bytes("\x0a"), "Placeholder", {"a TensorFlow graph", exportTensorFlow}},
    {0, bytes("\x89HDF"), "", {"an HDF5 file, as of Keras", exportKeras}},
    {8, bytes("{\""), "data_offsets", {"a safetensors file", onlyWeights}},
    {8, bytes("{\""), "__metadata__", {"a safetensors file", onlyWeights}},
    {0,
     bytes("GGUF"),
     "",
     {"a GGUF file", "give its path: perpend compile model.gguf, perpend.compile(\"model.gguf\")"}},
    {0, bytes("\x93NUMPY"), "", {"a numpy array", "arrays are inputs (perpend run --input); a model is an .onnx file"}},
    {0, bytes("\x1f\x8b"), "", {"compressed by gzip", unpack}},
    {0, bytes("BZh"), "", {"compressed by bzip2", unpack}},
    {0,
     bytes("\xfd"
           "7zXZ"),
     "",
     {"compressed by xz", unpack}},
    {0, bytes("\x28\xb5\x2f\xfd"), "", {"compressed by zstd", unpack}},
    {0, bytes("7z\xbc\xaf"), "", {"a 7z archive", unpack}},
    {257, bytes("ustar"), "", {"a tar archive", unpack}},
    {0,
     bytes("\x7f"
           "ELF"),
     "",
     {"a shared library or a program", "load what is compiled: perpend run MODEL.so, in Python perpend.load"}},
    {0, "!<arch>", "", {"an archive (.a)", "link it into a program; a model is an .onnx file"}},
    {0, "version https://git-lfs", "", {"a pointer to a file in Git LFS", "fetch the file itself: git lfs pull"}},
};

static constexpr FileKind page = {"a web page", "download the file itself, not the page that shows it"};
static constexpr FileKind json = {"JSON text",
                                  "a model is an .onnx file; descriptions of operators go with --operators"};
static constexpr FileKind moduleText = {"the text of a module", "give the file a name that ends in .mlir"};
static constexpr FileKind onnxText = {"ONNX in its text form",
                                      "convert it: onnx.save(onnx.parser.parse_model(open(\"model.txt\").read()), "
                                      "\"model.onnx\")"};
static constexpr FileKind python = {"a Python program",
                                    "run it, if it writes a model; a module of PyTorch goes to perpend.compile(module, "
                                    "example_inputs=(x,)) in it"};
static constexpr FileKind plainText = {"text", "a model is an .onnx file, or the text of a module in an .mlir file"};

static bool isPython(StringRef text) {
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n');
  return llvm::any_of(lines, [](StringRef line) {
    auto [first, rest] = line.split(' ');
    return (first == "import" && !rest.contains(';')) || (first == "from" && rest.contains(" import ")) ||
           (first == "def" && rest.contains('(') && rest.rtrim().ends_with(":"));
  });
}

static const FileKind *kindOfText(StringRef bytes) {
  StringRef start = bytes.take_front(4096);
  auto isControl = [](unsigned char letter) { // the bytes of UTF-8 beyond ASCII are from 0x80 on
    return letter < 0x80 && !llvm::isPrint(letter) && !llvm::isSpace(letter);
  };
  if (llvm::any_of(start, isControl))
    return nullptr;
  StringRef text = start.ltrim();
  if (text.empty())
    return nullptr;
  if (text.starts_with_insensitive("<!doctype html") || text.starts_with_insensitive("<html"))
    return &page;
  if (text.contains("func.func") || text.starts_with("module"))
    return &moduleText;
  if (text.contains("opset_import"))
    return &onnxText;
  if (isPython(text))
    return &python;
  return text.starts_with("{") || text.starts_with("[") ? &json : &plainText;
}

const FileKind *kindOfFile(StringRef bytes) {
  for (const Mark &mark : marks)
    if (bytes.substr(mark.offset).starts_with(mark.mark) && bytes.contains(mark.part))
      return &mark.kind;
  return kindOfText(bytes);
}
} // namespace perpend::onnx
