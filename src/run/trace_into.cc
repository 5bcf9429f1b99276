#include "run/trace_into.h"

#include <fmt/format.h>

#include "run/tape.h"
#include "tandem/control_flow.h"

namespace tandem {

void check_results(const char* what, const std::vector<Tensor>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].defined() && results[i].dtype() != DType::kResource) continue;
    throw TypeError(
        fmt::format("{}: result {} is not a tensor. Read variables before returning "
                    "them.",
                    what, i));
  }
}

std::vector<Tensor> trace_into(Subgraph& sub, FnRef<std::vector<Tensor>()> body) {
  const HideListeners hidden;
  sub.tracer.lift([&hidden](const Tensor& t) { return hidden.watched(t); });
  struct Unlift {
    Tracer& tracer;
    ~Unlift() { tracer.lift(nullptr); }
  } unlift{sub.tracer};
  const EmitterScope scope(&sub.tracer);
  std::vector<Tensor> results = body();
  check_results(sub.graph.name().c_str(), results);
  for (const Tensor& t : results) sub.results.push_back(sub.tracer.value_of(t));
  return results;
}

}  // namespace tandem
