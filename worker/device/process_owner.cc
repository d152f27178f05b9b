#include "worker/device/process_owner.h"

#include <pwd.h>
#include <sys/stat.h>

#include <array>
#include <fstream>
#include <utility>

namespace kbench {
namespace {

// Any process may call itself anything, and what is told of it must be UTF-8.
std::string Printable(std::string text) {
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

}  // namespace

ProcessOwner OwnerOf(int pid, const std::string& proc) {
  const std::string dir = proc + "/" + std::to_string(pid);
  struct stat info = {};
  if (pid <= 0 || stat(dir.c_str(), &info) != 0) return {};
  ProcessOwner owner;
  std::getline(std::ifstream(dir + "/comm"), owner.command);
  owner.command = Printable(std::move(owner.command));
  std::array<char, 4096> buffer;
  passwd entry = {};
  passwd* found = nullptr;
  getpwuid_r(info.st_uid, &entry, buffer.data(), buffer.size(), &found);
  owner.user = found != nullptr ? Printable(found->pw_name) : std::to_string(info.st_uid);
  return owner;
}

}  // namespace kbench
