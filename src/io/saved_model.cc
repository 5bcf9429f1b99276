#include "tandem/saved_model.h"

#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "io/stored_function.h"
#include "tandem/checkpoint.h"
#include "tandem/error.h"

namespace tandem {

namespace {

using nlohmann::json;

constexpr const char* kFile = "saved_model.json";
constexpr const char* kFormat = "tandem-saved-model";
constexpr int kVersion = 1;

Shape read_shape(const json& j) {
  if (j.is_null()) return Shape::unknown();
  std::vector<int64_t> dims;
  for (const json& d : j) dims.push_back(d.is_null() ? kUnknownDim : d.get<int64_t>());
  return Shape(dims);
}

TensorSpec read_spec(const json& j, const std::string& name) {
  return {.shape = read_shape(j.at("shape")),
          .dtype = dtype_from_name(j.at("dtype").get<std::string>()),
          .name = name};
}

json read_model(const std::string& folder) {
  const std::string path = folder + "/" + kFile;
  std::string text;
  try {
    text = read_whole_file(path);
  } catch (const NotFoundError&) {
    if (std::filesystem::exists(folder + "/saved_model.pb")) {
      throw NotFoundError(
          fmt::format("{} holds a saved model in TensorFlow's own format "
                      "(saved_model.pb). Tandem reads what its own tf.saved_model.save "
                      "wrote: save the model again with Tandem.",
                      folder));
    }
    throw NotFoundError(
        fmt::format("SavedModel file does not exist at: {}. Give the folder that "
                    "tf.saved_model.save wrote.",
                    path));
  }
  json model;
  try {
    model = parse_json(text);
  } catch (const json::exception& e) {
    throw DataLossError(fmt::format("{} is damaged: {}", path, e.what()));
  }
  if (!model.is_object() || model.value("format", json()) != kFormat) {
    throw DataLossError(path + " is damaged or describes no saved model.");
  }
  if (model.value("version", json()) != kVersion) {
    throw InvalidArgumentError(fmt::format(
        "{} has version {}; this build reads version {}. Load it with the version that "
        "wrote it.",
        path, model.value("version", json()).dump(), kVersion));
  }
  return model;
}

/// Of loading a model that others save over at the same time.
constexpr int kMostLoads = 8;

/// What tells one description from another: every save makes a new file.
using Stamp = std::array<int64_t, 4>;
Stamp stamp_of(const std::string& folder) {
  struct stat s{};
  if (stat((folder + "/" + kFile).c_str(), &s) != 0) return {};
  return {static_cast<int64_t>(s.st_ino), s.st_mtim.tv_sec, s.st_mtim.tv_nsec,
          s.st_ctim.tv_nsec};
}

/// Where the files of the save lie in the folder: saves over a model take turns between
/// two places, so that the model is whole until the new description is there.
std::string data_prefix(const json& model, const std::string& path) {
  const auto data = model.value("data", std::string());
  if (data.empty()) return "";
  if (data != "b") {
    throw DataLossError(
        fmt::format("{} is damaged: \"data\" is '{}', and 'b' is wanted.", path, data));
  }
  return data + "/";
}

}  // namespace

struct SavedFunction::State {
  std::string name;
  std::shared_ptr<CompiledFunction> function;
  std::vector<TensorSpec> inputs;
  std::vector<std::string> outputs;
  std::vector<size_t> results;  // by output: which result of the function
};

struct SavedModel::State {
  std::vector<Variable> variables;
  std::vector<std::string> names;
  std::map<std::string, SavedFunction> signatures;
};

const std::vector<TensorSpec>& SavedFunction::inputs() const { return state_->inputs; }
const std::vector<std::string>& SavedFunction::outputs() const { return state_->outputs; }
std::string SavedFunction::explain() const { return state_->function->explain(); }

std::vector<Tensor> SavedFunction::operator()(
    const std::vector<Tensor>& arguments) const {
  const State& s = *state_;
  if (arguments.size() != s.inputs.size()) {
    throw InvalidArgumentError(fmt::format("{}: {} tensors were given, {} are wanted.",
                                           s.name, arguments.size(), s.inputs.size()));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorSpec& spec = s.inputs[i];
    if (arguments[i].dtype() != spec.dtype ||
        !spec.shape.compatible_with(arguments[i].shape())) {
      throw InvalidArgumentError(fmt::format(
          "{}: '{}' is {} of shape {}, and {} of shape {} is wanted.", s.name, spec.name,
          dtype_name(arguments[i].dtype()), arguments[i].shape().str(),
          dtype_name(spec.dtype), spec.shape.str()));
    }
  }
  const std::vector<Tensor> results = s.function->call(arguments);
  std::vector<Tensor> chosen;
  for (size_t r : s.results) chosen.push_back(results.at(r));
  return chosen;
}

std::map<std::string, Tensor> SavedFunction::call(
    const std::map<std::string, Tensor>& arguments) const {
  std::vector<Tensor> ordered;
  for (const TensorSpec& spec : state_->inputs) {
    const auto found = arguments.find(spec.name);
    if (found == arguments.end()) {
      throw InvalidArgumentError(
          fmt::format("{}: there is no argument '{}'.", state_->name, spec.name));
    }
    ordered.push_back(found->second);
  }
  if (arguments.size() != ordered.size()) {
    throw InvalidArgumentError(fmt::format("{}: {} arguments were given, {} are known.",
                                           state_->name, arguments.size(),
                                           ordered.size()));
  }
  const std::vector<Tensor> results = (*this)(ordered);
  std::map<std::string, Tensor> named;
  for (size_t i = 0; i < results.size(); ++i) named[state_->outputs[i]] = results[i];
  return named;
}

std::shared_ptr<const SavedModel::State> SavedModel::load(const std::string& folder) {
  auto state = std::make_shared<State>();
  const json model = read_model(folder);
  try {
    const std::string path = folder + "/" + kFile;
    const std::string data = data_prefix(model, path);
    // Neither the index nor its data may be reached through a link that leads elsewhere.
    for (const char* end : {".index", ".data-00000-of-00001", ".data-00000-of-00001.b"}) {
      path_inside(folder, data + "variables/variables" + end, path);
    }
    const CheckpointReader values(folder + "/" + data + "variables/variables");
    for (const json& v : model.at("variables")) {
      state->variables.emplace_back(
          values.read(v.at("key").get<std::string>()),
          VariableOptions{v.at("name").get<std::string>(), v.at("trainable").get<bool>(),
                          read_shape(v.at("shape"))});
    }
    for (const json& s : model.at("signatures")) {
      const json& f = model.at("functions").at(s.at("function").get<size_t>());
      std::vector<Tensor> handles;
      for (const json& v : f.at("variables")) {
        handles.push_back(state->variables.at(v.get<size_t>()).handle());
      }
      auto made = std::make_shared<SavedFunction::State>();
      made->name = s.at("name").get<std::string>();
      made->function = load_function(
          path_inside(folder, f.at("file").get<std::string>(), path), handles);
      const json& inputs = f.at("inputs");
      for (size_t i = 0; i < inputs.size(); ++i) {
        made->inputs.push_back(
            read_spec(inputs[i], s.at("inputs").at(i).get<std::string>()));
      }
      const Graph& graph = made->function->function().graph();
      std::vector<DType> takes;
      for (const TensorSpec& spec : made->inputs) takes.push_back(spec.dtype);
      std::vector<DType> gives;
      for (ValueRef r : graph.results()) {
        gives.push_back(r.defined() ? graph.info(r).dtype : DType::kInvalid);
      }
      check_interface(made->function->function(), path, takes, gives);
      for (const json& o : s.at("outputs")) {
        made->outputs.push_back(o.at(0).get<std::string>());
        made->results.push_back(o.at(1).get<size_t>());
        if (made->results.back() >= gives.size()) {
          throw DataLossError(
              fmt::format("{} is damaged: '{}' is said to be result {} of {}.", path,
                          made->outputs.back(), made->results.back(), gives.size()));
        }
      }
      SavedFunction function;
      function.state_ = std::move(made);
      state->names.push_back(function.state_->name);
      state->signatures.emplace(function.state_->name, std::move(function));
    }
  } catch (const json::exception& e) {
    throw DataLossError(fmt::format("{}/{} is damaged: {}", folder, kFile, e.what()));
  } catch (const std::out_of_range&) {
    throw DataLossError(
        fmt::format("{}/{} is damaged: a number is too large.", folder, kFile));
  }
  return state;
}

SavedModel::SavedModel(const std::string& folder) {
  for (int tries = 1; !state_; ++tries) {
    const Stamp before = stamp_of(folder);
    const auto is_settled = [&] {
      return tries == kMostLoads || stamp_of(folder) == before;
    };
    try {
      auto state = load(folder);
      // Its files may have been those of two saves.
      if (is_settled()) state_ = std::move(state);
    } catch (const Error&) {
      if (is_settled()) throw;
    }
  }
}

const std::vector<std::string>& SavedModel::signatures() const { return state_->names; }
const std::vector<Variable>& SavedModel::variables() const { return state_->variables; }

SavedFunction SavedModel::signature(const std::string& name) const {
  const auto found = state_->signatures.find(name);
  if (found == state_->signatures.end()) {
    throw NotFoundError(fmt::format("The saved model has no signature '{}'; it has: {}.",
                                    name, fmt::join(state_->names, ", ")));
  }
  return found->second;
}

}  // namespace tandem
