package torch

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
)

// attack is a file of cases/attack, whose README says what must come of it.
type attack struct {
	name string
	file []byte
	want error // nil: the tensor w is 0 1 2 3
	text string
}

func attacks(t testing.TB) []attack {
	object := pickled("}(", str("w"), tensorOf(store("Float", "0", 16), 0, nums(4), nums(1)), "u")
	entry := func(name, data string) entryOf { return entryOf{name, []byte(data), false} }
	pkl, little, version := entry("m/data.pkl", object), entry("m/byteorder", "little"), entry("m/version", "3\n")
	storage := string(floats(16))
	flipped := archived(t, pkl, little, entry("m/data/0", storage), version)
	offset := bytes.Index(flipped, []byte("tQJ")) + len("tQJ")
	flipped[offset] ^= 4 // the storage offset, 0 before
	return []attack{
		{"torch-flipped-offset.pt", flipped, format.ErrChecksum, "data.pkl"},
		{"torch-byteorder-other-dir.pt", archived(t, pkl, little, entry("m/data/0", storage), entry("evil/byteorder", "big"), version), nil, ""},
		{"torch-byteorder-twice.pt", archived(t, pkl, little, entry("m/data/0", storage), entry("m/byteorder", "big"), version), format.ErrCorrupt, "there is another one"},
		{"torch-storage-other-dir.pt", archived(t, pkl, little, entry("evil/data/0", storage), version), format.ErrCorrupt, `storage "0", which is missing`},
		{"torch-pickle-bomb.pt", archived(t, entryOf{"m/data.pkl", []byte(pickled(strings.Repeat("N", 64<<20))), true}, entryOf{"m/data/0", floats(16), true}), format.ErrLimit, "data.pkl"},
	}
}

// TestAttacks opens the files torch-*.pt of cases/attack, built here and, where they are present, as they are there.
func TestAttacks(t *testing.T) {
	for _, tt := range attacks(t) {
		t.Run(tt.name, func(t *testing.T) {
			checkAttack(t, tt, tt.file)
			b, err := os.ReadFile(filepath.Join("../../../shared/cases/attack", tt.name))
			if errors.Is(err, os.ErrNotExist) {
				t.Skip("shared/cases/attack is missing: only the file that is built here was opened")
			}
			expect.OK(t, err)
			checkAttack(t, tt, b)
		})
	}
}

func checkAttack(t *testing.T, tt attack, file []byte) {
	t.Helper()
	if tt.want != nil {
		refuse(t, file, tt.want, tt.text)
		return
	}
	m, err := openBytes(file, nil)
	expect.OK(t, err)
	defer m.Close()
	_, err = m.Verify(t.Context(), nil)
	expect.OK(t, err)
	got := tensorsOf(t, m)
	for i := range got {
		got[i].Copy = false
	}
	if d := cmp.Diff([]seen{f32("w", false, floats(4), 4)}, got); d != "" {
		t.Error(d)
	}
}

// TestNames opens archives with entries besides those of the model, and packed by other programs.
func TestNames(t *testing.T) {
	object := pickled("}(", str("w"), tensorOf(store("Float", "0", 4), 0, nums(4), nums(1)), "u")
	other := pickled("}(", str("v"), num(1), "u")
	entry := func(name, data string) entryOf { return entryOf{name, []byte(data), false} }
	packed := func(name, data string) entryOf { return entryOf{name, []byte(data), true} }
	storage := string(floats(4))
	for _, tt := range []struct {
		name  string
		file  []byte
		notes []string
	}{
		{"directories first", archived(t, entry("m/", ""), entry("m/data/", ""), entry("m/data/0", storage), entry("m/data.pkl", object)), nil},
		{"all is deflated", archived(t, entry("m/", ""), packed("m/version", "3\n"), packed("m/byteorder", "little"), packed("m/data.pkl", object), packed("m/data/0", storage)), nil},
		{"a model of another name", archived(t, entry("m/data.pkl", object), entry("m/data/0", storage), entry("n/data.pkl", other), entry("n/data/0", "x")),
			[]string{`entries outside "m" are not of the model: 2, the first is "n/data.pkl"`}},
		{"the name of the first entry", archived(t, entry("m/version", "3"), entry("n/data.pkl", other), entry("n/data/0", "x"), entry("m/data.pkl", object), entry("m/data/0", storage)),
			[]string{`entries outside "m" are not of the model: 2, the first is "n/data.pkl"`}},
		{"a program of another name", archived(t, entry("m/data.pkl", object), entry("m/data/0", storage), entry("n/code/x.py", "x"), entry("readme", "x")),
			[]string{`entries outside "m" are not of the model: 2, the first is "n/code/x.py"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := format.OpenBytes(tt.file, nil)
			expect.OK(t, err)
			defer m.Close()
			expect.Equal(t, "torch", m.Format())
			expect.Equal(t, tt.notes, m.Notes())
			got := tensorsOf(t, m)
			for i := range got {
				got[i].Copy = !memory.LittleEndian
			}
			expect.Equal(t, []seen{f32("w", !memory.LittleEndian, floats(4), 4)}, got)
		})
	}
}

// TestStructureSums flips each bit of the content of the entries that are structure.
func TestStructureSums(t *testing.T) {
	object := pickled("}(", str("w"), tensorOf(store("Float", "0", 4), 0, nums(4), nums(1)), str("n"), num(5), "u")
	entry := func(name, data string) entryOf { return entryOf{name, []byte(data), false} }
	b := archived(t, entry("m/data.pkl", object), entry("m/byteorder", "little"), entry("m/version", "3\n"), entry("m/data/0", string(floats(4))))
	for _, part := range []string{object, "little", "3\n"} {
		at := bytes.Index(b, []byte(part))
		for bit := range 8 * len(part) {
			b[at+bit/8] ^= 1 << (bit % 8)
			m, err := openBytes(b, nil)
			if err == nil {
				m.Close()
			}
			if !errors.Is(err, format.ErrChecksum) {
				t.Errorf("bit %d of %q: %v, want %v", bit, part, err, format.ErrChecksum)
			}
			b[at+bit/8] ^= 1 << (bit % 8)
		}
	}
	at := bytes.Index(b, []byte("3\n"))
	b[at] = '4'
	m, err := openBytes(b, &format.Options{Check: format.CheckStructure})
	expect.OK(t, err)
	defer m.Close()
	if _, err := m.Verify(t.Context(), nil); !errors.Is(err, format.ErrChecksum) {
		t.Errorf("Verify of a file that was opened without checksums: %v, want %v", err, format.ErrChecksum)
	}
}
