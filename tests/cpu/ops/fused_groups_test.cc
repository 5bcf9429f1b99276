// Groups of a fused kernel whose memory lies end to end are walked in one loop: the same
// bits as group by group, wherever the memory lies.
#include "kernels/cpu/fused_groups.h"

#include <random>

#include <gtest/gtest.h>

#include "fused_support.h"

namespace tandem {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::Memory;
using testing::run_unfused;

// w, g, rate; w - g * rate, and g squared.
const char* const kProgram =
    "in float32,float32,float32 rows 0; 3=Mul(1,2):float32; 4=Sub(0,3):float32; "
    "5=Square(1):float32; out 4,5";

struct Call {
  explicit Call(std::vector<int64_t> elements, int threads = 1)
      : sizes(std::move(elements)), attrs{kProgram, static_cast<int64_t>(sizes.size())} {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<float> draw(-1, 1);
    const Tensor rate = constant(0.25f);
    for (int64_t n : sizes) {
      for (int k = 0; k < 2; ++k) {
        std::vector<float> values(static_cast<size_t>(n));
        for (float& v : values) v = draw(random);
        inputs.push_back(constant(values, Shape{n}));
      }
      inputs.push_back(rate);
    }
    for (const Tensor& t : inputs) {
      TensorInfo info;
      info.dtype = t.dtype();
      info.shape = t.shape();
      infos.push_back(info);
    }
    signature.op = &OpTable::get().at("FusedMulti");
    signature.attrs = attrs_ref(attrs);
    signature.threads = threads;
    infer();
  }

  void infer() {
    InferContext context(*signature.op, signature.attrs, infos);
    infer_call(context);
    outputs = context.outputs();
    signature.inputs = infos;
    signature.outputs = outputs;
  }

  // Slots: w, g, the rate, both outputs. Each in memory of its own, group after group;
  // `hole` bytes before group `before`.
  void place(size_t before = 0, int64_t hole = 0, bool over = false) {
    in.clear(), out.clear(), memory.clear();
    int64_t total = hole;
    for (int64_t n : sizes) total += n * 4;
    for (int k = 0; k < 4; ++k) memory.emplace_back(static_cast<size_t>(total));
    memory.emplace_back(4);
    std::memcpy(memory[4].data(), inputs[2].host_data(), 4);
    int64_t at = 0;
    for (size_t g = 0; g < sizes.size(); ++g) {
      if (g == before) at += hole;
      for (size_t k = 0; k < 2; ++k) {
        in.push_back(memory[k].data() + at);
        const Bytes b = bytes_of(inputs[3 * g + k]);
        if (!b.empty()) std::memcpy(in.back(), b.data(), b.size());
        out.push_back(memory[over ? 1 - k : 2 + k].data() + at);
      }
      in.push_back(memory[4].data());
      at += sizes[g] * 4;
    }
  }
  LaunchArgs args() const { return {in.data(), out.data(), nullptr, nullptr}; }

  // How many items the first loop takes.
  size_t joined() const {
    const auto plan = cpu::plan_fused(signature);
    return plan->join ? joined_items(*plan, args(), 0, plan->items.size()) : 1;
  }

  void expect_results() {
    const Kernel* kernel = KernelRegistry::get().choose(signature, kHostPlatform);
    const tandem::Ref<Prepared> prepared = kernel->prepare(signature);
    Memory workspace(prepared->workspace_bytes);
    LaunchArgs a = args();
    a.workspace = workspace.data();
    Team team(signature.threads);
    CurrentTeam current(&team);
    kernel->launch(*prepared, a);
    const FusedProgram p = FusedProgram::parse(kProgram);
    for (size_t g = 0; g < sizes.size(); ++g) {
      const auto values =
          run_unfused(p, {inputs[3 * g], inputs[3 * g + 1], inputs[3 * g + 2]});
      for (size_t o = 0; o < 2; ++o) {
        const auto* got = static_cast<const std::byte*>(out[2 * g + o]);
        EXPECT_EQ(Bytes(got, got + sizes[g] * 4), bytes_of(values[o ? 5 : 4]))
            << "group " << g << " output " << o;
      }
    }
    for (Memory& m : memory) EXPECT_TRUE(m.mark_intact());
  }

  std::vector<int64_t> sizes;
  FusedAttrs attrs;
  std::vector<Tensor> inputs;
  std::vector<TensorInfo> infos, outputs;
  Signature signature;
  std::vector<Memory> memory;
  std::vector<void*> in, out;
};

TEST(FusedGroups, EndToEndTheyAreOneLoop) {
  Call call({64, 16, 1, 100, 3000, 64});
  call.place();
  EXPECT_EQ(call.joined(), 6u);
  call.expect_results();
}

TEST(FusedGroups, AHoleEndsALoop) {
  for (const size_t before : {size_t{1}, size_t{3}, size_t{5}}) {
    Call call({64, 16, 1, 100, 3000, 64});
    call.place(before, 4);
    EXPECT_EQ(call.joined(), before);
    call.expect_results();
  }
}

TEST(FusedGroups, MemoryInAnotherOrderIsWalkedGroupByGroup) {
  Call call({64, 64, 64});
  call.place();
  std::swap(call.out[0], call.out[2]);  // one output of two groups
  EXPECT_EQ(call.joined(), 1u);
  std::swap(call.out[0], call.out[2]);
  call.in[5] = call.memory[0].data();  // the second group has another rate
  EXPECT_EQ(call.joined(), 1u);
}

TEST(FusedGroups, OutputsMayLieOverInputs) {
  Call call({64, 16, 2000, 100});
  call.place(0, 0, true);  // the first over g, the second over w
  EXPECT_EQ(call.joined(), 4u);
  call.expect_results();
}

TEST(FusedGroups, ManyThreadsMeetAnywhere) {
  for (const int64_t hole : {0, 64}) {
    std::vector<int64_t> sizes;
    for (int i = 0; i < 150; ++i) sizes.push_back(64 + i % 7 * 500);
    sizes.push_back(500000);
    Call call(sizes, 3);
    call.place(70, hole);
    call.expect_results();
  }
}

// The third group's g is one number, and so is its square.
TEST(FusedGroups, OtherFormsStayOutside) {
  Call call({64, 64, 64, 64});
  call.place();
  call.infos[7].shape = {};
  call.infer();
  const auto plan = cpu::plan_fused(call.signature);
  ASSERT_TRUE(plan && plan->join);
  EXPECT_EQ(joined_items(*plan, call.args(), 0, plan->items.size()), 2u);
  EXPECT_EQ(joined_items(*plan, call.args(), 2, plan->items.size()), 3u);
}

TEST(FusedGroups, EmptyGroupsAndReductionsAreNotJoined) {
  Call call({64, 0, 64});
  call.place();
  EXPECT_EQ(call.joined(), 1u);
  call.expect_results();
  Call sums({64, 64});
  const FusedAttrs attrs{
      "in float32,float32,float32 rows 0; 3=Mul(1,2):float32; 4=all Sum(3):float32; out "
      "4",
      2};
  sums.signature.attrs = attrs_ref(attrs);
  sums.infer();
  EXPECT_FALSE(cpu::plan_fused(sums.signature)->join);
}

}  // namespace
}  // namespace tandem
