// The cells of a result's row as text, shared by table and markdown. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "kbench/v1/job.pb.h"

namespace kbench::client {

// "matmul fp16 m=4096,n=4096,k=4096,layout=nn, cold, on cpu (AMD EPYC)"
std::string CaseTitle(const kbench::v1::CaseStatus& status);

const std::vector<std::string>& ResultHeader();
// As many cells as the header; only for results with a time (HasNumber).
std::vector<std::string> ResultCells(const kbench::v1::Result& result, bool with_speed_interval);
// Whether there is a time to show. The others show an outcome and a sentence.
bool HasNumber(const kbench::v1::Result& result);

// What stands beneath the rows of a case: why a number may not be trusted, which attempt it was.
std::vector<std::string> CaseNotes(const kbench::v1::CaseStatus& status);
// What stands where a case has no rows at all: its state and why.
std::string NoResultsSentence(const kbench::v1::CaseStatus& status);

}  // namespace kbench::client
