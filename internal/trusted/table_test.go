package trusted

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/live"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// some returns the changes to try: all of them in nightly, otherwise one, another one for each cell of the table.
func some(list []change, cell int) []change {
	if testhost.Nightly() {
		return list
	}
	cell %= len(list)
	return list[cell : cell+1]
}

// checkOf makes every second cell compare checksums before first use, too.
func checkOf(cell int) format.Check {
	if cell%2 == 0 {
		return format.CheckTouch
	}
	return format.CheckDefault
}

// find returns a use by its name.
func find(name string) *use {
	for i := range uses {
		if uses[i].name == name {
			return &uses[i]
		}
	}
	panic(name)
}

// model is a model of a kind on disk, for the cells of the table.
type model struct {
	*kind
	dir, bundle string
	all         []change
}

// prepare returns the model of a kind, which is made once.
func (k *kind) prepare(t *testing.T) *model {
	t.Helper()
	if k.made == nil {
		dir, bundle := k.make(t)
		k.want = k.reference(t, dir, bundle)
		k.made = &model{k, dir, bundle, k.changes(t, dir)}
	}
	return k.made
}

// cell returns a cell that makes a change when f, which opens the model, has come to event at.
func (m *model) cell(change change, at int) *cell {
	return &cell{kind: m.kind, dir: m.dir, bundle: m.bundle, change: change, at: at}
}

// isUsed reports whether a model has a file.
func (m *model) isUsed(file string) bool { return !m.one || file == m.open }

// refuses reports whether opening failed, which is an error of the test unless the files were not as signed. The error names
// the file that was changed, if that was not opened without a name, and no path twice. With a signature in the file, which is checked
// after it was parsed, a change can also be an error of parsing.
func (m *model) refuses(t *testing.T, what, file string, err error) bool {
	t.Helper()
	if err == nil {
		return false
	}
	named := strings.Count(err.Error(), "/"+file) // with a directory before it
	if named > 1 || named == 0 && file != m.open && !strings.Contains(err.Error(), file) {
		t.Errorf("%s: the error names the file %d times: %v", what, named, err)
	}
	isParsed := m.key != nil && (errors.Is(err, format.ErrCorrupt) || errors.Is(err, format.ErrChecksum) || errors.Is(err, format.ErrUnsupported))
	if !errors.Is(err, format.ErrSignature) && !isParsed {
		t.Errorf("%s: %v", what, err)
	}
	return true
}

// moment is when a file changes.
type moment struct {
	name string
	half bool // every second cell is enough
	run  func(t *testing.T, m *model, d *door, c *cell, what string) (refused int)
}

// few are the uses that are tried with each door: of each kind of access, one.
var few = []string{"metadata", "Native", "ReadInto", "Bytes"}

// usedBy opens a model and uses it.
func usedBy(t *testing.T, m *model, d *door, c *cell, what string) (refused int) {
	t.Helper()
	opened, err := d.open(c)
	if m.refuses(t, what, c.change.file, err) {
		return 1
	}
	defer opened.Close()
	for _, name := range few {
		refused += m.try(t, what, opened, find(name), false).refused
	}
	return refused
}

var moments = []moment{
	{name: "before opening", run: func(t *testing.T, m *model, d *door, c *cell, what string) int {
		c.tamper()
		return usedBy(t, m, d, c, what)
	}},
	{name: "before opening, by a new file", half: true, run: func(t *testing.T, m *model, d *door, c *cell, what string) int {
		c.replace = true
		c.tamper()
		return usedBy(t, m, d, c, what)
	}},
	{name: "not signed", run: func(t *testing.T, m *model, d *door, c *cell, what string) int {
		if m.key != nil || d.ranges {
			return 0
		}
		c.others = true
		opened, err := d.open(c)
		if m.refuses(t, what, c.change.file, err) {
			return 1
		}
		if m.isUsed(c.change.file) {
			t.Errorf("%s: it was not refused when it was opened", what)
		}
		expect.OK(t, opened.Close())
		return 0
	}},
	{name: "after the first file was hashed or read", run: func(t *testing.T, m *model, d *door, c *cell, what string) int {
		c.at = 0
		return usedBy(t, m, d, c, what)
	}},
	{name: "after the second file was hashed or read", half: true, run: func(t *testing.T, m *model, d *door, c *cell, what string) int {
		c.at = 1
		return usedBy(t, m, d, c, what)
	}},
	{name: "after opening", run: func(t *testing.T, m *model, d *door, c *cell, what string) (refused int) {
		opened, err := d.open(c)
		expect.OK(t, err)
		defer opened.Close()
		c.tamper()
		for _, name := range few {
			refused += m.try(t, what, opened, find(name), false).refused
		}
		return refused
	}},
	{name: "after opening, by a new file", half: true, run: func(t *testing.T, m *model, d *door, c *cell, what string) (refused int) {
		opened, err := d.open(c)
		expect.OK(t, err)
		defer opened.Close()
		c.replace = true
		c.tamper()
		for _, name := range few {
			refused += m.try(t, what, opened, find(name), false).refused
		}
		return refused
	}},
	{name: "after the bytes were lent", run: func(t *testing.T, m *model, d *door, c *cell, what string) (refused int) {
		opened, err := d.open(c)
		expect.OK(t, err)
		defer opened.Close()
		m.try(t, what, opened, find("Bytes"), false)
		c.tamper()
		for _, name := range few {
			refused += m.try(t, what, opened, find(name), !d.private).refused
		}
		return refused
	}},
}

// TestDoors is the table of trust, and ../shared/cases/attack/trust.go.txt through every door: doors, kinds of models, moments at which a file changes, and files and pieces of them. What is
// copied is what was signed, or ErrSignature; what is lent in place is so when it is lent first.
func TestDoors(t *testing.T) {
	testhost.NeedReplace(t)
	serve(t)
	cells := 0
	for n, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			m := k.prepare(t)
			for i := range doors {
				d := &doors[i]
				isLeftOut := d.wraps && (n+i)%4 > 0 && !testhost.Nightly()
				if !d.opens(k) || d.ranges && k.key != nil || isLeftOut {
					continue
				}
				for _, moment := range moments {
					cells++
					if moment.half && (n+i)%2 > 0 && !testhost.Nightly() {
						continue
					}
					for _, change := range some(m.all, cells) {
						c := m.cell(change, -1)
						c.ranges = d.ranges
						c.check = checkOf(cells)
						what := fmt.Sprintf("%s, %s, %v %s", k.name, d.name, change, moment.name)
						refused := moment.run(t, m, d, c, what)
						c.restore()
						if moment.name == "before opening" && refused == 0 && k.key == nil && m.isUsed(change.file) {
							t.Errorf("%s: it was not refused", what)
						}
					}
				}
			}
		})
	}
}

// TestUses tries every way to the bytes of a model, such as Native, which is ../shared/cases/attack/native.go.txt: a byte changes after the model was opened, and after its bytes were lent.
func TestUses(t *testing.T) {
	refused := make([]int, len(uses))
	wrong := 0
	for n, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			m := k.prepare(t)
			for i := range uses {
				u := &uses[i]
				for _, isShown := range []bool{false, true} {
					isLeftOut := isShown == ((n+i)%2 > 0) && !u.always
					if isLeftOut && !testhost.Nightly() {
						continue
					}
					list := some(m.all, n+2*i)
					if u.always {
						list = m.all
					}
					for _, change := range list {
						c := m.cell(change, -1)
						c.check = checkOf(n + i)
						opened, err := format.Open(c.path(), c.options())
						expect.OK(t, err)
						what := fmt.Sprintf("%s, %v after opening", k.name, change)
						if isShown {
							what = fmt.Sprintf("%s, %v after it was lent", k.name, change)
							m.try(t, what, opened, find("Bytes"), false)
						}
						c.tamper()
						o := m.try(t, what, opened, u, isShown)
						refused[i] += o.refused
						wrong += o.wrong
						expect.OK(t, opened.Close())
						c.restore()
					}
				}
			}
		})
	}
	for i := range uses {
		if refused[i] == 0 && !uses[i].private {
			t.Errorf("%s was never refused", uses[i].name)
		}
	}
	if wrong == 0 && testhost.Maps() {
		t.Error("no byte was changed after it was lent: nothing is in place")
	}
}

// TestVerifyTrusted: VerifyOptions.Trusted accepts the files of a model that was opened without a Trust, and refuses them if one
// of them changes or is not signed.
func TestVerifyTrusted(t *testing.T) {
	for n, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			m := k.prepare(t)
			untrusted := func(c *cell) *format.Model {
				opened, err := format.Open(c.path(), &format.Options{Workers: 1})
				expect.OK(t, err)
				_, err = opened.Verify(t.Context(), nil) // opens all files
				expect.OK(t, err)
				return opened
			}
			for i, how := range []string{"intact", "changed", "not signed"} {
				for _, change := range some(m.all, n+i) {
					if !m.isUsed(change.file) || how == "not signed" && m.key != nil {
						continue
					}
					c := m.cell(change, -1)
					c.others = how == "not signed"
					opened := untrusted(c)
					if how == "changed" {
						c.tamper()
					}
					_, err := opened.Verify(t.Context(), &format.VerifyOptions{Trusted: c.options().Trusted})
					isRefused := m.refuses(t, fmt.Sprintf("%s, %v %s", k.name, change, how), change.file, err)
					if isRefused != (how != "intact") {
						t.Errorf("%s, %v %s: %v", k.name, change, how, err)
					}
					expect.OK(t, opened.Close())
					c.restore()
				}
			}
		})
	}
}

// TestConvertFile: convert.File opens a model and copies it.
func TestConvertFile(t *testing.T) {
	for n, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			m := k.prepare(t)
			for at := -1; at < 2; at++ { // -1 is before opening
				for _, change := range some(m.all, n+at+1) {
					c := m.cell(change, at)
					if at < 0 {
						c.tamper()
					}
					o := &convert.Options{Lossy: true, Read: c.options(), Write: &format.WriteOptions{NoSync: true}}
					_, err := convert.File(t.Context(), c.path(), output(), o)
					c.restore()
					what := fmt.Sprintf("%s, %v at event %d", k.name, change, at)
					if m.refuses(t, what, c.change.file, err) {
						continue
					}
					got, err := os.ReadFile(output())
					expect.OK(t, err)
					if !bytes.Equal(got, []byte(k.want["convert.Model "])) {
						t.Errorf("%s: the copy is not what was signed", what)
					}
				}
			}
		})
	}
}

// TestReload: the files change after a generation was loaded. The next one is refused, or it is what was signed, and so is the
// current one.
func TestReload(t *testing.T) {
	testhost.NeedReplace(t)
	for n, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			m := k.prepare(t)
			for i, how := range []string{"in place", "by a new file"} {
				for _, change := range some(m.all, n+i) {
					c := m.cell(change, -1)
					c.replace = i == 1
					what := fmt.Sprintf("%s, %v %s", k.name, change, how)
					h, err := live.Open(t.Context(), c.path(), &live.Options{Open: c.options()})
					expect.OK(t, err)
					c.tamper()
					number, err := h.Reload(t.Context())
					if !m.refuses(t, what+", Reload", change.file, err) && m.key == nil && change.file == k.open {
						t.Errorf("%s: Reload was not refused: generation %d", what, number)
					}
					number, err = h.ForceReload(t.Context())
					if !m.refuses(t, what+", ForceReload", change.file, err) && m.key == nil && m.isUsed(change.file) {
						t.Errorf("%s: ForceReload was not refused: generation %d", what, number)
					}
					err = h.Do(func(opened *format.Model) error {
						for _, name := range few {
							m.try(t, what+", current", opened, find(name), false)
						}
						return nil
					})
					expect.OK(t, err)
					expect.OK(t, h.Close())
					c.restore()
					h, err = live.Open(t.Context(), c.path(), &live.Options{Open: c.options()})
					expect.OK(t, err)
					expect.OK(t, h.Close())
				}
			}
		})
	}
}
