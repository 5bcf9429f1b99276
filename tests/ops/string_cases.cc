// Cases of ops on strings, and of numbers in strings.
#include <cctype>

#include "op/emitter.h"
#include "ops/case_parts.h"
#include "ops/values.h"
#include "tandem/ops/files.h"
#include "tandem/ops/strings.h"

namespace tandem::testing {

namespace {

using Strings = std::vector<std::string>;

const std::vector<DType> kText = {DType::kString};

In text(Shape shape, Strings values) {
  return {
      .shape = std::move(shape), .strings = std::move(values), .dtype = DType::kString};
}
In whole(Shape shape, std::vector<double> values, DType dtype) {
  return {.shape = std::move(shape), .fixed = std::move(values), .dtype = dtype};
}
Ref strings_ref(Shape shape, Strings values) {
  Ref r;
  r.shape = std::move(shape);
  r.strings = std::move(values);
  return r;
}
Ref numbers_ref(Shape shape, const std::vector<double>& values) {
  Ref r;
  r.shape = std::move(shape);
  for (const double v : values) r.values.emplace_back(v);
  return r;
}
/// The result, written down.
Reference gives(Ref expected) {
  return
      [expected](const std::vector<Ref>&, DType) { return std::vector<Ref>{expected}; };
}
/// For ops that map every string.
Reference each_string(std::string (*map)(std::string)) {
  return [map](const std::vector<Ref>& in, DType) {
    Ref out = in[0];
    for (std::string& s : out.strings) s = map(s);
    return std::vector<Ref>{out};
  };
}

void add_text(CaseList& cases, const char* op, const char* name, std::vector<In> inputs,
              Attrs a, Reference reference) {
  cases.push_back({.op = op,
                   .name = name,
                   .inputs = std::move(inputs),
                   .attrs = std::move(a),
                   .dtypes = kText,
                   .reference = std::move(reference)});
}

void add_parts(CaseList& cases) {
  const Shape two_by_two{2, 2};
  const In words = text(two_by_two, {"Hello", "", "w\xc3\xb6rld", " a b "});
  add_text(cases, "StringLength", "bytes", {words}, owned(strings::UnitAttrs{}),
           gives(numbers_ref(two_by_two, {5, 0, 6, 5})));
  add_text(cases, "StringLength", "characters", {words},
           owned(strings::UnitAttrs{"UTF8_CHAR"}),
           gives(numbers_ref(two_by_two, {5, 0, 5, 5})));
  add_text(cases, "Substr", "scalars",
           {text({2}, {"Hello", "world"}), whole({}, {-4}, DType::kInt32),
            whole({}, {3}, DType::kInt32)},
           owned(strings::UnitAttrs{}), gives(strings_ref({2}, {"ell", "orl"})));
  add_text(cases, "Substr", "one each, characters",
           {text({2}, {"H\xc3\xa4llo", "world"}), whole({2}, {1, 2}, DType::kInt64),
            whole({2}, {2, 9}, DType::kInt64)},
           owned(strings::UnitAttrs{"UTF8_CHAR"}),
           gives(strings_ref({2}, {"\xc3\xa4l", "rld"})));
  add_text(cases, "StringLower", "", {words}, owned(strings::EncodingAttrs{}),
           each_string([](std::string s) {
             for (char& c : s)
               c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
             return s;
           }));
  add_text(cases, "StringLower", "utf-8", {text({1}, {"\xc3\x84Z"})},
           owned(strings::EncodingAttrs{"utf-8"}),
           gives(strings_ref({1}, {"\xc3\xa4z"})));
  add_text(cases, "StringUpper", "", {words}, owned(strings::EncodingAttrs{}),
           each_string([](std::string s) {
             for (char& c : s)
               c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
             return s;
           }));
  add_text(cases, "StringStrip", "", {text({3}, {" a b\t\n", "", "\r\v "})}, {},
           gives(strings_ref({3}, {"a b", "", ""})));
}

void add_joins(CaseList& cases) {
  add_text(cases, "StringJoin", "",
           {text({2}, {"a", "b"}), text({}, {"x"}), text({2}, {"", "c"})},
           owned(strings::JoinAttrs{"-"}), gives(strings_ref({2}, {"a-x-", "b-x-c"})));
  const In grid = text({2, 3}, {"a", "b", "c", "d", "e", "f"});
  add_text(cases, "ReduceJoin", "all", {grid},
           owned(strings::ReduceJoinAttrs{.separator = "."}),
           gives(strings_ref({}, {"a.b.c.d.e.f"})));
  add_text(cases, "ReduceJoin", "rows", {grid},
           owned(strings::ReduceJoinAttrs{.axis = {0}}),
           gives(strings_ref({3}, {"ad", "be", "cf"})));
  add_text(cases, "ReduceJoin", "columns kept", {grid},
           owned(strings::ReduceJoinAttrs{.axis = {-1}, .keepdims = true}),
           gives(strings_ref({2, 1}, {"abc", "def"})));
  add_text(cases, "ReduceJoin", "axes in another order", {grid},
           owned(strings::ReduceJoinAttrs{.axis = {1, 0}}),
           gives(strings_ref({}, {"adbecf"})));
  add_text(cases, "StaticRegexReplace", "", {text({2}, {"hello", "l"})},
           owned(strings::RegexReplaceAttrs{"(l+)", "<\\1>", true}),
           gives(strings_ref({2}, {"he<ll>o", "<l>"})));
  add_text(cases, "StaticRegexReplace", "first", {text({1}, {"aXbXc"})},
           owned(strings::RegexReplaceAttrs{"X", "", false}),
           gives(strings_ref({1}, {"abXc"})));
  add_text(cases, "StaticRegexFullMatch", "", {text({3}, {"TF", "xTF", ""})},
           owned(strings::RegexAttrs{"T.*"}), gives(numbers_ref({3}, {1, 0, 0})));
}

void add_numbers(CaseList& cases) {
  const In numbers = text({3}, {"1.5", " -2 ", "+7"});
  add_text(cases, "StringToNumber", "floats", {numbers}, owned(strings::ToNumberAttrs{}),
           gives(numbers_ref({3}, {1.5, -2, 7})));
  add_text(cases, "StringToNumber", "doubles", {numbers},
           owned(strings::ToNumberAttrs{DType::kFloat64}),
           gives(numbers_ref({3}, {1.5, -2, 7})));
  for (const DType t : {DType::kInt32, DType::kInt64}) {
    add_text(cases, "StringToNumber", "integers", {text({2}, {"12", "-3"})},
             owned(strings::ToNumberAttrs{t}), gives(numbers_ref({2}, {12, -3})));
  }
  for (const DType t : {DType::kUInt32, DType::kUInt64}) {
    add_text(cases, "StringToNumber", "unsigned", {text({2}, {"12", "3"})},
             owned(strings::ToNumberAttrs{t}), gives(numbers_ref({2}, {12, 3})));
  }
  const auto as_text = [&](const char* name, std::vector<DType> dtypes,
                           std::vector<double> values, strings::AsStringAttrs a,
                           Strings expected) {
    const Shape shape{static_cast<int64_t>(values.size())};
    cases.push_back({.op = "AsString",
                     .name = name,
                     .inputs = {{.shape = shape, .fixed = values}},
                     .attrs = owned(a),
                     .dtypes = std::move(dtypes),
                     .reference = gives(strings_ref(shape, std::move(expected)))});
  };
  as_text("floats", {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16},
          {1.5, -0.25}, {}, {"1.500000", "-0.250000"});
  as_text("precision", {DType::kFloat32}, {1.5},
          {.precision = 2, .width = 7, .fill = "0"}, {"0001.50"});
  as_text("scientific", {DType::kFloat64}, {1500}, {.scientific = true},
          {"1.500000e+03"});
  as_text("shortest", {DType::kFloat64}, {1500.5}, {.shortest = true}, {"1500.5"});
  as_text("complex", {DType::kComplex64, DType::kComplex128}, {1.5}, {.precision = 1},
          {"(1.5,0.0)"});
  as_text("signed", {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64}, {-7, 12},
          {.width = 4}, {"  -7", "  12"});
  as_text("unsigned", {DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64},
          {7}, {}, {"7"});
  as_text("booleans", {DType::kBool}, {1, 0}, {}, {"true", "false"});
  add_text(cases, "AsString", "strings", {text({1}, {"a"})},
           owned(strings::AsStringAttrs{}), gives(strings_ref({1}, {"a"})));
}

// Values of TensorFlow's functions, for strings of every length class.
void add_hashes(CaseList& cases) {
  const In words = text({5}, {"Hello", std::string(20, 'x'), std::string(40, 'y'),
                              std::string(70, 'z'), std::string(200, 'w')});
  add_text(cases, "StringToHashBucketFast", "", {words},
           owned(strings::HashBucketAttrs{1000, {}}),
           gives(numbers_ref({5}, {151, 348, 6, 619, 728})));
  const In two = text({2}, {"Hello", std::string(20, 'x')});
  add_text(cases, "StringToHashBucket", "", {two},
           owned(strings::HashBucketAttrs{1000, {}}),
           gives(numbers_ref({2}, {941, 341})));
  add_text(cases, "StringToHashBucketStrong", "", {two},
           owned(strings::HashBucketAttrs{1000, {1, 2}}),
           gives(numbers_ref({2}, {274, 326})));
}

Reference several(std::vector<Ref> expected) {
  return [expected](const std::vector<Ref>&, DType) { return expected; };
}

void add_splits(CaseList& cases) {
  add_text(cases, "StringSplitV2", "white space",
           {text({3}, {" a  b", "", "c"}), text({}, {""})}, owned(strings::SplitAttrs{}),
           several({numbers_ref({3, 2}, {0, 0, 0, 1, 2, 0}),
                    strings_ref({3}, {"a", "b", "c"}), numbers_ref({2}, {3, 2})}));
  add_text(cases, "StringSplitV2", "separator",
           {text({2}, {"a,,b", "c"}), text({}, {","})}, owned(strings::SplitAttrs{1}),
           several({numbers_ref({3, 2}, {0, 0, 0, 1, 1, 0}),
                    strings_ref({3}, {"a", ",b", "c"}), numbers_ref({2}, {2, 2})}));
  add_text(cases, "UnicodeDecodeWithOffsets", "",
           {text({2}, {"a\xc3\xa4\xff", "\xe2\x82\xac"})}, owned(strings::UnicodeAttrs{}),
           several({numbers_ref({3}, {0, 3, 4}), numbers_ref({4}, {97, 228, 65533, 8364}),
                    numbers_ref({4}, {0, 1, 3, 0})}));
  add_text(cases, "UnicodeTranscode", "", {text({1}, {"a\xf0\x9f\x98\x80"})},
           owned(strings::UnicodeAttrs{.output_encoding = "UTF-16-BE"}),
           gives(strings_ref({1}, {std::string("\0a\xd8\x3d\xde\x00", 6)})));
  cases.push_back({.op = "UnicodeEncode",
                   .inputs = {whole({3}, {97, 228, 8364}, DType::kInt32),
                              whole({3}, {0, 1, 3}, DType::kInt64)},
                   .attrs = owned(strings::UnicodeAttrs{}),
                   .dtypes = {DType::kInt32},
                   .reference = gives(strings_ref({2}, {"a", "\xc3\xa4\xe2\x82\xac"}))});
}

void add_bytes(CaseList& cases) {
  add_text(cases, "DecodeRaw", "",
           {text({2}, {std::string("\1\0\2\0", 4), std::string("\3\0\4\1", 4)})},
           owned(io::DecodeRawAttrs{.out_type = DType::kInt16}),
           gives(numbers_ref({2, 2}, {1, 2, 3, 260})));
  add_text(cases, "DecodeRaw", "big-endian, filled up",
           {text({1}, {std::string("\0\1", 2)})},
           owned(io::DecodeRawAttrs{DType::kInt16, false, 4}),
           gives(numbers_ref({1, 2}, {1, 0})));
  const In plain = text({4}, {"", "a", "ab", "abc\xff"});
  add_text(cases, "EncodeBase64", "", {plain}, owned(io::Base64Attrs{}),
           gives(strings_ref({4}, {"", "YQ", "YWI", "YWJj_w"})));
  add_text(cases, "EncodeBase64", "padded", {plain}, owned(io::Base64Attrs{true}),
           gives(strings_ref({4}, {"", "YQ==", "YWI=", "YWJj_w=="})));
  add_text(cases, "DecodeBase64", "", {text({3}, {"YQ==", "YWI", "YWJj_w"})}, {},
           gives(strings_ref({3}, {"a", "ab", "abc\xff"})));
  add_text(cases, "DecodeCSV", "",
           {text({2}, {"1,\"a,\"\"b\",2.5", "-3,,NA"}), whole({1}, {0}, DType::kInt32),
            text({1}, {"none"}), whole({}, {9}, DType::kFloat64)},
           owned(io::DecodeCsvAttrs{.na_value = "NA"}),
           several({numbers_ref({2}, {1, -3}), strings_ref({2}, {"a,\"b", "none"}),
                    numbers_ref({2}, {2.5, 9})}));
  add_text(cases, "DecodeCSV", "some columns",
           {text({1}, {"1;2;3"}), whole({0}, {}, DType::kInt64),
            whole({0}, {}, DType::kFloat32)},
           owned(io::DecodeCsvAttrs{.field_delim = ";", .select_cols = {0, 2}}),
           several({numbers_ref({1}, {1}), numbers_ref({1}, {3})}));
}

}  // namespace

void add_string_cases(CaseList& cases) {
  add_parts(cases);
  add_joins(cases);
  add_numbers(cases);
  add_hashes(cases);
  add_splits(cases);
  add_bytes(cases);
}

}  // namespace tandem::testing
