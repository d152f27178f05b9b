#include "server/auth/certificates.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <utility>

#include "proto/support/error.h"
#include "server/auth/crypto.h"

namespace kbench::server::auth {
namespace {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Memory = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;
using Number = std::unique_ptr<BIGNUM, Deleter<BN_free>>;

constexpr char kRolePrefix[] = "kbench://role/";
constexpr long kClockSkewSeconds = 300;
constexpr long kDaySeconds = 86'400;

absl::Status Failed(const std::string& what) {
  char text[256] = "unknown";
  if (const unsigned long code = ERR_get_error(); code != 0) {
    ERR_error_string_n(code, text, sizeof(text));
  }
  ERR_clear_error();
  return MakeError(absl::StatusCode::kInternal, what + ": " + text, {.reason = "CERTIFICATE"});
}

std::string TextOf(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : "";
}

Memory Reader(const std::string& text) {
  return Memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

absl::StatusOr<KeyPair> ToPem(EVP_PKEY* key, X509* certificate) {
  const Memory key_text(BIO_new(BIO_s_mem()));
  const Memory certificate_text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
      PEM_write_bio_X509(certificate_text.get(), certificate) != 1) {
    return Failed("the certificate cannot be written");
  }
  return KeyPair{TextOf(key_text.get()), TextOf(certificate_text.get())};
}

struct Request {
  std::string common_name;
  int days = 0;
  std::string basic_constraints;
  std::string key_usage;
  std::string extended_key_usage = {};
  std::string alternative_names = {};
};

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  if (value.empty()) return true;
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool SetSerial(X509* certificate) {
  std::string bytes = RandomBytes(16);
  bytes[0] = static_cast<char>(bytes[0] & 0x7f);  // positive
  const Number number(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                                static_cast<int>(bytes.size()), nullptr));
  return number != nullptr &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

// Signed by `issuer`; null: by itself.
absl::StatusOr<KeyPair> Issue(const Request& request, X509* issuer, EVP_PKEY* issuer_key) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  if (key == nullptr || certificate == nullptr) return Failed("no key can be made");
  X509* const self = certificate.get();
  X509* const signer = issuer == nullptr ? self : issuer;
  X509_NAME* const subject = X509_get_subject_name(self);
  const auto* name = reinterpret_cast<const unsigned char*>(request.common_name.c_str());
  const bool filled =
      X509_set_version(self, X509_VERSION_3) == 1 && SetSerial(self) &&
      X509_gmtime_adj(X509_getm_notBefore(self), -kClockSkewSeconds) != nullptr &&
      X509_time_adj_ex(X509_getm_notAfter(self), request.days, 0, nullptr) != nullptr &&
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, name, -1, -1, 0) == 1 &&
      X509_set_issuer_name(self, X509_get_subject_name(signer)) == 1 &&
      X509_set_pubkey(self, key.get()) == 1 &&
      AddExtension(self, signer, NID_basic_constraints, request.basic_constraints) &&
      AddExtension(self, signer, NID_key_usage, request.key_usage) &&
      AddExtension(self, signer, NID_ext_key_usage, request.extended_key_usage) &&
      AddExtension(self, signer, NID_subject_alt_name, request.alternative_names) &&
      AddExtension(self, signer, NID_subject_key_identifier, "hash") &&
      AddExtension(self, signer, NID_authority_key_identifier, "keyid:always");
  if (!filled) return Failed("the certificate of " + request.common_name + " cannot be made");
  if (X509_sign(self, issuer_key == nullptr ? key.get() : issuer_key, EVP_sha256()) == 0) {
    return Failed("the certificate of " + request.common_name + " cannot be signed");
  }
  return ToPem(key.get(), self);
}

absl::StatusOr<KeyPair> IssueBy(const KeyPair& authority, const Request& request) {
  const Memory certificate_text = Reader(authority.certificate);
  const Memory key_text = Reader(authority.key);
  const Certificate issuer(PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  const Key key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  if (issuer == nullptr || key == nullptr) return Failed("the authority cannot be read");
  if (X509_check_private_key(issuer.get(), key.get()) != 1) {
    return Failed("the authority's key does not belong to its certificate");
  }
  return Issue(request, issuer.get(), key.get());
}

bool IsAddress(const std::string& host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

std::string AddressText(const ASN1_OCTET_STRING* address) {
  char text[INET6_ADDRSTRLEN] = {};
  const int size = ASN1_STRING_length(address);
  const int family = size == 4 ? AF_INET : AF_INET6;
  if (size != 4 && size != 16) return "";
  return inet_ntop(family, ASN1_STRING_get0_data(address), text, sizeof(text)) != nullptr ? text
                                                                                          : "";
}

std::vector<std::string> HostsOf(X509* certificate) {
  std::vector<std::string> hosts;
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_DNS) {
      hosts.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                         static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
    } else if (name->type == GEN_IPADD) {
      hosts.push_back(AddressText(name->d.iPAddress));
    }
  }
  GENERAL_NAMES_free(names);
  return hosts;
}

std::string CommonNameOf(const X509_NAME* name) {
  const int index = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (index < 0) return "";
  const ASN1_STRING* text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index));
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

}  // namespace

absl::StatusOr<KeyPair> MakeAuthority(const std::string& name, int days) {
  return Issue({.common_name = name,
                .days = days,
                .basic_constraints = "critical,CA:TRUE,pathlen:0",
                .key_usage = "critical,keyCertSign,cRLSign"},
               nullptr, nullptr);
}

absl::StatusOr<KeyPair> MakeServerCertificate(const KeyPair& authority,
                                              const std::vector<std::string>& hosts, int days) {
  std::string names;
  for (const std::string& host : hosts) {
    KB_RETURN_IF_ERROR(CheckHost(host));
    names += (names.empty() ? "" : ",") + std::string(IsAddress(host) ? "IP:" : "DNS:") + host;
  }
  return IssueBy(authority, {.common_name = "kbench-server",
                             .days = days,
                             .basic_constraints = "critical,CA:FALSE",
                             .key_usage = "critical,digitalSignature",
                             .extended_key_usage = "serverAuth",
                             .alternative_names = names});
}

absl::StatusOr<KeyPair> MakeClientCertificate(const KeyPair& authority, const std::string& owner,
                                              Role role, int days) {
  KB_RETURN_IF_ERROR(CheckOwner(owner));
  return IssueBy(authority, {.common_name = owner,
                             .days = days,
                             .basic_constraints = "critical,CA:FALSE",
                             .key_usage = "critical,digitalSignature",
                             .extended_key_usage = "clientAuth",
                             .alternative_names = "URI:" + RoleUri(role)});
}

std::string RoleUri(Role role) { return kRolePrefix + RoleName(role); }

Role RoleOfUri(const std::string& uri) {
  if (uri.rfind(kRolePrefix, 0) != 0) return Role::kNone;
  const auto role = ParseRole(uri.substr(sizeof(kRolePrefix) - 1));
  return role.ok() ? *role : Role::kNone;
}

absl::StatusOr<CertificateFacts> ReadCertificate(const std::string& pem) {
  const Memory text = Reader(pem);
  const Certificate certificate(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr) return Failed("the certificate cannot be read");
  CertificateFacts facts;
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate.get(), &der);
  if (size <= 0) return Failed("the certificate cannot be read");
  facts.fingerprint = Sha256Hex(std::string(reinterpret_cast<char*>(der), size));
  OPENSSL_free(der);
  facts.common_name = CommonNameOf(X509_get_subject_name(certificate.get()));
  const std::string issuer = CommonNameOf(X509_get_issuer_name(certificate.get()));
  facts.of_kbench = issuer.rfind(kAuthorityPrefix, 0) == 0;
  facts.hosts = HostsOf(certificate.get());
  int days = 0;
  int seconds = 0;
  ASN1_TIME* epoch = ASN1_TIME_set(nullptr, 0);
  if (ASN1_TIME_diff(&days, &seconds, epoch, X509_get0_notAfter(certificate.get())) == 1) {
    facts.not_after_micros = (std::int64_t{days} * kDaySeconds + seconds) * 1'000'000;
  }
  ASN1_TIME_free(epoch);
  return facts;
}

absl::Status CheckKeyBelongs(const std::string& key_pem, const std::string& certificate_pem) {
  const Memory certificate_text = Reader(certificate_pem);
  const Memory key_text = Reader(key_pem);
  const Certificate certificate(
      PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  const Key key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  const bool belongs = certificate != nullptr && key != nullptr &&
                       X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (belongs) return absl::OkStatus();
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   "the private key does not belong to the certificate, or cannot be read",
                   {.reason = "TLS_FILES"});
}

absl::Status CheckHost(const std::string& host) {
  const bool name = !host.empty() && host.size() <= 253 && host[0] != '-' && host[0] != '.' &&
                    host.find_first_not_of(
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789.-") == std::string::npos;
  if (name || IsAddress(host)) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInvalidArgument,
                   "'" + host + "' is neither a host name nor an IP address",
                   {.reason = "BAD_HOST"});
}

}  // namespace kbench::server::auth
