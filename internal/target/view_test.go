package target

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// inFile owns a tensor of a file.
type inFile struct {
	memory.Failed[tensor.Info]
	r *source.Region
}

func (o *inFile) File(info *tensor.Info) (pass.File, int64) { return o.r, info.Offset }

// TestReadView: the bytes of a mapping are read from the file until they are used in place.
func TestReadView(t *testing.T) {
	data := make([]byte, 700<<10)
	for i := range data {
		data[i] = byte(i*7) ^ byte(i>>9)
	}
	path := filepath.Join(t.TempDir(), "m")
	expect.OK(t, os.WriteFile(path, data, 0o666))
	const off = 1000
	for _, tt := range []struct {
		name    string
		size    int
		use     bool
		inPlace bool
	}{
		{"large", 600 << 10, false, false},
		{"used", 600 << 10, true, true},
		{"small", 1000, false, true},
		{"empty", 0, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r source.Region
			expect.OK(t, r.Open(path, source.Options{}))
			defer r.Close()
			if !r.Mapped() {
				t.Skip("files are not mapped here")
			}
			if tt.use {
				r.MarkUsed(off, int64(tt.size))
			}
			info := &tensor.Info{Name: "w", DType: tensor.Uint8, Shape: tensor.Shape{int64(tt.size)}, Offset: off, Size: int64(tt.size)}
			v := tensor.View(memory.New[tensor.Info](info, &inFile{r: &r}, r.Bytes()[off:][:tt.size]))
			err := ReadView(v, func(from io.Reader) error {
				_, isMemory := from.(*bytes.Reader)
				if isMemory != tt.inPlace {
					t.Errorf("it is read in place: %v, want %v", isMemory, tt.inPlace)
				}
				got, err := io.ReadAll(from)
				if !bytes.Equal(got, data[off:][:tt.size]) {
					t.Errorf("%d other bytes", len(got))
				}
				return err
			})
			expect.OK(t, err)
		})
	}
}
