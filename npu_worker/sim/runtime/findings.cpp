// Findings: counted by rule and place, written to the side channel at the end of a launch.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <tuple>

#include "opmend_sim/tensor.h"

namespace opmend_sim {
namespace {

constexpr size_t kMostFindings = 256;

struct Key {
    std::string rule, severity, file;
    int line;
    bool operator<(const Key& other) const {
        return std::tie(rule, severity, file, line) < std::tie(other.rule, other.severity, other.file, other.line);
    }
};
struct Text {
    std::string message, core, buffer;
    uint64_t count = 0;
};
std::map<Key, Text>& findings() {
    static std::map<Key, Text> all;
    return all;
}

std::string escaped(const std::string& raw) {
    std::string out;
    for (const char c : raw) {
        if (c == '"' || c == '\\') out += '\\', out += c;
        else if (static_cast<unsigned char>(c) < 0x20) out += ' ';
        else out += c;
    }
    return out;
}

std::string described(const Buffer* buffer) {
    if (!buffer) return "";
    std::string made = place(buffer->made);
    if (!made.empty()) made = ", InitBuffer at " + made.substr(2, made.size() - 3);
    return std::string(position_name(static_cast<AscendC::TPosition>(buffer->position))) + ", " + text(buffer->bytes) + " bytes" + made;
}

// How to mend what a rule names. A rule that stands here by its ending alone holds for every memory (ub-, l1-, l0a- ...).
struct Mend {
    const char* rule;
    const char* text;
};
constexpr Mend kMends[] = {
    {"operator-arguments", "call EXEC_NPU_CMD with every input, then every attribute, then every output, in the order of the operator's description"},
    {"operator-types", "give all DataType lists the same length: each position is one combination of types that the kernel takes"},
    {"operator-soc", "name the device's line in AddConfig, as in AICore().AddConfig(\"ascend910b\")"},
    {"operator-tiling", "let the tiling function set SetBlockDim and the tiling data, and give GRAPH_SUCCESS"},
    {"operator-kernel", "name the kernel as the operator in snake case (AddCustom: add_custom); all its parameters are GM_ADDR"},
    {"operator-parameters", "give the kernel one GM_ADDR for each input and output, then workspace and tiling"},
    {"operator-not-contiguous", "describe the tensor with AutoContiguous(), or make it contiguous in the binding"},
    {"workspace-without-system", "set the size of the workspace to GetLibApiWorkSpaceSize() plus what the kernel needs itself"},
    {"matmul-tiling", "take base sizes that fit L0A, L0B and L0C in whole fractals and depths that fit L1, as the host's GetTiling gives them"},
    {"matmul-operand", "call SetTensorA and SetTensorB before Iterate, IterateAll or IterateBatch"},
    {"matmul-not-initialised", "pass the object and its TCubeTiling to REGIST_MATMUL_OBJ, or call Init"},
    {"matmul-no-block", "call GetTensorC once for each Iterate that returned true"},
    {"matmul-transpose", "declare the operand's MatmulType with isTrans = true, or store it as it is multiplied"},
    {"matmul-no-cube", "make the kernel a MIX one: KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2)"},
    {"matmul-no-workspace", "pass GetSysWorkSpacePtr() to REGIST_MATMUL_OBJ; for asynchronous results call SetWorkspace before Iterate"},
    {"matmul-no-scale", "call SetQuantScalar or SetQuantVector before Iterate"},
    {"matmul-atomic", "enAtomic is 0 (none), 1 (add), 2 (max) or 3 (min), for results in global memory"},
    {"matmul-batch", "make batchA a multiple of batchB or the other way round"},
    {"nd2nz-stride", "dstNzNStride is 1 for rows side by side, dstNzC0Stride the rows of the whole matrix rounded up to 16"},
    {"loaddata-transpose", "16-bit elements: ifTranspose; 8 bits: LoadDataWithTranspose; 32 bits: LoadData with LoadData3DParamsV2"},
    {"loaddata-range", "keep startIndex and the steps inside the source tensor"},
    {"mmad-limits", "split m, n and k to at most 4095 each"},
    {"fixpipe-quant", "set quantPre for the two element types, and deqScalar or the tensor of scales where it quantises"},
    {"fixpipe-stride", "dstStride is the row length of the whole result in elements, or 32-byte blocks between columns for CFG_NZ"},
    {"operand-position", "put the operand into a buffer of the position the call asks for"},
    {"repeat-out-of-range", "split the call: a repeat count is at most 255"},
    {"stride-out-of-range", "keep repeat strides at or below 255 blocks of 32 bytes; for wider rows call once a row"},
    {"operand-overlap", "use the same tensor for dst and source, or tensors that are apart"},
    {"operand-overlap-repeats", "write to another tensor, or accumulate into dst as the second source with a repeat stride of 0"},
    {"shift-out-of-range", "shift by 0 to the element's width"},
    {"compare-mode", "cast to float first, or compare for EQ"},
    {"compare-unaligned", "round the count up to a multiple of 256 bytes, over a buffer that is large enough"},
    {"cast-mode", "use a rounding mode that the Cast page lists for this pair of types"},
    {"deq-scale-not-set", "call SetDeqScale(half) before the Cast"},
    {"offset-unaligned", "give offsets in bytes, as multiples of the element size (32 for Gatherb)"},
    {"not-on-this-soc", "use the calls that this SoC has"},
    {"mrgsort-valid-bit", "set validBit to 3, 7 or 15: the first two, three or four queues"},
    {"mrgsort-length", "merge queues of at most 4095 elements"},
    {"mrgsort-repeat", "set repeatTimes to 1, or use four queues of one length that lie side by side"},
    {"transpose-shape", "keep hSize * wSize at or below 4095, and its bytes a multiple of 32"},
    {"datacopy-unaligned", "copy a multiple of 32 bytes, or use DataCopyPad, which takes any number of bytes"},
    {"datacopy-empty", "skip the copy when there is nothing to copy"},
    {"datacopypad-limits", "split the copy: at most 4095 blocks, 2097151 bytes a block, 32 bytes of padding a side"},
    {"gm-read-out-of-range", "shorten the last tile to what is left of the tensor, and check the tiling's sizes against the tensor's shape"},
    {"gm-write-out-of-range", "shorten the last tile to what is left of the tensor; DataCopyPad writes an exact number of bytes"},
    {"gm-access-out-of-range", "keep the index below the tensor's number of elements"},
    {"gm-unknown-address", "pass a device tensor's address to SetGlobalBuffer, plus an offset inside it"},
    {"gm-null", "pass a device tensor's address to SetGlobalBuffer before the copy"},
    {"gm-unaligned", "use an address that is a multiple of the element size"},
    {"-overflow", "init smaller or fewer buffers: all of a memory's buffers together must fit"},
    {"-buffer-overrun", "touch no more elements than the buffer was inited for: shrink the count, or enlarge InitBuffer"},
    {"-out-of-range", "keep counts, repeats and strides inside the tensor"},
    {"-unaligned", "start operands at a multiple of the memory's alignment (32 bytes in the unified buffer): choose offsets accordingly"},
    {"null-tensor", "take the tensor from AllocTensor, DeQue or TBuf.Get before it is used"},
    {"buffer-not-initialised", "call pipe.InitBuffer for it first"},
    {"read-never-written", "write the whole range first (a copy, Duplicate or a computation), or touch only what was written"},
    {"queue-leak", "call FreeTensor for every tensor that was allocated or dequeued"},
    {"queue-double-free", "call FreeTensor once for each AllocTensor"},
    {"queue-free-while-queued", "DeQue the tensor before FreeTensor"},
    {"queue-use-after-free", "call FreeTensor after the tensor's last use"},
    {"queue-foreign-tensor", "free and enqueue a tensor in the queue that allocated it"},
    {"queue-no-free-buffer", "free each tensor before the next AllocTensor, or init more buffers"},
    {"queue-deque-empty", "EnQue a tensor before DeQue"},
    {"queue-full", "DeQue before the next EnQue, or give the queue a larger depth"},
    {"queue-double-enque", "EnQue a tensor once, then DeQue it"},
    {"queue-buffer-count", "init a queue with 1 to 64 buffers (2 for double buffering)"},
    {"queue-live-tensors", "free tensors earlier, or use one larger buffer for several tensors"},
    {"buffer-count", "share buffers: one TBuf can hold several tensors at offsets"},
    {"flag-never-set", "call SetFlag with the same event and id before WaitFlag"},
    {"flag-set-twice", "WaitFlag before the flag is set again, or use another event id"},
    {"flag-unpaired", "pair every SetFlag with one WaitFlag of the same event and id"},
    {"flag-id", "take event ids from AllocEventID or FetchEventID"},
    {"flag-exhausted", "call ReleaseEventID when the flag was waited for"},
    {"cross-core-flag-id", "use flag ids 0 to 10"},
    {"cross-core-flag-overflow", "wait for a flag at least once every 15 sets"},
    {"cross-core-task", "say KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0), or another MIX type, first in the kernel"},
    {"cross-core-hang", "pair every wait with the set it waits for, on every path and with the same mode and id"},
    {"syncall-missing-core", "let every core reach every SyncAll: never inside a branch that only some cores take"},
    {"syncall-too-many-blocks", "launch no more blocks than the device has cores"},
    {"mask-out-of-range", "use a mask of 1 to 256 / sizeof(element) lanes"},
    {"block-count", "launch with a blockDim of 1 to 65535"},
    {"cross-core-overlap", "give each core a range of its own, put SyncAll between, or use atomics"},
    {"cross-core-race", "put SyncAll (or a cross-core flag) between one core's write and another core's read"},
    {"cache-line-shared", "scalar writes go by 64-byte cache lines: give each core whole lines, or write with DataCopyPad"},
    {"missing-sync", "hand the buffer over with a queue, or SetFlag and WaitFlag between the two pipes, or PipeBarrier<PIPE_ALL>"},
    {"wrong-core", "guard the call: if ASCEND_IS_AIV for vector calls, if ASCEND_IS_AIC for cube calls; or choose another KERNEL_TASK_TYPE"},
    {"atomic-left-on", "call SetAtomicNone after the last atomic copy"},
    {"mask-left-counter", "call SetMaskNorm (and ResetMask) after the last call in Counter mode"},
    {"reduce-count", "skip the reduction when there is nothing to reduce"},
    {"broadcast-shape", "give a source shape that is equal to the destination's, or 1, on each axis"},
    {"compare-unaligned", "compare a multiple of 256 bytes: round the count up, and let the tail's bits be"},
    {"gathermask-pattern", "use a pattern of 1 to 7, or a tensor of bits"},
    {"assertion", "the kernel's own assertion: mend what it asks, or the tiling that it checks"},
    {"trap", "the kernel called Trap itself"},
    {"endless-loop", "make sure that the loop's condition can end it: check the tiling values it depends on"},
};
bool fits(const std::string& rule, const std::string& pattern) {
    if (pattern[0] != '-') return rule == pattern;
    return rule.size() > pattern.size() && rule.compare(rule.size() - pattern.size(), pattern.size(), pattern) == 0;
}
const char* mend_of(const std::string& rule) {
    for (const Mend& one : kMends)
        if (fits(rule, one.rule)) return one.text;
    return "";
}

void count(const char* rule, const char* severity, const std::string& message, Where where, const Buffer* buffer) {
    auto& all = findings();
    const Key key{rule, severity, where.file ? where.file : "", where.line};
    auto found = all.find(key);
    if (found == all.end()) {
        if (all.size() >= kMostFindings) return;
        found = all.emplace(key, Text{message, current_core ? current_core->name() : "", described(buffer), 0}).first;
    }
    ++found->second.count;
}

bool strict() {
    const char* text = std::getenv("OPMEND_SIM_STRICT");
    return text && *text && std::string(text) != "0";
}

}  // namespace

std::string place(Where where) {
    return where.file && *where.file ? " (" + std::string(where.file) + ":" + std::to_string(where.line) + ")" : "";
}

void note(const char* rule, const char* severity, const std::string& message, Where where, const Buffer* buffer) {
    count(rule, severity, message, where, buffer);
    // Only inside a kernel: a launch's end has no kernel left to stop.
    if (severity[0] != 'w' && current_core && strict()) throw KernelError(std::string(rule) + ": " + message + place(where));
}

void fail(const char* rule, const std::string& message, Where where, const Buffer* buffer) {
    count(rule, "error", message, where, buffer);
    throw KernelError(std::string(rule) + ": " + message + place(where));
}

void unsupported(const std::string& what, Where where) {
    count("unsupported", "error", what, where, nullptr);
    throw KernelError("unsupported by the simulator: " + what + place(where));
}

void flush_report() {
    auto& all = findings();
    if (all.empty()) return;
    const char* path = std::getenv("OPMEND_SIM_REPORT");
    if (path && *path) {
        if (FILE* out = std::fopen(path, "a")) {
            for (const auto& [key, value] : all) {
                std::fprintf(out, "{\"rule\": \"%s\", \"severity\": \"%s\", \"message\": \"%s\", ", escaped(key.rule).c_str(),
                             key.severity.c_str(), escaped(value.message).c_str());
                if (!key.file.empty()) std::fprintf(out, "\"file\": \"%s\", \"line\": %d, ", escaped(key.file).c_str(), key.line);
                if (!value.core.empty()) std::fprintf(out, "\"core\": \"%s\", ", value.core.c_str());
                if (!value.buffer.empty()) std::fprintf(out, "\"buffer\": \"%s\", ", escaped(value.buffer).c_str());
                if (const char* mend = mend_of(key.rule); *mend) std::fprintf(out, "\"mend\": \"%s\", ", escaped(mend).c_str());
                std::fprintf(out, "\"count\": %llu}\n", static_cast<unsigned long long>(value.count));
            }
            std::fclose(out);
        }
    }
    all.clear();
}

}  // namespace opmend_sim
