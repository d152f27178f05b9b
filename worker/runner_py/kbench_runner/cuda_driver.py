"""What the CUDA driver tells of the first visible device without a context: a spare must hold none."""
import ctypes
import dataclasses

MULTIPROCESSOR_COUNT = 16  # CUdevice_attribute
CAPABILITY_MAJOR = 75
CAPABILITY_MINOR = 76


@dataclasses.dataclass(frozen=True)
class DeviceFacts:
    capability: tuple[int, int] = (0, 0)
    multiprocessors: int = 0
    driver_cuda: str = ""  # the newest CUDA that the driver speaks: "13.0"


def device_facts():
    """Zeros where there is no driver or no device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return DeviceFacts()
    device, version = ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGet(ctypes.byref(device), 0) != 0:
        return DeviceFacts()

    def attribute(number):
        value = ctypes.c_int()
        return value.value if driver.cuDeviceGetAttribute(ctypes.byref(value), number, device) == 0 else 0

    known = driver.cuDriverGetVersion(ctypes.byref(version)) == 0 and version.value > 0
    return DeviceFacts((attribute(CAPABILITY_MAJOR), attribute(CAPABILITY_MINOR)), attribute(MULTIPROCESSOR_COUNT),
                       f"{version.value // 1000}.{version.value % 1000 // 10}" if known else "")
