#include "graph/passes/fusion_layout.h"

#include <algorithm>

namespace tandem {

namespace {

using Form = FusionLayout::Form;
using AxesKind = ReducedAxes::Kind;

// With leading dimensions of size 1 up to a rank.
Shape padded(const Shape& shape, int rank) {
  Shape result = shape;
  while (result.rank() < rank) result.insert(0, 1);
  return result;
}

Shape row_shape(const Shape& domain, int32_t row_axes) {
  Shape rows = domain;
  for (int i = domain.rank() - row_axes; i < domain.rank(); ++i) rows.set(i, 1);
  return rows;
}

}  // namespace

struct FusionPlanner::Frame {
  std::span<const int32_t> members;
  FusionLayout layout;
  std::vector<Shape> natural;     // by member: what its program arguments broadcast to
  std::vector<bool> used_inside;  // by member
  bool has_domain = false;        // a member insists on the domain's shape
  bool has_rows = false;
  int64_t elements = 0;  // of the domain
  Shape rows;            // shape and number of row values
  int64_t num_rows = 0;

  bool insist(const Shape& shape) {
    if (has_domain) return layout.domain == shape;
    layout.domain = shape;
    return has_domain = true;
  }
};

FusionPlanner::FusionPlanner(const FusionGraph& graph, const FusionTarget& target)
    : graph_(graph), target_(target) {
  const int32_t n = graph.graph().size();
  ops_.reserve(static_cast<size_t>(n));
  for (int32_t i = 0; i < n; ++i) ops_.push_back(fusion_op(graph, i, target));
  slot_.assign(static_cast<size_t>(n), -1);
}

int32_t FusionPlanner::member_of(ValueRef v) const {
  return slot_[static_cast<size_t>(v.node)];
}

// The number of elements is that of the largest member; members that look at other than
// whole and single values insist on the shape.
bool FusionPlanner::find_domain(Frame& f) const {
  for (int32_t m : f.members) f.elements = std::max(f.elements, op(m)->elements);
  f.used_inside.assign(f.members.size(), false);
  for (int32_t m : f.members) {
    for (const FusionOperand& o : op(m)->operands) {
      const int32_t inner = member_of(o.root);
      if (inner >= 0) f.used_inside[static_cast<size_t>(inner)] = true;
    }
  }
  for (size_t i = 0; i < f.members.size(); ++i) {
    const FusionOp& o = *op(f.members[i]);
    if (o.reduction) {
      if (o.elements != f.elements) return false;
      const bool flat = o.axes.kind == AxesKind::kAll && !f.used_inside[i];
      if (!flat && !f.insist(o.operands[0].shape)) return false;
      continue;
    }
    if (o.elements != f.elements) continue;
    const bool flat =
        std::all_of(o.operands.begin(), o.operands.end(), [&](const FusionOperand& x) {
          return x.elements == 1 || x.elements == f.elements;
        });
    if (!flat && !f.insist(o.shape)) return false;
  }
  for (int32_t m : f.members) {
    if (f.has_domain) break;
    const FusionOp& o = *op(m);
    if (o.elements == f.elements) f.insist(o.reduction ? o.operands[0].shape : o.shape);
  }
  return true;
}

// Reductions agree on the trailing axes. A row is read again by every reduction after the
// first, so it must fit a cache, and there must be rows enough to share among threads.
bool FusionPlanner::find_rows(Frame& f) const {
  const Shape& domain = f.layout.domain;
  int32_t low = 0, high = domain.rank();
  bool any = false;
  for (size_t i = 0; i < f.members.size(); ++i) {
    const FusionOp& o = *op(f.members[i]);
    if (!o.reduction || (o.axes.kind == AxesKind::kAll && !f.used_inside[i])) continue;
    if (o.axes.kind == AxesKind::kAll) {
      // The whole domain as one row: vectors, and batches of one. Others would be
      // programs that differ by their rank alone.
      const bool one_row = o.axes.low == 1 || o.axes.low < domain.rank();
      if (!one_row || f.elements > target_.small_domain) return false;
    }
    any = true;
    f.has_rows = f.has_rows || o.axes.kind != AxesKind::kLeading;
    low = std::max(low, o.axes.low);
    high = std::min(high, o.axes.high);
  }
  if (!any) return true;
  if (low > high) return false;
  f.layout.row_axes = low;
  f.rows = row_shape(domain, low);
  f.num_rows = f.rows.num_elements();
  if (!f.has_rows || f.elements <= target_.small_domain) return true;
  return f.num_rows >= target_.min_rows &&
         f.elements / f.num_rows <= target_.max_row_elements;
}

// Program arguments of one member. `whole`: read what broadcast nodes give, because the
// instruction alone would not reach its shape.
bool FusionPlanner::place_operands(Frame& f, size_t m, bool whole) const {
  const FusionOp& o = *op(f.members[m]);
  const Form form = f.layout.forms[m];
  const bool row = form == Form::kRow && !o.reduction;
  const Shape& target = row ? f.rows : f.layout.domain;
  const int64_t count = row ? f.num_rows : f.elements;
  const bool aligned = padded(o.shape, target.rank()) == target;
  std::vector<int32_t>& arguments = f.layout.arguments;
  Shape natural;
  for (const FusionOperand& x : o.operands) {
    const bool spread = x.broadcast && !whole, made = x.broadcast && whole;
    const ValueRef root = made ? graph_.through_views(x.whole) : x.root;
    const Shape& seen = made ? graph_.shape(x.whole) : x.shape;
    const int64_t elements = made ? seen.num_elements() : x.elements;
    const int32_t inner = member_of(root);
    Shape shape;
    int32_t argument;
    if (inner >= 0) {
      const Form inner_form = f.layout.forms[static_cast<size_t>(inner)];
      if (inner_form == Form::kColumn || inner_form == Form::kScalar) return false;
      const bool inner_row = inner_form == Form::kRow;
      if (o.reduction && inner_row) return false;
      if (row && !inner_row) return false;
      if (inner_row && f.num_rows > 1) {
        const bool row_again = row && elements == count && !spread;
        // Rows of [b,1] that were looked at as [b] must not meet the last axis.
        const bool in_place = padded(seen, f.rows.rank()) == f.rows;
        if (!in_place && !(row_again && !aligned)) return false;
        if (!row && !aligned) return false;
      } else if (!inner_row && (elements != count || spread)) {
        return false;
      }
      shape = f.natural[static_cast<size_t>(inner)];
      argument = -1 - inner;
    } else {
      if (member_of(graph_.source(root)) >= 0) return false;
      if (elements == count) {
        shape = target;
      } else if (elements == 1) {
        shape = seen.rank() <= target.rank() ? seen : Shape{};
      } else {
        if (!aligned) return false;
        shape = seen;
      }
      FusionLayout::Input input{made ? x.whole : x.value, shape};
      auto known = std::find_if(f.layout.inputs.begin(), f.layout.inputs.end(),
                                [&](const FusionLayout::Input& i) {
                                  return i.value == input.value && i.shape == input.shape;
                                });
      if (known == f.layout.inputs.end()) {
        f.layout.inputs.push_back(std::move(input));
        known = f.layout.inputs.end() - 1;
      }
      argument = static_cast<int32_t>(known - f.layout.inputs.begin());
    }
    if (!broadcast_shapes(natural, shape, &natural)) return false;
    arguments.push_back(argument);
  }
  if (!(natural == target)) return false;
  f.natural[m] = natural;
  return true;
}

bool FusionPlanner::place_member(Frame& f, size_t m) const {
  const FusionOp& o = *op(f.members[m]);
  Form& form = f.layout.forms[m];
  if (o.reduction) {
    const bool whole_row = o.axes.kind == AxesKind::kAll && f.used_inside[m];
    form = o.axes.kind == AxesKind::kTrailing || whole_row ? Form::kRow
           : o.axes.kind == AxesKind::kLeading             ? Form::kColumn
                                                           : Form::kScalar;
  } else if (o.elements == f.elements) {
    form = Form::kFull;
  } else if (f.has_rows && o.elements == f.num_rows) {
    form = Form::kRow;
  } else {
    return false;
  }
  const size_t inputs = f.layout.inputs.size(), arguments = f.layout.arguments.size();
  if (!place_operands(f, m, false)) {
    f.layout.inputs.resize(inputs);
    f.layout.arguments.resize(arguments);
    if (o.reduction || std::none_of(o.operands.begin(), o.operands.end(),
                                    [](const FusionOperand& x) { return x.broadcast; })) {
      return false;
    }
    if (!place_operands(f, m, true)) return false;
  }
  if (o.reduction && form == Form::kRow) f.natural[m] = f.rows;
  return true;
}

// Somebody who is no member looks at the value, if only through a reshape.
bool FusionPlanner::used_outside(ValueRef v) const {
  if (graph_.is_returned(v)) return true;
  for (int32_t user : graph_.users(v)) {
    if (slot_[static_cast<size_t>(user)] >= 0) continue;
    if (!graph_.is_free(user) || used_outside({user, 0})) return true;
  }
  return false;
}

bool FusionPlanner::find_outputs(Frame& f) const {
  const Shape& domain = f.layout.domain;
  for (size_t m = 0; m < f.members.size(); ++m) {
    if (!used_outside({f.members[m], 0})) continue;
    Shape shape;
    switch (f.layout.forms[m]) {
      case Form::kFull:
        shape = domain;
        break;
      case Form::kRow:
        shape = f.rows;
        break;
      case Form::kColumn:
        shape = domain.slice(domain.rank() - f.layout.row_axes, domain.rank());
        break;
      case Form::kScalar:
        break;
    }
    f.layout.outputs.push_back({f.members[m], shape});
  }
  return !f.layout.outputs.empty() &&
         static_cast<int32_t>(f.layout.outputs.size()) <= target_.max_outputs;
}

std::optional<FusionLayout> FusionPlanner::layout(std::span<const int32_t> members) {
  if (static_cast<int32_t>(members.size()) > target_.max_instructions) return {};
  Frame f;
  f.members = members;
  f.layout.forms.resize(members.size());
  f.layout.arguments.reserve(2 * members.size());
  f.natural.resize(members.size());
  for (size_t m = 0; m < members.size(); ++m) {
    slot_[static_cast<size_t>(members[m])] = static_cast<int32_t>(m);
  }
  bool good = find_domain(f) && find_rows(f);
  for (size_t m = 0; good && m < members.size(); ++m) good = place_member(f, m);
  good = good && static_cast<int32_t>(f.layout.inputs.size()) <= target_.max_inputs &&
         find_outputs(f);
  for (int32_t m : members) slot_[static_cast<size_t>(m)] = -1;
  if (!good) return std::nullopt;
  return std::move(f.layout);
}

FusedProgram FusionPlanner::program(std::span<const int32_t> members,
                                    const FusionLayout& layout) const {
  FusedProgram p;
  p.num_inputs = static_cast<int32_t>(layout.inputs.size());
  p.row_axes = layout.row_axes;
  for (const FusionLayout::Input& i : layout.inputs) {
    p.input_dtypes.push_back(graph_.graph().info(i.value).dtype);
  }
  std::vector<int32_t> value(members.size());  // member → number in the program
  size_t next = 0;                             // argument
  const auto append = [&](const FusionOp& o, FusedInstruction::Kind kind,
                          std::vector<int32_t> arguments) {
    p.instructions.push_back(
        {kind, o.name, o.reduction ? Attrs() : o.attrs, o.dtype, std::move(arguments)});
    return p.num_values() - 1;
  };
  for (size_t m = 0; m < members.size(); ++m) {
    const FusionOp& o = *op(members[m]);
    std::vector<int32_t> arguments;
    for (size_t i = 0; i < o.operands.size(); ++i) {
      const int32_t a = layout.arguments[next++];
      arguments.push_back(a >= 0 ? a : value[static_cast<size_t>(-1 - a)]);
    }
    using Kind = FusedInstruction::Kind;
    if (o.reduction) {
      const Form form = layout.forms[m];
      const Kind kind = form == Form::kRow      ? Kind::kRowReduce
                        : form == Form::kColumn ? Kind::kColumnReduce
                                                : Kind::kAllReduce;
      value[m] = append(o, kind, std::move(arguments));
      continue;
    }
    // AddN adds its terms from the left, as its kernel does.
    const bool sum = o.name == "AddV2" && arguments.size() > 2;
    if (!sum) {
      value[m] = append(o, Kind::kElementwise, std::move(arguments));
      continue;
    }
    value[m] = append(o, Kind::kElementwise, {arguments[0], arguments[1]});
    for (size_t i = 2; i < arguments.size(); ++i) {
      value[m] = append(o, Kind::kElementwise, {value[m], arguments[i]});
    }
  }
  for (const FusionLayout::Output& out : layout.outputs) {
    const auto at = std::find(members.begin(), members.end(), out.node);
    p.outputs.push_back(value[static_cast<size_t>(at - members.begin())]);
  }
  return p;
}

}  // namespace tandem
