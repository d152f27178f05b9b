#include "proto/support/json.h"

#include <cmath>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/util/json_util.h"

namespace kbench {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool FloatingFieldIsFinite(const Message& message, const FieldDescriptor* field) {
  const Reflection* reflection = message.GetReflection();
  const bool is_double = field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
  if (!field->is_repeated()) {
    return std::isfinite(is_double ? reflection->GetDouble(message, field)
                                   : reflection->GetFloat(message, field));
  }
  for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
    const double value = is_double ? reflection->GetRepeatedDouble(message, field, i)
                                   : reflection->GetRepeatedFloat(message, field, i);
    if (!std::isfinite(value)) return false;
  }
  return true;
}

bool HoldsNumbers(const FieldDescriptor* field) {
  const auto type = field->cpp_type();
  return type == FieldDescriptor::CPPTYPE_DOUBLE || type == FieldDescriptor::CPPTYPE_FLOAT ||
         type == FieldDescriptor::CPPTYPE_MESSAGE;
}

// The name of the first field that holds NaN or an infinity, or empty. Map entries are messages to
// reflection, so maps are covered.
std::string FirstNonFinite(const Message& message) {
  const Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const auto type = field->cpp_type();
    if (type == FieldDescriptor::CPPTYPE_DOUBLE || type == FieldDescriptor::CPPTYPE_FLOAT) {
      if (!FloatingFieldIsFinite(message, field)) return field->full_name();
    } else if (type == FieldDescriptor::CPPTYPE_MESSAGE) {
      // Reflection over maps syncs a second representation inside the system's libprotobuf, whose
      // layout differs from what a ThreadSanitizer build sees. Maps of strings hold no numbers
      // anyway.
      if (field->is_map() && !HoldsNumbers(field->message_type()->map_value())) continue;
      const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        const Message& child = field->is_repeated()
                                   ? reflection->GetRepeatedMessage(message, field, i)
                                   : reflection->GetMessage(message, field);
        if (std::string name = FirstNonFinite(child); !name.empty()) return name;
      }
    }
  }
  return "";
}

absl::Status CheckFinite(const Message& message) {
  const std::string field = FirstNonFinite(message);
  if (field.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("field " + field + " is not a finite number");
}

}  // namespace

absl::StatusOr<std::string> ToFrame(const Message& message) {
  if (absl::Status finite = CheckFinite(message); !finite.ok()) return finite;
  std::string line;
  const auto status = google::protobuf::util::MessageToJsonString(message, &line);
  if (!status.ok()) return absl::InvalidArgumentError(status.ToString());
  if (line.size() > kMaxFrameBytes) {
    return absl::ResourceExhaustedError("a frame of " + std::to_string(line.size()) +
                                        " bytes is over the limit of " +
                                        std::to_string(kMaxFrameBytes));
  }
  return line;
}

absl::Status FromFrame(const std::string& line, Message* message) {
  message->Clear();
  const auto status = google::protobuf::util::JsonStringToMessage(line, message);
  if (!status.ok()) {
    return absl::InvalidArgumentError("not a frame of type " + message->GetTypeName() + ": " +
                                      status.ToString());
  }
  return CheckFinite(*message);
}

std::string ToJsonLine(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string line;
  if (!google::protobuf::util::MessageToJsonString(message, &line, options).ok()) return "{}";
  return line;
}

}  // namespace kbench
