// Package torch reads the files that torch.save writes: .pt, .pth, .bin and .ckpt. It runs
// nothing of what is in them, and writes none.
//
//	m, err := torch.Open("checkpoint.pt", nil)
//	v, err := m.Tensor("state_dict.fc.weight")
//
// # Containers
//
// Since PyTorch 1.6 a file is a ZIP archive, whose entries begin at multiples of 64:
//
//	NAME/data.pkl      the pickle
//	NAME/byteorder     "little" or "big"; little when it is missing
//	NAME/version       "3"
//	NAME/data/KEY      the bytes of the storage KEY
//
// Stored entries are mapped and handed out as views; deflated ones are inflated on each use.
// Verify compares the CRC-32 of each storage with both that the archive records.
// Archives with NAME/code/ are TorchScript programs, and are refused by name.
//
// Before, a file was a sequence of pickles with the storages behind them ("legacy"):
//
//	pickle    the number 0x1950a86a20f9469cfc6c
//	pickle    the protocol version, 1001
//	pickle    a dict that describes the system; not looked at
//	pickle    the object
//	pickle    a list of the keys of the storages
//	per key   int64 count of elements, their bytes, all little-endian
//
// It has no checksums, and storages lie as they come: most tensors are misaligned, and copied.
//
// A model in several files opens by its index, pytorch_model.bin.index.json, as one of safetensors does: its
// weight_map says which file, next to the index or below, a tensor is in.
//
// # The pickle
//
// A pickle is a program for a stack machine. The one here knows protocols 2 to 5 and the
// opcodes that torch.save writes. It imports and calls nothing: a global is one of
//
//	collections.OrderedDict                  torch.Size, torch.device
//	torch._utils._rebuild_tensor_v2, _v3     torch.float32 and the other dtypes
//	torch._utils._rebuild_parameter, ..._with_state
//	torch.FloatStorage and the other storage classes, torch.storage.TypedStorage, UntypedStorage
//	numpy.dtype, numpy.core.multiarray.scalar and _codecs.encode, of which NumPy's scalars are made
//
// and any other ends reading with an error that names it and its offset. What a pickle takes in memory
// is counted and limited as that of a graph is (format.Options.MaxMemory). Values may refer to each other any number of times,
// so the paths to values are limited too, and one that contains itself is refused.
//
// # Tensors
//
// The name of a tensor is the path of keys to it, joined with dots; positions in lists and
// tuples count from 0. A file of one bare tensor names it like the file without its ending ("tensor" from memory). Two
// tensors of one name are refused. Strings, numbers and booleans become metadata under their
// paths; notes count what is left out.
//
// A tensor is a storage, an offset, a shape and strides, in elements. Those whose
// elements lie one after the other are views of the file, and may share its bytes; others are copied on use, a stride
// of 0 included, up to 16 times their storage or 1 GiB. The last element must lie in the storage.
// The types complex32, complex128, and torch's quantized integers are listed: their bytes are there, and are not read as numbers.
package torch
