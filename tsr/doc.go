// Package tsr reads and writes TSR files, the tensor files of the Technical
// Renaissance framework: one tensor per file, a fixed header and the plain
// data. A directory of .tsr files, which is how the framework keeps
// checkpoints, opens and is written as one model.
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
//	24     16   dims            four int32: N, C, H, W
//	40      8   total_elements  int64, the product of dims
//	48      8   reserved_2      int64, 0
//	56      8   reserved_3      int64, 0
//	64      -   data            total_elements x 1 (INT8) or 4 (FP32, INT32) bytes, row-major
//
// The file ends where the data ends. Since the data begins at 64, every view of a
// mapped file is aligned for its dtype.
//
// dims are right-aligned: shape [3, 4] is stored as {1, 1, 3, 4}, a vector of 5
// as {1, 1, 1, 5}, and a scalar (ndim 0, one element) as {1, 1, 1, 1}.
//
// # What a reader refuses
//
// The six validations of the specification, each an error that names field and
// offset: another magic (ErrMagic); another version (ErrVersion); a file that
// is shorter (ErrTruncated) or longer (ErrCorrupt) than header and data; ndim
// outside 0..4 (ErrCorrupt); an unknown dtype (ErrUnsupported); total_elements
// that is not the product of the shape (ErrCorrupt). Beyond these: a
// header_size other than 64, a reserved field that is not 0, a leading dim that
// ndim does not use and that is not 1, a negative dim, and a shape whose size
// in bytes overflows 63 bits, also when another dim is 0 (all ErrCorrupt). Dims
// of 0 are legal: no data.
//
// # Choices
//
// INT32: the specification lists FP32 and INT8 and reserves 3 for a future
// FP16. Its reference implementation writes 3 for INT32, so 3 is INT32 here,
// with four bytes an element; the size of the file shows that this reading is
// right.
//
// Name: a TSR file does not name its tensor. The name is the last element of
// the path as it was opened (a symbolic link is not followed for this) without
// a final ".tsr". Only these four lower-case bytes are removed, so names and
// file names determine each other: "W.TSR" holds a tensor named "W.TSR". What
// is left must be a legal name: not empty, valid UTF-8. A tensor opened from
// bytes or a reader is named "tensor"; one in a window of another file
// ([OpenFile]) is named after that file.
//
// Directory: the members are the regular files (or symbolic links to regular
// files) directly in it whose names end in ".tsr", sorted by name byte by byte.
// Everything else in it is ignored, and listed by Notes. A directory without
// members is refused, and so is one with a link of that ending that leads
// nowhere or out of the directory. The header of every member is read and checked when
// the directory is opened; a bad one fails the open with an error that carries its path.
// A member is mapped when its tensor is first used, or by Prefetch, and must still be the
// file whose header was read: device, inode, size and the time of the last change are
// compared, and another is an error of that tensor, never other data. Each is then one
// mapping of the process (Linux allows 65,530 unless told otherwise) but holds no file
// descriptor.
//
// Checksums: the format has none. Verify checks the structure again and reads
// every byte, so that it finds files that were cut short since; it cannot tell
// wrong values from right ones.
//
// Metadata: the format has none, nor a graph or quantization parameters. A plan
// with any of them is refused, with the list of all of them, unless
// format.WriteOptions.AcceptLoss names them: then they are left out.
//
// # Writing directories
//
// [Create] writes one file, or a directory when the path ends in a separator,
// is a directory already, or the plan has several tensors (then whatever the
// path's ending); [CreateDir] always writes a directory. A tensor goes to
// "<name>.tsr", so its name must work as a file name anywhere: no slash or
// backslash, no control character, not "." or "..", at most 251 bytes,
// and no second name that differs only in letter case. Others are refused, unless AcceptLoss has
// "name": then what must not be there becomes "_", and "_2" and so on tell
// names apart.
//
// The files are assembled in a hidden directory next to the final one,
// ".<name>.<12 hexadecimal digits>.tmp", which gets its name when the writer is closed: at
// any moment the path is the whole directory or none. At the path there may be nothing or an
// empty directory, whose owner and permissions the new one gets. Anything else is refused:
// write each checkpoint to a new directory.
//
// What killed writers left is removed by the next writer of a directory next to it, at once where
// files can be locked (local disks of Linux and macOS), and elsewhere by that of the same directory once it is a day old.
package tsr
