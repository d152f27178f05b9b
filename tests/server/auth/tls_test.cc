// TLS: certificates that change while the server runs, authorities that do not fit, files that are
// wrong.
#include "server/auth/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "kbench/v1/account_service.grpc.pb.h"
#include "server/auth/certificates.h"
#include "tests/server/auth/secured_server.h"

namespace kbench::server {
namespace {

using ::testing::HasSubstr;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

absl::Status WhoAmI(kbench::v1::AccountService::Stub& stub, std::string* certificate = nullptr) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  kbench::v1::WhoAmIResponse account;
  const absl::Status status = FromGrpc(stub.WhoAmI(&context, {}, &account));
  if (certificate != nullptr && status.ok()) {
    const auto shown = context.auth_context()->FindPropertyValues("x509_pem_cert");
    *certificate = shown.empty() ? "" : std::string(shown[0].data(), shown[0].size());
  }
  return status;
}

std::string FingerprintOf(const std::string& pem) {
  const auto facts = auth::ReadCertificate(pem);
  return facts.ok() ? facts->fingerprint : "";
}

TEST(Tls, ANewCertificateIsShownToNewConnections) {
  SecuredServer server;
  const auto invited = server.Invite({.owner = "ana"});
  const auto old_stub = kbench::v1::AccountService::NewStub(server.ChannelOf(invited));
  std::string before;
  ASSERT_TRUE(WhoAmI(*old_stub, &before).ok());
  ASSERT_TRUE(auth::Renew(server.config_dir(), {}).ok());
  const std::string renewed =
      FingerprintOf(ReadAll(auth::SetupPaths{server.config_dir()}.server()));
  ASSERT_NE(FingerprintOf(before), renewed);
  std::string now;
  for (int i = 0; i < 100 && FingerprintOf(now) != renewed; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    // A channel of its own, not a subchannel that others keep open.
    const Credentials given = server.CredentialsOf(invited);
    grpc::ChannelArguments args;
    args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto fresh = kbench::v1::AccountService::NewStub(grpc::CreateCustomChannel(
        server.tls_address(), grpc::SslCredentials({given.ca, "", ""}), args));
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + given.token);
    kbench::v1::WhoAmIResponse account;
    const grpc::Status status = fresh->WhoAmI(&context, {}, &account);
    ASSERT_TRUE(status.ok()) << status.error_message();
    const auto shown = context.auth_context()->FindPropertyValues("x509_pem_cert");
    ASSERT_FALSE(shown.empty());
    now = std::string(shown[0].data(), shown[0].size());
  }
  EXPECT_EQ(FingerprintOf(now), renewed);
  // The connection that stood lives on, with the certificate it was made with.
  std::string kept;
  EXPECT_TRUE(WhoAmI(*old_stub, &kept).ok());
  EXPECT_EQ(FingerprintOf(kept), FingerprintOf(before));
}

TEST(Tls, WhoDoesNotFitIsToldWhy) {
  SecuredServer server;
  const auto invited = server.Invite({.owner = "ana"});
  const auto why = [&](const std::string& address, const Credentials& credentials) {
    const auto stub = kbench::v1::AccountService::NewStub(MakeChannel(address, credentials));
    const absl::Status status = WhoAmI(*stub);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    return DetailsOf(ExplainConnection(MessageOf(status), address)).reason;
  };
  const Credentials right = server.CredentialsOf(invited);
  Credentials other_authority = right;
  other_authority.ca = auth::MakeAuthority("another", 10)->certificate;
  EXPECT_EQ(why(server.tls_address(), other_authority), "WRONG_CA");
  EXPECT_EQ(why(server.tls_address(), {}), "TLS_THERE");
  // As if "other" were the name by which the server was reached.
  grpc::ChannelArguments args;
  args.SetSslTargetNameOverride("other");
  const auto stub = kbench::v1::AccountService::NewStub(grpc::CreateCustomChannel(
      server.tls_address(), grpc::SslCredentials({right.ca, "", ""}), args));
  const absl::Status status = WhoAmI(*stub);
  EXPECT_EQ(DetailsOf(ExplainConnection(MessageOf(status), "other")).reason, "WRONG_HOST")
      << status;
}

TEST(Tls, AClientCertificateOfAnotherAuthorityIsRefused) {
  SecuredServer server;
  Credentials credentials = server.CredentialsOf(server.Invite({.owner = "ana"}));
  credentials.token.clear();
  const auto authority = auth::MakeAuthority("another", 10);
  const auto pair = auth::MakeClientCertificate(*authority, "root", auth::Role::kAdmin, 10);
  credentials.certificate = pair->certificate;
  credentials.key = pair->key;
  const auto stub =
      kbench::v1::AccountService::NewStub(MakeChannel(server.tls_address(), credentials));
  EXPECT_FALSE(WhoAmI(*stub).ok());
}

TEST(Tls, WrongFilesAreToldAtTheStart) {
  TempDir dir;
  ASSERT_TRUE(auth::Initialize(dir / "c", {{"localhost"}, "127.0.0.1:7600", false}).ok());
  const auth::SetupPaths paths{dir / "c"};
  const auto error = [](const auth::AuthOptions& options) {
    const auto made = auth::MakeTlsCredentials(options);
    return made.ok() ? std::string() : MessageOf(made.status());
  };
  auth::AuthOptions options;
  options.tls_certificate = paths.server();
  EXPECT_EQ(error(options), "");
  options.tls_key = dir / "none";
  EXPECT_THAT(error(options), HasSubstr("none cannot be read"));
  options.tls_key = paths.ca_certificate();
  EXPECT_THAT(error(options), HasSubstr("PRIVATE KEY"));
  // A key of another certificate.
  options.tls_key = paths.ca_key();
  EXPECT_THAT(error(options), HasSubstr("does not belong"));
  options.tls_key = "";
  options.tls_client_ca = dir / "none";
  EXPECT_THAT(error(options), HasSubstr("none cannot be read"));
  options.tls_client_ca = "";
  const auth::KeyPair authority{ReadAll(paths.ca_key()), ReadAll(paths.ca_certificate())};
  const auto expired = auth::MakeServerCertificate(authority, {"localhost"}, -1);
  ASSERT_TRUE(expired.ok());
  std::ofstream(dir / "expired.pem") << expired->key << expired->certificate;
  options.tls_certificate = dir / "expired.pem";
  EXPECT_THAT(error(options), HasSubstr("kbench-server renew"));
}

}  // namespace
}  // namespace kbench::server
