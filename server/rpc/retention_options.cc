#include "server/rpc/retention_options.h"

#include <string>

#include "CLI/CLI.hpp"
#include "proto/support/error.h"

namespace kbench::server {
namespace {

struct Option {
  store::Kind kind;
  const char* help;
};
constexpr Option kOptions[] = {
    {store::Kind::kSamples, "How long, and how much of, the raw samples of results are kept"},
    {store::Kind::kLogs, "The same of what runners printed"},
    {store::Kind::kArtifacts, "The same of device code and profiles"},
    {store::Kind::kEvents, "The same of the events of ended jobs"},
};

}  // namespace

void AddRetentionOptions(CLI::App& app, store::Retention* retention) {
  for (const Option& option : kOptions) {
    const auto set = [retention, kind = option.kind](const std::string& text) {
      const auto keep = store::ParseKeep(text);
      if (!keep.ok()) throw CLI::ValidationError(MessageOf(keep.status()));
      retention->Of(kind) = *keep;
    };
    app.add_option_function<std::string>(std::string("--keep-") + store::KindName(option.kind), set,
                                         std::string(option.help) +
                                             ": AGE, SIZE or both, or "
                                             "forever (what the newest "
                                             "result of a cell needs stays)")
        ->take_last()
        ->type_name("30d,4GiB")
        ->default_str(store::KeepText(retention->Of(option.kind)));
  }
}

}  // namespace kbench::server
