#include "client/suites/suite_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "client/errors.h"
#include "client/submission.h"
#include "kernels/catalog/catalog.h"
#include "proto/support/clock.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseSpec;
using kbench::v1::JobSpec;
using kbench::v1::MeasurementPolicy;
using kbench::v1::SuiteEntry;

constexpr int kMostCasesOfAJob = 1000;
constexpr char kQuickTarget[] = "2%";

template <typename Texts>
std::string List(const Texts& texts) {
  return fmt::format("{}", fmt::join(texts, ","));
}

Submission Asked(const SuiteEntry& entry, const SuiteOptions& options) {
  Submission what;
  what.kernels = List(entry.kernels());
  what.dtypes = List(entry.dtypes());
  what.sizes.assign(entry.sizes().begin(), entry.sizes().end());
  what.modes = List(entry.modes());
  what.implementations = List(entry.implementations());
  what.environments = List(entry.environments());
  what.device = options.device;
  what.priority_class = options.priority_class;
  what.target = options.quick ? kQuickTarget : entry.target();
  what.margin = entry.margin();
  what.budget = entry.budget();
  what.labels = options.labels;
  return what;
}

// What a product of nothing would hide.
void CheckGiven(const Submission& what, std::vector<std::string>* faults) {
  const auto want = [&](bool given, const char* field, const char* example) {
    if (!given) faults->push_back(fmt::format("{}: none given; write {}", field, example));
  };
  want(!SplitList(what.kernels).empty(), "kernels", "kernels: \"matmul\"");
  want(!SplitList(what.dtypes).empty(), "dtypes", "dtypes: \"fp32\"");
  want(!what.sizes.empty(), "sizes", "sizes: \"4096\"");
}

// The bounds of case.proto.
void CheckPolicy(const Submission& what, const MeasurementPolicy& policy,
                 std::vector<std::string>* faults) {
  const auto want = [&](const char* field, const std::string& typed, double value, double least,
                        double most, const char* range) {
    if (typed.empty() || (value >= least && value <= most)) return;
    faults->push_back(fmt::format("{}: {} is outside {}", field, typed, range));
  };
  want("target", what.target, policy.target_ratio(), 0.0005, 0.5, "0.05% to 50%");
  want("margin", what.margin, policy.margin_ratio(), 0.001, 0.5, "0.1% to 50%");
  want("budget", what.budget, ToSeconds(policy.case_budget()), 1, 3600, "1s to 1h");
}

std::string CatalogFault(const CaseSpec& spec) {
  const auto problem = MakeProblem(spec.kernel(), spec.dtype(), spec.size(), spec.mode());
  if (problem.ok()) return "";
  const CatalogError& error = problem.error();
  std::string text = error.field + ": " + error.message;
  if (!error.nearest.empty() && text.find("nearest") == std::string::npos) {
    text += fmt::format("; nearest: {}", fmt::join(error.nearest, ", "));
  }
  return text;
}

// Each fault once, in order.
std::vector<std::string> FaultsOf(const Submission& what, JobSpec* spec) {
  std::vector<std::string> faults;
  CheckGiven(what, &faults);
  auto built = BuildSpec(what);
  if (!built.ok()) {
    for (std::string& line : ErrorLines(built.status())) faults.push_back(std::move(line));
    return faults;
  }
  *spec = *std::move(built);
  CheckPolicy(what, spec->policy(), &faults);
  std::set<std::string> said;
  for (const CaseSpec& one : spec->cases()) {
    std::string fault = CatalogFault(one);
    if (!fault.empty() && said.insert(fault).second) faults.push_back(std::move(fault));
  }
  return faults;
}

// Entries put together into jobs.
class Jobs {
 public:
  void Add(const JobSpec& asked) {
    JobSpec frame = asked;
    frame.clear_cases();
    frame.clear_labels();  // a map is in no order, and all have the same
    Group& group = groups_[frame.SerializeAsString()];
    for (const CaseSpec& one : asked.cases()) {
      if (!group.seen.insert(KeyOf(one)).second) continue;
      if (group.job < 0 || jobs_[group.job].cases_size() == kMostCasesOfAJob) {
        group.job = static_cast<int>(jobs_.size());
        *frame.mutable_labels() = asked.labels();
        jobs_.push_back(frame);
      }
      *jobs_[group.job].add_cases() = one;
    }
  }
  std::vector<JobSpec> Take() { return std::move(jobs_); }

 private:
  struct Group {
    int job = -1;  // the one that takes more
    std::set<std::string> seen;
  };

  static std::string KeyOf(const CaseSpec& one) {
    const std::string mode = one.mode().empty() ? ModeName(Mode::kCold) : one.mode();
    return fmt::format("{} {} {} {}", one.kernel(), one.dtype(), ShapeOf(one), mode);
  }

  std::vector<JobSpec> jobs_;
  std::map<std::string, Group> groups_;
};

}  // namespace

std::string ShapeOf(const CaseSpec& spec) {
  if (!spec.shape().empty()) return spec.shape();
  const auto problem = MakeProblem(spec.kernel(), spec.dtype(), spec.size(), spec.mode());
  return problem.ok() ? problem->shape.Canonical() : spec.size();
}

SuitePlan PlanSuite(const SuiteFile& file, const SuiteOptions& options) {
  SuitePlan plan;
  Jobs jobs;
  for (int i = 0; i < file.suite.entries_size(); ++i) {
    JobSpec spec;
    const Submission what = Asked(file.suite.entries(i), options);
    for (const std::string& fault : FaultsOf(what, &spec)) {
      plan.faults.push_back(
          fmt::format("{}:{}: entry {}: {}", file.path, file.entry_lines[i], i + 1, fault));
    }
    (*spec.mutable_labels())["suite"] = file.suite.name();
    jobs.Add(spec);
  }
  plan.jobs = jobs.Take();
  for (const JobSpec& job : plan.jobs) plan.cases += job.cases_size();
  return plan;
}

}  // namespace kbench::client
