package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/weightmap/weightmap/examples/internal/cli"
)

// long is from how many bytes on work is worth a report.
const long = 16 << 20

// progress shows a bar on a terminal, and a line for every tenth elsewhere.
type progress struct {
	out      io.Writer
	terminal bool
	bar      *progressbar.ProgressBar
	tenths   int64
}

func newProgress(out io.Writer) *progress { return &progress{out: out, terminal: cli.Terminal(out)} }

func (p *progress) report(done, total int64, tensor string) {
	if total < long {
		return
	}
	if !p.terminal {
		if tenths := done * 10 / total; tenths > p.tenths {
			p.tenths = tenths
			fmt.Fprintf(p.out, "%d%% (%s)\n", tenths*10, cli.Printable(tensor))
		}
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(p.out), progressbar.OptionShowBytes(true),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription("converting"))
	}
	_ = p.bar.Set64(done)
}

// finish removes the bar.
func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
