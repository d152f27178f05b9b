// top: the queue, live.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "client/commands/queue_options.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/text_table.h"
#include "client/top/frames.h"
#include "client/top/queue_feed.h"
#include "client/top/terminal.h"
#include "proto/support/clock.h"

namespace kbench::client {
namespace {

constexpr int kRedrawMillis = 1000;  // relative times go on between two snapshots
constexpr int kFirstWaits = 10;
constexpr int kFirstWaitMillis = 200;
// A log that nobody looks at ends when the coordinator does not come back.
constexpr double kGiveUpSeconds = 60;

double Now() { return SystemClock().SteadySeconds(); }

// Wakes the thread that draws, from any other.
class WakePipe {
 public:
  WakePipe() {
    if (pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) != 0) ends_ = {-1, -1};
  }
  ~WakePipe() {
    for (const int fd : ends_) {
      if (fd >= 0) close(fd);
    }
  }
  WakePipe(const WakePipe&) = delete;
  WakePipe& operator=(const WakePipe&) = delete;

  void Wake() const { [[maybe_unused]] const ssize_t wrote = write(ends_[1], "w", 1); }
  // Until woken, a key, or the time is over. True when the keys say that it is enough.
  bool Wait(int keys, int millis) const {
    std::array<pollfd, 2> fds = {pollfd{ends_[0], POLLIN, 0}, pollfd{keys, POLLIN, 0}};
    if (poll(fds.data(), keys >= 0 ? 2 : 1, millis) <= 0) return false;
    std::array<char, 256> bytes;
    if (fds[0].revents != 0) {
      while (read(ends_[0], bytes.data(), bytes.size()) > 0) {
      }
    }
    if (keys < 0 || fds[1].revents == 0) return false;
    const ssize_t count = read(keys, bytes.data(), bytes.size());
    if (count <= 0) return (fds[1].revents & (POLLHUP | POLLERR)) != 0;
    const std::string typed(bytes.data(), static_cast<std::size_t>(count));
    return typed.find_first_of("qQ\x04") != std::string::npos;
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

class Top final : public Command {
 public:
  std::string name() const override { return "top"; }
  std::string help() const override { return "The queue, live; q ends"; }

  void Declare(Arguments& arguments) override {
    options_.Declare(arguments, 50);
    arguments.Flag("--once", &once_, "Print one frame and end");
  }

  int Run(Context& context) override {
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    if (once_) return PrintOnce(context, *backend);
    const WakePipe pipe;
    const Interrupt::Hook hook(context.interrupt, [&pipe] { pipe.Wake(); });
    QueueFeed feed(*backend, options_.Request(), [&pipe] { pipe.Wake(); }, {});
    const absl::Status end = context.io.out_terminal >= 0
                                 ? Draw(context, backend->address, feed, pipe)
                                 : Log(context, feed, pipe);
    return end.ok() ? kExitOk : ReportError(context.io, end);
  }

 private:
  int PrintOnce(Context& context, const Backend& backend) const {
    const auto queue = ReadQueue(backend, options_.Request());
    if (!queue.ok()) return ReportError(context.io, queue.status());
    QueueFeed::State state;
    state.queue = *queue;
    for (const std::string& line : TopLines(state, backend.address, 0, kTableWidth)) {
      context.io.out << line << "\n";
    }
    return kExitOk;
  }

  // The terminal is given back before anything else is said.
  absl::Status Draw(Context& context, const std::string& address, const QueueFeed& feed,
                    const WakePipe& pipe) const {
    // What cannot be shown at all is said without another screen.
    for (int i = 0; i < kFirstWaits && !feed.Get().queue && feed.Get().error.ok(); ++i) {
      if (context.interrupt.fired()) return absl::OkStatus();
      pipe.Wait(-1, kFirstWaitMillis);
    }
    if (const absl::Status error = feed.Get().error; !error.ok()) return error;
    const Terminal terminal(context.io.out_terminal, context.io.keys);
    while (!context.interrupt.fired()) {
      const QueueFeed::State state = feed.Get();
      if (!state.error.ok()) return state.error;
      const ScreenSize size = terminal.Size();
      const auto width = static_cast<std::size_t>(std::max(20, size.columns - 1));
      const auto lines = TopLines(state, address, Now(), std::min(width, kTableWidth));
      if (!terminal.Write(DrawFrame(lines, size))) break;
      if (pipe.Wait(context.io.keys, kRedrawMillis)) break;
    }
    return absl::OkStatus();
  }

  static absl::Status Log(Context& context, const QueueFeed& feed, const WakePipe& pipe) {
    ChangeLog log;
    bool away = false;
    while (!context.interrupt.fired() && context.io.out.good()) {
      const QueueFeed::State state = feed.Get();
      if (!state.error.ok()) return state.error;
      const bool gone = state.away_since > 0;
      if (gone && Now() - state.away_since > kGiveUpSeconds) {
        return absl::UnavailableError("the coordinator has not come back for 60 s");
      }
      if (gone != away && gone) context.io.err << "the coordinator is away: reconnecting ...\n";
      away = gone;
      if (state.queue) {
        for (const std::string& line : log.Take(*state.queue)) context.io.out << line << "\n";
        context.io.out.flush();
      }
      pipe.Wait(-1, kRedrawMillis);
    }
    return absl::OkStatus();
  }

  QueueOptions options_;
  bool once_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeTop() { return std::make_unique<Top>(); }

}  // namespace kbench::client
