// The command line as verbs declare it and the App reads it. CLI11 stands behind this face in one
// file, which keeps a verb's file quick to compile. Used from one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace kbench::client {

// What one verb takes. Values are written to the pointers when the line is parsed.
class Arguments {
 public:
  explicit Arguments(CLI::App& app) : app_(app) {}

  void Positional(const std::string& name, std::string* value, const std::string& help,
                  bool required = true);
  // One or more; none too where it is not required.
  void Positionals(const std::string& name, std::vector<std::string>* values,
                   const std::string& help, bool required = true);

  // `name` as "--budget" or "-o,--output"; `placeholder` stands for the value in the help.
  void Option(const std::string& name, std::string* value, const std::string& placeholder,
              const std::string& help);
  void Choice(const std::string& name, std::string* value, const std::vector<std::string>& choices,
              const std::string& help);
  // Numbers take plain decimal digits only; one outside the range is a usage error that names it.
  void Integer(const std::string& name, int* value, int least, int most,
               const std::string& placeholder, const std::string& help);
  void Unsigned(const std::string& name, std::uint64_t* value, const std::string& placeholder,
                const std::string& help);
  void Number(const std::string& name, double* value, double most, const std::string& placeholder,
              const std::string& help);  // 0 to `most`
  // May be given several times.
  void Repeated(const std::string& name, std::vector<std::string>* values,
                const std::string& placeholder, const std::string& help);
  // Stands below the options in the help.
  void Footer(const std::string& text);
  void Flag(const std::string& name, bool* value, const std::string& help);
  // What stands behind "--", word for word; where the line has no "--", `values` stays empty.
  void Rest(std::vector<std::string>* values);
  // At most one of these may be given.
  void Exclusive(const std::vector<std::string>& names);

  std::vector<std::string>* rest() const { return rest_; }

 private:
  CLI::App& app_;
  std::vector<std::string>* rest_ = nullptr;
};

// The whole line: options that stand anywhere, and verbs.
class CommandLine {
 public:
  CommandLine();
  ~CommandLine();

  void AddVerb(const std::string& name, const std::string& help,
               const std::function<void(Arguments&)>& declare);

  struct Parsed {
    std::string verb;       // the one to run, or the one that was being parsed
    bool help = false;      // wants help (of `verb`, or of the program where that is empty)
    bool version = false;   // wants the version
    std::string complaint;  // one line: what is wrong
  };
  Parsed Parse(std::vector<std::string> arguments);

  std::string HelpOf(const std::string& verb) const;
  const std::string& server() const { return server_; }

 private:
  void TakeRest(std::vector<std::string>* arguments) const;

  std::unique_ptr<CLI::App> app_;
  std::map<std::string, std::vector<std::string>*> rests_;  // by verb
  std::string server_;
};

}  // namespace kbench::client
