"""What torch's and Python's names mean to the adapter scan: allocation, metadata, views, or computation.

Everything on tensors that no list here names counts as computation, so a new operator of torch is caught
without being listed. Sources: research/npukernelbench.md, the public documentation of torch.
"""

from coordinator.integrity.words import words

ALLOCATION = words(
    "empty empty_like empty_strided empty_permuted zeros zeros_like ones ones_like full full_like tensor "
    "scalar_tensor arange"
)
TENSOR_ALLOCATION = words("new_empty new_zeros new_ones new_full new_tensor new_empty_strided")

# torch.<name>(...) that asks or configures, and computes nothing.
TORCH_METADATA = words(
    "is_tensor numel result_type promote_types can_cast broadcast_shapes finfo iinfo Size device dtype "
    "layout "
    "is_floating_point is_complex is_nonzero get_default_dtype typename is_grad_enabled no_grad "
    "inference_mode "
    "enable_grad set_grad_enabled is_inference is_inference_mode_enabled memory_format is_storage "
    "is_signed Tag "
    "SymInt sym_int sym_max sym_min"
)
RANDOM = words(
    "manual_seed seed initial_seed rand rand_like randn randn_like randint randint_like randperm normal "
    "bernoulli "
    "multinomial poisson Generator set_rng_state fork_rng"
)
RANDOM_METHODS = words(
    "normal_ uniform_ random_ bernoulli_ exponential_ geometric_ log_normal_ cauchy_ bernoulli multinomial"
)

META_ATTRIBUTES = words(
    "shape dtype device ndim layout is_cuda is_npu is_cpu is_sparse is_quantized is_leaf is_meta "
    "requires_grad "
    "itemsize nbytes name names grad_fn is_contiguous"
)
META_METHODS = words(
    "size dim numel nelement ndimension stride storage_offset element_size is_contiguous data_ptr get_device "
    "is_floating_point is_complex is_signed is_pinned is_set_to __len__ dim_order "
    "has_names "
    "is_shared is_inference is_conj is_neg __hash__ __repr__ const_data_ptr nbytes"
)
VIEW_METHODS = words(
    "view view_as squeeze unsqueeze squeeze_ unsqueeze_ narrow select unbind chunk split split_with_sizes "
    "tensor_split hsplit vsplit dsplit as_strided as_strided_ diagonal unfold detach detach_ alias "
    "requires_grad_ "
    "requires_grad rename refine_names record_stream pin_memory share_memory_ npu cuda positive resolve_conj "
    "resolve_neg __iter__ slice_scatter_view"
) - {"positive"}
# Views that copy where the strides don't allow a view.
RESHAPES = words("reshape reshape_as flatten ravel unflatten")
EXPANSIONS = words("expand expand_as broadcast_to")
TRANSPOSITIONS = words("transpose transpose_ permute t t_ swapaxes swapdims movedim moveaxis adjoint mT T")
TRANSPOSED_ATTRIBUTES = words("T mT H mH")
COPIES = words("contiguous clone")
CASTS = words("to type type_as half float double bfloat16 int long short char byte bool")
MATERIALISATIONS = words("repeat repeat_interleave tile")
MATERIALISING_FUNCTIONS = words("repeat_interleave tile broadcast_tensors")
INITIALISERS = words("zero_ fill_")
HOST_READS = words("tolist numpy __array__ __dlpack__")

VIEW_FUNCTIONS = VIEW_METHODS | RESHAPES | EXPANSIONS | (TRANSPOSITIONS - {"T", "mT"}) | {"clone"}

# torch.npu.<name>, torch.cuda.<name>, torch_npu.npu.<name>
DEVICE_NAMESPACES = ("torch.npu.", "torch.cuda.", "torch_npu.npu.", "torch.accelerator.")
SIDE_STREAMS = words("Stream stream ExternalStream NPUGraph CUDAGraph graph set_stream")

# Names whose mere use tells, wherever they stand. The longest dotted prefix wins.
FORBIDDEN: dict[str, str] = {
    "builtins.eval": "dynamic-execution",
    "builtins.exec": "dynamic-execution",
    "builtins.compile": "dynamic-execution",
    "builtins.__import__": "import-trick",
    "builtins.__builtins__": "introspection",
    "builtins.globals": "introspection",
    "builtins.locals": "introspection",
    "builtins.open": "file-read",
    "builtins.breakpoint": "introspection",
    "code": "dynamic-execution",
    "codeop": "dynamic-execution",
    "types.FunctionType": "dynamic-execution",
    "types.CodeType": "dynamic-execution",
    "types.LambdaType": "dynamic-execution",
    "types.MethodType": "monkey-patch",
    "types.new_class": "dynamic-execution",
    "io.open": "file-read",
    "io.FileIO": "file-read",
    "os.open": "file-read",
    "os.fdopen": "file-read",
    "os.read": "file-read",
    "os.write": "file-read",
    "os.remove": "file-read",
    "os.unlink": "file-read",
    "os.rename": "file-read",
    "os.replace": "file-read",
    "os.symlink": "file-read",
    "os.link": "file-read",
    "os.kill": "process-started",
    "shutil": "file-read",
    "tempfile": "file-read",
    "mmap": "file-read",
    "linecache": "file-read",
    "fileinput": "file-read",
    "sqlite3": "file-read",
    "dbm": "file-read",
    "json.load": "file-read",
    "torch.load": "deserialisation",
    "torch.jit.load": "deserialisation",
    "torch.hub": "deserialisation",
    "torch.package": "deserialisation",
    "torch.from_file": "file-read",
    "numpy.load": "deserialisation",
    "numpy.loadtxt": "file-read",
    "numpy.genfromtxt": "file-read",
    "numpy.fromfile": "file-read",
    "numpy.memmap": "file-read",
    "pickle": "deserialisation",
    "cPickle": "deserialisation",
    "_pickle": "deserialisation",
    "dill": "deserialisation",
    "cloudpickle": "deserialisation",
    "marshal": "deserialisation",
    "shelve": "deserialisation",
    "joblib": "deserialisation",
    "ctypes": "native-escape",
    "cffi": "native-escape",
    "_ctypes": "native-escape",
    "torch.utils.dlpack": "native-escape",
    "subprocess": "process-started",
    "os.system": "process-started",
    "os.popen": "process-started",
    "os.fork": "process-started",
    "os.forkpty": "process-started",
    "os.execv": "process-started",
    "os.execve": "process-started",
    "os.execl": "process-started",
    "os.execvp": "process-started",
    "os.spawnl": "process-started",
    "os.spawnv": "process-started",
    "os.posix_spawn": "process-started",
    "os._exit": "process-started",
    "pty": "process-started",
    "multiprocessing": "process-started",
    "torch.multiprocessing": "process-started",
    "threading": "thread-started",
    "_thread": "thread-started",
    "concurrent": "thread-started",
    "asyncio": "thread-started",
    "sched": "thread-started",
    "signal": "thread-started",
    "atexit": "thread-started",
    "torch.futures": "thread-started",
    "torch.jit.fork": "thread-started",
    "socket": "network-access",
    "urllib": "network-access",
    "http": "network-access",
    "requests": "network-access",
    "ftplib": "network-access",
    "sys._getframe": "introspection",
    "sys._current_frames": "introspection",
    "sys.settrace": "introspection",
    "sys.setprofile": "introspection",
    "sys.modules": "import-trick",
    "sys.meta_path": "import-trick",
    "sys.path_hooks": "import-trick",
    "sys.addaudithook": "introspection",
    "inspect": "introspection",
    "traceback": "introspection",
    "gc": "introspection",
    "tracemalloc": "introspection",
    "faulthandler": "introspection",
    "dis": "introspection",
    "weakref": "introspection",
    "unittest.mock": "monkey-patch",
    "builtins.__build_class__": "introspection",
    "runpy": "import-trick",
    "pkgutil": "import-trick",
    "zipimport": "import-trick",
    "imp": "import-trick",
    "importlib.machinery": "import-trick",
    "importlib.reload": "import-trick",
    "importlib.abc": "import-trick",
    "torch.library": "monkey-patch",
    "torch.overrides": "tensor-subclass",
    "torch.utils._python_dispatch": "tensor-subclass",
    "torch.Tensor.__torch_function__": "tensor-subclass",
    "torch.compile": "torch-compute",
    "torch.jit.script": "torch-compute",
    "torch.jit.trace": "torch-compute",
    "torch.fx": "torch-compute",
    "torch.func": "torch-compute",
    "torch.vmap": "torch-compute",
    "torch.utils.cpp_extension.load_inline": "dynamic-execution",
    "torch_npu.profiler": "introspection",
    "torch.profiler": "introspection",
}
FORBIDDEN_ATTRIBUTES: dict[str, str] = {
    "__globals__": "introspection",
    "__code__": "dynamic-execution",
    "__closure__": "introspection",
    "__builtins__": "introspection",
    "__subclasses__": "introspection",
    "__mro__": "introspection",
    "__bases__": "introspection",
    "__loader__": "import-trick",
    "__spec__": "import-trick",
    "f_locals": "introspection",
    "f_back": "introspection",
    "f_globals": "introspection",
    "gi_frame": "introspection",
    "tb_frame": "introspection",
    "as_subclass": "tensor-subclass",
    "_make_subclass": "tensor-subclass",
    "_make_wrapper_subclass": "tensor-subclass",
    "__torch_function__": "tensor-subclass",
    "__torch_dispatch__": "tensor-subclass",
    "register_forward_hook": "hook-registered",
    "register_forward_pre_hook": "hook-registered",
    "register_full_backward_hook": "hook-registered",
    "register_module_forward_hook": "hook-registered",
    "read_text": "file-read",
    "read_bytes": "file-read",
    "write_text": "file-read",
    "write_bytes": "file-read",
    "_version": "version-counter-read",
}
FORGING_METHODS = words("__eq__ __ne__ __array__ __lt__ __le__ __gt__ __ge__ __bool__ __sub__ __float__")
LOOKUP_METHODS = words(
    "__getattr__ __getattribute__ __new__ __init_subclass__ __class_getitem__ __set_name__"
)

COMPUTING_BUILTINS = words("sum max min abs pow round divmod sorted complex")
SCALAR_BUILTINS = words("int float bool complex")
CONTAINER_BUILTINS = words("list tuple set frozenset reversed iter")
PASSIVE_BUILTINS = words(
    "len isinstance issubclass hasattr type repr str format print range callable hash bytes bytearray ord "
    "chr bin "
    "hex oct ascii any all slice object super property staticmethod classmethod vars dir id memoryview "
    "input help "
    "delattr setattr"
) | words(
    "ValueError TypeError RuntimeError NotImplementedError AssertionError KeyError ImportError "
    "IndexError Exception OSError FileNotFoundError ModuleNotFoundError AttributeError "
    "StopIteration BaseException ArithmeticError ZeroDivisionError Warning UserWarning "
    "LookupError UnboundLocalError NameError"
)
# Libraries that only hold or move references: tensors may pass through them.
PASSIVE_LIBRARIES = tuple(
    words(
        "typing. typing_extensions. logging. warnings. dataclasses. collections. enum. abc. contextlib. pathlib. "
        "os.path. math. string. textwrap. numbers. __future__."
    )
)
TRANSPARENT_DECORATORS = words(
    "torch.no_grad torch.inference_mode torch.enable_grad torch.jit.ignore torch.jit.unused torch.jit.export "
    "torch.compiler.disable torch._dynamo.disable abc.abstractmethod typing.override typing.final "
    "typing.no_type_check "
    "dataclasses.dataclass functools.wraps torch.autograd.function.once_differentiable "
    "functools.total_ordering "
    "torch.set_grad_enabled typing.overload torch.no_grad() torch.inference_mode()"
)
CACHE_DECORATORS = words("functools.lru_cache functools.cache functools.cached_property")
CLOCKS = ("time.", "datetime.")


def forbidden_rule(name: str) -> str | None:
    """The rule that a dotted name breaks by itself, or None; the longest listed prefix decides."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        rule = FORBIDDEN.get(".".join(parts[:length]))
        if rule is not None:
            return rule
    return None
