// Cells of the history as words: a cell here is kernel, implementation, dtype, shape, mode and
// device (kbench/v1/history_service.proto). Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "kbench/v1/history_service.pb.h"

namespace kbench::client {

// "SUSPECTED"
std::string RegressionWord(kbench::v1::RegressionState state);
const std::vector<std::string>& RegressionWords();
// Any case; UNSPECIFIED when it is none.
kbench::v1::RegressionState ParseRegression(const std::string& word);

// "matmul fp16 m=4096,n=4096,k=4096,layout=nn, cublas, cold, on gpu0"
std::string CellTitle(const kbench::v1::CellKey& cell);
// The shortest size that means this shape: "4096", "4096x4096x512", "1Mi"; else the shape itself.
std::string TypedSize(const kbench::v1::CellKey& cell);
// "matmul fp16 4096 cublas cold on gpu0"
std::string CellName(const kbench::v1::CellKey& cell);

// Whether the newest result was compared with a baseline.
bool HasChange(const kbench::v1::CellState& state);
// "+5.1% [+4.2%, +6.0%]": the time over the baseline's, less 1; "-" where there is none.
std::string ChangeText(const kbench::v1::CellState& state);
// "+5.1%"
std::string SignedPercent(double ratio);
// "190.1 us +-0.21%"; "-" where there is no time.
std::string MedianText(double seconds, double low, double high);
// "1.05x [1.04, 1.06]"
std::string RatioText(double ratio, double low, double high);
// "12 min ago" of a stamp; `now` in seconds since the epoch.
std::string AgoText(const google::protobuf::Timestamp& time, double now);
// "2026-12-01T02:00:00Z"; empty where there is none.
std::string IsoTime(const google::protobuf::Timestamp& time);

}  // namespace kbench::client
