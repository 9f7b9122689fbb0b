/* The drivers that device extensions bring. */
#include "device.h"
#include "error.h"

static const rl_device_driver *drivers[RL_NDEVICES];
bool rl_device_present;

rl_status rl_device_register(const rl_device_driver *driver) {
    if (driver->abi != RL_DEVICE_ABI || driver->device <= RL_CPU || driver->device >= RL_NDEVICES)
        return rl_error_set(RL_RUNTIME, "this device extension was built for another version of rushlight");
    drivers[driver->device] = driver;
    rl_device_present = true;
    return RL_OK;
}

rl_status rl_device_failed(const rl_device_driver *driver) {
    const char *text;
    int code;
    rl_error kind = driver->last_error(&text, &code);
    return rl_error_set(kind, "%s", text);
}

int rl_device_index(int device, int index) {
    const rl_device_driver *driver = index < 0 ? rl_device_driver_get(device) : NULL;
    return index >= 0 ? index : driver ? driver->current() : 0;
}

const rl_device_driver *rl_device_driver_get(int device) {
    return device > RL_CPU && device < RL_NDEVICES ? drivers[device] : NULL;
}
