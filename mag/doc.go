// Package mag reads and writes .mag files, the model files of the magnetron
// framework. There are two containers: version 1, which has a dictionary of
// numbers and one of tensors, followed by the data; and the snapshot container
// 0.1.0 of newer versions of magnetron.
//
// All fields are little-endian and packed. Integers are unsigned unless noted
// otherwise. Tensor data is row-major.
//
// # Version 1
//
// A header, which is followed by the metadata records, the tensor records and the data:
//
//	offset size field
//	 0      4   magic         "MAG!" (4D 41 47 21)
//	 4      4   version       1
//	 8      4   checksum      see below
//	12      4   num_tensors
//	16      4   num_meta_kv
//	20      4   aux           0
//	24      -   num_meta_kv metadata records, then num_tensors tensor records
//
// A metadata record:
//
//	 0      4   aux           byte 0: type, 1 int64 or 2 float64; bytes 1 to 3: 0
//	 4      8   payload       the 64 bits of the value
//	12      4   key_length    1 to 65535
//	16      -   key           UTF-8 without NUL
//
// A tensor record:
//
//	 0      1   dtype
//	 1      1   rank          1 to 255
//	 2      2   aux           0
//	 4      8   numel         the product of the dims, below 2^63
//	12      8   offset        file offset of the data
//	20   8*rank shape         outermost dim first, none of them 0
//	 -      4   key_length    1 to 65535
//	 -      -   key           UTF-8 without NUL
//
// Keys are unique among tensors and among metadata entries, but a tensor and a
// metadata entry may share a key. The dtype codes are
//
//	 0 float32   1 float16   2 bool (a byte)   3 int32
//	16 bfloat16 17 uint8    18 int8   19 uint16   20 int16
//	21 uint32   22 int64    23 uint64 24 float64
//
// The reference implementation (magnetron 0.1.2) has the codes of the first line.
// The others are extensions of this library: it always reads them, and writes
// them only with format.WriteOptions.Extended.
//
// Data. The writer puts each tensor at the next multiple of 64 and, like the
// reference, fills the gaps, and the end of the file up to a multiple of 64, with
// FF. A reader requires only that the data, numel elements at offset, is
// within the file and behind the records. Tensors may share data or overlap. Gaps
// and bytes after the last tensor, where the reference leaves some zeros, are
// ignored. The bytes of bool tensors are not checked. Data that is not aligned for
// its dtype is returned as a copy, which Notes mentions.
//
// Checksum. The reference computes CRC-32C (Castagnoli) over the bytes from 12,
// num_tensors, to the end of the tensor records. The wording of the specification,
// "a CRC32 checksum of the file header, metadata records, and tensor records",
// suggests CRC-32 (IEEE) of all of it with the checksum field zeroed. Readers
// accept both polynomials over both ranges; Notes reports any form other than the
// reference's. The writer uses the reference's form, or the specification's if
// Format.Checksum is CRC32. A checksum of 0 has no special meaning.
//
// Digests. The specification promises checksums of tensor data, but the layout has
// no field for them. So the writer adds a metadata entry of type int64 for each
// tensor: its key is "xxh64/" followed by the tensor's key, and its bits are the
// XXH64 (seed 0) of the data. File.Digest returns it, File.Verify checks it, and
// File.Metadata omits it. Entries with that prefix that name no tensor of the file,
// or that hold a float64, are ordinary metadata. A tensor whose key is too long for
// the prefix (over 65,529 bytes) has no digest. The writer refuses an int64 entry
// of the caller that would be read as a digest, and a float64 entry with the key of
// a digest. The caller's entries come first in the file, in the order of the schema,
// then the digests in the order of the tensors.
//
// The format has no tensors of rank 0 or without elements; the writer refuses
// them. It also refuses string and bool metadata, graphs and quantization
// parameters, unless format.WriteOptions.AcceptLoss allows it to leave them out.
// The error lists everything the format cannot hold. A json.Number is
// written as an int64 or float64 if that has the same value.
//
// # Snapshot 0.1.0
//
// A header is followed by four sections, each with a marker:
//
//	offset size field
//	 0      4   magic             "MAG!"
//	 4      4   version           100: major*10000 + minor*100 + patch
//	 8      8   timestamp         Unix seconds
//	16      4   checksum          CRC-32C of the bytes from 20 up to "BUF!"
//	20      4   aux               ignored
//	24      4   metadata_map_len  0
//	28      4   tensor_count
//	32      4   string pool       "SRP!"
//
// The string pool behind its marker:
//
//	0      4   count             at most 65534
//	4      -   offsets           count+1 of 32 bits: 0, then the end of each string
//	-      -   strings           one after the other, at most 128 MiB
//
// The other sections:
//
//   - 4   "MDT!"            metadata: always empty
//   - 4   "DSC!"            tensor_count descriptors
//   - 4   "BUF!"            the data, to the end of the file
//
// A descriptor:
//
//	 0      1   rank              0 to 16; 0 means one element
//	 1      1   dtype
//	 2      1   aux0              ignored
//	 3      1   aux1              ignored
//	 4      4   key_id            index of the name in the pool, used once
//	 8      8   numel             the product of the dims, 1 to 2^63-1
//	16      8   offset            from the first byte after "BUF!"
//	24   8*rank shape             outermost first, none of them 0
//
// The dtype codes are 0 float32, 1 float16, 2 bfloat16, 3 bool, 4 uint8, 5 int8, 6
// uint16, 7 int16, 8 uint32, 9 int32, 10 uint64, 11 int64.
//
// Every string of the pool, used or not, must be a valid key: not empty, valid
// UTF-8, without NUL, and unique. A key may exceed the 65,535 bytes of
// version 1. The data of the tensors is contiguous, in the order of the descriptors,
// and ends where the file ends. The checksum is compared on open.
//
// Alignment. The layout has no padding, so the writer sorts the tensors by
// the size of their elements (8, 4, 2, 1, then in the order of the schema) and adds an
// unused string of 1 to 64 hyphens to the pool, so that the data begins at a
// multiple of 64. Every tensor is then aligned for its dtype. If a tensor has that
// string as its name, the string gets 64 more hyphens, and so on. It is omitted if
// the data begins at a multiple of 64 anyway, if there are no tensors, or if the
// pool is full.
//
// The container has no metadata, digests, float64 or shared data; the writer
// refuses a schema that needs them. The timestamp is format.WriteOptions.Time, or 0 if that
// is not set.
//
// # Versions
//
// Both containers begin with "MAG!". Version 1 is the layout above; version 100 with
// "SRP!" at byte 32 is a snapshot. Development builds of late 2025 wrote version 100
// without "SRP!", in the layout of version 1 but with dtype codes whose meaning
// has changed since. Such files are refused (ErrVersion), as are all other versions.
//
// # Limits
//
// A file has at most 4,194,304 tensors, and 1 GiB before the data. Neither container
// stores the size of that part. Readers fetch 16 KiB first, or as much as that
// number of records usually takes, and then more if needed.
package mag
