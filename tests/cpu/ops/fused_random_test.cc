// Random fused programs over random shapes, broadcasts and dtypes against the same ops
// one by one: bit for bit where no reduction is involved, within rounding where one is.
// Outputs lie over inputs where they may. The seed is printed; TANDEM_TEST_SEED repeats
// it.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "fused_support.h"
#include "kernels/cpu/fused.h"
#include "ops/values.h"
#include "tandem/ops/attrs.h"

namespace tandem {
namespace {

using testing::Bytes;
using Kind = FusedInstruction::Kind;

uint64_t seed() {
  static const uint64_t value = [] {
    const char* given = std::getenv("TANDEM_TEST_SEED");
    const uint64_t s =
        given
            ? std::strtoull(given, nullptr, 10)
            : static_cast<uint64_t>(
                  std::chrono::system_clock::now().time_since_epoch().count() % 1000000);
    std::printf("TANDEM_TEST_SEED=%llu\n", static_cast<unsigned long long>(s));
    return s;
  }();
  return value;
}

// Ops whose results change little when their arguments do, for what follows a reduction.
const std::vector<std::string> kSmooth = {"AddV2", "Sub",     "Mul",  "Maximum",
                                          "Tanh",  "Sigmoid", "Relu", "Neg"};

class Generator {
 public:
  explicit Generator(uint64_t s) : random_(s) {}

  /// False: nothing came of this seed.
  bool make() {
    choose_domain();
    for (int32_t i = 0; i < p_.num_inputs; ++i) add_input(i);
    shapes_.assign(input_shapes_.begin(), input_shapes_.end());
    tainted_.assign(input_shapes_.size(), false);
    const int wanted = 1 + pick(12);
    for (int tries = 0; tries < 40 && static_cast<int>(p_.instructions.size()) < wanted;
         ++tries) {
      if (rows_ && pick(4) == 0) {
        add_row_reduction();
      } else {
        add_elementwise();
      }
    }
    choose_outputs();
    return !p_.outputs.empty();
  }

  const FusedProgram& program() const { return p_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  bool tainted(int32_t v) const { return tainted_[static_cast<size_t>(v)]; }

  /// Outputs over full inputs of their element size, each input at most once.
  std::map<size_t, size_t> aliases() {
    std::map<size_t, size_t> over;
    std::vector<bool> taken(inputs_.size(), false);
    for (size_t o = 0; o < p_.outputs.size(); ++o) {
      const int32_t v = p_.outputs[o];
      const auto& i = p_.instructions[static_cast<size_t>(v - p_.num_inputs)];
      if (i.kind != Kind::kElementwise || !(shape(v) == domain_)) continue;
      const size_t in = pick(inputs_.size());
      if (taken[in] || !(input_shapes_[in] == domain_) ||
          dtype_size(inputs_[in].dtype()) != dtype_size(i.dtype)) {
        continue;
      }
      taken[in] = true;
      over[o] = in;
    }
    return over;
  }
  size_t pick(size_t n) { return static_cast<size_t>(random_() % n); }

 private:
  const Shape& shape(int32_t v) const { return shapes_[static_cast<size_t>(v)]; }

  void choose_domain() {
    static const int64_t sizes[] = {1, 1, 2, 3, 5, 8, 17, 40, 64, 300, 1030, 2100};
    const int rank = static_cast<int>(pick(5));
    for (int64_t n = 1; domain_.rank() < rank;) {
      int64_t d = sizes[pick(std::size(sizes))];
      if (pick(60) == 0) d = 0;
      if (n * d > 150000) d = 2;
      n *= std::max<int64_t>(d, 1);
      domain_.push_back(d);
    }
    rows_ = rank > 0 && pick(2) == 0;
    p_.row_axes = rows_ ? 1 + static_cast<int32_t>(pick(static_cast<size_t>(rank))) : 0;
    p_.num_inputs = 1 + static_cast<int32_t>(pick(5));
    static const DType main[] = {DType::kFloat32, DType::kFloat32, DType::kFloat32,
                                 DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                                 DType::kInt32,   DType::kUInt8};
    main_ = main[pick(std::size(main))];
  }

  void add_input(int32_t i) {
    static const DType other[] = {DType::kBool, DType::kInt64, DType::kFloat64,
                                  DType::kFloat16, DType::kInt8};
    const DType dtype = i > 0 && pick(5) == 0 ? other[pick(std::size(other))] : main_;
    Shape shape = domain_;
    if (i > 0 && pick(3) != 0) {
      const bool all = pick(3) == 0;
      for (int d = 0; d < shape.rank(); ++d) {
        if (all || pick(2) == 0) shape.set(d, 1);
      }
      while (shape.rank() > 0 && shape[0] == 1 && pick(2) == 0) shape.erase(0);
    }
    p_.input_dtypes.push_back(dtype);
    input_shapes_.push_back(shape);
    inputs_.push_back(testing::to_tensor(
        testing::make_values({.shape = shape, .low = -3, .high = 3}, dtype, random_),
        dtype));
  }

  Attrs attrs_for(const OpDef& op, DType) {
    if (op.name == "Cast") {
      static const DType to[] = {DType::kFloat32,  DType::kFloat64, DType::kInt32,
                                 DType::kBFloat16, DType::kBool,    DType::kUInt8};
      return Attrs(attrs_ref(CastAttrs{.dtype = to[pick(std::size(to))]}));
    }
    return op.attrs ? Attrs(AttrsRef{op.attrs->defaults, op.attrs}) : Attrs();
  }

  void add_elementwise() {
    const auto& all = OpTable::get().all();
    const bool smooth = pick(3) == 0;
    const OpDef& op = smooth ? OpTable::get().at(kSmooth[pick(kSmooth.size())])
                             : *all[pick(all.size())];
    if (op.inputs.empty() || op.inputs.size() > 3 || op.variadic()) return;
    if (op.name == "Complex") return;  // products of complex numbers differ in a bit
    FusedInstruction i;
    i.op = op.name;
    std::vector<DType> dtypes;
    std::vector<TensorInfo> infos;
    bool tainted = false;
    for (size_t a = 0; a < op.inputs.size(); ++a) {
      const auto v = static_cast<int32_t>(pick(static_cast<size_t>(p_.num_values())));
      i.arguments.push_back(v);
      dtypes.push_back(p_.dtype(v));
      TensorInfo info;
      info.dtype = p_.dtype(v);
      info.shape = shape(v);
      infos.push_back(info);
      tainted = tainted || tainted_[static_cast<size_t>(v)];
    }
    if (tainted && !smooth) return;
    i.attrs = attrs_for(op, dtypes[0]);
    InferContext context(op, i.attrs.ref(), infos);
    try {
      infer_call(context);
    } catch (const Error&) {
      return;  // dtypes or shapes that do not go together
    }
    if (context.outputs().size() != 1) return;
    i.dtype = context.outputs()[0].dtype;
    if (!cpu::can_fuse(op, i.attrs.ref(), dtypes, i.dtype)) return;
    shapes_.push_back(context.outputs()[0].shape);
    tainted_.push_back(tainted);
    p_.instructions.push_back(std::move(i));
  }

  // Sums stay small: tanh before them, means inside of programs.
  void add_row_reduction() {
    const auto v = static_cast<int32_t>(pick(static_cast<size_t>(p_.num_values())));
    if (!(shape(v) == domain_) || domain_.num_elements() == 0) return;
    static const char* ops[] = {"Max", "Min", "Mean"};
    add_reduction(Kind::kRowReduce, ops[pick(3)], v);
  }
  void add_reduction(Kind kind, const char* op, int32_t v) {
    const DType dtype = p_.dtype(v);
    if (!cpu::can_fuse_reduction(op, dtype) || dtype == DType::kBool) return;
    if (tainted(v) && !is_floating(dtype)) return;
    if (is_floating(dtype)) {
      p_.instructions.push_back({Kind::kElementwise, "Tanh", {}, dtype, {v}});
      shapes_.push_back(shape(v));
      tainted_.push_back(tainted(v));
      v = p_.num_values() - 1;
    }
    p_.instructions.push_back({kind, op, {}, dtype, {v}});
    Shape reduced;
    if (kind == Kind::kRowReduce) {
      reduced = shape(v);
      for (int d = 0; d < p_.row_axes; ++d) reduced.set(reduced.rank() - 1 - d, 1);
    } else if (kind == Kind::kColumnReduce) {
      reduced = shape(v).slice(shape(v).rank() - p_.row_axes, shape(v).rank());
    }
    shapes_.push_back(reduced);
    // Extrema and integers are exact.
    const bool exact = std::string(op) == "Max" || std::string(op) == "Min";
    tainted_.push_back(tainted(v) || (is_floating(dtype) && !exact));
  }

  void choose_outputs() {
    Shape row = domain_;
    for (int d = 0; d < p_.row_axes; ++d) row.set(row.rank() - 1 - d, 1);
    const int32_t last = p_.num_values();
    std::vector<int32_t> chosen;
    for (int32_t v = p_.num_inputs; v < last; ++v) {
      const auto& i = p_.instructions[static_cast<size_t>(v - p_.num_inputs)];
      const bool whole =
          shape(v) == domain_ || i.kind == Kind::kRowReduce || (rows_ && shape(v) == row);
      if (whole && (v + 1 == last || pick(3) == 0)) chosen.push_back(v);
    }
    for (int32_t v : chosen) p_.outputs.push_back(v);
    for (int32_t v : chosen) {
      if (!(shape(v) == domain_) || pick(4) != 0) continue;
      static const char* ops[] = {"Sum", "Mean", "Max"};
      const bool column = rows_ && pick(2) == 0;
      const int32_t before = p_.num_values();
      add_reduction(column ? Kind::kColumnReduce : Kind::kAllReduce, ops[pick(3)], v);
      if (p_.num_values() > before) p_.outputs.push_back(p_.num_values() - 1);
    }
    if (!p_.outputs.empty() && pick(10) == 0) p_.outputs.push_back(p_.outputs[0]);
  }

  std::mt19937_64 random_;
  FusedProgram p_;
  Shape domain_;
  DType main_ = DType::kFloat32;
  bool rows_ = false;
  std::vector<Shape> input_shapes_, shapes_;
  std::vector<Tensor> inputs_;
  std::vector<bool> tainted_;
};

// NaN is NaN: which of two a sum hands on depends on the order of operands in a vector
// instruction.
bool same_bits(const Bytes& got, const Tensor& expected) {
  const Bytes want = testing::bytes_of(expected);
  if (got == want) return true;
  if (got.size() != want.size()) return false;
  const DType t = expected.dtype();
  const size_t size = dtype_size(real_dtype(t));
  for (size_t at = 0; at < got.size(); at += size) {
    if (std::memcmp(&got[at], &want[at], size) == 0) continue;
    const auto nan = [&](const std::byte* p) {
      const auto read = [&]<class T>(T v) {
        std::memcpy(&v, p, sizeof v);
        return v;
      };
      switch (real_dtype(t)) {
        case DType::kFloat16:
          return std::isnan(static_cast<float>(read(float16{})));
        case DType::kBFloat16:
          return std::isnan(static_cast<float>(read(bfloat16{})));
        case DType::kFloat32:
          return std::isnan(read(float{}));
        case DType::kFloat64:
          return std::isnan(read(double{}));
        default:
          return false;
      }
    };
    if (!nan(&got[at]) || !nan(&want[at])) return false;
  }
  return true;
}

void expect_equal(const Generator& made, const std::vector<Bytes>& got,
                  const std::vector<Tensor>& expected) {
  const FusedProgram& p = made.program();
  ASSERT_EQ(got.size(), p.outputs.size());
  for (size_t o = 0; o < got.size(); ++o) {
    const int32_t v = p.outputs[o];
    const Tensor& want = expected[static_cast<size_t>(v)];
    if (!made.tainted(v)) {
      EXPECT_TRUE(same_bits(got[o], want)) << "output " << o << " (value " << v << ")";
      continue;
    }
    const Tensor have = testing::to_tensor(testing::to_ref(want), want.dtype());
    std::memcpy(have.impl()->data(), got[o].data(), got[o].size());
    // Sums of numbers up to 1; what follows multiplies a few of them.
    const double scale = std::max<double>(
        1, std::sqrt(static_cast<double>(made.inputs()[0].num_elements())));
    EXPECT_EQ(testing::difference(testing::to_ref(have), testing::to_ref(want),
                                  want.dtype(), 3e-5 * scale),
              "")
        << "output " << o << " (value " << v << ")";
  }
}

TEST(FusedRandom, ProgramsAgreeWithTheirOps) {
  int ran = 0, in_place = 0, reduced = 0;
  for (uint64_t n = 0; n < 400; ++n) {
    Generator made(seed() * 1000 + n);
    if (!made.make()) continue;
    const FusedProgram& p = made.program();
    std::string shapes;
    for (const Tensor& t : made.inputs()) shapes += t.shape().debug_str() + " ";
    SCOPED_TRACE("seed " + std::to_string(seed()) + " program " + std::to_string(n) +
                 ": " + p.text() + " on " + shapes);
    ASSERT_EQ(FusedProgram::parse(p.text()).text(), p.text());
    const FusedAttrs attrs{p.text(), 1};
    const std::vector<Tensor> expected = testing::run_unfused(p, made.inputs());
    const std::vector<Bytes> got = testing::run_kernel(attrs, made.inputs());
    expect_equal(made, got, expected);
    const auto over = made.aliases();
    if (!over.empty()) {
      SCOPED_TRACE("in place");
      EXPECT_EQ(testing::run_kernel(attrs, made.inputs(), {.threads = 1, .over = over}),
                got);
      ++in_place;
    }
    EXPECT_EQ(testing::run_kernel(attrs, made.inputs(), {.threads = 3}), got)
        << "threads";
    for (int32_t o : p.outputs) reduced += made.tainted(o);
    ++ran;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(ran, 150);
  EXPECT_GT(in_place, 10);
  EXPECT_GT(reduced, 10);
}

}  // namespace
}  // namespace tandem
