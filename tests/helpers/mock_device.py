"""A device that is none: it computes on the processor, refuses what accelerators refuse and counts waits for it.

Its tensors are wrappers of tensors on the processor, named as those of MPS. It has no float64 (as MPS), takes no
operands of another device but numbers and indices of the processor (as every accelerator), and counts the waits of the
host for the device. Only inside `MockDevice` there is such a device. A `MockMemory` makes it count its memory, as CUDA
does, and refuse what exceeds it.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

import torch
from accelerate.hooks import AlignDevicesHook, add_hook_to_module
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

KIND = "mps"
_SKIPPED: dict[str, Any] = {"skip_keys": ["past_key_values", "cache"]}
_aten = torch.ops.aten
#: Operations after which the host knows a size or a value.
_WAITS = {
    _aten._local_scalar_dense, _aten.nonzero, _aten._unique2, _aten.masked_select, _aten.equal, _aten.is_nonzero,
    _aten.unique_dim, _aten.unique_consecutive,
}  # fmt: skip
_READ = {getattr(torch.Tensor, name) for name in ("tolist", "item", "__float__", "__int__", "__bool__", "__index__")}
_GUARDED = {torch.Tensor.nonzero: _aten.nonzero, torch.Tensor.__invert__: _aten.bitwise_not}


class OnDevice(torch.Tensor):
    """A tensor of the device."""

    inner: torch.Tensor
    where: torch.device

    @staticmethod
    def __new__(cls, inner: torch.Tensor, device: torch.device) -> OnDevice:
        if inner.dtype == torch.float64:
            raise TypeError("Cannot convert a tensor to float64: the device has no float64")
        layout = {"strides": inner.stride(), "storage_offset": inner.storage_offset(), "dtype": inner.dtype}
        options = {"device": "meta", "dispatch_device": True}  # `_Kernels` says which device it is
        made: OnDevice = torch.Tensor._make_wrapper_subclass(cls, inner.size(), **layout, **options)
        made.inner, made.where = inner, device
        if MockMemory.current is not None:
            MockMemory.current.take(made)
        return made

    def __repr__(self) -> str:
        return f"OnDevice({self.inner!r}, {self.where})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.prim.device.default:
            return args[0].where
        raise RuntimeError(f"{func} outside of MockDevice")


class MockMemory:
    """The device's memory in bytes, inside the context; `refused` counts what did not fit. See `torch.cuda`."""

    current: MockMemory | None = None

    def __init__(self, n_bytes: float) -> None:
        self.n_bytes, self.refused = n_bytes, 0
        self._taken: dict[int, tuple[int, int]] = {}  # storage -> its bytes and the tensors that share it
        self.reset_peak_memory_stats()

    def take(self, tensor: OnDevice) -> None:
        storage = tensor.inner.untyped_storage()
        place, size = storage.data_ptr(), storage.nbytes()
        if place not in self._taken and self.memory_allocated() + size > self.n_bytes:
            self.refused += 1
            raise torch.OutOfMemoryError("CUDA out of memory.")
        self._taken[place] = size, self._taken.get(place, (size, 0))[1] + 1
        weakref.finalize(tensor, self._give, place)
        self._peak = max(self._peak, self.memory_allocated())

    def _give(self, place: int) -> None:
        size, count = self._taken.pop(place)
        if count > 1:
            self._taken[place] = size, count - 1

    def memory_allocated(self) -> int:
        return sum(size for size, _ in self._taken.values())

    memory_reserved = memory_allocated

    def mem_get_info(self) -> tuple[float, float]:
        return self.n_bytes - self.memory_allocated(), self.n_bytes

    def max_memory_allocated(self) -> int:
        return self._peak

    def reset_peak_memory_stats(self) -> None:
        self._peak = self.memory_allocated()

    def __enter__(self) -> MockMemory:
        MockMemory.current = self
        return self

    def __exit__(self, *problem: object) -> None:
        MockMemory.current = None


class MockDevice(ExitStack):
    """Inside it there is the device; `waits` counts the operations for which the host waited."""

    def __enter__(self) -> MockDevice:
        self.waits: Counter[str] = Counter()
        self.enter_context(_Python(self.waits))
        self.enter_context(_Kernels(self.waits))
        return self


class _Python(TorchFunctionMode):
    """Does what torch does in its Python layer for devices that it is built for: lists, indexing, reading out."""

    def __init__(self, waits: Counter[str]) -> None:
        super().__init__()
        self._waits = waits

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in (torch.tensor, torch.as_tensor) and (device := kwargs.pop("device", None)) is not None:
            return func(*args, **kwargs).to(device)
        if func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__) and isinstance(args[0], OnDevice):
            keys = [key for key in tree_flatten(args[1])[0] if isinstance(key, torch.Tensor)]
            _check([args[0], *(key for key in keys if isinstance(key, OnDevice)), *args[2:]], func)
            if any(key.dtype == torch.bool for key in keys):
                self._waits["indexing by a mask"] += 1
            found = func(*tree_map(_inner, args))
            return None if found is None else OnDevice(found, args[0].where)
        if func in _READ and isinstance(args[0], OnDevice):
            self._waits[func.__name__] += 1
            return func(args[0].inner)
        if func in _GUARDED:
            return _GUARDED[func](*args)
        return func(*args, **kwargs)


class _Kernels(TorchDispatchMode):
    def __init__(self, waits: Counter[str]) -> None:
        super().__init__()
        self._waits = waits

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.prim.device.default:
            return args[0].where
        kwargs, packet = dict(kwargs or {}), func.overloadpacket
        flat = tree_flatten((args, kwargs))[0]
        places = [t.where for t in flat if isinstance(t, OnDevice)] + [d for d in flat if isinstance(d, torch.device)]
        if not any(place.type == KIND for place in places):
            return func(*args, **kwargs)
        in_parts = torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
        if in_parts and packet is not _aten.scaled_dot_product_attention:  # which asks its device for a kernel
            with self:
                return func.decompose(*args, **kwargs)
        target = places[0] if (wanted := kwargs.get("device")) is None else torch.device(wanted)
        if packet not in (_aten._to_copy, _aten.copy_, _aten.index, _aten.index_put_):
            _check(flat, func)
        if packet in _WAITS or target.type != KIND:
            self._waits[str(packet)] += 1
        if wanted is not None:
            kwargs["device"] = torch.device("cpu")
        plain_args, plain_kwargs = tree_map(_inner, (args, kwargs))
        result = func(*plain_args, **plain_kwargs)
        if target.type != KIND:
            return result
        if func._schema.is_mutable and plain_args and result is plain_args[0]:
            return args[0]
        return tree_map(lambda part: OnDevice(part, target) if isinstance(part, torch.Tensor) else part, result)


def _inner(value: Any) -> Any:
    return value.inner if isinstance(value, OnDevice) else value


def _check(operands: Iterable[Any], func: Any) -> None:
    """Refuse operands of two devices; numbers of the processor go with any."""
    tensors = [operand for operand in operands if isinstance(operand, torch.Tensor)]
    devices = {str(t.where) if isinstance(t, OnDevice) else "cpu" for t in tensors if isinstance(t, OnDevice) or t.ndim}
    if len(devices) > 1:
        raise RuntimeError(f"Expected all tensors to be on the same device, but found {sorted(devices)} in {func}")


@torch.inference_mode()  # else views of weights would need autograd's counts, which wrappers lack
def place(module: Any, index: int = 0) -> Any:
    """Put a module's parameters and buffers on the device, or on the second one of its kind; return the module."""
    device = torch.device(KIND, index)
    for part in module.modules():
        for name, value in [*part.named_parameters(recurse=False)]:
            part._parameters[name] = torch.nn.Parameter(OnDevice(_inner(value).detach(), device), requires_grad=False)
        for name, value in [*part.named_buffers(recurse=False)]:
            part._buffers[name] = OnDevice(_inner(value), device)
    return module


def spread(module: Any) -> Any:
    """Put a decoder's layers on two devices with accelerate's hooks, as ``device_map`` auto does; return the module."""
    place(module)
    layers, norm, head = module.model.layers, module.model.norm, module.lm_head
    for part in (*layers[len(layers) // 2 :], norm, head):
        place(part, 1)
    add_hook_to_module(module, AlignDevicesHook(torch.device(KIND, 0), io_same_device=True, **_SKIPPED))
    for index, part in [*((int(2 * i >= len(layers)), layer) for i, layer in enumerate(layers)), (1, norm), (1, head)]:
        add_hook_to_module(part, AlignDevicesHook(torch.device(KIND, index), **_SKIPPED))
    module.hf_device_map = {"model.embed_tokens": 0, "lm_head": 1}
    return module
