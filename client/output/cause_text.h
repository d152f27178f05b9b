// Why two results differ: the sentence first, then what is not the same. Table, json, csv or
// markdown. Pure but for the stream; used from one thread.
#pragma once

#include "client/io.h"
#include "client/output/report.h"
#include "kbench/v1/history_service.pb.h"

namespace kbench::client {

void PrintCause(Io& io, Format format, const kbench::v1::Cause& cause);

}  // namespace kbench::client
