#include "client/patience.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "client/commands/await.h"
#include "client/errors.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"

namespace kbench::client {
namespace {

constexpr double kLongestPauseSeconds = 60;

bool ComeLater(const absl::Status& status) {
  return status.code() == absl::StatusCode::kResourceExhausted &&
         DetailsOf(status).retry_after_seconds > 0;
}

}  // namespace

double PauseSeconds(int tries, double retry_after_seconds, double random) {
  const double growing = std::ldexp(0.25, std::min(tries, 10));
  const double pause = std::min(kLongestPauseSeconds, std::max(retry_after_seconds, growing));
  return pause * (1 + 0.25 * random);
}

absl::StatusOr<kbench::v1::Job> SubmitPatiently(Context& context, const Backend& backend,
                                                const kbench::v1::JobSpec& spec,
                                                const std::string& request_id,
                                                double patience_seconds) {
  // One id for all tries: a reply that was lost on the way makes no second job.
  const std::string id = request_id.empty() ? RandomUuid() : request_id;
  const double give_up_at = SystemClock().SteadySeconds() + patience_seconds;
  std::mt19937 random(std::random_device{}());
  for (int tries = 1;; ++tries) {
    auto job = SubmitSpec(backend, spec, id);
    if (job.ok() || !ComeLater(job.status())) return job;
    const double pause = PauseSeconds(tries, DetailsOf(job.status()).retry_after_seconds,
                                      std::uniform_real_distribution<double>(0, 1)(random));
    const double left = give_up_at - SystemClock().SteadySeconds();
    if (pause > left) return job;
    context.io.err << fmt::format(
                          "kbench-client: {}; trying again in {:.0f} s, for {:.0f} s more at most",
                          MessageOf(job.status()), std::ceil(pause), left)
                   << std::endl;
    const Interrupt::Hook here(context.interrupt, [] {});
    if (!context.interrupt.Sleep(pause)) return absl::CancelledError("nothing was submitted");
  }
}

}  // namespace kbench::client
