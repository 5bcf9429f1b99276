// What the host submits is named for tools that watch from outside: ops by their names, a
// captured step once.
#include "base/ranges.h"

#include <algorithm>
#include <mutex>

#include "gpu.h"
#include "tandem/function.h"

namespace tandem {
namespace {

using testing::on;

// Ranges come from the threads of streams too.
std::mutex g_mutex;
std::vector<std::string> g_pushed;
int g_open = 0;

void push(const char* name) {
  const std::lock_guard lock(g_mutex);
  g_pushed.emplace_back(name);
  ++g_open;
}
void pop() {
  const std::lock_guard lock(g_mutex);
  --g_open;
}
constexpr ranges::Sink kSink{push, pop};

int64_t pushes_of(const char* name) {
  const std::lock_guard lock(g_mutex);
  return std::count(g_pushed.begin(), g_pushed.end(), name);
}

TEST(Ranges, NameOpsAndCapturedSteps) {
  const Tensor x = testing::filled("/GPU:0", {4, 4}, 1);
  const auto twice = function([](Tensor a) {
    const DeviceScope scope("/GPU:0");
    return matmul(a, a);
  });
  x.wait();
  ranges::set_sink(&kSink);
  on("/GPU:0", [&] { return matmul(x, x); }).wait();
  EXPECT_EQ(pushes_of("MatMul"), 1);
  EXPECT_EQ(pushes_of("captured step"), 0);
  for (int i = 0; i < 3; ++i) twice(x).wait();
  synchronize();
  ranges::set_sink(nullptr);
  EXPECT_EQ(pushes_of("captured step"), 3);
  EXPECT_EQ(g_open, 0);
  const size_t before = g_pushed.size();
  on("/GPU:0", [&] { return matmul(x, x); }).wait();
  EXPECT_EQ(g_pushed.size(), before);
}

}  // namespace
}  // namespace tandem
