package driver

import "fmt"

// Native is what a file says that the neutral forms have no place for, such as functions,
// doc strings and fields that this library does not know. A copy within the format keeps
// it; any other format lists its kinds as losses.
type Native struct {
	Format string       // the format that the bytes are of
	Kinds  []NativeKind // sorted by name
	Raw    []byte       // in a form of the format's driver
	// Renamed has the names that tensors had in the file, by those that they have in the plan
	// now. A name that is missing did not change.
	Renamed map[string]string
}

// NativeKind is one kind of thing in a Native.
type NativeKind struct {
	Name  string   // "functions"
	Count int      // how many there are
	Bytes int64    // in the file
	Sum   [32]byte // of the SHA-256 of each, with its place: the same for the same things
}

// Native adds one kind for the sake of a plan that it does not agree with. The encoder
// leaves out what that concerns.
func (l *LossList) Native(kind string, err error) { l.add(LossNative, kind, err, found{}) }

// foreign adds everything native of another format.
func (l *LossList) foreign(p *Plan, format string) {
	if p.Native == nil || p.Native.Format == format {
		return
	}
	for _, k := range p.Native.Kinds {
		l.add(LossNative, k.Name, fmt.Errorf("%w: only %s has it (%d, %d bytes)", ErrUnsupported, p.Native.Format, k.Count, k.Bytes), found{edit: dropNative})
	}
}
