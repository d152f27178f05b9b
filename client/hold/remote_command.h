// A hold whose command runs on the worker's host: followed to its end, with what it printed.
#pragma once

#include "client/command.h"
#include "client/hold/turn.h"

namespace kbench::client {

// Shows the command's latest line while it runs (on a terminal), then writes its whole output to
// the streams it belongs to. Ctrl-C ends the command; a second one leaves it. Returns its exit
// code, or kbench's own with a line on stderr.
int FollowRemote(Context& context, const Backend& backend, const Turn& turn);

}  // namespace kbench::client
