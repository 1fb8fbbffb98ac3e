// A library call without a model: inputs in, results out.
#ifndef PERPEND_TEST_FAKECALL_H
#define PERPEND_TEST_FAKECALL_H
#include "include/perpend_operator.h"
#include "library/KeptTables.h"
#include "library/ListTable.h"
#include "library/Parameters.h"
#include "library/StringTable.h"
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace perpend::testing {

struct FakeTensor {
  perpend_type type = PERPEND_I64;
  std::vector<int64_t> shape;
  std::vector<char> bytes;

  perpend_tensor view() { return {bytes.data(), shape.data(), static_cast<int32_t>(shape.size()), type}; }
  template <typename T> std::vector<T> as() const {
    auto *first = reinterpret_cast<const T *>(bytes.data());
    return std::vector<T>(first, first + bytes.size() / sizeof(T));
  }
};

class FakeCall {
public:
  template <typename T>
  FakeTensor tensor(perpend_type type, std::vector<int64_t> shape, const std::vector<T> &values) const {
    auto *first = reinterpret_cast<const char *>(values.data());
    return {type, std::move(shape), std::vector<char>(first, first + values.size() * sizeof(T))};
  }
  FakeTensor texts(std::vector<int64_t> shape, const std::vector<std::string> &values) {
    std::vector<int64_t> words;
    for (const std::string &value : values)
      words.push_back(table.identityOf(value.data(), static_cast<int64_t>(value.size())));
    return tensor(PERPEND_STRING, std::move(shape), words);
  }
  std::vector<std::string> textsOf(const FakeTensor &tensor) const {
    std::vector<std::string> result;
    for (int64_t word : tensor.as<int64_t>()) {
      perpend_string text = table.textOf(word);
      result.emplace_back(text.data, static_cast<size_t>(text.sizeBytes));
    }
    return result;
  }

  perpend_status run(perpend_operator function, std::vector<FakeTensor> inputs, std::vector<perpend_type> types,
                     const std::string &parameters = "{}", std::vector<int64_t> expectedShape = {}) {
    std::vector<perpend_tensor> views;
    for (FakeTensor &input : inputs)
      views.push_back(input.view());
    results.assign(types.size(), {});
    resultTypes = types;
    expected = std::move(expectedShape);
    pieces.clear();
    message.clear();
    Base base{{&services, views.data(), types.data(), static_cast<int32_t>(views.size()),
               static_cast<int32_t>(types.size()), parameters.c_str()},
              this};
    return function(&base.call);
  }

  std::vector<FakeTensor> results;
  std::vector<perpend_type> resultTypes;
  std::vector<int64_t> expected;
  std::vector<std::unique_ptr<char, void (*)(void *)>> pieces;
  std::string message;
  library::StringTable table;
  library::ListTable lists;
  library::KeptTables kept;

private:
  struct Base {
    perpend_call call;
    FakeCall *self;
  };
  static FakeCall &of(perpend_call *call) { return *reinterpret_cast<Base *>(call)->self; }

  static void *allocate(perpend_call *call, int32_t output, const int64_t *shape, int32_t rank) {
    FakeTensor &result = of(call).results[static_cast<size_t>(output)];
    result.type = of(call).resultTypes[static_cast<size_t>(output)];
    result.shape.assign(shape, shape + rank);
    result.bytes.resize(static_cast<size_t>(library::elementBytes(result.view())));
    result.bytes.reserve(1); // never NULL
    return result.bytes.data();
  }
  static perpend_status fail(perpend_call *call, const char *format, va_list arguments) {
    char text[300];
    vsnprintf(text, sizeof text, format, arguments);
    of(call).message = text;
    return PERPEND_INVALID_DATA;
  }

  static const perpend_call_services services;
};

inline const perpend_call_services FakeCall::services = {
    allocate,
    fail,
    [](perpend_call *call, int64_t identity) { return of(call).table.textOf(identity); },
    [](perpend_call *call, const char *data, int64_t size) { return of(call).table.identityOf(data, size); },
    [](perpend_call *call, int64_t list) { return of(call).lists.countOf(list); },
    [](perpend_call *call, int64_t list, int64_t position) { return of(call).lists.elementOf(list, position); },
    [](perpend_call *call, int64_t list, int64_t position, const perpend_tensor *element) {
      return of(call).lists.insert(list, position, *element);
    },
    [](perpend_call *call, int64_t list, int64_t position) { return of(call).lists.erase(list, position); },
    library::integerParameter,
    library::numberParameter,
    library::wordParameter,
    [](perpend_call *call, int32_t) -> const int64_t * { return of(call).expected.data(); },
    [](perpend_call *call, int64_t bytes) -> void * {
      auto size = static_cast<size_t>((bytes + 63) / 64 * 64);
      of(call).pieces.emplace_back(static_cast<char *>(aligned_alloc(64, size)), free);
      return of(call).pieces.back().get();
    },
    [](perpend_call *, perpend_call_body body, void *context, int64_t extent, int64_t) {
      for (int64_t unit = 0; unit < extent; ++unit)
        body(context, unit, unit + 1);
    },
    [](perpend_call *call, const void *key, int64_t keyBytes, int64_t bytes, int32_t *isNew) {
      return of(call).kept.find(nullptr, key, keyBytes, bytes, isNew);
    }};

} // namespace perpend::testing

extern "C" {
#define LIBRARY_FUNCTION(LIBRARY, NAME) perpend_status perpend_##LIBRARY##_##NAME(perpend_call *call);
#include "library/Functions.def"
}
#endif
