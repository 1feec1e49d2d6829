package tsr

import (
	"math"

	"github.com/weightmap/weightmap/format"
)

// malformed lists files with one defect each, made from a valid FP32 file of
// shape [2, 3, 4].
var malformed = []struct {
	name   string
	mutate func(*fields)
	err    error
	field  string
	offset int64
}{
	{"magic", func(f *fields) { f.magic = "TSR?" }, format.ErrMagic, "magic", 0},
	{"magic in lower case", func(f *fields) { f.magic = "tsr!" }, format.ErrMagic, "magic", 0},
	{"version 0", func(f *fields) { f.version = 0 }, format.ErrVersion, "version", 4},
	{"version 2", func(f *fields) { f.version = 2 }, format.ErrVersion, "version", 4},
	{"version big-endian", func(f *fields) { f.version = 1 << 24 }, format.ErrVersion, "version", 4},
	{"header_size 0", func(f *fields) { f.headerSize = 0 }, format.ErrCorrupt, "header_size", 8},
	{"header_size 128", func(f *fields) { f.headerSize = 128; f.extra = 64 }, format.ErrCorrupt, "header_size", 8},
	{"reserved_1", func(f *fields) { f.reserved1 = 1 }, format.ErrCorrupt, "reserved_1", 12},
	{"reserved_1 negative", func(f *fields) { f.reserved1 = math.MinInt32 }, format.ErrCorrupt, "reserved_1", 12},
	{"dtype 0", func(f *fields) { f.dtype = 0 }, format.ErrUnsupported, "dtype", 16},
	{"dtype 4", func(f *fields) { f.dtype = 4 }, format.ErrUnsupported, "dtype", 16},
	{"dtype 6, the future INT32", func(f *fields) { f.dtype = 6 }, format.ErrUnsupported, "dtype", 16},
	{"dtype -1", func(f *fields) { f.dtype = -1 }, format.ErrUnsupported, "dtype", 16},
	{"dtype 3 with 2 bytes an element", func(f *fields) { f.dtype = 3; f.data = f.data[:48] }, format.ErrTruncated, "data", 112},
	{"ndim -1", func(f *fields) { f.ndim = -1 }, format.ErrCorrupt, "ndim", 20},
	{"ndim 5", func(f *fields) { f.ndim = 5 }, format.ErrCorrupt, "ndim", 20},
	{"ndim large", func(f *fields) { f.ndim = math.MaxInt32 }, format.ErrCorrupt, "ndim", 20},
	{"leading dim 2", func(f *fields) { f.dims[0] = 2; f.elements = 48 }, format.ErrCorrupt, "dims[0]", 24},
	{"leading dim 0", func(f *fields) { f.dims[0] = 0 }, format.ErrCorrupt, "dims[0]", 24},
	{"leading dim -1", func(f *fields) { f.dims[0] = -1 }, format.ErrCorrupt, "dims[0]", 24},
	{"left-aligned dims", func(f *fields) { f.dims = [4]int32{2, 3, 4, 1} }, format.ErrCorrupt, "dims[0]", 24},
	{"ndim too small for dims", func(f *fields) { f.ndim = 2 }, format.ErrCorrupt, "dims[1]", 28},
	{"scalar with a dim", func(f *fields) { f.ndim = 0; f.dims = [4]int32{1, 1, 1, 24} }, format.ErrCorrupt, "dims[3]", 36},
	{"scalar with zero dims", func(f *fields) { f.ndim = 0; f.dims = [4]int32{} }, format.ErrCorrupt, "dims[0]", 24},
	{"negative dim", func(f *fields) { f.dims[2] = -3 }, format.ErrCorrupt, "dims[2]", 32},
	{"two negative dims", func(f *fields) { f.dims[1], f.dims[2] = -2, -3 }, format.ErrCorrupt, "dims[1]", 28},
	{"negative dim and a 0", func(f *fields) { f.dims = [4]int32{1, 0, -1, 4}; f.elements = 0; f.data = nil }, format.ErrCorrupt, "dims[2]", 32},
	{"product overflows", func(f *fields) { f.ndim = 4; f.dims = [4]int32{math.MaxInt32, math.MaxInt32, math.MaxInt32, 2} }, format.ErrCorrupt, "dims", 24},
	{"product overflows to the size", func(f *fields) {
		f.ndim, f.dims, f.elements, f.data = 4, [4]int32{1 << 16, 1 << 16, 1 << 16, 1 << 16}, 0, nil
	}, format.ErrCorrupt, "dims", 24},
	{"bytes overflow", func(f *fields) {
		f.dims, f.elements = [4]int32{1, 1 << 30, 1 << 30, 2}, 1<<61
	}, format.ErrCorrupt, "dims", 24},
	{"product overflows, and a 0", func(f *fields) {
		f.ndim, f.dims, f.elements, f.data = 4, [4]int32{0, math.MaxInt32, math.MaxInt32, math.MaxInt32}, 0, nil
	}, format.ErrCorrupt, "dims", 24},
	{"total_elements small", func(f *fields) { f.elements-- }, format.ErrCorrupt, "total_elements", 40},
	{"total_elements large", func(f *fields) { f.elements++ }, format.ErrCorrupt, "total_elements", 40},
	{"total_elements 0", func(f *fields) { f.elements = 0 }, format.ErrCorrupt, "total_elements", 40},
	{"total_elements negative", func(f *fields) { f.elements = -24 }, format.ErrCorrupt, "total_elements", 40},
	{"total_elements differs above 32 bits", func(f *fields) { f.elements += 1 << 32 }, format.ErrCorrupt, "total_elements", 40},
	{"total_elements of an empty tensor", func(f *fields) { f.dims[2] = 0; f.data = nil }, format.ErrCorrupt, "total_elements", 40},
	{"reserved_2", func(f *fields) { f.reserved2 = 1 << 40 }, format.ErrCorrupt, "reserved_2", 48},
	{"reserved_3", func(f *fields) { f.reserved3 = -1 }, format.ErrCorrupt, "reserved_3", 56},
	{"one byte short", func(f *fields) { f.lack = 1 }, format.ErrTruncated, "data", 159},
	{"no data", func(f *fields) { f.data = nil }, format.ErrTruncated, "data", 64},
	{"huge shape, no data", func(f *fields) {
		f.dims, f.elements, f.data = [4]int32{1, 1 << 30, 1 << 20, 1}, 1<<50, nil
	}, format.ErrTruncated, "data", 64},
	{"one byte long", func(f *fields) { f.extra = 1 }, format.ErrCorrupt, "data", 160},
	{"twice the data", func(f *fields) { f.extra = 96 }, format.ErrCorrupt, "data", 160},
	{"bytes after an empty tensor", func(f *fields) { f.dims[3], f.elements, f.data, f.extra = 0, 0, nil, 4 }, format.ErrCorrupt, "data", 64},
}
