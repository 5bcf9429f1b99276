// How Python 3.11 to 3.13 end a thread that asks for the interpreter lock while the
// interpreter ends: pthread_exit, which unwinds frames that no C++ code expects to be
// unwound. From 3.14 on such threads hang; here they do in all versions.
#pragma once

namespace tandem::python {

/// From now on Python calls `instead` where it would end a thread. False where this
/// Python calls pthread_exit in no way that can be replaced, or not at all. Once, with
/// the interpreter lock.
bool replace_thread_exit(void (*instead)(void*));

}  // namespace tandem::python
