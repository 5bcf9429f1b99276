// Elementwise ops on strings: length, parts, case, joining, patterns, hashes.
#include "tandem/ops/strings.h"

#include <algorithm>
#include <clocale>
#include <cwctype>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/parallel.h"
#include "kernels/cpu/strings_hash.h"
#include "kernels/cpu/strings_register.h"
#include "kernels/cpu/unicode.h"
#include "op/kernel.h"
#include "tandem/error.h"

namespace tandem::cpu {

namespace {

constexpr int64_t kStringGrain = 256;  // strings

template <class A>
struct AttrsPlan {
  A attrs;
  int64_t n = 0;
};
template <class A>
AttrsPlan<A> prepare_with_attrs(const Signature& s) {
  return {s.attrs.as<A>(), s.out().shape.num_elements()};
}

/// out[i] = body(in[i])
template <class Out, class Body>
void each_string(int64_t n, const LaunchArgs& a, Body body) {
  const auto* in = a.in<std::string>(0);
  auto* out = a.out<Out>();
  parallel_for(n, kStringGrain, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) out[i] = body(in[i]);
  });
}

void launch_length(const AttrsPlan<strings::UnitAttrs>& p, const LaunchArgs& a) {
  const bool bytes = p.attrs.unit == "BYTE";
  each_string<int32_t>(p.n, a, [bytes](const std::string& s) {
    return static_cast<int32_t>(bytes ? static_cast<int64_t>(s.size()) : utf8_length(s));
  });
}

// ---- Parts

struct SubstrPlan {
  bool bytes = true;
  int64_t n = 0;
  bool one_pos = true, one_len = true;
};
SubstrPlan prepare_substr(const Signature& s) {
  return {s.attrs.as<strings::UnitAttrs>().unit == "BYTE", s.out().shape.num_elements(),
          s.in(1).shape.rank() == 0, s.in(2).shape.rank() == 0};
}

// Byte offset of character i; the size when there are fewer.
size_t offset_of(const std::string& s, int64_t i) {
  size_t at = 0;
  for (; at < s.size(); ++at) {
    if ((static_cast<uint8_t>(s[at]) & 0xc0) != 0x80 && i-- == 0) return at;
  }
  return at;
}

template <class I>
void launch_substr(const SubstrPlan& p, const LaunchArgs& a) {
  const auto* in = a.in<std::string>(0);
  auto* out = a.out<std::string>();
  for (int64_t i = 0; i < p.n; ++i) {
    const std::string& s = in[i];
    const int64_t size = p.bytes ? static_cast<int64_t>(s.size()) : utf8_length(s);
    const int64_t given = a.in<I>(1)[p.one_pos ? 0 : i];
    const int64_t len = a.in<I>(2)[p.one_len ? 0 : i];
    const int64_t pos = given < 0 ? given + size : given;
    if (pos < 0 || pos > size) {
      throw InvalidArgumentError(fmt::format(
          "Substr: pos {} out of range for string b'{}' at index {}", given, s, i));
    }
    const int64_t count = std::max<int64_t>(std::min(len, size - pos), 0);
    const size_t from = p.bytes ? static_cast<size_t>(pos) : offset_of(s, pos);
    const size_t to =
        p.bytes ? static_cast<size_t>(pos + count) : offset_of(s, pos + count);
    out[i] = s.substr(from, to - from);
  }
}

// ---- Case

// The C library's tables of letters, whatever the program's locale.
locale_t letters() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

template <bool kUpper>
std::string change_case(const std::string& s, bool utf8) {
  std::string out;
  out.reserve(s.size());
  if (!utf8 || !letters()) {
    for (const char c : s) {
      const bool change = kUpper ? (c >= 'a' && c <= 'z') : (c >= 'A' && c <= 'Z');
      out += change ? static_cast<char>(c ^ 0x20) : c;
    }
    return out;
  }
  for (std::string_view left = s; !left.empty();) {
    const CodePoint c = next_code_point(left, Encoding::kUtf8);
    if (c.value < 0) {
      out += left.substr(0, c.bytes);
    } else {
      const auto wide = static_cast<wint_t>(c.value);
      append_code_point(out,
                        static_cast<int32_t>(kUpper ? towupper_l(wide, letters())
                                                    : towlower_l(wide, letters())),
                        Encoding::kUtf8);
    }
    left.remove_prefix(c.bytes);
  }
  return out;
}

template <bool kUpper>
void launch_case(const AttrsPlan<strings::EncodingAttrs>& p, const LaunchArgs& a) {
  const bool utf8 = !p.attrs.encoding.empty();
  each_string<std::string>(
      p.n, a, [utf8](const std::string& s) { return change_case<kUpper>(s, utf8); });
}

struct CountPlan {
  int64_t n = 0;
};
CountPlan prepare_count(const Signature& s) { return {s.out().shape.num_elements()}; }

void launch_strip(const CountPlan& p, const LaunchArgs& a) {
  each_string<std::string>(p.n, a, [](const std::string& s) {
    constexpr const char* kWhite = " \t\n\r\f\v";
    const size_t from = s.find_first_not_of(kWhite);
    if (from == std::string::npos) return std::string();
    return s.substr(from, s.find_last_not_of(kWhite) + 1 - from);
  });
}

// ---- Joining

struct JoinPlan {
  std::string separator;
  int64_t n = 0;
  std::vector<bool> one;  // of each input: a scalar
};
JoinPlan prepare_join(const Signature& s) {
  JoinPlan p{
      s.attrs.as<strings::JoinAttrs>().separator, s.out().shape.num_elements(), {}};
  for (const TensorInfo& in : s.inputs) p.one.push_back(in.shape.rank() == 0);
  return p;
}
void launch_string_join(const JoinPlan& p, const LaunchArgs& a) {
  auto* out = a.out<std::string>();
  parallel_for(p.n, kStringGrain, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      out[i].clear();
      for (size_t k = 0; k < p.one.size(); ++k) {
        if (k > 0) out[i] += p.separator;
        out[i] += a.in<std::string>(static_cast<int>(k))[p.one[k] ? 0 : i];
      }
    }
  });
}

// Every output element joins those input elements whose remaining coordinates are its
// own; the first of the given axes changes slowest.
struct ReduceJoinPlan {
  std::string separator;
  int64_t n = 0;
  std::vector<int64_t> starts, steps;  // of outputs; of joined elements
};
ReduceJoinPlan prepare_reduce_join(const Signature& s) {
  const auto& attrs = s.attrs.as<strings::ReduceJoinAttrs>();
  const Shape& shape = s.in(0).shape;
  if (shape.num_elements() == 0) {  // of what is joined there may be any number
    return {attrs.separator, s.out().shape.num_elements(), {}, {}};
  }
  const int rank = shape.rank();
  std::vector<int> axes;
  for (const int64_t axis : attrs.axis) {
    axes.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
  }
  if (attrs.axis.empty()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  std::vector<int64_t> strides(static_cast<size_t>(rank), 1);
  for (int i = rank - 2; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = strides[static_cast<size_t>(i) + 1] * shape[i + 1];
  }
  const auto spread = [&](const std::vector<int>& over) {
    std::vector<int64_t> offsets = {0};
    for (const int axis : over) {
      std::vector<int64_t> more;
      for (const int64_t offset : offsets) {
        for (int64_t k = 0; k < shape[axis]; ++k) {
          more.push_back(offset + k * strides[static_cast<size_t>(axis)]);
        }
      }
      offsets = std::move(more);
    }
    return offsets;
  };
  std::vector<int> kept;
  for (int i = 0; i < rank; ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) kept.push_back(i);
  }
  return {attrs.separator, s.out().shape.num_elements(), spread(kept), spread(axes)};
}
void launch_reduce_join(const ReduceJoinPlan& p, const LaunchArgs& a) {
  const auto* in = a.in<std::string>(0);
  for (int64_t i = 0; i < p.n; ++i) {
    std::string& out = a.out<std::string>()[i];
    out.clear();
    for (size_t k = 0; k < p.steps.size(); ++k) {
      if (k > 0) out += p.separator;
      out += in[p.starts[static_cast<size_t>(i)] + p.steps[k]];
    }
  }
}

// ---- Patterns

struct RegexPlan {
  std::shared_ptr<re2::RE2> pattern;
  std::string rewrite;
  bool global = true;
  int64_t n = 0;
};
RegexPlan prepare_replace(const Signature& s) {
  const auto& a = s.attrs.as<strings::RegexReplaceAttrs>();
  return {std::make_shared<re2::RE2>(a.pattern), a.rewrite, a.replace_global,
          s.out().shape.num_elements()};
}
RegexPlan prepare_match(const Signature& s) {
  return {std::make_shared<re2::RE2>(s.attrs.as<strings::RegexAttrs>().pattern),
          {},
          true,
          s.out().shape.num_elements()};
}
void launch_replace(const RegexPlan& p, const LaunchArgs& a) {
  each_string<std::string>(p.n, a, [&p](std::string s) {
    if (p.global) {
      re2::RE2::GlobalReplace(&s, *p.pattern, p.rewrite);
    } else {
      re2::RE2::Replace(&s, *p.pattern, p.rewrite);
    }
    return s;
  });
}
void launch_match(const RegexPlan& p, const LaunchArgs& a) {
  each_string<bool>(
      p.n, a, [&p](const std::string& s) { return re2::RE2::FullMatch(s, *p.pattern); });
}

// ---- Hashes

template <uint64_t (*kHash)(std::string_view)>
void launch_hash(const AttrsPlan<strings::HashBucketAttrs>& p, const LaunchArgs& a) {
  const auto buckets = static_cast<uint64_t>(p.attrs.num_buckets);
  each_string<int64_t>(p.n, a, [buckets](const std::string& s) {
    return static_cast<int64_t>(kHash(s) % buckets);
  });
}
void launch_keyed_hash(const AttrsPlan<strings::HashBucketAttrs>& p,
                       const LaunchArgs& a) {
  const auto buckets = static_cast<uint64_t>(p.attrs.num_buckets);
  const auto k0 = static_cast<uint64_t>(p.attrs.key[0]);
  const auto k1 = static_cast<uint64_t>(p.attrs.key[1]);
  each_string<int64_t>(p.n, a, [=](const std::string& s) {
    return static_cast<int64_t>(sip_hash(k0, k1, s) % buckets);
  });
}

bool index_is_int64(const Signature& s) { return s.in(1).dtype == DType::kInt64; }

}  // namespace

void register_string_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_with_attrs<strings::UnitAttrs>, launch_length>(
      "StringLength", "cpu.StringLength"));
  registry.add(make_kernel<prepare_substr, launch_substr<int64_t>>(
      "Substr", "cpu.Substr.i64", 0, index_is_int64));
  registry.add(
      make_kernel<prepare_substr, launch_substr<int32_t>>("Substr", "cpu.Substr.i32"));
  registry.add(
      make_kernel<prepare_with_attrs<strings::EncodingAttrs>, launch_case<false>>(
          "StringLower", "cpu.StringLower"));
  registry.add(make_kernel<prepare_with_attrs<strings::EncodingAttrs>, launch_case<true>>(
      "StringUpper", "cpu.StringUpper"));
  registry.add(
      make_kernel<prepare_count, launch_strip>("StringStrip", "cpu.StringStrip"));
  registry.add(
      make_kernel<prepare_join, launch_string_join>("StringJoin", "cpu.StringJoin"));
  registry.add(make_kernel<prepare_reduce_join, launch_reduce_join>("ReduceJoin",
                                                                    "cpu.ReduceJoin"));
  registry.add(make_kernel<prepare_replace, launch_replace>("StaticRegexReplace",
                                                            "cpu.StaticRegexReplace"));
  registry.add(make_kernel<prepare_match, launch_match>("StaticRegexFullMatch",
                                                        "cpu.StaticRegexFullMatch"));
  registry.add(make_kernel<prepare_with_attrs<strings::HashBucketAttrs>,
                           launch_hash<fingerprint64>>("StringToHashBucketFast",
                                                       "cpu.StringToHashBucketFast"));
  registry.add(
      make_kernel<prepare_with_attrs<strings::HashBucketAttrs>, launch_hash<murmur64>>(
          "StringToHashBucket", "cpu.StringToHashBucket"));
  registry.add(
      make_kernel<prepare_with_attrs<strings::HashBucketAttrs>, launch_keyed_hash>(
          "StringToHashBucketStrong", "cpu.StringToHashBucketStrong"));
}

}  // namespace tandem::cpu
