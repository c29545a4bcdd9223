// Tiling data is plain structs here.
#pragma once
#include <cstdint>
