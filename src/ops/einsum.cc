// einsum and tensordot: an equation becomes diagonals, sums and pairwise contractions.
#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <string>

#include <fmt/format.h>

#include "ops/contraction.h"
#include "tandem/ops.h"
#include "tandem/ops/array_layout.h"

namespace tandem {

namespace {

// Labels of the dimensions behind "...", counted from the last one.
constexpr int kEllipsis = 1000;

struct Equation {
  std::vector<std::string> inputs;  // '.' stands for the ellipsis
  std::string output;
};

std::string without_dots(std::string_view text, std::string_view equation) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char ch = text[i];
    if (std::isspace(static_cast<unsigned char>(ch))) continue;
    if (std::isalpha(static_cast<unsigned char>(ch))) {
      out += ch;
    } else if (text.substr(i, 3) == "..." && out.find('.') == std::string::npos) {
      out += '.';
      i += 2;
    } else {
      throw ValueError(
          fmt::format("einsum: Indices have incorrect format: '{}'. Use letters, one "
                      "'...' per operand, ',' and '->'.",
                      equation));
    }
  }
  return out;
}

// Labels that occur once, in alphabetical order, behind the ellipsis if there is one.
std::string implicit_output(const std::vector<std::string>& inputs) {
  std::string all, result;
  for (const std::string& s : inputs) all += s;
  std::sort(all.begin(), all.end());
  if (all.find('.') != std::string::npos) result = ".";
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] != '.' && std::count(all.begin(), all.end(), all[i]) == 1)
      result += all[i];
  }
  return result;
}

Equation parse(std::string_view text, size_t operands) {
  Equation e;
  const size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  while (true) {
    const size_t comma = left.find(',');
    e.inputs.push_back(without_dots(left.substr(0, comma), text));
    if (comma == std::string_view::npos) break;
    left = left.substr(comma + 1);
  }
  if (e.inputs.size() != operands) {
    throw ValueError(
        fmt::format("einsum: Got {} inputs for equation \"{}\", expecting {}", operands,
                    text, e.inputs.size()));
  }
  if (arrow == std::string_view::npos) {
    e.output = implicit_output(e.inputs);
    return e;
  }
  e.output = without_dots(text.substr(arrow + 2), text);
  for (char ch : e.output) {
    if (std::count(e.output.begin(), e.output.end(), ch) > 1) {
      throw ValueError(fmt::format(
          "einsum: Output subscripts contain a label appearing more than once: {}",
          text));
    }
    const bool known = ch == '.' || std::any_of(e.inputs.begin(), e.inputs.end(),
                                                [&](const std::string& s) {
                                                  return s.find(ch) != std::string::npos;
                                                });
    if (!known) {
      throw ValueError(
          fmt::format("einsum: Output subscripts contain the label {} not present in "
                      "the input subscripts.",
                      ch));
    }
  }
  return e;
}

Labels labels_of(const std::string& subscripts, int hidden) {
  Labels labels;
  for (char ch : subscripts) {
    if (ch != '.') {
      labels.push_back(ch);
      continue;
    }
    for (int i = hidden; i-- > 0;) labels.push_back(kEllipsis + i);
  }
  return labels;
}

// How many dimensions the ellipsis of operand i stands for.
int hidden_dims(const std::string& subscripts, const Tensor& x, size_t i) {
  if (!x.shape().has_rank()) {
    throw InvalidArgumentError(fmt::format("einsum: input {} must have a known rank", i));
  }
  const bool dots = subscripts.find('.') != std::string::npos;
  const int named = static_cast<int>(subscripts.size()) - dots;
  if (dots ? x.rank() < named : x.rank() != named) {
    throw InvalidArgumentError(
        fmt::format("einsum: Expected input {} to have rank {}{} but got: {} (shape {})",
                    i, dots ? "at least " : "", named, x.rank(), x.shape().debug_str()));
  }
  return x.rank() - named;
}

// Equal labels within one operand: their diagonal, one pair at a time.
Labelled take_diagonals(Labelled in) {
  for (size_t i = 0; i < in.labels.size(); ++i) {
    const auto again = std::find(in.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                 in.labels.end(), in.labels[i]);
    if (again == in.labels.end()) continue;
    const auto j = static_cast<size_t>(again - in.labels.begin());
    const int label = in.labels[i];
    Ints perm;
    Labels left;
    for (size_t k = 0; k < in.labels.size(); ++k) {
      if (k == i || k == j) continue;
      perm.push_back(static_cast<int64_t>(k));
      left.push_back(in.labels[k]);
    }
    perm.push_back(static_cast<int64_t>(i));
    perm.push_back(static_cast<int64_t>(j));
    left.push_back(label);
    in = {matrix_diag_part(transpose(in.x, {.perm = perm})), left};
    i = static_cast<size_t>(-1);  // from the start: positions have moved
  }
  return in;
}

// Named labels have one size everywhere; those of the ellipsis may also be 1.
class LabelSizes {
 public:
  void add(const Labelled& in) {
    for (size_t i = 0; i < in.labels.size(); ++i) {
      const int64_t d = in.x.shape()[static_cast<int>(i)];
      int64_t& known = at(in.labels[i]);
      if (known == kUnknownDim || (known == 1 && in.labels[i] >= kEllipsis && d > 0)) {
        known = d;
      } else if (d != kUnknownDim && d != known &&
                 !(d == 1 && in.labels[i] >= kEllipsis)) {
        throw InvalidArgumentError(
            fmt::format("einsum: Expected dimension {} at axis {} of the input shaped {} "
                        "but got dimension {}",
                        known, i, in.x.shape().debug_str(), d));
      }
    }
  }
  int64_t& at(int label) {
    for (auto& [l, d] : sizes_) {
      if (l == label) return d;
    }
    sizes_.emplace_back(label, kUnknownDim);
    return sizes_.back().second;
  }
  double volume(const Labels& labels) {
    double v = 1;
    for (int l : labels) v *= static_cast<double>(std::max<int64_t>(at(l), 1));
    return v;
  }

 private:
  std::vector<std::pair<int, int64_t>> sizes_;
};

// Ellipsis dimensions of size 1 that broadcast against larger ones are dropped, so that
// they cost nothing; the result has them from the other operand.
Labelled drop_ones(const Labelled& in, LabelSizes& sizes) {
  Ints axes;
  Labels left;
  for (size_t i = 0; i < in.labels.size(); ++i) {
    const bool one = in.labels[i] >= kEllipsis &&
                     in.x.shape()[static_cast<int>(i)] == 1 && sizes.at(in.labels[i]) > 1;
    if (one) {
      axes.push_back(static_cast<int64_t>(i));
    } else {
      left.push_back(in.labels[i]);
    }
  }
  if (axes.empty()) return in;
  return {squeeze(in.x, {.axis = axes}), left};
}

// Labels that the result or another operand still needs.
Labels needed(const std::vector<Labelled>& operands, const Labels& output, size_t a,
              size_t b) {
  Labels keep = output;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i == a || i == b) continue;
    for (int l : operands[i].labels) {
      if (!has_label(keep, l)) keep.push_back(l);
    }
  }
  return keep;
}

/// Of how many operands pairs are compared: all pairs of a thousand, for each product,
/// would take minutes.
constexpr size_t kCompared = 24;

// The pair whose product grows memory least is contracted next.
std::pair<size_t, size_t> cheapest_pair(const std::vector<Labelled>& operands,
                                        const Labels& output, LabelSizes& sizes) {
  std::map<int, int> uses;
  for (const Labelled& operand : operands) {
    for (int l : operand.labels) ++uses[l];
  }
  std::pair<size_t, size_t> best{0, 1};
  double least = std::numeric_limits<double>::infinity();
  const size_t count = std::min(operands.size(), kCompared);
  for (size_t a = 0; a + 1 < count; ++a) {
    for (size_t b = a + 1; b < count; ++b) {
      const Labels& left = operands[a].labels;
      const Labels& right = operands[b].labels;
      Labels result;
      for (const Labels* side : {&left, &right}) {
        for (int l : *side) {
          const int own = has_label(left, l) + has_label(right, l);
          const bool stays = has_label(output, l) || uses[l] > own;
          if (stays && !has_label(result, l)) result.push_back(l);
        }
      }
      const double growth =
          sizes.volume(result) - sizes.volume(left) - sizes.volume(right);
      if (growth < least) {
        least = growth;
        best = {a, b};
      }
    }
  }
  return best;
}

}  // namespace

Tensor einsum(std::string_view equation, const std::vector<Tensor>& inputs) {
  const Equation e = parse(equation, inputs.size());
  std::vector<Labelled> operands;
  LabelSizes sizes;
  int hidden = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int own = hidden_dims(e.inputs[i], inputs[i], i);
    hidden = std::max(hidden, own);
    operands.push_back({inputs[i], labels_of(e.inputs[i], own)});
    sizes.add(operands.back());
  }
  if (hidden > 0 && e.output.find('.') == std::string::npos) {
    throw InvalidArgumentError(fmt::format(
        "einsum: Output contains {} broadcasting dimension(s) but no ellipsis (...) was "
        "found in the output subscripts.",
        hidden));
  }
  const Labels output = labels_of(e.output, hidden);
  for (Labelled& operand : operands) {
    operand = drop_ones(take_diagonals(std::move(operand)), sizes);
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    operands[i] = sum_out(operands[i], needed(operands, output, i, i));
  }
  while (operands.size() > 1) {
    const auto [a, b] = cheapest_pair(operands, output, sizes);
    const Labels keep = needed(operands, output, a, b);
    operands[a] = contract(operands[a], operands[b], keep);
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(b));
  }
  return in_order(operands[0], output);
}

Tensor tensordot(const Tensor& a, const Tensor& b, const Ints& a_axes,
                 const Ints& b_axes) {
  if (!a.shape().has_rank() || !b.shape().has_rank()) {
    throw InvalidArgumentError("tensordot: both tensors must have a known rank.");
  }
  if (a_axes.size() != b_axes.size()) {
    throw ValueError(fmt::format(
        "tensordot: Different number of contraction axes `a` and `b`, {} != {}.",
        a_axes.size(), b_axes.size()));
  }
  Labelled x{a, {}}, y{b, {}};
  for (int i = 0; i < a.rank(); ++i) x.labels.push_back(i);
  for (int i = 0; i < b.rank(); ++i) y.labels.push_back(a.rank() + i);
  const auto checked = [](int64_t axis, const Tensor& t) {
    if (axis < -t.rank() || axis >= t.rank()) {
      throw InvalidArgumentError(
          fmt::format("tensordot: axis {} is out of range for shape {}.", axis,
                      t.shape().debug_str()));
    }
    return static_cast<int>(axis < 0 ? axis + t.rank() : axis);
  };
  for (size_t i = 0; i < a_axes.size(); ++i) {
    const int p = checked(a_axes[i], a), q = checked(b_axes[i], b);
    const int64_t m = a.shape()[p], n = b.shape()[q];
    if (m != n && m != kUnknownDim && n != kUnknownDim) {
      throw InvalidArgumentError(fmt::format(
          "tensordot: Matrix size-incompatible: In[0]: {}, In[1]: {} (axes {} and {})",
          a.shape().debug_str(), b.shape().debug_str(), p, q));
    }
    y.labels[static_cast<size_t>(q)] = p;
  }
  Labels output;
  for (int l : x.labels) {
    if (!has_label(y.labels, l)) output.push_back(l);
  }
  for (int l : y.labels) {
    if (!has_label(x.labels, l)) output.push_back(l);
  }
  return in_order(contract(x, y, output), output);
}

Tensor tensordot(const Tensor& a, const Tensor& b, int64_t axes) {
  if (axes < 0 || axes > a.rank() || axes > b.rank()) {
    throw ValueError(
        fmt::format("tensordot: `axes` must be between 0 and the ranks of both "
                    "tensors ({} and {}), got {}.",
                    a.rank(), b.rank(), axes));
  }
  Ints first, second;
  for (int64_t i = 0; i < axes; ++i) {
    first.push_back(a.rank() - axes + i);
    second.push_back(i);
  }
  return tensordot(a, b, first, second);
}

}  // namespace tandem
