// why: what differs between two results of a cell, and one sentence of cause.
#include <fmt/format.h>

#include "client/commands/await.h"
#include "client/commands/cell_choice.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/cause_text.h"
#include "client/output/comparison.h"
#include "client/output/units.h"

namespace kbench::client {
namespace {

using kbench::v1::Cause;

constexpr char kNotes[] =
    "KERNEL DTYPE SIZE: the newest result against the baseline; of a cell in doubt the one\n"
    "that raised it. Where several cells fit, those in doubt go first, then the cold ones;\n"
    "where several are left, they are listed.\n"
    "Exit codes: 0 shown, whatever the cause;  2 wrong use, nothing is recorded of it, or\n"
    "  it has no baseline yet;  5 kbench failed.";

class Why final : public Command {
 public:
  std::string name() const override { return "why"; }
  std::string help() const override { return "Say why a cell got slower, or two results differ"; }

  void Declare(Arguments& arguments) override {
    arguments.Positionals("WHAT", &words_.what,
                          "KERNEL DTYPE SIZE, or two results (the earlier one first)");
    words_.DeclareOptions(arguments);
    DeclareFormat(arguments, &format_);
    arguments.Footer(kNotes);
  }

  int Run(Context& context) override {
    if (const std::string wrong = WrongUse(); !wrong.empty()) {
      return ReportUsage(context.io, "why: " + wrong);
    }
    const bool of_results = words_.what.size() == 2;
    if (!of_results) {
      const auto filter = FilterOf(words_);
      if (!filter.ok()) return ReportError(context.io, filter.status());
    }
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    kbench::v1::WhyRequest request;
    if (of_results) {
      request.set_a(WholeResultName(words_.what[0]));
      request.set_b(WholeResultName(words_.what[1]));
    } else {
      auto cells = FindCells(*backend, words_);
      if (!cells.ok()) return ReportError(context.io, cells.status());
      const auto chosen = ChooseCell(*std::move(cells), words_, IsInDoubt);
      if (!chosen.ok()) return ReportError(context.io, chosen.status());
      *request.mutable_cell() = chosen->cell();
    }
    const auto cause = Unary<Cause>(*backend, [&](grpc::ClientContext* call, Cause* reply) {
      return backend->history->Why(call, request, reply);
    });
    if (!cause.ok()) return ReportError(context.io, cause.status());
    PrintCause(context.io, ParseFormat(format_), *cause);
    return kExitOk;
  }

 private:
  std::string WrongUse() const {
    if (words_.what.size() == 3) return "";
    if (words_.what.size() != 2) {
      return fmt::format("takes KERNEL DTYPE SIZE or two results, not {}",
                         FormatCount(static_cast<long>(words_.what.size()), "word", "words"));
    }
    for (const std::string& name : words_.what) {
      if (IsResultName(name)) continue;
      return fmt::format(
          "takes KERNEL DTYPE SIZE or two results (JOB-CASE-CELL, as show prints them); {} is no "
          "name of a result",
          name);
    }
    if (ShortResultName(words_.what[0]) == ShortResultName(words_.what[1])) {
      return words_.what[0] + " is the same result twice";
    }
    const std::string option = words_.FirstGiven();
    return option.empty() ? "" : option + " goes with KERNEL DTYPE SIZE, not with two results";
  }

  CellWords words_;
  std::string format_ = "table";
};

}  // namespace

std::unique_ptr<Command> MakeWhy() { return std::make_unique<Why>(); }

}  // namespace kbench::client
