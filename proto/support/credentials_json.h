// Credentials as JSON fields: in the file and in a join line. Pure; thread-safe.
#pragma once

#include "absl/status/statusor.h"
#include "google/protobuf/struct.pb.h"
#include "proto/support/credentials.h"

namespace kbench {

google::protobuf::Struct CredentialsToStruct(const Credentials& credentials);
// Fields it does not know are left alone: a newer program may have written them.
absl::StatusOr<Credentials> CredentialsFromStruct(const google::protobuf::Struct& fields);

}  // namespace kbench
