package safetensors

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	_ "github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// unlisted has dtypes that the reference does not have, including one whose rows do not fill whole
// bytes.
const unlisted = `{"k":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"f":{"dtype":"F4","shape":[2,1],"data_offsets":[1,2]},` +
	`"a":{"dtype":"Q\"9","shape":[3],"data_offsets":[2,5]},"b":{"dtype":"new","shape":[0],"data_offsets":[5,5]},"c":{"dtype":"new","shape":[9],"data_offsets":[5,6]}}`

// TestCopyUnknown checks that a copy preserves tensors of unknown dtypes byte for byte, and that
// other formats refuse them.
func TestCopyUnknown(t *testing.T) {
	header := unlisted + strings.Repeat(" ", -len(unlisted)&7)
	want := fileOf(header, count(6)...)
	dir := t.TempDir()
	in, out := save(t, dir, "in.safetensors", want), filepath.Join(dir, "out.safetensors")
	if _, err := convert.File(t.Context(), in, out, nil); err != nil {
		t.Fatal(err)
	}
	got := expect.Read(t, out)
	expect.Equal(t, string(want), string(got))
	_, err := convert.File(t.Context(), in, filepath.Join(dir, "out.gguf"), &convert.Options{Lossy: true})
	if !errors.Is(err, format.ErrUnsupported) || !strings.Contains(err.Error(), `Q"9`) {
		t.Error(err)
	}
	// Without its file, the name of a dtype has no meaning.
	p := &schema.Schema{Tensors: []tensor.Info{{Name: "a", Shape: tensor.Shape{3}, Size: 3, Encoding: &tensor.Encoding{Name: "new"}}}}
	expect.Refused(t, format.ErrUnsupported)(format.Create(out, p, nil))
	for _, size := range []int64{0, 3} {
		p.Native, p.Tensors[0].Size, p.Tensors[0].Shape = &schema.Native{Format: "safetensors"}, size, tensor.Shape{3 - size}
		expect.Refused(t, format.ErrUnsupported, 3-size, size)(format.Create(out, p, nil))
	}
}
