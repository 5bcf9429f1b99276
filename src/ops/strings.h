// The families of strings, files and messages, registered by their own files.
#pragma once

namespace tandem {

class OpTable;

void register_string_ops(OpTable& table);
void register_file_ops(OpTable& table);

}  // namespace tandem
