"""What tests/front/wheels.sh runs: one of nvml, aimdo, runtime."""

import ctypes
import glob
import os
import sys

MIB = 1 << 20


def cuda():
    library = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    assert library.cuInit(0) == 0
    assert library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert library.cuCtxSetCurrent(context) == 0
    return library


def nvml():
    import pynvml

    library = cuda()
    pynvml.nvmlInit()
    assert pynvml.nvmlDeviceGetCount() == 1
    card = pynvml.nvmlDeviceGetHandleByIndex(0)
    assert "3050" in pynvml.nvmlDeviceGetName(card)
    assert pynvml.nvmlDeviceGetUUID(card).startswith("GPU-")
    assert pynvml.nvmlSystemGetDriverVersion()
    before = pynvml.nvmlDeviceGetMemoryInfo(card, version=pynvml.nvmlMemory_v2)
    address = ctypes.c_uint64()
    assert library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(100 * MIB)) == 0
    after = pynvml.nvmlDeviceGetMemoryInfo(card, version=pynvml.nvmlMemory_v2)
    assert before.free - after.free == 100 * MIB, (before, after)
    processes = pynvml.nvmlDeviceGetComputeRunningProcesses(card)
    assert [process.pid for process in processes] == [os.getpid()], processes
    assert processes[0].usedGpuMemory > 100 * MIB
    try:
        pynvml.nvmlDeviceGetUtilizationRates(card)
        raise AssertionError("the simulated card tells no utilisation")
    except pynvml.NVMLError_NotSupported:
        pass
    pynvml.nvmlShutdown()
    print("wheels: nvidia-ml-py: ok")


def aimdo():
    library = cuda()
    import comfy_aimdo.control as control

    assert control.init(implementation="cuda")
    assert control.init_devices([0])
    import comfy_aimdo.model_vbar as model_vbar

    bar = model_vbar.ModelVBAR(8192 * MIB, 0)
    bar.prioritize()
    weights = [bar.alloc(100 * MIB) for _ in range(80)]
    resident = 0
    for weight in weights:
        resident += model_vbar.vbar_fault(weight) is not None
        model_vbar.vbar_unpin(weight)
    assert 40 < resident < 60, resident  # 8 GB do not fit on a card of 6
    loaded = bar.loaded_size()
    assert bar.free_memory(500 * MIB) >= 500 * MIB
    assert bar.loaded_size() <= loaded - 500 * MIB
    # Its hook makes room before an allocation that would not fit.
    address = ctypes.c_uint64()
    loaded = bar.loaded_size()
    assert library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(3000 * MIB)) == 0
    assert bar.loaded_size() < loaded - 1000 * MIB, (loaded, bar.loaded_size())


def runtime():
    ctypes.CDLL("libcuda.so.1")
    (path,) = [found for entry in sys.path for found in glob.glob(entry + "/nvidia/cuda_runtime/lib/libcudart.so.12")]
    library = ctypes.CDLL(path)
    count = ctypes.c_int()
    assert library.cudaGetDeviceCount(ctypes.byref(count)) != 0


def numba():
    """Context, memory and copies work; kernels of its own are refused, as they are on a card that lacks their binary."""
    import numpy
    from numba import cuda
    from numba.cuda.cudadrv.driver import CudaAPIError

    there = cuda.to_device(numpy.arange(100_000, dtype=numpy.float32))
    assert (there.copy_to_host() == numpy.arange(100_000)).all()
    assert cuda.current_context().get_memory_info().free > 0
    ptx = b".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry theirs() { ret; }\n\0"
    try:
        cuda.current_context().create_module_ptx(ptx)
    except CudaAPIError as error:
        assert error.code == 209, error  # NO_BINARY_FOR_GPU
    else:
        raise AssertionError("a kernel that the card does not have was loaded")


{"nvml": nvml, "numba": numba, "aimdo": aimdo, "runtime": runtime}[sys.argv[1]]()
