#include "client/app.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>

#include "client/arguments.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/version.h"
#include "proto/support/error.h"
#include "proto/support/utf8.h"

namespace kbench::client {
namespace {

using Commands = std::vector<std::unique_ptr<Command>>;

std::string HelpText(const Commands& commands) {
  std::string text =
      "kbench-client: measure GPU and CPU kernels through a kbench coordinator\n\n"
      "usage: kbench-client [--server ADDRESS] VERB ...\n\n";
  for (const auto& command : commands) {
    text += fmt::format("  {:<10} {}\n", command->name(), command->help());
  }
  text +=
      "\nADDRESS is unix:PATH or HOST:PORT; without it $KBENCH_SERVER, else the coordinator "
      "joined\n"
      "last, else the local stack.\n"
      "More: kbench-client VERB --help\n";
  return text;
}

// The first word that is no option: the verb. Empty when there is none.
std::string FirstWord(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--server") {
      ++i;
    } else if (!arguments[i].empty() && arguments[i][0] != '-') {
      return arguments[i];
    }
  }
  return "";
}

int RunParsed(const Commands& commands, const std::vector<std::string>& arguments,
              const std::string& server_from_environment, Io& io, Interrupt& interrupt,
              const std::function<absl::StatusOr<Backend>(const std::string&)>& connect) {
  const std::string word = FirstWord(arguments);
  const auto known = [&](const auto& command) { return command->name() == word; };
  if (!word.empty() && std::none_of(commands.begin(), commands.end(), known)) {
    std::vector<std::string> names;
    for (const auto& command : commands) names.push_back(command->name());
    return ReportUsage(io, fmt::format("there is no verb {}; nearest: {}; see kbench-client --help",
                                       word, fmt::join(NearestWords(word, names, 2), ", ")));
  }
  if (arguments.empty()) {
    io.out << HelpText(commands);
    return kExitUsage;
  }
  CommandLine line;
  for (const auto& command : commands) {
    line.AddVerb(command->name(), command->help(),
                 [&](Arguments& arguments_of) { command->Declare(arguments_of); });
  }
  const CommandLine::Parsed parsed = line.Parse(arguments);
  const std::string verb = parsed.verb.empty() ? "" : parsed.verb + " ";
  if (parsed.version) {
    io.out << "kbench-client " << kClientVersion << "\n";
    return kExitOk;
  }
  if (parsed.help) {
    io.out << (verb.empty() ? HelpText(commands) : line.HelpOf(parsed.verb));
    return kExitOk;
  }
  if (!parsed.complaint.empty()) {
    return ReportUsage(
        io, fmt::format("{}{}; see kbench-client {}--help", verb.empty() ? "" : parsed.verb + ": ",
                        parsed.complaint, verb));
  }
  const std::string address = line.server().empty() ? server_from_environment : line.server();
  Context context{io, interrupt, address, connect};
  for (const auto& command : commands) {
    if (command->name() == parsed.verb) return command->Run(context);
  }
  return ReportUsage(io, "a verb is missing; see kbench-client --help");
}

}  // namespace

std::vector<std::unique_ptr<Command>> AllCommands() {
  Commands commands;
  for (auto make :
       {MakeSubmit,     MakeWatch,   MakeList,       MakeShow,   MakeQueue,     MakeExplain,
        MakeTop,        MakeCompare, MakeHistory,    MakeWhy,    MakeBaseline,  MakeSuite,
        MakeReportVerb, MakeCancel,  MakeWith,       MakeHold,   MakeKernels,   MakeDevices,
        MakeDefault,    MakeDrain,   MakeQuarantine, MakeResume, MakeArtifacts, MakeBackup,
        MakeSelftest,   MakeJoin,    MakeWhoami,     MakeUp,     MakeDown,      MakeVersion}) {
    commands.push_back(make());
  }
  return commands;
}

int RunClient(const std::vector<std::string>& arguments, const std::string& server_from_environment,
              Io& io, Interrupt& interrupt,
              const std::function<absl::StatusOr<Backend>(const std::string&)>& connect) {
  // What stands behind the dashes is a command's own: it is checked where it is sent anywhere.
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const absl::Status text = CheckWords({arguments.begin(), dashes});
  if (!text.ok()) return ReportUsage(io, MessageOf(text));
  try {
    return RunParsed(AllCommands(), arguments, server_from_environment, io, interrupt, connect);
  } catch (const std::exception& error) {  // CLI11 and the standard library throw; nothing of ours
    io.err << "kbench-client: " << error.what() << std::endl;
    return kExitInfrastructure;
  }
}

}  // namespace kbench::client
