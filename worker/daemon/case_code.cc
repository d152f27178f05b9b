// The device code of a case's cells: what the runners hold of it, and its disassembly.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "fmt/format.h"
#include "proto/support/ids.h"
#include "spdlog/spdlog.h"
#include "worker/daemon/attach.h"
#include "worker/daemon/case_driver.h"
#include "worker/profile/disassemble.h"
#include "worker/profile/tool.h"

namespace kbench {
namespace {

constexpr double kCollectSeconds = 5;
constexpr double kLeastSeconds = 0.5;
constexpr double kDisassembleSeconds = 10;
constexpr std::size_t kMostFileBytes = 4 << 20;
// Of an attempt: it travels in one message with everything else (64 MiB at most).
constexpr std::size_t kMostCodeBytes = 24 << 20;

const char* MediaType(const std::string& kind) {
  if (kind == "ptx") return "text/x-ptx";
  return kind == "sass" ? "text/x-sass" : "application/x-cubin";
}

std::size_t BytesOf(const v1::AttemptResult& attempt) {
  std::size_t bytes = 0;
  for (const v1::Artifact& artifact : attempt.artifacts()) bytes += artifact.content().size();
  return bytes;
}

}  // namespace

// Behind the rounds of a group, while its cells are prepared. Whatever goes wrong here costs no
// cell its numbers.
void CaseDriver::CollectCode() {
  if (context_.facts->device.kind() != "cuda") return;
  const PhaseScope phase(this, "finish");
  for (Cell* cell : Resident()) {
    if (Stopped()) return;
    if (cell->code_key.empty()) CollectCode(*cell);
  }
}

void CaseDriver::CollectCode(Cell& cell) {
  v1::CodeCollected collected;
  if (!AskForCode(cell, "", &collected) || collected.functions().empty()) return;
  const auto* hello = context_.pool->HelloOf(assign_.case_().kernel(), cell.name);
  cell.code_key = hello == nullptr ? "" : hello->build_id();
  for (const std::string& function : collected.functions()) cell.code_key += " " + function;
  if (!collected.digest().empty()) cell.code_key += " " + collected.digest();
  if (context_.code != nullptr) {
    if (const auto* sent = context_.code->Find(cell.code_key)) {
      cell.sent_code = *sent;
      return;
    }
  }
  cell.code_dir = reference_dir_ + "/code-" + RandomId(8);
  std::error_code error;
  std::filesystem::create_directories(cell.code_dir, error);
  if (error || !AskForCode(cell, cell.code_dir, &collected)) return;
  cell.code_files.assign(collected.files().begin(), collected.files().end());
  cell.code_note = collected.message();
}

bool CaseDriver::AskForCode(Cell& cell, const std::string& directory,
                            v1::CodeCollected* collected) {
  const double seconds = std::min(kCollectSeconds, LeftAfterRounds());
  if (cell.runner == nullptr || seconds < kLeastSeconds) return false;
  v1::RunnerRequest request;
  request.mutable_collect_code()->set_directory(directory);
  request.mutable_collect_code()->set_architecture(context_.facts->device.architecture());
  auto reply = cell.runner->Call(std::move(request), seconds, "collect", cancel_);
  if (reply.ok()) {
    *collected = std::move(*reply->mutable_code_collected());
    return true;
  }
  cell.code_note = "the runner did not give it: " + reply.error().message;
  if (reply.error().lost) {
    cell.output += cell.runner->TakeOutput();
    cell.runner.reset();
    UpdateOwnProcesses();
  }
  return false;
}

// Each cubin beside what the toolkit's disassembler makes of it, where there is one and time left.
void CaseDriver::Disassemble() {
  if (context_.disassembler.empty()) return;
  for (const auto& cell : cells_) {
    std::vector<v1::CodeFile> texts;
    for (const v1::CodeFile& file : cell->code_files) {
      if (file.kind() != "cubin") continue;
      const auto text = TextOf(*cell, file);
      if (!text.ok()) {
        spdlog::info("no SASS of {}: {}", cell->name, std::string(text.status().message()));
        continue;
      }
      v1::CodeFile sass = file;
      sass.set_kind("sass");
      sass.set_name(file.name() + ".sass");
      if (profile::WriteWhole(cell->code_dir + "/" + sass.name(), *text)) texts.push_back(sass);
    }
    cell->code_files.insert(cell->code_files.end(), texts.begin(), texts.end());
  }
}

absl::StatusOr<std::string> CaseDriver::TextOf(const Cell& cell, const v1::CodeFile& cubin) const {
  const std::string key = cell.code_key + " " + cubin.name();
  if (context_.code != nullptr) {
    if (const std::string* known = context_.code->FindText(key)) return *known;
  }
  const double seconds = std::min(kDisassembleSeconds, LeftAfterRounds());
  if (seconds < kLeastSeconds) return absl::DeadlineExceededError("no time is left");
  auto text = profile::Disassemble(context_.disassembler, cell.code_dir + "/" + cubin.name(),
                                   {cubin.functions().begin(), cubin.functions().end()}, seconds,
                                   kMostFileBytes, [this] { return Stopped(); });
  if (text.ok() && context_.code != nullptr) context_.code->KeepText(key, *text);
  return text;
}

// "cuda_mma.cubin"; "cuda_mma-2.cubin" for a second translation unit.
std::string CaseDriver::CodeName(const Cell& cell, std::size_t index) const {
  int same = 1;
  for (std::size_t i = 0; i < index; ++i) {
    if (cell.code_files[i].kind() == cell.code_files[index].kind()) ++same;
  }
  const std::string number = same > 1 ? fmt::format("-{}", same) : "";
  return FileName("", cell.name, number + "." + cell.code_files[index].kind());
}

void CaseDriver::AddCode(const Cell& cell, v1::Result* result, v1::AttemptResult* attempt) const {
  for (const std::string& name : cell.sent_code) result->add_artifacts(name);
  for (std::size_t i = 0; i < cell.code_files.size(); ++i) {
    const v1::CodeFile& file = cell.code_files[i];
    std::string bytes = profile::ReadStart(cell.code_dir + "/" + file.name(), kMostFileBytes);
    if (bytes.empty() || BytesOf(*attempt) + bytes.size() > kMostCodeBytes) continue;
    AddArtifact(CodeName(cell, i), MediaType(file.kind()), std::move(bytes), result, attempt);
  }
}

// The names are those that the coordinator gives to the files of an attempt that ends its case.
void CaseDriver::RememberCode(const v1::AttemptResult& attempt) const {
  const bool stored = attempt.infra_error().empty() && !attempt.cancelled();
  if (context_.code == nullptr || !stored) return;
  for (const auto& cell : cells_) {
    if (cell->code_files.empty()) continue;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < cell->code_files.size(); ++i) {
      const std::string file = CodeName(*cell, i);
      const bool sent = std::any_of(attempt.artifacts().begin(), attempt.artifacts().end(),
                                    [&](const auto& one) { return one.name() == file; });
      if (!sent) continue;
      names.push_back(fmt::format("artifacts/{}-{}-{}", JobId(attempt.id().job()),
                                  attempt.id().case_index(), file));
    }
    context_.code->Keep(cell->code_key, std::move(names));
  }
}

}  // namespace kbench
