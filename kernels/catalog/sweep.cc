// A text is a list of sizes; a size is a product of parts; a part may be a range. Everything is
// counted before anything is written out, so that "1..2^62+1" costs nothing.
#include "kernels/catalog/sweep.h"

#include <algorithm>
#include <limits>

#include "kernels/catalog/words.h"

namespace kbench {
namespace {

using catalog::Quote;
using catalog::Split;

constexpr std::uint64_t kUncountable = std::numeric_limits<std::uint64_t>::max();

CatalogError Bad(const std::string& message, std::vector<std::string> nearest = {}) {
  return {"size", "BAD_SIZE", message, std::move(nearest)};
}

// A text that is taken as it is, or the numbers first, first op step, ... up to last.
struct Part {
  std::string prefix;  // "m=" or empty
  std::string text;
  bool range = false;
  std::int64_t first = 0, last = 0, step = 0;
  bool multiply = false;

  std::uint64_t Count() const;
  std::string At(std::uint64_t index) const;
};

std::uint64_t Part::Count() const {
  if (!range) return 1;
  if (!multiply) return static_cast<std::uint64_t>((last - first) / step) + 1;
  std::uint64_t count = 1;
  for (std::int64_t value = first; value <= last / step; value *= step) ++count;
  return count;
}

std::string Part::At(std::uint64_t index) const {
  if (!range) return prefix + text;
  std::int64_t value = first;
  if (multiply) {
    for (std::uint64_t i = 0; i < index; ++i) value *= step;
  } else {
    value += static_cast<std::int64_t>(index) * step;
  }
  return prefix + std::to_string(value);
}

// One size of the list: its parts, and what stands between them.
struct Item {
  std::vector<Part> parts;
  char separator = 'x';

  std::uint64_t Count() const;
  std::string At(std::uint64_t index) const;
};

std::uint64_t Item::Count() const {
  std::uint64_t count = 1;
  for (const Part& part : parts) {
    if (__builtin_mul_overflow(count, part.Count(), &count)) return kUncountable;
  }
  return count;
}

// The last part varies fastest.
std::string Item::At(std::uint64_t index) const {
  std::vector<std::string> texts(parts.size());
  for (std::size_t i = parts.size(); i-- > 0;) {
    const std::uint64_t count = parts[i].Count();
    texts[i] = parts[i].At(index % count);
    index /= count;
  }
  std::string joined;
  for (const std::string& text : texts) {
    if (!joined.empty()) joined += separator;
    joined += text;
  }
  return joined;
}

Expected<Part, CatalogError> ParseRange(Part part, std::size_t dots) {
  const std::string& text = part.text;
  const std::size_t op = text.find_first_of("*+", dots);
  const std::string first = text.substr(0, dots);
  if (op == std::string::npos) {
    return Bad("the range " + Quote(text) + " does not say how it goes on: write " +
                   Quote("a..b*2") + " or " + Quote("a..b+256"),
               {text.size() <= 40 ? text + "*2" : "1..1024*2"});
  }
  const std::string last = text.substr(dots + 2, op - dots - 2), step = text.substr(op + 1);
  std::int64_t* const values[] = {&part.first, &part.last, &part.step};
  const std::string* const texts[] = {&first, &last, &step};
  for (int i = 0; i < 3; ++i) {
    auto value = ParseCount(*texts[i]);
    if (!value.ok())
      return Bad("in the range " + Quote(text) + ": " + value.error().message,
                 value.error().nearest);
    *values[i] = *value;
  }
  part.range = true;
  part.multiply = text[op] == '*';
  if (part.first > part.last) {
    return Bad("the range " + Quote(text) + " ends before it begins: write the smaller size first",
               {last + ".." + first + text.substr(op)});
  }
  if (part.multiply && part.step == 1) {
    return Bad("the range " + Quote(text) + " never ends: a factor is at least 2",
               {first + ".." + last + "*2"});
  }
  return part;
}

Expected<Part, CatalogError> ParsePart(const std::string& text) {
  Part part;
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos) part.prefix = text.substr(0, equals + 1);
  part.text = text.substr(part.prefix.size());
  const std::size_t dots = part.text.find("..");
  if (dots == std::string::npos) return part;
  return ParseRange(std::move(part), dots);
}

Expected<Item, CatalogError> ParseItem(const std::string& text) {
  Item item;
  // "m=1..4*2,n=8" and "1024,causal" are split at commas, "1..4*2x8" at the x.
  const bool fields = text.find('=') != std::string::npos || text.find(',') != std::string::npos;
  item.separator = fields ? ',' : 'x';
  const bool range = text.find("..") != std::string::npos;
  const std::vector<std::string> pieces =
      range ? Split(text, item.separator) : std::vector<std::string>{text};
  for (const std::string& piece : pieces) {
    auto part = ParsePart(piece);
    if (!part.ok()) return part.error();
    // Without a range the text is passed on as it stands, for the kernel's own grammar to judge.
    if (!range) part->prefix.clear(), part->text = piece;
    item.parts.push_back(*part);
  }
  return item;
}

// The sizes of a list. ';' always separates. Where no name is given ',' does too, except before a
// word: "1024,2048,causal" is 1024 and 2048,causal.
Expected<std::vector<std::string>, CatalogError> SplitList(const std::string& text) {
  std::vector<std::string> items;
  for (const std::string& group : Split(text, ';')) {
    if (group.find('=') != std::string::npos) {
      items.push_back(group);
      continue;
    }
    const std::size_t before = items.size();
    for (const std::string& piece : Split(group, ',')) {
      const bool word = !piece.empty() && ((piece[0] >= 'a' && piece[0] <= 'z'));
      if (word && items.size() > before) {
        items.back() += "," + piece;
      } else {
        items.push_back(piece);
      }
    }
  }
  if (items.size() > 1 && std::count(items.begin(), items.end(), std::string()) > 0) {
    return Bad("the list " + Quote(text) + " has an empty size: write it as in '256,512,1024'");
  }
  return items;
}

CatalogError TooMany(std::uint64_t count, std::size_t most) {
  const std::string many =
      count == kUncountable ? std::string("more than 2^64") : std::to_string(count);
  return {"size",
          "TOO_MANY_SIZES",
          "these are " + many + " sizes: at most " + std::to_string(most) + " are allowed at once",
          {}};
}

}  // namespace

Expected<std::vector<std::string>, CatalogError> ExpandSizes(const std::string& text,
                                                             std::size_t most) {
  auto texts = SplitList(text);
  if (!texts.ok()) return texts.error();
  std::vector<Item> items;
  std::uint64_t count = 0;
  for (const std::string& size : *texts) {
    auto item = ParseItem(size);
    if (!item.ok()) return item.error();
    if (__builtin_add_overflow(count, item->Count(), &count)) count = kUncountable;
    items.push_back(std::move(*item));
  }
  if (count > most) return TooMany(count, most);
  std::vector<std::string> sizes;
  for (const Item& item : items) {
    for (std::uint64_t i = 0; i < item.Count(); ++i) sizes.push_back(item.At(i));
  }
  return sizes;
}

}  // namespace kbench
