// The cells of a device before and after its environment changed: table, json, csv or markdown.
// Pure but for the stream; used from one thread.
#pragma once

#include "client/io.h"
#include "client/output/report.h"
#include "kbench/v1/history_service.pb.h"

namespace kbench::client {

// `neighbours`: nothing lies between the two.
void PrintEpochs(Io& io, Format format, const kbench::v1::EpochReport& report, bool neighbours);

}  // namespace kbench::client
