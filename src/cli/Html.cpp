//===- Html.cpp - a report as a page --------------------------------------===//

#include "cli/Html.h"
#include "cli/Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

namespace perpend::cli {

std::string escape(StringRef text) {
  std::string escaped;
  for (char character : text)
    switch (character) {
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '&':
      escaped += "&amp;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      escaped += character;
    }
  return escaped;
}

static constexpr StringRef head = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{0}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: .5rem 0 1.5rem } td, th { text-align: left; padding: .15rem 1rem .15rem 0 }
th { border-bottom: 1px solid #999 } code, pre { font: 13px/1.4 ui-monospace, monospace }
pre { overflow: auto; max-height: 40rem; background: #f6f6f6; padding: .7rem } rect { stroke: #fff }
summary { cursor: pointer; padding: .2rem 0 } .n { text-align: right }
</style></head><body>
)";

void printHead(StringRef title, llvm::raw_ostream &out) {
  auto [before, after] = head.split("{0}");
  out << before << escape(title) << after << "<h1>" << escape(title) << "</h1>\n";
}

void printTable(llvm::raw_ostream &out, StringRef title, ArrayRef<StringRef> columns,
                ArrayRef<std::vector<std::string>> rows) {
  if (rows.empty())
    return;
  out << "<h2>" << title << "</h2>\n<table><tr>";
  for (StringRef column : columns)
    out << "<th>" << column << "</th>";
  out << "</tr>\n";
  for (const std::vector<std::string> &row : rows) {
    out << "<tr>";
    for (const std::string &cell : row)
      out << "<td><code>" << escape(cell) << "</code></td>";
    out << "</tr>\n";
  }
  out << "</table>\n";
}

/// Time runs from left to right, addresses from top to bottom; each buffer is a rectangle.
static void printPlan(const ModelReport &report, llvm::raw_ostream &out) {
  if (report.buffers.empty() || report.arenaBytes <= 0)
    return;
  constexpr double width = 960, height = 360;
  int64_t steps = 1;
  for (const BufferReport &buffer : report.buffers)
    steps = std::max(steps, buffer.last + 1);
  out << "<h2>Memory plan</h2>\n<p>" << report.arenaBytes << " bytes between kernels"
      << (report.symbols.empty() ? "" : " where every symbol is 2") << (report.hasParts() ? ", with one thread" : "")
      << "; kernels from left to right, addresses from top to bottom.</p>\n<svg viewBox=\"0 0 960 360\" width=\"100%\" "
         "style=\"background:#f6f6f6\">\n";
  double stepWidth = width / static_cast<double>(steps), scale = height / static_cast<double>(report.arenaBytes);
  for (auto [i, buffer] : llvm::enumerate(report.buffers))
    out << llvm::format("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"hsl(%d 55%% 60%%)\">",
                        static_cast<double>(buffer.first) * stepWidth, static_cast<double>(buffer.offset) * scale,
                        static_cast<double>(buffer.last - buffer.first + 1) * stepWidth,
                        static_cast<double>(buffer.bytes) * scale, static_cast<int>(i * 47 % 360))
        << "<title>buffer " << i << ": " << escape(buffer.size) << " bytes"
        << (buffer.parts.empty() ? "" : " for each thread") << ", kernels " << buffer.first << " to " << buffer.last
        << "</title></rect>\n";
  out << "</svg>\n";
}

void printHtml(const ModelReport &report, ArrayRef<StageText> stages, llvm::raw_ostream &out) {
  printHead(report.name, out);
  out << "<p>" << escape(report.path) << "<br>" << escape(report.target)
      << (report.refusal.empty() ? "" : "<br>runs not here: ") << escape(report.refusal)
      << (report.runner.empty() ? "" : "<br>") << escape(report.runner) << "<br>weights: " << report.weightsBytes
      << " bytes</p>\n";
  std::vector<std::vector<std::string>> rows;
  for (const TensorReport &input : report.inputs)
    rows.push_back({"input", input.name, input.type});
  for (const TensorReport &output : report.outputs)
    rows.push_back({"output", output.name, output.type});
  for (const TensorReport &state : report.states)
    rows.push_back({"state", state.name, state.type});
  for (const std::string &symbol : report.symbols)
    rows.push_back({"symbol", symbol, "integer, at least 0"});
  for (const std::string &requirement : report.requirements)
    rows.push_back({"requirement", requirement, "checked by a run"});
  printTable(out, "Signature", {"", "name", "type"}, rows);
  rows.clear();
  for (const VariantReport &variant : report.variants)
    rows.push_back({variant.target + (variant.target == report.target ? " (runs here)" : ""),
                    std::to_string(variant.codeBytes), std::to_string(variant.weightsBytes),
                    llvm::join(variant.isa, " ")});
  if (!rows.empty())
    printTable(out, "Variants", {"machine", "bytes of code", "bytes of weights", "instruction sets"}, rows);
  rows.clear();
  for (const OperatorReport &entry : report.operators)
    rows.push_back({entry.name, std::to_string(entry.count)});
  printTable(out, "Operators", {"operator", "count"}, rows);
  rows.clear();
  for (const KernelReport &kernel : report.kernels)
    rows.push_back({kernel.name, kernel.nodes, kernel.operations, kernel.bytes, kernel.schedule});
  printTable(out, "Kernels", {"kernel", "nodes", "operations", "bytes", "schedule"}, rows);
  printPlan(report, out);
  if (!stages.empty())
    out << "<h2>Stages</h2>\n";
  for (const StageText &stage : stages)
    out << "<details><summary>" << stage.name << "</summary><pre>" << escape(stage.text) << "</pre></details>\n";
  out << "</body></html>\n";
}
} // namespace perpend::cli
