// history: what the results of cells say over time.
#include <fmt/format.h>

#include <algorithm>

#include "client/commands/await.h"
#include "client/commands/cell_choice.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/cell_history.h"
#include "client/output/cell_states.h"
#include "client/output/cell_words.h"
#include "client/output/text_table.h"
#include "client/submission.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"

namespace kbench::client {
namespace {

using kbench::v1::CellState;
using kbench::v1::History;
using kbench::v1::RegressionState;

// Change points are looked for in these, however few are shown.
constexpr int kLeastPoints = 200;
constexpr int kMostPoints = 5000;
constexpr int kShownPoints = 20;  // in a table
constexpr char kNotes[] =
    "Without a size, or where several cells fit: a row each, those in doubt first. Where\n"
    "one fits: its results over time, what changed in its environment, change points.\n"
    "Exit codes: 0 shown, whatever the states;  2 wrong use, or nothing is recorded of it;\n"
    "  5 kbench failed.";

class HistoryVerb final : public Command {
 public:
  std::string name() const override { return "history"; }
  std::string help() const override { return "Results over time, baselines, regressions"; }

  void Declare(Arguments& arguments) override {
    arguments.Positionals("WHAT", &words_.what, "KERNEL DTYPE SIZE, or the first of them", false);
    words_.DeclareOptions(arguments);
    arguments.Option("--state", &states_, "A,B",
                     "learning, none, suspected, confirmed, incomparable (any)");
    arguments.Flag("--pinned", &pinned_, "Only cells with a pinned baseline");
    arguments.Integer("-n,--limit", &limit_, 1, kMostPoints, "N",
                      "At most so many cells or newest results (all; table: 20)");
    DeclareFormat(arguments, &format_);
    arguments.Footer(kNotes);
  }

  int Run(Context& context) override {
    if (words_.what.size() > 3) {
      return ReportUsage(context.io, fmt::format("history: takes KERNEL DTYPE SIZE, not {} words",
                                                 words_.what.size()));
    }
    const auto states = States();
    if (!states.ok()) return ReportError(context.io, states.status());
    // Before anybody is asked.
    if (const auto filter = FilterOf(words_); !filter.ok()) {
      return ReportError(context.io, filter.status());
    }
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    auto cells = FindCells(*backend, words_, *states, pinned_);
    if (!cells.ok()) return ReportError(context.io, cells.status());
    if (words_.what.size() == 3 && cells->size() == 1) {
      return ShowOne(context, *backend, cells->front());
    }
    ShowCells(context.io, *std::move(cells));
    return kExitOk;
  }

 private:
  absl::StatusOr<std::vector<RegressionState>> States() const {
    std::vector<RegressionState> states;
    for (const std::string& word : SplitList(states_)) {
      const RegressionState state = ParseRegression(word);
      if (state == kbench::v1::REGRESSION_STATE_UNSPECIFIED) {
        return MakeError(absl::StatusCode::kInvalidArgument,
                         fmt::format("state: there is no state '{}'; take {}", word,
                                     fmt::join(RegressionWords(), ", ")),
                         {.reason = "UNKNOWN_STATE", .metadata = {}, .violations = {}});
      }
      states.push_back(state);
    }
    return states;
  }

  int ShowOne(Context& context, const Backend& backend, const CellState& state) const {
    kbench::v1::GetHistoryRequest request;
    *request.mutable_cell() = state.cell();
    request.set_most_points(std::max(limit_, kLeastPoints));
    const auto history = Unary<History>(backend, [&](grpc::ClientContext* call, History* reply) {
      return backend.history->GetHistory(call, request, reply);
    });
    if (!history.ok()) return ReportError(context.io, history.status());
    const Format format = ParseFormat(format_);
    const bool rows = format == Format::kTable || format == Format::kMarkdown;
    PrintHistory(context.io, format, *history, limit_ == 0 && rows ? kShownPoints : limit_);
    return kExitOk;
  }

  void ShowCells(Io& io, std::vector<CellState> cells) const {
    const std::size_t found = cells.size();
    if (limit_ > 0 && found > static_cast<std::size_t>(limit_)) cells.resize(limit_);
    const Format format = ParseFormat(format_);
    const double now = static_cast<double>(SystemClock().WallMicros()) * 1e-6;
    PrintCells(io, format, cells, now,
               Filtered() ? "no cells"
                          : "no cells yet: they come with results at default precision (no "
                            "--quick) and flush");
    if (format != Format::kTable) return;
    if (cells.size() < found) {
      io.out << fmt::format("{} more: without -n all are shown\n", found - cells.size());
    }
    if (words_.what.size() == 3 && cells.size() > 1) {
      io.out << Wrap("name one with --impl, --mode or --on to see its results over time",
                     kTableWidth, 2)
             << "\n";
    }
  }

  bool Filtered() const {
    return pinned_ || !states_.empty() || !words_.what.empty() || !words_.FirstGiven().empty();
  }

  CellWords words_;
  std::string states_;
  bool pinned_ = false;
  int limit_ = 0;
  std::string format_ = "table";
};

}  // namespace

std::unique_ptr<Command> MakeHistory() { return std::make_unique<HistoryVerb>(); }

}  // namespace kbench::client
