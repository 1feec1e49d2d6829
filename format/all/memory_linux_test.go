package all_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// attack is a small file that asks for much.
type attack struct {
	name, ext string
	want      want
	build     func(t testing.TB) []byte
}

// want is what comes of an attack.
type want struct {
	step, field string // that is refused with ErrLimit, "" when all is cheap
	inflated    int64  // bytes of structure that its compression may hold
	tensor      int64  // bytes of one tensor
	lists       int64  // bytes that lists whose length is not known take while they grow
}

func plain(b func() []byte) func(testing.TB) []byte { return func(testing.TB) []byte { return b() } }

const mib = 1 << 20

var attacks = []attack{
	{"wia: 1,048,576 empty nodes, plain", ".wia", want{step: "open", field: "graph"}, plain(func() []byte { return wiaGraph(crowd(2*mib, field(2))) })},
	{"wia: 4 MiB of empty graph inputs, plain", ".wia", want{step: "open", field: "graph"}, plain(func() []byte { return wiaGraph(crowd(4*mib, field(3))) })},
	{"wia: 16 MiB of empty graph inputs in zstd", ".wia", want{step: "open", field: "graph", inflated: 16 * mib}, func(t testing.TB) []byte { return wiaPacked(t, crowd(16*mib, field(3))) }},
	{"wia: 1,048,576 empty nodes in zstd", ".wia", want{step: "open", field: "graph", inflated: 2 * mib}, func(t testing.TB) []byte { return wiaPacked(t, crowd(2*mib, field(2))) }},
	{"wia: node inputs in zstd", ".wia", want{step: "open", field: "graph", inflated: 16 * mib}, func(t testing.TB) []byte { return wiaPacked(t, field(2, crowd(16*mib-10, field(3)))) }},
	{"wia: attributes in zstd", ".wia", want{step: "open", field: "graph", inflated: 6 * mib}, func(t testing.TB) []byte {
		return wiaPacked(t, field(2, many(5*mib, attribute)))
	}},
	{"wia: integers of an attribute in zstd", ".wia", want{step: "open", field: "graph", inflated: 16 * mib}, func(t testing.TB) []byte {
		return wiaPacked(t, field(2, field(5, field(8, make([]byte, 15*mib)))))
	}},
	{"wia: strings of an attribute in zstd", ".wia", want{step: "open", field: "graph", inflated: 16 * mib}, func(t testing.TB) []byte {
		return wiaPacked(t, field(2, field(5, crowd(15*mib, field(9)))))
	}},
	{"wia: dims of an initializer in zstd", ".wia", want{step: "open", field: "graph.nodes[0].attributes[0].t.dims", inflated: 16 * mib}, func(t testing.TB) []byte {
		return wiaPacked(t, field(2, field(5, field(5, field(2, make([]byte, 15*mib)), number(3, 5)))))
	}},
	{"wia: metadata keys in zstd", ".wia", want{step: "open", field: "metadata", inflated: 16 * mib}, func(t testing.TB) []byte {
		return wiaFile(2, packed(t, []byte(manyKeys(16*mib-100, "0"))), packed(t, nil), nil)
	}},
	{"wia: four tensors of 1 GiB of zeros in zstd", ".wia", want{tensor: 1024 * mib}, zeros(wiaWith(wia.Zstd), 4, 1024*mib)},
	{"wia: two tensors of 64 MiB of zeros in gzip", ".wia", want{tensor: 64 * mib}, zeros(wiaWith(wia.Gzip), 2, 64*mib)},
	{"wia: empty tensors", ".wia", want{}, plain(func() []byte {
		return wiaFile(0, nil, nil, many(4*mib, func(i int) []byte {
			return field(2, field(1, field(1, fmt.Appendf(nil, "%x", i)), number(2, 0), number(3, 7)), number(4, 0))
		}))
	})},
	{"wia: ranges of an external file", ".wia", want{}, plain(func() []byte {
		return wiaFile(0, nil, nil, many(4*mib, func(i int) []byte {
			return field(1, field(1, fmt.Appendf(nil, "%x", i)), number(2, 0), number(3, 7), field(5, field(1, []byte("data")), number(2, uint64(i))))
		}))
	})},
	{"mobi: 524,288 empty operators", ".mobi", want{step: "open", field: "operators"}, plain(func() []byte { return mobiOperators(4*mib, []byte{6, 0, 0, 0, 0, 0, 0, 0}) })},
	{"mobi: parameters", ".mobi", want{}, plain(func() []byte { return mobiOperators(4*mib, mobiParams(4096)) })},
	{"mobi: two constants of 64 MiB of zeros", ".mobi", want{tensor: 64 * mib}, zeros(&format.WriteOptions{Compression: "gzip", Level: 9, Format: mobi.Format{}}, 2, 64*mib)},
	{"mle: overlapping attributes", ".mle", want{step: "open", field: "graph"}, plain(func() []byte { return mleOverlap(mib / 2) })},
	{"mle: ids without descriptors", ".mle", want{step: "open", field: "graph"}, plain(func() []byte { return mleLoose(4 * mib) })},
	{"mle: attributes", ".mle", want{}, plain(func() []byte { return mleAttributes(manyKeys(4*mib, "0")) })},
	{"mle: an array in an attribute", ".mle", want{lists: 32 * mib}, plain(func() []byte { return mleAttributes(`{"a":[` + strings.Repeat("0,", 2*mib) + `0]}`) })},
	{"mle: metadata keys", ".mle", want{}, plain(func() []byte {
		return mleFile(0, []byte(manyKeys(4*mib, "0")), mleGraph(nil, nil, nil), nil, nil)
	})},
	{"mle: four chunks of 256 MiB of zeros in zstd", ".mle", want{tensor: 256 * mib},
		zeros(&format.WriteOptions{Compression: "zstd", Level: 1, Format: mle.Format{Chunked: true, ChunkSize: 256 * mib}}, 4, 256*mib)},
	{"mle: two chunks of 64 MiB of zeros in LZ4", ".mle", want{tensor: 64 * mib},
		zeros(&format.WriteOptions{Compression: "lz4", Format: mle.Format{Chunked: true, ChunkSize: 64 * mib}}, 2, 64*mib)},
	{"mle: 256 MiB of zeros in one zstd frame", ".mle", want{tensor: 256 * mib}, zeros(&format.WriteOptions{Compression: "zstd", Level: 1, Format: mle.Format{}}, 4, 64*mib)},
	{"onnx: 1,048,576 empty nodes", ".onnx", want{step: "open", field: "graph"}, plain(func() []byte { return onnxFile(crowd(2*mib, field(1))) })},
	{"onnx: attributes", ".onnx", want{}, plain(func() []byte { return onnxFile(field(1, many(4*mib, attribute))) })},
	{"onnx: node inputs", ".onnx", want{}, plain(func() []byte { return onnxFile(field(1, crowd(4*mib, field(1)))) })},
	{"onnx: graph outputs", ".onnx", want{step: "open", field: "graph"}, plain(func() []byte { return onnxFile(crowd(2*mib, field(12))) })},
	{"onnx: properties", ".onnx", want{}, plain(func() []byte {
		b := onnxFile()
		for i := range 1<<19 - 10 {
			b = append(b, field(14, field(1, fmt.Append(nil, i)))...)
		}
		return b
	})},
	{"onnx: operator sets", ".onnx", want{step: "open", field: "opset_import"}, plain(func() []byte {
		return append(onnxFile(), crowd(2*mib-100, field(8))...)
	})},
	{"onnx: a domain of control characters", ".onnx", want{step: "open", field: "opset_import"}, plain(func() []byte {
		return append(onnxFile(), field(8, field(1, bytes.Repeat([]byte{1}, 8*mib)))...)
	})},
	{"onnx: data between other fields", ".onnx", want{}, plain(func() []byte {
		pairs := bytes.Repeat(append(number(5, 1), number(15, 0)...), mib)
		return onnxFile(field(5, number(1, mib), number(2, 6), field(8, []byte("w")), pairs))
	})},
	{"onnx: external files of a function", ".onnx", want{}, plain(func() []byte {
		return append(onnxFile(), field(25, field(7, field(5, many(mib, func(i int) []byte {
			location := field(13, field(1, []byte("location")), field(2, fmt.Appendf(nil, "%x", i)))
			return field(10, number(1, 0), number(2, 1), number(14, 1), location)
		}))))...)
	})},
	{"onnx: initializers of unknown types", ".onnx", want{}, plain(func() []byte {
		return onnxFile(many(4*mib, func(i int) []byte {
			return field(5, number(1, 0), number(2, uint64(100+i)), field(8, fmt.Appendf(nil, "%x", i)))
		}))
	})},
	{"onnx: empty initializers", ".onnx", want{}, plain(func() []byte {
		return onnxFile(many(4*mib, func(i int) []byte { return field(5, number(1, 0), number(2, 3), field(8, fmt.Appendf(nil, "%x", i))) }))
	})},
	{"npz: two arrays of 64 MiB of zeros", ".npz", want{tensor: 64 * mib}, func(t testing.TB) []byte { return npzZeros(t, 2, 64*mib) }},
	{"npz: empty arrays", ".npz", want{}, func(t testing.TB) []byte { return npzCrowd(t, 4*mib) }},
	{"safetensors: empty tensors", ".safetensors", want{}, plain(func() []byte { return stCrowd(4 * mib) })},
	{"safetensors: metadata keys", ".safetensors", want{}, plain(func() []byte { return stMetadata(4 * mib) })},
	{"gguf: an array of bools", ".gguf", want{}, plain(func() []byte { return ggufFlags(4 * mib) })},
	{"gguf: metadata entries", ".gguf", want{}, plain(func() []byte { return ggufEntries(4 * mib) })},
	{"gguf: empty tensors", ".gguf", want{}, plain(func() []byte { return ggufTensors(4 * mib) })},
}

// child is what the process that opens a file reports of each step, in bytes.
type child struct {
	Step string
	// Counted is what the model's account has after the step, and Live is what is live then and was not before there
	// was a model.
	Counted, Live int64
	// Peak is the most that a garbage collection during the step found live, and Resident is how much the resident memory
	// of the process grew, 0 if the system does not tell.
	Peak, Resident int64
	Err            string
	Limit          bool // it is ErrLimit
	Field          string
	Whole          bool // it says format and offset
}

const childEnv = "WEIGHTMAP_MEMORY_CHILD"

// Limits of the process, and of one step in it.
const (
	processLimit = 512 * mib
	modelLimit   = 48 * mib
	// Live memory that nothing counts, since it does not depend on the files of a model.
	uncounted = 2 * mib
)

// countedFormat is a format with a driver that tells the account of its last model.
type countedFormat struct {
	format.Format
	account **driver.Memory
}

// Driver implements format.Format.
func (f countedFormat) Driver() driver.Driver { return counting{f.Format.Driver(), f.account} }

// counting is a driver that tells the account of its last model.
type counting struct {
	driver.Driver
	account **driver.Memory
}

// Parse implements driver.Driver.
func (d counting) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed, error) {
	*d.account = o.Memory
	return d.Driver.Parse(src, x, o)
}

// reserved returns what is reserved in an account with a limit.
func reserved(m *driver.Memory, limit int64) int64 {
	m.Limit(math.MaxInt64)
	defer m.Limit(limit)
	return math.MaxInt64 - m.Left()
}

// TestMemoryChild is the process that TestMemory starts. Alone it does nothing.
func TestMemoryChild(t *testing.T) {
	path := os.Getenv(childEnv)
	if path == "" {
		t.Skip("it is run by TestMemory")
	}
	expect.OK(t, syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: processLimit, Max: processLimit}))
	f := expect.Must(format.ByName(strings.TrimPrefix(filepath.Ext(path), ".")))
	var (
		m       *format.Model
		g       *schema.Graph // stays live with the model
		account *driver.Memory
		limit   int64 // of the account
	)
	refused := false // by opening it as is
	hasData := false // in its first tensor
	opened := func(f func() error) func() error {
		return func() error {
			if refused {
				return nil
			}
			return f()
		}
	}
	graph := func() (err error) {
		g, err = m.Graph()
		return err
	}
	verify := func() error { _, err := m.Verify(context.Background(), nil); return err }
	decode := func() error {
		if m.Len() == 0 {
			return nil
		}
		_, err := m.At(0).Bytes()
		return err
	}
	open := func(most int64) (err error) {
		limit = most
		m, err = format.Open(path, &format.Options{Format: countedFormat{f, &account}, MaxMemory: most})
		if err != nil {
			account = nil // it keeps the model in memory
		}
		return err
	}
	debug.SetGCPercent(testhost.HeapPercent)
	heap := testhost.WatchHeap()
	for _, step := range []struct {
		name  string
		fresh bool // it opens the model
		run   func() error
	}{
		{"open", true, func() error {
			err := open(0)
			refused = err != nil
			hasData = !refused && m.Len() > 0 && m.At(0).Info().Size > 0
			return err
		}},
		{"graph", false, opened(graph)},
		{"verify", false, opened(verify)},
		{"inspect", false, opened(func() error {
			if !testhost.Nightly() {
				return nil
			}
			return inspect(m)
		})},
		// Within the limit of the process, whatever the size of a tensor.
		{"decode", true, opened(func() error {
			if !hasData {
				return nil
			}
			if err := open(processLimit * 7 / 8); err != nil {
				return err
			}
			return decode()
		})},
		{"limited", true, func() error {
			err := open(modelLimit)
			if err == nil {
				err = errors.Join(graph(), verify(), decode())
			}
			return err
		}},
	} {
		if step.fresh && m != nil {
			m.Close()
			m, g, account = nil, nil, nil // or they count as what was there before, and hide what the step takes
		}
		debug.FreeOSMemory()
		before := int64(-1)
		if os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil { // resets VmHWM, where the system allows it
			before = status(t, "VmRSS")
		}
		heap.Reset()
		err := step.run()
		c := child{Step: step.name, Peak: heap.Peak(), Live: heap.Live(), Limit: errors.Is(err, format.ErrLimit)}
		if before >= 0 {
			c.Resident = max(0, status(t, "VmHWM")-before)
		}
		if account != nil {
			c.Counted = reserved(account, limit)
		}
		runtime.KeepAlive(g)
		if err != nil {
			c.Err = err.Error()
		}
		var e *tensor.Error
		if errors.As(err, &e) {
			c.Field, c.Whole = e.Field, e.Format != "" && e.Offset >= 0
		}
		line, _ := json.Marshal(c)
		fmt.Printf("\nchild %s\n", line)
	}
}

// inspect makes of a model what weightmap inspect shows.
func inspect(m *format.Model) error {
	var infos []tensor.Info
	for _, v := range m.Tensors() {
		infos = append(infos, v.Info())
	}
	g, err := m.Graph()
	e := json.NewEncoder(io.Discard)
	for _, info := range infos {
		err = errors.Join(err, e.Encode(info.Name))
	}
	for i := 0; g != nil && i < len(g.Nodes); i++ {
		err = errors.Join(err, e.Encode(&g.Nodes[i]))
	}
	meta, unread := m.Metadata()
	return errors.Join(err, unread, e.Encode([]any{meta, m.Notes()}))
}

// status reads a field of /proc/self/status, which is in kB.
func status(t *testing.T, name string) int64 {
	t.Helper()
	b := expect.Read(t, "/proc/self/status")
	m := regexp.MustCompile(`(?m)^` + name + `:\s+(\d+) kB`).FindSubmatch(b)
	if m == nil {
		t.Fatalf("no %s in /proc/self/status", name)
	}
	n, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return n << 10
}

// TestMemory opens files that are made to cost much, in a process that may have 512 MB. After opening, Graph, verification
// and decoding no more is live than the model's account has, and meanwhile no more was live than the limits allow. Nothing
// ends the process; what is refused is ErrLimit, with its place.
func TestMemory(t *testing.T) {
	switch {
	case testing.Short():
		t.Skip("it takes seconds")
	case math.MaxInt == math.MaxInt32:
		t.Skip("limits are measured where addresses have 64 bits")
	case testhost.Race:
		t.Skip("the race detector takes memory too")
	}
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			if a.want.tensor > 64*mib {
				testhost.NeedNightly(t, "gigabytes of zeros")
			}
			t.Parallel()
			b := a.build(t)
			path := filepath.Join(t.TempDir(), "attack"+a.ext)
			expect.OK(t, os.WriteFile(path, b, 0o600))
			// What external data is looked for in: zeros.
			expect.OK(t, os.WriteFile(filepath.Join(filepath.Dir(path), "data"), make([]byte, mib), 0o600))
			cmd := exec.Command(os.Args[0], "-test.run=^TestMemoryChild$", "-test.v")
			cmd.Env = append(os.Environ(), childEnv+"="+path, "GOMEMLIMIT=", "GOMAXPROCS=2") // each goroutine of a verification has its buffers
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("the process ended: %v\n%.2000s", err, out)
			}
			steps := 0
			for _, line := range strings.Split(string(out), "\n") {
				text, ok := strings.CutPrefix(line, "child ")
				if !ok {
					continue
				}
				var c child
				expect.OK(t, json.Unmarshal([]byte(text), &c))
				steps++
				t.Logf("%d bytes: %-8s MiB: %6.1f counted, %6.1f live, %6.1f at most, %6.1f resident; %.200s", len(b), c.Step,
					float64(c.Counted)/mib, float64(c.Live)/mib, float64(c.Peak)/mib, float64(c.Resident)/mib, c.Err)
				a.want.check(t, &c, int64(len(b)))
			}
			if steps != 6 {
				t.Errorf("%d steps of 6", steps)
			}
		})
	}
}

// check compares one step with what it may take.
func (w *want) check(t *testing.T, c *child, stored int64) {
	refused := w.step != "" && (c.Step == w.step || c.Step == "inspect" && w.step == "graph")
	most := 16*mib + 16*stored + w.inflated + w.lists
	switch c.Step {
	case "decode":
		most = max(most, w.tensor)
		refused = w.tensor > processLimit
	case "limited":
		most = modelLimit + w.lists
		refused = c.Limit
	case "inspect": // what the test makes of the model is most of it
		most = processLimit
	}
	if c.Live > c.Counted+uncounted {
		t.Errorf("%s: %d bytes are live, %d are counted", c.Step, c.Live, c.Counted)
	}
	if c.Peak > testhost.MostFound(most) {
		t.Errorf("%s: %d bytes were live, at most %d are due, and a margin", c.Step, c.Peak, most)
	}
	if c.Resident > testhost.MostResident(most) {
		t.Errorf("%s: %d bytes were resident, where %d may be live", c.Step, c.Resident, most)
	}
	if c.Limit != refused || !refused && c.Err != "" {
		t.Errorf("%s: error %q, want ErrLimit: %v", c.Step, c.Err, refused)
	}
	if c.Step == w.step && (!strings.HasPrefix(c.Field, w.field) || !c.Whole) {
		t.Errorf("%s: field %q, format and offset: %v, want field %q and both: %s", c.Step, c.Field, c.Whole, w.field, c.Err)
	}
}

// TestOpeningTouchesNothing: opening reads the structure of a file through its descriptor,
// in every format, so that no page of the mapping is touched before a tensor is used.
func TestOpeningTouchesNothing(t *testing.T) {
	testhost.NeedResident(t)
	for _, name := range format.Writable() {
		t.Run(name, func(t *testing.T) {
			path, p := filepath.Join(t.TempDir(), "0."+name), &schema.Schema{}
			for i := range 40 {
				p.Tensors = append(p.Tensors, list(tensor.Float32, fmt.Sprint(i), 5<<10))
			}
			if name == "tsr" || name == "npy" { // whose tensor has the name of the file
				p.Tensors = p.Tensors[:1]
			}
			expect.OK(t, create(name, path, p, &format.WriteOptions{NoSync: true}))
			m := open(t, path, nil)
			if s := m.Stats(); s.Mapped == 0 || s.Heap != 0 || s.Resident != 0 {
				t.Errorf("%+v", s)
			}
			_, err := m.At(0).ReadInto(make([]byte, 20<<10))
			expect.OK(t, err)
			if s := m.Stats(); s.Resident == 0 {
				t.Error("reading a tensor touches nothing")
			}
		})
	}
}
