#include "client/selftest/page.h"

#include <fmt/format.h>

#include "client/output/text_table.h"
#include "google/protobuf/struct.pb.h"
#include "proto/support/json.h"

namespace kbench::client::selftest {
namespace {

const char* Word(State state) {
  switch (state) {
    case State::kPass:
      return "PASS";
    case State::kFail:
      return "FAIL";
    default:
      return "-";
  }
}

void Put(google::protobuf::Struct* object, const std::string& key, const std::string& text) {
  (*object->mutable_fields())[key].set_string_value(text);
}

std::string Sentence(const Page& page) {
  if (!AllPassed(page.checks)) return "FAIL: do not trust numbers of this device yet";
  if (page.pairs >= kFewPairs) return "PASS: these numbers may be trusted";
  return fmt::format(
      "PASS as far as {} pairs can tell; {} and more tell whether numbers may be trusted",
      page.pairs, kFewPairs);
}

}  // namespace

void PrintPage(Io& io, const Page& page) {
  const kbench::v1::Device& device = page.device;
  io.out << Wrap(fmt::format("selftest of {} ({}, driver {}) on {}: copy fp32 {}, {} pairs",
                             device.name(), device.model(),
                             device.driver().empty() ? "none" : device.driver(), device.hostname(),
                             page.size, page.pairs),
                 kTableWidth, 2)
         << "\n";
  // The last column runs to the edge and wraps: a row of fewer cells than the header does.
  TextTable table{{"what", "", "", ""}, {}, {}};
  for (const Check& check : page.checks) {
    table.rows.push_back({check.name, Word(check.state), check.text});
  }
  const std::string text = table.ToString();
  io.out << text.substr(text.find('\n') + 1);  // without the header
  io.out << Sentence(page) << "\n";
  io.out.flush();
}

void PrintPageJson(Io& io, const Page& page) {
  google::protobuf::Struct object;
  Put(&object, "device", page.device.name());
  Put(&object, "model", page.device.model());
  Put(&object, "driver", page.device.driver());
  Put(&object, "hostname", page.device.hostname());
  Put(&object, "size", page.size);
  auto& fields = *object.mutable_fields();
  fields["pairs"].set_number_value(page.pairs);
  fields["passed"].set_bool_value(AllPassed(page.checks));
  for (const Check& check : page.checks) {
    auto* one = fields["checks"].mutable_list_value()->add_values()->mutable_struct_value();
    Put(one, "name", check.name);
    Put(one, "state", check.state == State::kNote ? "NOTE" : Word(check.state));
    Put(one, "text", check.text);
    for (const auto& [name, count] : check.counts) {
      (*one->mutable_fields())[name].set_number_value(count);
    }
  }
  io.out << "{\"selftest\":" << ToJsonLine(object) << "}\n";
  io.out.flush();
}

}  // namespace kbench::client::selftest
