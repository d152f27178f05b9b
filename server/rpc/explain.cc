#include "server/rpc/explain.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "server/rpc/convert.h"
#include "server/rpc/queue_words.h"

namespace kbench::server {
namespace {

using kbench::v1::Device;
using kbench::v1::DeviceReason;
using kbench::v1::Explanation;
using kbench::v1::Job;
using scheduler::CaseRef;
using scheduler::Rule;

constexpr std::size_t kMostDevices = 20;
constexpr char kForeignBusy[] = "FOREIGN_BUSY";
constexpr char kWaitPrefix[] = "waiting for the device: ";

struct Reason {
  std::string rule;
  std::string sentence;
};

// Of a case in phase `wait`: who computes, as its worker says.
std::string WhoIsThere(const RunningProgress& progress) {
  const std::string& message = progress.newest.message();
  const std::size_t prefix = sizeof(kWaitPrefix) - 1;
  if (message.rfind(kWaitPrefix, 0) == 0) return message.substr(prefix);
  return message.empty() ? "others compute on it" : message;
}

std::string OwnerOf(const std::string& owner) { return owner.empty() ? "somebody" : owner; }

// "k3f9x2ab of ana (matmul fp16 4096)".
std::string NameOf(const CaseRef& ref, const JobFacts& facts) {
  if (facts.entry == nullptr) return JobId(ref.job);
  return fmt::format("{} of {} ({})", JobId(ref.job), OwnerOf(facts.entry->owner),
                     CaseText(*facts.spec, ref.index));
}

class Explainer {
 public:
  Explainer(const Job& job, const ExplainSources& sources)
      : job_(job), sources_(sources), explained_(sources.explained) {}

  Explanation Make() const {
    Explanation out;
    *out.mutable_job() = job_;
    out.mutable_job()->clear_cases();
    Reason reason = WhyItWaits();
    out.set_rule(reason.rule);
    out.set_sentence(reason.sentence);
    for (const scheduler::Ahead& ahead : explained_.ahead) AddAhead(ahead, out);
    out.set_ahead_jobs(explained_.ahead_jobs);
    if (explained_.start.known) SetRange(explained_.start, out.mutable_start_estimate());
    AddDevices(out);
    return out;
  }

 private:
  std::string Text(const std::string& job, int index) const {
    const JobFacts facts = sources_.queue.job(job);
    return facts.entry == nullptr ? "" : CaseText(*facts.spec, index);
  }

  // The device it would start on, as far as anybody can tell.
  std::string DeviceOfJob() const {
    if (!explained_.device.empty()) return explained_.device;
    for (const scheduler::Fit& fit : sources_.fits) {
      if (fit.reason.empty()) return fit.device;
    }
    return "";
  }

  Reason WhyItWaits() const {
    if (explained_.rule == Rule::kRunning) return WhyItRuns();
    if (explained_.rule == Rule::kUnavailable) return WhyUnavailable();
    const std::string device = DeviceOfJob();
    const auto running = sources_.running_on(device);
    const RunningProgress* progress = running ? sources_.queue.progress(*running) : nullptr;
    const bool nobody_ahead =
        explained_.rule == Rule::kNext || explained_.rule == Rule::kDeviceBusy;
    const std::string who =
        WaitsForOthers(progress) ? WhoIsThere(*progress) : BusyText(ForeignOn(device), false);
    if (nobody_ahead && WaitsForOthers(progress)) {
      return {kForeignBusy,
              fmt::format("nobody is before it, but {} has {} and waits for others there: {}",
                          NameOf(*running, sources_.queue.job(running->job)), device, who)};
    }
    if (nobody_ahead && !running && !who.empty()) {
      return {kForeignBusy, fmt::format("it is next, but others use {}: {}", device, who)};
    }
    Reason reason = ByOrder(device, running);
    if (!who.empty()) reason.sentence += fmt::format("; others use {} too: {}", device, who);
    return reason;
  }

  Reason WhyItRuns() const {
    const JobFacts facts = sources_.queue.job(job_.name());
    if (facts.entry == nullptr) return {"RUNNING", "it runs"};
    for (const scheduler::Case& item : facts.entry->cases) {
      if (item.state != scheduler::State::kRunning) continue;
      const RunningProgress* progress = sources_.queue.progress(item.ref);
      if (WaitsForOthers(progress)) {
        return {kForeignBusy, fmt::format("it has its turn on {} and waits for others there: {}",
                                          item.device, WhoIsThere(*progress))};
      }
      if (facts.entry->hold) return {"RUNNING", "it holds " + item.device};
      return {
          "RUNNING",
          fmt::format("it runs on {}: case {} of {}, {}, {}", item.device, item.ref.index + 1,
                      facts.entry->cases.size(), CaseText(*facts.spec, item.ref.index),
                      PhaseText(progress == nullptr ? kbench::v1::Progress() : progress->newest))};
    }
    return {"RUNNING", "one of its cases is being handed to a device"};
  }

  Reason WhyUnavailable() const {
    std::string sentence = WaitMessage(explained_.reason);
    for (const scheduler::Fit& fit : sources_.fits) {
      // The maintenance of the device says more than the rule.
      const Device* device = sources_.queue.devices->Find(fit.device);
      if (!fit.named || fit.reason.empty() || device == nullptr) continue;
      if (fit.reason != explained_.reason && !device->has_maintenance()) continue;
      const std::string more = FitText(fit.reason, device);
      if (!more.empty())
        sentence += fmt::format("{}{}: {}", sentence.empty() ? "" : "; ", fit.device, more);
    }
    return {explained_.reason, sentence};
  }

  const scheduler::Ahead* FirstOf(Rule rule) const {
    const auto found = std::find_if(explained_.ahead.begin(), explained_.ahead.end(),
                                    [&](const auto& ahead) { return ahead.rule == rule; });
    if (found != explained_.ahead.end()) return &*found;
    return explained_.ahead.empty() ? nullptr : &explained_.ahead.front();
  }

  Reason ByOrder(const std::string& device, const std::optional<CaseRef>& running) const {
    const std::string rule = scheduler::RuleName(explained_.rule);
    const std::string taken =
        running ? NameOf(*running, sources_.queue.job(running->job)) : std::string();
    if (explained_.rule == Rule::kHeld) {
      return {rule, fmt::format("nobody is before it: it starts when {} is given back by {}",
                                device, running ? taken : "whoever holds it")};
    }
    if (explained_.rule == Rule::kDeviceBusy && running) {
      return {rule,
              fmt::format("nobody is before it: it starts when {} has ended {}", device, taken)};
    }
    const scheduler::Ahead* first = FirstOf(explained_.rule);
    if (explained_.rule == Rule::kNext || first == nullptr) {
      return {rule, device.empty() ? "it is next" : "it is next for " + device};
    }
    return {rule, NameOf({first->job, first->next_case}, sources_.queue.job(first->job)) +
                      " goes first: " + WhyFirst(*first) + Bound()};
  }

  // Nobody waits for ever.
  std::string Bound() const {
    const double left = explained_.promoted_at - sources_.now;
    if (explained_.promoted_at <= 0 || explained_.rule == Rule::kPromoted || left <= 0) return "";
    return fmt::format("; in {} it goes before all who have not waited as long", SpanText(left));
  }

  std::string WhyFirst(const scheduler::Ahead& first) const {
    switch (explained_.rule) {
      case Rule::kClass:
        if (first.priority_class >= ToPriorityClass(job_.spec().priority_class())) {
          return "it has waited so long that it stands a class higher";
        }
        return fmt::format("class {} goes before {}", scheduler::ClassName(first.priority_class),
                           scheduler::ClassName(ToPriorityClass(job_.spec().priority_class())));
      case Rule::kOwnerUsage:
        return fmt::format("{} has used {} of device time lately, {} has used {}",
                           OwnerOf(first.owner), SpanText(sources_.used_by(first.owner)),
                           OwnerOf(job_.owner()), SpanText(explained_.used_seconds));
      case Rule::kPromoted:
        return "it has waited as long as anybody may be made to wait";
      default:
        return "among the jobs of one owner the priority counts, then the shorter case, then the "
               "order of submission";
    }
  }

  void AddAhead(const scheduler::Ahead& ahead, Explanation& out) const {
    kbench::v1::JobAhead* one = out.add_ahead();
    one->set_job(ahead.job);
    one->set_owner(ahead.owner);
    one->set_priority_class(scheduler::ClassName(ahead.priority_class));
    one->set_text(Text(ahead.job, ahead.next_case));
    one->set_estimated_seconds(ahead.estimated_seconds);
    one->set_rule(scheduler::RuleName(ahead.rule));
  }

  const google::protobuf::RepeatedPtrField<kbench::v1::ForeignProcess>& ForeignOn(
      const std::string& name) const {
    const Device* device = sources_.queue.devices->Find(name);
    return (device == nullptr ? Device::default_instance() : *device).foreign();
  }

  // One term of the selector fits, or its name is nearly the selector.
  bool NearlyNamed(const std::string& device) const {
    const std::string& selector = job_.spec().device();
    const std::vector<std::string> nearest =
        NearestWords(selector, sources_.queue.devices->Names());
    if (std::find(nearest.begin(), nearest.end(), device) != nearest.end()) return true;
    for (std::size_t at = 0; at < selector.size();) {
      const std::size_t end = std::min(selector.find(',', at), selector.size());
      for (const Device* one : sources_.queue.devices->Matching(selector.substr(at, end - at))) {
        if (end > at && one->name() == device) return true;
      }
      at = end + 1;
    }
    return false;
  }

  void AddDevices(Explanation& out) const {
    std::vector<const scheduler::Fit*> fits;
    for (const scheduler::Fit& fit : sources_.fits) {
      if (fit.named || NearlyNamed(fit.device)) fits.push_back(&fit);
    }
    std::stable_sort(fits.begin(), fits.end(),
                     [](const auto* a, const auto* b) { return a->named && !b->named; });
    if (fits.size() > kMostDevices) fits.resize(kMostDevices);
    for (const scheduler::Fit* fit : fits) AddDevice(*fit, *out.add_devices());
  }

  void AddDevice(const scheduler::Fit& fit, DeviceReason& out) const {
    out.set_device(fit.device);
    out.set_suitable(fit.named && fit.reason != "GPU_FIRST" && fit.reason != "DEVICE_LACKS_KERNEL");
    out.set_reason(fit.reason);
    out.set_message(FitText(fit.reason, sources_.queue.devices->Find(fit.device)));
    if (!fit.reason.empty()) return;
    const std::string who = BusyText(ForeignOn(fit.device), false);
    if (const auto running = sources_.running_on(fit.device)) {
      const RunningProgress* progress = sources_.queue.progress(*running);
      const JobFacts facts = sources_.queue.job(running->job);
      const bool hold = facts.entry != nullptr && facts.entry->hold;
      const bool waits = WaitsForOthers(progress);
      out.set_reason(waits ? kForeignBusy : hold ? "HELD" : "DEVICE_BUSY");
      out.set_message(
          waits ? fmt::format("{} waits for others there: {}", JobId(running->job),
                              WhoIsThere(*progress))
                : fmt::format("{} {}", hold ? "is held by" : "runs", NameOf(*running, facts)));
    } else if (!who.empty()) {
      out.set_reason(kForeignBusy);
      out.set_message("others use it: " + who);
    }
  }

  const Job& job_;
  const ExplainSources& sources_;
  const scheduler::Explained& explained_;
};

}  // namespace

Explanation ExplainEnded(const Job& job) {
  Explanation out;
  *out.mutable_job() = job;
  out.mutable_job()->clear_cases();
  std::string state = kbench::v1::JobState_Name(job.state());
  if (state.rfind("JOB_STATE_", 0) == 0) state = state.substr(10);
  out.set_rule(state);
  out.set_sentence("it has ended: " + state +
                   (job.message().empty() ? (job.reason().empty() ? "" : ", " + job.reason())
                                          : ", " + job.message()));
  return out;
}

Explanation ExplainOpen(const Job& job, const ExplainSources& sources) {
  return Explainer(job, sources).Make();
}

}  // namespace kbench::server
