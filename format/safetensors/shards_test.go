package safetensors

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
)

var (
	shard1 = fileOf(`{"__metadata__":{"format":"pt","n":"1"},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 1, 2, 3)
	shard2 = fileOf(`{"__metadata__":{"format":"pt","n":"2"},"c":{"dtype":"F4","shape":[2],"data_offsets":[0,1]},"d":{"dtype":"U8","shape":[0],"data_offsets":[1,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 4, 5)
)

const index = `{"metadata":{"total_size":6,"total_parameters":7,"x":"y","m":{"k":[1]}},"weight_map":{"c":"s2.safetensors","b":"s1.safetensors","a":"s1.safetensors"},"other":[]}`

// TestShardedMetadata merges the metadata of an index and its shards.
func TestShardedMetadata(t *testing.T) {
	m, err := Open(save(t, t.TempDir(), "model.safetensors.index.json", index, "s1.safetensors", shard1, "s2.safetensors", shard2), nil)
	expect.OK(t, err)
	defer m.Close()
	want := schema.Metadata{{Key: "x", Value: "y"}, {Key: "m", Value: json.RawMessage(`{"k":[1]}`)}, {Key: "format", Value: "pt"}, {Key: "n", Value: "2"}}
	expect.Equal(t, want, expect.Got(t, m.Metadata))
	if notes := strings.Join(m.Notes(), "\n"); !strings.Contains(notes, "metadata entries that differ between files, of which the first counts: 1") {
		t.Error(notes)
	}
}

// TestShardIsPointer checks that the error names a Git LFS pointer in place of a shard.
func TestShardIsPointer(t *testing.T) {
	_, err := Open(save(t, t.TempDir(), "model.safetensors.index.json", `{"weight_map": {"a": "a.safetensors"}}`,
		"a.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"), nil)
	if !errors.Is(err, format.ErrUnknownFormat) || !strings.Contains(err.Error(), "a.safetensors: at 0x0: header length: this is a Git LFS pointer") {
		t.Error(err)
	}
}

// badIndexes are malformed indexes of valid shards.
var badIndexes = []struct {
	name   string
	index  string
	err    error
	field  string
	offset int64
	in     string // name of the shard in the error
}{
	{"no weight_map", `{"metadata":{}}`, format.ErrCorrupt, "weight_map", 0, ""},
	{"weight_map twice", `{"weight_map":{},"weight_map":{}}`, format.ErrCorrupt, "weight_map", 17, ""},
	{"weight_map array", `{"weight_map":[]}`, format.ErrCorrupt, "weight_map", 14, ""},
	{"weight_map null", `{"weight_map":null}`, format.ErrCorrupt, "weight_map", 14, ""},
	{"metadata twice", `{"metadata":{},"metadata":{},"weight_map":{}}`, format.ErrCorrupt, "weight_map", 15, ""},
	{"metadata key twice", `{"metadata":{"a":1,"a":1},"weight_map":{}}`, format.ErrCorrupt, "weight_map", 19, ""},
	{"metadata number", `{"metadata":1,"weight_map":{}}`, format.ErrCorrupt, "weight_map", 12, ""},
	{"text behind", `{"weight_map":{}}x`, format.ErrCorrupt, "weight_map", 17, ""},
	{"cut", index[:len(index)-20], format.ErrCorrupt, "weight_map", 141, ""},
	{"shard is a number", `{"weight_map":{"a":1}}`, format.ErrCorrupt, "weight_map", 19, ""},
	{"tensor twice", `{"weight_map":{"a":"s1.safetensors","\u0061":"s2.safetensors"}}`, format.ErrCorrupt, `tensor "a"`, 36, ""},
	{"no such tensor", `{"weight_map":{"a":"s1.safetensors","c":"s1.safetensors"}}`, format.ErrCorrupt, `tensor "c"`, 36, ""},
	{"no such shard", `{"weight_map":{"a":"s3.safetensors"}}`, format.ErrNotFound, `shard "s3.safetensors"`, 15, ""},
	{"empty name", `{"weight_map":{"a":""}}`, format.ErrCorrupt, `weight_map "a"`, 15, ""},
	{"the directory", `{"weight_map":{"a":"."}}`, format.ErrCorrupt, `weight_map "a"`, 15, ""},
	{"a directory", `{"weight_map":{"a":"dir"}}`, format.ErrCorrupt, `shard "dir"`, 15, ""},
	{"absolute", `{"weight_map":{"a":"/etc/passwd"}}`, format.ErrCorrupt, `weight_map "a"`, 15, ""},
	{"parent", `{"weight_map":{"a":"../outside.safetensors"}}`, format.ErrCorrupt, `weight_map "a"`, 15, ""},
	{"parent in the middle", `{"weight_map":{"a":"dir/../../outside.safetensors"}}`, format.ErrCorrupt, `weight_map "a"`, 15, ""},
	{"an index as a shard", `{"weight_map":{"a":"model.safetensors.index.json"}}`, format.ErrTruncated, "header length", 0, ""},
	{"a pickle as a shard", `{"weight_map":{"a":"pytorch_model.bin"}}`, format.ErrTruncated, "header length", 0, "pytorch_model.bin"},
	{"a shard that is broken", `{"weight_map":{"a":"s1.safetensors","x":"broken"}}`, format.ErrTruncated, `tensor "a"`, 48, "broken"},
}
