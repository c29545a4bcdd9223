"""What names mean in host-side C++ around a kernel: allocation, metadata, views, or computation.

As in `python_facts`, whatever is called on tensors and not listed counts as computation.
Sources: research/npukernelbench.md, the public documentation of the C++ interface of torch.
"""

from coordinator.integrity import python_facts
from coordinator.integrity.words import words

TENSOR_NAMESPACES = words("at torch aten at_npu torch_npu op_api acl_op native")
ALLOCATION = words(
    "empty empty_like empty_strided empty_cpu zeros zeros_like ones ones_like full full_like tensor "
    "scalar_tensor "
    "empty_symint zeros_symint empty_with_format arange apply_tensor apply_tensor_without_format "
    "apply_tensor_with_format ApplyTensor ApplyTensorWithFormat ApplyTensorWithSizes from_blob "
    "unsafe_allocate_new"
)
METADATA = words(
    "infer_size infer_size_dimvector infer_dense_strides result_type promote_types promoteTypes elementSize "
    "isFloatingType isIntegralType isReducedFloatingType toString maybe_wrap_dim device dtype layout "
    "requires_grad "
    "memory_format typeMetaToScalarType scalarTypeToTypeMeta get_default_dtype canCast nullopt make_optional "
    "expand_size get_storage_size computeStorageNbytes prod_intlist multiply_integers get_tiling GetCoreNum "
    "isSignedType isComplexType optTypeMetaToScalarType toOpMathType check_size_nonnegative is_cpu_scalar "
    "get_npu_format "
    "getCurrentNPUStream getNPUStream current_device"
)
VIEWS = python_facts.VIEW_FUNCTIONS
TENSOR_META_METHODS = python_facts.META_METHODS | words(
    "options sizes strides sym_sizes sym_strides sym_size sym_numel scalar_type dtype mutable_data_ptr data "
    "defined has_value value value_or get use_count device_type device_index device layout "
    "is_privateuseone is_npu is_cpu "
    "is_cuda unsafeGetTensorImpl getIntrusivePtr itemsize nbytes key_set suggest_memory_format toString "
    "is_same "
    "reset operator-> is_meta is_sparse is_alias_of has_storage is_non_overlapping_and_dense opt_names "
    "requires_grad numel dim ndimension type is_contiguous_or_false empty front back begin end"
)
DATA_METHODS = words(
    "data_ptr const_data_ptr mutable_data_ptr data storage unsafeGetTensorImpl untyped_storage"
)
ACCESSORS = words("accessor packed_accessor packed_accessor32 packed_accessor64 generic_packed_accessor")

# Functions of the C and C++ library that open doors.
FORBIDDEN_CALLS: dict[str, str] = {
    **dict.fromkeys(
        words("dlopen dlsym dlmopen LoadLibrary GetProcAddress mprotect memfd_create"), "native-escape"
    ),
    **dict.fromkeys(
        words(
            "system popen fork vfork clone execv execve execvp execl execlp execle posix_spawn posix_spawnp kill "
            "raise "
            "ptrace syscall prctl setpriority process_vm_readv process_vm_writev"
        ),
        "process-started",
    ),
    **dict.fromkeys(
        words(
            "fopen fdopen freopen open openat creat mmap shm_open pread pwrite opendir readdir readlink tmpfile "
            "unlink "
            "rename remove aclrtMallocHostFromFile"
        ),
        "host-file",
    ),
    **dict.fromkeys(words("socket connect bind getaddrinfo gethostbyname"), "network-access"),
    **dict.fromkeys(words("pthread_create thrd_create"), "thread-started"),
    **dict.fromkeys(words("getenv secure_getenv setenv putenv"), "environment-read"),
    **dict.fromkeys(
        words(
            "PyRun_SimpleString PyRun_String PyImport_ImportModule PyImport_Import PyObject_Call "
            "PyObject_CallObject "
            "PyObject_CallFunction PyObject_CallMethod PyObject_GetAttrString PyEval_EvalCode PyObject_CallNoArgs"
        ),
        "python-from-extension",
    ),
    **dict.fromkeys(
        words("aclrtCreateStream aclrtCreateStreamWithConfig getStreamFromPool getNPUStreamFromPool"),
        "side-stream",
    ),
    **dict.fromkeys(words("clock_gettime gettimeofday clock"), "time-read"),
}
FORBIDDEN_TYPES: dict[str, str] = {
    "ifstream": "host-file",
    "ofstream": "host-file",
    "fstream": "host-file",
    "filebuf": "host-file",
    "thread": "thread-started",
    "jthread": "thread-started",
    "async": "thread-started",
}
# py::<name> that calls into Python. Types and casts of pybind11 are not among them.
PYTHON_CALLS = words("eval exec eval_file getattr setattr globals import")

STD_PASSIVE = words(
    "move forward make_tuple tie make_pair get swap min max vector tuple pair string to_string array "
    "optional nullopt "
    "make_shared make_unique shared_ptr unique_ptr ref cref addressof size begin end data ceil floor abs "
    "span "
    "initializer_list function bind any variant make_optional launder as_const static_pointer_cast exchange"
)
COPY_CALLS = words(
    "memcpy memmove memcpy_s copy copy_n copy_backward uninitialized_copy aclrtMemcpy aclrtMemcpyAsync "
    "wmemcpy mempcpy bcopy"
)
OPERATOR_HEADERS = (
    "ATen/ops/",
    "ATen/native/",
    "ATen/Functions.h",
    "ATen/NativeFunctions.h",
    "aclnn",
    "torch/nn",
    "aclnnop/",
)
# Names of at:: functions that argument-dependent lookup finds without a namespace.
COMMON_OPERATORS = words(
    "add sub mul div matmul mm bmm addmm sum mean cumsum softmax log_softmax layer_norm group_norm relu "
    "sigmoid tanh "
    "gelu silu exp log sqrt rsqrt pow abs neg max min amax amin argmax argmin cat stack where scatter "
    "scatter_add gather "
    "index_select index_add index_put masked_fill clamp sort topk conv1d conv2d conv3d convolution linear "
    "embedding "
    "nll_loss dropout norm var std prod cumprod pad constant_pad_nd einsum dot outer addcmul addcdiv lerp "
    "native_layer_norm native_group_norm batch_norm max_pool2d avg_pool2d upsample roll flip "
    "repeat_interleave "
    "one_hot bincount unique nonzero masked_select take tril triu eq ne lt gt le ge logical_and maximum "
    "minimum "
    "reciprocal square sin cos erf ceil floor round trunc remainder fmod bernoulli rand randn"
)
ITERATES = frozenset(("for_statement", "while_statement", "do_statement", "for_range_loop"))
