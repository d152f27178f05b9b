// The cells of a result's row as text, shared by table and markdown. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kbench/v1/job.pb.h"

namespace kbench::client {

// Whether the case holds a device instead of measuring.
bool IsHold(const kbench::v1::CaseSpec& spec);
// "matmul fp16 4096", "hold 30m"
std::string CaseName(const kbench::v1::CaseSpec& spec);
// "matmul fp16 m=4096,n=4096,k=4096,layout=nn, cold, on cpu (AMD EPYC)"
std::string CaseTitle(const kbench::v1::CaseStatus& status);

const std::vector<std::string>& ResultHeader();
// How much of a comparison is told: "1.25x", "1.25x [1.24, 1.26]", "1.25x [1.24, 1.26] faster".
enum class SpeedDetail { kFactor, kInterval, kVerdict };
// "-" where there is no ratio.
std::string SpeedText(const kbench::v1::BaselineComparison& comparison, SpeedDetail detail);
// The median with its interval: "190.1 us +-0.21%".
std::string TimeText(const kbench::v1::Result& result);
// As many cells as the header; only for results with a time (HasNumber).
std::vector<std::string> ResultCells(const kbench::v1::Result& result, SpeedDetail detail);
// Whether there is a time to show. The others show an outcome and a sentence.
bool HasNumber(const kbench::v1::Result& result);

// Whose results these are where the case took those of another job; empty: its own.
// `submitted_micros`: when this case's job was.
std::string OriginSentence(const kbench::v1::CaseStatus& status, std::int64_t submitted_micros);
// What stands beneath the rows of a case: why a number may not be trusted, which attempt it was.
std::vector<std::string> CaseNotes(const kbench::v1::CaseStatus& status,
                                   std::int64_t submitted_micros);
// Whether a finding that was told when the case ended does not hold up among all of the job's.
bool IsOneOfMany(const kbench::v1::BaselineComparison& comparison);
// What to add once the job has ended: a sentence for each such finding.
std::vector<std::string> JobNotes(const kbench::v1::Job& job);
// How each implementation ran: its configuration, one line a row.
std::vector<std::string> CaseDetails(const kbench::v1::CaseStatus& status);
// What stands where a case has no rows at all: its state and why.
std::string NoResultsSentence(const kbench::v1::CaseStatus& status);

}  // namespace kbench::client
