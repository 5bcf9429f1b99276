// Colours as hue, saturation, value and back. float32, float64; float16 and bfloat16
// through float32.
#include "kernels/cpu/image_colour.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "kernels/cpu/image_register.h"
#include "kernels/cpu/nn_through_float.h"
#include "op/kernel.h"

namespace tandem::cpu {

namespace {

template <class T>
void to_hsv(const T* in, T* out) {
  const T r = in[0], g = in[1], b = in[2];
  const T value = std::max({r, g, b}), range = value - std::min({r, g, b});
  T hue = 0;
  if (range > 0) {
    const T part = T(1) / (6 * range);
    if (value == r) {
      hue = part * (g - b);
    } else if (value == g) {
      hue = part * (b - r) + T(2) / 6;
    } else {
      hue = part * (r - g) + T(4) / 6;
    }
    if (hue < 0) hue += 1;
  }
  out[0] = hue;
  out[1] = value > 0 ? range / value : T(0);
  out[2] = value;
}

template <class T>
void to_rgb(const T* in, T* out) {
  const T hue = in[0] * 6, saturation = in[1], value = in[2];
  const auto near = [](T x) { return std::clamp(x, T(0), T(1)); };
  const T parts[] = {near(std::abs(hue - 3) - 1), near(2 - std::abs(hue - 2)),
                     near(2 - std::abs(hue - 4))};
  for (int k = 0; k < 3; ++k) out[k] = ((1 - saturation) + saturation * parts[k]) * value;
}

template <class T, void (*kPixel)(const T*, T*)>
void launch_colour(const ColourPlan& p, const LaunchArgs& a) {
  parallel_for(p.pixels, 2048, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) kPixel(a.in<T>(0) + 3 * i, a.out<T>() + 3 * i);
  });
}

// The hue moves between the largest and the smallest part, which stay as they are.
void launch_hue(const ColourPlan& p, const LaunchArgs& a) {
  const float delta = *a.in<float>(1) * 6;
  parallel_for(p.pixels, 2048, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      const float* in = a.in<float>(0) + 3 * i;
      float* out = a.out<float>() + 3 * i;
      float hsv[3];
      to_hsv(in, hsv);
      const float top = std::max({in[0], in[1], in[2]}),
                  low = std::min({in[0], in[1], in[2]});
      float hue = std::fmod(hsv[0] * 6 + delta, 6.0f);
      if (hue < 0) hue += 6;
      if (!(hue >= 0)) hue = 0;  // of colours that are not finite
      const auto part = static_cast<int>(hue);
      const float along = hue - static_cast<float>(part), range = top - low;
      const float up = low + along * range, down = top - along * range;
      const float ways[6][3] = {{top, up, low},   {down, top, low}, {low, top, up},
                                {low, down, top}, {up, low, top},   {top, low, down}};
      std::copy_n(ways[std::min(part, 5)], 3, out);
    }
  });
}

template <class T>
void add_colours(KernelRegistry& registry, const std::string& suffix) {
  const DTypeMask types = mask(dtype_of<T>);
  registry.add(make_kernel<prepare_colour, launch_colour<T, to_hsv<T>>>(
      "RGBToHSV", "cpu.RGBToHSV." + suffix, types));
  registry.add(make_kernel<prepare_colour, launch_colour<T, to_rgb<T>>>(
      "HSVToRGB", "cpu.HSVToRGB." + suffix, types));
}

}  // namespace

void register_image_colour_kernels(KernelRegistry& registry) {
  add_colours<float>(registry, "f32");
  add_colours<double>(registry, "f64");
  registry.add(make_half_kernel<prepare_colour, launch_colour<float, to_hsv<float>>>(
      "RGBToHSV", "cpu.RGBToHSV.half"));
  registry.add(make_half_kernel<prepare_colour, launch_colour<float, to_rgb<float>>>(
      "HSVToRGB", "cpu.HSVToRGB.half"));
  registry.add(make_kernel<prepare_colour, launch_hue>("AdjustHue", "cpu.AdjustHue.f32",
                                                       mask(DType::kFloat32)));
  registry.add(
      make_half_kernel<prepare_colour, launch_hue>("AdjustHue", "cpu.AdjustHue.f16"));
}

}  // namespace tandem::cpu
