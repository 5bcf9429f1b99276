// Python's own way to end a thread is replaced (thread_exit.h), for every extension.
#include "python/ending.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include "data/worker_thread.h"
#include "device/end_loops.h"
#include "device/runtime.h"
#include "python/thread_exit.h"

namespace tandem::python {

namespace {

std::atomic<bool> g_ending{false};
std::atomic<bool> g_threads_left{false};
std::atomic<PyThreadState*> g_ending_thread{nullptr};

std::atomic<pid_t> g_ending_task{0};  // that thread, as the system knows it
std::atomic<bool> g_exiting{false};   // the interpreter has gone, static objects go
std::atomic<int> g_status{0};

[[noreturn]] void stand_still() {
  if (g_exiting.load() && gettid() == g_ending_task.load()) {
    // A static object asks for the interpreter. Nobody else would end the process.
    std::fflush(nullptr);
    _exit(g_status.load());
  }
  for (;;) pause();
}

// What Python calls where it would end a thread.
void leave(void* result) {
  if (!g_ending.load()) pthread_exit(result);
  g_threads_left.store(true);
  stand_still();
}

// The thread that takes Python down has no use for standing still: it destroys what is
// left, such as the training loop that the traceback of a kept exception holds.
bool takes_python_down() {
  PyThreadState* const own = PyGILState_GetThisThreadState();
  return own && own == g_ending_thread.load();
}

// Registered last, so that it comes before the destructors of static objects.
void end_now(int status, void*) {
  g_status.store(status);
  g_exiting.store(true);
  if (!g_threads_left.load() && !data::Worker::left_behind()) return;
  std::fflush(nullptr);
  _exit(status);
}

// h5py's objects take its one lock when they are destroyed. A thread that stands still
// within h5py would keep it for ever, so nobody is within when Python goes.
void take_lock_of_h5py() {
  try {
    const nb::dict modules = nb::module_::import_("sys").attr("modules");
    if (!modules.contains("h5py._objects")) return;
    const nb::object lock = modules["h5py._objects"].attr("phil");
    constexpr int kMostWaits = 5000;  // of a millisecond: a file system may not answer
    for (int i = 0; i < kMostWaits; ++i) {
      if (nb::cast<bool>(lock.attr("acquire")(false))) return;
      const nb::gil_scoped_release unlocked;
      usleep(1000);
    }
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("the end of the interpreter");
  }
}

// The last of Python's exit functions: threads that are not daemons have been joined.
void prepare() {
  g_ending.store(true);
  {
    // Functions are destroyed soon, and wait for devices then.
    const nb::gil_scoped_release unlocked;
    if (Runtime::get().initialized()) end_late_loops(Runtime::get().devices());
  }
  PyThreadState* const own = PyThreadState_Get();
  g_ending_thread.store(own);
  g_ending_task.store(gettid());
  for (PyThreadState* t = PyInterpreterState_ThreadHead(PyInterpreterState_Get()); t;
       t = PyThreadState_Next(t)) {
    if (t != own) g_threads_left.store(true);
  }
  if (g_threads_left.load()) take_lock_of_h5py();
  on_exit(end_now, nullptr);
}

}  // namespace

bool is_ending() { return g_ending.load(); }

void end_without_statics() { g_threads_left.store(true); }

void bind_ending(nb::module_& m) {
  m.attr("_threads_stand_still") = replace_thread_exit(leave);
  m.def("_prepare_ending", prepare);
  nb::module_::import_("atexit").attr("register")(m.attr("_prepare_ending"));
}

}  // namespace tandem::python

// NOLINTBEGIN: the linker makes the names
extern "C" {

// Of a thread of the runtime's own, which Python never knew, when Python has gone.
PyGILState_STATE __real_PyGILState_Ensure();
PyGILState_STATE __wrap_PyGILState_Ensure() {
  if (!Py_IsInitialized() && !tandem::python::takes_python_down()) {
    tandem::python::stand_still();
  }
  return __real_PyGILState_Ensure();
}

}  // extern "C"
// NOLINTEND
