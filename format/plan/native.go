package plan

import "fmt"

// Native holds what only one format can store, such as the functions and doc strings of ONNX and
// fields that this library does not know. A copy to the same format keeps it; a copy to another format
// lists its kinds as losses.
type Native struct {
	Format string       // the name of that format
	Kinds  []NativeKind // sorted by name
	Raw    []byte       // encoded by the format's driver
	// Renamed maps names of tensors in the plan to their names in the file. A caller that renames
	// tensors of the plan sets it; names that stay the same may be left out.
	Renamed map[string]string
}

// NativeKind counts the items of one kind in a Native.
type NativeKind struct {
	Name  string   // "functions"
	Count int      // the number of items
	Bytes int64    // their size in the file
	Sum   [32]byte // equal for equal items in equal places
}

// Native adds a kind of native contents that contradicts the plan. The encoder omits the
// items concerned.
func (l *LossList) Native(kind string, err error) { l.add(LossNative, kind, err, found{}) }

// foreign adds the native contents of another format.
func (l *LossList) foreign(p *Plan, format string) {
	if p.Native == nil || p.Native.Format == format {
		return
	}
	for _, k := range p.Native.Kinds {
		err := fmt.Errorf("%w: only %s has it (%d, %d bytes)", ErrUnsupported, p.Native.Format, k.Count, k.Bytes)
		l.add(LossNative, k.Name, err, found{edit: func(p *Plan) { p.Native = nil }})
	}
}
