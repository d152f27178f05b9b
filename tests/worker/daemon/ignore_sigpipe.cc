// As the worker's main does: writing to a runner that has died is an error, not the end of us.
#include <csignal>

namespace {

[[maybe_unused]] const auto before_main = std::signal(SIGPIPE, SIG_IGN);

}  // namespace
