package formattest

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// bugVariable names the bug to run TestToy with.
const bugVariable = "FORMATTEST_BUG"

// toyConfig returns the kit's input for the toy format.
func toyConfig(bug string) Config {
	return Config{
		Codec:    toy{bug}.codec(),
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
					Metadata: format.Metadata{{Key: "epochs", Value: int64(3)}, {Key: "loss", Value: int64(-1)}},
					Tensors: []tensor.Info{
						{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{3, 5}},
						{Name: "b", DType: tensor.Float16, Shape: tensor.Shape{7}},
						{Name: "scalar", DType: tensor.Complex64, Shape: tensor.Shape{}},
						{Name: "empty", DType: tensor.Int8, Shape: tensor.Shape{2, 0}},
					},
				},
				Structural: func(file []byte) []Range { return []Range{{0, 32 + int(file[4])}, {len(file) - 4, len(file)}} },
			},
			{Name: "none", Plan: &format.Plan{}, Structural: Whole},
			{Name: "random", Plan: RandomPlan(rand.New(rand.NewPCG(1, 2)), PlanOptions{Zero: true}), Data: FillBits},
		},
	}
}

// TestToy runs the kit; TestEachPropertyCanFail runs it with a bug.
func TestToy(t *testing.T) { Run(t, toyConfig(os.Getenv(bugVariable))) }

// TestEachPropertyCanFail breaks the toy format in one way after the other, and
// looks for the subtest that must fail.
func TestEachPropertyCanFail(t *testing.T) {
	if os.Getenv(bugVariable) != "" {
		t.Skip("this is the child")
	}
	for _, tt := range []struct{ bug, fails string }{
		{"drops metadata", "small/RoundTrip"},
		{"adds again", "small/Rewrite"},
		{"shows its spool", "small/Targets"},
		{"records the clock", "small/Targets"},
		{"records arrival", "small/Arrival"},
		{"detects zip", "small/Detect"},
		{"forgets behind a reader", "small/Agreement"},
		{"copies", "small/ZeroCopy"},
		{"misaligns", "small/ZeroCopy"},
		{"finds anything", "small/Lookup"},
		{"trusts anybody", "small/Verify"},
		{"cannot be cancelled", "small/Verify"},
		{"overstates progress", "small/Verify"},
		{"no limit", "small/Limit"},
		{"no end", "small/Truncation"},
		{"no checksum", "small/BitFlips"},
		{"panics", "small/Hostile"},
		{"trusts counts", "small/Bounded"},
		{"swallows read errors", "small/BrokenDisk"},
		{"lazy metadata", "small/Emptied"},
		{"blind to faults", "small/Emptied"},
		{"lazy metadata", "small/AfterClose"},
		{"verifies closed", "small/AfterClose"},
		{"does not hold", "small/CloseWaits"},
		{"wears out", "small/Concurrent"},
		{"pins nothing", "small/Pin"},
		{"writes in place", "small/WriterErrors"},
		{"writes in place", "small/WriterMisuse"},
		{"ignores the disk", "small/DiskErrors"},
		{"allocates per tensor", "scale/Allocations"},
		{"copies data", "scale/Allocations"},
		{"reads all", "scale/LazyReader"},
		{"blind to faults", "scale/CutWhileMapped"},
		{"cannot be cancelled", "scale/CancelVerify"},
	} {
		t.Run(tt.bug+"/"+tt.fails, func(t *testing.T) {
			if raceEnabled && tt.fails == "scale/Allocations" {
				t.Skip("allocations are not counted under the race detector")
			}
			c := exec.Command(os.Args[0], "-test.run", "^TestToy$/^"+strings.ReplaceAll(tt.fails, "/", "$/^")+"$")
			c.Env = append(os.Environ(), bugVariable+"="+tt.bug)
			out, err := c.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestToy/"+tt.fails) {
				t.Errorf("%s did not notice a format that %s: %v\n%s", tt.fails, tt.bug, err, out)
			}
		})
	}
}
