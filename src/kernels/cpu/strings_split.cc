// Splitting of strings, and code points. Outputs are allocated when the parts are known.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kernels/cpu/strings_register.h"
#include "kernels/cpu/unicode.h"
#include "op/kernel.h"
#include "tandem/error.h"
#include "tandem/ops/strings.h"

namespace tandem::cpu {

namespace {

struct SplitPlan {
  int64_t n = 0, most = -1;
};
SplitPlan prepare_string_split(const Signature& s) {
  return {s.in(0).shape.num_elements(), s.attrs.as<strings::SplitAttrs>().maxsplit};
}

// By runs of white space, with none at the ends; as Python's str.split().
void split_white(std::string_view s, int64_t most, std::vector<std::string_view>& out) {
  constexpr const char* kWhite = " \t\n\r\f\v";
  size_t at = s.find_first_not_of(kWhite);
  for (int64_t cuts = 0; at != std::string_view::npos; ++cuts) {
    const size_t end =
        most >= 0 && cuts >= most ? std::string_view::npos : s.find_first_of(kWhite, at);
    if (end == std::string_view::npos) {
      out.push_back(s.substr(at));
      return;
    }
    out.push_back(s.substr(at, end - at));
    at = s.find_first_not_of(kWhite, end);
  }
}

void split_at(std::string_view s, std::string_view sep, int64_t most,
              std::vector<std::string_view>& out) {
  size_t at = 0;
  for (int64_t cuts = 0; most < 0 || cuts < most; ++cuts) {
    const size_t end = s.find(sep, at);
    if (end == std::string_view::npos) break;
    out.push_back(s.substr(at, end - at));
    at = end + sep.size();
  }
  out.push_back(s.substr(at));
}

void launch_split(const SplitPlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  const std::string& sep = *a.in<std::string>(1);
  std::vector<std::string_view> parts;
  std::vector<size_t> ends;
  for (int64_t i = 0; i < p.n; ++i) {
    const std::string_view s = a.in<std::string>(0)[i];
    if (sep.empty()) {
      split_white(s, p.most, parts);
    } else {
      split_at(s, sep, p.most, parts);
    }
    ends.push_back(parts.size());
  }
  const auto n = static_cast<int64_t>(parts.size());
  auto* indices = static_cast<int64_t*>(outputs.allocate(0, {n, 2}));
  auto* values = static_cast<std::string*>(outputs.allocate(1, {n}));
  auto* shape = static_cast<int64_t*>(outputs.allocate(2, {2}));
  size_t begin = 0, longest = 0;
  for (size_t row = 0; row < ends.size(); ++row) {
    for (size_t k = begin; k < ends[row]; ++k) {
      *indices++ = static_cast<int64_t>(row);
      *indices++ = static_cast<int64_t>(k - begin);
      values[k] = parts[k];
    }
    longest = std::max(longest, ends[row] - begin);
    begin = ends[row];
  }
  shape[0] = p.n;
  shape[1] = static_cast<int64_t>(longest);
}

// ---- Code points

struct UnicodePlan {
  strings::UnicodeAttrs attrs;
  Encoding in = Encoding::kUtf8, out = Encoding::kUtf8;
  int64_t n = 0;
};
UnicodePlan prepare_unicode(const Signature& s) {
  const auto& a = s.attrs.as<strings::UnicodeAttrs>();
  return {a, encoding_of(a.input_encoding), encoding_of(a.output_encoding),
          s.in(0).shape.num_elements()};
}

/// visit(code point, byte offset) for every character, after the rule for wrong bytes.
template <class Visit>
void each_code_point(const UnicodePlan& p, const char* op, std::string_view s,
                     Visit visit) {
  for (size_t at = 0; at < s.size();) {
    const CodePoint c = next_code_point(s.substr(at), p.in);
    if (c.value >= 0) {
      visit(c.value, at);
    } else if (p.attrs.errors == "strict") {
      throw InvalidArgumentError(fmt::format(
          "{}: Invalid formatting on input string. Bytes at {} are not {}; use "
          "errors='replace' or 'ignore'",
          op, at, p.attrs.input_encoding));
    } else if (p.attrs.errors == "replace") {
      visit(static_cast<int32_t>(p.attrs.replacement_char), at);
    }
    at += c.bytes;
  }
}

void launch_decode(const UnicodePlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  std::vector<int32_t> points;
  std::vector<int64_t> offsets;
  auto* splits = static_cast<int64_t*>(outputs.allocate(0, {p.n + 1}));
  splits[0] = 0;
  for (int64_t i = 0; i < p.n; ++i) {
    each_code_point(p, "UnicodeDecodeWithOffsets", a.in<std::string>(0)[i],
                    [&](int32_t value, size_t at) {
                      points.push_back(value);
                      offsets.push_back(static_cast<int64_t>(at));
                    });
    splits[i + 1] = static_cast<int64_t>(points.size());
  }
  const Shape shape{static_cast<int64_t>(points.size())};
  std::copy(points.begin(), points.end(),
            static_cast<int32_t*>(outputs.allocate(1, shape)));
  std::copy(offsets.begin(), offsets.end(),
            static_cast<int64_t*>(outputs.allocate(2, shape)));
}

void launch_transcode(const UnicodePlan& p, const LaunchArgs& a) {
  for (int64_t i = 0; i < p.n; ++i) {
    std::string& out = a.out<std::string>()[i];
    out.clear();
    each_code_point(p, "UnicodeTranscode", a.in<std::string>(0)[i],
                    [&](int32_t value, size_t) { append_code_point(out, value, p.out); });
  }
}

struct EncodePlan {
  strings::UnicodeAttrs attrs;
  Encoding out = Encoding::kUtf8;
  int64_t points = 0, strings = 0;
};
EncodePlan prepare_encode(const Signature& s) {
  const auto& a = s.attrs.as<strings::UnicodeAttrs>();
  return {a, encoding_of(a.output_encoding), s.in(0).shape.num_elements(),
          s.out().shape.num_elements()};
}
void launch_encode(const EncodePlan& p, const LaunchArgs& a) {
  const auto* splits = a.in<int64_t>(1);
  for (int64_t i = 0; i < p.strings; ++i) {
    std::string& out = a.out<std::string>()[i];
    out.clear();
    if (splits[i] < 0 || splits[i] > splits[i + 1] || splits[i + 1] > p.points) {
      throw InvalidArgumentError(
          "UnicodeEncode: Values in input_splits must be in sorted order and within the "
          "values");
    }
    for (int64_t k = splits[i]; k < splits[i + 1]; ++k) {
      int32_t v = a.in<int32_t>(0)[k];
      const bool wrong = v < 0 || v > 0x10ffff || (v >= 0xd800 && v < 0xe000);
      if (wrong && p.attrs.errors == "strict") {
        throw InvalidArgumentError(
            fmt::format("UnicodeEncode: Code point {} is out of range for Unicode, or a "
                        "noncharacter.",
                        v));
      }
      if (wrong && p.attrs.errors == "ignore") continue;
      if (wrong) v = static_cast<int32_t>(p.attrs.replacement_char);
      append_code_point(out, v, p.out);
    }
  }
}

}  // namespace

void register_string_split_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_string_split, launch_split>("StringSplitV2",
                                                               "cpu.StringSplitV2"));
}

void register_unicode_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_unicode, launch_decode>(
      "UnicodeDecodeWithOffsets", "cpu.UnicodeDecodeWithOffsets"));
  registry.add(make_kernel<prepare_unicode, launch_transcode>("UnicodeTranscode",
                                                              "cpu.UnicodeTranscode"));
  registry.add(
      make_kernel<prepare_encode, launch_encode>("UnicodeEncode", "cpu.UnicodeEncode"));
}

}  // namespace tandem::cpu
