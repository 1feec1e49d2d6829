package format

import (
	"slices"
	"strings"
	"testing"
)

func TestRegisterPanics(t *testing.T) {
	whole := *plainFake.codec()
	for name, change := range map[string]func(*Codec){
		"no name":   func(c *Codec) { c.Name = "" },
		"no Detect": func(c *Codec) { c.Name, c.Detect = "x1", nil },
		"no Parse":  func(c *Codec) { c.Name, c.Parse = "x2", nil },
		"no Encode": func(c *Codec) { c.Name, c.Encode = "x3", nil },
		"twice":     func(c *Codec) {},
	} {
		c := whole
		change(&c)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			Register(&c)
		}()
	}
	if _, err := Lookup("x1"); err == nil {
		t.Error("an incomplete codec was registered")
	}
}

func TestFormatsAreSorted(t *testing.T) {
	names := Formats()
	if !slices.IsSorted(names) {
		t.Errorf("Formats = %v", names)
	}
	for _, want := range []string{"fake", "fakedir", "tie1", "tie2"} {
		if !slices.Contains(names, want) {
			t.Errorf("Formats lacks %s: %v", want, names)
		}
		if c, err := Lookup(want); err != nil || c.Name != want {
			t.Errorf("Lookup(%q) = %v, %v", want, c, err)
		}
	}
	for _, name := range []string{"", "fak", "fakee", "FAKE"} {
		_, err := Lookup(name)
		errIs(t, "Lookup of "+name, err, ErrUnknownFormat)
		if err != nil && !strings.Contains(err.Error(), "fakedir") {
			t.Errorf("the error does not list the formats: %v", err)
		}
	}
}

func TestByExtension(t *testing.T) {
	for path, want := range map[string]string{
		"m.fake": "fake", "M.FAKE": "fake", "a/b.x/m.fake": "fake", "m.tie2": "tie2",
		"m": "", "fake": "", ".fake/m": "", "m.fake.gz": "", "m.": "",
	} {
		c, ok := ByExtension(path)
		if ok != (want != "") || ok && c.Name != want {
			t.Errorf("ByExtension(%q) = %v, %v", path, c, ok)
		}
	}
}

func TestDetect(t *testing.T) {
	for head, want := range map[string]string{
		fakeFile: "fake", "FAKE": "fake", "TIE": "tie1", "DIRECTORY": "fakedir",
	} {
		if got, err := Detect([]byte(head), int64(len(head))); got != want || err != nil {
			t.Errorf("Detect(%q) = %q, %v, want %q", head, got, err, want)
		}
	}
	for _, head := range []string{"", "FAK", "fake", "\x00\x00\x00\x00"} {
		got, err := Detect([]byte(head), int64(len(head)))
		errIs(t, "Detect of "+head, err, ErrUnknownFormat)
		if got != "" {
			t.Errorf("Detect(%q) = %q", head, got)
		}
	}
	// The extension breaks ties, and nothing else.
	for path, want := range map[string]string{"m": "tie1", "m.tie1": "tie1", "m.tie2": "tie2", "m.TIE2": "tie2", "m.fake": "tie1"} {
		if c, err := detect([]byte("TIE"), 3, path); err != nil || c.Name != want {
			t.Errorf("detect of %s: %v, %v, want %s", path, c, err, want)
		}
	}
}
