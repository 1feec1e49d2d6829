package live

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/tensor"
	"golang.org/x/sys/unix"
)

// writeLarge writes n tensors of size random bytes, named "0" and so on.
func writeLarge(t *testing.T, path string, n, size int) {
	t.Helper()
	p := &format.Plan{}
	for i := range n {
		p.Tensors = append(p.Tensors, tensor.Info{Name: strconv.Itoa(i), DType: tensor.Float32, Shape: tensor.Shape{int64(size / 4)}})
	}
	w, err := mag.Create(path, p, &mag.WriteOptions{WriteOptions: format.WriteOptions{NoSync: true}})
	if err != nil {
		t.Fatal(err)
	}
	b, r := make([]byte, size), rand.New(rand.NewPCG(1, 2))
	for i := range n {
		for k := 0; k < size; k += 8 {
			binary.LittleEndian.PutUint64(b[k:], r.Uint64())
		}
		if err := w.WriteTensor(strconv.Itoa(i), bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// Only pages that were written back leave the cache.
	if err := errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
		t.Fatal(err)
	}
}

// reads reads tensors and returns how many pages this thread had to wait for.
func reads(m *format.Model, names ...string) (faults int64, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &before); err != nil {
		return 0, err
	}
	for _, name := range names {
		v, err := m.Tensor(name)
		if err != nil {
			return 0, err
		}
		if err := v.Use(touch); err != nil {
			return 0, err
		}
	}
	err = unix.Getrusage(unix.RUSAGE_THREAD, &after)
	return int64(after.Majflt - before.Majflt), err
}

// touched keeps the compiler from leaving out what is read for nothing else.
var touched atomic.Uint32

// touch reads a byte of every page.
func touch(b []byte) error {
	for i := 0; i < len(b); i += 4096 {
		touched.Add(uint32(b[i]))
	}
	return nil
}

// TestHot: hot tensors stay in memory when the system takes the pages of all others.
func TestHot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.mag")
	writeLarge(t, path, 8, 256<<10)
	h, err := Open(path, &Options{Hot: []string{"2", "5"}})
	if errors.Is(err, format.ErrLimit) {
		t.Skip("the process may not lock 512 KiB in memory: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = h.Do(func(m *format.Model) error {
		if s := m.Stats(); s.Locked < 512<<10 || s.Locked >= 768<<10 {
			t.Errorf("%d bytes are locked", s.Locked)
		}
		for _, v := range m.Tensors() {
			if err := v.Evict(); err != nil {
				return err
			}
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return err
		}
		for name, v := range m.Tensors() {
			n, err := v.Resident()
			if hot := name == "2" || name == "5"; err != nil || n >= 0 && (n == 256<<10) != hot {
				t.Errorf("tensor %s: %d bytes are resident, %v", name, n, err)
			}
		}
		faults, err := reads(m, "2", "5")
		if faults != 0 {
			t.Errorf("the hot tensors waited for %d pages", faults)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := Open(path, &Options{Hot: []string{"none"}}); !errors.Is(err, format.ErrNotFound) {
		t.Errorf("a hot tensor that the model lacks: %v", err)
	}
}

const (
	largeTensors = 64
	largeSize    = 4 << 20
	largeLimit   = largeTensors * largeSize / 4
)

var hot = []string{"7", "31", "50"}

// TestHotBeyondMemory serves a model of four times the memory of its cgroup, and the hot
// tensors never fault.
func TestHotBeyondMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads 256 MB from the disk several times")
	}
	if path := os.Getenv("WEIGHTMAP_HOT"); path != "" {
		serveHot(t, path)
		return
	}
	group := memoryGroup(t, largeLimit)
	path := filepath.Join(t.TempDir(), "m.mag")
	writeLarge(t, path, largeTensors, largeSize)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The shell enters the cgroup before the program starts, so that all its memory counts.
	c := exec.Command("/bin/sh", "-c", `echo $$ > "$0" && exec "$1" -test.run '^TestHotBeyondMemory$' -test.v`, filepath.Join(group, "cgroup.procs"), self)
	c.Env = append(os.Environ(), "WEIGHTMAP_HOT="+path)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "pages") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// serveHot reads cold and hot tensors by turns.
func serveHot(t *testing.T, path string) {
	h, err := Open(path, &Options{Hot: hot})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var cold, warm int64
	for round := range 3 {
		for i := range largeTensors {
			err := h.Do(func(m *format.Model) error {
				n, err := reads(m, strconv.Itoa(i))
				if name := strconv.Itoa(i); name != hot[0] && name != hot[1] && name != hot[2] {
					cold += n
				}
				if err == nil && i%8 == round {
					n, err = reads(m, hot...)
					warm += n
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	fmt.Printf("the cold tensors waited for %d pages, the hot ones for %d\n", cold, warm)
	if warm != 0 || cold == 0 {
		t.Error("the hot tensors should wait for none, and others for some")
	}
}

// memoryGroup makes a cgroup that may have n bytes of memory.
func memoryGroup(t *testing.T, n int) string {
	t.Helper()
	for _, g := range []struct{ parent, limit string }{
		{"/sys/fs/cgroup", "memory.max"},
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
	} {
		dir := filepath.Join(g.parent, fmt.Sprintf("weightmap-%d", os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(dir) })
		if _, err := os.Stat(filepath.Join(dir, g.limit)); err != nil {
			continue // no controller of memory here
		}
		if err := os.WriteFile(filepath.Join(dir, g.limit), []byte(strconv.Itoa(n)), 0); err == nil {
			return dir
		}
	}
	t.Skip("no memory cgroup can be made here: that takes root and a writable /sys/fs/cgroup")
	return ""
}
