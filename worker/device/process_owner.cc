#include "worker/device/process_owner.h"

#include <sys/stat.h>

#include <fstream>
#include <utility>

#include "proto/support/user_name.h"

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
  owner.user = Printable(UserName(info.st_uid));
  return owner;
}

}  // namespace kbench
