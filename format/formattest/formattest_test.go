package formattest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// bugVariable names the bug to run TestToy with.
const bugVariable = "FORMATTEST_BUG"

// toyConfig returns the kit's input for the toy format.
func toyConfig(bug string) Config {
	c := Config{
		Codec:    format.With(toy{bug}.driver()),
		ZeroCopy: true,
		Align:    64,
		Neutral: func(p *format.Plan) *format.Plan {
			p.Metadata = slices.DeleteFunc(p.Metadata, func(e format.Entry) bool { return strings.HasPrefix(e.Key, "sum/") })
			return p
		},
		Samples: []Sample{
			{
				Name: "small",
				Plan: &format.Plan{
					Metadata: format.Metadata{{Key: "epochs", Value: json.RawMessage("3")}, {Key: "loss", Value: json.RawMessage("[-1]")}},
					Tensors: []tensor.Info{
						{Name: "encoder.layer.000.attention.weight", DType: tensor.Float32, Shape: tensor.Shape{13, 5}},
						{Name: "encoder.layer.000.attention.biases", DType: tensor.Float16, Shape: tensor.Shape{67}},
						{Name: "scalar", DType: tensor.Complex64, Shape: tensor.Shape{}},
						{Name: "empty", DType: tensor.Int8, Shape: tensor.Shape{2, 0}},
					},
				},
				Structural: toyStructure,
			},
			{Name: "none", Plan: &format.Plan{}, Structural: Whole},
			{Name: "random", Plan: RandomPlan(rand.New(rand.NewPCG(1, 2)), PlanOptions{Zero: true}), Data: FillBits},
		},
		Files:   toyFiles(),
		defects: toyDefects(bug),
	}
	switch bug {
	case "samples show little":
		c.Samples, c.Files = c.Samples[1:2], nil
	case "exempts what is not there":
		c.Exempt = map[string]string{"Beauty": "it is a toy"}
	case "exempts without a reason":
		c.Exempt = map[string]string{"Pin": ""}
	}
	return c
}

// toyStructure is the header with the records, and the mark at the end.
func toyStructure(file []byte) []Range {
	c := wire.NewCursor("toy", file[4:], 4)
	return []Range{{0, toyHeader + int(c.U32("size"))}, {len(file) - 4, len(file)}}
}

// toyFiles are built by hand: one tensor of three bytes at 64, or two.
func toyFiles() []File {
	record := func(name string, offset int64) []byte {
		var w wire.Buffer
		w.U16(uint16(len(name)))
		w.Str(name)
		w.U8(uint8(tensor.Int8))
		w.U8(1)
		w.I64(3)
		w.I64(offset)
		w.U32(crc32.ChecksumIEEE([]byte{1, 2, 3}))
		return w.Bytes()
	}
	one := append(toyHead(record("ab", 64), 1, 0), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	one = append(one[:64:64], 1, 2, 3, 'E', 'N', 'D', '!')
	two := append(toyHead(append(record("a", 128), record("a", 192)...), 2, 0), make([]byte, 128)...)[:128]
	two = append(append(append(two, 1, 2, 3), make([]byte, 61)...), 1, 2, 3, 'E', 'N', 'D', '!')
	return []File{
		{Name: "odd padding", Bytes: one, Data: map[string][]byte{"ab": {1, 2, 3}},
			Plan: &format.Plan{Tensors: []tensor.Info{{Name: "ab", DType: tensor.Int8, Shape: tensor.Shape{3}}}}},
		{Name: "trailing bytes", Bytes: append(slices.Clone(one), 0), Want: format.ErrCorrupt, Field: "end"},
		{Name: "name twice", Bytes: two, Want: format.ErrCorrupt, Field: "name"},
		{Name: "nothing", Want: format.ErrTruncated},
	}
}

// badModel is a model of an engine with a bug.
type badModel struct {
	*format.Model
	bug string
}

// toyDefects returns what goes wrong outside of the format.
func toyDefects(bug string) *defects {
	d := &defects{model: func(m *format.Model) model { return badModel{m, bug} }}
	switch bug {
	case "accepts senseless options":
		d.options = func(o *format.Options) *format.Options {
			var c format.Options
			if o != nil {
				c = *o
			}
			c.MaxTensors, c.MaxHeaderBytes, c.CacheBytes = max(c.MaxTensors, 0), max(c.MaxHeaderBytes, 0), max(c.CacheBytes, 0)
			c.MaxMemory = max(c.MaxMemory, 0)
			return &c
		}
	case "ignores MaxMemory":
		d.options = func(o *format.Options) *format.Options {
			if o == nil || o.MaxMemory <= 0 {
				return o
			}
			c := *o
			c.MaxMemory = 0
			return &c
		}
	}
	return d
}

func (m badModel) Tensor(name string) (tensor.View, error) {
	v, err := m.Model.Tensor(name)
	switch {
	case err == nil && m.bug == "finds another":
		return m.At(0), nil
	case err == nil:
	case m.bug == "finds anything" && m.Len() > 0:
		return m.At(0), nil
	case m.bug == "calls a wrong name closed":
		return tensor.View{}, format.ErrClosed
	}
	return v, err
}

func (m badModel) Verify(ctx context.Context, opts ...format.VerifyOption) (*format.Coverage, error) {
	c, err := m.Model.Verify(ctx, opts...)
	if m.bug == "verifies closed" && errors.Is(err, format.ErrClosed) {
		return c, nil
	}
	if m.bug == "lists nothing" {
		return &format.Coverage{}, err
	}
	return c, err
}

func (m badModel) Pin() (func(), error) {
	unpin, err := m.Model.Pin()
	if err == nil && m.bug == "pins nothing" {
		unpin()
	}
	return unpin, err
}

func (m badModel) Do(f func() error) error {
	if m.bug == "does not guard" {
		return f()
	}
	return m.Model.Do(f)
}

func (m badModel) Stats() format.Stats {
	s := m.Model.Stats()
	if m.bug == "counts wrongly" {
		s.ZeroCopy++
	}
	return s
}

func (m badModel) Close() error {
	if m.bug == "does not wait" {
		go m.Model.Close()
		return nil
	}
	return m.Model.Close()
}

// TestToy runs the kit; TestEachPropertyCanFail runs it with a bug.
func TestToy(t *testing.T) { Run(t, toyConfig(os.Getenv(bugVariable))) }

// planted are defects, each with the subtest that must fail.
var planted = []struct{ bug, fails string }{
	{"drops metadata", "small/Content"},
	{"has a phantom", "small/Content"},
	{"detects zip", "small/Detect"},
	{"detects anything", "small/Detect"},
	{"forgets behind a reader", "small/Agreement"},
	{"aliases metadata", "small/OwnMemory"},
	{"copies", "small/ZeroCopy"},
	{"misaligns", "small/ZeroCopy"},
	{"finds another", "small/Lookup"},
	{"finds anything", "small/NotFound"},
	{"calls a wrong name closed", "small/NotFound"},
	{"counts wrongly", "small/Stats"},
	{"copies", "small/Ranged"},
	{"trusts anybody", "small/Verify"},
	{"overstates progress", "small/Verify"},
	{"lists nothing", "small/Coverage"},
	{"vouches blindly", "small/CoveredData"},
	{"touches nothing", "small/CheckTouch"},
	{"forgets damage", "small/CheckTouch"},
	{"accepts senseless options", "small/Options"},
	{"no limit", "small/MaxTensors"},
	{"ignores MaxMemory", "small/MaxMemory"},
	{"no end", "small/Truncation"},
	{"accepts more", "small/Appended"},
	{"accepts more", "trailing bytes"},
	{"drops duplicates", "name twice"},
	{"no checksum", "small/BitFlips"},
	{"accepts overlap", "small/Overlap"},
	{"accepts holes", "small/Holes"},
	{"panics", "small/Hostile"},
	{"trusts counts", "small/Bounded"},
	{"swallows read errors", "small/BrokenDisk"},
	{"blind to faults", "small/Emptied"},
	{"verifies closed", "small/AfterClose"},
	{"aliases metadata", "small/AfterClose"},
	{"does not wait", "small/CloseWaits"},
	{"wears out", "small/Concurrent"},
	{"vague", "small/ConcurrentDamage"},
	{"writes into its error", "small/ConcurrentDamage"},
	{"pins nothing", "small/Pin"},
	{"adds again", "small/Rewrite"},
	{"shows its target", "small/Targets"},
	{"records the clock", "small/Targets"},
	{"records arrival", "small/Arrival"},
	{"writes in place", "small/WriterErrors"},
	{"writes in place", "small/WriterMisuse"},
	{"ignores the disk", "small/DiskErrors"},
	{"allocates per name", "scale/Allocations"},
	{"copies data", "scale/Allocations"},
	{"reads all", "scale/LazyReader"},
	{"verifies nothing behind a reader", "scale/VerifyReads"},
	{"ignores WithTensors", "scale/OneTensor"},
	{"blind to faults", "scale/CutWhileMapped"},
	{"does not guard", "scale/SecondFault"},
	{"cannot be canceled", "scale/CancelVerify"},
	{"drops duplicates", "scale/Duplicates"},
	{"samples show little", "Samples"},
	{"exempts what is not there", "Complete"},
	{"exempts without a reason", "Complete"},
}

// TestEachPropertyCanFail breaks the toy format in one way after the other, and
// looks for the subtest that must fail.
func TestEachPropertyCanFail(t *testing.T) {
	if os.Getenv(bugVariable) != "" {
		t.Skip("this is the child")
	}
	proven := map[string]bool{"MaxHeaderBytes": true} // by TestSkippedEverywhere
	for _, tt := range planted {
		proven[tt.fails[strings.Index(tt.fails, "/")+1:]] = true
		t.Run(tt.bug+"/"+tt.fails, func(t *testing.T) {
			switch {
			case raceEnabled && tt.fails == "scale/Allocations":
				t.Skip("allocations are not counted under the race detector")
			case tt.bug == "blind to faults" || tt.bug == "does not guard":
				testhost.NeedCuts(t)
			case !raceEnabled && tt.bug == "writes into its error":
				t.Skip("takes the race detector")
			}
			child(t, tt.bug, "^TestToy$/^"+strings.ReplaceAll(tt.fails, "/", "$/^")+"$", tt.fails)
		})
	}
	for _, name := range properties() {
		if !proven[name] {
			t.Errorf("no planted defect shows that %s can fail", name)
		}
	}
}

// readOnly is the toy format without its writer.
type readOnly struct{ driver.Driver }

// TestReadOnly runs the kit on files alone.
func TestReadOnly(t *testing.T) {
	c := toyConfig("")
	written := newSubject(t, &c, &c.Samples[0])
	Run(t, Config{
		Codec: format.With(readOnly{toy{}}), ZeroCopy: true, Align: 64, Neutral: c.Neutral,
		Files: append(toyFiles(), File{Name: "small", Bytes: written.file, Plan: written.base.Plan, Data: written.data}),
	})
}

// TestSkippedEverywhere breaks formats so that a property has nothing to look at.
func TestSkippedEverywhere(t *testing.T) {
	if os.Getenv(bugVariable) != "" {
		t.Skip("this is the child")
	}
	for _, tt := range []struct{ bug, run string }{
		{"ignores MaxHeaderBytes", "/^MaxHeaderBytes$"},
		{"no data checksum", "/^CoveredData$"},
		{"samples show little", "/^Ranged$"},
	} {
		t.Run(tt.bug, func(t *testing.T) { child(t, tt.bug, "^TestToy$/"+tt.run, "Complete") })
	}
}

// TestSurvivesAliases runs the whole kit on metadata that alias the mapping: a
// subtest fails, and the process lives.
func TestSurvivesAliases(t *testing.T) {
	if os.Getenv(bugVariable) != "" {
		t.Skip("this is the child")
	}
	out := child(t, "aliases metadata", "^TestToy$", "small/OwnMemory")
	if !bytes.Contains(out, []byte("TestToy/Complete")) {
		t.Errorf("the kit did not get to its end:\n%s", out)
	}
}

// child runs the kit with a bug, in a process of its own, and looks for the failure.
func child(t *testing.T, bug, run, fails string) []byte {
	t.Helper()
	testhost.NeedChildren(t)
	c := exec.Command(os.Args[0], "-test.v", "-test.run", run)
	if bug == "writes into its error" {
		c.Args = append(c.Args, "-test.count=20", "-test.failfast") // two goroutines do not meet in every round
	}
	c.Env = append(os.Environ(), bugVariable+"="+bug)
	out, err := c.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("--- FAIL: TestToy/"+strings.ReplaceAll(fails, " ", "_"))) {
		t.Errorf("%s did not notice a format that %s: %v\n%s", fails, bug, err, out)
	}
	return out
}
