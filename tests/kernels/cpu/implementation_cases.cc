#include "tests/kernels/cpu/implementation_cases.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>

#include "kernels/reference/checker.h"
#include "kernels/reference/inputs.h"

namespace kbench::testing {
namespace {

constexpr unsigned char kGuardByte = 0xa5;
constexpr unsigned char kPoison = 0xff;  // NaN in every floating type

const std::map<std::string, std::vector<std::string>>& Sizes() {
  static const std::map<std::string, std::vector<std::string>> sizes = {
      {"null", {"1"}},
      {"copy", {"1", "2", "17", "255", "4097", "100003"}},
      {"sum", {"1", "2", "17", "255", "8192", "8193", "16385", "24581", "1000003", "4194307"}},
      {"softmax",
       {"1x1", "17x1", "1x17", "33x255", "5x4097", "2x50001", "64x64", "70001x3", "300x16",
        "9x1000", "200x1152", "3x8192", "2x65536", "2x262143", "1x262144"}},
      {"matmul",
       {"1x1x1", "17x1x255", "1x17x33", "64x64x64", "17x33x1", "255x127x129", "3x5x1025",
        "264x392x48"}},
      {"attention",
       {"1x1x1x1", "2x3x17x5", "1x1x255x64", "1x2x65x128", "1x1x33x256", "1x1x140x40", "1x2x128x64",
        "1x1x200x128", "2x1x129x128", "1x1x385x64", "1x1x321x128", "3x50x9x64", "1x1x1025x64"}},
      {"chain",
       {"1", "7", "17", "255", "4097", "100003", "1,depth=1", "1001,depth=2", "4097,depth=3",
        "2049,depth=4", "1025,depth=64"}},
  };
  return sizes;
}

// The same sizes in the kernel's other forms.
std::vector<std::string> WithForms(const std::string& kernel) {
  std::vector<std::string> all = Sizes().at(kernel);
  if (kernel == "matmul") {
    for (const std::string layout : {"nt", "tn", "tt"}) {
      all.push_back("m=1,n=1,k=1,layout=" + layout);
      all.push_back("m=17,n=33,k=65,layout=" + layout);
      all.push_back("m=129,n=64,k=31,layout=" + layout);
      all.push_back("m=1,n=40,k=300,layout=" + layout);
      all.push_back("m=264,n=136,k=72,layout=" + layout);
    }
    // What libraries ask of 8-bit operands.
    for (const std::string layout : {"nn", "nt", "tn", "tt"}) {
      all.push_back("m=20,n=36,k=44,layout=" + layout);
      all.push_back("m=33,n=48,k=80,layout=" + layout);
      all.push_back("m=128,n=272,k=144,layout=" + layout);
    }
  }
  if (kernel == "attention") {
    for (const std::string& size : Sizes().at(kernel)) {
      std::string named;
      std::size_t begin = 0;
      for (const char* name : {"b=", "h=", "s=", "d="}) {
        const std::size_t end = size.find('x', begin);
        named += name + size.substr(begin, end - begin) + ",";
        begin = end + 1;
      }
      all.push_back(named + "causal");
    }
    all.push_back("b=2,h=4,s=65,d=32,hkv=2");
    all.push_back("b=2,h=6,s=67,d=64,hkv=2,causal");
    all.push_back("b=1,h=3,s=20,d=16,hkv=1");
    all.push_back("b=1,h=2,s=1,d=64");
    all.push_back("b=1,h=4,s=129,d=72,hkv=2,causal");
    all.push_back("b=2,h=4,s=193,d=128,hkv=2");
  }
  return all;
}

}  // namespace

std::vector<Cell> CellsOf(const std::vector<Implementation>& table) {
  std::vector<Cell> cells;
  for (const Implementation& implementation : table) {
    for (DType dtype : implementation.dtypes) cells.push_back({&implementation, dtype});
  }
  return cells;
}

std::string CellName(const Cell& cell) {
  std::string name =
      cell.implementation->kernel + "_" + cell.implementation->name + "_" + Info(cell.dtype).name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == '-'; }, '_');
  return name;
}

Problem MustMakeProblem(const std::string& kernel, DType dtype, const std::string& size) {
  auto problem = MakeProblem(kernel, Info(dtype).name, size, "");
  if (!problem.ok()) throw std::invalid_argument(problem.error().message);
  return *problem;
}

std::vector<Problem> SmallProblems(const std::string& kernel, DType dtype) {
  std::vector<Problem> problems;
  for (const std::string& size : WithForms(kernel)) {
    problems.push_back(MustMakeProblem(kernel, dtype, size));
  }
  return problems;
}

HostOperands::HostOperands(const Problem& problem)
    : problem_(problem), specs_(FindKernel(problem.kernel)->operands(problem)) {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const OperandSpec& spec = specs_[i];
    auto& buffer =
        buffers_.emplace_back(2 * kGuard + static_cast<std::size_t>(spec.bytes()), kGuardByte);
    if (!spec.output) {
      reference::FillInput(spec, static_cast<int>(i), kSeed, buffer.data() + kGuard, 0,
                           spec.elements());
    }
  }
  PoisonOutput();
  originals_ = buffers_;
}

OperandPointers HostOperands::pointers() {
  OperandPointers pointers;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    unsigned char* operand = buffers_[i].data() + kGuard;
    if (specs_[i].output) {
      pointers.output = operand;
    } else {
      pointers.inputs.push_back(operand);
    }
  }
  return pointers;
}

std::vector<unsigned char> HostOperands::Output() const {
  if (buffers_.empty()) return {};
  return {buffers_.back().begin() + kGuard, buffers_.back().end() - kGuard};
}

void HostOperands::PoisonOutput() {
  if (buffers_.empty()) return;
  std::fill(buffers_.back().begin() + kGuard, buffers_.back().end() - kGuard, kPoison);
}

std::string HostOperands::Complaint() const {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const auto& now = buffers_[i];
    const auto& before = originals_[i];
    if (!specs_[i].output && now != before) return "input " + specs_[i].name + " was written to";
    if (!std::equal(now.begin(), now.begin() + kGuard, before.begin()) ||
        !std::equal(now.end() - kGuard, now.end(), before.end() - kGuard)) {
      return "written outside of " + specs_[i].name;
    }
  }
  auto reference = reference::Reference::ComputeOrLoad(problem_, kSeed, "");
  if (!reference.ok()) return reference.error();
  const std::vector<unsigned char> output = Output();
  const auto check =
      (*reference)->Check(output.empty() ? nullptr : static_cast<const void*>(output.data()), 1);
  if (check.passed) return "";
  return check.reason + ": " + check.message + " (error " + std::to_string(check.relative_error) +
         ", tolerance " + std::to_string(check.tolerance) + ")";
}

}  // namespace kbench::testing
