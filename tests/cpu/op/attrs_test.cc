// Attribute structs: one field list gives equality, keys, printing and JSON.
#include "op/attrs.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "op/op_def.h"
#include "support/alone.h"
#include "tandem/error.h"

namespace tandem {
namespace {

enum class Mode { kNearest, kUp };
std::span<const std::string_view> attr_names(Mode) {
  static constexpr std::string_view kNames[] = {"NEAREST", "UP"};
  return kNames;
}

struct EveryField {
  bool flag = false;
  int64_t count = 3;
  double rate = 0.5;
  std::string name = "SAME";
  DType dtype = DType::kFloat32;
  Ints sizes = {1, 2};
  Shape shape = {2, -1};
  std::vector<std::string> names = {"a", "b"};
  std::vector<double> rates = {1, 2.5};
  Mode mode = Mode::kNearest;
  TANDEM_ATTRS(EveryField, flag, count, rate, name, dtype, sizes, shape, names, rates,
               mode)
};

const AttrsType& type() { return attrs_type<EveryField>(); }

KeyWords key_of(const EveryField& a) {
  KeyWords key;
  type().append_key(&a, key);
  return key;
}

EveryField through_json(const EveryField& a) {
  std::unique_ptr<EveryField> parsed(
      static_cast<EveryField*>(type().from_json(type().to_json(&a))));
  return *parsed;
}

/// One struct per field that differs from the defaults in that field alone.
std::vector<EveryField> variations() {
  std::vector<EveryField> all(10);
  all[0].flag = true;
  all[1].count = -4;
  all[2].rate = 1e-300;
  all[3].name = "VALID \"quoted\" \n é";
  all[4].dtype = DType::kInvalid;
  all[5].sizes = {1, 2, 0};
  all[6].shape = Shape::unknown();
  all[7].names = {"a", "b", ""};
  all[8].rates = {};
  all[9].mode = Mode::kUp;
  return all;
}

TEST(Attrs, FieldsAreListedWithTypesAndDefaults) {
  const std::vector<AttrField>& fields = type().fields;
  ASSERT_EQ(fields.size(), 10u);
  EXPECT_EQ(type().name, "EveryField");
  const char* expected[][3] = {{"flag", "bool", "False"},
                               {"count", "int", "3"},
                               {"rate", "float", "0.5"},
                               {"name", "str", "'SAME'"},
                               {"dtype", "dtype", "tf.float32"},
                               {"sizes", "list(int)", "[1, 2]"},
                               {"shape", "shape", "(2, None)"},
                               {"names", "list(str)", "['a', 'b']"},
                               {"rates", "list(float)", "[1, 2.5]"},
                               {"mode", "'NEAREST' | 'UP'", "'NEAREST'"}};
  for (size_t i = 0; i < fields.size(); ++i) {
    EXPECT_EQ(fields[i].name, expected[i][0]);
    EXPECT_EQ(fields[i].type, expected[i][1]);
    EXPECT_EQ(fields[i].fallback, expected[i][2]);
  }
}

TEST(Attrs, PrintNamesEveryFieldAsPythonWould) {
  const EveryField a;
  EXPECT_EQ(type().print(&a),
            "flag=False, count=3, rate=0.5, name='SAME', dtype=tf.float32, sizes=[1, 2], "
            "shape=(2, None), names=['a', 'b'], rates=[1, 2.5], mode='NEAREST'");
}

TEST(Attrs, JsonGivesBackEqualAttributes) {
  EXPECT_EQ(through_json(EveryField{}), EveryField{});
  for (const EveryField& a : variations()) {
    EXPECT_EQ(through_json(a), a) << type().to_json(&a);
  }
}

TEST(Attrs, JsonKeepsNumbersThatJsonDoesNotHave) {
  EveryField a;
  a.rate = std::numeric_limits<double>::infinity();
  a.rates = {-std::numeric_limits<double>::infinity(), 0.1, -0.0};
  EXPECT_EQ(through_json(a), a);
  a.rate = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(through_json(a).rate, through_json(a).rate);
}

TEST(Attrs, JsonKeepsLargeIntegersAndDoublesExactly) {
  EveryField a;
  a.count = std::numeric_limits<int64_t>::max();
  a.rate = 0.1 + 0.2;
  a.sizes = {std::numeric_limits<int64_t>::min()};
  EXPECT_EQ(through_json(a), a);
}

TEST(Attrs, MissingJsonFieldsKeepTheirDefaults) {
  std::unique_ptr<EveryField> a(
      static_cast<EveryField*>(type().from_json(R"({"count": 7})")));
  EveryField expected;
  expected.count = 7;
  EXPECT_EQ(*a, expected);
}

TEST(Attrs, BadJsonIsAnInvalidArgument) {
  for (const char* text :
       {"", "[]", "{", R"({"count": "x"})", R"({"mode": "DOWN"})",
        R"({"dtype": "float31"})", R"({"shape": 4})", R"({"sizes": 4})"}) {
    EXPECT_THROW(type().from_json(text), InvalidArgumentError) << text;
  }
  EXPECT_ERROR(type().from_json(R"({"mode": "DOWN"})"), InvalidArgumentError,
               "attribute mode: 'DOWN' is not one of 'NEAREST' | 'UP'");
}

TEST(Attrs, KeysAreEqualExactlyWhenAttributesAre) {
  std::vector<EveryField> all = variations();
  all.push_back({});
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      EXPECT_EQ(key_of(all[i]) == key_of(all[j]), all[i] == all[j]) << i << " and " << j;
      EXPECT_EQ(type().equal(&all[i], &all[j]), i == j);
    }
  }
}

TEST(Attrs, KeysOfNeighbouringListsDoNotRunTogether) {
  EveryField a, b;
  a.names = {"ab", "c"};
  b.names = {"a", "bc"};
  EXPECT_FALSE(key_of(a) == key_of(b));
  a.names = b.names = {};
  a.name = std::string(8, 'x');
  b.name = std::string(9, 'x');
  EXPECT_FALSE(key_of(a) == key_of(b));
}

TEST(Attrs, CopiesAreIndependent) {
  EveryField a;
  const Attrs copy(attrs_ref(a));
  a.name = "changed";
  EXPECT_EQ(copy.ref().as<EveryField>().name, "SAME");
  EXPECT_EQ(copy.ref().type, &type());
  EXPECT_FALSE(Attrs().ref().data);
}

TEST(OpAttrs, DefaultsOfEveryOpSurviveJson) {
  for (const OpDef* op : OpTable::get().all()) {
    const AttrsType* t = op->attrs;
    if (!t) continue;
    const std::string json = t->to_json(t->defaults);
    EXPECT_TRUE(nlohmann::json::accept(json)) << op->name << ": " << json;
    const std::unique_ptr<void, void (*)(void*)> parsed(t->from_json(json), t->destroy);
    EXPECT_TRUE(t->equal(parsed.get(), t->defaults)) << op->name << ": " << json;
    EXPECT_EQ(t->print(parsed.get()), t->print(t->defaults)) << op->name;
    KeyWords before, after;
    t->append_key(t->defaults, before);
    t->append_key(parsed.get(), after);
    EXPECT_TRUE(before == after) << op->name;
  }
}

/// A JSON value of the same field type that is not `value`.
nlohmann::json another(const nlohmann::json& value, const std::string& type) {
  if (type == "bool") return !value.get<bool>();
  if (type == "int") return value.get<int64_t>() + 1;
  if (type == "float") return 12345.678;
  if (type == "str") return value.get<std::string>() + "x";
  if (type == "dtype") return value == "float16" ? "int64" : "float16";
  if (type == "list(int)") return nlohmann::json::array({71, 72, 73});
  if (type == "list(float)") return nlohmann::json::array({71.5});
  if (type == "list(str)") return nlohmann::json::array({"other"});
  if (type == "shape") return nlohmann::json::array({7, 1, 3});
  // An enum: the last of its names, or the first when that is the default.
  const size_t end = type.rfind('\''), begin = type.rfind('\'', end - 1) + 1;
  const std::string last = type.substr(begin, end - begin);
  return value == last ? type.substr(1, type.find('\'', 1) - 1) : last;
}

TEST(OpAttrs, EveryFieldOfEveryOpIsPartOfKeyAndJson) {
  for (const OpDef* op : OpTable::get().all()) {
    const AttrsType* t = op->attrs;
    if (!t) continue;
    KeyWords usual;
    t->append_key(t->defaults, usual);
    for (const AttrField& field : t->fields) {
      auto json = nlohmann::json::parse(t->to_json(t->defaults));
      ASSERT_TRUE(json.contains(field.name)) << op->name << "." << field.name;
      json[field.name] = another(json[field.name], field.type);
      const std::unique_ptr<void, void (*)(void*)> changed(t->from_json(json.dump()),
                                                           t->destroy);
      EXPECT_FALSE(t->equal(changed.get(), t->defaults)) << op->name << "." << field.name;
      KeyWords key;
      t->append_key(changed.get(), key);
      EXPECT_FALSE(key == usual) << op->name << "." << field.name;
      EXPECT_EQ(nlohmann::json::parse(t->to_json(changed.get()))[field.name],
                json[field.name])
          << op->name << "." << field.name;
    }
  }
}

}  // namespace
}  // namespace tandem
