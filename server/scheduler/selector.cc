#include "server/scheduler/selector.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace kbench::scheduler {
namespace {

using Kind = SelectorTerm::Kind;

constexpr char kForms[] =
    "a device's name or UUID, gpu, cpu, model=H200, cc=9.0, cc>=8.9 or label:rack=a";

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// The words of a model: "NVIDIA A100-SXM4-40GB" has four. A word typed is one or a run of them.
std::string Words(std::string_view model) {
  std::string words = " ";
  for (const char c : Lower(model)) {
    const bool part = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.';
    if (part) {
      words += c;
    } else if (words.back() != ' ') {
      words += ' ';
    }
  }
  if (words.back() != ' ') words += ' ';
  return words;
}

// 90 for "9.0" and for "sm_90", 100 for "10.0" and "sm_100a"; below 0: neither.
int CapabilityOf(std::string_view text) {
  const bool architecture = text.substr(0, 3) == "sm_";
  if (architecture) text.remove_prefix(3);
  int major = 0;
  std::size_t at = 0;
  for (; at < text.size() && at < 4 && std::isdigit(static_cast<unsigned char>(text[at])); ++at) {
    major = 10 * major + (text[at] - '0');
  }
  if (at == 0) return -1;
  if (architecture) return at == text.size() || text.substr(at) == "a" ? major : -1;
  if (at + 2 != text.size() || text[at] != '.') return -1;
  const char minor = text[at + 1];
  return std::isdigit(static_cast<unsigned char>(minor)) ? 10 * major + (minor - '0') : -1;
}

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool ParseCapability(std::string_view value, SelectorTerm* term, std::string* error) {
  term->value = value;
  term->capability = CapabilityOf(value);
  if (term->capability >= 0) return true;
  *error = "'" + term->text + "': a compute capability is written as in cc=9.0 or cc>=8.9";
  return false;
}

bool ParseTerm(std::string_view text, SelectorTerm* term, std::string* error) {
  term->text = text;
  if (text == "gpu" || text == "cpu") {
    term->kind = Kind::kAnyOfKind;
    term->value = text == "gpu" ? "cuda" : "cpu";
    return true;
  }
  if (StartsWith(text, "cc>=")) {
    term->kind = Kind::kCapabilityAtLeast;
    return ParseCapability(Trim(text.substr(4)), term, error);
  }
  if (StartsWith(text, "cc=")) {
    term->kind = Kind::kCapability;
    return ParseCapability(Trim(text.substr(3)), term, error);
  }
  if (StartsWith(text, "model=")) {
    term->kind = Kind::kModel;
    term->value = Words(text.substr(6));
    if (term->value != " ") return true;
    *error = "'" + term->text + "': the model is missing, as in model=H200";
    return false;
  }
  if (StartsWith(text, "label:")) {
    const std::string_view rest = text.substr(6);
    const std::size_t equals = rest.find('=');
    term->kind = Kind::kLabel;
    if (equals != std::string_view::npos && equals > 0) {
      term->key = Trim(rest.substr(0, equals));
      term->value = Trim(rest.substr(equals + 1));
      if (!term->key.empty()) return true;
    }
    *error = "'" + term->text + "': a label is written as in label:rack=a";
    return false;
  }
  if (text.find_first_of("=:<>") != std::string_view::npos) {
    *error = "'" + term->text + "' selects nothing; a term is " + kForms;
    return false;
  }
  term->kind = Kind::kDevice;
  term->value = text;
  return true;
}

bool IsOneWord(const std::string& text) {
  return text.find_first_of(",=:<> ") == std::string::npos;
}

bool NamesDevice(const std::string& word, const WorkerEntry& device) {
  return word == device.device || (!device.uuid.empty() && word == device.uuid);
}

}  // namespace

bool ParseSelector(const std::string& text, Selector* selector, std::string* error) {
  selector->terms.clear();
  if (Trim(text).empty()) return true;
  std::string_view rest = text;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::string_view term = Trim(more ? rest.substr(0, comma) : rest);
    if (more) rest.remove_prefix(comma + 1);
    if (term.empty()) {
      *error = "'" + text + "' has an empty term between its commas; a term is " + kForms;
      return false;
    }
    if (!ParseTerm(term, &selector->terms.emplace_back(), error)) return false;
  }
  return true;
}

bool Holds(const SelectorTerm& term, const WorkerEntry& device) {
  switch (term.kind) {
    case Kind::kDevice:
      return NamesDevice(term.value, device);
    case Kind::kAnyOfKind:
      return term.value == device.device_kind;
    case Kind::kModel:
      return Words(device.model).find(term.value) != std::string::npos;
    case Kind::kCapability:
      return CapabilityOf(device.architecture) == term.capability;
    case Kind::kCapabilityAtLeast:
      return CapabilityOf(device.architecture) >= term.capability;
    case Kind::kLabel: {
      const auto found = device.labels.find(term.key);
      return found != device.labels.end() && found->second == term.value;
    }
  }
  return false;
}

bool Selects(const Selector& selector, const WorkerEntry& device) {
  return std::all_of(selector.terms.begin(), selector.terms.end(),
                     [&](const SelectorTerm& term) { return Holds(term, device); });
}

bool Selects(const std::string& selector, const WorkerEntry& device) {
  if (selector.empty()) return true;
  if (selector == "gpu") return device.device_kind == "cuda";
  if (selector == "cpu") return device.device_kind == "cpu";
  if (IsOneWord(selector)) return NamesDevice(selector, device);
  Selector parsed;
  std::string error;
  return ParseSelector(selector, &parsed, &error) && Selects(parsed, device);
}

bool MayMixModels(const std::string& selector) {
  const std::string_view text = Trim(selector);
  return text.empty() || text == "gpu" || text == "cpu";
}

}  // namespace kbench::scheduler
