// Runs a compiled model ten times on inputs of sizes seen before, and prints how often memory was allocated and freed.
#include "CountCalls.h"
#include "perpend.h"
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int64_t extent = 3; // of every symbol

struct Input {
  std::vector<int64_t> shape;
  std::vector<char> numbers;
  std::vector<std::string> texts;
  std::vector<perpend_string> views;
  std::vector<Input> elements;
  std::vector<perpend_tensor> elementViews;
  perpend_sequence sequence{};
  perpend_tensor tensor{};

  void fill(const perpend_tensor_info &info);
};

int64_t elementOf(perpend_type type, int64_t i) { return type == PERPEND_BOOL ? i % 2 : i % extent; }

void Input::fill(const perpend_tensor_info &info) {
  int64_t count = 1;
  for (int32_t i = 0; i < info.rank; ++i)
    count *= shape.emplace_back(info.dims[i] < 0 ? extent : info.dims[i]);
  tensor = {nullptr, shape.data(), info.rank, info.type};
  if (info.type == PERPEND_SEQUENCE) {
    elements.resize(extent);
    for (Input &element : elements) {
      element.fill(*info.element);
      elementViews.push_back(element.tensor);
    }
    sequence = {elementViews.data(), extent};
    tensor.data = &sequence;
  } else if (info.type == PERPEND_STRING) {
    for (int64_t i = 0; i < count; ++i)
      texts.push_back("a text that is long enough to need memory " + std::to_string(i));
    for (const std::string &text : texts)
      views.push_back({text.data(), static_cast<int64_t>(text.size())});
    tensor.data = views.data();
  } else {
    numbers.resize(static_cast<size_t>(count * perpend_type_size_bytes(info.type)));
    for (int64_t i = 0; i < count; ++i)
      if (info.type == PERPEND_F32)
        reinterpret_cast<float *>(numbers.data())[i] = static_cast<float>(i % 5 - 2);
      else
        numbers[static_cast<size_t>(i * perpend_type_size_bytes(info.type))] =
            static_cast<char>(elementOf(info.type, i));
    tensor.data = numbers.data();
  }
}

int fail() { return fprintf(stderr, "%s\n", perpend_error_message()), 1; }

} // namespace

int main(int argumentCount, char **arguments) {
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  if (argumentCount != 2 || perpend_model_load(arguments[1], &model) ||
      perpend_session_create(model, nullptr, &session))
    return fail();
  std::vector<Input> inputs(static_cast<size_t>(perpend_model_input_count(model)));
  std::vector<perpend_tensor> given, outputs(static_cast<size_t>(perpend_model_output_count(model)));
  for (Input &input : inputs) {
    input.fill(*perpend_model_input(model, static_cast<int32_t>(given.size())));
    given.push_back(input.tensor);
  }
  auto run = [&](int times) {
    for (int i = 0; i < times; ++i)
      if (perpend_session_run(session, given.data(), static_cast<int32_t>(given.size()), outputs.data(),
                              static_cast<int32_t>(outputs.size())))
        return false;
    return true;
  };
  Count first;
  if (!run(2)) // memory of texts and lists takes turns
    return fail();
  int64_t before = first.allocated();
  Count later;
  if (!run(10))
    return fail();
  int64_t allocated = later.allocated(), freed = later.freed();
  printf("%lld before, then %lld allocated, %lld freed\n", static_cast<long long>(before),
         static_cast<long long>(allocated), static_cast<long long>(freed));
  perpend_session_free(session);
  perpend_model_free(model);
  return 0;
}
