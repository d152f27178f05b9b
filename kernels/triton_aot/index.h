// What compile.py found out about the binaries it made: which problem each is right for and how it
// is launched. Tables of plain structs, written as C++ by emit.py. Immutable; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace kbench::aot {

// One of a kernel's own parameters, in their order.
struct Argument {
  enum class Kind : std::uint8_t { kOperand, kScratch, kInt32, kInt64 };
  Kind kind = Kind::kOperand;
  int place = 0;                // of the operand, in the catalog's order; of the scratch memory
  const char* expression = "";  // the number's value; how many elements the scratch memory has
  int element_bytes = 0;        // kScratch
  bool zeroed = false;          // kScratch: once, when it is made
};

struct Launch {
  const char* function = "";
  int first_argument = 0;
  int arguments = 0;
  const char* grid[3] = {"1", "1", "1"};
  int warps = 0;
  int stages = 0;
  int shared_bytes = 0;          // dynamic
  int global_scratch_bytes = 0;  // memory that Triton asks for, a block
  int scratch_pointers = 0;      // parameters that Triton appends to the kernel's own
  std::int64_t offset = 0;       // of the cubin in Index::cubins
  std::int64_t bytes = 0;
};

// An implementation with one candidate of constants, for problems of which `when` holds: a
// condition over the names of choice.h. Of several that hold the first is the most specialised.
struct Variant {
  const char* implementation = "";
  const char* kernel = "";
  const char* dtype = "";
  int capability = 0;  // 89
  const char* candidate = "";
  const char* when = "1";
  int first_launch = 0;
  int launches = 0;
};

struct Index {
  const char* triton_version = "";
  std::span<const Variant> variants;
  std::span<const Launch> launches;
  std::span<const Argument> arguments;
  std::string_view cubins;

  std::span<const Launch> LaunchesOf(const Variant& variant) const {
    return launches.subspan(static_cast<std::size_t>(variant.first_launch),
                            static_cast<std::size_t>(variant.launches));
  }
  std::span<const Argument> ArgumentsOf(const Launch& launch) const {
    return arguments.subspan(static_cast<std::size_t>(launch.first_argument),
                             static_cast<std::size_t>(launch.arguments));
  }
  // Empty where the index points behind the end of what there is.
  std::string_view CubinOf(const Launch& launch) const {
    const auto begin = static_cast<std::size_t>(launch.offset);
    const auto size = static_cast<std::size_t>(launch.bytes);
    if (begin > cubins.size() || size > cubins.size() - begin) return {};
    return cubins.substr(begin, size);
  }
};

// The one that this build compiled.
const Index& CompiledIndex();
// All binaries, as the linker put them into the program.
std::string_view Cubins();

}  // namespace kbench::aot
