/* What this component adds to rushlight._C. */
#include "files.h"
#include "internal.h"

int rl_files_init(PyObject *m) {
    PyMethodDef *const functions[] = {rl_loader_methods, rl_loader_storage_methods, rl_bytes_methods,
                                      rl_save_methods, rl_save_zip_methods};
    for (size_t i = 0; i < Py_ARRAY_LENGTH(functions); i++)
        if (PyModule_AddFunctions(m, functions[i]) < 0) return -1;
    return rl_archive_init(m);
}
