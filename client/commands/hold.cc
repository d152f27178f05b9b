// hold: have a device to oneself without a command.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "client/commands/await.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/hold/hold_loop.h"
#include "client/hold/turn.h"
#include "proto/support/ids.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

// Somebody presses ENTER at the terminal; where there is none, never.
class EnterKey {
 public:
  explicit EnterKey(std::function<void()> pressed) : stop_(eventfd(0, EFD_CLOEXEC)) {
    if (isatty(STDIN_FILENO) == 1) {
      thread_ = std::thread([this, pressed = std::move(pressed)] { Wait(pressed); });
    }
  }
  ~EnterKey() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(stop_, &one, sizeof(one));
    if (thread_.joinable()) thread_.join();
    close(stop_);
  }
  EnterKey(const EnterKey&) = delete;
  EnterKey& operator=(const EnterKey&) = delete;

  bool there() const { return thread_.joinable(); }

 private:
  void Wait(const std::function<void()>& pressed) const {
    pollfd entries[] = {{stop_, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    while (poll(entries, 2, -1) < 0) {
    }
    if (entries[0].revents == 0) pressed();
  }

  const int stop_;
  std::thread thread_;
};

class Hold final : public Command {
 public:
  std::string name() const override { return "hold"; }
  std::string help() const override { return "Have a device to yourself: hold gpu0 --for 30m"; }

  void Declare(Arguments& arguments) override {
    asked_.Declare(arguments);
    arguments.Flag("--detach", &detach_, "Do not wait; it lasts its time, or until `cancel JOB`");
    DeclareFormat(arguments, &format_, {"table", "json"});
    arguments.Footer(
        "Ends at Ctrl-C, ENTER or the end of its time.\n"
        "Exit codes: 0 it was held;  2 wrong use;  5 kbench or the machine failed;  6 it never "
        "got\n"
        "  its turn;  7 cancelled;  75 the queue is full, try again;  130 Ctrl-C while it waited.");
  }

  int Run(Context& context) override {
    auto spec = asked_.Spec();
    if (!spec.ok()) return ReportError(context.io, spec.status());
    spec->mutable_hold()->set_attached(!detach_);
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    if (detach_) return Detach(context, *backend, *std::move(spec));
    const Interrupt::Hook here(context.interrupt, [] {});
    const Turn turn = TakeTurn(context, *backend, *std::move(spec));
    if (turn.code != 0) return turn.code;
    return turn.begun ? Stay(context, *backend, turn) : kExitInfrastructure;
  }

 private:
  int Detach(Context& context, const Backend& backend, kbench::v1::JobSpec spec) const {
    const auto job = SubmitSpec(backend, std::move(spec), "");
    if (!job.ok()) return ReportError(context.io, job.status());
    const std::string id = JobId(job->name());
    if (format_ == "json") {
      context.io.out << "{\"job\":" << ToJsonLine(*job) << "}\n";
    } else {
      context.io.out << id << "\n";
      context.io.err << "see whether it has begun with: kbench-client show " << id
                     << "\nend it with: kbench-client cancel " << id << "\n";
    }
    context.io.out.flush();
    return kExitOk;
  }

  int Stay(Context& context, const Backend& backend, const Turn& turn) const {
    if (format_ == "json") {
      context.io.out << "{\"job\":" << ToJsonLine(turn.job) << "}" << std::endl;
    } else {
      context.io.out << BegunText(turn) << std::endl;
    }
    HoldLoop loop(context, backend, turn);
    std::atomic<bool> over = false;
    const auto finish = [&] {
      over = true;
      loop.Wake();
    };
    HoldLoop::Ended ended;
    {
      const Interrupt::Hook interrupted(context.interrupt, finish);
      if (context.interrupt.fired()) over = true;
      const EnterKey enter(finish);
      context.io.err << (enter.there() ? "ENTER or Ctrl-C gives it back" : "Ctrl-C gives it back")
                     << std::endl;
      ended = loop.Run({[&] { return over.load(); }, finish, [] {}});
    }
    if (ended == HoldLoop::Ended::kLost) return ExplainLoss(context, backend, turn.job.name());
    EndHold(context, backend, turn.job.name(), kExitOk);
    return kExitOk;
  }

  HoldOptions asked_;
  std::string format_ = "table";
  bool detach_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeHold() { return std::make_unique<Hold>(); }

}  // namespace kbench::client
