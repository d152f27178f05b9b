// compare: two results, two implementations measured now, or one now against history.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "client/commands/await.h"
#include "client/commands/compare_words.h"
#include "client/commands/measure_options.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/fail_on.h"
#include "client/implementation_name.h"
#include "client/output/cells.h"
#include "client/output/comparison.h"
#include "client/output/units.h"
#include "client/patience.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::CompareResultsRequest;
using kbench::v1::CompareResultsResponse;
using kbench::v1::ListDevicesResponse;
using kbench::v1::ListResultsRequest;
using kbench::v1::ListResultsResponse;
using kbench::v1::Result;

// Of the listing of one cell's results; beyond these nobody means "the newest earlier one".
constexpr int kMostPages = 20;
constexpr int kPage = 100;
constexpr char kForceHint[] = "; --force compares all the same";
constexpr char kExitCodes[] =
    "Exit codes: 0 compared, and not as --fail-on says;  1 one of them has no time;\n"
    "  2 wrong use, or not comparable;  3 --fail-on: the whole interval is beyond it;\n"
    "  8 --fail-on: it may be so, or there is nothing earlier to compare with.\n"
    "  Where it measures first, also those of submit.";

absl::StatusOr<Result> GetResult(const Backend& backend, const std::string& name) {
  kbench::v1::GetResultRequest request;
  request.set_name(WholeResultName(name));
  return Unary<Result>(backend, [&](grpc::ClientContext* call, Result* reply) {
    return backend.results->GetResult(call, request, reply);
  });
}

// Fills in the comparisons; at most 1000 pairs make one family.
absl::Status CompareAll(const Backend& backend, double margin, bool force,
                        std::vector<ComparedPair>* pairs) {
  CompareResultsRequest request;
  request.set_margin_ratio(margin);
  request.set_force(force);
  for (const ComparedPair& pair : *pairs) {
    request.add_pairs()->set_a(pair.a.name());
    request.mutable_pairs()->rbegin()->set_b(pair.b.name());
  }
  KB_ASSIGN_OR_RETURN(const auto response,
                      (Unary<CompareResultsResponse>(
                          backend, [&](grpc::ClientContext* call, CompareResultsResponse* reply) {
                            return backend.results->CompareResults(call, request, reply);
                          })));
  for (int i = 0; i < response.comparisons_size(); ++i) {
    (*pairs)[static_cast<std::size_t>(i)].comparison = response.comparisons(i);
  }
  return absl::OkStatus();
}

bool IsEarlier(const Result& own, const Result& other) {
  const auto flush = [](const Result& result) {
    return result.policy().flush().empty() ? "clean" : result.policy().flush();
  };
  return other.job() != own.job() && other.outcome() == kbench::v1::OUTCOME_OK &&
         other.verdict() == kbench::v1::VERDICT_VALID &&
         other.case_().mode() == own.case_().mode() && flush(other) == flush(own);
}

// The newest VALID result of the same cell from another job; nothing when there is none.
absl::StatusOr<std::optional<Result>> FindEarlier(const Backend& backend, const Result& own) {
  ListResultsRequest request;
  request.set_page_size(kPage);
  request.set_kernel(own.case_().kernel());
  request.set_dtype(own.case_().dtype());
  request.set_shape(own.case_().shape());
  request.set_implementation(own.implementation());
  request.set_device(own.device());
  for (int page = 0; page < kMostPages; ++page) {
    KB_ASSIGN_OR_RETURN(const auto reply,
                        (Unary<ListResultsResponse>(
                            backend, [&](grpc::ClientContext* call, ListResultsResponse* out) {
                              return backend.results->ListResults(call, request, out);
                            })));
    for (const Result& result : reply.results()) {
      if (IsEarlier(own, result)) return std::optional<Result>(result);
    }
    if (reply.next_page_token().empty()) break;
    request.set_page_token(reply.next_page_token());
  }
  return std::optional<Result>();
}

// The row of an implementation asked for; nullptr unless there is exactly one.
const Result* RowOf(const CaseStatus& status, const std::string& asked) {
  const Result* member = nullptr;
  int members = 0;
  for (const Result& result : status.results()) {
    if (result.implementation() == asked) return &result;
    const bool there = EnvironmentOf(result.implementation()) == EnvironmentOf(asked);
    if (!there || !IsOrHas(BaseOf(asked), result.implementation())) continue;
    member = &result;
    ++members;
  }
  return members == 1 ? member : nullptr;
}

class Compare final : public Command {
 public:
  std::string name() const override { return "compare"; }
  std::string help() const override { return "Compare results, implementations, or with history"; }

  void Declare(Arguments& arguments) override {
    arguments.Positionals("WHAT", &what_, "Two results (show prints them), or KERNEL DTYPE SIZE");
    arguments.Flag("--with-history", &with_history_,
                   "Against the newest earlier VALID result of the one --impl");
    options_.Declare(arguments);
    DeclareFailOn(arguments, &fail_on_);
    arguments.Flag("--force", &force_, "Compare what is not comparable, and say why it is not");
    DeclareFormat(arguments, &format_);
    arguments.Footer(kExitCodes);
  }

  int Run(Context& context) override {
    if (const std::string wrong = WrongUse(); !wrong.empty()) {
      return ReportUsage(context.io, "compare: " + wrong);
    }
    if (!fail_on_.empty()) {
      const auto parsed = ParseFailOn(fail_on_);
      if (!parsed.ok()) return ReportError(context.io, parsed.status());
      judge_ = *parsed;
    }
    if (what_.size() == 3) {
      options_.what.implementations = fmt::format("{}", fmt::join(Asked(), ","));
      options_.what.environments.clear();
      options_.what.kernels = what_[0];
      options_.what.dtypes = what_[1];
      options_.what.sizes = {what_[2]};
    }
    // Also where nothing is submitted: the margin is checked and read there.
    const auto spec = options_.Spec();
    if (!spec.ok()) return ReportError(context.io, spec.status());
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    return what_.size() == 2 ? CompareStored(context, *backend, spec->policy().margin_ratio())
                             : Measure(context, *backend, *spec);
  }

 private:
  std::string WrongUse() const {
    if (what_.size() != 2 && what_.size() != 3) {
      return fmt::format("takes two results, or KERNEL DTYPE SIZE, not {}",
                         FormatCount(static_cast<long>(what_.size()), "word", "words"));
    }
    if (what_.size() == 2) return WrongUseOfResults();
    const std::vector<std::string> words = Asked();
    const std::size_t named = words.size();
    if (!options_.what.environments.empty()) {
      const std::vector<std::string> given = SplitList(options_.what.implementations);
      if (given.size() != 1 || given[0].find('@') != std::string::npos) {
        return "--env goes with one implementation, --impl X; else name them: --impl X,Y@ENV";
      }
    }
    if (with_history_ && named != 1) {
      return fmt::format("--with-history takes one implementation, --impl X, not {}", named);
    }
    if (!with_history_ && named != 2) {
      return fmt::format(
          "takes two implementations, --impl X,Y, or one with --with-history, not {}", named);
    }
    if (named == 2 && words[0] == words[1]) {
      return fmt::format("--impl: {} is the same implementation twice", words[0]);
    }
    return "";
  }

  // The implementations to compare: with --env the one of --impl in each environment.
  std::vector<std::string> Asked() const {
    std::vector<std::string> words = SplitList(options_.what.implementations);
    const std::vector<std::string> environments = SplitList(options_.what.environments);
    if (environments.empty() || words.size() != 1) return words;
    std::vector<std::string> asked;
    for (const std::string& environment : environments) {
      asked.push_back(environment == "default" ? words[0] : words[0] + "@" + environment);
    }
    return asked;
  }

  std::string WrongUseOfResults() const {
    std::string option = options_.FirstGiven();
    if (option.empty() && with_history_) option = "--with-history";
    if (!option.empty()) return option + " goes with KERNEL DTYPE SIZE, not with two results";
    for (const std::string& name : what_) {
      if (IsResultName(name)) continue;
      return fmt::format(
          "takes two results (JOB-CASE-CELL, as show prints them) or KERNEL DTYPE SIZE; {} is no "
          "name of a result",
          name);
    }
    if (ShortResultName(what_[0]) == ShortResultName(what_[1])) {
      return what_[0] + " is the same result twice";
    }
    return "";
  }

  int CompareStored(Context& context, const Backend& backend, double margin) {
    std::vector<ComparedPair> pairs(1);
    for (const auto& [name, into] : {std::pair{what_[0], &pairs[0].a}, {what_[1], &pairs[0].b}}) {
      auto result = GetResult(backend, name);
      if (!result.ok()) return ReportError(context.io, result.status());
      *into = *std::move(result);
    }
    return Conclude(context, backend, margin, std::move(pairs), kExitOk);
  }

  int Measure(Context& context, const Backend& backend, const kbench::v1::JobSpec& spec) {
    const auto devices = Unary<ListDevicesResponse>(
        backend, [&](grpc::ClientContext* call, ListDevicesResponse* reply) {
          return backend.devices->ListDevices(call, {}, reply);
        });
    if (!devices.ok()) return ReportError(context.io, devices.status());
    if (const std::string wrong = WrongPair(*devices, spec); !wrong.empty()) {
      return ReportUsage(context.io, "compare: --impl: " + wrong);
    }
    const auto patience = options_.PatienceSeconds();
    if (!patience.ok()) return ReportError(context.io, patience.status());
    const auto job = SubmitPatiently(context, backend, spec, "", *patience);
    if (context.interrupt.fired()) return kExitInterrupted;
    if (!job.ok()) return ReportError(context.io, job.status());
    SilentReport report;
    const Awaited awaited = AwaitJob(context, backend, job->name(), report);
    if (!awaited.ended) return awaited.code;
    std::vector<ComparedPair> pairs;
    int code = awaited.code;
    for (const CaseStatus& status : awaited.job.cases()) {
      auto pair = PairOf(context.io, backend, status, &code);
      if (!pair.ok()) return ReportError(context.io, pair.status());
      if (*pair) pairs.push_back(**std::move(pair));
    }
    if (pairs.empty()) return code;
    return Conclude(context, backend, spec.policy().margin_ratio(), std::move(pairs), code);
  }

  // Nothing where a side is missing; then the code says so and a line why.
  absl::StatusOr<std::optional<ComparedPair>> PairOf(Io& io, const Backend& backend,
                                                     const CaseStatus& status, int* code) {
    ComparedPair pair;
    std::vector<std::string> asked = SplitList(options_.what.implementations);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const Result* row = RowOf(status, asked[i]);
      if (row == nullptr) {
        io.err << fmt::format(
            "kbench-client: {}: {} is not one implementation here; name it whole\n",
            CaseTitle(status), asked[i]);
        *code = WorseExitCode(*code, kExitBadOutcome);
        return std::optional<ComparedPair>();
      }
      (i == 0 ? pair.a : pair.b) = *row;
    }
    if (with_history_) {
      KB_ASSIGN_OR_RETURN(auto earlier, FindEarlier(backend, pair.a));
      if (!earlier) {
        io.err << fmt::format("kbench-client: {}: there is no earlier VALID result of {}\n",
                              CaseTitle(status), pair.a.implementation());
        *code = WorseExitCode(*code, kExitInconclusive);
        return std::optional<ComparedPair>();
      }
      pair.b = *std::move(earlier);
    }
    return std::optional<ComparedPair>(std::move(pair));
  }

  int Conclude(Context& context, const Backend& backend, double margin,
               std::vector<ComparedPair> pairs, int code) {
    const absl::Status compared = CompareAll(backend, margin, force_, &pairs);
    if (!compared.ok()) return ReportError(context.io, compared);
    PrintComparisons(context.io, ParseFormat(format_), pairs);
    for (const ComparedPair& pair : pairs) {
      for (const std::string& reason : pair.comparison.reasons()) {
        if (reason == "NOT_COMPARABLE") {
          return ReportUsage(context.io, "not comparable: " + pair.comparison.message() +
                                             (ForceHelps(pair) ? kForceHint : ""));
        }
        if (reason == "NO_NUMBER") code = WorseExitCode(code, kExitBadOutcome);
      }
      if (judge_) code = WorseExitCode(code, FailOnCode(*judge_, pair.comparison));
    }
    return code;
  }

  // Other modes and dtypes are refused even with it.
  bool ForceHelps(const ComparedPair& pair) const {
    return !force_ && pair.a.case_().mode() == pair.b.case_().mode() &&
           pair.a.case_().dtype() == pair.b.case_().dtype();
  }

  std::vector<std::string> what_;
  MeasureOptions options_;
  std::string fail_on_;
  std::optional<FailOn> judge_;
  std::string format_ = "table";
  bool with_history_ = false;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCompare() { return std::make_unique<Compare>(); }

}  // namespace kbench::client
