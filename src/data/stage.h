// Stage: one step of a pipeline as a description (immutable, shared by any threads), and
// Cursor: the state of one pass over it (used by one thread at a time). Adding a stage
// means deriving from both in a file of its own; stages.h lists the makers.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/cancellation.h"
#include "data/pass_draws.h"
#include "data/pass_log.h"
#include "data/row_cursor.h"
#include "data/stage_path.h"
#include "tandem/data.h"

namespace tandem::data {

/// What a pass gives to all its cursors.
struct Context {
  std::shared_ptr<Cancellation> cancellation;
  std::shared_ptr<PassLog> log = nullptr;  // null: nobody asks
  std::shared_ptr<PassDraws> draws = std::make_shared<PassDraws>();
  /// Who else draws from the sequences of the cursor's functions in this pass: nobody,
  /// the cursors that are opened after it, or others beside it. Programs whose runs have
  /// to be the same work ahead only as far as that leaves the order of draws alone.
  enum class Sharing { kNone, kAfter, kBeside } sharing = Sharing::kNone;
  PathHere path = {};

  Context shared(Sharing with_whom) const {
    Context c = *this;
    c.sharing = std::max(sharing, with_whom);
    return c;
  }
  /// The same for cursors that end by themselves.
  Context with(std::shared_ptr<Cancellation> other) const {
    return {std::move(other), log, draws, sharing, path};
  }
};

class Cursor {
 public:
  explicit Cursor(const Context& context, const char* name)
      : context_(context), name_(name) {}
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  virtual ~Cursor() = default;

  /// The next element, or false at the end, and from then on. Throws CancelledError when
  /// the pass was cancelled; times go to the recorder when it is on.
  bool next(Element& element);
  /// Leaves out an element, or up to `count` of them at once where they need not be made.
  /// Returns how many; 0 at the end.
  virtual int64_t pass_over(int64_t count);

 protected:
  /// Throws for one element; may be called again afterwards.
  virtual bool advance(Element& element) = 0;
  const Context& context() const { return context_; }

 private:
  [[gnu::cold]] bool next_recorded(Element& element);

  const Context context_;
  const char* const name_;  // static storage
  bool ended_ = false;
};

/// Replaces tensors of a trace by their values: datasets that are made inside a traced
/// function hold symbolic tensors until the function runs.
using Substitution = std::function<Tensor(const Tensor&)>;

/// A number in a description, or a tensor of a trace that will be one.
class Size {
 public:
  Size(int64_t value) : value_(value) {}  // NOLINT: implicit on purpose
  explicit Size(Tensor symbolic) : symbolic_(std::move(symbolic)) {}
  bool known() const { return !symbolic_.defined(); }
  /// Throws InternalError for one that is not known.
  int64_t get() const;
  /// The number, or `otherwise` when it is not known.
  int64_t value_or(int64_t otherwise) const { return known() ? value_ : otherwise; }
  Size substitute(const Substitution& s) const;

 private:
  int64_t value_ = 0;
  Tensor symbolic_;
};

using StagePtr = std::shared_ptr<const Stage>;

class Stage : public std::enable_shared_from_this<Stage> {
 public:
  /// `name` in static storage: for records and messages.
  Stage(const char* name, std::vector<Component> components)
      : name_(name), components_(std::move(components)) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  const char* name() const { return name_; }
  /// Empty when nothing is known.
  const std::vector<Component>& components() const { return components_; }
  virtual int64_t cardinality() const { return kUnknown; }
  /// Begins a pass.
  std::unique_ptr<Cursor> open(const Context& context) const {
    const PathHere::Opening opening(context.path, name_);
    return make_cursor(context);
  }
  /// A pass that gives row numbers of arrays instead of elements; null when the elements
  /// are not rows of arrays.
  virtual std::unique_ptr<RowCursor> open_rows(const Context&) const { return nullptr; }
  /// This stage with values in place of symbolic tensors.
  virtual StagePtr substitute(const Substitution& s) const = 0;

 protected:
  virtual std::unique_ptr<Cursor> make_cursor(const Context& context) const = 0;

 private:
  const char* const name_;
  const std::vector<Component> components_;
};

/// A tensor of a description with values in place of symbolic tensors: its own, or those
/// of the dataset that it is.
Tensor substituted(const Tensor& tensor, const Substitution& s);

/// Every symbolic tensor that the description holds, each once.
std::vector<Tensor> symbolic_tensors(const Stage& stage);

/// cardinality arithmetic
inline bool is_number(int64_t cardinality) { return cardinality >= 0; }

}  // namespace tandem::data
