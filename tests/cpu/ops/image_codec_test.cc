// Files of images: lossless ones come back as they were, a JPEG nearly so, damaged ones
// are refused.
#include <random>

#include <gtest/gtest.h>

#include "op/emitter.h"
#include "tandem/ops/image.h"

namespace tandem {
namespace {

template <class T>
Tensor noise(const Shape& shape) {
  std::mt19937 bits(
      static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed()));
  std::vector<T> values(static_cast<size_t>(shape.num_elements()));
  for (T& v : values) v = static_cast<T>(bits());
  return constant(values, shape);
}

TEST(PngTest, EveryNumberOfChannelsComesBack) {
  for (int64_t channels = 1; channels <= 4; ++channels) {
    const Tensor image = noise<uint8_t>({7, 5, channels});
    const Tensor back = image::decode_png(image::encode_png(image));
    EXPECT_EQ(back.shape(), image.shape());
    EXPECT_EQ(back.to_vector<uint8_t>(), image.to_vector<uint8_t>());
    const Tensor wide = noise<uint16_t>({3, 4, channels});
    EXPECT_EQ(image::decode_png(image::encode_png(wide), {.dtype = DType::kUInt16})
                  .to_vector<uint16_t>(),
              wide.to_vector<uint16_t>());
  }
}

TEST(PngTest, ChannelsAreConverted) {
  const Tensor file =
      image::encode_png(constant(std::vector<uint8_t>{10, 200, 30}, {1, 1, 3}));
  EXPECT_EQ(image::decode_png(file, {.channels = 4}).to_vector<uint8_t>(),
            (std::vector<uint8_t>{10, 200, 30, 255}));
  const auto grey = image::decode_png(file, {.channels = 1}).to_vector<uint8_t>();
  EXPECT_NEAR(grey[0], 0.299 * 10 + 0.587 * 200 + 0.114 * 30, 1);
  EXPECT_EQ(image::decode_png(file, {.dtype = DType::kUInt16}).to_vector<uint16_t>(),
            (std::vector<uint16_t>{10 * 257, 200 * 257, 30 * 257}));
}

TEST(PngTest, DamagedFilesAreRefused) {
  const std::string file =
      image::encode_png(noise<uint8_t>({9, 9, 3})).item<std::string>();
  EXPECT_THROW(image::decode_png(constant(file.substr(0, file.size() / 2))),
               InvalidArgumentError);
  EXPECT_THROW(image::decode_png(constant("no image")), InvalidArgumentError);
}

Tensor gradient_image() {
  std::vector<uint8_t> values;
  for (int y = 0; y < 24; ++y) {
    for (int x = 0; x < 32; ++x) {
      for (const int v : {y * 8, x * 7, 128}) values.push_back(static_cast<uint8_t>(v));
    }
  }
  return constant(values, {24, 32, 3});
}

TEST(JpegTest, NearlyTheSame) {
  const Tensor image = gradient_image();
  const Tensor file = image::encode_jpeg(image, {.quality = 100});
  const Tensor back = image::decode_jpeg(file);
  ASSERT_EQ(back.shape(), image.shape());
  const auto a = image.to_vector<uint8_t>(), b = back.to_vector<uint8_t>();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 12) << i;
  EXPECT_EQ(image::decode_jpeg(file, {.channels = 1}).shape(), (Shape{24, 32, 1}));
  EXPECT_EQ(image::decode_jpeg(file, {.ratio = 2}).shape(), (Shape{12, 16, 3}));
}

TEST(JpegTest, CropIsAPartOfTheWhole) {
  static const OpHandle crop("DecodeAndCropJpeg"), size("ExtractJpegShape");
  const Tensor file = image::encode_jpeg(gradient_image());
  const Tensor part = emit(crop, {file, constant(std::vector<int32_t>{3, 5, 6, 7})});
  ASSERT_EQ(part.shape(), (Shape{6, 7, 3}));
  const auto all = image::decode_jpeg(file).to_vector<uint8_t>(),
             cut = part.to_vector<uint8_t>();
  EXPECT_EQ(cut[0], all[(3 * 32 + 5) * 3]);
  EXPECT_EQ(cut.back(), all[(8 * 32 + 11) * 3 + 2]);
  EXPECT_THROW(emit(crop, {file, constant(std::vector<int32_t>{20, 0, 6, 7})}),
               InvalidArgumentError);
  EXPECT_EQ(emit(size, {file}).to_vector<int32_t>(), (std::vector<int32_t>{24, 32, 3}));
}

TEST(JpegTest, DamagedFilesAreRefused) {
  EXPECT_THROW(image::decode_jpeg(constant("\xff\xd8\xff\xe0rest")),
               InvalidArgumentError);
  EXPECT_THROW(image::decode_jpeg(constant("")), InvalidArgumentError);
  EXPECT_THROW(image::encode_jpeg(gradient_image(), {.quality = 101}),
               InvalidArgumentError);
}

// Two pixels wide and high; rows lie bottom up and end at four bytes.
std::string bmp() {
  std::string s(54, '\0');
  s[0] = 'B', s[1] = 'M', s[10] = 54, s[14] = 40, s[18] = 2, s[22] = 2, s[26] = 1,
  s[28] = 24;
  return s + std::string("\1\2\3\4\5\6\0\0\7\10\11\12\13\14\0\0", 16);
}

TEST(BmpTest, RowsAndColoursAreTurned) {
  EXPECT_EQ(image::decode_bmp(constant(bmp())).to_vector<uint8_t>(),
            (std::vector<uint8_t>{9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4}));
  EXPECT_THROW(image::decode_bmp(constant(bmp().substr(0, 60))), InvalidArgumentError);
  EXPECT_THROW(image::decode_bmp(constant(bmp()), {.channels = 1}), InvalidArgumentError);
}

// Two frames of two pixels; the second draws its second pixel alone.
std::string gif() {
  const auto text = [](std::initializer_list<int> bytes) {
    std::string s;
    for (const int b : bytes) s += static_cast<char>(b);
    return s;
  };
  std::string s = "GIF89a" + text({2, 0, 1, 0, 0x80 | 1, 0, 0});
  s += text({0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255});  // black, red, green, blue
  // Codes of three bits, least first: clear (4), pixels, end (5).
  s += text({0x2c, 0, 0, 0, 0, 2, 0, 1, 0, 0, 2, 2, 0x8c, 0x0a, 0});
  s += text({0x21, 0xf9, 4, 1, 0, 0, 0, 0});  // index 0 is transparent
  s += text({0x2c, 0, 0, 0, 0, 2, 0, 1, 0, 0, 2, 2, 0xc4, 0x0a, 0});
  return s + text({0x3b});
}

TEST(GifTest, FramesAreDrawnOverOneAnother) {
  const Tensor frames = image::decode_gif(constant(gif()));
  ASSERT_EQ(frames.shape(), (Shape{2, 1, 2, 3}));
  EXPECT_EQ(frames.to_vector<uint8_t>(),
            (std::vector<uint8_t>{255, 0, 0, 0, 255, 0, 255, 0, 0, 0, 0, 255}));
  EXPECT_THROW(image::decode_gif(constant(gif().substr(0, 30))), InvalidArgumentError);
}

TEST(ImageTest, FormatIsFound) {
  const Tensor png = image::encode_png(gradient_image());
  EXPECT_EQ(image::decode_image(png).shape(), (Shape{24, 32, 3}));
  EXPECT_EQ(image::decode_image(constant(bmp())).shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(image::decode_image(constant(gif())).shape(), (Shape{2, 1, 2, 3}));
  EXPECT_EQ(image::decode_image(constant(gif()), {.expand_animations = false}).shape(),
            (Shape{1, 2, 3}));
  EXPECT_EQ(image::decode_jpeg(png).shape(), (Shape{24, 32, 3}));
  EXPECT_THROW(image::decode_image(constant("text")), InvalidArgumentError);
}

}  // namespace
}  // namespace tandem
