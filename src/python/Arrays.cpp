//===- Arrays.cpp - numpy arrays and torch tensors as runtime tensors -----===//

#include "python/Arrays.h"

#include "python/OutputMemory.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstring>

namespace nb = nanobind;

namespace perpend::python {

//===----------------------------------------------------------------------===//
// The function table of DLPack, as laid out in its specification
//===----------------------------------------------------------------------===//

namespace {
struct ManagedTensor {
  uint32_t majorVersion, minorVersion;
  void *context;
  void (*destroy)(ManagedTensor *self);
  uint64_t flags;
  nb::dlpack::dltensor tensor;
};
using SetError = void (*)(void *context, const char *kind, const char *message);
} // namespace

struct ExchangeApi {
  uint32_t majorVersion, minorVersion;
  const ExchangeApi *previous;
  int (*allocate)(nb::dlpack::dltensor *prototype, ManagedTensor **result, void *errorContext, SetError setError);
  int (*exportManaged)(void *object, ManagedTensor **result);
  int (*importManaged)(ManagedTensor *tensor, void **object);
  int (*borrow)(void *object, nb::dlpack::dltensor *result);
  int (*currentStream)(int32_t deviceType, int32_t deviceId, void **stream);
};

/// Null for classes without the table. The answer is cached for the last class, which is nearly always the same.
static const ExchangeApi *exchangeApiOf(nb::handle object) {
  static PyTypeObject *lastType = nullptr;
  static const ExchangeApi *lastApi = nullptr;
  PyTypeObject *type = Py_TYPE(object.ptr());
  if (type == lastType)
    return lastApi;
  nb::object capsule =
      nb::getattr(nb::handle(reinterpret_cast<PyObject *>(type)), "__dlpack_c_exchange_api__", nb::none());
  if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api"))
    return nullptr;
  auto *api = static_cast<const ExchangeApi *>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (api && api->majorVersion != 1)
    api = api->previous;
  if (!api || !api->borrow)
    return nullptr;
  Py_INCREF(reinterpret_cast<PyObject *>(type)); // so that its address is not reused
  lastType = type;
  return lastApi = api;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

std::optional<perpend_type> typeNamed(const std::string &name) {
  for (int i = 0; i < PERPEND_TYPE_COUNT; ++i)
    if (name == perpend_type_name(static_cast<perpend_type>(i)))
      return static_cast<perpend_type>(i);
  return std::nullopt;
}

namespace {
/// Other libraries' names of the runtime's types. Types that numpy lacks are created as unsigned integers and viewed as
/// the type of ml_dtypes.
struct TypeNames {
  perpend_type type;
  uint8_t code; ///< DLPack's code
  uint8_t bits;
  const char *numpy, *extension = nullptr;
};

/// DLPack's codes for types that nanobind does not name.
enum MinifloatCode : uint8_t {
  CodeF8E4M3FN = 10,
  CodeF8E4M3FNUZ,
  CodeF8E5M2,
  CodeF8E5M2FNUZ,
  CodeF8E8M0FNU,
  CodeF6E2M3FN,
  CodeF6E3M2FN,
  CodeF4E2M1FN
};
constexpr auto codeInt = static_cast<uint8_t>(nb::dlpack::dtype_code::Int),
               codeUInt = static_cast<uint8_t>(nb::dlpack::dtype_code::UInt),
               codeFloat = static_cast<uint8_t>(nb::dlpack::dtype_code::Float),
               codeBfloat = static_cast<uint8_t>(nb::dlpack::dtype_code::Bfloat),
               codeBool = static_cast<uint8_t>(nb::dlpack::dtype_code::Bool);
} // namespace

static constexpr TypeNames typeNames[] = {
    {PERPEND_F32, codeFloat, 32, "float32"},
    {PERPEND_F64, codeFloat, 64, "float64"},
    {PERPEND_F16, codeFloat, 16, "float16"},
    {PERPEND_BF16, codeBfloat, 16, "uint16", "bfloat16"},
    {PERPEND_I8, codeInt, 8, "int8"},
    {PERPEND_I16, codeInt, 16, "int16"},
    {PERPEND_I32, codeInt, 32, "int32"},
    {PERPEND_I64, codeInt, 64, "int64"},
    {PERPEND_U8, codeUInt, 8, "uint8"},
    {PERPEND_U16, codeUInt, 16, "uint16"},
    {PERPEND_U32, codeUInt, 32, "uint32"},
    {PERPEND_U64, codeUInt, 64, "uint64"},
    {PERPEND_BOOL, codeBool, 8, "bool"},
    {PERPEND_I4, codeInt, 4, "uint8", "int4"},
    {PERPEND_U4, codeUInt, 4, "uint8", "uint4"},
    {PERPEND_I2, codeInt, 2, "uint8", "int2"},
    {PERPEND_U2, codeUInt, 2, "uint8", "uint2"},
    {PERPEND_F8E4M3FN, CodeF8E4M3FN, 8, "uint8", "float8_e4m3fn"},
    {PERPEND_F8E4M3FNUZ, CodeF8E4M3FNUZ, 8, "uint8", "float8_e4m3fnuz"},
    {PERPEND_F8E5M2, CodeF8E5M2, 8, "uint8", "float8_e5m2"},
    {PERPEND_F8E5M2FNUZ, CodeF8E5M2FNUZ, 8, "uint8", "float8_e5m2fnuz"},
    {PERPEND_F8E8M0FNU, CodeF8E8M0FNU, 8, "uint8", "float8_e8m0fnu"},
    {PERPEND_F6E2M3FN, CodeF6E2M3FN, 6, "uint8", "float6_e2m3fn"},
    {PERPEND_F6E3M2FN, CodeF6E3M2FN, 6, "uint8", "float6_e3m2fn"},
    {PERPEND_F4E2M1FN, CodeF4E2M1FN, 4, "uint8", "float4_e2m1fn"},
};

static const TypeNames &namesOf(perpend_type type) {
  for (const TypeNames &names : typeNames)
    if (names.type == type)
      return names;
  return typeNames[0];
}

static std::optional<perpend_type> typeOf(nb::dlpack::dtype given) {
  for (const TypeNames &names : typeNames)
    if (names.code == given.code && names.bits == given.bits && given.lanes == 1)
      return names.type;
  return std::nullopt;
}

static std::optional<perpend_type> signedOf(int64_t bytes) {
  return bytes == 1 ? PERPEND_I8 : bytes == 2 ? PERPEND_I16 : bytes == 4 ? PERPEND_I32 : PERPEND_I64;
}
static std::optional<perpend_type> unsignedOf(int64_t bytes) {
  return bytes == 1 ? PERPEND_U8 : bytes == 2 ? PERPEND_U16 : bytes == 4 ? PERPEND_U32 : PERPEND_U64;
}

static std::optional<perpend_type> typeOf(const Py_buffer &buffer) {
  const char *format = buffer.format ? buffer.format : "B";
  if (*format == '=' || *format == '<' || *format == '@')
    ++format;
  if (!format[0] || format[1])
    return std::nullopt;
  switch (format[0]) {
  case 'f':
    return PERPEND_F32;
  case 'd':
    return PERPEND_F64;
  case 'e':
    return PERPEND_F16;
  case '?':
    return PERPEND_BOOL;
  case 'b':
  case 'h':
  case 'i':
  case 'l':
  case 'q':
    return signedOf(buffer.itemsize);
  case 'B':
  case 'H':
  case 'I':
  case 'L':
  case 'Q':
    return unsignedOf(buffer.itemsize);
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Modules are imported once and never unloaded.
static nb::object numpyFunction(const char *name) { return nb::module_::import_("numpy").attr(name); }

InputArray::~InputArray() {
  if (hasBuffer)
    PyBuffer_Release(&buffer);
}

static bool isContiguous(const nb::dlpack::dltensor &tensor) {
  int64_t expected = 1;
  for (int32_t i = tensor.ndim; tensor.strides && i-- > 0;) {
    if (tensor.shape[i] == 0)
      return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected)
      return false;
    expected *= tensor.shape[i];
  }
  return true;
}

static std::string textOf(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

/// Rejects tensors without elements in memory, on another device, or of an unsupported type.
[[noreturn]] static void rejectTensor(nb::handle tensor, const char *what) {
  PyErr_Clear();
  std::string layout = textOf(tensor.attr("layout")), device = textOf(tensor.attr("device"));
  throw nb::type_error((std::string(what) + ": expected a dense tensor of numbers on the CPU, got " +
                        textOf(tensor.type().attr("__name__")) + " of " + textOf(tensor.attr("dtype")) + ", " + layout +
                        ", on " + device + "\nhint: use .to_dense(), .cpu() or .to(dtype)")
                           .c_str());
}

static bool hasData(const nb::dlpack::dltensor &tensor) {
  return tensor.data || std::find(tensor.shape, tensor.shape + tensor.ndim, 0) != tensor.shape + tensor.ndim;
}

/// Whether PyTorch's negative bit is set, which DLPack does not represent: the elements are those in memory with the
/// sign flipped.
static bool isNegated(nb::handle tensor) {
  static PyObject *const name = PyUnicode_InternFromString("is_neg");
  PyObject *arguments[] = {nullptr, tensor.ptr()};
  nb::object answer =
      nb::steal(PyObject_VectorcallMethod(name, arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  if (answer.is_valid())
    return answer.ptr() == Py_True;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) // tensors of other libraries have no such bit
    throw nb::python_error();
  PyErr_Clear();
  return false;
}

void InputArray::readTensor(nb::handle object, const char *what) {
  nb::dlpack::dltensor tensor;
  keeper = nb::borrow(object);
  if (api->borrow(keeper.ptr(), &tensor)) { // the tensor records gradients
    PyErr_Clear();
    keeper = keeper.attr("detach")();
    if (api->borrow(keeper.ptr(), &tensor))
      rejectTensor(keeper, what);
  }
  std::optional<perpend_type> found = typeOf(tensor.dtype);
  if (tensor.device.device_type != nb::device::cpu::value || !found || !hasData(tensor))
    rejectTensor(keeper, what);
  bool isNegative = isNegated(keeper);
  if (isNegative || !isContiguous(tensor)) {
    keeper = (isNegative ? keeper.attr("resolve_neg")() : nb::object(keeper)).attr("contiguous")();
    if (api->borrow(keeper.ptr(), &tensor))
      rejectTensor(keeper, what);
  }
  data = static_cast<char *>(tensor.data) + tensor.byte_offset;
  extents = tensor.shape;
  rank = tensor.ndim;
  type = *found;
}

bool InputArray::readBuffer(nb::handle object, const char *what) {
  if (PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_RECORDS_RO)) {
    PyErr_Clear();
    return false;
  }
  hasBuffer = true;
  std::optional<perpend_type> found = typeOf(buffer);
  if (!found || buffer.ndim > PERPEND_MAX_RANK)
    throw nb::type_error((std::string(what) + ": expected an array of numbers in native byte order, got the format '" +
                          (buffer.format ? buffer.format : "?") + "'\nhint: convert it, as with astype(numpy.float32)")
                             .c_str());
  if (!PyBuffer_IsContiguous(&buffer, 'C')) {
    PyBuffer_Release(&buffer);
    hasBuffer = false;
    keeper = numpyFunction("ascontiguousarray")(object);
    return readBuffer(keeper, what);
  }
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  data = buffer.buf;
  extents = reinterpret_cast<const int64_t *>(buffer.shape);
  rank = buffer.ndim;
  type = *found;
  return true;
}

[[noreturn]] static void rejectElements(nb::handle object, const char *what, std::optional<perpend_type> wanted,
                                        const std::string &got) {
  throw nb::type_error((std::string(what) + ": expected an array" +
                        (wanted ? std::string(" of ") + perpend_type_name(*wanted) : "") + ", got " +
                        textOf(object.type().attr("__name__")) + got)
                           .c_str());
}

/// Whether numpy's conversion preserves values: 2.5 is not an integer.
static bool isFaithful(nb::handle object, nb::handle array) {
  nb::object given = numpyFunction("asarray")(object);
  return nb::cast<bool>(numpyFunction("can_cast")(given.attr("dtype"), array.attr("dtype"), "same_kind")) ||
         nb::cast<bool>(numpyFunction("array_equal")(given, array));
}

/// Numpy's conversion of numbers and lists of them.
static nb::object asArray(nb::handle object, const char *what, std::optional<perpend_type> wanted) {
  try {
    if (!wanted)
      return numpyFunction("asarray")(object);
    nb::object array = numpyFunction("asarray")(object, namesOf(*wanted).numpy);
    if (!isFaithful(object, array))
      rejectElements(object, what, wanted,
                     " of " + textOf(numpyFunction("asarray")(object).attr("dtype")) +
                         "\nhint: convert the data before the run");
    return array;
  } catch (nb::python_error &error) {
    if (!error.matches(PyExc_ValueError) && !error.matches(PyExc_TypeError) && !error.matches(PyExc_OverflowError))
      throw;
    rejectElements(object, what, wanted, ": " + textOf(error.value()));
  }
}

void InputArray::read(nb::handle object, const char *what, std::optional<perpend_type> wanted) {
  api = exchangeApiOf(object);
  if (api)
    return readTensor(object, what);
  if (readBuffer(object, what))
    return;
  std::string dtype = nb::cast<std::string>(nb::str(nb::getattr(object, "dtype", nb::str(""))));
  for (const TypeNames &names : typeNames)
    if (names.extension && dtype == names.extension && readBuffer(object.attr("view")(names.numpy), what)) {
      type = names.type;
      return;
    }
  if (!nb::hasattr(object, "__array__") && !nb::isinstance<nb::sequence>(object) && !PyNumber_Check(object.ptr()))
    throw nb::type_error((std::string(what) + ": expected an array, got " +
                          nb::cast<std::string>(nb::str(object.type().attr("__name__"))))
                             .c_str());
  bool converts = wanted && dtype.empty() && !namesOf(*wanted).extension;
  nb::object array = asArray(object, what, converts ? wanted : std::nullopt);
  if (!readBuffer(array, what))
    throw nb::type_error((std::string(what) + ": expected an array of numbers, got elements of type " +
                          nb::cast<std::string>(nb::str(array.attr("dtype"))))
                             .c_str());
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

static void raiseFromApi(void *, const char *, const char *message) { PyErr_SetString(PyExc_RuntimeError, message); }

void OutputArray::allocateTensor(const ExchangeApi *api, perpend_type type, const int64_t *shape, int32_t rank) {
  const TypeNames &names = namesOf(type);
  nb::dlpack::dltensor prototype;
  prototype.device = {nb::device::cpu::value, 0};
  prototype.ndim = rank;
  prototype.dtype = {names.code, names.bits, 1};
  prototype.shape = const_cast<int64_t *>(shape);
  ManagedTensor *managed = nullptr;
  if (api->allocate(&prototype, &managed, nullptr, raiseFromApi))
    throw nb::python_error();
  data = static_cast<char *>(managed->tensor.data) + managed->tensor.byte_offset;
  void *object = nullptr;
  if (api->importManaged(managed, &object))
    throw nb::python_error();
  array = nb::steal(static_cast<PyObject *>(object));
}

OutputArray::OutputArray(const ExchangeApi *api, perpend_type type, const int64_t *shape, int32_t rank) {
  if (api) {
    allocateTensor(api, type, shape, rank);
    return;
  }
  // Objects that live as long as the process, without destructors at its end.
  static nb::object &empty = *new nb::object(numpyFunction("empty"));
  static nb::object &ndarray = *new nb::object(numpyFunction("ndarray"));
  static PyObject *dtypes[PERPEND_TYPE_COUNT] = {};
  if (!dtypes[type])
    dtypes[type] = numpyFunction("dtype")(namesOf(type).numpy).release().ptr();
  nb::object extents = nb::steal(PyTuple_New(rank));
  for (int32_t i = 0; i < rank; ++i)
    PyTuple_SET_ITEM(extents.ptr(), i, PyLong_FromLongLong(shape[i]));
  int64_t bytes = countOf({nullptr, shape, rank, type}) * static_cast<int64_t>(perpend_type_size_bytes(type));
  nb::object memory = OutputMemory::isWorthIt(bytes) ? OutputMemory::make(bytes) : nb::object();
  PyObject *arguments[] = {nullptr, extents.ptr(), dtypes[type], memory.ptr()};
  const nb::object &make = memory.is_valid() ? ndarray : empty;
  size_t count = (memory.is_valid() ? 3 : 2) | PY_VECTORCALL_ARGUMENTS_OFFSET;
  array = nb::steal(PyObject_Vectorcall(make.ptr(), arguments + 1, count, nullptr));
  Py_buffer buffer;
  if (!array.is_valid() || PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_WRITABLE))
    throw nb::python_error();
  data = buffer.buf;
  PyBuffer_Release(&buffer); // the array keeps its memory
  if (const char *extension = namesOf(type).extension)
    array = array.attr("view")(nb::module_::import_("ml_dtypes").attr(extension));
}
} // namespace perpend::python
