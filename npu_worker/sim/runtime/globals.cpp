// Global memory: the storages a kernel may touch.
#include <algorithm>
#include <map>

#include "opmend_sim/schedule.h"

namespace opmend_sim {
namespace {

struct Storage {
    Range range;
    uint64_t launch;  // how many launches had ended when it was last seen
};
std::map<uintptr_t, Storage>& storages() {
    static std::map<uintptr_t, Storage> all;
    return all;
}

}  // namespace

uint64_t launches_ended = 0;

void register_global(const void* begin, size_t bytes) {
    if (!begin || !bytes) return;
    auto& all = storages();
    auto* from = static_cast<uint8_t*>(const_cast<void*>(begin));
    uint8_t* to = from + bytes;
    auto it = all.upper_bound(reinterpret_cast<uintptr_t>(from));
    if (it != all.begin() && std::prev(it)->second.range.end > from) --it;
    while (it != all.end() && it->second.range.begin < to) {
        // What overlaps and was seen before the last launch was freed since; what was seen after it shares memory.
        if (it->second.launch == launches_ended) {
            from = std::min(from, it->second.range.begin);
            to = std::max(to, it->second.range.end);
        }
        it = all.erase(it);
    }
    all[reinterpret_cast<uintptr_t>(from)] = Storage{Range{from, to}, launches_ended};
}

void forget_global(const void* begin) { storages().erase(reinterpret_cast<uintptr_t>(begin)); }

Range find_global(const void* address) {
    if (is_core_memory(address)) return Range{};
    auto& all = storages();
    const auto at = reinterpret_cast<uintptr_t>(address);
    auto it = all.upper_bound(at);
    if (it == all.begin()) return Range{};
    --it;
    // An address a little past the end still belongs here: the message can say how far.
    if (at > reinterpret_cast<uintptr_t>(it->second.range.end) + (1u << 20)) return Range{};
    return it->second.range;
}

}  // namespace opmend_sim
