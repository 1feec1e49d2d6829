// Package tsr reads and writes TSR files, the tensor files of the Technical
// Renaissance framework. A file holds one tensor: a fixed header and the plain
// data. A directory of .tsr files, the framework's form of a checkpoint, opens
// as one model and is written as one.
//
// # Layout
//
// Everything is little-endian; signed integers are two's complement.
//
//	offset size field
//	 0      4   magic           "TSR!" (54 53 52 21)
//	 4      4   version         int32, 1
//	 8      4   header_size     int32, 64
//	12      4   reserved_1      int32, 0
//	16      4   dtype           int32: 1 FP32, 2 INT8, 3 INT32
//	20      4   ndim            int32, 0 to 4
//	24     16   dims[0], dims[1], dims[2], dims[3]  int32 each: N, C, H, W
//	40      8   total_elements  int64, the product of dims
//	48      8   reserved_2      int64, 0
//	56      8   reserved_3      int64, 0
//	64      -   the data, total_elements x 1 (INT8) or 4 (FP32, INT32) bytes, row-major
//
// The file ends where the data ends. The data begins at 64, so every view of a
// mapped file is aligned for its dtype.
//
// dims are right-aligned: shape [3, 4] is stored as {1, 1, 3, 4}, a vector of 5
// as {1, 1, 1, 5}, and a scalar (ndim 0, one element) as {1, 1, 1, 1}.
//
// # Validation
//
// Readers apply the six validations of the specification. Each error names the
// field and its offset:
//
//   - a wrong magic number (ErrMagic)
//   - a version other than 1 (ErrVersion)
//   - a file shorter (ErrTruncated) or longer (ErrCorrupt) than header and data
//   - ndim outside 0 to 4 (ErrCorrupt)
//   - an unknown dtype (ErrUnsupported)
//   - total_elements that differs from the product of dims (ErrCorrupt)
//
// They also refuse, with ErrCorrupt, a header_size other than 64, a reserved
// field other than 0, an unused leading dim other than 1, a negative dim, and a
// shape whose size in bytes overflows 63 bits, even if another dim is 0. A dim
// of 0 is legal: the tensor has no data.
//
// # Choices
//
// INT32: the specification lists FP32 and INT8 and reserves 3 for a future
// FP16. Its reference implementation writes INT32 as 3, with four bytes an
// element, so 3 is INT32 here. The file size confirms it.
//
// Name: a TSR file does not name its tensor. The tensor is named after the last
// element of the path passed to Open, without a final ".tsr"; symbolic links
// are not followed for this. Only these four lower-case bytes are removed, so
// names and file names map one to one: "W.TSR" holds a tensor named "W.TSR".
// The rest must be a legal name: not empty, valid UTF-8. A tensor opened in a
// section of a file ([format.OpenFile]), or behind a URL, is named after that file; one
// opened from bytes or another reader is named "tensor".
//
// Directory: the members are the regular files, and symbolic links to regular
// files, directly in the directory whose names end in ".tsr", sorted by name
// byte by byte. Other entries are ignored, and Notes lists them. A directory
// without members is refused. So is one with a link ending in ".tsr" that is
// dangling or leads out of the directory. Opening reads and checks the header of every member;
// if one is bad, it fails with an error that carries the member's path. A
// member is mapped when its tensor is first used, or by Prefetch. If its
// device, inode, size or time of last change then differ from those seen at
// open, using the tensor fails: it never returns other data. The first 64
// members stay open until then, so that replacing them has no effect. Each mapped
// member takes one mapping of the process (Linux allows 65,530 by default) and
// no file descriptor.
//
// Checksums: the format has none. Verify checks the structure again and reads
// every byte. It finds truncated files, but cannot detect changed values.
//
// Metadata: the format has no metadata, graph or quantization parameters. A schema
// with any of them is refused with an error that lists them all. Those that
// format.WriteOptions.AcceptLoss names are left out instead.
//
// # Writing directories
//
// [format.Create] makes a directory if the path ends in a separator or is a directory
// already, or if the schema has several tensors; otherwise it makes one file.
// In a directory a tensor goes to "<name>.tsr", so its
// name must be portable as a file name: no slash, backslash or control
// character, not "." or "..", at most 251 bytes, and unique when letter case is
// ignored. Other names are refused, unless AcceptLoss has "name": then
// characters that cannot be used become "_", and suffixes such as "_2" keep
// names unique.
//
// The files are assembled in a hidden directory next to the final one,
// ".<name>.<12 hexadecimal digits>.tmp", which is renamed when the writer is
// closed. At any moment the path has the whole directory or none. An empty
// directory at the path is replaced, and the new one gets its owner and
// permissions. Anything else at the path is refused: write each checkpoint to a
// new directory.
//
// The next writer of the same directory removes the temporary directories of
// killed writers once they are a day old.
package tsr
