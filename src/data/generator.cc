// from_generator: elements come from a function of the user's, checked against what was
// promised.
#include <fmt/format.h>

#include "data/stages.h"

namespace tandem::data {

namespace {

void check(const Element& element, const std::vector<Component>& promised) {
  if (element.size() != promised.size()) {
    throw InvalidArgumentError(
        fmt::format("from_generator: the generator yielded {} components, {} were "
                    "promised.",
                    element.size(), promised.size()));
  }
  for (size_t i = 0; i < element.size(); ++i) {
    const Tensor& t = element[i];
    if (t.dtype() != promised[i].dtype || !promised[i].shape.compatible_with(t.shape())) {
      throw InvalidArgumentError(fmt::format(
          "from_generator: component {} that the generator yielded is of dtype {} and "
          "shape {}, where an element of dtype {} and shape {} was expected.",
          i, dtype_name(t.dtype()), t.shape().str(), dtype_name(promised[i].dtype),
          promised[i].shape.str()));
    }
  }
}

class GeneratorStage final : public Stage {
 public:
  GeneratorStage(GeneratorMaker make, std::vector<Component> components)
      : Stage("Generator", std::move(components)), make_(std::move(make)) {}

  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Generating final : Cursor {
      Generating(const Context& c, std::shared_ptr<const Stage> s, GeneratorMaker m)
          : Cursor(c, "Generator"), stage(std::move(s)), make(std::move(m)) {}
      bool advance(Element& out) override {
        if (!generate) generate = make();
        out.clear();
        if (!generate(out)) {
          generate = [](Element&) { return false; };
          return false;
        }
        check(out, stage->components());
        return true;
      }
      const std::shared_ptr<const Stage> stage;
      const GeneratorMaker make;
      std::function<bool(Element&)> generate;
    };
    return std::make_unique<Generating>(context, shared_from_this(), make_);
  }
  StagePtr substitute(const Substitution&) const override { return shared_from_this(); }

 private:
  const GeneratorMaker make_;
};

}  // namespace

StagePtr make_generator(GeneratorMaker make, std::vector<Component> components) {
  return std::make_shared<GeneratorStage>(std::move(make), std::move(components));
}

}  // namespace tandem::data
