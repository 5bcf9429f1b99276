// Columns of comma-separated values (RFC 4180). dtypes of columns: float32, float64,
// int32, int64, string.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kernels/cpu/csv_line.h"
#include "kernels/cpu/strings_register.h"
#include "op/kernel.h"
#include "tandem/error.h"
#include "tandem/ops/files.h"

namespace tandem::cpu {

namespace {

struct CsvPlan {
  io::DecodeCsvAttrs attrs;
  int64_t n = 0;
  struct Column {
    DType dtype;
    bool has_default;
  };
  std::vector<Column> columns;
};

CsvPlan prepare_csv(const Signature& s) {
  CsvPlan p{s.attrs.as<io::DecodeCsvAttrs>(), s.in(0).shape.num_elements(), {}};
  for (const TensorInfo& in : s.inputs.subspan(1)) {
    p.columns.push_back({in.dtype, in.shape.num_elements() > 0});
  }
  return p;
}

template <class T>
void put_field(const LaunchArgs& a, int column, int64_t row, const std::string* field) {
  T& out = a.out<T>(column)[row];
  if (!field) {
    out = a.in<T>(column + 1)[0];
  } else if constexpr (std::is_same_v<T, std::string>) {
    out = *field;
  } else {
    out = csv_number<T>(*field, static_cast<size_t>(column));
  }
}

void launch_csv(const CsvPlan& p, const LaunchArgs& a) {
  for (int64_t row = 0; row < p.n; ++row) {
    std::string_view line = a.in<std::string>(0)[row];
    while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
    const std::vector<std::string> fields =
        csv_fields(line, p.attrs.field_delim[0], p.attrs.use_quote_delim);
    const size_t wanted = p.columns.size();
    if (p.attrs.select_cols.empty()
            ? fields.size() != wanted
            : static_cast<size_t>(p.attrs.select_cols.back()) >= fields.size()) {
      csv_fail(fmt::format("Expect {} fields but have {} in record {}", wanted,
                           fields.size(), row));
    }
    for (size_t c = 0; c < wanted; ++c) {
      const std::string& field =
          fields[p.attrs.select_cols.empty()
                     ? c
                     : static_cast<size_t>(p.attrs.select_cols[c])];
      const bool absent = field.empty() || field == p.attrs.na_value;
      if (absent && !p.columns[c].has_default) {
        csv_fail(fmt::format("Field {} is required but missing in record {}!", c, row));
      }
      const std::string* value = absent ? nullptr : &field;
      const int column = static_cast<int>(c);
      switch (p.columns[c].dtype) {
        case DType::kFloat32:
          put_field<float>(a, column, row, value);
          break;
        case DType::kFloat64:
          put_field<double>(a, column, row, value);
          break;
        case DType::kInt32:
          put_field<int32_t>(a, column, row, value);
          break;
        case DType::kInt64:
          put_field<int64_t>(a, column, row, value);
          break;
        case DType::kString:
          put_field<std::string>(a, column, row, value);
          break;
        default:
          csv_fail(
              fmt::format("columns of {} are not supported; use float32, float64, "
                          "int32, int64 or string",
                          dtype_name(p.columns[c].dtype)));
      }
    }
  }
}

}  // namespace

void register_csv_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_csv, launch_csv>("DecodeCSV", "cpu.DecodeCSV"));
}

}  // namespace tandem::cpu
