// Package mag reads and writes .mag files, the model files of the magnetron
// framework, in both containers that go by this name: version 1, two dictionaries
// of tensors and of numbers with the data behind them, and the snapshot container
// 0.1.0 that newer magnetrons write.
//
// Everything is little-endian and packed, whatever the host. Integers are unsigned
// where nothing else is said. Tensor data is row-major.
//
// # Version 1
//
// A header, the metadata records, the tensor records, and the data:
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
//	 0      4   aux           byte 0: dtype, byte 1: rank, 1 to 255; bytes 2 and 3: 0
//	 4      8   numel         the product of the dims, below 2^63
//	12      8   offset        of the data, from the start of the file
//	20   8*rank shape         outermost dim first, none of them 0
//	 -      4   key_length    1 to 65535
//	 -      -   key           UTF-8 without NUL
//
// The keys of tensors are unique, and those of metadata; a tensor and a metadata
// entry may have the same. The dtype codes are
//
//	 0 float32   1 float16   2 bool (a byte)   3 int32
//	16 bfloat16 17 uint8    18 int8   19 uint16   20 int16
//	21 uint32   22 int64    23 uint64 24 float64
//
// The reference implementation (magnetron 0.1.2) knows the first line. The others
// are this library's: readers here always take them, the writer uses them only if
// WriteOptions.Extended allows it.
//
// Data. The writer puts the first tensor at the next multiple of 64 after the
// records and every further one at the next multiple of 64 after the one before,
// fills the gaps with FF, and the last tensor up to a multiple of 64, as the
// reference does. A reader takes numel times the element size at offset and asks
// only that this is within the file and behind the records. Tensors may share data
// or overlap; gaps, and bytes after the last tensor (the reference leaves some
// zeros), mean nothing. Nobody checks the bytes of bool tensors. Data that is not
// aligned for its dtype is handed out by copy; Notes tells.
//
// Checksum. The reference computes CRC-32C (Castagnoli) over the bytes from 12,
// num_tensors, to the end of the tensor records. The wording of the specification,
// "a CRC32 checksum of the file header, metadata records, and tensor records",
// reads as CRC-32 (IEEE) of all of it with the checksum field zeroed. Readers
// accept both polynomials over both ranges, and Notes tells which when it is not
// the reference's. The writer emits the reference's form, or that of the wording if
// WriteOptions.Checksum says CRC32. 0 is a checksum like any other.
//
// Digests. The specification promises checksums of tensor data, but the layout has
// no field for them. So the writer adds a metadata entry of type int64 for each
// tensor: its key is "xxh64/" and the tensor's key, its bits are the XXH64 (seed 0)
// of the data. File.Digest returns it, File.Verify checks it, and File.Metadata
// leaves it out. Entries of that prefix that name no tensor of the file, or hold a
// float64, are ordinary metadata. A tensor whose key is too long for the prefix
// (over 65,529 bytes) gets no entry. A caller's own int64 entry that would read as
// a digest is refused, and so is a float64 one whose key the writer needs. The
// caller's entries come first in the file, in the plan's order, then the digests in
// the order of the tensors.
//
// The format cannot express tensors of rank 0 or without elements; the writer
// refuses them, and string or bool metadata, graphs and quantization parameters,
// with the list of all it cannot hold: format.WriteOptions.AcceptLoss may
// let metadata, graph and quantization go. A json.Number is written as the int64
// or float64 that it stands for, if its text says no more than that.
//
// # Snapshot 0.1.0
//
// A header, then four sections that each begin with a mark:
//
//	offset size field
//	 0      4   magic             "MAG!"
//	 4      4   version           100: major*10000 + minor*100 + patch
//	 8      8   timestamp         Unix seconds
//	16      4   checksum          CRC-32C of the bytes from 20 up to "BUF!"
//	20      4   aux               ignored
//	24      4   metadata_map_len  0
//	28      4   tensor_count
//	32      4   "SRP!"            the string pool
//	36      4   count             at most 65534
//	40      -   offsets           count+1 of 32 bits: 0, then where each string ends
//	 -      -   strings           one after the other, at most 128 MiB
//	 -      4   "MDT!"            metadata: always empty
//	 -      4   "DSC!"            tensor_count descriptors
//	 -      4   "BUF!"            the data, to the end of the file
//
// A descriptor:
//
//	 0      1   rank              0 to 16; 0 means one element
//	 1      1   dtype
//	 2      2   aux0, aux1        ignored
//	 4      4   key_id            position of the name in the pool, used once
//	 8      8   numel             the product of the dims, 1 to 2^63-1
//	16      8   offset            from the first byte after "BUF!"
//	24   8*rank dims              outermost first, none of them 0
//
// The dtype codes are 0 float32, 1 float16, 2 bfloat16, 3 bool, 4 uint8, 5 int8, 6
// uint16, 7 int16, 8 uint32, 9 int32, 10 uint64, 11 int64.
//
// Every string of the pool, used or not, is a legal key: not empty, valid UTF-8,
// without NUL, and unlike all others. Unlike in version 1 a key may have more than
// 65,535 bytes. Data is back to back in the order of the descriptors, without any
// padding, and fills the file to its end. The checksum is checked on open.
//
// Alignment. Since nothing may be padded, the writer sorts the tensors by the size
// of their elements (8, 4, 2, 1, otherwise in the order of the plan) and adds to
// the pool one string that nothing refers to, of hyphens, 1 to 64 bytes long, so
// that the data begins at a multiple of 64. Every tensor is then aligned for its
// dtype. Should a tensor be called like that string, it is longer by 64, and so on;
// it is missing when the data begins at a multiple of 64 anyway, when there are no
// tensors, and when the pool is full.
//
// The container has neither metadata, nor digests, nor float64, nor shared data.
// The writer refuses what it cannot express. The timestamp is WriteOptions.Time, and 0 without one.
//
// # Which is which
//
// Both begin with "MAG!". Version 1 is the layout above; version 100 with "SRP!" at
// byte 32 is a snapshot. Version 100 without it is what development builds wrote
// late in 2025, in the layout of version 1 but with dtype codes that changed
// meanwhile: refused (ErrVersion), like every other version.
//
// # Limits
//
// There are at most 4,194,304 tensors, and 1 GiB before the data. Neither container stores the size of that part, so
// 16 KiB are read at first, or what so many records usually take, and more if need be.
package mag
