package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsontext"
	"github.com/weightmap/weightmap/tensor"
)

// Create starts writing a file to path, in a temporary file that takes its place on
// Close. What the format cannot hold is refused with a [format.LossError], unless the
// options accept that. Nil options work.
func Create(path string, p *format.Plan, o *format.WriteOptions) (*format.Writer, error) {
	return codec.Create(path, p, o)
}

// NewWriter starts writing a file to w, straight through if tensors come in the order
// of the file: by dtype, then by name. Nil options work.
func NewWriter(w io.Writer, p *format.Plan, o *format.WriteOptions) (*format.Writer, error) {
	return codec.NewWriter(w, p, o)
}

// losses lists what the format has no place for.
func losses(p *driver.Plan, l *driver.LossList) {
	l.AllQuantization(p, "the format has no quantization parameters")
	l.AnyGraph(p, "the format holds no graph")
	l.UniqueMetadata(p, func(i int, e driver.Entry) error {
		text, err := e.Text()
		_, isText := e.Value.(string)
		switch {
		case err == nil && !utf8.ValidString(e.Key+text):
			err = fmt.Errorf("%w: invalid UTF-8", format.ErrCorrupt)
		case err == nil && !isText:
			l.ConvertedMetadata(p, i, "the format has strings, one takes the place of "+driver.TypeName(e.Value))
		}
		return err
	})
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if rankOf(t) < 0 && !keeps(p, t) {
			l.Fixed(driver.LossDType, t.Name, fmt.Errorf("%w: the format has no %s", format.ErrUnsupported, t.TypeName()))
		}
		if t.Name == metadataKey {
			l.Renamed(p, i, "the format keeps its metadata under this name")
		}
	}
}

// keeps reports whether a dtype that is not known is one of the file that is copied.
func keeps(p *driver.Plan, t *tensor.Info) bool {
	elems, err := t.Shape.Elems()
	return p.Native != nil && p.Native.Format == formatName && t.Encoding != nil && t.Encoding.BlockBytes == 0 && t.Encoding.Name != "" &&
		named(t.Encoding.Name) < 0 && err == nil && (elems == 0) == (t.Size == 0)
}

// layout orders tensors as the reference does, by falling position of the dtype among
// its dtypes, then by name. Dtypes that are not known come last.
func layout(p *driver.Plan) (*driver.Layout, error) {
	names := namesOf(p)
	order := make([]int, len(p.Tensors))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rankOf(&p.Tensors[b]), rankOf(&p.Tensors[a])), strings.Compare(names[a], names[b]))
	})
	l := &driver.Layout{Offsets: make([]int64, len(order))}
	w := jsontext.Writer{B: append(make([]byte, lengthSize), '{')}
	writeMetadata(&w, p.Metadata)
	for _, i := range order {
		if len(w.B) > lengthSize+1 {
			w.Raw(",")
		}
		writeEntry(&w, names[i], &p.Tensors[i], l.Size)
		l.Offsets[i] = l.Size
		l.Size += p.Tensors[i].Size
	}
	w.Raw("}")
	b, err := w.Done()
	if err != nil {
		return nil, err
	}
	for len(b)%headerAlign != 0 {
		b = append(b, ' ')
	}
	n := int64(len(b))
	if n-lengthSize > maxHeader || l.Size > math.MaxInt64-n {
		return nil, &format.Error{Format: formatName, Field: "header", Offset: -1,
			Err: fmt.Errorf("%w: %w: a header of %d bytes, the most is %d, and %d bytes of data", format.ErrPlan, format.ErrLimit, n-lengthSize, maxHeader, l.Size)}
	}
	binary.LittleEndian.PutUint64(b, uint64(n-lengthSize))
	for i := range l.Offsets {
		l.Offsets[i] += n
	}
	l.Size += n
	l.Parts = []driver.Part{{Bytes: b}}
	return l, nil
}

// namesOf returns the names as they are written: one is reserved.
func namesOf(p *driver.Plan) []string {
	names := make([]string, len(p.Tensors))
	reserved := -1
	for i := range p.Tensors {
		if names[i] = p.Tensors[i].Name; names[i] == metadataKey {
			reserved = i
		}
	}
	if reserved >= 0 {
		free := metadataKey + "_"
		for slices.Contains(names, free) {
			free += "_"
		}
		names[reserved] = free
	}
	return names
}

// writeMetadata writes the object with the strings, nothing when there are none.
func writeMetadata(w *jsontext.Writer, m driver.Metadata) {
	for i, e := range m {
		text, err := e.Text()
		if err != nil {
			w.Fail(err)
		}
		if i > 0 {
			w.Raw(",")
		} else {
			w.Raw(`"` + metadataKey + `":{`)
		}
		w.Text(e.Key)
		w.Raw(":")
		w.Text(text)
	}
	if len(m) > 0 {
		w.Raw("}")
	}
}

// writeEntry writes the name of a tensor and its entry.
func writeEntry(w *jsontext.Writer, name string, t *tensor.Info, begin int64) {
	w.Text(name)
	w.Raw(`:{"dtype":`)
	if i := rankOf(t); i >= 0 {
		w.Text(dtypes[i].name)
	} else {
		w.Text(t.Encoding.Name)
	}
	w.Raw(`,"shape":`)
	jsontext.List(w, t.Shape, w.Int)
	w.Raw(`,"data_offsets":`)
	jsontext.List(w, []int64{begin, begin + t.Size}, w.Int)
	w.Raw("}")
}
