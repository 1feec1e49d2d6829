package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
)

var benchCommand = &modelfile.Command{Tool: cli.Tool{
	Name: "weightmap bench", Args: "[-rounds N] [-key HEX] FILE",
	About: "Measure how long opening, using and verifying a file take, relative to reading it.",
	Details: "  read    reading the file from front to back, as a floor\n" +
		"  open    opening and closing it\n" +
		"  touch   opening it, reading a byte of each page of every tensor, and closing it\n" +
		"  verify  opening it, checking everything it carries, and closing it\n" +
		"Times are medians of rounds that take turns, with the file in the page cache. Touching a\n" +
		"compressed tensor decompresses it.\n",
	Example: "weightmap bench -rounds 21 model.safetensors",
}, Run: bench}

// bench measures one file.
func bench(ctx context.Context, c *cli.Tool, args []string, out, errs io.Writer) error {
	f := c.Flags()
	rounds := f.Int("rounds", 11, "measure `N` rounds")
	given := modelfile.AccessFlags(c, f)
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return c.Usagef("bench takes one FILE")
	}
	if kind := modelfile.Elsewhere(f.Arg(0)); kind != "" {
		return c.Usagef("bench takes a file, not %s", kind)
	}
	if *rounds < 1 {
		return c.Usagef("-rounds %d: at least 1", *rounds)
	}
	o, err := given.Options(ctx)
	if err != nil {
		return err
	}
	o.Check = format.CheckDefault // verification is measured separately
	b := &benchmark{path: f.Arg(0), o: o, buf: make([]byte, 1<<20)}
	m, err := modelfile.OpenModel(b.path, o) // report errors in the file first
	if err != nil {
		return modelfile.AdviseChoice("bench", err)
	}
	head := modelfile.Headline(b.path, m)
	m.Close()
	progress := cli.NewProgress(errs, "measuring")
	times, err := b.rounds(*rounds, progress)
	progress.Finish()
	if err != nil {
		return modelfile.Hint(err, o.Key)
	}
	if _, err := fmt.Fprintf(out, "%s, medians of %s\n\n", cli.Printable(head),
		cli.Count(*rounds, "round")); err != nil {
		return err
	}
	return b.table(times).Write(out, cli.Width(out))
}

// benchmark measures a file.
type benchmark struct {
	path string
	o    *format.Options
	size int64 // bytes read by the floor
	buf  []byte
}

// tasks are the operations to measure; the first is the floor.
var tasks = []struct {
	name string
	run  func(*benchmark) error
}{
	{"read", (*benchmark).read},
	{"open", func(b *benchmark) error { return b.with(func(*format.Model) error { return nil }) }},
	{"touch", func(b *benchmark) error { return b.with(b.touch) }},
	{"verify", func(b *benchmark) error {
		return b.with(func(m *format.Model) error {
			_, err := m.Verify(b.o.Context, nil)
			return err
		})
	}},
}

// rounds returns the median time of each task. A warm-up round loads the file into the cache.
func (b *benchmark) rounds(n int, progress *cli.Progress) ([]time.Duration, error) {
	times := make([][]time.Duration, len(tasks))
	for round := range n + 1 {
		for i, task := range tasks {
			if err := b.o.Context.Err(); err != nil {
				return nil, err
			}
			start := time.Now()
			if err := task.run(b); err != nil {
				return nil, err
			}
			if round > 0 {
				times[i] = append(times[i], time.Since(start))
			}
			progress.Report(int64(round*len(tasks)+i+1)*b.size, int64((n+1)*len(tasks))*b.size, "")
		}
	}
	medians := make([]time.Duration, len(tasks))
	for i, t := range times {
		slices.Sort(t)
		medians[i] = (t[(len(t)-1)/2] + t[len(t)/2]) / 2
	}
	return medians, nil
}

// with calls f with the open file.
func (b *benchmark) with(f func(*format.Model) error) error {
	m, err := format.Open(b.path, b.o)
	if err != nil {
		return err
	}
	defer m.Close()
	return f(m)
}

// read reads the file, or all files of a directory.
func (b *benchmark) read() error {
	b.size = 0
	root, err := filepath.EvalSymlinks(b.path)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, cancelable{b.o.Context, f}, b.buf)
		b.size += n
		return err
	})
}

// cancelable is a reader that fails when its context is done.
type cancelable struct {
	ctx context.Context
	r   io.Reader
}

func (c cancelable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// touch reads a byte of each page.
func (b *benchmark) touch(m *format.Model) error {
	const page = 4096
	sum := byte(0)
	for _, v := range m.Tensors() {
		if err := b.o.Context.Err(); err != nil {
			return err
		}
		err := v.Use(func(b []byte) error {
			for at := 0; at < len(b); at += page {
				sum += b[at]
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	runtime.KeepAlive(sum) // keeps the compiler from removing the reads
	return nil
}

// table compares the tasks with the floor.
func (b *benchmark) table(times []time.Duration) *cli.Table {
	t := cli.NewTable(cli.Column{Name: "TASK"}, cli.Column{Name: "MEDIAN", Right: true},
		cli.Column{Name: "OF READING", Right: true}, cli.Column{Name: "PER SECOND", Right: true})
	for i, d := range times {
		speed := ""
		if i != 1 { // the time of opening does not depend on the size
			speed = cli.Size(int64(float64(b.size) / max(d.Seconds(), 1e-9)))
		}
		t.Row(tasks[i].name, d.Round(d/1000+1).String(),
			fmt.Sprintf("%.3g", float64(d)/float64(max(times[0], 1))), speed)
	}
	return t
}
