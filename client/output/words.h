// Codes as plain words. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "kbench/v1/device.pb.h"
#include "kbench/v1/job.pb.h"
#include "kbench/v1/result.pb.h"

namespace kbench::client {

std::string OutcomeWord(kbench::v1::Outcome outcome);  // "WRONG_RESULT"
std::string VerdictWord(kbench::v1::Verdict verdict);  // "SUSPECT", "-" where there is none
std::string StateWord(kbench::v1::JobState state);     // "QUEUED"
// Any case, with or without JOB_STATE_; UNSPECIFIED when it is no state.
kbench::v1::JobState ParseState(const std::string& word);

// "torch (torch211) is absent: no module named torch; install it with: ..."
std::string AbsentText(const kbench::v1::AbsentFramework& absent);

// Why a row has no number, in one sentence: "one launch would take about 43 s, too long ..."
std::string OutcomeSentence(const kbench::v1::Result& result);
// What can be done about that: a sentence without its full stop, or empty.
std::string OutcomeAdvice(const kbench::v1::Result& result);
// Why the number may not be trusted, or what else is to be known of it; empty when there is nothing
// to say.
std::string VerdictSentence(const kbench::v1::Result& result);
// What can be done about it: whole sentences without their full stop.
std::vector<std::string> VerdictAdvice(const kbench::v1::Result& result);

}  // namespace kbench::client
