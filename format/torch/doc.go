// Package torch reads files written by torch.save: .pt, .pth, .bin and .ckpt, TorchScript archives,
// and pickles of NumPy arrays or tensors. It never runs code in a file. It cannot write the format.
//
//	m, err := torch.Open("checkpoint.pt", nil)
//	v, err := m.Tensor("state_dict.fc.weight")
//
// # Containers
//
// Since PyTorch 1.6 a file is a ZIP archive. Its entries begin at multiples of 64:
//
//	NAME/data.pkl      the pickle
//	NAME/byteorder     "little" or "big"; little if missing
//	NAME/version       "3"
//	NAME/data/KEY      the bytes of the storage KEY
//
// NAME is that of the first entry, or, if this one has no data.pkl, that of the only data.pkl.
// Entries with another NAME are not of the model; a note counts them. Each of the other entries
// above occurs once. Archives that were packed again, with entries for directories or with
// deflated entries, open as well.
//
// Stored entries are mapped and returned as views; deflated ones are inflated on each use. The
// CRC-32 of an entry is in its local header and in the central directory. Opening compares both
// with data.pkl, byteorder and version (except with CheckStructure), and Verify with each storage.
// A deflated data.pkl may inflate to 256 times its stored size, or 16 MiB if that is more.
//
// A TorchScript archive has NAME/code/ as well, which is not read, and NAME/constants.pkl with
// storages in NAME/constants/KEY. The attributes of its modules are the tensors; constants are
// constants.N.
//
// A directory into which an archive was unpacked opens as well: it has data.pkl, and version,
// byteorder or data beside it. The storage KEY is the file data/KEY, which is mapped; without it,
// or if it is too short, opening fails. Files have no checksums. Model.Version is "unpacked" if
// there is no version.
//
// Before PyTorch 1.6, a file was a sequence of pickles followed by the storages ("legacy"):
//
//	pickle    the number 0x1950a86a20f9469cfc6c
//	pickle    the protocol version, 1001
//	pickle    a dict that describes the system; ignored
//	pickle    the object
//	pickle    a list of the keys of the storages
//	per key   int64 count of elements, then the elements, all little-endian
//
// It has no checksums. Storages are not aligned, so most tensors are copied.
//
// Any other pickle opens if it has arrays or tensors. The storage of a tensor is then a legacy
// container in the pickle. A pickle of more than 1 GiB is refused.
//
// A model in several files opens by its index, pytorch_model.bin.index.json. As in safetensors, the
// weight_map of the index gives the file of each tensor, which must be in the directory of the
// index or below it. Without an index format.Open of the directory opens all files of a model if
// they are there by their names (pytorch_model-00001-of-00002.bin).
//
// # The pickle
//
// A pickle is a program for a stack machine. This package's machine supports protocols 0 to 5. It
// imports nothing, looks nothing up and calls no Python code. The functions and classes that
// torch.save writes have a meaning:
//
//	torch._utils._rebuild_tensor, _v2, _v3     torch.float32 and the other dtypes
//	torch._utils._rebuild_parameter, ..._with_state
//	torch._tensor._rebuild_from_type_v2        torch.Size, torch.device
//	torch.FloatStorage and the other storage classes, torch.storage.TypedStorage, UntypedStorage
//	numpy.dtype, numpy.core.multiarray._reconstruct and scalar, numpy.core.numeric._frombuffer
//	collections.OrderedDict, Counter, defaultdict, deque, set, frozenset, bytearray, pathlib's classes
//
// Whatever else a pickle names becomes an inert object, which has the arguments, state and entries
// that the pickle gives it. Such names are in a note, so that a scanner can act on them:
//
//	this pickle names os.system, which was not called
//
// The codes of Python's extension registry, and buffers outside the pickle, are errors.
//
// The values of a pickle count against format.Options.MaxMemory. If that is not set, they may take
// 16 MiB and 16 times the size of the pickle, which counts as at most 16 times its stored size.
// Values may refer to each other any number of times. If there are more than 65,536 paths and one
// for each byte of the pickle, each value is shown only where it was reached first, which a note
// says. A value that contains itself ends there, with a note. Values nest up to 1,000 deep.
//
// # Tensors
//
// The name of a tensor is the path to it, joined with dots: keys of dicts, attributes of objects,
// and positions from 0 in lists, tuples, sets, and among arguments. The parameters, buffers and
// submodules of a module are named as its state_dict names them. Keys that are no strings are named
// as Python prints them: 7, True, None, 2.5; others are ?N, where N is the position in the dict. If
// a name is taken, the next tensor gets #2 behind it, and a note says so. If the object is a single
// tensor, its name is the file's base name without the extension ("tensor" for a file in memory).
// Strings, numbers and booleans become metadata under their paths, integers up to 2^64-1. Notes
// count values that are not shown, among them quantized, sparse, nested and meta tensors.
//
// A tensor has a storage, and an offset, a shape and strides in elements. A contiguous tensor is a
// view of the file, and may overlap others. A tensor with other strides, 0 included, is copied on
// each use; the copy is limited to 16 times the storage or 1 GiB, whichever is larger. All elements
// must lie in the storage. Tensors of type complex32 and complex128 have bytes but cannot be
// decoded.
//
// A NumPy array is a view as well if its bytes are in the pickle as they are. Protocols up to 2 of
// Python 3 write them as text, which is decoded on each use. An array of objects is shown as its
// objects. An array of another type, such as strings, is listed by NumPy's name of the type, with
// its bytes.
package torch
