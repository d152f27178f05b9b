// The makers of the verbs, one a file.
#pragma once

#include <memory>

#include "client/command.h"

namespace kbench::client {

std::unique_ptr<Command> MakeSubmit();
std::unique_ptr<Command> MakeWatch();
std::unique_ptr<Command> MakeList();
std::unique_ptr<Command> MakeShow();
std::unique_ptr<Command> MakeCancel();
std::unique_ptr<Command> MakeQueue();
std::unique_ptr<Command> MakeExplain();
std::unique_ptr<Command> MakeTop();
std::unique_ptr<Command> MakeCompare();
std::unique_ptr<Command> MakeHistory();
std::unique_ptr<Command> MakeWhy();
std::unique_ptr<Command> MakeBaseline();
std::unique_ptr<Command> MakeSuite();
std::unique_ptr<Command> MakeReportVerb();
std::unique_ptr<Command> MakeSelftest();
std::unique_ptr<Command> MakeHold();
std::unique_ptr<Command> MakeKernels();
std::unique_ptr<Command> MakeDevices();
std::unique_ptr<Command> MakeDefault();
std::unique_ptr<Command> MakeDrain();
std::unique_ptr<Command> MakeQuarantine();
std::unique_ptr<Command> MakeResume();
std::unique_ptr<Command> MakeArtifacts();
std::unique_ptr<Command> MakeBackup();
std::unique_ptr<Command> MakeJoin();
std::unique_ptr<Command> MakeWhoami();
std::unique_ptr<Command> MakeUp();
std::unique_ptr<Command> MakeDown();
std::unique_ptr<Command> MakeVersion();
std::unique_ptr<Command> MakeWith();

}  // namespace kbench::client
