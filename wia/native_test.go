package wia

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/messages"
)

// changedCopy writes a copy of odd after change has changed its schema.
func changedCopy(t *testing.T, change func(*schema.Schema), o *format.WriteOptions) (*File, error) {
	t.Helper()
	f := mustOpen(t, odd().bytes(), nil)
	p, err := f.Schema()
	expect.OK(t, err)
	change(p)
	var out bytes.Buffer
	w, err := newWriter(&out, p, o)
	if err != nil {
		return nil, err
	}
	expect.OK(t, w.WriteModel(f.Model))
	expect.OK(t, w.Close())
	return mustOpen(t, out.Bytes(), nil), nil
}

// TestSchemaFollows checks that parts of a file that a schema cannot hold follow its
// tensors, or are listed as losses.
func TestSchemaFollows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.wia")
	_, err := convert.Model(t.Context(), mustOpen(t, odd().bytes(), nil).Model, path, &convert.Options{Rename: strings.NewReplacer("w", "new").Replace})
	expect.OK(t, err)
	g, err := Open(path, nil)
	expect.OK(t, err)
	defer g.Close()
	for _, name := range []string{"new", "z"} {
		if m := recordOf(t, g, name); !bytes.Contains(m, st(1, "doc")) || !bytes.HasPrefix(m, st(1, name)) {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if message := g.f.graph().data; !bytes.Contains(message, st(6, "doc")) {
		t.Errorf("%q", message)
	}

	// A graph that has changed is written without what only the old message holds.
	other := func(p *schema.Schema) { p.Graph.Nodes[0].Op = "Other" }
	_, err = changedCopy(t, other, &format.WriteOptions{AcceptLoss: []string{"attribute", "value", "label"}})
	var refused *schema.LossError
	if !errors.As(err, &refused) || !slices.ContainsFunc(refused.Losses, func(l schema.Loss) bool { return l.Item() == "native:denotation" }) {
		t.Fatal(err)
	}
	f, err := changedCopy(t, other, &format.WriteOptions{AcceptLoss: schema.AcceptableLosses()})
	expect.OK(t, err)
	if m := recordOf(t, f, "w"); !bytes.Contains(m, st(1, "doc")) {
		t.Error(m)
	}
	message := f.f.graph().data
	if !bytes.Contains(message, st(6, "doc")) || bytes.Count(message, inline("own", 8, []byte{1}, 1)) != 2 {
		t.Errorf("%q", message)
	}
	for _, raw := range [][]byte{{0x0a, 9}, {0x0a, 2, 0x12, 9}} {
		_, err := changedCopy(t, func(p *schema.Schema) { p.Native.Raw = raw }, nil)
		if !errors.Is(err, format.ErrSchema) {
			t.Errorf("%x: %v", raw, err)
		}
	}
}

// TestZeroFile checks that the methods of a zero File return ErrClosed or zero.
func TestZeroFile(t *testing.T) {
	f := &File{}
	expect.Refused(t, format.ErrClosed, "Verify")(nil, verify(f))
	if f.Compression() != None || f.Encrypted() || f.External("w") || f.OperatorSets() != nil {
		t.Error("a file of nothing says something")
	}
}

// recordOf returns the fields of a tensor's message that a schema does not hold, and its name.
func recordOf(t *testing.T, f *File, name string) []byte {
	t.Helper()
	n, err := f.Native()
	expect.OK(t, err)
	for c := messages.Outermost(string(n.Raw)).Cursor(); c.Next(); {
		if c.Number != nativeTensors {
			continue
		}
		for inner := c.Message().Cursor(); inner.Next(); {
			if inner.Number == innerTensor && dialect.NameOf(inner.Message()) == name {
				return []byte(inner.Text())
			}
		}
	}
	return nil
}

// TestOperatorSets reads the versions of ONNX models from the metadata, and values
// that only look like them.
func TestOperatorSets(t *testing.T) {
	none := []schema.OperatorSet(nil)
	for _, c := range []struct {
		text string
		sets []schema.OperatorSet
	}{
		{`{}`, none},
		{`{"opsets": [{"domain": "ai.onnx", "version": 17}], "ir_version": 8}`, []schema.OperatorSet{{Domain: "ai.onnx", Version: 17}}},
		{`{"opsets":[ {"version":13,"domain":""} , {"domain":"com.é","version":1} ]}`, []schema.OperatorSet{{Domain: "", Version: 13}, {Domain: "com.é", Version: 1}}},
		{`{"opsets":[]}`, []schema.OperatorSet{}},
		{`{"opsets":[{"version":13}],"ir_version":0}`, []schema.OperatorSet{{Domain: "", Version: 13}}},
		{`{"opsets":[{"domain":"a","version":1,"since":2}]}`, []schema.OperatorSet{{Domain: "a", Version: 1}}},
		{`{"opsets":[{"domain":"a"}],"ir_version":"8"}`, none},
		{`{"opsets":[13],"ir_version":8.5}`, none},
		{`{"opsets":{"ai.onnx":13},"ir_version":null}`, none},
		{`{"opsets":17,"ir_version":[8]}`, none},
	} {
		f := mustOpen(t, container{meta: []byte(c.text)}.bytes(), nil)
		if d := cmp.Diff(c.sets, f.OperatorSets()); d != "" {
			t.Errorf("%s: sets (-want +got)\n%s", c.text, d)
		}
		f.Close()
		if f.OperatorSets() != nil {
			t.Errorf("%s: versions of a closed file", c.text)
		}
	}
}
