package foreign

import (
	"strings"
	"testing"
)

// TestCut checks that the beginning of a file may be cut anywhere.
func TestCut(t *testing.T) {
	for _, k := range kinds {
		whole := strings.Repeat("\xfe", k.at) + k.magic
		if Name([]byte(whole), "") == "" {
			t.Errorf("%q is not known", whole)
		}
		for n := range whole {
			if got := Name([]byte(whole[:n]), ""); got != "" {
				t.Errorf("%q: %s", whole[:n], got)
			}
		}
	}
}

// TestPackages checks that the table names each format of this module once.
func TestPackages(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages {
		if seen[p.format] {
			t.Errorf("%s is listed twice", p.format)
		}
		seen[p.format] = true
		for _, ending := range p.endings {
			if got := ByEnding("DIR/M" + strings.ToUpper(ending)); got != p.format {
				t.Errorf("ByEnding of %s = %q, want %q", ending, got, p.format)
			}
		}
	}
	for _, name := range []string{"", "zip", "a model"} {
		if err := NoDriver(name); err != nil {
			t.Errorf("NoDriver(%q) = %v", name, err)
		}
	}
}

// FuzzName checks that Name handles any beginning.
func FuzzName(f *testing.F) {
	for _, k := range kinds {
		f.Add([]byte(strings.Repeat("\x08", k.at)+k.magic), "m.pb")
	}
	for _, s := range []string{"", "\x08", "\x08\xff\xff", "\x08\x80\x10\x01\x42", "\x10\x01", "\x80\x02", "PK\x03\x04" + strings.Repeat("\xff", 30), "\ufeff ", "  <", "{\xc3", "\n\x05"} {
		f.Add([]byte(s), "m.mlmodel")
	}
	f.Fuzz(func(t *testing.T, first []byte, path string) {
		Name(first, path)
		Guess(first)
		if is := Format(first); is != "" && Name(first, path) != Model(is) {
			t.Errorf("%q is %s, but %s", first, is, Name(first, path))
		}
		_ = Entry(path)
	})
}
