// Forwards to acl/acl.h of the simulator.
#pragma once
#include "acl/acl.h"
