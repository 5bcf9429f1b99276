// ConcatV2, Pack, Split, SplitV, SplitLike, Unpack.
#include "ops/array_cases.h"

namespace tandem::testing {

void add_array_join_cases(CaseList& cases) {
  for (const int64_t axis : {0, 1, -1}) {
    const auto at = static_cast<size_t>(axis < 0 ? 2 : axis);
    const int64_t sizes[] = {2, 0, 5};
    std::vector<In> inputs;
    Shape out{3, 4, 6};
    int64_t total = 0;
    for (int64_t n : sizes) {
      Shape s = out;
      s.set(static_cast<int>(at), n);
      inputs.push_back({.shape = s});
      total += n;
    }
    out.set(static_cast<int>(at), total);
    cases.push_back({.op = "ConcatV2",
                     .name = std::to_string(at),
                     .inputs = inputs,
                     .attrs = owned(AxisAttrs{axis}),
                     .dtypes = kMoved,
                     .reference = [out, at](const std::vector<Ref>& in, DType) {
                       Ref r;
                       r.shape = out;
                       for (size_t i = 0; i < static_cast<size_t>(out.num_elements());
                            ++i) {
                         Coord c = coordinate(out, i);
                         size_t k = 0;
                         while (c[at] >= in[k].shape[static_cast<int>(at)]) {
                           c[at] -= in[k++].shape[static_cast<int>(at)];
                         }
                         r.values.push_back(in[k].values[position(in[k].shape, c)]);
                       }
                       return std::vector<Ref>{r};
                     }});
    Shape whole{6, 6, 6}, part = whole, slice = whole;
    part.set(static_cast<int>(at), 2);
    slice.erase(static_cast<int>(at));
    const auto cut = [at](const std::vector<int64_t>& parts) {
      return [at, parts](const std::vector<Ref>& in, DType) {
        std::vector<Ref> all;
        int64_t begin = 0;
        for (int64_t n : parts) {
          Shape s = in[0].shape;
          s.set(static_cast<int>(at), n);
          all.push_back(mapped(in[0], s, [at, begin](const Coord& o) {
            Coord i = o;
            i[at] += begin;
            return i;
          }));
          begin += n;
        }
        return all;
      };
    };
    cases.push_back({.op = "Split",
                     .name = std::to_string(at),
                     .inputs = {{.shape = whole}},
                     .attrs = owned(SplitAttrs{3, axis}),
                     .dtypes = kMoved,
                     .reference = cut({2, 2, 2})});
    cases.push_back({.op = "SplitV",
                     .name = std::to_string(at),
                     .inputs = {{.shape = whole}},
                     .attrs = owned(SplitVAttrs{{1, -1, 2}, axis}),
                     .dtypes = kMoved,
                     .reference = cut({1, 3, 2})});
    cases.push_back(
        {.op = "SplitLike",
         .name = std::to_string(at),
         .inputs = {{.shape = whole}, {.shape = part}, {.shape = part}, {.shape = part}},
         .attrs = owned(AxisAttrs{axis}),
         .dtypes = kMoved,
         .reference = cut({2, 2, 2})});
    cases.push_back({.op = "Unpack",
                     .name = std::to_string(at),
                     .inputs = {{.shape = whole}},
                     .attrs = owned(UnpackAttrs{6, axis}),
                     .dtypes = kMoved,
                     .reference = [at, slice](const std::vector<Ref>& in, DType) {
                       std::vector<Ref> all;
                       for (int64_t k = 0; k < 6; ++k) {
                         all.push_back(mapped(in[0], slice, [at, k](const Coord& o) {
                           Coord i = o;
                           i.insert(i.begin() + static_cast<std::ptrdiff_t>(at), k);
                           return i;
                         }));
                       }
                       return all;
                     }});
    Shape packed = slice;
    packed.insert(static_cast<int>(at), 3);
    cases.push_back({.op = "Pack",
                     .name = std::to_string(at),
                     .inputs = {{.shape = slice}, {.shape = slice}, {.shape = slice}},
                     .attrs = owned(AxisAttrs{axis}),
                     .dtypes = kMoved,
                     .reference = [at, packed](const std::vector<Ref>& in, DType) {
                       Ref r;
                       r.shape = packed;
                       for (size_t i = 0; i < static_cast<size_t>(packed.num_elements());
                            ++i) {
                         Coord c = coordinate(packed, i);
                         const auto k = static_cast<size_t>(c[at]);
                         c.erase(c.begin() + static_cast<std::ptrdiff_t>(at));
                         r.values.push_back(in[k].values[position(in[k].shape, c)]);
                       }
                       return std::vector<Ref>{r};
                     }});
  }
  cases.push_back({.op = "ConcatV2",
                   .name = "strings",
                   .inputs = {{.shape = {2}, .strings = {"a", "b"}},
                              {.shape = {1}, .strings = {"c"}}},
                   .attrs = owned(AxisAttrs{0}),
                   .dtypes = {DType::kString},
                   .reference =
                       [](const std::vector<Ref>&, DType) {
                         Ref r;
                         r.shape = {3};
                         r.strings = {"a", "b", "c"};
                         return std::vector<Ref>{r};
                       },
                   .check_gradient = false});
}

}  // namespace tandem::testing
