// Package npy reads and writes NumPy's files: .npy, one array, and .npz, a ZIP
// archive of arrays. They are two formats, "npy" and "npz", that share what is said
// here of arrays. A mapped array is a view; so is one that an archive stores
// as it is.
//
// # An array
//
//	offset size field
//	 0      6   magic          "\x93NUMPY" (93 4e 55 4d 50 59)
//	 6      2   version        1.0, 2.0 or 3.0: major, minor
//	 8      2   header length  uint16 in version 1.0, uint32 (4 bytes) in the others
//	10      -   header         text, from 12 on in versions 2.0 and 3.0
//	 -      -   data           to the end
//
// The header is a literal of Python with three keys, padded with blanks:
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//
// It is read as that and nothing is evaluated: one dict, the three keys in any order
// and each once, no other. Strings have either kind of quotes and no escapes;
// integers are decimal, with the L of Python 2 behind them in versions 1.0 and 2.0;
// a tuple of one has a comma. Blanks and line ends may stand between all of it,
// and nothing else behind it.
//
// descr is a byte order and a type: b1 bool, i1 i2 i4 i8, u1 u2 u4 u8, f2 f4 f8,
// c8 complex64, c16 complex128; or NumPy's long name, "float32". The order is "<",
// ">" for big-endian words, "=" or "|" or nothing, all little-endian. Tensors of
// complex128 are listed with that name as their Encoding and their raw bytes, since the
// library has no such dtype. Structured types, objects, strings, dates and all
// others are ErrUnsupported in a .npy file. In an archive they do not spoil the other arrays: they
// are listed with their descr as the name of their Encoding, "<U5", ", fortran_order" behind it if
// the first dim varies fastest, and their bytes as they are stored, pickles too. A copy to an
// archive keeps them unless the name has more than 1 KiB or is not ASCII.
//
// # What a reader refuses of an array
//
// Another magic (ErrMagic) or version (ErrVersion); anything in the header
// that is not as above (ErrCorrupt); a negative dim, one of 2^63 or more, and a shape
// whose size in bytes reaches 2^63, also when another dim is 0 (ErrCorrupt); more
// than 64 dims, which is what NumPy 2 has at most, and a header of more than
// 1 MiB (ErrLimit); fewer bytes of data than the shape takes
// (ErrTruncated), and more (ErrCorrupt).
//
// Tensors are row-major and little-endian. Big-endian words and Fortran
// order are copied at first use and kept until Close. Where the order makes no
// difference, because one dim at most is not 1, the data is viewed.
//
// The tensor of a .npy file is named after the file, without a final ".npy" in
// any case of letters; "array" when it comes from bytes or a reader.
//
// # An archive
//
//	entries     each a local header and an array, stored or deflated
//	directory   a record for each entry, with its place, sizes and CRC-32
//	(zip64)     a record and its locator, when numbers do not fit
//	end         22 bytes and a comment
//
// Entry "X.npy" is tensor X; directories of the archive are part of the name, and
// names are names, never paths: nothing is unpacked. Names like "../X" are
// noted. They are UTF-8, and must be legal and different. Entries of other
// names are ignored, and noted; an archive that has only such entries, as those of
// PyTorch have, is no .npz file (ErrUnknownFormat and ErrMagic). An archive
// without entries is a model without tensors. Gaps between entries are ignored, as
// every reader of archives does; nothing may stand before the first entry.
//
// Everything that says the same must be the same, or the file is ErrCorrupt: the
// directory ends where its end records begin and has as many entries as they say;
// sizes, flags, methods and names of directory and local headers; the values of zip64
// fields and of the fields they stand for; the data descriptors of entries whose
// local header has zeros (flag 3); sizes packed and unpacked of stored entries; the
// unpacked size and that of header and data of the array. No two entries share
// bytes, so that no archive claims more than it has, and no deflated entry claims
// more than 1032 times its bytes, which is what DEFLATE packs at most. Encrypted and
// patched entries, other methods than stored (0) and deflated (8), and archives of
// several disks are ErrUnsupported. The directory has at most
// 1 GiB and 4,194,304 entries.
//
// Deflated arrays are inflated at first use, once, and kept until Close. A size out of
// proportion must be proved by the stream before memory is taken for it. A stream that holds more or
// less, and bytes behind it, are ErrCorrupt.
//
// The CRC-32 of entries, header and data together, is compared on verification,
// with that of the local header too, and whenever an array is inflated or copied
// (not with CheckStructure). CheckTouch compares it before it returns views.
// A .npy file has no sums: Verify reads its header again, and all data.
//
// # Writing
//
// [Create] writes one tensor as np.save of NumPy 1.24 does, byte for byte: version
// 1.0, the data at a multiple of 64, room in the header for the first dim to grow.
// So np.load(path, mmap_mode="r") maps it. A plan of another number of tensors is
// refused, and so is another name than that of the file, unless it is accepted as
// lost. A stream has no name, and its tensor may have any.
//
// [CreateArchive] writes any number: entries in the order of the plan, stored, each
// array at a multiple of 64, so that it can be viewed. The padding is an extra field of
// the local header (0xd935: the alignment as uint16, and zeros). All entries have the
// date 1980-01-01, as NumPy's have. Names beyond ASCII are marked as UTF-8.
// Sizes and offsets of 2^32-1 and more are in zip64 fields.
//
// The formats have no metadata, no graph, no quantization, no bfloat16 and no float8:
// a plan with any of these is refused with the list of all of them, unless
// format.WriteOptions.AcceptLoss names them; dtypes cannot be let go.
package npy
