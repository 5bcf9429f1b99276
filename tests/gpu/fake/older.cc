// The pretended driver's older functions, which those before 12.3 have alone: without
// edges that let a kernel start early.
#include "gpu/fake/state.h"

#define OLDER(name) extern "C" __attribute__((visibility("default"))) CUresult name

OLDER(older_capture_info)(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                          CUgraph* graph, const CUgraphNode** nodes,
                          size_t* count) __asm__("cuStreamGetCaptureInfo_v2");
OLDER(older_update_dependencies)(
    CUstream stream, CUgraphNode* nodes, size_t count,
    unsigned flags) __asm__("cuStreamUpdateCaptureDependencies");
OLDER(older_dependencies)(CUgraphNode node, CUgraphNode* nodes,
                          size_t* count) __asm__("cuGraphNodeGetDependencies");
OLDER(older_dependents)(CUgraphNode node, CUgraphNode* nodes,
                        size_t* count) __asm__("cuGraphNodeGetDependentNodes");
OLDER(older_add_dependencies)(CUgraph graph, const CUgraphNode* from,
                              const CUgraphNode* to,
                              size_t count) __asm__("cuGraphAddDependencies");
OLDER(older_add_node)(CUgraphNode* made, CUgraph graph, const CUgraphNode* before,
                      size_t count, CUgraphNodeParams* params) __asm__("cuGraphAddNode");

CUresult older_capture_info(CUstream stream, CUstreamCaptureStatus* status,
                            cuuint64_t* id, CUgraph* graph, const CUgraphNode** nodes,
                            size_t* count) {
  return cuStreamGetCaptureInfo(stream, status, id, graph, nodes, nullptr, count);
}
CUresult older_update_dependencies(CUstream stream, CUgraphNode* nodes, size_t count,
                                   unsigned flags) {
  return cuStreamUpdateCaptureDependencies(stream, nodes, nullptr, count, flags);
}
CUresult older_dependencies(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  return cuGraphNodeGetDependencies(node, nodes, nullptr, count);
}
CUresult older_dependents(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  return cuGraphNodeGetDependentNodes(node, nodes, nullptr, count);
}
CUresult older_add_dependencies(CUgraph graph, const CUgraphNode* from,
                                const CUgraphNode* to, size_t count) {
  return cuGraphAddDependencies(graph, from, to, nullptr, count);
}
CUresult older_add_node(CUgraphNode* made, CUgraph graph, const CUgraphNode* before,
                        size_t count, CUgraphNodeParams* params) {
  return cuGraphAddNode(made, graph, before, nullptr, count, params);
}
