// Hashes of byte strings whose values TensorFlow fixes: FarmHash's fingerprint, SipHash
// and a Murmur hash. Pure functions; the values never change.
#pragma once

#include <cstdint>
#include <string_view>

namespace tandem::cpu {

/// FarmHash's 64-bit fingerprint (variant "na").
uint64_t fingerprint64(std::string_view s);
/// SipHash-2-4 with a key of 128 bits, little-endian words.
uint64_t sip_hash(uint64_t key0, uint64_t key1, std::string_view s);
/// MurmurHash64A with the seed that tf.strings.to_hash_bucket has.
uint64_t murmur64(std::string_view s);

}  // namespace tandem::cpu
