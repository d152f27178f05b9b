// What is thought of cells, one row each: table, json, csv or markdown. Pure but for the stream;
// used from one thread.
#pragma once

#include <string>
#include <vector>

#include "client/io.h"
#include "client/output/report.h"
#include "kbench/v1/history_service.pb.h"

namespace kbench::client {

// In the order given; neighbours of one case stand in one block. `now`: seconds since the epoch.
// `nothing` is what a table says where there are none.
void PrintCells(Io& io, Format format, const std::vector<kbench::v1::CellState>& cells, double now,
                const std::string& nothing);

// The same for pinned baselines: whose, since when, which result. csv and json are those above.
void PrintBaselines(Io& io, Format format, const std::vector<kbench::v1::CellState>& cells,
                    double now, const std::string& nothing);

// "learned from 12 results, 190.1 us +-0.20%, since 2026-12-01 02:00", "pinned by ana, ..."; empty
// where there is none.
std::string BaselineText(const kbench::v1::Baseline& baseline);

}  // namespace kbench::client
