package cli

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// patience is how long work goes on without showing its progress.
const patience = time.Second

// Progress shows on a terminal how far long work is.
type Progress struct {
	out   io.Writer // nil if it is no terminal
	what  string
	start time.Time
	bar   *progressbar.ProgressBar // from the first report on
	shown bool
}

// NewProgress shows the progress of what, such as "converting".
func NewProgress(out io.Writer, what string) *Progress {
	p := &Progress{what: what, start: time.Now()}
	if Terminal(out) {
		p.out = out
	}
	return p
}

// Report implements format.Progress.
func (p *Progress) Report(done, total int64, _ string) {
	if p.out == nil {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(p), progressbar.OptionShowBytes(true), progressbar.OptionSetWidth(15),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription(p.what))
	}
	_ = p.bar.Set64(min(done, total))
}

// Write implements io.Writer for the bar, of which nothing shows at first.
func (p *Progress) Write(text []byte) (int, error) {
	if time.Since(p.start) < patience {
		return len(text), nil
	}
	p.shown = true
	return p.out.Write(text)
}

// Finish removes the bar, before anything else is printed.
func (p *Progress) Finish() {
	if p.shown {
		_ = p.bar.Clear()
		p.shown = false
	}
}
