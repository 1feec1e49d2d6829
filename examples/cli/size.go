package cli

import (
	"errors"
	"flag"
	"math"
	"strconv"
	"strings"
)

// MemoryFlag adds -max-memory.
func (t *Tool) MemoryFlag(f *flag.FlagSet) *ByteSize {
	s := new(ByteSize)
	f.Var(s, "max-memory", "refuse files that need more memory than `SIZE`, such as 500MB or 2GiB")
	return s
}

// ByteSize is a flag.Value for sizes such as "200MB", "1.5GiB" and "1000000".
type ByteSize int64

var errSize = errors.New("want a size such as 500MB, 2GiB or 1000000")

// units lists the suffixes for each factor in lower case. "b" and "" must be last.
var units = []struct {
	names  string
	factor float64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb k", 1e3}, {"mb m", 1e6}, {"gb g", 1e9}, {"tb t", 1e12}, {"b", 1},
}

// String implements flag.Value.
func (s *ByteSize) String() string { return strconv.FormatInt(int64(*s), 10) }

// Set implements flag.Value.
func (s *ByteSize) Set(text string) error {
	number := strings.ToLower(strings.TrimSpace(text))
	factor := 1.0
units:
	for _, u := range units {
		for _, name := range strings.Fields(u.names) {
			if rest, ok := strings.CutSuffix(number, name); ok {
				number = strings.TrimSpace(rest)
				factor = u.factor
				break units
			}
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	x *= factor
	if err != nil || !(x >= 1) || x >= math.MaxInt64 {
		return errSize
	}
	*s = ByteSize(x)
	return nil
}
