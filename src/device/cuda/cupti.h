// CUPTI, NVIDIA's library that says what a GPU did and when, as a table of functions. It
// is loaded when a profile is recorded and a GPU is in use; where it is not installed,
// profiles have what the host knows. That of CUDA 12 has the fields that are read at the
// same places as that of CUDA 13, whose header is used. The table is filled once; any
// thread.
#pragma once

#include <string>

#include <cupti.h>

namespace tandem::cuda {

// clang-format off
#define TANDEM_CUPTI(X)                                                                  \
  X(cuptiActivityDisable) X(cuptiActivityEnable) X(cuptiActivityFlushAll)                \
  X(cuptiActivityGetNextRecord) X(cuptiActivityGetNumDroppedRecords)                     \
  X(cuptiActivityPopExternalCorrelationId) X(cuptiActivityPushExternalCorrelationId)     \
  X(cuptiActivityRegisterCallbacks) X(cuptiEnableCallback) X(cuptiGetGraphNodeId)        \
  X(cuptiGetResultString) X(cuptiGetStreamIdEx) X(cuptiGetTimestamp) X(cuptiSubscribe)
// clang-format on

struct CuptiApi {
#define TANDEM_CUPTI_MEMBER(name) decltype(&::name) name = nullptr;
  TANDEM_CUPTI(TANDEM_CUPTI_MEMBER)
#undef TANDEM_CUPTI_MEMBER
};

struct CuptiLoad {
  const CuptiApi* api = nullptr;  // null: see problem
  std::string problem;            // one line with a remedy
};

/// Loads the library on the first call.
const CuptiLoad& load_cupti();

/// "CUPTI_ERROR_NOT_INITIALIZED" or the number of the result.
std::string describe(const CuptiApi& api, CUptiResult result);

}  // namespace tandem::cuda
