// EXEC_NPU_CMD for the workspace's own operators.
#pragma once
#include "acl/acl.h"
#include "opmend_sim/operator_call.h"
