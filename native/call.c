/* The extension module onlinear._native: functions that Numba compiled when the package was built.

   Every compiled function has an entry  int32_t entry(int64_t *frame, int64_t *result).  `call`
   writes the arguments into 8-byte slots of `frame`, calls the entry, and makes Python objects of
   the slots of `result`. A signature says what the slots hold:

       f float    i integer    b bool    n None    ( ) a tuple
       A, number of dimensions, layout C or A (any), element type d (float64), l (int64) or
       ? (bool), w (written) or r (only read):  an array; slots: address, shape, strides

   Arguments of other types go to the fallback, which compiles the function for them.
   The module uses Python's stable ABI, so one library serves every Python from 3.11 on. */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_25_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SLOTS 1024  /* of a frame; the build refuses functions that need more */
#define MOST_RESULTS 16

typedef int32_t (*entry_t)(int64_t *frame, int64_t *result);
typedef struct {
    const char *name, *takes, *gives;
    entry_t entry;
    int releases_gil;
} Function;
typedef struct {
    int level;
    const Function *functions;
    int count;
} Table;
#include "table.h" /* written by link.py: TABLES, lowest processor level first, functions by name */

/* Write one argument into slots; return 0 if it is not of the type that the signature says. */
static int flatten(PyObject *value, const char **signature, int64_t **slot)
{
    const char *kind = *signature;
    switch (*kind) {
    case 'f': {
        if (!PyFloat_Check(value)) /* numpy.float64 is a float, too */
            return 0;
        double number = PyFloat_AsDouble(value);
        memcpy((*slot)++, &number, 8);
        *signature += 1;
        return 1;
    }
    case 'i': {
        if (PyBool_Check(value) || !PyIndex_Check(value) || PyArray_Check(value))
            return 0;
        Py_ssize_t number = PyNumber_AsSsize_t(value, PyExc_OverflowError);
        if (number == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        *(*slot)++ = number;
        *signature += 1;
        return 1;
    }
    case 'b':
        if (value != Py_True && value != Py_False)
            return 0;
        *(*slot)++ = value == Py_True;
        *signature += 1;
        return 1;
    case 'n':
        *(*slot)++ = 0;
        *signature += 1;
        return value == Py_None;
    case '(': {
        if (!PyTuple_Check(value))
            return 0;
        Py_ssize_t size = PyTuple_Size(value), k = 0;
        *signature += 1;
        while (**signature != ')') {
            if (k >= size || !flatten(PyTuple_GetItem(value, k++), signature, slot))
                return 0;
        }
        *signature += 1;
        return k == size;
    }
    case 'A': {
        if (!PyArray_CheckExact(value))
            return 0;
        PyArrayObject *array = (PyArrayObject *)value;
        int dimensions = kind[1] - '0', type = PyArray_TYPE(array);
        int wanted = kind[3] == 'd' ? NPY_DOUBLE : kind[3] == 'l' ? NPY_INT64 : NPY_BOOL;
        if (PyArray_NDIM(array) != dimensions || type != wanted || !PyArray_ISBEHAVED_RO(array))
            return 0;
        if (kind[2] == 'C' && !PyArray_IS_C_CONTIGUOUS(array))
            return 0;
        if (kind[4] == 'w' && !PyArray_ISWRITEABLE(array))
            return 0;
        *(*slot)++ = (int64_t)(intptr_t)PyArray_DATA(array);
        for (int k = 0; k < dimensions; k++)
            *(*slot)++ = PyArray_DIM(array, k);
        for (int k = 0; k < dimensions; k++)
            *(*slot)++ = PyArray_STRIDE(array, k);
        *signature += 5;
        return 1;
    }
    }
    return 0;
}

/* Make a Python object of the slots of a result. */
static PyObject *unflatten(const char **signature, const int64_t **slot)
{
    if (**signature == '(') {
        PyObject *items[MOST_RESULTS];
        int size = 0;
        *signature += 1;
        while (**signature != ')')
            items[size++] = unflatten(signature, slot);
        *signature += 1;
        PyObject *tuple = PyTuple_New(size);
        for (int k = 0; k < size; k++) {
            if (tuple == NULL || items[k] == NULL) {
                for (int j = k; j < size; j++)
                    Py_XDECREF(items[j]);
                Py_XDECREF(tuple);
                return NULL;
            }
            PyTuple_SetItem(tuple, k, items[k]);
        }
        return tuple;
    }
    char kind = *(*signature)++;
    int64_t raw = *(*slot)++;
    if (kind == 'f') {
        double number;
        memcpy(&number, &raw, 8);
        return PyFloat_FromDouble(number);
    }
    if (kind == 'b')
        return PyBool_FromLong(raw & 1);
    if (kind == 'n') {
        Py_INCREF(Py_None);
        return Py_None;
    }
    return PyLong_FromLongLong(raw);
}

/* `self` is a capsule with the function; its context is the fallback. */
static PyObject *call(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    const Function *function = PyCapsule_GetPointer(self, NULL);
    int64_t frame[MOST_SLOTS], result[MOST_RESULTS], *slot = frame;
    const char *signature = function->takes;
    Py_ssize_t k = 0;
    while (k < count && *signature && flatten(arguments[k], &signature, &slot))
        k++;
    if (k < count || *signature) {
        PyObject *tuple = PyTuple_New(count);
        if (tuple == NULL)
            return NULL;
        for (Py_ssize_t j = 0; j < count; j++) {
            Py_INCREF(arguments[j]);
            PyTuple_SetItem(tuple, j, arguments[j]);
        }
        PyObject *answer = PyObject_CallObject(PyCapsule_GetContext(self), tuple);
        Py_DECREF(tuple);
        return answer;
    }
    int32_t status;
    if (function->releases_gil) {
        PyThreadState *thread = PyEval_SaveThread();
        status = function->entry(frame, result);
        PyEval_RestoreThread(thread);
    } else {
        status = function->entry(frame, result);
    }
    if (status != 0 && status != -2) /* Numba's codes for success and for None */
        return PyErr_Format(PyExc_SystemError, "%s failed with status %d", function->name, status);
    const char *gives = function->gives;
    const int64_t *given = result;
    return unflatten(&gives, &given);
}

static PyMethodDef CALL = {
    "compiled", (PyCFunction)(void *)call, METH_FASTCALL,
    "A function that was compiled when the package was built."};

static void forget(PyObject *capsule)
{
    Py_XDECREF(PyCapsule_GetContext(capsule));
}

static PyObject *make(PyObject *self, PyObject *arguments)
{
    unsigned long long address;
    PyObject *fallback;
    if (!PyArg_ParseTuple(arguments, "KO", &address, &fallback))
        return NULL;
    PyObject *capsule = PyCapsule_New((void *)(uintptr_t)address, NULL, forget);
    if (capsule == NULL)
        return NULL;
    Py_INCREF(fallback);
    PyCapsule_SetContext(capsule, fallback);
    PyObject *function = PyCFunction_NewEx(&CALL, capsule, NULL);
    Py_DECREF(capsule);
    return function;
}

static PyObject *find(PyObject *self, PyObject *arguments)
{
    const char *name;
    int level;
    if (!PyArg_ParseTuple(arguments, "si", &name, &level))
        return NULL;
    PyObject *list = PyList_New(0);
    const Table *table = NULL;
    for (const Table *each = TABLES; each->level; each++)
        if (each->level <= level)
            table = each;
    if (list == NULL || table == NULL)
        return list;
    int low = 0, high = table->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (strcmp(table->functions[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < table->count && !strcmp(table->functions[low].name, name); low++) {
        PyObject *address = PyLong_FromVoidPtr((void *)&table->functions[low]);
        if (address == NULL || PyList_Append(list, address) < 0) {
            Py_XDECREF(address);
            Py_DECREF(list);
            return NULL;
        }
        Py_DECREF(address);
    }
    return list;
}

static PyObject *level(PyObject *self, PyObject *nothing)
{
    int best = 0;
    for (const Table *each = TABLES; each->level; each++) {
        int runs = 1;
#if defined(__x86_64__)
        __builtin_cpu_init();
        runs = each->level == 3   ? __builtin_cpu_supports("x86-64-v3") != 0
               : each->level == 2 ? __builtin_cpu_supports("x86-64-v2") != 0
                                  : 1;
#endif
        if (runs)
            best = each->level;
    }
    return PyLong_FromLong(best);
}

static PyObject *names(PyObject *self, PyObject *nothing)
{
    PyObject *list = PyList_New(0);
    for (const Table *each = TABLES; list && each->level; each++)
        for (int k = 0; k < each->count; k++) {
            const Function *one = &each->functions[k];
            PyObject *row = Py_BuildValue("isss", each->level, one->name, one->takes, one->gives);
            if (row == NULL || PyList_Append(list, row) < 0) {
                Py_XDECREF(row);
                Py_CLEAR(list);
                break;
            }
            Py_DECREF(row);
        }
    return list;
}

/* Numba's `reshape` calls this. Compiled code only reshapes arrays that are stored by rows without
   gaps, so the new strides follow from the new shape; other arrays are refused (0). */
int numba_attempt_nocopy_reshape(intptr_t dimensions, const intptr_t *shape,
                                 const intptr_t *strides, intptr_t new_dimensions,
                                 const intptr_t *new_shape, intptr_t *new_strides,
                                 intptr_t item, int by_columns)
{
    intptr_t bytes = item, new_bytes = item;
    for (intptr_t k = dimensions - 1; k >= 0; k--) {
        if (shape[k] > 1 && strides[k] != bytes)
            return 0;
        bytes *= shape[k];
    }
    for (intptr_t k = new_dimensions - 1; k >= 0; k--) {
        new_strides[k] = new_bytes;
        new_bytes *= new_shape[k];
    }
    return bytes == new_bytes && !by_columns;
}

/* Memory for copies of states (onlinear._engine.number_range). */
void *onlinear_malloc(size_t bytes) { return malloc(bytes); }
void onlinear_free(void *memory) { free(memory); }

/* Matrix products: routines of SciPy's BLAS, whose addresses are known at run time only. */
typedef void *P;
static void *blas[3];
void onlinear_blas_dgemm(P a, P b, P c, P d, P e, P f, P g, P h, P i, P j, P k, P l, P m)
{
    ((void (*)(P, P, P, P, P, P, P, P, P, P, P, P, P))blas[0])(a, b, c, d, e, f, g, h, i, j, k, l, m);
}
void onlinear_blas_dsymm(P a, P b, P c, P d, P e, P f, P g, P h, P i, P j, P k, P l)
{
    ((void (*)(P, P, P, P, P, P, P, P, P, P, P, P))blas[1])(a, b, c, d, e, f, g, h, i, j, k, l);
}
void onlinear_blas_dsyrk(P a, P b, P c, P d, P e, P f, P g, P h, P i, P j)
{
    ((void (*)(P, P, P, P, P, P, P, P, P, P))blas[2])(a, b, c, d, e, f, g, h, i, j);
}

static PyObject *set_blas(PyObject *self, PyObject *arguments)
{
    unsigned long long addresses[3];
    if (!PyArg_ParseTuple(arguments, "KKK", addresses, addresses + 1, addresses + 2))
        return NULL;
    for (int k = 0; k < 3; k++)
        blas[k] = (void *)(uintptr_t)addresses[k];
    Py_RETURN_NONE;
}

static PyMethodDef METHODS[] = {
    {"find", find, METH_VARARGS, "find(name, level): addresses of functions of this name."},
    {"make", make, METH_VARARGS, "make(address, fallback): a function that Python can call."},
    {"level", level, METH_NOARGS, "The highest level of code that this processor runs, or 0."},
    {"names", names, METH_NOARGS, "All functions: level, name, types of arguments and result."},
    {"set_blas", set_blas, METH_VARARGS, "set_blas(dgemm, dsymm, dsyrk): their addresses."},
    {NULL, NULL, 0, NULL}};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_native", NULL, -1, METHODS};

PyMODINIT_FUNC PyInit__native(void)
{
    import_array();
    return PyModule_Create(&MODULE);
}
