package source

import (
	"reflect"

	"golang.org/x/exp/mmap"
)

// mapping returns the bytes that m maps: the mapping itself, not a copy. mmap.ReaderAt has no
// method for them, and its ReadAt would copy every tensor; reading its field needs neither unsafe
// nor an allocation.
//
// It reports false on systems where mmap.ReaderAt holds a file instead of bytes;
// callers then read into memory of their own. TestMappingIsTheFile fails loudly
// should another version of x/exp name or type the field differently.
func mapping(m *mmap.ReaderAt) (b []byte, ok bool) {
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() { // FieldByName would add 13 kB to every program
		f := v.Field(i)
		if v.Type().Field(i).Name == "data" && f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Uint8 {
			return f.Bytes(), true
		}
	}
	return nil, false
}
