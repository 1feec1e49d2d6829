package mobi

import (
	"fmt"
	"log/slog"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/oneline"
)

// String describes the options, on one line.
func (f Format) String() string {
	return oneline.Struct("Format", "Footer", uint8(f.Footer), "Flags", uint32(f.Flags),
		"FrameworkVersion", f.FrameworkVersion)
}

// GoString implements fmt.GoStringer like String.
func (f Format) GoString() string { return f.String() }

// LogValue implements slog.LogValuer like String.
func (f Format) LogValue() slog.Value { return slog.StringValue(f.String()) }

// String describes the type, its values and parameters, on one line.
func (o Operator) String() string {
	return oneline.Struct("Operator", "Type", o.Type, "Inputs", ids(o.Inputs), "Outputs",
		ids(o.Outputs), "Params", oneline.Plain(oneline.List(o.Params, Param.String)))
}

// GoString implements fmt.GoStringer like String.
func (o Operator) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o Operator) LogValue() slog.Value { return slog.StringValue(o.String()) }

// String describes the name and the beginning of the value, on one line.
func (p Param) String() string {
	text := ""
	switch v := p.Value.(type) {
	case string:
		text = oneline.Text(v)
	case []int32:
		text = oneline.List(v, func(x int32) string { return fmt.Sprint(x) })
	case []int64:
		text = oneline.List(v, func(x int64) string { return fmt.Sprint(x) })
	case []float32:
		text = oneline.List(v, func(x float32) string { return fmt.Sprint(x) })
	case int32, int64, float32, float64, bool:
		text = fmt.Sprint(v)
	default:
		text = schema.TypeName(v)
	}
	return oneline.Text(p.Name) + ": " + text
}

// GoString implements fmt.GoStringer like String.
func (p Param) GoString() string { return p.String() }

// LogValue implements slog.LogValuer like String.
func (p Param) LogValue() slog.Value { return slog.StringValue(p.String()) }

// String describes name, type and dims, on one line.
func (s Spec) String() string {
	return oneline.Struct("Spec", "Name", s.Name, "Type", s.Type, "Dims",
		oneline.Plain(oneline.List(s.Dims, func(d uint64) string { return fmt.Sprint(d) })))
}

// GoString implements fmt.GoStringer like String.
func (s Spec) GoString() string { return s.String() }

// LogValue implements slog.LogValuer like String.
func (s Spec) LogValue() slog.Value { return slog.StringValue(s.String()) }

func ids(list []uint32) oneline.Plain {
	return oneline.Plain(oneline.List(list, func(id uint32) string { return fmt.Sprint(id) }))
}
