// What a repeated call of a compiled step does beside computing: it takes nothing from
// the heap, and no mutex. Both are counted by standing before the functions that do it.
#include <cstdlib>
#include <new>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include "tandem/function.h"
#include "tandem/tandem.h"
#include "tandem/train.h"

namespace {
// Of the calling thread: those of a team that have nothing to do wait as they like.
thread_local int64_t g_news = 0, g_locks = 0;
}  // namespace

// Both forms: a sanitizer compares who took memory with who gives it back.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++g_news;
  return std::malloc(bytes ? bytes : 1);
}
void* operator new(size_t bytes) {
  if (void* p = operator new(bytes, std::nothrow)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto next = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++g_locks;
  return next(mutex);
}

namespace tandem {
namespace {

struct Counts {
  int64_t news, locks;
};

// Of `calls` calls, after some that make what is made once.
template <class F>
Counts counts_of(F call, int calls = 100) {
  for (int i = 0; i < 20; ++i) call();
  const Counts before{g_news, g_locks};
  for (int i = 0; i < calls; ++i) call();
  return {g_news - before.news, g_locks - before.locks};
}

// The counters see what they should.
TEST(Replay, EagerCallsAreCounted) {
  EXPECT_EQ(counts_of([] { delete new int(1); }).news, 100);
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  EXPECT_EQ(counts_of([&] {
              pthread_mutex_lock(&m);
              pthread_mutex_unlock(&m);
            }).locks,
            100);
}

TEST(Replay, AStepTakesNothingFromTheHeapAndNoMutex) {
  const DeviceScope cpu("/CPU:0");
  layers::Dense hidden(20, 16), output(16, 4);
  const auto weights = layers::join_variables({hidden.variables(), output.variables()});
  optimizers::Adam adam;
  auto step = function([&](Tensor x, Tensor y) {
    GradientTape tape;
    const Tensor loss = losses::sparse_categorical_crossentropy(
        y, output(nn::relu(hidden(x))), {.from_logits = true});
    adam.apply(tape.gradient(loss, weights), weights);
    return loss;
  });
  const Tensor x = zeros({8, 20}) + 0.5f;
  const Tensor y = constant({0, 1, 2, 3, 0, 1, 2, 3});
  const Counts c = counts_of([&] { step(x, y); });
  EXPECT_EQ(c.news, 0);
  EXPECT_EQ(c.locks, 0);
  EXPECT_EQ(step.tracing_count(), 1);
}

TEST(Replay, BranchesAndLoopsDoNotEither) {
  const DeviceScope cpu("/CPU:0");
  Variable v(zeros({64}));
  auto f = function([&](Tensor x) {
    const auto out = while_loop([&](const std::vector<Tensor>& s) { return s[0] < 5; },
                                [&](const std::vector<Tensor>& s) {
                                  return std::vector<Tensor>{s[0] + 1, sin(s[1]) * x};
                                },
                                {constant(0), x});
    cond(
        reduce_sum(out[1]) > 0.f,
        [&] {
          v.assign_add(out[1]);
          return std::vector<Tensor>{};
        },
        [] { return std::vector<Tensor>{}; });
    return out[1];
  });
  const Tensor x = zeros({64}) + 0.5f;
  const Counts c = counts_of([&] { f(x); });
  EXPECT_EQ(c.news, 0);
  EXPECT_EQ(c.locks, 0);
}

}  // namespace
}  // namespace tandem
