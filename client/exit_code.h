// What the process answers to a script. Pure; client/README.md holds the table. Thread-safe.
#pragma once

#include "absl/status/status.h"
#include "kbench/v1/job.pb.h"

namespace kbench::client {

enum ExitCode : int {
  kExitOk = 0,
  kExitBadOutcome = 1,
  kExitUsage = 2,
  kExitRegression = 3,
  kExitSuspect = 4,
  kExitInfrastructure = 5,
  kExitTimedOut = 6,
  kExitCancelled = 7,
  kExitInconclusive = 8,
  kExitTryAgain = 75,
  kExitNotRun = 126,       // with: the command cannot be run
  kExitNotFound = 127,     // with: there is no such program
  kExitInterrupted = 130,  // Ctrl-C: 128 + SIGINT; the job goes on
};

// The same for the help of the verbs that wait for a job.
inline constexpr char kExitCodesHelp[] =
    "Exit codes: 0 every row is OK and VALID (or --detach: the job was taken);\n"
    "  1 a row is wrong, crashed, ran out of memory or did not compile, something asked\n"
    "    for by name did not run, or nothing of a case did;  2 wrong use;\n"
    "  3 --fail-on: it is so;\n"
    "  4 a number is SUSPECT or INVALID;  5 kbench or the machine failed;\n"
    "  6 a row timed out, or the job never started;  7 cancelled;  8 --fail-on: it may be so;\n"
    "  75 the queue is full, try again;  130 Ctrl-C, the job goes on.\n"
    "  Several at once: the first of 5, 7, 1, 6, 3, 4, 8.";

// Which of two codes counts where both hold.
int WorseExitCode(int a, int b);

// Of an ended job, with the results of its cases. The worst one counts: infrastructure, cancelled,
// a bad outcome, a time-out, a suspect or invalid number. UNSUPPORTED and SKIPPED rows count only
// where an implementation asked for by name (or all of a family asked for) did not run, or no row
// of a case did.
int ExitCodeOf(const kbench::v1::Job& job);

// Of a call that failed.
int ExitCodeOf(const absl::Status& status);

}  // namespace kbench::client
