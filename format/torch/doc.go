// Package torch reads files written by torch.save: .pt, .pth, .bin and .ckpt. It never runs
// code in a file. It cannot write the format.
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
// Stored entries are mapped and returned as views; deflated ones are inflated on each use.
// The CRC-32 of an entry is in its local header and in the central directory. Opening compares both
// with data.pkl, byteorder and version (except with CheckStructure), and Verify with each storage. A deflated
// data.pkl may inflate to 256 times its stored size, or 16 MiB if that is more.
// An archive with NAME/code/ is a TorchScript program, which is an error.
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
// A model in several files opens by its index, pytorch_model.bin.index.json. As in
// safetensors, the weight_map of the index gives the file of each tensor, which must be in
// the directory of the index or below it.
//
// # The pickle
//
// A pickle is a program for a stack machine. This package's machine supports protocols 2 to 5
// and the opcodes that torch.save writes. It imports nothing and calls no Python code. These
// globals are known:
//
//	collections.OrderedDict                  torch.Size, torch.device
//	torch._utils._rebuild_tensor_v2, _v3     torch.float32 and the other dtypes
//	torch._utils._rebuild_parameter, ..._with_state
//	torch.FloatStorage and the other storage classes, torch.storage.TypedStorage, UntypedStorage
//	numpy.dtype, numpy.core.multiarray.scalar and _codecs.encode, for NumPy's scalars
//
// Any other global is an error that names it and its offset. The values of a pickle count
// against format.Options.MaxMemory. If that is not set, they may take 16 MiB and 16 times the size of the pickle, which
// counts as at most 16 times its stored size. Since values may refer to each other any number of times,
// the number of paths to values is limited, too. A value that contains itself is an error.
//
// # Tensors
//
// The name of a tensor is the path of keys to it, joined with dots; list and tuple elements
// are numbered from 0. If the object is a single tensor, its name is the file's base name
// without the extension ("tensor" for a file in memory). Duplicate names are an error.
// Strings, numbers and booleans become metadata under their paths. Notes count ignored values.
//
// A tensor has a storage, and an offset, a shape and strides in elements. A contiguous tensor
// is a view of the file, and may overlap others. A tensor with other strides, 0 included, is
// copied on each use; the copy is limited to 16 times the storage or 1 GiB, whichever is
// larger. All elements must lie in the storage. Tensors of type complex32 and complex128 and
// of torch's quantized integers have bytes but cannot be decoded.
package torch
