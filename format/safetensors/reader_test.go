package safetensors

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
)

type rows []corpus.Tensor

type goldenFile struct {
	name string
	file []byte
	want rows
	meta schema.Metadata
}

// golden returns files with their expected content.
func golden() []goldenFile {
	return []goldenFile{
		{name: "no tensors", file: fileOf(`{}`)},
		{name: "one", file: fileOf(`{"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}`, count(16)...),
			want: rows{row("w", "float32", count(16), 2, 2)}},
		{name: "metadata in front, in its order", file: fileOf(`{"__metadata__":{"format":"pt","a":"\u00e9\ud83d\ude00\n","":""},"w":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`, 7),
			want: rows{row("w", "uint8", []byte{7})},
			meta: schema.Metadata{{Key: "format", Value: "pt"}, {Key: "a", Value: "é😀\n"}, {Key: "", Value: ""}}},
		{name: "metadata behind, key escaped", file: fileOf(`{"w":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"\u005f_metadata__":{"k":"v"}}`, 7),
			want: rows{row("w", "uint8", []byte{7})},
			meta: schema.Metadata{{Key: "k", Value: "v"}}},
		{name: "metadata null", file: fileOf(`{"__metadata__":null}`)},
		{name: "metadata empty", file: fileOf(`{"__metadata__":{}}`)},
		{name: "white space", file: fileOf(" \r\n\t{ \"w\" : { \"dtype\" : \"I8\" , \"shape\" : [ 1 ] , \"data_offsets\" : [ 0 , 1 ] } } \n", 9),
			want: rows{row("w", "int8", []byte{9}, 1)}},
		{name: "fields in another order, escaped, with others", file: fileOf(`{"w":{"x":{"y":[1,{"z":null}]},"data_offsets":[0,1],"x":1,"sh\u0061pe":[1],"\u0064type":"I\u0038"}}`, 9),
			want: rows{row("w", "int8", []byte{9}, 1)}},
		{name: "names", file: fileOf(`{"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\u0000":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},"\ud83d\ude00/\"":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 1, 2, 3),
			want: rows{row("", "uint8", []byte{1}, 1), row("\x00", "uint8", []byte{2}, 1), row(`😀/"`, "uint8", []byte{3}, 1)}},
		{name: "header in another order than the data", file: fileOf(`{"c":{"dtype":"I16","shape":[1],"data_offsets":[3,5]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"BOOL","shape":[2],"data_offsets":[1,3]}}`, count(5)...),
			want: rows{row("c", "int16", []byte{3, 4}, 1), row("a", "uint8", []byte{0}, 1), row("b", "bool", []byte{1, 2}, 2)}},
		{name: "empty tensors at boundaries", file: fileOf(`{"e":{"dtype":"F32","shape":[0],"data_offsets":[2,2]},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"f":{"dtype":"F64","shape":[3,0],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},"g":{"dtype":"I8","shape":[0,9],"data_offsets":[3,3]}}`, 5, 6, 7),
			want: rows{row("e", "float32", nil, 0), row("a", "uint8", []byte{5, 6}, 2), row("f", "float64", nil, 3, 0),
				row("b", "uint8", []byte{7}, 1), row("g", "int8", nil, 0, 9)}},
		{name: "listed dtypes", file: fileOf(`{"c":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]},"f":{"dtype":"Q3","shape":[0],"data_offsets":[3,3]},"g":{"dtype":"f32","shape":[],"data_offsets":[3,7]}}`, count(7)...),
			want: rows{row("c", "F6_E2M3", count(3), 4), row("f", "Q3", nil, 0), row("g", "f32", count(7)[3:])}},
		{name: "127 levels", file: fileOf(`{"w":{"x":` + strings.Repeat("[", 125) + strings.Repeat("]", 125) + `,"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`),
			want: rows{row("w", "uint8", nil, 0)}},
	}
}

// TestMetadata: the metadata of files whose tensors the corpus has.
func TestMetadata(t *testing.T) {
	for _, tt := range golden() {
		if diff := cmp.Diff(tt.meta, expect.Got(t, open(t, tt.file).Metadata)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestDetect(t *testing.T) {
	for head, want := range map[string]bool{
		string(fileOf(`{"w":`)): true, string(fileOf(`{}`)): true, string(fileOf("  \n{ \"")): true,
		"\xff\xff\xff\xff\xff\xff\xff\x7f{\"w\"": true, "{\"\x00\x00\x00\x00\x00\x00{\"w\"": true,
		"{\n  \"metadata\": {": true, `{"weight_map":{"a":"b"}}`: true, `{"architectures": ["BertModel"]}`: false,
		string(fileOf(`[1]`)): false, "": false, "MAG!\x01\x00\x00\x00{\x01": false, "\x08\x00\x00\x00\x00\x00\x00\x00": false,
	} {
		got := fileFormat{}.Detect([]byte(head), int64(len(head)))
		if got != want {
			t.Errorf("%q: %t", head, got)
		}
	}
}

// TestMetadataLimit checks that metadata counts against Options.MaxMemory.
func TestMetadataLimit(t *testing.T) {
	b := fileOf(`{"__metadata__":{"k":"` + strings.Repeat("x", 1<<16) + `"}}`)
	for most, want := range map[int64]error{1 << 20: nil, 100 << 10: format.ErrLimit} {
		if m, err := openBytes(b, &format.Options{MaxMemory: most}); !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", most, err, want)
		} else if err == nil {
			m.Close()
		}
	}
}
