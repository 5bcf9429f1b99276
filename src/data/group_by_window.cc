// group_by_window: elements with the same key are collected, and a function makes a
// dataset of each full group.
#include <map>

#include <fmt/format.h>

#include "data/stages.h"
#include "device/runtime.h"
#include "tensor/tensor_impl.h"

namespace tandem::data {

namespace {

class Grouping final : public Cursor {
 public:
  Grouping(const Context& c, std::shared_ptr<const Stage> input,
           GroupByWindowFunctions functions)
      : Cursor(c, "GroupByWindow"),
        stage_(std::move(input)),
        input_(stage_->open(c)),
        functions_(std::move(functions)) {}

 private:
  bool advance(Element& out) override {
    for (;;) {
      if (current_) {
        if (current_->next(out)) return true;
        current_.reset();
      }
      Element element;
      if (!ended_ && input_->next(element)) {
        add(std::move(element));
        continue;
      }
      ended_ = true;
      // What is left, in the order of keys.
      if (groups_.empty()) return false;
      flush(groups_.begin());
    }
  }

  struct Group {
    int64_t size = 0;
    std::vector<Element> elements;
  };
  static int64_t number_of(const Element& result, const char* what) {
    if (result.size() != 1 || result[0].dtype() != DType::kInt64 ||
        result[0].rank() != 0) {
      throw InvalidArgumentError(fmt::format("`{}` must return a scalar int64.", what));
    }
    return result[0].item<int64_t>();
  }

  void add(Element element) {
    const int64_t key =
        number_of((*functions_.key)(element, *context().draws), "key_func");
    const auto [group, fresh] = groups_.try_emplace(key);
    if (fresh) {
      const Element given{key_tensor(key)};
      group->second.size =
          number_of((*functions_.size)(given, *context().draws), "window_size_func");
      if (group->second.size <= 0) {
        groups_.erase(group);
        throw InvalidArgumentError("Window size must be greater than zero.");
      }
    }
    group->second.elements.push_back(std::move(element));
    if (static_cast<int64_t>(group->second.elements.size()) == group->second.size) {
      flush(group);
    }
  }

  static Tensor key_tensor(int64_t key) {
    return make_host_copy(Runtime::get().cpu(), DType::kInt64, Shape{}, &key);
  }

  void flush(std::map<int64_t, Group>::iterator group) {
    const Dataset window(
        make_elements(std::move(group->second.elements), stage_->components()));
    const Element given{key_tensor(group->first), dataset_tensor(window)};
    groups_.erase(group);
    const Element result = (*functions_.reduce)(given, *context().draws);
    current_stage_ = dataset_of(result.at(0)).stage();
    current_ = current_stage_->open(context().shared(Context::Sharing::kAfter));
  }

  const std::shared_ptr<const Stage> stage_;
  const std::unique_ptr<Cursor> input_;
  const GroupByWindowFunctions functions_;
  std::map<int64_t, Group> groups_;
  StagePtr current_stage_;
  std::unique_ptr<Cursor> current_;
  bool ended_ = false;
};

class GroupByWindowStage final : public Stage {
 public:
  GroupByWindowStage(StagePtr input, GroupByWindowFunctions functions,
                     std::vector<Component> components)
      : Stage("GroupByWindow", std::move(components)),
        input_(std::move(input)),
        functions_(std::move(functions)) {}
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    return std::make_unique<Grouping>(context, input_, functions_);
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_group_by_window(
        input_->substitute(s),
        {functions_.key->substitute(s), functions_.reduce->substitute(s),
         functions_.size->substitute(s)},
        components());
  }

 private:
  const StagePtr input_;
  const GroupByWindowFunctions functions_;
};

}  // namespace

StagePtr make_group_by_window(StagePtr input, GroupByWindowFunctions functions,
                              std::vector<Component> components) {
  return std::make_shared<GroupByWindowStage>(std::move(input), std::move(functions),
                                              std::move(components));
}

}  // namespace tandem::data
