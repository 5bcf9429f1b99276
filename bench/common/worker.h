// What the C++ workers of benchmarks share: random inputs, timing, and the line protocol
// that a driver (driver.py) speaks with every worker on stdin and stdout:
//
//   list               → {"worker": …, "library": …, "threads": n, "cases": [names]}
//   run CASE MS        → {"case": …, "ns": [per iteration], "kernel_ns": […], and what
//                         the case adds: "digest": x, …}; with MS = 0 nothing is timed
//
// A case may exist in several forms, CASE@form: the driver takes the fastest. Only the
// standard library is used here, since this file is compiled against Tandem and against
// PyTorch.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace bench {

/// Element i of input number `seed`, in [lo, hi): the same numbers in every worker.
inline float random_value(uint64_t seed, uint64_t i, float lo, float hi) {
  uint64_t z = (seed << 40) + i * 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  z ^= z >> 31;
  return lo + (hi - lo) * static_cast<float>(z >> 40) * 0x1p-24f;
}

inline std::vector<float> random_values(uint64_t seed, int64_t n, float lo = -1,
                                        float hi = 1) {
  std::vector<float> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = random_value(seed, i, lo, hi);
  return v;
}

inline std::vector<int64_t> random_indices(uint64_t seed, int64_t n, int64_t limit) {
  std::vector<int64_t> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) {
    v[i] = static_cast<int64_t>(random_value(seed, i, 0, 1) * static_cast<double>(limit));
  }
  return v;
}

/// Mean square of an output: workers that compute the same thing agree on it.
inline double mean_square(const float* p, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(p[i]) * p[i];
  return n ? sum / static_cast<double>(n) : 0;
}

/// A case, set up: inputs exist.
struct Case {
  /// Runs n iterations, each with outputs of its own.
  std::function<void(int64_t n)> body;
  /// Ops in one iteration; times are given per op.
  int64_t ops = 1;
  /// The same kernel without the library around it, n times; empty where it takes next to
  /// no time.
  std::function<void(int64_t n)> kernel = {};
  /// Mean square of an output; empty where `more` says enough.
  std::function<double()> digest = {};
  /// Further fields of the answer as JSON, each with a comma before it.
  std::function<std::string()> more = {};
};

using Setup = std::function<Case()>;

struct Worker {
  std::string name;
  std::string library;
  int threads = 1;
  std::vector<std::pair<std::string, Setup>> cases = {};
};

inline double time_ns(const std::function<void(int64_t)>& body, int64_t n) {
  const auto begin = std::chrono::steady_clock::now();
  body(n);
  const std::chrono::duration<double, std::nano> d =
      std::chrono::steady_clock::now() - begin;
  return d.count();
}

/// Iterations per sample, so that a sample is long against the clock's resolution and
/// short against the time between two interruptions. Runs the body a few times, which
/// also warms up.
inline int64_t calibrate(const std::function<void(int64_t)>& body) {
  constexpr double kSampleNs = 250e3;
  body(2);
  int64_t n = 1;
  while (true) {
    const double t = time_ns(body, n);
    if (t >= kSampleNs || n >= 1'000'000) return n;
    n = std::max(n + 1, static_cast<int64_t>(static_cast<double>(n) *
                                             std::min(10.0, 1.2 * kSampleNs / (t + 1))));
  }
}

struct Samples {
  std::vector<double> total_ns;
  std::vector<double> kernel_ns;
};

/// Samples for about `budget_ms`. Total and kernel alternate, so that both see the same
/// machine.
inline Samples measure(const Case& c, double budget_ms) {
  constexpr size_t kFewest = 3, kMost = 400;
  const int64_t n = calibrate(c.body);
  const int64_t kernel_n = c.kernel ? calibrate(c.kernel) : 0;
  Samples s;
  double spent = 0;
  while (s.total_ns.size() < kMost &&
         (s.total_ns.size() < kFewest || spent < budget_ms * 1e6)) {
    const double t = time_ns(c.body, n);
    s.total_ns.push_back(t / static_cast<double>(n * c.ops));
    spent += t;
    if (kernel_n) {
      const double k = time_ns(c.kernel, kernel_n);
      s.kernel_ns.push_back(k / static_cast<double>(kernel_n));
      spent += k;
    }
  }
  return s;
}

inline std::string json_list(const std::vector<double>& values) {
  std::ostringstream out;
  out.precision(7);
  out << '[';
  for (size_t i = 0; i < values.size(); ++i) {
    out << (i ? ", " : "");
    if (std::isfinite(values[i])) {
      out << values[i];
    } else {
      out << "NaN";
    }
  }
  out << ']';
  return out.str();
}

inline std::string json_string(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

inline std::string describe(const Worker& w) {
  std::ostringstream out;
  out << "{\"worker\": " << json_string(w.name)
      << ", \"library\": " << json_string(w.library) << ", \"threads\": " << w.threads
      << ", \"cases\": [";
  for (size_t i = 0; i < w.cases.size(); ++i) {
    out << (i ? ", " : "") << json_string(w.cases[i].first);
  }
  out << "]}";
  return out.str();
}

/// The name without its form.
inline std::string case_of(const std::string& name) {
  return name.substr(0, name.find('@'));
}

/// Answers requests until stdin ends. The forms of the last case are kept for their next
/// round.
inline int serve(const Worker& worker) {
  std::map<std::string, Case> ready;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string request, name;
    double budget_ms = 200;
    words >> request >> name >> budget_ms;
    try {
      if (request == "list") {
        std::cout << describe(worker) << std::endl;
        continue;
      }
      const auto found =
          std::find_if(worker.cases.begin(), worker.cases.end(),
                       [&](const auto& entry) { return entry.first == name; });
      if (request != "run" || found == worker.cases.end()) {
        throw std::runtime_error("no such request: " + line);
      }
      std::erase_if(ready,
                    [&](const auto& e) { return case_of(e.first) != case_of(name); });
      if (!ready.contains(name)) ready.emplace(name, found->second());
      const Case& c = ready.at(name);
      const Samples s = budget_ms > 0 ? measure(c, budget_ms) : Samples{{1}, {}};
      std::ostringstream out;
      out.precision(9);
      out << "{\"case\": " << json_string(name) << ", \"ns\": " << json_list(s.total_ns)
          << ", \"kernel_ns\": " << json_list(s.kernel_ns);
      if (c.digest) out << ", \"digest\": " << c.digest();
      if (c.more) out << c.more();
      out << '}';
      std::cout << out.str() << std::endl;
    } catch (const std::exception& e) {
      std::cout << "{\"error\": " << json_string(e.what()) << '}' << std::endl;
    }
  }
  return 0;
}

/// The value of `--threads n`, else 2.
inline int threads_argument(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--threads") == 0)
      return std::max(1, std::atoi(argv[i + 1]));
  }
  return 2;
}

}  // namespace bench
