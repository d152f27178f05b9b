// baseline: what the new results of a cell are compared with.
#include <fmt/format.h>

#include <utility>

#include "client/commands/await.h"
#include "client/commands/cell_choice.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/cell_states.h"
#include "client/output/cell_words.h"
#include "client/output/comparison.h"
#include "client/output/text_table.h"
#include "proto/support/cell_key.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"

namespace kbench::client {
namespace {

using kbench::v1::CellKey;
using kbench::v1::CellState;
using kbench::v1::Result;

constexpr char kNotes[] =
    "pin KERNEL DTYPE SIZE   from now on it is compared with its newest VALID result, or\n"
    "                        with --result\n"
    "list [KERNEL ...]       what is pinned\n"
    "drop KERNEL DTYPE SIZE  back to a baseline learned from the next results\n"
    "Where several cells fit, the cold ones are meant (drop: of those pinned); where several\n"
    "are left, they are listed. pin and drop need the role submitter.\n"
    "Exit codes: 0 done;  2 wrong use, nothing is recorded or pinned, or the result is not\n"
    "  VALID or of another environment;  5 kbench failed, or you may not.";

class BaselineVerb final : public Command {
 public:
  std::string name() const override { return "baseline"; }
  std::string help() const override { return "Pin, list and drop baselines of cells"; }

  void Declare(Arguments& arguments) override {
    arguments.Positional("ACTION", &action_, "pin, list, drop");
    arguments.Positionals("WHAT", &words_.what, "KERNEL DTYPE SIZE; list: or the first of them",
                          false);
    words_.DeclareOptions(arguments);
    arguments.Option("--result", &result_, "RESULT", "pin: this one, JOB-CASE-CELL (the newest)");
    DeclareFormat(arguments, &format_);
    arguments.Footer(kNotes);
  }

  int Run(Context& context) override {
    if (const std::string wrong = WrongUse(); !wrong.empty()) {
      return ReportUsage(context.io, "baseline: " + wrong);
    }
    if (const auto filter = FilterOf(words_); !filter.ok()) {
      return ReportError(context.io, filter.status());
    }
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    if (action_ == "list") return List(context, *backend);
    const auto state = action_ == "pin" ? Pin(*backend) : Drop(*backend);
    if (!state.ok()) return ReportError(context.io, state.status());
    Print(context.io, *state);
    return kExitOk;
  }

 private:
  std::string WrongUse() const {
    if (action_ != "pin" && action_ != "list" && action_ != "drop") {
      return fmt::format("take pin, list or drop, not {}", action_);
    }
    if (action_ != "pin" && !result_.empty()) return "--result goes with pin";
    if (!result_.empty() && !IsResultName(result_)) {
      return fmt::format("--result takes JOB-CASE-CELL, as show prints them; {} is none", result_);
    }
    const std::size_t words = words_.what.size();
    if (action_ == "list" ? words > 3 : words != 3) {
      return fmt::format("{} takes KERNEL DTYPE SIZE{}, not {} words", action_,
                         action_ == "list" ? " or the first of them" : "", words);
    }
    return "";
  }

  int List(Context& context, const Backend& backend) const {
    const auto cells = FindCells(backend, words_, {}, true);
    if (!cells.ok()) return ReportError(context.io, cells.status());
    const double now = static_cast<double>(SystemClock().WallMicros()) * 1e-6;
    PrintBaselines(context.io, ParseFormat(format_), *cells, now, "no pinned baselines");
    return kExitOk;
  }

  absl::StatusOr<CellState> Pin(const Backend& backend) const {
    kbench::v1::PinBaselineRequest request;
    if (result_.empty()) {
      KB_ASSIGN_OR_RETURN(*request.mutable_cell(), Chosen(backend, NobodyPreferred));
    } else {
      KB_ASSIGN_OR_RETURN(*request.mutable_cell(), CellOfResult(backend));
      request.set_result(WholeResultName(result_));
    }
    return Unary<CellState>(backend, [&](grpc::ClientContext* call, CellState* reply) {
      return backend.history->PinBaseline(call, request, reply);
    });
  }

  absl::StatusOr<CellState> Drop(const Backend& backend) const {
    kbench::v1::DropBaselineRequest request;
    KB_ASSIGN_OR_RETURN(*request.mutable_cell(), Chosen(backend, IsPinned));
    return Unary<CellState>(backend, [&](grpc::ClientContext* call, CellState* reply) {
      return backend.history->DropBaseline(call, request, reply);
    });
  }

  absl::StatusOr<CellKey> Chosen(const Backend& backend, Prefer prefer) const {
    KB_ASSIGN_OR_RETURN(auto cells, FindCells(backend, words_));
    if (action_ == "drop" && std::none_of(cells.begin(), cells.end(), IsPinned)) {
      return MakeError(absl::StatusCode::kNotFound,
                       fmt::format("{} has no pinned baseline; `kbench-client baseline list` shows "
                                   "those that are",
                                   fmt::join(words_.what, " ")),
                       {.reason = "NOT_PINNED", .metadata = {}, .violations = {}});
    }
    KB_ASSIGN_OR_RETURN(const CellState state, ChooseCell(std::move(cells), words_, prefer));
    return state.cell();
  }

  // The result says which cell is meant; what was typed must not say another.
  absl::StatusOr<CellKey> CellOfResult(const Backend& backend) const {
    kbench::v1::GetResultRequest request;
    request.set_name(WholeResultName(result_));
    KB_ASSIGN_OR_RETURN(const Result result,
                        (Unary<Result>(backend, [&](grpc::ClientContext* call, Result* reply) {
                          return backend.results->GetResult(call, request, reply);
                        })));
    CellState state;
    *state.mutable_cell() = CellOf(result);
    KB_ASSIGN_OR_RETURN(const CellKey wanted, FilterOf(words_));
    if (Fits(wanted, state.cell())) return state.cell();
    return MakeError(absl::StatusCode::kInvalidArgument,
                     fmt::format("result: {} is of {}, which is not what was named",
                                 ShortResultName(result_), CellName(state.cell())),
                     {.reason = "OTHER_CELL", .metadata = {}, .violations = {}});
  }

  bool Fits(const CellKey& wanted, const CellKey& is) const {
    const auto fits = [](const std::string& word, const std::string& of) {
      return word.empty() || word == of;
    };
    return wanted.kernel() == is.kernel() && wanted.dtype() == is.dtype() &&
           wanted.shape() == is.shape() && fits(wanted.mode(), is.mode()) &&
           fits(wanted.device(), is.device()) &&
           MeansImplementation(words_.implementation, is.implementation());
  }

  void Print(Io& io, const CellState& state) const {
    const Format format = ParseFormat(format_);
    if (format != Format::kTable) return PrintCells(io, format, {state}, 0, "");
    const std::string baseline = BaselineText(state.baseline());
    std::string line = CellTitle(state.cell()) + ": ";
    line += baseline.empty() ? "no pinned baseline any more" : baseline;
    io.out << Wrap(Plain(line), kTableWidth, 2) << "\n";
    if (!state.message().empty()) io.out << Wrap(Plain(state.message()), kTableWidth, 2) << "\n";
  }

  std::string action_;
  CellWords words_;
  std::string result_;
  std::string format_ = "table";
};

}  // namespace

std::unique_ptr<Command> MakeBaseline() { return std::make_unique<BaselineVerb>(); }

}  // namespace kbench::client
