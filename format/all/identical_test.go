package all_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// fixedData are bytes of float32 that are the same everywhere: small integers,
// halves and thirds, so that they compress, and not to nothing.
func fixedData(n int64) (b []byte) {
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(i%97)/float32(1+i%3)))
	}
	return b
}

// TestIdenticalEverywhere writes the same model in every format, plainly and
// compressed: the bytes are those that every other architecture writes. A new version
// of a compression library may change those that name one.
func TestIdenticalEverywhere(t *testing.T) {
	signer := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	for _, tt := range []struct {
		format, name string
		o            format.WriteOptions
		tensors      int
		sum          string
	}{
		{"gguf", "gguf", format.WriteOptions{}, 2, "2ea999ff44fa233e7653b7465bb5fe8c78b59baf448e075675e75902f17c9479"},
		{"mag", "mag", format.WriteOptions{}, 2, "13a410cf09ca7e7f1cba326a9b37fdb7cc44d6ab4c4b9fb4c4332d46ac78ce67"},
		{"mle", "mle", format.WriteOptions{}, 2, "76c17fbaf8f1623b372b304509400b0d88bf8255de5caf9bf9ff0b7070902b93"},
		{"mle", "mle, signed", format.WriteOptions{Signer: signer}, 2, "eec9aa830dfed371197663985f52ed12b9e9d9eb066f9129f8cd4761454ddcc4"},
		{"mle", "mle, Zstandard", format.WriteOptions{Compression: "zstd"}, 2, "427a07b0f0423f47e0006b29d162f79bae61518edfb817780310664a352ff7a4"},
		{"mle", "mle, LZ4", format.WriteOptions{Compression: "lz4"}, 2, "494b0db090379457082fc9a237002507d4460a20e2f5055d83d37e3bcd306965"},
		{"mobi", "mobi", format.WriteOptions{}, 2, "911eb9d747dec6db9ee7d263f0fc290137ef4985109dca5b307f4af20c67335d"},
		{"mobi", "mobi, gzip", format.WriteOptions{Compression: "gzip", Level: 9}, 2, "5e8a5da176bd57ac88c4deb5ecbfd1d5c24ac5600db2e44188f6bda5c3e05b41"},
		{"npy", "npy", format.WriteOptions{}, 1, "4ace2a68a7ff7383e4ef1c23bbeea96b4d04453afb20f3dc85a81ec620c4ccbc"},
		{"npz", "npz", format.WriteOptions{}, 2, "311e1d59ec74ad7bd1465ac51988c036f731d66491a8801e73e2a97d4cb50856"},
		{"onnx", "onnx", format.WriteOptions{}, 2, "1792c83cbcfc4106ecd880dee2acbd3d7b6354eacfec065d4b4eaa3d42eecfbd"},
		{"safetensors", "safetensors", format.WriteOptions{}, 2, "8e5e7195ad767ee522c7693049fde361c5351632f97d5d3b6a6fad89a1ebe2ff"},
		{"tsr", "tsr", format.WriteOptions{}, 1, "7a43c75cf47ca295764a692515fa4f7edf06f445073f1b4ebf4edcbaefd9fb00"},
		{"wia", "wia", format.WriteOptions{}, 2, "b18e4d7b38a2f041a250caee7a38c93b5dc1374fd1bcafc1e765f4f0f9bfd19e"},
		{"wia", "wia, Zstandard", format.WriteOptions{Compression: "zstd", Format: wia.Format{CompressTensor: func(tensor.Info) wia.Compression { return wia.None }}}, 2, "f580bc0aae746ceabad47b4a762276382fe3c40a3f43111b5ab632ecec38abf5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &schema.Schema{Tensors: []tensor.Info{
				{Name: "1", DType: tensor.Float32, Shape: tensor.Shape{40, 30}},
				{Name: "2", DType: tensor.Float32, Shape: tensor.Shape{7}},
			}[:tt.tensors]}
			tt.o.Time = time.Date(2024, 2, 29, 12, 34, 56, 0, time.UTC)
			out := bytesOf(t, tt.format, s, &tt.o)
			sum := sha256.Sum256(out)
			if got := hex.EncodeToString(sum[:]); got != tt.sum {
				t.Errorf("SHA-256 of %d bytes is %s, want %s", len(out), got, tt.sum)
			}
		})
	}
}

// bytesOf returns the file of a schema in a format.
func bytesOf(t *testing.T, name string, s *schema.Schema, o *format.WriteOptions) []byte {
	t.Helper()
	var out bytes.Buffer
	if o.Format == nil {
		o.Format = formatNamed(name)
	}
	w, err := format.NewWriter(&out, s, o)
	expect.OK(t, err)
	for _, info := range s.Tensors {
		n, _ := info.Shape.Elems()
		expect.OK(t, w.WriteTensor(info.Name, bytes.NewReader(fixedData(n))))
	}
	expect.OK(t, w.Close())
	return out.Bytes()
}

// TestNoClock: a file that is written without a time is that of the year 1970.
func TestNoClock(t *testing.T) {
	for _, name := range format.Writable() {
		formats := []format.Format{formatNamed(name)}
		if name == "mag" {
			formats = append(formats, mag.Format{Snapshot: true})
		}
		for _, f := range formats {
			s := &schema.Schema{Tensors: []tensor.Info{{Name: "1", DType: tensor.Float32, Shape: tensor.Shape{7}}}}
			without := bytesOf(t, name, s, &format.WriteOptions{Format: f})
			if at := bytesOf(t, name, s, &format.WriteOptions{Format: f, Time: time.Unix(0, 0)}); !bytes.Equal(without, at) {
				t.Errorf("%s, %+v: the bytes depend on when they were written", name, f)
			}
		}
	}
}
