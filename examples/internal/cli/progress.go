package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// long is how many bytes take long enough to want a progress.
const long = 16 << 20

// Progress shows how far a long task is: as a bar on a terminal, otherwise as a
// line for each tenth, which logs can take.
type Progress struct {
	out      io.Writer
	terminal bool
	what     string
	start    time.Time
	bar      *progressbar.ProgressBar
	tenths   int64
}

// NewProgress shows the progress of what, such as "converting".
func NewProgress(out io.Writer, what string) *Progress {
	return &Progress{out: out, terminal: Terminal(out), what: what, start: time.Now()}
}

// Report implements format.Progress.
func (p *Progress) Report(done, total int64, tensor string) {
	if total < long {
		return
	}
	if !p.terminal {
		if tenths := done * 10 / total; tenths > p.tenths {
			p.tenths = tenths
			fmt.Fprintf(p.out, "%d%% (%s)\n", tenths*10, Printable(tensor))
		}
		return
	}
	const patience = 300 * time.Millisecond // what is done sooner needs no bar
	if time.Since(p.start) < patience {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(p.out), progressbar.OptionShowBytes(true), progressbar.OptionSetWidth(15),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription(p.what))
	}
	_ = p.bar.Set64(done)
}

// Finish removes the bar.
func (p *Progress) Finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
