package cli

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// patience is the delay before progress is shown.
const patience = time.Second

// Progress shows the progress of long work on a terminal.
type Progress struct {
	out   io.Writer // nil if it is not a terminal
	what  string
	start time.Time
	bar   *progressbar.ProgressBar // set by the first report
	shown bool
}

// NewProgress returns a Progress; what is a description such as "converting".
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
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(p),
			progressbar.OptionShowBytes(true), progressbar.OptionSetWidth(15),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetDescription(p.what))
	}
	_ = p.bar.Set64(min(done, total))
}

// Write implements io.Writer for the bar. It discards output until patience has passed.
func (p *Progress) Write(text []byte) (int, error) {
	if time.Since(p.start) < patience {
		return len(text), nil
	}
	p.shown = true
	return p.out.Write(text)
}

// Finish removes the bar. Call it before printing anything else.
func (p *Progress) Finish() {
	if p.shown {
		_ = p.bar.Clear()
		p.shown = false
	}
}
