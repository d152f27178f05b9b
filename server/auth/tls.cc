#include "server/auth/tls.h"

#include <fstream>
#include <iterator>
#include <string>

#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "server/auth/certificates.h"
#include "server/auth/times.h"
#include "spdlog/spdlog.h"

namespace kbench::server::auth {
namespace {

constexpr unsigned kRefreshSeconds = 1;
constexpr std::int64_t kSoonMicros = std::int64_t{30} * 86'400 * 1'000'000;

absl::Status Bad(const std::string& message) {
  return MakeError(absl::StatusCode::kFailedPrecondition, message, {.reason = "TLS_FILES"});
}

absl::StatusOr<std::string> ReadPem(const std::string& path, const char* what) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (text.find(what) != std::string::npos) return text;
  return Bad(path + " cannot be read or holds no " + what +
             "; make one with: kbench-server init, or name another file");
}

absl::Status CheckFiles(const AuthOptions& options) {
  const std::string& key = options.tls_key.empty() ? options.tls_certificate : options.tls_key;
  KB_ASSIGN_OR_RETURN(const std::string key_pem, ReadPem(key, "PRIVATE KEY-----"));
  KB_ASSIGN_OR_RETURN(const std::string pem,
                      ReadPem(options.tls_certificate, "BEGIN CERTIFICATE-----"));
  KB_ASSIGN_OR_RETURN(const CertificateFacts facts, ReadCertificate(pem));
  if (!CheckKeyBelongs(key_pem, pem).ok()) {
    return Bad(key + " does not belong to the certificate " + options.tls_certificate);
  }
  const std::int64_t left = facts.not_after_micros - SystemClock().WallMicros();
  if (left <= 0) {
    return Bad(options.tls_certificate + " has expired; make a new one with: kbench-server renew");
  }
  if (left < kSoonMicros) {
    spdlog::warn("the certificate ends on {}; make a new one with: kbench-server renew",
                 FormatTime(facts.not_after_micros));
  }
  if (options.tls_client_ca.empty()) return absl::OkStatus();
  return ReadPem(options.tls_client_ca, "BEGIN CERTIFICATE-----").status();
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeTlsCredentials(
    const AuthOptions& options) {
  namespace tls = grpc::experimental;
  KB_RETURN_IF_ERROR(CheckFiles(options));
  const std::string& key = options.tls_key.empty() ? options.tls_certificate : options.tls_key;
  auto provider = std::make_shared<tls::FileWatcherCertificateProvider>(
      key, options.tls_certificate, options.tls_client_ca, kRefreshSeconds);
  tls::TlsServerCredentialsOptions wanted(provider);
  wanted.watch_identity_key_cert_pairs();
  if (options.tls_client_ca.empty()) {
    wanted.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  } else {
    wanted.watch_root_certs();
    // Who shows none has a token; who shows one must have it from our authority.
    wanted.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return tls::TlsServerCredentials(wanted);
}

}  // namespace kbench::server::auth
