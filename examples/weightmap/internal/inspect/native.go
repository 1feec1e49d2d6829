package inspect

import (
	"encoding/hex"
	"fmt"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
)

// nativeReport describes a kind of content that only the model's format can store.
type nativeReport struct {
	Kind   string `json:"kind"`
	Count  int    `json:"count"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// describeNative returns the native kinds of a model, never nil.
func describeNative(m *format.Model) ([]nativeReport, error) {
	all := []nativeReport{}
	n, err := m.Native()
	if n == nil || err != nil {
		return all, err
	}
	for _, k := range n.Kinds {
		all = append(all, nativeReport{k.Name, k.Count, k.Bytes, hex.EncodeToString(k.Sum[:])})
	}
	return all, nil
}

// NativeLines returns a line per kind, "onnx functions: 2, 310 B, 6b86b273".
func NativeLines(m *format.Model) ([]string, error) {
	all, err := describeNative(m)
	var lines []string
	for _, k := range all {
		lines = append(lines, fmt.Sprintf("%s, sha256 %.16s", k.line(m.Format()), k.SHA256))
	}
	return lines, err
}

// line formats a kind as "onnx functions: 2, 310 B".
func (k nativeReport) line(format string) string {
	return fmt.Sprintf("%s %s: %d, %s", format, k.Kind, k.Count, cli.Size(k.Bytes))
}
