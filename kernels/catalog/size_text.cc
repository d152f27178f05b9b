#include "kernels/catalog/size_text.h"

#include <algorithm>

#include "kernels/catalog/sweep.h"
#include "kernels/catalog/words.h"

namespace kbench::catalog {
namespace {

template <typename T>
bool Contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

Expected<std::int64_t, CatalogError> ParseExtent(const std::string& text) {
  auto count = ParseCount(text);
  if (count.ok() && *count > kMostExtent) {
    return BadSize("the extent " + Quote(text) + " is too large: at most 2^40", {"2^40"});
  }
  return count;
}

// The fields of one text, added one by one.
class Parser {
 public:
  explicit Parser(const SizeGrammar& grammar) : grammar_(grammar) {}

  Expected<SizeText, CatalogError> Parse(const std::string& text) {
    if (text.empty()) return Explain("a size is missing");
    const std::vector<std::string> fields = Split(text, ',');
    for (std::size_t i = 0; i < fields.size(); ++i) {
      auto error = Field(fields[i], i == 0);
      if (!error.message.empty()) return error;
    }
    CatalogError missing = Missing();
    if (!missing.message.empty()) return missing;
    return out_;
  }

 private:
  // An error with an empty message means success.
  CatalogError Field(const std::string& field, bool first) {
    if (field.empty()) return Explain("there is an empty field between commas");
    const std::size_t equals = field.find('=');
    if (equals != std::string::npos) {
      return Named(field.substr(0, equals), field.substr(equals + 1));
    }
    if (field == "causal" && grammar_.causal) {
      if (out_.causal) return Explain("'causal' stands there twice");
      out_.causal = true;
      return {};
    }
    if (first) return Positional(field);
    const std::string flags =
        grammar_.causal ? "neither name=value nor 'causal'" : "not name=value";
    return Explain(Quote(field) + " is " + flags, Nearest(field, KnownNames()));
  }

  CatalogError Positional(const std::string& field) {
    std::string text = field;
    std::replace(text.begin(), text.end(), 'X', 'x');
    const std::vector<std::string> parts = Split(text, 'x');
    for (const std::string& part : parts) {
      auto extent = ParseExtent(part);
      if (!extent.ok()) return extent.error();
      out_.positional.push_back(*extent);
    }
    if (!Contains(grammar_.positional_lengths, parts.size())) {
      return Explain("kernel " + grammar_.kernel + " takes no size of " +
                     std::to_string(parts.size()) + " extents");
    }
    return {};
  }

  CatalogError Named(const std::string& name, const std::string& value) {
    if (name == "layout" && !grammar_.layouts.empty()) return Layout(value);
    if (!Contains(grammar_.dims, name) && !Contains(grammar_.optional_dims, name)) {
      const std::vector<std::string> known = KnownNames();
      return Explain("kernel " + grammar_.kernel + " has no dimension " + Quote(name) +
                         "; it has " + Join(known),
                     Nearest(name, known));
    }
    auto extent = ParseExtent(value);
    if (!extent.ok()) return extent.error();
    if (!out_.named.emplace(name, *extent).second) {
      return Explain("dimension " + name + " stands there twice");
    }
    return {};
  }

  CatalogError Layout(const std::string& value) {
    if (!out_.layout.empty()) return Explain("'layout' stands there twice");
    if (!Contains(grammar_.layouts, value)) {
      return BadSize("there is no layout " + Quote(value) + "; there are " + Join(grammar_.layouts),
                     Nearest(value, grammar_.layouts));
    }
    out_.layout = value;
    return {};
  }

  CatalogError Missing() const {
    std::vector<std::string> missing, surplus;
    for (const std::string& dim : grammar_.dims) {
      (out_.named.count(dim) != 0 ? surplus : missing).push_back(dim);
    }
    if (!out_.positional.empty() && !surplus.empty()) {
      return Explain("dimension " + surplus[0] + " is given by name and by position");
    }
    if (out_.positional.empty() && !missing.empty()) {
      std::vector<std::string> nearest;
      for (const std::string& dim : missing) nearest.push_back(dim + "=1");
      return Explain("dimension " + Join(missing) + " is missing", nearest);
    }
    return {};
  }

  std::vector<std::string> KnownNames() const {
    std::vector<std::string> known = grammar_.dims;
    known.insert(known.end(), grammar_.optional_dims.begin(), grammar_.optional_dims.end());
    if (!grammar_.layouts.empty()) known.push_back("layout");
    if (grammar_.causal) known.push_back("causal");
    return known;
  }

  CatalogError Explain(const std::string& message, std::vector<std::string> nearest = {}) const {
    return BadSize(message + "; expected " + grammar_.examples, std::move(nearest));
  }

  const SizeGrammar& grammar_;
  SizeText out_;
};

}  // namespace

CatalogError BadSize(const std::string& message, std::vector<std::string> nearest) {
  return {"size", "BAD_SIZE", message, std::move(nearest)};
}

Expected<SizeText, CatalogError> ParseSizeText(const std::string& text,
                                               const SizeGrammar& grammar) {
  return Parser(grammar).Parse(text);
}

Expected<Shape, CatalogError> WithinBounds(Shape shape, DType dtype, const KernelEntry& entry) {
  const Problem problem{entry.name, dtype, shape, Mode::kCold};
  for (const OperandSpec& operand : entry.operands(problem)) {
    auto bytes = static_cast<std::int64_t>(Info(operand.storage).storage_bytes);
    bool over = false;
    for (std::int64_t extent : operand.extents) {
      over = over || __builtin_mul_overflow(bytes, extent, &bytes) || bytes > kMostOperandBytes;
    }
    if (over) {
      return BadSize("operand " + operand.name + " of " + shape.Canonical() +
                     " is larger than 2^50 bytes: choose a smaller size");
    }
  }
  return shape;
}

}  // namespace kbench::catalog
