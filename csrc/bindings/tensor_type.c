/* The Tensor and Parameter types as Python sees them: the slots that the other files of this folder fill. */
#include "bindings.h"
#include "core/dtype.h"
#include <structmember.h>

static PyMemberDef tensor_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(rl_tensor, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(rl_tensor, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyObject *parameter_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"data", "requires_grad", NULL};
    PyObject *data = Py_None;
    int on = 1;
    int64_t none = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Op:Parameter", names, &data, &on)) return NULL;
    int device = rl_tls.device < 0 ? RL_CPU : rl_tls.device / 256;
    RL_OWNED PyObject *source = data == Py_None
                                    ? (PyObject *)rl_tensor_new(rl_dtype_default(), device, 0, &none, 1)
                                    : Py_NewRef(data);
    if (!source) return NULL;
    if (!rl_tensor_check(source)) {
        PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute 'detach'",
                     Py_TYPE(source)->tp_name);
        return NULL;
    }
    RL_OWNED PyObject *p = (PyObject *)rl_tensor_alias(type, (rl_tensor *)source);
    if (!p) return NULL;
    if (on && !rl_dtype_has_grad(((rl_tensor *)p)->v.dtype)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "Only Tensors of floating point and complex dtype can require gradients");
        return NULL;
    }
    if (on && rl_tensor_set_requires_grad((rl_tensor *)p, 1) < 0) return NULL;
    return rl_move(&p);
}

static PyType_Slot tensor_slots[] = {{Py_tp_new, rl_tensor_construct},
                                     {Py_tp_dealloc, rl_tensor_dealloc},
                                     {Py_tp_traverse, rl_tensor_traverse},
                                     {Py_tp_clear, rl_tensor_clear},
                                     {Py_tp_members, tensor_members},
                                     {Py_tp_getset, rl_tensor_getset},
                                     {Py_tp_methods, rl_tensor_methods},
                                     {Py_tp_richcompare, rl_tensor_compare},
                                     {Py_tp_hash, rl_tensor_hash},
                                     {Py_tp_iter, rl_tensor_iter},
                                     {Py_mp_length, rl_tensor_length},
                                     {Py_mp_subscript, rl_tensor_subscript},
                                     {Py_mp_ass_subscript, rl_tensor_ass_subscript},
                                     {Py_sq_length, rl_tensor_length},
                                     {Py_nb_bool, rl_tensor_bool},
                                     {Py_nb_int, rl_tensor_int},
                                     {Py_nb_float, rl_tensor_float},
                                     {Py_nb_index, rl_tensor_index},
#define X(slot, op) {Py_nb_##slot, rl_number_##slot},
                                     RL_NUMBER_BINARY(X)
#undef X
#define X(slot, op) {Py_nb_inplace_##slot, rl_number_inplace_##slot},
                                         RL_NUMBER_INPLACE(X)
#undef X
                                             {Py_nb_power, rl_number_power},
                                     {Py_nb_inplace_power, rl_number_inplace_power},
                                     {Py_nb_negative, rl_number_negative},
                                     {Py_nb_positive, rl_number_positive},
                                     {Py_nb_absolute, rl_number_absolute},
                                     {Py_nb_invert, rl_number_invert},
                                     {Py_tp_doc, "A multi-dimensional array of elements of one dtype.\n\nSee "
                                                 "https://docs.pytorch.org/docs/2.13/tensors.html"},
                                     {0, NULL}};
static PyType_Spec tensor_spec = {"rushlight.Tensor", sizeof(rl_tensor), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                  tensor_slots};
static const char parameter_doc[] =
    "Parameter(data=None, requires_grad=True)\n--\n\n"
    "Make a tensor that a Module registers as a parameter when it is assigned.\n\n"
    "Parameters\n----------\n"
    "data : Tensor, optional\n"
    "    The values, whose memory is shared; an empty tensor if not given.\n"
    "requires_grad : bool, default True\n"
    "    Whether it takes gradients.\n\n"
    "Raises\n------\n"
    "RuntimeError\n"
    "    If gradients are wanted of a dtype that is neither floating point nor complex.\n\n"
    "Notes\n-----\n"
    "Same as torch.nn.Parameter:\n"
    "https://docs.pytorch.org/docs/2.13/generated/torch.nn.parameter.Parameter.html\n\n"
    "Examples\n--------\n"
    ">>> module = nn.Module()\n"
    ">>> module.scale = nn.Parameter(torch.ones(2))\n"
    ">>> list(module.parameters())\n"
    "[Parameter containing:\n"
    "tensor([1., 1.], requires_grad=True)]";
static PyType_Slot parameter_slots[] = {
    {Py_tp_new, parameter_new}, {Py_tp_doc, (void *)parameter_doc}, {0, NULL}};
static PyType_Spec parameter_spec = {"rushlight.nn.parameter.Parameter", sizeof(rl_tensor), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, parameter_slots};

int rl_tensor_init(PyObject *m) {
    rl_tensor_type = (PyTypeObject *)PyType_FromSpec(&tensor_spec);
    if (!rl_tensor_type || PyModule_AddType(m, rl_tensor_type) < 0) return -1;
    rl_tensor_type->tp_name = "Tensor"; /* messages say 'Tensor', as for a class made in Python */
    rl_parameter_type = (PyTypeObject *)PyType_FromSpecWithBases(&parameter_spec, (PyObject *)rl_tensor_type);
    if (!rl_parameter_type || PyModule_AddType(m, rl_parameter_type) < 0) return -1;
    rl_parameter_type->tp_name = "Parameter";
    return rl_attr_init(m) < 0 ? -1 : rl_autocast_init(m);
}

/* ---- the metaclass of Parameter ----
 * isinstance(x, Parameter) also holds for Tensors that are marked `_is_param`. */
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
