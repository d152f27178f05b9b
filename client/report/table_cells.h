// The cells that the tables of the report share. Pure; thread-safe.
#pragma once

#include <string>

#include "client/report/document.h"
#include "client/report/essay.h"
#include "client/report/evidence.h"

namespace kbench::client {

Tone ToneOf(Judgement judgement);
TableCell Judged(Judgement judgement);
TableCell Faint(const std::string& text);
// "-" for 0: not known.
std::string ShareText(double ratio);
// A star marks a number that is not VALID.
std::string Starred(const std::string& text, const kbench::v1::Result& row);
// "sum fp32 n=1048576" of a row's case.
std::string CaseText(const MeasuredCase& one);

}  // namespace kbench::client
