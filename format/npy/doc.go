// Package npy reads and writes NumPy's files: .npy, which holds one array, and .npz, a
// ZIP archive of arrays. The formats are named "npy" and "npz". Arrays of a .npy file
// and uncompressed arrays of an archive are views of the mapped file.
//
// # An array
//
//	offset size field
//	 0      6   magic          "\x93NUMPY" (93 4e 55 4d 50 59)
//	 6      2   version        1.0, 2.0 or 3.0: major, minor
//	 8      2   header length  uint16 in version 1.0, uint32 (4 bytes) in the others
//	10      -   the header, a text, from 12 on in versions 2.0 and 3.0; then the data, to the end
//
// The header is a literal of Python with three keys, padded with blanks:
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//
// The reader parses this literal and evaluates nothing. It must be a dict with exactly
// these three keys, in any order. Strings have either kind of quotes and no escapes;
// integers are decimal, optionally followed by the L of Python 2 in versions 1.0 and 2.0; a
// tuple of one has a comma. Blanks and line ends may separate tokens, and only they may
// follow the dict.
//
// descr is a byte order and a type: b1 bool, i1 i2 i4 i8, u1 u2 u4 u8, f2 f4 f8, c8 complex64, c16
// complex128; or NumPy's long name, "float32". The order is "<", ">" for big-endian words; "=", "|"
// or nothing mean little-endian. Tensors of complex128, which has no dtype in this library, have an
// Encoding of that name and their raw bytes. So have the types that NumPy knows only the size of,
// V1, V2 and so on, and f1; ml_dtypes writes bfloat16 as "<V2" and float8 types as "|V1" or "<f1".
// Structured types, strings, dates and all others are ErrUnsupported in a .npy file. In an archive
// such arrays are listed, so that the others can be read: the name of their Encoding is the descr,
// such as "<U5", followed by ", fortran_order" if the first dim varies fastest, and their bytes are
// those in the file, even pickles. A copy to an archive preserves them unless the name has more
// than 1 KiB or is not ASCII.
//
// # An array of objects
//
// The data of an array of objects, "|O", is a pickle, which numpy.load reads only with
// allow_pickle=True. In a .npy file it is read as package torch reads pickles: nothing in it is
// called, and names of classes are in a note. The arrays in it are the tensors, such as those of a
// dict, which numpy.save writes as an array of one object. Strings, numbers and booleans are
// metadata. Another note has the line of Python that stores the arrays without a pickle.
//
// # Errors of an array
//
// A reader rejects:
//
//   - a wrong magic (ErrMagic) or version (ErrVersion)
//   - a header that differs from the above, a dim that is negative or at least 2^63, and a shape
//     whose size in bytes is at least 2^63, even if another dim is 0 (ErrCorrupt)
//   - more than 64 dims, which is the limit of NumPy 2, and a header of more than 1 MiB (ErrLimit)
//   - fewer bytes of data than the shape needs (ErrTruncated), or more (ErrCorrupt)
//
// Tensors are row-major and little-endian. Arrays with big-endian words or in Fortran
// order are copied on first use, and the copy is cached until Close. If at most one dim is
// not 1, the order makes no difference, and the data is viewed.
//
// The tensor of a .npy file is named after the file, without a final ".npy" in upper or lower case,
// also behind a URL. It is named "array" if it is read from bytes or another reader.
//
// # An archive
//
//	entries     each a local header and an array, stored or deflated
//	directory   a record for each entry, with its place, sizes and CRC-32
//	(zip64)     a record and its locator, when numbers do not fit
//	end         22 bytes and a comment
//
// Entry "X.npy" is tensor X. Directories in the archive are part of the name. Names are never used
// as paths, as nothing is unpacked. Names must be UTF-8, legal and unique. Other entries are
// ignored, with a note. An archive with only such entries, such as PyTorch's, is not a .npz file
// (ErrUnknownFormat and ErrMagic). An archive without entries is a model without tensors. Gaps
// between entries are ignored, as in every reader of archives, but the first entry must begin the
// file.
//
// Redundant values must agree, otherwise the file is ErrCorrupt: the end of the directory and
// its number of entries with the end records; sizes, flags, methods and names in the
// directory with those in local headers; zip64 fields with the fields they extend; data
// descriptors with the directory, for entries whose local header has zeros (flag 3);
// compressed with uncompressed sizes of stored entries; the size of an entry with that of
// the array's header and data. Entries must not overlap, and the size of a deflated entry
// must be at most 1032 times its compressed size, which is DEFLATE's limit. Encrypted and
// patched entries, methods other than stored (0) and deflated (8), and archives of
// several disks are ErrUnsupported. The directory has at most
// 1 GiB and 4,194,304 entries.
//
// Deflated arrays are inflated once, on first use, and cached until Close. If the size is out of
// proportion, the stream is read once to check it before memory is allocated. A stream of a
// different size, or with bytes after its end, is ErrCorrupt.
//
// The CRC-32 of an entry covers header and data. It is verified by Verify, together with the copy
// in the local header, and whenever an array is inflated or copied (except with
// CheckStructure). With CheckTouch it is verified before views are returned.
// A .npy file has no checksum: Verify reads the header again, and all data.
//
// # Writing
//
// [Format] writes one tensor exactly as np.save of NumPy 1.24 does: version 1.0, with the
// data at a multiple of 64 and room in the header for the first dim to grow. So
// np.load(path, mmap_mode="r") can map it. The schema must have one tensor, whose name must be
// that of the file unless the loss of the name is accepted. In a stream the tensor may
// have any name.
//
// [Archive] writes any number of tensors. Entries are stored uncompressed, in the
// order of the schema, with each array at a multiple of 64 so that it can be viewed. The
// padding is an extra field of the local header (0xd935: the alignment as uint16, and
// zeros). All entries have the date 1980-01-01, as in NumPy. Names that are not ASCII are
// marked as UTF-8. Sizes and offsets of 2^32-1 and more are in zip64 fields.
//
// The formats have no metadata, graph, quantization, bfloat16 or float8. For a schema with any of
// these the writer returns an error that lists all of them, unless
// format.WriteOptions.AcceptLoss names them. Dtypes cannot be accepted as losses.
package npy
