#include "worker/runner/collect_code.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "kernels/elf/elf.h"
#include "proto/support/fnv.h"
#include "worker/fatbin/fatbin.h"

namespace kbench {
namespace {

constexpr char kSection[] = ".nv_fatbin";
constexpr std::size_t kMostFileBytes = 4 << 20;
constexpr std::uintmax_t kMostProgramBytes = 1 << 30;

// "sm_90" -> 90; 0 for what is none.
int Capability(const std::string& architecture) {
  return architecture.rfind("sm_", 0) == 0 ? std::atoi(architecture.c_str() + 3) : 0;
}

// Adds to the one sentence of the reply.
void Say(const std::string& what, v1::CodeCollected* reply) {
  reply->set_message(reply->message().empty() ? what : reply->message() + "; " + what);
}

std::string ReadProgram(const std::string& path, v1::CodeCollected* reply) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file || size > kMostProgramBytes) {
    Say("the program " + path + " cannot be read", reply);
    return "";
  }
  std::string bytes(size, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

// A file in the directory, and what the reply says of it.
void WriteFile(std::string_view bytes, const std::string& kind, const std::string& architecture,
               const std::vector<std::string>& functions, const std::string& directory,
               v1::CodeCollected* reply) {
  if (bytes.size() > kMostFileBytes) {
    Say("the " + kind + " of " + functions.front() + " is left out: it has " +
            std::to_string(bytes.size()) + " bytes, at most " + std::to_string(kMostFileBytes) +
            " are kept",
        reply);
    return;
  }
  const std::string name = "code-" + std::to_string(reply->files_size()) + "." + kind;
  std::ofstream out(directory + "/" + name, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) return Say("cannot write " + directory + "/" + name, reply);
  v1::CodeFile& file = *reply->add_files();
  file.set_name(name);
  file.set_kind(kind);
  file.set_architecture(architecture);
  file.set_size_bytes(static_cast<std::int64_t>(bytes.size()));
  for (const std::string& function : functions) file.add_functions(function);
}

// It only has to tell what one build compiled apart.
std::string Digest(const std::vector<DeviceCode>& code) {
  std::uint64_t hash = kFnvBegin;
  for (const DeviceCode& one : code) hash = Fnv1a(one.bytes, hash);
  return std::to_string(hash);
}

}  // namespace

void CollectCode(const std::string& program, const std::vector<std::string>& functions,
                 const v1::CollectCode& request, v1::CodeCollected* reply) {
  const int capability = Capability(request.architecture());
  if (capability == 0) {
    return Say("'" + request.architecture() + "' is no architecture of a GPU (sm_90)", reply);
  }
  const std::string file = ReadProgram(program, reply);
  if (file.empty()) return;
  std::string_view section;
  for (const elf::Section& one : elf::ElfSections(file)) {
    if (one.name == kSection) section = one.content;
  }
  const fatbin::Contents contents = fatbin::ReadFatbin(section);
  if (!contents.problem.empty()) Say(contents.problem, reply);
  // In the order of the functions, each entry once.
  std::vector<std::pair<const fatbin::Entry*, std::vector<std::string>>> found;
  for (const std::string& function : functions) {
    const fatbin::Choice choice = fatbin::Choose(contents.entries, function, capability);
    for (const fatbin::Entry* entry : {choice.cubin, choice.ptx}) {
      if (entry == nullptr) continue;
      auto same = std::find_if(found.begin(), found.end(),
                               [&](const auto& one) { return one.first == entry; });
      if (same == found.end()) {
        found.emplace_back(entry, std::vector<std::string>{});
        same = found.end() - 1;
      }
      same->second.push_back(function);
    }
    if (choice.cubin == nullptr && choice.ptx == nullptr) {
      Say("the program holds no code of " + function + " for " + request.architecture() +
              (contents.compressed > 0 ? " that is not compressed" : ""),
          reply);
    }
  }
  for (const auto& [entry, names] : found) {
    WriteFile(entry->bytes, entry->kind == fatbin::Kind::kPtx ? "ptx" : "cubin",
              entry->Architecture(), names, request.directory(), reply);
  }
}

void WriteCode(const std::vector<DeviceCode>& code, const std::string& directory,
               v1::CodeCollected* reply) {
  reply->set_digest(Digest(code));
  if (directory.empty()) return;
  for (const DeviceCode& one : code) {
    WriteFile(one.bytes, one.kind, one.architecture, {one.function}, directory, reply);
  }
}

}  // namespace kbench
