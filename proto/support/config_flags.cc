#include "proto/support/config_flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "proto/support/config_text.h"
#include "proto/support/error.h"

namespace kbench {
namespace {

using Words = std::vector<std::string>;

absl::Status WrongUse(const std::string& message) {
  return MakeError(absl::StatusCode::kInvalidArgument, message, {.reason = "BAD_OPTION"});
}

// CLI11 takes them from the back.
void ParseWords(CLI::App& app, Words words) {
  std::reverse(words.begin(), words.end());
  app.parse(std::move(words));
}

// What our own validator said, without the name that CLI11 puts before it; else nothing.
std::string OwnWords(const CLI::ParseError& error, const std::string& flag) {
  if (dynamic_cast<const CLI::ValidationError*>(&error) == nullptr) return "";
  const std::string text = error.what();
  const std::string prefix = flag + ": ";
  return text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : text;
}

class ConfigFile {
 public:
  ConfigFile(const ConfigRules& rules, const std::function<void(CLI::App&)>& declare_trial,
             const CLI::App& typed, std::string path)
      : rules_(rules), declare_trial_(declare_trial), typed_(typed), path_(std::move(path)) {}

  // As words of a command line, but those that were typed.
  absl::StatusOr<Words> Read() const {
    KB_ASSIGN_OR_RETURN(const auto entries, ReadConfigFile(path_));
    Words all;
    for (const ConfigEntry& entry : entries) {
      if (!entry.section.empty()) {
        if (rules_.sections) continue;
        return ConfigFault(path_, entry.line,
                           fmt::format("there is no section [{}]; every key is the name of a flag "
                                       "and stands in no section",
                                       entry.section));
      }
      KB_ASSIGN_OR_RETURN(const Words words, WordsOf(entry));
      if (typed_.get_option("--" + entry.key)->count() > 0) continue;
      all.insert(all.end(), words.begin(), words.end());
    }
    return all;
  }

 private:
  absl::Status Unknown(const ConfigEntry& entry) const {
    Words flags;
    for (const CLI::Option* option : typed_.get_options()) {
      if (!option->get_lnames().empty()) flags.push_back(option->get_lnames().front());
    }
    return ConfigFault(
        path_, entry.line,
        fmt::format("'{}' is no flag; a key is the name of a flag, nearest are {}{}", entry.key,
                    fmt::join(NearestWords(entry.key, flags, 2), ", "), rules_.hint));
  }

  absl::StatusOr<Words> WordsOf(const ConfigEntry& entry) const {
    const std::string flag = "--" + entry.key;
    const CLI::Option* option = typed_.get_option_no_throw(flag);
    if (option == nullptr || entry.key == "config" || entry.key == "help" ||
        entry.key == "version") {
      return Unknown(entry);
    }
    const bool several = option->get_expected_max() > 1;
    if (entry.values.empty() || (entry.list && !several)) {
      return ConfigFault(path_, entry.line,
                         entry.values.empty()
                             ? "'" + entry.key + "' has no value; write one, or leave the line out"
                             : entry.key + " takes one value, without brackets");
    }
    Words words;
    if (option->get_expected_max() == 0) {
      const std::string& value = entry.values[0];
      if (value != "true" && value != "false") {
        return ConfigFault(path_, entry.line,
                           fmt::format("{0} = {1} is not right; write {0} = true or {0} = false",
                                       entry.key, value));
      }
      words = {flag + "=" + value};
    } else {
      for (const std::string& value : entry.values) words.insert(words.end(), {flag, value});
    }
    KB_RETURN_IF_ERROR(Try(entry, *option, words));
    return words;
  }

  absl::Status Try(const ConfigEntry& entry, const CLI::Option& option, const Words& words) const {
    CLI::App trial;
    declare_trial_(trial);
    try {
      ParseWords(trial, words);
    } catch (const CLI::ParseError& error) {
      std::string right = OwnWords(error, "--" + entry.key);
      if (right.empty()) {
        right = option.get_description();
        const std::string usual = option.get_default_str();
        if (!usual.empty()) right += fmt::format(", as in {} = {}", entry.key, usual);
      }
      return ConfigFault(
          path_, entry.line,
          fmt::format("{} = {} is not right: {}", entry.key, fmt::join(entry.values, ", "), right));
    }
    return absl::OkStatus();
  }

  const ConfigRules& rules_;
  const std::function<void(CLI::App&)>& declare_trial_;
  const CLI::App& typed_;
  const std::string path_;
};

bool IsNumber(const std::string& text, double* value) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && rest == text.data() + text.size() && std::isfinite(*value);
}

// "30m": the number and the factor of the unit; false: neither.
bool WithUnit(const std::string& text, const std::vector<std::pair<std::string, double>>& units,
              double* value) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string unit = text.substr(end);
  const auto known = std::find_if(units.begin(), units.end(),
                                  [&unit](const auto& one) { return one.first == unit; });
  if (known == units.end() || !IsNumber(text.substr(0, end), value)) return false;
  *value *= known->second;
  return true;
}

}  // namespace

CLI::Validator WholeBetween(long long least, long long most) {
  const auto check = [=](const std::string& text) {
    long long value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && rest == text.data() + text.size();
    if (whole && value >= least && value <= most) return std::string();
    return fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
  };
  return {check, fmt::format("in [{} - {}]", least, most)};
}

CLI::Validator OneOf(const std::vector<std::string>& words) {
  const auto check = [words](const std::string& text) {
    if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
    return fmt::format("'{}' is none of {}", text, fmt::join(words, ", "));
  };
  return {check, fmt::format("{{{}}}", fmt::join(words, ","))};
}

CLI::Validator DurationBetween(double least_seconds, double most_seconds) {
  const auto change = [=](std::string& text) {
    double seconds = 0;
    if (WithUnit(text, {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86'400}, {"", 1}}, &seconds) &&
        seconds >= least_seconds && seconds <= most_seconds) {
      text = fmt::format("{}", seconds);
      return std::string();
    }
    return fmt::format("'{}' is not a time from {} s to {} s; write 90s, 30m or 2h", text,
                       least_seconds, most_seconds);
  };
  return {change, "TIME"};
}

CLI::Validator ByteSize() {
  const auto change = [](std::string& text) {
    constexpr double kMost = 1e18;
    double bytes = 0;
    if (WithUnit(text,
                 {{"", 1},
                  {"B", 1},
                  {"kB", 1e3},
                  {"MB", 1e6},
                  {"GB", 1e9},
                  {"TB", 1e12},
                  {"KiB", 1024.0},
                  {"MiB", 1024.0 * 1024},
                  {"GiB", 1024.0 * 1024 * 1024},
                  {"TiB", 1024.0 * 1024 * 1024 * 1024}},
                 &bytes) &&
        bytes <= kMost) {
      text = fmt::format("{:.0f}", bytes);
      return std::string();
    }
    return fmt::format("'{}' is not a size; write 4096, 500MB or 1GiB", text);
  };
  return {change, "SIZE"};
}

absl::StatusOr<std::string> ParseWithConfig(CLI::App& app, const ConfigRules& rules,
                                            const std::function<void(CLI::App&)>& declare,
                                            const std::function<void(CLI::App&)>& declare_trial,
                                            int argc, const char* const* argv,
                                            std::string* config) {
  const auto complete = [&](CLI::App& whole, const std::function<void(CLI::App&)>& flags) {
    flags(whole);
    whole.add_option("--config", *config, rules.about + " (default: " + rules.default_path + ")")
        ->take_last();
    whole.set_version_flag("--version", rules.version);
  };
  complete(app, declare);
  CLI::App typed;
  complete(typed, declare_trial);
  Words words(argv + 1, argv + argc);
  try {
    ParseWords(typed, words);
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::CallForVersion& version) {
    return std::string(version.what()) + "\n";
  } catch (const CLI::ParseError& error) {
    return WrongUse(fmt::format("{}; see {} --help", error.what(), rules.program));
  }
  std::error_code ignored;
  const bool named = typed.get_option("--config")->count() > 0;
  if (named || std::filesystem::exists(rules.default_path, ignored)) {
    const ConfigFile file(rules, declare_trial, typed, named ? *config : rules.default_path);
    KB_ASSIGN_OR_RETURN(const Words more, file.Read());
    words.insert(words.begin(), more.begin(), more.end());
  }
  try {
    ParseWords(app, words);
  } catch (const CLI::ParseError& error) {
    return WrongUse(fmt::format("{}; see {} --help", error.what(), rules.program));
  }
  return "";
}

}  // namespace kbench
