package convert

import (
	"fmt"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

const (
	leastSNR   = 20 // in dB; normally distributed weights have 40 in int8
	mostZeroed = 10 // in percent of the numbers that are not 0; of such weights 1.0 to 1.3 become 0 in int8
	mostNamed  = 3  // tensors in a warning
)

// suffered says what a tensor lost if that is more than usual, or returns "".
func suffered(s tensor.QuantStats) string {
	var what []string
	switch s.ZeroRows {
	case 0:
	case 1:
		what = append(what, "a row became 0")
	default:
		what = append(what, fmt.Sprintf("%d rows became 0", s.ZeroRows))
	}
	if s.Zeroed > 0 && 100*float64(s.Zeroed) > mostZeroed*float64(s.Nonzero) {
		what = append(what, fmt.Sprintf("%.3g %% of the numbers became 0",
			100*float64(s.Zeroed)/float64(s.Nonzero)))
	}
	if s.SNR < leastSNR {
		what = append(what, fmt.Sprintf("SNR %.1f dB", s.SNR))
	}
	if len(what) == 0 {
		return ""
	}
	return "(" + strings.Join(what, ", ") + ")"
}

// warning returns a line about the tensors that lost more than usual, or "".
func warning(suffered []string) string {
	n := len(suffered)
	if n == 0 {
		return ""
	}
	line := "1 tensor lost much: "
	if n > 1 {
		line = fmt.Sprintf("%d tensors lost much: ", n)
	}
	line += strings.Join(suffered[:min(n, mostNamed)], ", ")
	if n > mostNamed {
		line += fmt.Sprintf(" and %d more", n-mostNamed)
	}
	return line
}
