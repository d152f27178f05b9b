// explain: why a job is where it is.
#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

#include "client/commands/await.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/job_view.h"
#include "client/output/text_table.h"
#include "client/output/time_range.h"
#include "client/output/units.h"
#include "client/output/words.h"
#include "proto/support/clock.h"
#include "proto/support/ids.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::Explanation;

std::string Headline(const Explanation& why) {
  const std::string state = StateWord(why.job().state());
  std::string text = "job " + JobId(why.job().name());
  if (!why.job().owner().empty()) text += " of " + why.job().owner();
  text += " is " + state;
  return why.rule() == state || why.rule().empty() ? text : text + ": " + why.rule();
}

std::string Because(const std::string& rule) {
  static const std::map<std::string, std::string> words = {{"CLASS", "higher class"},
                                                           {"OWNER_USAGE", "its owner used less"},
                                                           {"OWN_ORDER", "same owner"},
                                                           {"PROMOTED_OTHER", "waited too long"}};
  const auto known = words.find(rule);
  return known == words.end() ? rule : known->second;
}

// Capital letter and full stop: the server sends a clause. One that begins with the name of a job
// or a device keeps it as it is to be typed.
std::string Sentence(std::string text) {
  if (text.empty()) return text;
  static const std::set<std::string> words = {"it", "its", "nobody", "one"};
  if (words.count(text.substr(0, text.find(' '))) > 0) {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text.back() == '.' ? text : text + ".";
}

std::string WhenLine(const Explanation& why) {
  if (IsFinal(why.job().state()) || why.job().state() == kbench::v1::JOB_STATE_RUNNING) return "";
  const double now = static_cast<double>(SystemClock().WallMicros()) * 1e-6;
  std::string text = why.start_estimate().has_latest()
                         ? "It starts " + WhenText(why.start_estimate(), now)
                         : "Nobody can say when it starts";
  if (why.ahead_jobs() > 0) {
    text += "; " + FormatCount(why.ahead_jobs(), "job is", "jobs are") + " ahead of it";
  }
  return text + ".";
}

class ExplainJob final : public Command {
 public:
  std::string name() const override { return "explain"; }
  std::string help() const override { return "Say why a job waits, and for whom"; }

  void Declare(Arguments& arguments) override {
    arguments.Positional("JOB", &job_, "As submit or list printed it");
    DeclareFormat(arguments, &format_, {"table", "json"});
  }

  int Run(Context& context) override {
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    kbench::v1::ExplainJobRequest request;
    request.set_name(JobName(job_));
    const auto why =
        Unary<Explanation>(*backend, [&](grpc::ClientContext* call, Explanation* reply) {
          return backend->jobs->ExplainJob(call, request, reply);
        });
    if (!why.ok()) return ReportError(context.io, why.status());
    if (format_ == "json") {
      context.io.out << "{\"explanation\":" << ToJsonLine(*why) << "}\n";
    } else {
      Print(context.io, *why);
    }
    return kExitOk;
  }

 private:
  static void Print(Io& io, const Explanation& why) {
    io.out << Wrap(Headline(why), kTableWidth, 2) << "\n";
    if (!why.sentence().empty()) io.out << Wrap(Sentence(why.sentence()), kTableWidth, 2) << "\n";
    if (const std::string when = WhenLine(why); !when.empty()) io.out << when << "\n";
    PrintAhead(io, why);
    if (why.devices().empty()) return;
    io.out << "\n";
    TextTable table{{"device", "", "why"}, {}, {}};
    for (const auto& device : why.devices()) {
      const std::string& said = device.message().empty() ? device.reason() : device.message();
      table.rows.push_back({device.device(), device.suitable() ? "suitable" : "no",
                            said.empty() ? "can take it now" : said});
    }
    // The last column wraps: its header stands apart.
    table.header.push_back("");
    io.out << table.ToString();
  }

  static void PrintAhead(Io& io, const Explanation& why) {
    if (why.ahead().empty()) return;
    TextTable table{{"ahead", "owner", "class", "next case", "takes", "because"}, {}, {}};
    table.right = {false, false, false, false, true, false};
    for (const auto& ahead : why.ahead()) {
      table.rows.push_back(
          {JobId(ahead.job()), Cut(ahead.owner().empty() ? "-" : ahead.owner(), 14),
           ahead.priority_class(), Cut(ahead.text(), 26),
           ahead.estimated_seconds() > 0 ? SpanWord(ahead.estimated_seconds(), true) : "?",
           Because(ahead.rule())});
    }
    io.out << "\n" << table.ToString();
    if (why.ahead_jobs() > why.ahead_size()) {
      io.out << fmt::format("and {} more\n", why.ahead_jobs() - why.ahead_size());
    }
  }

  std::string job_;
  std::string format_ = "table";
};

}  // namespace

std::unique_ptr<Command> MakeExplain() { return std::make_unique<ExplainJob>(); }

}  // namespace kbench::client
