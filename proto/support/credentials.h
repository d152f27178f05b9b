// Credentials as client and worker keep them: what a join line carries, the file it is stored in,
// and which of them a call to an address uses. Functions read the environment and files; values.
// Nothing here is ever logged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kbench {

// All empty: plain, nobody in particular.
struct Credentials {
  std::string ca = {};           // PEM; not empty, or `tls`: the channel speaks TLS
  bool tls = false;              // with `ca` empty: the system's authorities are trusted
  std::string token = {};        // a bearer token
  std::string certificate = {};  // PEM, for mutual TLS, with `key`
  std::string key = {};
  // For people; the coordinator goes by its own records.
  std::string owner = {};
  std::string role = {};
  std::int64_t expire_seconds = 0;  // since the epoch; 0: not known

  bool uses_tls() const { return tls || !ca.empty(); }
};

// One line that lets somebody join: "kbench-join:" and base64url.
struct Invitation {
  std::vector<std::string> addresses;  // tried in order
  Credentials credentials;
};
inline constexpr char kJoinPrefix[] = "kbench-join:";
std::string ToJoinLine(const Invitation& invitation);
// INVALID_ARGUMENT (BAD_JOIN_LINE) says what is wrong with it, and never repeats it.
absl::StatusOr<Invitation> ParseJoinLine(const std::string& line);

// Where a program keeps what it has joined.
std::string ClientCredentialsPath();  // ConfigDir()/client.json
std::string WorkerCredentialsPath();  // ConfigDir()/worker.json

struct StoredCredentials {
  std::string address;  // empty: nothing is stored
  Credentials credentials;
};
// The address joined last, which is the default.
absl::StatusOr<StoredCredentials> DefaultCredentials(const std::string& path);
// Adds or replaces those of the address and makes it the default; the file has mode 0600.
absl::Status StoreCredentials(const std::string& path, const std::string& address,
                              const Credentials& credentials);

// What a call to the normalized `address` uses: KBENCH_TOKEN and KBENCH_CA (a file or PEM) where
// they are set (the token not for one's own local stack), else what `path` holds for the address,
// else nothing. UNAUTHENTICATED when the stored ones have expired.
absl::StatusOr<Credentials> CredentialsFor(const std::string& address, const std::string& path);

}  // namespace kbench
