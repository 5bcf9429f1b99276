// Tensors and examples as TensorFlow's messages (TensorProto, tf.train.Example).
#pragma once

namespace tandem {

class OpTable;

void register_message_ops(OpTable& table);
void register_example_ops(OpTable& table);

}  // namespace tandem
