// Lookup tables: a registry of tables by number, and host functions on them. They are
// ordered ops: a table may change between two calls.
#include "ops/lookup.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include <fmt/format.h>

#include "op/emitter.h"
#include "op/host_function.h"
#include "op/op_def.h"
#include "tandem/lookup.h"

namespace tandem {

namespace {

using lookup::TableAttrs;

/// Keys and values as bytes: a number's own, or a string's.
class Table {
 public:
  Table(DType key, DType value) : key_(key), value_(value) {}
  DType key() const { return key_; }
  DType value() const { return value_; }

  template <class Body>
  auto reading(Body body) const {
    const std::shared_lock lock(mutex_);
    return body(entries_);
  }
  template <class Body>
  void writing(Body body) {
    const std::unique_lock lock(mutex_);
    body(entries_);
  }

 private:
  DType key_, value_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::string> entries_;
};

class Tables {
 public:
  static Tables& get() {
    static auto* all = new Tables;
    return *all;
  }
  int64_t add(DType key, DType value) {
    const std::lock_guard lock(mutex_);
    tables_[++last_] = std::make_shared<Table>(key, value);
    return last_;
  }
  void drop(int64_t id) {
    const std::lock_guard lock(mutex_);
    tables_.erase(id);
  }
  std::shared_ptr<Table> find(int64_t id) const {
    const std::lock_guard lock(mutex_);
    const auto found = tables_.find(id);
    return found == tables_.end() ? nullptr : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<int64_t, std::shared_ptr<Table>> tables_;
  int64_t last_ = 0;
};

std::shared_ptr<Table> table_of(const AttrsRef& attrs, const char* op) {
  auto table = Tables::get().find(attrs.as<TableAttrs>().table);
  if (!table) {
    throw NotFoundError(fmt::format(
        "{}: there is no table {}. A table lives as long as its Python object; keep it",
        op, attrs.as<TableAttrs>().table));
  }
  return table;
}

/// Elements of a host tensor as bytes.
class ElementBytes {
 public:
  explicit ElementBytes(const Tensor& t)
      : host_(t.to_host()), size_(dtype_size(t.dtype())) {}
  int64_t count() const { return host_.num_elements(); }
  std::string at(int64_t i) const {
    if (host_.dtype() == DType::kString) {
      return static_cast<const std::string*>(host_.host_data())[i];
    }
    return {static_cast<const char*>(host_.host_data()) + static_cast<size_t>(i) * size_,
            size_};
  }

 private:
  Tensor host_;
  size_t size_;
};

Tensor tensor_of(const std::vector<std::string>& elements, DType dtype,
                 const Shape& shape) {
  if (dtype == DType::kString) return tensor_from_strings(elements, shape);
  std::string bytes;
  for (const std::string& e : elements) bytes += e;
  return tensor_from(bytes.data(), dtype, shape);
}

void check_table(const InferContext& c, bool has_values) {
  const auto table = Tables::get().find(c.attrs<TableAttrs>().table);
  if (!table) return;  // known when it runs
  c.require(c.num_inputs() == 0 || c.dtype(0) == table->key(),
            fmt::format("keys must be {}, got {}", dtype_name(table->key()),
                        c.num_inputs() ? dtype_name(c.dtype(0)) : ""));
  c.require(!has_values || c.dtype(1) == table->value(),
            fmt::format("values must be {}, got {}", dtype_name(table->value()),
                        has_values ? dtype_name(c.dtype(1)) : ""));
}
void infer_find(InferContext& c) {
  check_table(c, true);
  c.rank(1, 0);
  c.add_output(c.dtype(1), c.shape(0));
}
void infer_insert(InferContext& c) {
  check_table(c, true);
  if (c.shape(0).is_known() && c.shape(1).is_known() && !(c.shape(0) == c.shape(1))) {
    c.fail(fmt::format("Expected shape {} for value, got {}", c.shape(0).debug_str(),
                       c.shape(1).debug_str()));
  }
}
void infer_remove(InferContext& c) { check_table(c, false); }
void infer_table_size(InferContext& c) { c.add_output(DType::kInt64, Shape{}); }
void infer_export(InferContext& c) {
  const auto table = Tables::get().find(c.attrs<TableAttrs>().table);
  c.require(table != nullptr, "there is no such table");
  c.add_output(table->key(), {kUnknownDim});
  c.add_output(table->value(), {kUnknownDim});
}

// The table may not have been there when the call was inferred.
void check_dtypes(const Table& table, std::span<const Tensor> inputs, const char* op) {
  const DType wanted[] = {table.key(), table.value()};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() == wanted[i]) continue;
    throw InvalidArgumentError(
        fmt::format("{}: {} must be {}, got {}", op, i == 0 ? "keys" : "values",
                    dtype_name(wanted[i]), dtype_name(inputs[i].dtype())));
  }
}

std::vector<Tensor> run_find(AttrsRef attrs, std::span<const Tensor> inputs) {
  const auto table = table_of(attrs, "LookupTableFindV2");
  check_dtypes(*table, inputs, "LookupTableFindV2");
  const ElementBytes keys(inputs[0]), fallback(inputs[1]);
  const std::string missing = fallback.at(0);
  std::vector<std::string> out;
  table->reading([&](const auto& entries) {
    for (int64_t i = 0; i < keys.count(); ++i) {
      const auto found = entries.find(keys.at(i));
      out.push_back(found == entries.end() ? missing : found->second);
    }
  });
  return {tensor_of(out, inputs[1].dtype(), inputs[0].shape())};
}
std::vector<Tensor> run_insert(AttrsRef attrs, std::span<const Tensor> inputs) {
  const auto table = table_of(attrs, "LookupTableInsertV2");
  check_dtypes(*table, inputs, "LookupTableInsertV2");
  const ElementBytes keys(inputs[0]), values(inputs[1]);
  table->writing([&](auto& entries) {
    for (int64_t i = 0; i < keys.count(); ++i) entries[keys.at(i)] = values.at(i);
  });
  return {};
}
std::vector<Tensor> run_remove(AttrsRef attrs, std::span<const Tensor> inputs) {
  const ElementBytes keys(inputs[0]);
  const auto table = table_of(attrs, "LookupTableRemoveV2");
  check_dtypes(*table, inputs, "LookupTableRemoveV2");
  table->writing([&](auto& entries) {
    for (int64_t i = 0; i < keys.count(); ++i) entries.erase(keys.at(i));
  });
  return {};
}
std::vector<Tensor> run_size(AttrsRef attrs, std::span<const Tensor>) {
  return {constant(table_of(attrs, "LookupTableSizeV2")->reading([](const auto& entries) {
    return static_cast<int64_t>(entries.size());
  }))};
}
std::vector<Tensor> run_export(AttrsRef attrs, std::span<const Tensor>) {
  const auto table = table_of(attrs, "LookupTableExportV2");
  std::vector<std::string> keys, values;
  table->reading([&](const auto& entries) {
    for (const auto& [key, value] : entries) {
      keys.push_back(key);
      values.push_back(value);
    }
  });
  const Shape shape{static_cast<int64_t>(keys.size())};
  return {tensor_of(keys, table->key(), shape), tensor_of(values, table->value(), shape)};
}

OpDef table_op(const char* name, const char* doc, std::vector<InputDef> inputs,
               std::vector<std::string> outputs, void (*infer)(InferContext&)) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'K', mask(DType::kInt64, DType::kString)}, {'V', kAnyDType}};
  def.inputs = std::move(inputs);
  def.outputs = std::move(outputs);
  def.attrs = &attrs_type<TableAttrs>();
  def.infer = infer;
  def.differentiable = false;
  def.dynamic = true;
  def.effects = kOrdered | kMayFail;
  return def;
}

}  // namespace

void register_lookup_ops(OpTable& table) {
  const InputDef keys{.name = "keys", .type = 'K'};
  table.add(table_op("LookupTableFindV2", "Values of keys in a table.",
                     {keys, {.name = "default_value", .type = 'V'}}, {"values"},
                     infer_find));
  table.add(table_op("LookupTableInsertV2", "Puts entries into a table.",
                     {keys, {.name = "values", .type = 'V'}}, {}, infer_insert));
  table.add(table_op("LookupTableRemoveV2", "Takes entries out of a table.", {keys}, {},
                     infer_remove));
  table.add(table_op("LookupTableSizeV2", "How many entries a table has.", {}, {"size"},
                     infer_table_size));
  table.add(table_op("LookupTableExportV2", "All keys and values of a table.", {},
                     {"keys", "values"}, infer_export));
  add_host_function("LookupTableFindV2", run_find);
  add_host_function("LookupTableInsertV2", run_insert);
  add_host_function("LookupTableRemoveV2", run_remove);
  add_host_function("LookupTableSizeV2", run_size);
  add_host_function("LookupTableExportV2", run_export);
}

namespace lookup {

int64_t make_table(DType key, DType value) {
  if (key != DType::kInt64 && key != DType::kString) {
    throw ValueError(
        fmt::format("make_table: keys are int64 or string, not {}", dtype_name(key)));
  }
  return Tables::get().add(key, value);
}
void drop_table(int64_t table) { Tables::get().drop(table); }

Tensor find(int64_t table, const Tensor& keys, const Tensor& fallback) {
  static const OpHandle op("LookupTableFindV2");
  return emit(op, {keys, fallback}, TableAttrs{table});
}
void insert(int64_t table, const Tensor& keys, const Tensor& values) {
  static const OpHandle op("LookupTableInsertV2");
  emit_all(op, {keys, values}, TableAttrs{table});
}
void remove(int64_t table, const Tensor& keys) {
  static const OpHandle op("LookupTableRemoveV2");
  emit_all(op, {keys}, TableAttrs{table});
}
Tensor size(int64_t table) {
  static const OpHandle op("LookupTableSizeV2");
  return emit(op, {}, TableAttrs{table});
}

}  // namespace lookup

}  // namespace tandem
