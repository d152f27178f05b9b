#include "client/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

namespace kbench::client {
namespace {

// "-5" is a size that is wrong, not an option: hidden from the parser behind a space.
void HideNegativeNumbers(std::vector<std::string>* arguments) {
  for (std::string& text : *arguments) {
    if (text.size() >= 2 && text[0] == '-' && std::isdigit(static_cast<unsigned char>(text[1]))) {
      text.insert(0, " ");
    }
  }
}

std::string WithoutHiding(std::string text) {
  const bool hidden = text.size() >= 3 && text[0] == ' ' && text[1] == '-' &&
                      std::isdigit(static_cast<unsigned char>(text[2]));
  return hidden ? text.substr(1) : text;
}

// One line for a value that is no number or outside its range. Throws as CLI11 itself does.
template <typename Number>
Number ParseNumber(const std::string& name, const std::string& text, Number least, Number most,
                   const char* what) {
  const std::size_t start = text.find_first_not_of(' ');  // behind HideNegativeNumbers()
  const std::string bare = start == std::string::npos ? "" : text.substr(start);
  const char* const end = bare.data() + bare.size();
  Number number{};
  const auto [rest, error] = std::from_chars(bare.data(), end, number);
  // An unsigned number knows no minus; its digits tell a number outside the range from no number.
  const bool negative = bare.size() > 1 && bare[0] == '-' &&
                        bare.find_first_not_of("0123456789", 1) == std::string::npos;
  const bool outside = error == std::errc::result_out_of_range || negative;
  if (!outside && (error != std::errc() || rest != end)) {
    throw CLI::ValidationError(name, fmt::format("'{}' is not {}", bare, what));
  }
  if (error != std::errc() || !(number >= least && number <= most)) {
    throw CLI::ValidationError(name, fmt::format("{} is outside {} to {}", bare, least, most));
  }
  return number;
}

template <typename Number>
void AddNumber(CLI::App* app, const std::string& name, Number* value, Number least, Number most,
               const char* what, const std::string& placeholder, const std::string& help) {
  app->add_option_function<std::string>(
         name,
         [=](const std::string& text) {
           *value = ParseNumber<Number>(name, text, least, most, what);
         },
         help)
      ->option_text(placeholder);
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

void Arguments::Positional(const std::string& name, std::string* value, const std::string& help,
                           bool required) {
  app_.add_option(name, *value, help)
      ->required(required)
      ->option_text(" ")
      ->transform(std::function<std::string(std::string)>(WithoutHiding));
}

void Arguments::Positionals(const std::string& name, std::vector<std::string>* values,
                            const std::string& help, bool required) {
  app_.add_option(name, *values, help)
      ->required(required)
      ->option_text("...")
      ->transform(std::function<std::string(std::string)>(WithoutHiding));
}

void Arguments::Option(const std::string& name, std::string* value, const std::string& placeholder,
                       const std::string& help) {
  app_.add_option(name, *value, help)
      ->option_text(placeholder)
      ->check([placeholder](const std::string& text) {
        const bool blank = text.find_first_not_of(" \t") == std::string::npos;
        return blank ? "is empty; give " + placeholder + " or leave the option out" : std::string();
      })
      ->transform(std::function<std::string(std::string)>(WithoutHiding));
}

void Arguments::Choice(const std::string& name, std::string* value,
                       const std::vector<std::string>& choices, const std::string& help) {
  std::string list;
  for (const std::string& choice : choices) list += (list.empty() ? "" : ", ") + choice;
  app_.add_option(name, *value, help + ": " + list)
      ->option_text("WORD")
      ->check([choices, list](const std::string& word) {
        const bool known = std::find(choices.begin(), choices.end(), word) != choices.end();
        return known ? std::string() : "take " + list + ", not " + word;
      });
}

void Arguments::Integer(const std::string& name, int* value, int least, int most,
                        const std::string& placeholder, const std::string& help) {
  AddNumber(&app_, name, value, least, most, "a whole number", placeholder, help);
}

void Arguments::Unsigned(const std::string& name, std::uint64_t* value,
                         const std::string& placeholder, const std::string& help) {
  AddNumber(&app_, name, value, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
            "a whole number", placeholder, help);
}

void Arguments::Number(const std::string& name, double* value, double most,
                       const std::string& placeholder, const std::string& help) {
  AddNumber(&app_, name, value, 0.0, most, "a number", placeholder, help);
}

void Arguments::Footer(const std::string& text) { app_.footer(text); }

void Arguments::Repeated(const std::string& name, std::vector<std::string>* values,
                         const std::string& placeholder, const std::string& help) {
  app_.add_option(name, *values, help)
      ->option_text(placeholder)
      ->expected(1)
      ->take_all()
      ->transform(std::function<std::string(std::string)>(WithoutHiding));
}

void Arguments::Flag(const std::string& name, bool* value, const std::string& help) {
  app_.add_flag(name, *value, help);
}

void Arguments::Rest(std::vector<std::string>* values) { rest_ = values; }

void Arguments::Exclusive(const std::vector<std::string>& names) {
  for (const std::string& one : names) {
    for (const std::string& other : names) {
      if (one != other) app_.get_option(one)->excludes(app_.get_option(other));
    }
  }
}

CommandLine::CommandLine() : app_(std::make_unique<CLI::App>("", "kbench-client")) {
  app_->add_option("--server", server_, "unix:PATH or HOST:PORT")->option_text("ADDRESS");
  app_->set_version_flag("--version", "version");
  app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

void CommandLine::AddVerb(const std::string& name, const std::string& help,
                          const std::function<void(Arguments&)>& declare) {
  CLI::App* verb = app_->add_subcommand(name, help);
  verb->fallthrough();  // --server may stand anywhere
  Arguments arguments(*verb);
  declare(arguments);
  if (arguments.rest() != nullptr) rests_[name] = arguments.rest();
}

// Words of another program's command line are not ours to read.
void CommandLine::TakeRest(std::vector<std::string>* arguments) const {
  const auto verb = std::find_if(arguments->begin(), arguments->end(), [&](const auto& word) {
    return word == "--" || rests_.count(word) > 0;
  });
  if (verb == arguments->end() || *verb == "--") return;
  const auto mark = std::find(verb, arguments->end(), "--");
  if (mark == arguments->end()) return;
  rests_.at(*verb)->assign(mark + 1, arguments->end());
  arguments->erase(mark, arguments->end());
}

CommandLine::Parsed CommandLine::Parse(std::vector<std::string> arguments) {
  TakeRest(&arguments);
  HideNegativeNumbers(&arguments);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants a vector
  Parsed parsed;
  try {
    app_->parse(std::move(arguments));
  } catch (const CLI::CallForVersion&) {
    parsed.version = true;
  } catch (const CLI::CallForHelp&) {
    parsed.help = true;
  } catch (const CLI::ParseError& error) {
    parsed.complaint = FirstLine(error.what());
  }
  for (const CLI::App* verb : app_->get_subcommands()) parsed.verb = verb->get_name();
  return parsed;
}

std::string CommandLine::HelpOf(const std::string& verb) const {
  return app_->get_subcommand(verb)->help("kbench-client");
}

}  // namespace kbench::client
