// One cell over time: table with a plot, json, csv or markdown. Pure but for the stream; used from
// one thread.
#pragma once

#include "client/io.h"
#include "client/output/report.h"
#include "kbench/v1/history_service.pb.h"

namespace kbench::client {

// The newest `most` results; 0: all.
void PrintHistory(Io& io, Format format, const kbench::v1::History& history, int most);

}  // namespace kbench::client
