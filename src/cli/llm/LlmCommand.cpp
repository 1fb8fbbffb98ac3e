//===- LlmCommand.cpp - perpend llm ---------------------------------------===//

#include "cli/llm/LanguageModels.h"

namespace perpend::cli {

static constexpr Command actions[] = {
    {"compile", "make a program of a checkpoint", "perpend llm compile CHECKPOINT -o FILE [options]", R"(
CHECKPOINT is a .gguf file, or a folder with config.json, safetensors files and a tokenizer. FILE has the model with its
cache, its tokenizer and its chat template. Weights of more than 64 MiB lie beside it, in FILE.weights.
The model computes in f32, with weights as the checkpoint has them. If these are blocks of 4 bits, --precision int8 makes a
token take about half of the time: what is multiplied with weights is rounded to bytes, as others do by default.

examples:
  perpend llm compile model.gguf -o chat
  perpend llm compile model.gguf -o chat --context 4096
  perpend llm compile model.gguf -o chat --precision int8
  perpend llm compile model -o chat --exe
)",
     runLlmCompile},
    {"run", "print what a model says to a prompt", "perpend llm run MODEL --prompt TEXT [options]", R"(
MODEL is what `perpend llm compile` has written, or a checkpoint, which is compiled first. The prompt is the turn of a user,
unless the model has no chat template, or with --raw. Standard output has the text and nothing else.

examples:
  perpend llm run chat --prompt "Why is the sky blue?"
  perpend llm run chat --prompt "Once upon a time" --raw --max-tokens 24 --temperature 0
  perpend llm run chat --prompt - < question.txt
)",
     runLlmRun},
    {"chat", "talk with a model", "perpend llm chat MODEL [options]", R"(
MODEL is what `perpend llm compile` has written, or a checkpoint, which is compiled first. Each line is a turn; the end of
the input (^D) ends the conversation.

examples:
  perpend llm chat chat
  perpend llm chat chat --system "Answer in one sentence."
)",
     runLlmChat},
    {"bench", "measure tokens per second", "perpend llm bench MODEL [options]", R"(
A turn computes a prompt of random tokens, then generates greedily, one token at a time. Turns with different numbers of
threads alternate, so that a slowdown of the machine affects all of them.

examples:
  perpend llm bench chat --threads 1,2
  perpend llm bench chat --prompt-tokens 1024 --tokens 64 --json times.json
)",
     runLlmBench},
};

int runLlm(const Command &command, ArrayRef<StringRef> arguments) { return runAction(command, actions, arguments); }
} // namespace perpend::cli
