// Contexts, shapes and tensors of an operator project.
#pragma once
#include "opmend_sim/operator_context.h"
