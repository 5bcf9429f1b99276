#include "op/op_def.h"

#include <mutex>
#include <unordered_map>

#include "tandem/error.h"

namespace tandem {

struct OpTable::Index {
  std::unordered_map<std::string_view, const OpDef*> by_name;
};

namespace {
void (*g_op_registrar)(OpTable&) = nullptr;
}

void set_op_registrar(void (*registrar)(OpTable&)) { g_op_registrar = registrar; }

const OpTable& OpTable::get() {
  static const OpTable* table = [] {
    auto* t = new OpTable;
    t->index_ = new Index;
    if (g_op_registrar) g_op_registrar(*t);
    return t;
  }();
  return *table;
}

void OpTable::add(OpDef def) {
  if (def.name.empty() || !def.infer) {
    throw InternalError("op table: an op needs a name and inference: '" + def.name + "'");
  }
  def.id = static_cast<int>(ordered_.size());
  auto* kept = new OpDef(std::move(def));
  if (!index_->by_name.emplace(kept->name, kept).second) {
    throw InternalError("op table: '" + kept->name + "' is defined twice");
  }
  ordered_.push_back(kept);
}

const OpDef* OpTable::find(std::string_view name) const {
  const auto it = index_->by_name.find(name);
  return it == index_->by_name.end() ? nullptr : it->second;
}

const OpDef& OpTable::at(std::string_view name) const {
  if (const OpDef* def = find(name)) return *def;
  throw NotFoundError("Op type not registered '" + std::string(name) +
                      "'. `tandem ops` lists the ops there are.");
}

Cost default_cost(const Signature& s) {
  Cost c;
  for (const auto* list : {&s.inputs, &s.outputs}) {
    for (const TensorInfo& t : *list) {
      if (t.dtype == DType::kResource || !t.shape.is_known()) continue;
      c.bytes += static_cast<double>(t.shape.num_elements()) *
                 static_cast<double>(dtype_size(t.dtype));
    }
  }
  return c;
}

Cost cost_of(const Signature& s) { return s.op->cost ? s.op->cost(s) : default_cost(s); }

}  // namespace tandem
