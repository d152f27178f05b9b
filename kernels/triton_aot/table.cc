#include "kernels/triton_aot/table.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/catalog/dtype.h"
#include "kernels/triton_aot/aot_instance.h"
#include "kernels/triton_aot/choice.h"

namespace kbench {
namespace aot {
namespace {

struct Line {
  const char* name;
  const char* kernel;
  int rung;
  const char* summary;
  const char* compiled;  // what of the kernel's problems, for a refusal
};

// plan.py's.
constexpr std::array<Line, 8> kLines = {{
    {"triton-aot", "null", 0, "an empty kernel of one warp", "every size"},
    {"triton-aot", "copy", 0, "triton's kernel: a block of some words of 16 bytes a thread",
     "n below 2^31"},
    {"triton-aot", "sum", 1,
     "triton's kernel: a partial sum a program, added up by the program that ends last",
     "n below 2^31"},
    {"triton-aot/two-launches", "sum", 0,
     "triton's kernels: a partial sum a program, a second launch adds them up", "n below 2^31"},
    {"triton-aot", "softmax", 0,
     "triton's kernel: rows of up to 32768 columns are read once; longer ones twice",
     "rows and columns below 2^31"},
    {"triton-aot", "chain", 0, "triton's fused kernel: all steps between one read and one write",
     "depth of 1, 2, 4, 8, 16, 30, 32 and 64, n below 2^31"},
    {"triton-aot", "matmul", 0, "triton's kernel: tiles through pointers and a pipeline of stages",
     "extents up to 4194304; of 8-bit operands layout=nt alone"},
    {"triton-aot", "attention", 0,
     "triton's kernel: online softmax over tiles of keys, scores in registers",
     "d of 64 and 128, below 2^31 rows of Q"},
}};

std::string Text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

// What an implementation's functions know of it: functions of the interface carry no state.
template <std::size_t kPlace>
struct Functions {
  static constexpr const Line& kLine = kLines[kPlace];

  static std::optional<std::string> DTypeMissing(DType dtype) {
    const int have = cuda::CurrentDevice().compute_capability;
    if (CodeFor(CompiledIndex(), kLine.name, kLine.kernel, dtype, have) != 0) return std::nullopt;
    std::string compiled;
    for (const Variant& variant : CompiledIndex().variants) {
      const std::string text = Text(variant.capability);
      const bool is = variant.kernel == std::string_view(kLine.kernel) &&
                      variant.dtype == std::string_view(Info(dtype).name);
      if (is && compiled.find(text) == std::string::npos) {
        compiled += (compiled.empty() ? "" : ", ") + text;
      }
    }
    return std::string(Info(dtype).name) + " is compiled ahead of time for compute capability " +
           compiled + ", each good for later ones of its generation; this GPU has " + Text(have);
  }

  static std::vector<const Variant*> Variants(const Problem& problem) {
    const cuda::DeviceTraits& device = cuda::CurrentDevice();
    return VariantsFor(CompiledIndex(), kLine.name, problem, device.compute_capability,
                       device.multiprocessors);
  }

  static std::optional<std::string> Unsupported(const Problem& problem) {
    if (!Variants(problem).empty()) return std::nullopt;
    return "nothing compiled ahead of time fits " + problem.shape.Canonical() + ": compiled is " +
           kLine.compiled;
  }

  static std::vector<std::string> Candidates(const Problem& problem) {
    std::vector<std::string> names;
    for (const Variant* variant : Variants(problem)) names.emplace_back(variant->candidate);
    return names;
  }

  static cuda::CreateResult Create(const Problem& problem, const OperandPointers& operands,
                                   const DeviceContext& context) {
    const std::vector<const Variant*> offered = Variants(problem);
    const auto chosen = std::find_if(offered.begin(), offered.end(), [&](const Variant* each) {
      return context.candidate.empty() || context.candidate == each->candidate;
    });
    if (chosen != offered.end()) {
      return aot::Create(CompiledIndex(), **chosen, problem, operands);
    }
    std::string names;
    for (const Variant* each : offered) {
      names += (names.empty() ? "" : "; ") + std::string(each->candidate);
    }
    return ImplementationError{ImplementationError::Kind::kUnsupported,
                               "there is no candidate '" + context.candidate + "' for " +
                                   problem.shape.Canonical() +
                                   "; offered are: " + (names.empty() ? "none" : names),
                               0};
  }
};

template <std::size_t kPlace>
Implementation Make() {
  using F = Functions<kPlace>;
  const Line& line = kLines[kPlace];
  Implementation made;
  made.name = line.name;
  made.family = "triton-aot";
  made.kernel = line.kernel;
  made.summary = line.summary;
  for (const Variant& variant : CompiledIndex().variants) {
    if (variant.implementation != made.name || variant.kernel != made.kernel) continue;
    const DType dtype = *ParseDType(variant.dtype);
    if (std::find(made.dtypes.begin(), made.dtypes.end(), dtype) == made.dtypes.end()) {
      made.dtypes.push_back(dtype);
    }
  }
  made.default_choice = true;
  made.rung = line.rung;
  made.dtype_missing = F::DTypeMissing;
  made.unsupported = F::Unsupported;
  made.candidates = F::Candidates;
  made.create = F::Create;
  return made;
}

template <std::size_t... kPlaces>
std::vector<Implementation> All(std::index_sequence<kPlaces...>) {
  return {Make<kPlaces>()...};
}

}  // namespace
}  // namespace aot

const std::vector<Implementation>& TritonAotTable() {
  static const std::vector<Implementation> table =
      aot::All(std::make_index_sequence<aot::kLines.size()>());
  return table;
}

std::string TritonAotVersion() { return aot::CompiledIndex().triton_version; }

}  // namespace kbench
