package format

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestRegisterPanics(t *testing.T) {
	before := Names()
	for name, d := range map[string]Format{"nil": nil, "no driver": asFormat{}, "no name": asFormat{&fake{}}, "twice": asFormat{&fake{name: "fake"}}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			Register(d)
		}()
	}
	if !slices.Equal(Names(), before) {
		t.Errorf("registered: %v, were %v", Names(), before)
	}
}

func TestFormatsAreSorted(t *testing.T) {
	names := Names()
	if !slices.IsSorted(names) {
		t.Errorf("Names = %v", names)
	}
	for _, want := range []string{"fake", "fakedir", "tie1", "tie2"} {
		if !slices.Contains(names, want) {
			t.Errorf("Names lacks %s: %v", want, names)
		}
		if f, err := ByName(want); err != nil || nameOfFormat(f) != want {
			t.Errorf("ByName(%q) = %v, %v", want, f, err)
		}
	}
	for _, name := range []string{"", "fak", "fakee", "FAKE"} {
		_, err := ByName(name)
		errIs(t, "ByName of "+name, err, ErrUnknownFormat)
		if err != nil && !strings.Contains(err.Error(), "fakedir") {
			t.Errorf("the error does not list the formats: %v", err)
		}
	}
}

func TestByExtension(t *testing.T) {
	for path, want := range map[string]string{
		"m.fake": "fake", "M.FAKE": "fake", "a/b.x/m.fake": "fake", "m.tie2": "tie2", "m.fake/": "fake",
		"m": "", "fake": "", ".fake/m": "", "m.fake.gz": "", "m.": "",
	} {
		f, err := ByExtension(path)
		if nameOfFormat(f) != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, ErrUnknownFormat) {
			t.Errorf("ByExtension(%q) = %v, %v", path, f, err)
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
		if c := detect([]byte("TIE"), 3, path); c == nil || c.Describe().Name != want {
			t.Errorf("detect of %s: %v, want %s", path, c, want)
		}
	}
}
