#include "plan/stored_plan.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json.h"
#include "plan/check_plan.h"
#include "tandem/error.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

using nlohmann::json;

constexpr std::string_view kMagic = "TDMPLAN1";
constexpr size_t kPrefix = 8 + 3 * sizeof(uint64_t);
// Branches in branches; more is no program.
constexpr int kMaxDepth = 64;

[[noreturn]] void damaged(const std::string& what) {
  throw DataLossError(
      fmt::format("planned_from_bytes: {}. The bytes are damaged or are no plan.", what));
}

class Writer {
 public:
  std::string run(const PlannedGraph& planned) {
    json header = {{"planned", planned_json(planned)}};
    header["variables"] = std::move(variables_);
    const std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
    std::string bytes(kMagic);
    for (const uint64_t number : {uint64_t{text.size()}, uint64_t{binary_.size()},
                                  hash_bytes(binary_, hash_bytes(text))}) {
      bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    return bytes + text + binary_;
  }

 private:
  json planned_json(const PlannedGraph& planned) {
    std::vector<Tensor> used;
    const std::string graph = to_bytes(*planned.graph, &used);
    json j = {{"graph", {binary_.size(), graph.size()}},
              {"graph_variables", indices(used)},
              {"plan", parse_json(to_json(planned.plan))},
              {"variables", indices(planned.variables)}};
    binary_ += graph;
    if (!planned.parameter_strips.empty()) j["strips"] = planned.parameter_strips;
    for (size_t i = 0; i < planned.subplans.size(); ++i) {
      for (const auto& sub : planned.subplans[i]) {
        j["subplans"][std::to_string(i)].push_back(planned_json(*sub));
      }
    }
    return j;
  }

  json indices(const std::vector<Tensor>& handles) {
    json list = json::array();
    for (const Tensor& handle : handles) list.push_back(index_of(handle));
    return list;
  }
  size_t index_of(const Tensor& handle) {
    const VariableImpl& v = variable_of(handle);
    const auto found = std::find(known_.begin(), known_.end(), &v);
    if (found == known_.end()) {
      known_.push_back(&v);
      json dims;
      if (v.shape.has_rank()) dims = std::vector<int64_t>(v.shape.begin(), v.shape.end());
      variables_.push_back(
          {{"name", v.name}, {"dtype", dtype_name(v.dtype)}, {"shape", std::move(dims)}});
      return known_.size() - 1;
    }
    return static_cast<size_t>(found - known_.begin());
  }

  json variables_ = json::array();
  std::vector<const VariableImpl*> known_;  // by index
  std::string binary_;
};

class Reader {
 public:
  Reader(const json& header, std::string_view binary, const VariableLoader& loader)
      : binary_(binary) {
    for (const json& v : header.at("variables")) {
      StoredVariable stored;
      stored.name = v.at("name").get<std::string>();
      try {
        stored.dtype = dtype_from_name(v.at("dtype").get<std::string>());
        const json& dims = v.at("shape");
        stored.shape =
            dims.is_null() ? Shape::unknown() : Shape(dims.get<std::vector<int64_t>>());
      } catch (const Error& e) {
        damaged(e.what());
      }
      stored.index = static_cast<int>(variables_.size());
      if (!loader) {
        throw InvalidArgumentError(
            fmt::format("planned_from_bytes: the plan uses variable '{}'. Give a loader "
                        "of variables.",
                        stored.name));
      }
      variables_.push_back(loader(stored));
    }
  }

  std::shared_ptr<PlannedGraph> read(const json& j, int depth) const {
    if (depth > kMaxDepth) damaged("plans are nested too deeply");
    auto made = std::make_shared<PlannedGraph>();
    const auto [offset, size] = j.at("graph").get<std::pair<size_t, size_t>>();
    if (offset > binary_.size() || size > binary_.size() - offset) {
      damaged("the end is missing");
    }
    const std::vector<Tensor> used = handles(j.at("graph_variables"));
    const auto loader = [&](const StoredVariable& v) {
      if (static_cast<size_t>(v.index) >= used.size()) {
        damaged("a graph uses a variable that is not there");
      }
      return used[static_cast<size_t>(v.index)];
    };
    made->graph = std::make_shared<const Graph>(
        from_bytes(binary_.substr(offset, size), loader,
                   depth ? GraphRole::kSubgraph : GraphRole::kFunction));
    try {
      made->plan = plan_from_json(j.at("plan").dump());
    } catch (const InvalidArgumentError& e) {
      damaged(e.what());
    }
    made->variables = handles(j.at("variables"));
    if (const auto strips = j.find("strips"); strips != j.end()) {
      made->parameter_strips = strips->get<std::vector<std::vector<int32_t>>>();
    }
    const size_t nodes = made->graph->nodes().size();
    made->subplans.resize(nodes);
    if (const auto subplans = j.find("subplans"); subplans != j.end()) {
      for (const auto& [number, list] : subplans->items()) {
        const size_t i = std::stoul(number);
        if (i >= nodes) damaged("a branch belongs to no node");
        for (const json& sub : list) made->subplans[i].push_back(read(sub, depth + 1));
      }
    }
    check_plan(*made);
    return made;
  }

 private:
  std::vector<Tensor> handles(const json& indices) const {
    std::vector<Tensor> list;
    for (const json& i : indices) {
      const auto index = i.get<size_t>();
      if (index >= variables_.size()) damaged("a variable is used that is not there");
      list.push_back(variables_[index]);
    }
    return list;
  }

  std::string_view binary_;
  std::vector<Tensor> variables_;
};

}  // namespace

std::string to_bytes(const PlannedGraph& planned) { return Writer().run(planned); }

std::shared_ptr<const PlannedGraph> planned_from_bytes(std::string_view bytes,
                                                       const VariableLoader& variables) {
  if (bytes.size() < kPrefix || !bytes.starts_with(kMagic))
    damaged("the beginning is not there");
  uint64_t text = 0, binary = 0, checksum = 0;
  std::memcpy(&text, bytes.data() + 8, sizeof text);
  std::memcpy(&binary, bytes.data() + 16, sizeof binary);
  std::memcpy(&checksum, bytes.data() + 24, sizeof checksum);
  bytes.remove_prefix(kPrefix);
  if (text > bytes.size() || binary != bytes.size() - text) damaged("the end is missing");
  const std::string_view header = bytes.substr(0, text), graphs = bytes.substr(text);
  if (hash_bytes(graphs, hash_bytes(header)) != checksum) damaged("the checksum differs");
  try {
    const json j = parse_json(header);
    return Reader(j, graphs, variables).read(j.at("planned"), 0);
  } catch (const json::exception& e) {
    damaged(e.what());
  } catch (const std::logic_error& e) {  // std::stoul
    damaged(e.what());
  }
}

}  // namespace tandem
