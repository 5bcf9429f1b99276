// The end of the interpreter, which threads that nobody joins (daemons, workers whose
// generator never returns) live to see. Python ends a thread that asks for the
// interpreter lock then by unwinding its stack, which no C++ frame survives: here such
// threads stand still instead, and the process ends under them. Any thread.
#pragma once

#include "python/bind.h"

namespace tandem::python {

/// Whether Python has begun to end: what has not been joined is left alone.
bool is_ending();

/// Some thread may still be in Tandem when the process ends: it ends without destroying
/// static objects, with the status that it was given.
void end_without_statics();

void bind_ending(nb::module_& m);

}  // namespace tandem::python
