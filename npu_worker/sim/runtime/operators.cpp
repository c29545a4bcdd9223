// Calls of a workspace's own operators: description, tiling function and kernel are found by name, and bound to the arguments of the call.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "kernel_operator.h"
#include "opmend_sim/operator_argument.h"
#include "opmend_sim/operator_def.h"

namespace opmend_sim {

const char* type_name(ge::DataType type) {
    switch (type) {
        case ge::DT_FLOAT: return "DT_FLOAT";
        case ge::DT_FLOAT16: return "DT_FLOAT16";
        case ge::DT_INT8: return "DT_INT8";
        case ge::DT_INT32: return "DT_INT32";
        case ge::DT_UINT8: return "DT_UINT8";
        case ge::DT_INT16: return "DT_INT16";
        case ge::DT_UINT16: return "DT_UINT16";
        case ge::DT_UINT32: return "DT_UINT32";
        case ge::DT_INT64: return "DT_INT64";
        case ge::DT_UINT64: return "DT_UINT64";
        case ge::DT_DOUBLE: return "DT_DOUBLE";
        case ge::DT_BOOL: return "DT_BOOL";
        case ge::DT_COMPLEX64: return "DT_COMPLEX64";
        case ge::DT_COMPLEX128: return "DT_COMPLEX128";
        case ge::DT_BF16: return "DT_BF16";
        default: return "another type";
    }
}

namespace {

using Kind = OperatorArgument::Kind;
constexpr uint64_t kSystemWorkspace = 16u << 20;  // what PlatformAscendC::GetLibApiWorkSpaceSize says

struct Kernel {
    uint32_t parameters;
    Task task;
    void (*start)(uint8_t* const*);
};
template <class T> std::map<std::string, T>& registry() {
    static std::map<std::string, T> all;
    return all;
}

// AddCustom is add_custom, as a device's build names the kernel (schema/operator_names.py has the same rule).
std::string snake_case(const std::string& name) {
    const auto upper = [&](size_t at) { return at < name.size() && name[at] >= 'A' && name[at] <= 'Z'; };
    const auto lower = [&](size_t at) { return at < name.size() && name[at] >= 'a' && name[at] <= 'z'; };
    std::string out;
    for (size_t at = 0; at < name.size(); ++at) {
        const bool after_small = at && !upper(at - 1) && name[at - 1] != '_';
        if (at && upper(at) && (after_small || (upper(at - 1) && lower(at + 1)))) out += '_';
        out += upper(at) ? static_cast<char>(name[at] - 'A' + 'a') : name[at];
    }
    return out;
}

// The workspace of the call that runs.
struct Workspace {
    uint8_t* data = nullptr;
    uint64_t bytes = 0;
} workspace_of_call;

// Device memory for the time of a call.
class Block {
public:
    explicit Block(uint64_t bytes) : bytes_(bytes) {
        if (!bytes) return;
        const uint64_t rounded = (bytes + 511) / 512 * 512;
        data_ = static_cast<uint8_t*>(std::aligned_alloc(512, rounded));
        if (!data_) throw std::bad_alloc();
        poison(data_, rounded);
        register_global(data_, bytes);
    }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    ~Block() {
        if (!data_) return;
        forget_global(data_);
        std::free(data_);
    }
    uint8_t* data() const { return data_; }
    uint64_t bytes() const { return bytes_; }

private:
    uint8_t* data_ = nullptr;
    uint64_t bytes_;
};

// Sets what kernels ask for while they run, and puts it back.
class Running {
public:
    Running(uint64_t key, const Block& workspace) : key_(tiling_key()), workspace_(workspace_of_call) {
        tiling_key() = key;
        workspace_of_call = Workspace{workspace.data(), workspace.bytes()};
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() {
        tiling_key() = key_;
        workspace_of_call = workspace_;
    }

private:
    uint64_t key_;
    Workspace workspace_;
};

const char* kind_name(Kind kind) {
    switch (kind) {
        case Kind::Nothing: return "nothing";
        case Kind::Tensor: return "a tensor";
        case Kind::Boolean: return "a bool";
        case Kind::Integer: return "an integer";
        case Kind::Real: return "a floating-point number";
        case Kind::Text: return "a string";
        case Kind::Integers: return "a list of integers";
        case Kind::Reals: return "a list of numbers";
        default: return "a list of bools";
    }
}

class Call {
public:
    Call(std::string name, const ops::OpDef& operation, const std::map<int, Kernel>& kernels, std::vector<OperatorArgument>& arguments, Where where)
        : name_(std::move(name)), operation_(operation), kernels_(kernels), arguments_(arguments), where_(where) {}

    void run() {
        check_soc();
        bind();
        check_types();
        ask_tiling();
        launch();
    }

private:
    [[noreturn]] void refuse(const char* rule, const std::string& message) const {
        fail(rule, "operator " + operation_.opmend_type + ": " + message, where_);
    }

    void check_soc() const {
        const std::vector<std::string>& socs = operation_.opmend_core.opmend_socs;
        std::string device = soc().name, listed;
        std::transform(device.begin(), device.end(), device.begin(), [](unsigned char one) { return static_cast<char>(std::tolower(one)); });
        for (const std::string& one : socs) {
            // "ascend910" alone is the first of its line, and no prefix of ascend910b2.
            if (one == "ascend910" ? soc().architecture == 1001 : device.rfind(one, 0) == 0) return;
            listed += (listed.empty() ? "" : ", ") + one;
        }
        refuse("operator-soc", "AddConfig names " + (listed.empty() ? "no SoC" : listed) + ", and the device is " + soc().name);
    }

    void bind() {
        const size_t inputs = operation_.opmend_inputs.size(), attributes = operation_.opmend_attributes.size(), outputs = operation_.opmend_outputs.size();
        if (arguments_.size() != inputs + attributes + outputs)
            refuse("operator-arguments", "the call has " + text(arguments_.size()) + " arguments; inputs, attributes and outputs are " + text(inputs) + " + " +
                                             text(attributes) + " + " + text(outputs));
        size_t at = 0;
        context_.opmend_type = operation_.opmend_type;
        for (const ops::OpParamDef& one : operation_.opmend_inputs) context_.opmend_inputs.push_back(tensor(one, arguments_[at++], false));
        for (const ops::OpAttrDef& one : operation_.opmend_attributes) context_.opmend_attributes.opmend_values().push_back(attribute(one, arguments_[at++]));
        for (const ops::OpParamDef& one : operation_.opmend_outputs) {
            OperatorArgument& given = arguments_[at++];
            context_.opmend_outputs.push_back(tensor(one, given, true));
            if (one.opmend_has_initial) {
                if (one.opmend_initial != 0) unsupported("InitValue(" + std::to_string(one.opmend_initial) + ")", where_);
                if (given.data) std::memset(addresses_.back(), 0, context_.opmend_outputs.back().tensor.GetSize());
            }
        }
    }

    TensorFacts tensor(const ops::OpParamDef& declared, OperatorArgument& given, bool output) {
        if (declared.opmend_option == ops::DYNAMIC) unsupported("ParamType(DYNAMIC)", where_);
        TensorFacts facts;
        if (given.kind == Kind::Nothing && declared.opmend_option == ops::OPTIONAL) {
            facts.there = false;
            addresses_.push_back(nullptr);
            return facts;
        }
        if (given.kind != Kind::Tensor) refuse("operator-arguments", declared.opmend_name + " is a tensor, and the call gives " + kind_name(given.kind));
        void* data = given.data;
        if (!given.contiguous && declared.opmend_contiguous) {
            data = given.copy();
            if (output) put_back_.push_back(given.put_back);
        } else if (!given.contiguous) {
            note("operator-not-contiguous", "violation", "operator " + operation_.opmend_type + ": " + declared.opmend_name +
                     " is not contiguous, and nothing makes it so: the kernel reads its memory in another order", where_);
        }
        addresses_.push_back(static_cast<uint8_t*>(data));
        facts.shape = gert::StorageShape(given.shape);
        facts.tensor = gert::Tensor(facts.shape, given.type);
        facts.description = gert::CompileTimeTensorDesc(given.type);
        return facts;
    }

    AttributeValue attribute(const ops::OpAttrDef& declared, const OperatorArgument& given) const {
        AttributeValue value = declared.opmend_value;
        if (given.kind == Kind::Nothing && declared.opmend_option == ops::OPTIONAL) return value;
        const bool number = given.kind == Kind::Boolean || given.kind == Kind::Integer || given.kind == Kind::Real;
        const bool integers = given.kind == Kind::Integers || given.kind == Kind::Booleans;
        using Declared = AttributeValue::Kind;
        if (value.kind == Declared::Boolean && number) value.boolean = given.real != 0;
        else if (value.kind == Declared::Integer && number) value.integer = given.integer;
        else if (value.kind == Declared::Real && number) value.real = static_cast<float>(given.real);
        else if (value.kind == Declared::Text && given.kind == Kind::Text) value.text = given.text;
        else if (value.kind == Declared::Integers && integers) value.integers = gert::TypedContinuousVector<int64_t>(given.integers);
        else if (value.kind == Declared::Reals && given.kind == Kind::Reals)
            value.reals = gert::TypedContinuousVector<float>(std::vector<float>(given.reals.begin(), given.reals.end()));
        else refuse("operator-arguments", "the call gives " + std::string(kind_name(given.kind)) + " for attribute " + declared.opmend_name);
        return value;
    }

    // The lists of DataType are columns: one of them must be the types of all tensors.
    void check_types() {
        size_t columns = 0;
        std::vector<std::pair<const ops::OpParamDef*, ge::DataType>> all;
        const auto take = [&](const std::deque<ops::OpParamDef>& declared, const std::deque<TensorFacts>& facts) {
            for (size_t at = 0; at < declared.size(); ++at) {
                if (!facts[at].there) continue;
                all.emplace_back(&declared[at], facts[at].tensor.GetDataType());
                columns = std::max(columns, declared[at].opmend_types.size());
            }
        };
        take(operation_.opmend_inputs, context_.opmend_inputs);
        take(operation_.opmend_outputs, context_.opmend_outputs);
        std::string given;
        for (const auto& [declared, type] : all) {
            given += (given.empty() ? "" : ", ") + declared->opmend_name + " " + type_name(type);
            const std::vector<ge::DataType>& any = declared->opmend_any_of;
            if (!any.empty() && std::find(any.begin(), any.end(), type) == any.end()) refuse("operator-types", "no DataTypeList has " + given);
        }
        const auto fits = [&](size_t column) {
            return std::all_of(all.begin(), all.end(), [&](const auto& one) {
                const std::vector<ge::DataType>& types = one.first->opmend_types;
                return types.empty() ? !one.first->opmend_any_of.empty() : column < types.size() && types[column] == one.second;
            });
        };
        for (size_t column = 0; column < std::max<size_t>(columns, 1); ++column)
            if (fits(column)) {
                column_ = static_cast<int>(column);
                return;
            }
        refuse("operator-types", "no column of DataType has " + given);
    }

    void ask_tiling() {
        const auto outside = registry<ops::TilingFunction>().find(operation_.opmend_type);
        const ops::TilingFunction& function = outside != registry<ops::TilingFunction>().end() ? outside->second : operation_.opmend_core.opmend_tiling;
        if (!function) refuse("operator-tiling", "it has no tiling function; name one by AICore().SetTiling");
        const ge::graphStatus status = function(&context_);
        if (status != ge::GRAPH_SUCCESS) refuse("operator-tiling", "its tiling function gives " + text(status) + ", which is not GRAPH_SUCCESS");
        if (context_.GetBlockDim() == 0) refuse("operator-tiling", "its tiling function sets no block dimension; call SetBlockDim");
    }

    void launch() {
        const gert::TilingData& data = *context_.GetRawTilingData();
        const Block tiling(data.GetDataSize());
        if (tiling.data()) std::memcpy(tiling.data(), data.GetData(), data.GetDataSize());
        uint64_t bytes = 0;
        const size_t* sizes = context_.GetWorkspaceSizes(0);
        for (size_t at = 0; at < context_.GetWorkspaceNum(); ++at) bytes += sizes[at];
        if (bytes > uint64_t{16} << 30) refuse("operator-tiling", "its workspace has " + text(bytes) + " bytes");
        const Block workspace(bytes);
        const auto of_types = kernels_.find(column_);
        const Kernel& kernel = of_types != kernels_.end() ? of_types->second : kernels_.begin()->second;
        addresses_.push_back(workspace.data());
        addresses_.push_back(tiling.data());
        if (addresses_.size() != kernel.parameters)
            refuse("operator-parameters", "kernel " + name_ + " has " + text(kernel.parameters) + " parameters; inputs, outputs, workspace and tiling are " +
                                              text(addresses_.size()));
        {
            const Running running(context_.GetTilingKey(), workspace);
            run_blocks(context_.GetBlockDim(), kernel.task, name_, [this, &kernel] { kernel.start(addresses_.data()); });
        }
        for (const std::function<void()>& one : put_back_) one();
    }

    const std::string name_;
    const ops::OpDef& operation_;
    const std::map<int, Kernel>& kernels_;
    int column_ = 0;
    std::vector<OperatorArgument>& arguments_;
    const Where where_;
    gert::TilingContext context_;
    std::vector<uint8_t*> addresses_;
    std::vector<std::function<void()>> put_back_;
};

}  // namespace

bool add_kernel(const char* name, uint32_t parameters, Task task, void (*start)(uint8_t* const*), int column) {
    return registry<std::map<int, Kernel>>()[name][column] = Kernel{parameters, task, start}, true;
}
bool add_operator(const char* type, std::function<ops::OpDef()> made) {
    return registry<std::function<ops::OpDef()>>()[type] = std::move(made), true;
}
bool add_tiling(const char* type, ops::TilingFunction function) {
    return registry<ops::TilingFunction>()[type] = std::move(function), true;
}

uint8_t* user_workspace(uint8_t* workspace, Where where) {
    if (!workspace || workspace != workspace_of_call.data) return workspace;
    if (workspace_of_call.bytes >= kSystemWorkspace) return workspace + kSystemWorkspace;
    note("workspace-without-system", "warning", "the workspace has " + text(workspace_of_call.bytes) +
             " bytes, fewer than the library keeps for itself; add GetLibApiWorkSpaceSize() to the size that the tiling function sets", where);
    return workspace;
}

void call_operator(const char* call, std::vector<OperatorArgument> arguments, Where where) {
    const std::string type = std::string(call).rfind("aclnn", 0) == 0 ? call + 5 : call;
    const auto made = registry<std::function<ops::OpDef()>>().find(type);
    if (made == registry<std::function<ops::OpDef()>>().end()) unsupported(std::string(call) + ", an operator that the workspace does not register by OP_ADD", where);
    const std::string name = snake_case(type);
    const auto kernels = registry<std::map<int, Kernel>>().find(name);
    try {
        if (kernels == registry<std::map<int, Kernel>>().end()) fail("operator-kernel", "operator " + type + " has no kernel " + name + "(GM_ADDR...)", where);
        const ops::OpDef operation = made->second();
        Call(name, operation, kernels->second, arguments, where).run();
    } catch (const KernelError&) {
        flush_report();
        throw;
    }
}

}  // namespace opmend_sim
