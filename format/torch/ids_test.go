package torch

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// TestIDs: a persistent id, or a storage in the pickle, that torch.save does not write is refused by the check that names it.
func TestIDs(t *testing.T) {
	inZIP := func(storage string) []byte {
		return saved(t, pickled(dictOf(str("w"), tensorOf(storage, 0, nums(4), nums(1)))), floats(4))
	}
	inLegacy := func(storage string) []byte {
		return legacy(pickled(dictOf(str("w"), tensorOf(storage, 0, nums(4), nums(1)))), []string{"0"}, []int64{4}, floats(4))
	}
	view := func(parts ...string) []byte { return inLegacy(oldStore("Float", "0", 4, tup(parts...))) }
	text := func(id string) []byte { return inZIP("P" + id + "\n") }
	inner := legacy(pickled(oldStore("Float", "k", 4, "N")), []string{"k"}, []int64{4}, floats(4))
	bytesOf := "B" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(inner)))) + string(inner)
	const (
		notAsWritten = "is not as torch.save writes it"
		leaves       = "the view of a persistent id leaves its storage"
	)
	for _, tt := range []struct {
		name string
		file []byte
		want error // nil: it opens
		text string
	}{
		{"as it is written", inZIP(store("Float", "0", 4)), nil, ""},
		{"a view", view(str("v"), num(0), num(4)), nil, ""},
		{"as text", text("('storage', <class 'torch.FloatStorage'>, '0', 'cpu', 4)"), nil, ""},
		{"in the pickle", inZIP(get("torch.storage", "_load_from_bytes") + tup(bytesOf) + "R"), nil, ""},

		{"the count is a text", inZIP(tup(str("storage"), get("torch", "FloatStorage"), str("0"), str("cpu"), str("4")) + "Q"), format.ErrCorrupt, "a persistent id " + notAsWritten},
		{"a view of two values", view(str("v"), num(0)), format.ErrCorrupt, "the view of a persistent id " + notAsWritten},
		{"a view from None", view(str("v"), "N", num(4)), format.ErrCorrupt, leaves},
		{"a view of None elements", view(str("v"), num(0), "N"), format.ErrCorrupt, leaves},
		{"a view from -1", view(str("v"), num(-1), num(4)), format.ErrCorrupt, leaves},
		{"a view of -1 elements", view(str("v"), num(0), num(-1)), format.ErrCorrupt, leaves},
		{"a view of more than its storage", view(str("v"), num(0), num(5)), format.ErrCorrupt, leaves},
		{"a view beyond the end", view(str("v"), num(1), num(4)), format.ErrCorrupt, leaves},
		{"text without its beginning", text("torch.FloatStorage'>, '0', 'cpu', 4)"), format.ErrCorrupt, `of type "str" ` + notAsWritten},
		{"text with a negative count", text("('storage', <class 'torch.FloatStorage'>, '0', 'cpu', -4)"), format.ErrCorrupt, `of type "str" ` + notAsWritten},
		{"text with a class without module", text("('storage', <class 'FloatStorage'>, '0', 'cpu', 4)"), format.ErrCorrupt, `of type "str" ` + notAsWritten},
		{"text with 2^62 elements", text("('storage', <class 'torch.FloatStorage'>, '0', 'cpu', 4611686018427387904)"), format.ErrCorrupt, "of 4611686018427387904 elements " + notAsWritten},
		{"bytes loaded by another function", inZIP(get("my.mod", "load") + tup(bytesOf) + "R"), format.ErrCorrupt, "a tensor over a value of type"},
		{"bytes loaded with two arguments", inZIP(get("torch.storage", "_load_from_bytes") + tup(bytesOf, num(1)) + "R"), format.ErrCorrupt, "a tensor over a value of type"},
		{"an empty file", nil, format.ErrMagic, "the file is empty"},
		{"an archive of another program", archived(t, entryOf{"policy.pth", []byte("x"), false}, entryOf{"_stable_baselines3_version", []byte("2.0"), false}), format.ErrMagic, "stable-baselines"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := openBytes(tt.file, nil)
			if err == nil {
				defer m.Close()
			}
			if tt.want == nil && err != nil || !errors.Is(err, tt.want) {
				t.Fatalf("%.300v, want %v", err, tt.want)
			}
			if err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%.300v, want %q", err, tt.text)
			}
		})
	}
}
