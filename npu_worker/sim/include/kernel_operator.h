// AscendC on a CPU: an independent simulator written from behaviour and interface names alone. It is not Huawei's
// software; Huawei's own cpu, sim and npu modes are the authority.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <type_traits>

#include "opmend_sim/types.h"
#include "opmend_sim/tensor.h"
#include "opmend_sim/pipe.h"
#include "opmend_sim/copy.h"
#include "opmend_sim/vector.h"
#include "opmend_sim/convert.h"
#include "opmend_sim/int4.h"
#include "opmend_sim/reduce.h"
#include "opmend_sim/compare.h"
#include "opmend_sim/arrange.h"
#include "opmend_sim/gather.h"
#include "opmend_sim/formats.h"
#include "opmend_sim/fused.h"
#include "opmend_sim/sort.h"
#include "opmend_sim/activate.h"
#include "opmend_sim/gates.h"
#include "opmend_sim/softmax.h"
#include "opmend_sim/normalize.h"
#include "opmend_sim/statistics.h"
#include "opmend_sim/quantize.h"
#include "opmend_sim/cube.h"
#include "opmend_sim/sync.h"
#include "opmend_sim/scalars.h"
#include "opmend_sim/cross.h"
#include "opmend_sim/launch.h"
#include "opmend_sim/tiling.h"
#include "opmend_sim/tensor_list.h"
#include "opmend_sim/expressions.h"
