/* Runs a compiled model once with inputs full of ones and prints the beginning of every output.
 *   cc run_model.c -I../runtime/include -L../build/lib -Wl,-rpath,$PWD/../build/lib -lperpend -o run_model
 *   ./run_model model.so
 * Symbolic dimensions are taken as 1. */
#include <perpend.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_TENSORS 16

static int check(perpend_status status) {
  if (status != PERPEND_OK)
    fprintf(stderr, "error: %s\n", perpend_error_message());
  return status == PERPEND_OK;
}

static int fail(const char *message, const char *detail) {
  fprintf(stderr, "%s%s\n", message, detail);
  return 1;
}

/* Memory for one input: f32 elements are 1, the bytes of all other types 0. */
static void fill(perpend_tensor *tensor, const perpend_tensor_info *info, int64_t *shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < info->rank; ++i)
    count *= shape[i] = info->dims[i] < 0 ? 1 : info->dims[i];
  tensor->data = calloc((size_t)(count * perpend_type_size_bytes(info->type)) + 1, 1);
  tensor->shape = shape;
  tensor->rank = info->rank;
  tensor->type = info->type;
  for (int64_t i = 0; info->type == PERPEND_F32 && i < count; ++i)
    ((float *)tensor->data)[i] = 1.0f;
}

int main(int argc, char **argv) {
  perpend_model *model = NULL;
  perpend_session *session = NULL;
  perpend_tensor inputs[MAX_TENSORS] = {{0}}, outputs[MAX_TENSORS] = {{0}}; /* no data: the session allocates */
  static int64_t shapes[MAX_TENSORS][PERPEND_MAX_RANK];
  if (argc != 2)
    return fail("usage: run_model MODEL.so\nhint: `perpend compile model.onnx -o model.so` makes one", "");
  if (!check(perpend_model_load(argv[1], &model)) || !check(perpend_session_create(model, NULL, &session)))
    return 1;
  int32_t inputCount = perpend_model_input_count(model), outputCount = perpend_model_output_count(model);
  if (inputCount > MAX_TENSORS || outputCount > MAX_TENSORS)
    return fail("error: the model has more inputs or outputs than MAX_TENSORS: ", argv[1]);
  for (int32_t i = 0; i < inputCount; ++i)
    fill(&inputs[i], perpend_model_input(model, i), shapes[i]);
  int isGood = check(perpend_session_run(session, inputs, inputCount, outputs, outputCount));
  for (int32_t i = 0; isGood && i < outputCount; ++i) {
    int64_t count = 1;
    for (int32_t d = 0; d < outputs[i].rank; ++d)
      count *= outputs[i].shape[d];
    printf("%s: %s, %lld elements:", perpend_model_output(model, i)->name, perpend_type_name(outputs[i].type),
           (long long)count);
    for (int64_t e = 0; outputs[i].type == PERPEND_F32 && e < count && e < 8; ++e)
      printf(" %g", ((float *)outputs[i].data)[e]);
    printf("\n");
  }
  for (int32_t i = 0; i < inputCount; ++i)
    free(inputs[i].data);
  perpend_session_free(session);
  perpend_model_free(model);
  return isGood ? 0 : 1;
}
