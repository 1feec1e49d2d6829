package formattest

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// bugVariable is the environment variable with the bug for TestToy.
const bugVariable = "FORMATTEST_BUG"

// toyConfig returns the Config of the toy format with a bug.
func toyConfig(bug string) Config {
	c := Config{
		Format:   formatOf{toy{bug}.driver()},
		ZeroCopy: true,
		Align:    64,
		Neutral: func(p *schema.Schema) *schema.Schema {
			p.Metadata = slices.DeleteFunc(p.Metadata, func(e schema.Entry) bool { return strings.HasPrefix(e.Key, "sum/") })
			return p
		},
		Samples: []Sample{
			{
				Name: "small",
				Schema: &schema.Schema{
					Metadata: schema.Metadata{{Key: "epochs", Value: json.RawMessage("3")}, {Key: "loss", Value: json.RawMessage("[-1]")}},
					Tensors: []tensor.Info{
						{Name: "encoder.layer.000.attention.weight", DType: tensor.Float32, Shape: tensor.Shape{13, 5}},
						{Name: "encoder.layer.000.attention.biases", DType: tensor.Float16, Shape: tensor.Shape{67}},
						{Name: "scalar", DType: tensor.Complex64, Shape: tensor.Shape{}},
						{Name: "empty", DType: tensor.Int8, Shape: tensor.Shape{2, 0}},
					},
				},
				Structural: toyStructure,
			},
			{Name: "none", Schema: &schema.Schema{}, Structural: Whole},
			{Name: "random", Schema: RandomSchema(rand.New(rand.NewPCG(1, 2)), SchemaOptions{Zero: true})},
		},
		Files: toyFiles(),
	}
	switch bug {
	case "samples show little":
		c.Samples, c.Files = c.Samples[1:2], nil
	}
	return c
}

// toyStructure returns the ranges of the header, the records and the end mark.
func toyStructure(file []byte) []Range {
	c := wire.NewRecord("toy", file[4:], 4)
	return []Range{{0, toyHeader + int(c.U32("size"))}, {len(file) - 4, len(file)}}
}

// toyFiles are built by hand: one tensor of three bytes at offset 64, or two.
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
		return w
	}
	one := append(toyHead(record("ab", 64), 1, 0), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	one = append(one[:64:64], 1, 2, 3, 'E', 'N', 'D', '!')
	two := append(toyHead(append(record("a", 128), record("a", 192)...), 2, 0), make([]byte, 128)...)[:128]
	two = append(append(append(two, 1, 2, 3), make([]byte, 61)...), 1, 2, 3, 'E', 'N', 'D', '!')
	return []File{
		{Name: "odd padding", Bytes: one, Data: map[string][]byte{"ab": {1, 2, 3}},
			Schema: &schema.Schema{Tensors: []tensor.Info{{Name: "ab", DType: tensor.Int8, Shape: tensor.Shape{3}}}}},
		{Name: "trailing bytes", Bytes: append(slices.Clone(one), 0), Want: format.ErrCorrupt, Field: "end"},
		{Name: "name twice", Bytes: two, Want: format.ErrCorrupt, Field: "name"},
		{Name: "nothing", Want: format.ErrTruncated},
	}
}

// TestToy runs the kit on the toy format. TestEachPropertyCanFail runs it with a bug.
func TestToy(t *testing.T) {
	bug := os.Getenv(bugVariable)
	if bug == leavesGoroutine {
		patience = time.Second // it never ends
	}
	Run(t, toyConfig(bug))
}

// planted lists bugs, each with the subtest that must fail.
var planted = []struct{ bug, fails string }{
	{"drops metadata", "small/Content"},
	{"has a phantom", "small/Content"},
	{"detects zip", "small/Detect"},
	{"detects anything", "small/Detect"},
	{"forgets where there is no path", "small/Content"},
	{"aliases metadata", "small/OwnMemory"},
	{"copies", "small/ZeroCopy"},
	{"misaligns", "small/ZeroCopy"},
	{"streams zeros", "small/Streaming"},
	{"trusts anybody", "small/Verify"},
	{"overstates progress", "small/Verify"},
	{"covers blindly", "small/CoveredData"},
	{"covers others", "small/CoveredData"},
	{"no end", "small/Truncation"},
	{"accepts more", "small/Appended"},
	{"accepts more", "trailing bytes"},
	{"drops duplicates", "name twice"},
	{"no checksum", "small/BitFlips"},
	{"accepts overlap", "small/Overlap"},
	{"panics", "small/Hostile"},
	{"trusts counts", "small/Bounded"},
	{"swallows read errors", "small/BrokenDisk"},
	{"adds again", "small/Rewrite"},
	{"shows its target", "small/Targets"},
	{"records the clock", "small/Targets"},
	{"records arrival", "small/Targets"},
	{"writes in place", "small/DiskErrors"},
	{"ignores the disk", "small/DiskErrors"},
	{"allocates per name", "scale/Allocations"},
	{"copies data", "scale/Allocations"},
	{"reads all", "scale/LazyReader"},
	{leavesGoroutine, "small"},
}

const leavesGoroutine = "leaves a goroutine"

// TestEachPropertyCanFail runs the kit with each bug and checks that the right subtest fails.
func TestEachPropertyCanFail(t *testing.T) {
	if os.Getenv(bugVariable) != "" {
		t.Skip("this is the child")
	}
	proven := map[string]bool{}
	for _, tt := range planted {
		proven[tt.fails[strings.Index(tt.fails, "/")+1:]] = true
		t.Run(tt.bug+"/"+tt.fails, func(t *testing.T) {
			if !testhost.CountsAllocs() && tt.fails == "scale/Allocations" {
				t.Skip("allocations are not counted here")
			}
			child(t, tt.bug, "^TestToy$/^"+strings.ReplaceAll(tt.fails, "/", "$/^")+"$", tt.fails)
		})
	}
	var x subject
	var y scales
	for _, p := range slices.Concat(x.reading(), x.writing(), y.scaling()) {
		if !proven[p.name] {
			t.Errorf("no planted defect shows that %s can fail", p.name)
		}
	}
}

// formatOf is the format of a driver.
type formatOf struct{ driver driver.Driver }

// Driver implements format.Format.
func (f formatOf) Driver() driver.Driver { return f.driver }

// readOnly is the toy format without its writer.
type readOnly struct{ driver.Driver }

// TestReadOnly runs the kit on a format without a writer.
func TestReadOnly(t *testing.T) {
	c := toyConfig("")
	written := newSubject(t, &c, &c.Samples[0])
	Run(t, Config{
		Format: formatOf{readOnly{toy{}}}, ZeroCopy: true, Align: 64, Neutral: c.Neutral,
		Files: append(toyFiles(), File{Name: "small", Bytes: written.file, Schema: written.want.Schema, Data: written.data}),
	})
}

// TestSkippedEverywhere checks that a property skipped by all samples is reported.
func TestSkippedEverywhere(t *testing.T) {
	if os.Getenv(bugVariable) != "" {
		t.Skip("this is the child")
	}
	for _, tt := range []struct{ bug, run string }{
		{"no data checksum", "/^CoveredData$"},
		{"samples show little", "/^CoveredData$"},
	} {
		t.Run(tt.bug, func(t *testing.T) { child(t, tt.bug, "^TestToy$/"+tt.run, "Complete") })
	}
}

// TestSurvivesAliases runs the kit on a format whose metadata aliases the mapping: a subtest must
// fail without crashing the process.
func TestSurvivesAliases(t *testing.T) {
	if os.Getenv(bugVariable) != "" {
		t.Skip("this is the child")
	}
	out := child(t, "aliases metadata", "^TestToy$", "small/OwnMemory")
	if !bytes.Contains(out, []byte("TestToy/Complete")) {
		t.Errorf("the kit did not get to its end:\n%s", out)
	}
}

// child runs the kit with a bug in another process and checks that the subtest fails.
func child(t *testing.T, bug, run, fails string) []byte {
	t.Helper()
	testhost.NeedChildren(t)
	c := exec.Command(os.Args[0], "-test.v", "-test.run", run)
	c.Env = append(os.Environ(), bugVariable+"="+bug)
	out, err := c.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("--- FAIL: TestToy/"+strings.ReplaceAll(fails, " ", "_"))) {
		t.Errorf("%s did not notice a format that %s: %v\n%s", fails, bug, err, out)
	}
	return out
}
