#include "worker/device/driver_versions.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace kbench {
namespace {

// "580.65.06": digits and at least one dot.
bool IsVersion(const std::string& text) {
  if (text.empty() || text.find('.') == std::string::npos) return false;
  for (const char c : text) {
    if (c != '.' && std::isdigit(static_cast<unsigned char>(c)) == 0) return false;
  }
  return text.front() != '.' && text.back() != '.';
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 ...".
std::string KernelVersion(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return "";
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (IsVersion(word)) return word;
  }
  return "";
}

std::string LibraryVersion(const std::string& path) {
  std::error_code error;
  const std::string name = std::filesystem::canonical(path, error).filename().string();
  const std::size_t at = name.find(".so.");
  if (error || at == std::string::npos) return "";
  const std::string version = name.substr(at + 4);
  return IsVersion(version) ? version : "";
}

}  // namespace

DriverVersions ReadDriverVersions(const std::string& library, const std::string& kernel_file) {
  return {KernelVersion(kernel_file), LibraryVersion(library)};
}

std::string MismatchMessage(const DriverVersions& versions) {
  const auto said = [](const std::string& version) {
    return version.empty() ? "another" : version;
  };
  return "the NVIDIA driver was upgraded and the machine not restarted: the kernel has version " +
         said(versions.kernel) + ", the library is " + said(versions.library) +
         "; restart the machine";
}

absl::Status DriverMismatch(const DriverVersions& versions) {
  return absl::FailedPreconditionError(MismatchMessage(versions));
}

bool IsDriverMismatch(const absl::Status& status) {
  return status.code() == absl::StatusCode::kFailedPrecondition;
}

}  // namespace kbench
