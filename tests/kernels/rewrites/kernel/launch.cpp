#include "pad_flat.h"
#include "tail_stages.h"
#include "tail_floor.h"
#include "byte_index.h"
#include "element_length.h"
#include "padded_reduce.h"
#include "padded_mean.h"
#include "zero_maximum.h"
#include "reset_each_tile.h"
#include "half_total.h"
#include "half_columns.h"
#include "exact_scan.h"
#include "floor_share.h"
#include "truncating_cast.h"
#include "raw_moments.h"
#include "counted_weights.h"
#include "unset_columns.h"
#include "never_freed.h"
#include "not_enqueued.h"
#include "swapped_rows.h"
#include "small_buffer.h"
#include "packed_rows.h"
#include "scatter_rows.h"
#include "last_tile_wins.h"
#include "dealt_tiles.h"

extern "C" void pad_flat_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    pad_flat<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void tail_stages_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    tail_stages<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void tail_floor_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    tail_floor<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void byte_index_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    byte_index<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void element_length_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    element_length<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void padded_reduce_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    padded_reduce<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void padded_mean_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    padded_mean<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void zero_maximum_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    zero_maximum<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void reset_each_tile_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    reset_each_tile<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void half_total_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    half_total<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void half_columns_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    half_columns<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void exact_scan_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    exact_scan<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void floor_share_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    floor_share<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void truncating_cast_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    truncating_cast<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void raw_moments_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    raw_moments<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void counted_weights_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    counted_weights<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void unset_columns_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    unset_columns<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void never_freed_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    never_freed<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void not_enqueued_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    not_enqueued<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void swapped_rows_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    swapped_rows<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void small_buffer_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    small_buffer<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void packed_rows_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    packed_rows<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void scatter_rows_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    scatter_rows<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void last_tile_wins_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    last_tile_wins<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
extern "C" void dealt_tiles_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols)
{
    dealt_tiles<<<cores, nullptr, stream>>>(x, w, out, rows, cols);
}
