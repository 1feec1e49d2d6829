package pickle

import (
	"fmt"
	"strings"
)

// role is what a global means to a Walk.
type role uint8

const (
	foreign       role = iota // an unknown class: its objects are inert, and a note names it
	plain                     // a known class whose objects are inert
	orderedDict               // a dict, perhaps of pairs
	mapping                   // of a dict, perhaps after other arguments
	sequence                  // of one sequence
	pathRole                  // of parts of a path
	deviceRole                // of a kind and an index
	encode                    // of the bytes of a text
	tensorV1                  // of a storage, offset, shape, strides
	tensorV2                  // and more
	tensorV3                  // with a dtype
	wrapper                   // its first argument, with its state
	fromType                  // of a function and its arguments
	absent                    // a tensor that is not shown
	reconstruct               // an array whose state has its data
	fromBuffer                // an array
	scalarRole                // a NumPy scalar
	dtypeRole                 // a NumPy dtype
	loadFromBytes             // a storage that torch.save wrote into bytes
	reconstructor             // of a class, a base class and the state of that
	newObject                 // of a class and its arguments
	dtypeName                 // a dtype of torch
	storageClass
)

// roles maps known globals to their roles. Modules have the names that renamed gives.
var roles = map[string]role{
	"collections.OrderedDict": orderedDict, "collections.Counter": mapping, "collections.defaultdict": mapping, "builtins.dict": mapping,
	"builtins.set": sequence, "builtins.frozenset": sequence, "builtins.list": sequence, "builtins.tuple": sequence, "collections.deque": sequence, "torch.Size": sequence,
	"builtins.bytearray": encode, "builtins.bytes": encode, "_codecs.encode": encode,
	"builtins.int": plain, "builtins.float": plain, "builtins.complex": plain, "builtins.bool": plain, "builtins.str": plain, "builtins.unicode": plain, "builtins.long": plain,
	"builtins.object": plain, "builtins.slice": plain, "builtins.range": plain, "builtins.xrange": plain,
	"argparse.Namespace": plain, "types.SimpleNamespace": plain,
	"datetime.date": plain, "datetime.datetime": plain, "datetime.time": plain, "datetime.timedelta": plain, "datetime.timezone": plain,
	"pathlib.Path": pathRole, "pathlib.PosixPath": pathRole, "pathlib.WindowsPath": pathRole, "pathlib.PurePath": pathRole, "pathlib.PurePosixPath": pathRole, "pathlib.PureWindowsPath": pathRole,
	"pathlib._local.PosixPath": pathRole, "pathlib._local.WindowsPath": pathRole, "pathlib._local.PurePosixPath": pathRole,
	"copyreg._reconstructor": reconstructor, "copyreg.__newobj__": newObject,

	"torch._utils._rebuild_tensor": tensorV1, "torch._utils._rebuild_tensor_v2": tensorV2, "torch._utils._rebuild_tensor_v3": tensorV3,
	"torch._utils._rebuild_parameter": wrapper, "torch._utils._rebuild_parameter_with_state": wrapper,
	"torch.nn.parameter.Parameter": wrapper, "torch.nn.parameter.Buffer": wrapper, "torch.autograd.variable.Variable": wrapper,
	"torch.jit._pickle.restore_type_tag":                  wrapper,
	"torch._utils._rebuild_device_tensor_from_numpy":      wrapper,
	"torch._utils._rebuild_device_tensor_from_cpu_tensor": wrapper,
	"torch._utils._rebuild_xla_tensor":                    wrapper,
	"torch.jit._pickle.build_intlist":                     sequence,
	"torch.jit._pickle.build_doublelist":                  sequence,
	"torch.jit._pickle.build_boollist":                    sequence,
	"torch.jit._pickle.build_tensorlist":                  sequence,
	"torch._tensor._rebuild_from_type":                    fromType,
	"torch._tensor._rebuild_from_type_v2":                 fromType,
	"torch._utils._rebuild_qtensor":                       absent,
	"torch._utils._rebuild_sparse_tensor":                 absent,
	"torch._utils._rebuild_sparse_csr_tensor":             absent,
	"torch._utils._rebuild_nested_tensor":                 absent,
	"torch._utils._rebuild_meta_tensor_no_storage":        absent,
	"torch._utils._rebuild_wrapper_subclass":              absent,
	"torch.device":                                        deviceRole,
	"torch.storage._load_from_bytes":                      loadFromBytes,
	"torch.serialization._get_layout":                     plain,
	"torch.strided":                                       plain,
	"torch.sparse_coo":                                    plain,
	"torch.sparse_csr":                                    plain,
	"torch.sparse_csc":                                    plain,
	"torch.sparse_bsr":                                    plain,
	"torch.sparse_bsc":                                    plain,
	"torch.contiguous_format":                             plain,
	"torch.channels_last":                                 plain,
	"torch.preserve_format":                               plain,
	"torch.per_tensor_affine":                             plain,
	"torch.per_channel_affine":                            plain,
	"torch.per_tensor_symmetric":                          plain,
	"torch.per_channel_symmetric":                         plain,
	"torch.per_channel_affine_float_qparams":              plain,
	"torch.Tensor":                                        plain,
	"torch._C._NodeKind":                                  plain,
	"numpy.core.multiarray._reconstruct":                  reconstruct,
	"numpy.core.numeric._frombuffer":                      fromBuffer,
	"numpy.core.multiarray.scalar":                        scalarRole,
	"numpy.dtype":                                         dtypeRole,
	"numpy.ndarray":                                       plain,
	"numpy.matrix":                                        plain,
	"numpy.matrixlib.defmatrix.matrix":                    plain,
	"numpy.random._pickle.__randomstate_ctor":             plain,
	"numpy.random._pickle.__bit_generator_ctor":           plain,
	"numpy.random._pickle.__generator_ctor":               plain,
}

// absentKinds describes the tensors that are not shown.
var absentKinds = map[string]string{
	"_rebuild_qtensor": "quantized tensor", "_rebuild_sparse_tensor": "sparse tensor", "_rebuild_sparse_csr_tensor": "sparse tensor",
	"_rebuild_nested_tensor": "nested tensor", "_rebuild_meta_tensor_no_storage": "meta tensor, which has no data", "_rebuild_wrapper_subclass": "tensor of a subclass without a storage",
}

// renames maps modules of other versions to those of roles.
var renames = map[string]string{
	"__builtin__": "builtins", "copy_reg": "copyreg", "numpy._core.multiarray": "numpy.core.multiarray", "numpy._core.numeric": "numpy.core.numeric",
}

// numpyTypes are the scalar types of NumPy.
const numpyTypes = " bool bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 str_ bytes_ object_ longlong ulonglong intc uintc "

// globalOf returns the global that is named by its module, a newline and its name.
func globalOf(key string) Global {
	module, name, _ := strings.Cut(key, "\n")
	g := Global{Module: module, Name: name}
	known := module
	if to, ok := renames[module]; ok {
		known = to
	}
	g.role = roles[known+"."+name]
	if g.elem = StorageElem(module, name); g.elem != nil {
		g.role = storageClass
	}
	if e := dtypes[name]; e != nil && (module == "torch" || module == "ml_dtypes") {
		g.elem = e
		g.role = dtypeName
	}
	if known == "numpy" && strings.Contains(numpyTypes, " "+name+" ") || known == "numpy.dtypes" {
		g.role = plain
	}
	return g
}

// Elem returns the element type of a storage class, or nil for another global.
func (g *Global) Elem() *Elem {
	if g == nil || g.role != storageClass {
		return nil
	}
	return g.elem
}

// LoadsBytes reports whether g is the function that reads a storage which torch.save wrote into
// bytes.
func (g *Global) LoadsBytes() bool { return g != nil && g.role == loadFromBytes }

// mostNames limits the number of classes that a note names.
const mostNames = 1000

// Note names the unknown classes and functions that pickles name, or is "" if there are none. Names
// in the module of TorchScript's own classes are left out.
func (m *Machine) Note() string {
	var names []string
	more := 0
	for _, g := range m.globals {
		switch {
		case g.role != foreign || g.Module == "__torch__" || strings.HasPrefix(g.Module, "__torch__."):
		case len(names) == mostNames:
			more++
		default:
			names = append(names, strings.Trim(fmt.Sprintf("%.200q", g.Full()), `"`))
		}
	}
	n := len(names)
	switch {
	case n == 0:
		return ""
	case n == 1:
		return "this pickle names " + names[0] + ", which was not called"
	case more > 0:
		return fmt.Sprintf("this pickle names %s and %d more, which were not called", strings.Join(names, ", "), more)
	}
	return "this pickle names " + strings.Join(names[:n-1], ", ") + " and " + names[n-1] + ", which were not called"
}
