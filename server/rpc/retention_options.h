// The options of kbench-server that say what is kept how long.
#pragma once

#include "server/store/retention.h"

namespace CLI {
class App;
}

namespace kbench::server {

// --keep-samples, --keep-logs, --keep-artifacts, --keep-events. `retention` outlives the app.
void AddRetentionOptions(CLI::App& app, store::Retention* retention);

}  // namespace kbench::server
