#include "ops/summary.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "device/runtime.h"
#include "op/emitter.h"
#include "op/host_function.h"
#include "op/op_def.h"
#include "op/summary_sink.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/image.h"
#include "tensor/tensor_impl.h"

namespace tandem {

namespace {

namespace summary {
struct WriterAttrs {
  int64_t writer = 0;
  TANDEM_ATTRS(WriterAttrs, writer)
};
struct HistogramAttrs {
  int64_t buckets = 30;
  TANDEM_ATTRS(HistogramAttrs, buckets)
};
struct ImageAttrs {
  int64_t max_outputs = 3;
  TANDEM_ATTRS(ImageAttrs, max_outputs)
};
struct AudioAttrs {
  int64_t sample_rate = 44100;
  int64_t max_outputs = 3;
  TANDEM_ATTRS(AudioAttrs, sample_rate, max_outputs)
};
}  // namespace summary

void infer_write(InferContext& c) {
  for (int i : {0, 2, 3}) c.rank(i, 0);
}

void infer_nothing(InferContext&) {}

void infer_summary_histogram(InferContext& c) {
  const int64_t buckets = c.attrs<summary::HistogramAttrs>().buckets;
  constexpr int64_t kMost = int64_t{1} << 24;
  c.require(buckets >= 0 && buckets <= kMost,
            fmt::format("buckets is {} and must lie in [0, {}]", buckets, kMost));
  c.add_output(DType::kFloat64, Shape{buckets, 3});
}

void infer_summary_image(InferContext& c) {
  c.rank(0, 4);
  c.require(c.attrs<summary::ImageAttrs>().max_outputs >= 0,
            "max_outputs must not be negative");
  c.add_output(DType::kString, Shape{kUnknownDim});
}

void infer_summary_audio(InferContext& c) {
  c.rank(0, 3);
  c.require(c.attrs<summary::AudioAttrs>().max_outputs >= 0,
            "max_outputs must not be negative");
  const int64_t rate = c.attrs<summary::AudioAttrs>().sample_rate;
  c.require(rate > 0 && rate <= INT32_MAX,
            fmt::format("sample_rate must be in (0, 2^31), got: {}", rate));
  c.add_output(DType::kString, Shape{kUnknownDim, 2});
}

std::vector<Tensor> run_write(AttrsRef attrs, std::span<const Tensor> inputs) {
  const auto sink = summary_sink(attrs.as<summary::WriterAttrs>().writer);
  if (!sink) return {};  // the writer was closed
  sink->write(inputs[0].item<int64_t>(), inputs[2].item<std::string>(),
              inputs[3].item<std::string>(), inputs[1].to_host());
  return {};
}

std::vector<Tensor> run_flush(AttrsRef attrs, std::span<const Tensor>) {
  if (const auto sink = summary_sink(attrs.as<summary::WriterAttrs>().writer))
    sink->flush();
  return {};
}

// TensorBoard's buckets: equally wide from the smallest to the largest value, each as
// left edge, right edge, count. Of equal values all counts are in the last bucket.
std::vector<Tensor> run_histogram(AttrsRef attrs, std::span<const Tensor> inputs) {
  const auto buckets = static_cast<size_t>(attrs.as<summary::HistogramAttrs>().buckets);
  const std::vector<double> values =
      cast(inputs[0], DType::kFloat64).to_host().to_vector<double>();
  std::vector<double> rows(buckets * 3);
  const Shape shape{static_cast<int64_t>(buckets), 3};
  if (values.empty() || buckets == 0) return {constant(rows, shape)};
  double least = INFINITY, most = -INFINITY;
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    least = std::min(least, v);
    most = std::max(most, v);
  }
  if (least > most) least = most = 0;  // no finite value at all
  // In halves: the range between two doubles may be no double.
  const double half_width = (most / 2 - least / 2) / static_cast<double>(buckets);
  const auto edge = [&](size_t i) {
    return (least / 2 + half_width * static_cast<double>(i)) * 2;
  };
  for (size_t i = 0; i < buckets; ++i) {
    rows[i * 3] = edge(i);
    rows[i * 3 + 1] = i + 1 == buckets ? most : edge(i + 1);
  }
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    const double place =
        half_width > 0 ? std::floor((v / 2 - least / 2) / half_width) : INFINITY;
    const auto last = static_cast<double>(buckets - 1);
    rows[static_cast<size_t>(std::clamp(place, 0.0, last)) * 3 + 2] += 1;
  }
  return {constant(rows, shape)};
}

// As tf.image.convert_image_dtype does it, with saturation.
std::vector<uint8_t> pixels_of(const Tensor& images) {
  if (images.dtype() == DType::kUInt8) return images.to_vector<uint8_t>();
  const bool floating = is_floating(images.dtype());
  const std::vector<float> values =
      cast(images, DType::kFloat32).to_host().to_vector<float>();
  std::vector<uint8_t> pixels(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const float v = floating ? values[i] * 255.5f : std::floor(values[i] / 256.0f);
    pixels[i] = std::isnan(v) ? 0 : static_cast<uint8_t>(std::clamp(v, 0.0f, 255.0f));
  }
  return pixels;
}

std::vector<Tensor> run_image(AttrsRef attrs, std::span<const Tensor> inputs) {
  const Shape& s = inputs[0].shape();
  if (s[3] < 1 || s[3] > 4) {
    throw InvalidArgumentError(
        fmt::format("SummaryImage: images have 1, 2, 3 or 4 channels, not {} (shape {}).",
                    s[3], s.str()));
  }
  const std::vector<uint8_t> pixels = pixels_of(inputs[0]);
  std::vector<std::string> parts = {std::to_string(s[2]), std::to_string(s[1])};
  const int64_t count = std::min(s[0], attrs.as<summary::ImageAttrs>().max_outputs);
  for (int64_t i = 0; i < count; ++i) {
    const Tensor one =
        make_host_copy(Runtime::get().cpu(), DType::kUInt8, {s[1], s[2], s[3]},
                       pixels.data() + i * s[1] * s[2] * s[3]);
    parts.push_back(image::encode_png(one).item<std::string>());
  }
  return {constant(parts)};
}

std::vector<Tensor> run_audio(AttrsRef attrs, std::span<const Tensor> inputs) {
  const auto& a = attrs.as<summary::AudioAttrs>();
  const Shape& s = inputs[0].shape();
  const std::vector<float> samples =
      cast(inputs[0], DType::kFloat32).to_host().to_vector<float>();
  const Tensor rate = constant(static_cast<int32_t>(a.sample_rate));
  static const OpHandle encode_wav("EncodeWav");
  std::vector<std::string> rows;
  const int64_t count = std::min(s[0], a.max_outputs);
  for (int64_t i = 0; i < count; ++i) {
    const Tensor one = make_host_copy(Runtime::get().cpu(), DType::kFloat32, {s[1], s[2]},
                                      samples.data() + i * s[1] * s[2]);
    rows.push_back(emit(encode_wav, {one, rate}).item<std::string>());
    rows.emplace_back();  // the label, which nothing shows any more
  }
  return {tensor_from_strings(rows, {count, 2})};
}

}  // namespace

void register_summary_ops(OpTable& table) {
  const InputDef text{.name = "tag", .type = 'S'};
  table.add({.name = "WriteSummary",
             .doc = "Writes a tensor to a summary writer.",
             .types = {{'I', mask(DType::kInt64)}, {'S', mask(DType::kString)}},
             .inputs = {{.name = "step", .type = 'I'},
                        {.name = "tensor", .type = '*'},
                        text,
                        {.name = "summary_metadata", .type = 'S'}},
             .outputs = {},
             .attrs = &attrs_type<summary::WriterAttrs>(),
             .infer = infer_write,
             .differentiable = false,
             .dynamic = true,
             .effects = kOrdered});
  table.add({.name = "FlushSummaryWriter",
             .doc = "Brings what a summary writer holds to its file.",
             .types = {},
             .inputs = {},
             .outputs = {},
             .attrs = &attrs_type<summary::WriterAttrs>(),
             .infer = infer_nothing,
             .differentiable = false,
             .dynamic = true,
             .effects = kOrdered});
  table.add({.name = "SummaryHistogram",
             .doc = "The histogram of a tensor as TensorBoard stores it: rows of left "
                    "edge, right edge, count.",
             .types = {{'T', kReals | mask(DType::kBool)}},
             .inputs = {{.name = "data"}},
             .attrs = &attrs_type<summary::HistogramAttrs>(),
             .infer = infer_summary_histogram,
             .differentiable = false,
             .dynamic = true});
  table.add({.name = "SummaryImage",
             .doc = "Images as TensorBoard stores them: width, height, PNG files.",
             .types = {{'T', kFloats | mask(DType::kUInt8, DType::kUInt16)}},
             .inputs = {{.name = "images"}},
             .attrs = &attrs_type<summary::ImageAttrs>(),
             .infer = infer_summary_image,
             .differentiable = false,
             .dynamic = true});
  table.add({.name = "SummaryAudio",
             .doc = "Sounds as TensorBoard stores them: rows of a WAV file and a label.",
             .types = {{'T', kFloats}},
             .inputs = {{.name = "audio"}},
             .attrs = &attrs_type<summary::AudioAttrs>(),
             .infer = infer_summary_audio,
             .differentiable = false,
             .dynamic = true});
  add_host_function("WriteSummary", run_write);
  add_host_function("FlushSummaryWriter", run_flush);
  add_host_function("SummaryHistogram", run_histogram);
  add_host_function("SummaryImage", run_image);
  add_host_function("SummaryAudio", run_audio);
}

}  // namespace tandem
