//===- TuningPage.cpp - a tuning run as a page ----------------------------===//

#include "cli/TuningPage.h"
#include "cli/Html.h"
#include "cli/TimeText.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <map>

namespace perpend::cli {
namespace {
using Rows = std::vector<std::vector<std::string>>;
using Events = std::vector<const tune::Event *>;

constexpr StringRef colours[] = {"#999", "#d80", "#c00", "#80c", "#06c", "#ccc"}; ///< one per kind of outcome
constexpr StringRef bestColour = "#080";

/// Seconds run from left to right, times of a call from bottom to top.
class Chart {
public:
  Chart(double duration, double most, llvm::raw_ostream &out) : duration(duration), most(most), out(out) {
    out << "<svg viewBox=\"0 0 960 200\" width=\"100%\" style=\"background:#f6f6f6\">\n";
  }
  ~Chart() { out << "</svg>\n"; }

  void line(double seconds, StringRef label) {
    out << llvm::format("<line x1=\"0\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#bbb\" stroke-dasharray=\"4\"/>",
                        width, y(seconds), y(seconds))
        << llvm::format("<text x=\"4\" y=\"%.1f\" font-size=\"11\">", y(seconds) - 3) << escape(label) << " "
        << timeText(seconds) << "</text>\n";
  }
  /// Marks unmeasured candidates on the base line.
  void mark(double time, double seconds, StringRef colour, StringRef title) {
    out << llvm::format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"", x(time), seconds > 0 ? y(seconds) : height)
        << colour << "\"><title>" << escape(title) << "</title></circle>\n";
  }
  /// Draws steps: each time holds until the next.
  void steps(ArrayRef<std::pair<double, double>> points) {
    if (points.empty())
      return;
    out << "<polyline fill=\"none\" stroke=\"" << bestColour << "\" stroke-width=\"1.5\" points=\"";
    double last = points.front().second;
    for (auto [time, seconds] : points) {
      out << llvm::format("%.1f,%.1f %.1f,%.1f ", x(time), y(last), x(time), y(seconds));
      last = seconds;
    }
    out << llvm::format("%.1f,%.1f\"/>\n", width, y(last));
  }

private:
  static constexpr double width = 960, height = 190, top = 16;
  double x(double time) const { return duration > 0 ? width * time / duration : 0; }
  double y(double seconds) const { return height - (height - top) * std::min(seconds / most, 1.0); }

  double duration, most;
  llvm::raw_ostream &out;
};
} // namespace

static std::string changesOf(const tune::Event &event) {
  return event.changes.empty() ? "the compiler's own trace" : llvm::join(event.changes, "\n");
}

static std::string titleOf(const tune::Event &event) {
  std::string text = llvm::formatv("{0:f2} s: {1}", event.time, tune::nameOf(event.outcome.kind)).str();
  if (event.seconds > 0)
    text += ", " + timeText(event.seconds);
  if (!event.outcome.message.empty())
    text += ", " + event.outcome.message;
  return text + "\n" + changesOf(event);
}

/// Draws the sum over all kernels' calls, once each has been measured.
static void printModel(ArrayRef<tune::Job> kernels, const tune::Log &log, llvm::raw_ostream &out) {
  std::map<std::pair<StringRef, StringRef>, std::pair<double, double>> best; // seconds, and their weight
  double before = 0;
  for (const tune::Job &job : kernels) {
    best[{job.kernel, job.extents}] = {job.defaultSeconds, job.weightOfCalls()};
    before += job.defaultSeconds * job.weightOfCalls();
  }
  if (before <= 0)
    return;
  std::vector<std::pair<double, double>> points = {{0, before}};
  double now = before;
  for (const tune::Event &event : log.events())
    if (event.outcome.isFaster) {
      auto &[seconds, weight] = best[{event.kernel, event.extents}];
      now += (event.seconds - seconds) * weight;
      seconds = event.seconds;
      points.emplace_back(event.time, now);
    }
  out << "<h2>All kernels of a run</h2>\n"
      << llvm::format("<p>%s &rarr; %s (%.2fx) in %.0f s</p>\n", timeText(before).c_str(), timeText(now).c_str(),
                      before / now, log.duration());
  Chart chart(log.duration(), 1.1 * before, out);
  chart.line(before, "before");
  chart.steps(points);
}

/// Candidates that were refused, wrong, crashed or hung, grouped by reason.
static Rows failuresOf(const Events &events) {
  llvm::MapVector<std::pair<tune::Outcome::Kind, StringRef>, Events> reasons;
  for (const tune::Event *event : events)
    if (event->outcome.kind != tune::Outcome::Measured)
      reasons[{event->outcome.kind, event->outcome.message}].push_back(event);
  Rows rows;
  for (const auto &[reason, some] : reasons)
    rows.push_back(
        {std::to_string(some.size()), tune::nameOf(reason.first).str(), reason.second.str(), changesOf(*some.front())});
  return rows;
}

static void printKernel(const tune::Job &job, const std::string &title, const Events &events, double duration,
                        llvm::raw_ostream &out) {
  constexpr double mostOfDefault = 2; // slower ones are drawn at the top
  out << "<h2>" << escape(title) << "</h2>\n";
  {
    Chart chart(duration, mostOfDefault * job.defaultSeconds, out);
    if (job.defaultSeconds > 0)
      chart.line(job.defaultSeconds, "the compiler's own");
    if (job.roofSeconds > 0 && job.roofSeconds < job.defaultSeconds)
      chart.line(job.roofSeconds, "roof");
    std::vector<std::pair<double, double>> best;
    for (const tune::Event *event : events) {
      bool isBest = event->seconds > 0 && (event->isGiven || event->outcome.isFaster);
      chart.mark(event->time, event->seconds, isBest ? bestColour : colours[event->outcome.kind], titleOf(*event));
      if (isBest)
        best.emplace_back(event->time, event->seconds);
    }
    chart.steps(best);
  }
  Rows faster;
  for (const tune::Event *event : events)
    if (event->outcome.isFaster)
      faster.push_back({llvm::formatv("{0:f1} s", event->time).str(), timeText(event->seconds),
                        llvm::formatv("{0:f2}x", job.defaultSeconds / event->seconds).str(), changesOf(*event)});
  printTable(out, "Better than the best before", {"when", "time", "gain", "what differs from the compiler's own"},
             faster);
  printTable(out, "Not measured", {"candidates", "outcome", "why", "the first of them"}, failuresOf(events));
}

void printTuningPage(StringRef title, ArrayRef<std::string> facts, ArrayRef<tune::Job> kernels, const tune::Log &log,
                     llvm::raw_ostream &out) {
  printHead(title, out);
  out << "<style>h2 { margin: 2rem 0 0 } td { vertical-align: top; white-space: pre-wrap }</style>\n";
  for (const std::string &fact : facts)
    out << "<p>" << escape(fact) << "</p>\n";
  Rows rows;
  auto measured = [](const tune::Job &job, std::string text) { return job.bestSeconds > 0 ? text : "-"; };
  for (const tune::Job &job : kernels)
    rows.push_back({job.titleAmong(kernels), std::to_string(job.calls), measured(job, timeText(job.defaultSeconds)),
                    measured(job, timeText(job.bestSeconds)),
                    measured(job, llvm::formatv("{0:f2}x", job.defaultSeconds / job.bestSeconds).str()),
                    std::to_string(job.trials), std::to_string(job.refused), std::to_string(job.wrong),
                    std::to_string(job.crashed), std::to_string(job.timedOut)});
  printTable(out, "Kernels",
             {"kernel", "calls", "before", "best", "gain", "candidates", "refused", "wrong", "crashed", "timed out"},
             rows);
  printModel(kernels, log, out);
  out << "<p>A point is a candidate, when it was tried and what a call takes; point at it to see what it changes. The "
         "line is the best so far. On the ground: ";
  for (auto kind : {tune::Outcome::Refused, tune::Outcome::Wrong, tune::Outcome::Crashed, tune::Outcome::TimedOut})
    out << "<span style=\"color:" << colours[kind] << "\">&#9679; " << tune::nameOf(kind) << "</span> ";
  out << "</p>\n";
  for (const tune::Job &job : kernels) {
    Events events;
    for (const tune::Event &event : log.events())
      if (event.kernel == job.kernel && event.extents == job.extents)
        events.push_back(&event);
    printKernel(job, job.titleAmong(kernels), events, log.duration(), out);
  }
  out << "</body></html>\n";
}
} // namespace perpend::cli
