/* The metaclass of Parameter: isinstance(x, Parameter) also holds for Tensors that are marked `_is_param`. */
#include "bindings.h"

static PyObject *type_instancecheck; /* type's own */

static PyObject *meta_instancecheck(PyObject *cls, PyObject *o) {
    if (cls == (PyObject *)rl_parameter_type && rl_parameter_check(o)) Py_RETURN_TRUE;
    if (Py_TYPE(o) == rl_tensor_type) Py_RETURN_FALSE;
    return PyObject_CallFunctionObjArgs(type_instancecheck, cls, o, NULL);
}

static PyMethodDef meta_methods[] = {
    {"__instancecheck__", meta_instancecheck, METH_O, "__instancecheck__($self, instance, /)\n--\n\n"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot meta_slots[] = {
    {Py_tp_methods, meta_methods}, {Py_tp_doc, "The type of Parameter and its subclasses."}, {0, NULL}};
static PyType_Spec meta_spec = {"rushlight.nn.parameter._ParameterMeta", 0, 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
                                meta_slots};

/* Before Python 3.12 no type can be made with a metaclass from C, so the finished one changes its type,
 * before anybody has seen it. */
int rl_parameter_init(PyObject *m) {
    (void)m;
    PyObject *meta = PyType_FromSpecWithBases(&meta_spec, (PyObject *)&PyType_Type);
    type_instancecheck = PyObject_GetAttrString((PyObject *)&PyType_Type, "__instancecheck__");
    if (meta == NULL || type_instancecheck == NULL) return -1;
    Py_SET_TYPE((PyObject *)rl_parameter_type, (PyTypeObject *)meta);
    return 0;
}
