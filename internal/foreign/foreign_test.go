package foreign

import (
	"strings"
	"testing"
)

// sample returns what has a pattern.
var sample = strings.NewReplacer("*", "x", "[0-9]", "1", "[a-z]", "b")

// TestKinds checks that each line of the table is reached, and says what to do.
func TestKinds(t *testing.T) {
	for _, k := range kinds {
		name := sample.Replace(k.pattern)
		want, got := k.is, ""
		switch k.clue {
		case begins:
			whole := strings.Repeat("\xfe", k.at) + k.pattern
			got = Name([]byte(whole), "")
			for n := range whole {
				if cut := Name([]byte(whole[:n]), ""); cut != "" {
					t.Errorf("%q: %s", whole[:n], cut)
				}
			}
		case says:
			got = Name([]byte("\ufeff\n"+k.pattern+" and more"), "x.safetensors")
		case isNamed:
			got = Name([]byte("GGUF"), "DIR.pt2/"+strings.ToUpper(name))
		case archives:
			got = Entry("DIR/" + name)
			want = strings.Replace(want, "%.200s", "DIR/"+name, 1)
		case holds:
			got = Directory("DIR", []string{"README.md", "blobs", name})
		case imports:
			got = Pickle([]string{"torch", name})
		}
		if NoDriver(want) != nil {
			want = Model(want)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", k.pattern, got, want)
		}
		if !strings.Contains(want, ": ") {
			t.Errorf("%q: %s does not say what to do", k.pattern, want)
		}
	}
}

// TestZeros checks what is taken for a file that was never filled.
func TestZeros(t *testing.T) {
	for n := range 64 {
		want := ""
		if n >= leastZeros {
			want = zeros
		}
		if got := Name(make([]byte, n), "m.safetensors"); got != want {
			t.Errorf("%d zeros: %q, want %q", n, got, want)
		}
		if got := Name(append(make([]byte, n), 1), "m.safetensors"); got != "" {
			t.Errorf("%d zeros and a one: %q", n, got)
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
		f.Add([]byte(strings.Repeat("\x08", k.at)+k.pattern), sample.Replace(k.pattern))
	}
	for _, s := range []string{"", "\x08", "\x08\xff\xff", "\x08\x80\x10\x01\x42", "\x10\x01", "\x80\x02", "PK\x03\x04" + strings.Repeat("\xff", 30), "\ufeff ", "  <", "{\xc3", "\n\x05"} {
		f.Add([]byte(s), "m.mlmodel")
	}
	f.Fuzz(func(t *testing.T, first []byte, path string) {
		Name(first, path)
		Guess(first)
		if is := Format(first); is != "" && ByName(path) == "" && Name(first, path) != Model(is) {
			t.Errorf("%q is %s, but %s", first, is, Name(first, path))
		}
		_ = Entry(path)
	})
}
