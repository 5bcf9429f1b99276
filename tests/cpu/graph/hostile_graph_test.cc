// Stored graphs with a right checksum and wrong contents: loading refuses them, or the
// call returns or throws. Each batch runs in a process of its own, whose memory is
// guarded; a crash names the seed and what was changed.
#include <atomic>
#include <csignal>
#include <cstring>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/flags.h"
#include "base/hash.h"
#include "base/json.h"
#include "graph/serialize.h"
#include "run/graph_function.h"
#include "support/random_graph.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

using nlohmann::json;
using Random = std::mt19937_64;

constexpr size_t kPrefix = 36;            // graph/stored_graph.h
constexpr unsigned kSecondsPerCall = 60;  // on a busy machine, too

// A loop whose condition was damaged may go on for ever, as the program then says.
constexpr int kEndless = 101;

struct Progress {
  std::atomic<int64_t> seed;
  std::atomic<bool> loops;
  char text[4000];
};

Progress* g_progress = nullptr;

// Programs of the kinds of nodes and ops that checks are about.
struct Program {
  std::string bytes;
  Tensors arguments;
  std::vector<Variable> variables;
};

Program stored(const Tensors& arguments, const Function& body,
               std::vector<Variable> variables = {}) {
  Graph graph("stored");
  Tracer tracer(graph, nullptr);
  {
    const EmitterScope scope(&tracer);
    Tensors given;
    for (const Tensor& t : arguments) {
      given.push_back(tracer.parameter(t.dtype(), Shape::unknown_of_rank(t.rank()), "x"));
    }
    for (const Tensor& r : body(given)) graph.results().push_back(tracer.value_of(r));
    tracer.finish();
  }
  return {to_bytes(graph), arguments, std::move(variables)};
}

Program with_loop() {
  Variable v(constant({1.f, 2.f, 3.f}));
  return stored({constant({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}})},
                [v](const Tensors& x) mutable {
                  v.assign_add(reduce_sum(x[0], {.axis = {0}}));
                  const Tensors r =
                      trace_while([](const Tensors& c) { return c[0] < 3; },
                                  [&](const Tensors& c) {
                                    v.assign(v.read() * 0.5f);
                                    return Tensors{c[0] + 1, c[1] + v.read()};
                                  },
                                  {constant(int32_t{0}), x[0]});
                  return Tensors{r[1], nn::softmax(r[1])};
                },
                {v});
}

Program with_branches() {
  return stored(
      {constant({{1.f, 2.f}, {3.f, 4.f}}), constant({0, 1, 1})}, [](const Tensors& x) {
        const Tensor rows = gather(x[0], x[1]);
        const Tensors r = cond(
            reduce_sum(x[0]) > 3.f, [&] { return Tensors{rows * 2.f}; },
            [&] { return Tensors{concat({rows, rows}, {.axis = 0})}; });
        const Tensor wide =
            reshape(x[0], concat({constant({-1}), constant({1})}, {.axis = 0}));
        return Tensors{r[0], wide, tile(x[0], Ints{2, 3}), slice(x[0], {0, 1}, {2, 1})};
      });
}

Program with_sizes() {
  return stored({constant({3.f, 0.f, 2.f, 0.f}), constant({1, 2, 2, 0})},
                [](const Tensors& x) {
                  const Tensor kept = boolean_mask(x[0], x[0] > 0.f);
                  const Tensor spread = scatter_nd(expand_dims(x[1], 1), x[0], Shape{4});
                  const std::vector<Tensor> parts = split(x[0], SplitAttrs{2, 0});
                  const Tensor list = stack(parts);
                  return Tensors{kept, spread, list, one_hot(x[1], 3),
                                 pad(list, constant({{1, 0}, {0, 2}}))};
                });
}

Program with_windows() {
  return stored(
      {reshape(range(constant(0.f), constant(54.f), constant(1.f)), {1, 3, 6, 3})},
      [](const Tensors& x) {
        const Tensor filter = ones(Shape{2, 2, 3, 4});
        const Tensor y = nn::conv2d(x[0], filter, {.padding = nn::Padding::kSame});
        const Tensor z = nn::max_pool(y, {.ksize = {2, 2}});
        return Tensors{y, z, transpose(z, {{0, 3, 1, 2}}),
                       reduce_mean(y, {.axis = {1, 2}})};
      });
}

Program of_random(uint64_t seed) {
  RandomGraph program(seed, {.steps = 12, .variables = false, .unknown_batch = true});
  return {to_bytes(program.graph()), program.arguments(), {}};
}

std::vector<Program> programs() {
  std::vector<Program> all = {with_loop(), with_branches(), with_sizes(), with_windows()};
  for (uint64_t seed = 1; seed <= 6; ++seed) all.push_back(of_random(seed));
  return all;
}

// ---- Damage

void places(json& node, std::vector<json*>& all) {
  all.push_back(&node);
  if (node.is_structured()) {
    for (json& inner : node) places(inner, all);
  }
}

int64_t hostile_int(Random& random) {
  constexpr int64_t kList[] = {-1,
                               0,
                               1,
                               2,
                               3,
                               4,
                               5,
                               7,
                               12,
                               13,
                               33,
                               64,
                               -2,
                               -9,
                               INT32_MAX,
                               INT32_MIN,
                               INT64_MAX,
                               INT64_MIN,
                               int64_t{1} << 32,
                               int64_t{1} << 40,
                               int64_t{1} << 62};
  return kList[random() % std::size(kList)];
}

// One change; says which.
std::string damage(json& header, Random& random) {
  std::vector<json*> all;
  places(header, all);
  json& at = *all[random() % all.size()];
  const std::string before = at.dump();
  json& other = *all[random() % all.size()];
  switch (random() % 8) {
    case 0:
    case 1:
      if (at.is_number()) {
        at = hostile_int(random);
      } else if (at.is_string()) {
        at = other.is_string() ? other.get<std::string>() : "int64";
      } else if (at.is_array() && !at.empty()) {
        at.erase(random() % at.size());
      }
      break;
    case 2:
      if (at.is_array()) {
        at.push_back(at.empty() ? json(hostile_int(random))
                                : json(at[random() % at.size()]));
      } else if (at.is_number()) {
        at = at.get<double>() + (random() % 2 ? 1 : -1);
        if (at.get<double>() == std::floor(at.get<double>())) {
          at = static_cast<int64_t>(at.get<double>());
        }
      }
      break;
    case 3: {
      const json copy = other;
      if (copy.type() == at.type()) at = copy;
      break;
    }
    case 4:
      if (at.is_object() && !at.empty()) {
        at.erase(std::next(at.begin(), static_cast<int64_t>(random() % at.size())));
      }
      break;
    case 5:
      at = json();
      break;
    default:
      if (at.is_number_integer()) at = hostile_int(random);
      if (at.is_boolean()) at = !at.get<bool>();
      break;
  }
  return fmt::format("{} -> {}", before.substr(0, 300), at.dump().substr(0, 300));
}

std::string damaged(const std::string& bytes, Random& random, std::string& what) {
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data() + 12, 8);
  json header = json::parse(bytes.substr(kPrefix, header_bytes));
  const std::string binary = bytes.substr(kPrefix + header_bytes);
  for (uint64_t n = 1 + random() % 3; n > 0; --n) what += damage(header, random) + "; ";
  const std::string text = header.dump();
  std::string made = bytes.substr(0, kPrefix);
  const uint64_t size = text.size(), sum = hash_bytes(binary, hash_bytes(text));
  std::memcpy(made.data() + 12, &size, 8);
  std::memcpy(made.data() + 28, &sum, 8);
  return made + text + binary;
}

// Empty, or what is wrong.
std::string run(const Program& program, const std::string& bytes) {
  try {
    const Graph graph = from_bytes(bytes, [&](const StoredVariable& v) {
      const auto i = static_cast<size_t>(v.index);
      return i < program.variables.size() ? program.variables[i].handle() : Tensor();
    });
    const GraphFunction function(std::make_shared<const Graph>(graph));
    for (const Tensor& t : const_cast<GraphFunction&>(function).run(program.arguments)) {
      if (t.defined() && t.dtype() != DType::kVariant) t.to_host();
    }
    return "";
  } catch (const InternalError& e) {
    return std::string("InternalError: ") + e.what();
  } catch (const Error&) {
    return "";
  } catch (const std::exception& e) {
    return fmt::format("{}: {}", typeid(e).name(), e.what());
  }
}

// Programs [from, to) by seed; returns how many were wrong.
int run_batch(Progress& progress, int64_t from, int64_t to) {
  g_progress = &progress;
  std::signal(SIGALRM, [](int signal) {
    if (g_progress->loops) _exit(kEndless);
    std::signal(signal, SIG_DFL);
    raise(signal);
  });
  setenv("TANDEM_GUARD_PAGES", "1", 1);
  const auto cpus = config::list_physical_devices("CPU");
  config::set_logical_device_configuration(cpus.at(0),
                                           {{.memory_limit = 64, .priority = {}}});
  const std::vector<Program> all = programs();
  for (const Program& p : all) {
    const std::string wrong = run(p, p.bytes);
    if (wrong.empty()) continue;
    std::printf("undamaged: %s\n", wrong.c_str());
    return 1;
  }
  int found = 0;
  for (int64_t seed = from; seed < to; ++seed) {
    progress.seed = seed;
    Random random(static_cast<uint64_t>(seed));
    const Program& program = all[random() % all.size()];
    std::string what;
    const std::string bytes = damaged(program.bytes, random, what);
    progress.loops = program.bytes.find("\"while\"") != std::string::npos;
    std::snprintf(progress.text, sizeof progress.text, "%s", what.c_str());
    alarm(kSecondsPerCall);
    const std::string wrong = run(program, bytes);
    alarm(0);
    if (wrong.empty()) continue;
    ++found;
    std::printf("seed %lld: %s (%s)\n", static_cast<long long>(seed), wrong.c_str(),
                what.c_str());
  }
  return found;
}

TEST(HostileGraph, IsRefusedOrRuns) {
  const bool longer = env_bool("TANDEM_LONG_TESTS", false);
  const int64_t first = env_int("TANDEM_TEST_SEED", 1);
  const int64_t end = first + env_int("TANDEM_TEST_GRAPHS", longer ? 20000 : 400);
  void* shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& progress = *new (shared) Progress;
  for (int64_t next = first; next < end;) {
    progress.seed = next;
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      const int found = run_batch(progress, next, end);
      std::fflush(stdout);
      _exit(std::min(found, 100));
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kEndless) {
      next = progress.seed + 1;
      continue;
    }
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      break;
    }
    ADD_FAILURE() << "seed " << progress.seed << ": signal " << WTERMSIG(status) << ", "
                  << progress.text;
    next = progress.seed + 1;
  }
  munmap(shared, sizeof(Progress));
}

}  // namespace
}  // namespace tandem::testing
