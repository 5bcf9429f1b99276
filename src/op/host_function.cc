#include "op/host_function.h"

#include <map>

#include "op/op_def.h"

namespace tandem {

namespace {
std::map<std::string, HostFunction>& registered() {
  static auto* functions = new std::map<std::string, HostFunction>;
  return *functions;
}
}  // namespace

void add_host_function(const std::string& op, HostFunction function) {
  registered().emplace(op, function);
}

HostFunction host_function(const OpDef& op) {
  if (!op.dynamic) return nullptr;
  static const std::vector<HostFunction>* by_id = [] {
    auto* list = new std::vector<HostFunction>(OpTable::get().all().size(), nullptr);
    for (const auto& [name, function] : registered()) {
      (*list)[static_cast<size_t>(OpTable::get().at(name).id)] = function;
    }
    return list;
  }();
  return (*by_id)[static_cast<size_t>(op.id)];
}

}  // namespace tandem
