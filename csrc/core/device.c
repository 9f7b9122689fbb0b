/* The drivers that device extensions bring. */
#include "device.h"
#include "error.h"

static const rl_device_driver *drivers[RL_NDEVICES];

rl_status rl_device_register(const rl_device_driver *driver) {
    if (driver->abi != RL_KERNEL_ABI || driver->device <= RL_CPU || driver->device >= RL_NDEVICES)
        return rl_error_set(RL_RUNTIME, "this device extension was built for another version of rushlight");
    drivers[driver->device] = driver;
    return RL_OK;
}

const rl_device_driver *rl_device_driver_get(int device) {
    return device > RL_CPU && device < RL_NDEVICES ? drivers[device] : NULL;
}
