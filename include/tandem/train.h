// What training needs on top of ops: optimizers, losses and a few layers, with Keras's
// formulas and defaults. Written with the public API only.
#pragma once

#include "tandem/train/initializers.h"
#include "tandem/train/layers.h"
#include "tandem/train/loss_scale.h"
#include "tandem/train/losses.h"
#include "tandem/train/optimizer.h"
#include "tandem/train/optimizers.h"
#include "tandem/train/sequence_layers.h"
