package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/digits"
	"github.com/weightmap/weightmap/examples/train/net"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

// variant is a way to store the weights.
type variant struct {
	name  string
	exact bool    // weights keep their bits
	loss  float64 // allowed difference of the accuracy in percentage points
	o     convert.Options
}

var variants = []variant{
	{name: "float32", exact: true},
	{name: "float16", o: convert.Options{DType: tensor.Float16}},
	{name: "int8", loss: 0.5, o: convert.Options{Quantize: eight(false)}},
	{name: "int8 per channel", loss: 0.5, o: convert.Options{Quantize: eight(true)}},
}

var formats = []string{"mag", "mle", "mobi", "tsr", "wia"}

// eight quantizes the weights but not the few biases.
func eight(perChannel bool) func(tensor.Info) *tensor.QuantizeOptions {
	return func(i tensor.Info) *tensor.QuantizeOptions {
		if len(i.Shape) == 1 {
			return nil
		}
		return &tensor.QuantizeOptions{PerChannel: perChannel}
	}
}

// options returns the options for a format, leaving out what it cannot store. MLE has no int8
// tensors with a scale, but can store float32 as int8.
func (v *variant) options(kind string) *convert.Options {
	o := v.o
	o.Lossy = true
	if kind == "mle" && v.name == "int8" {
		o.Quantize = nil
		o.Write = &format.WriteOptions{Format: mle.Format{Lossy: mle.MethodInt8}}
	}
	return &o
}

// file returns the name of the variant's file.
func (v *variant) file(kind string) string {
	if v.exact {
		return "digits." + kind
	}
	return "digits-" + strings.ReplaceAll(v.name, " ", "-") + "." + kind
}

// result is the result of a test.
type result struct {
	right  int // of all drawings
	copied int64
	said   []digits.Probabilities
}

func (r *result) accuracy() float64 { return 100 * float64(r.right) / float64(len(r.said)) }

// same returns the number of drawings with the same prediction in both.
func (r *result) same(o *result) (n int) {
	for i := range r.said {
		if r.said[i].Best() == o.said[i].Best() {
			n++
		}
	}
	return n
}

// compare writes master in all variants and formats into its directory, tests them and prints a
// table. A result out of tolerance is an error.
func compare(master string, held int, out io.Writer) error {
	drawings := digits.HeldOut(held)
	want, err := test(master, drawings)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nOn %d drawings that training did not see:\n\n", held)
	table := cli.NewTable(cli.Column{Name: "FILE"}, cli.Column{Name: "WEIGHTS"}, cli.Column{Name: "SIZE", Right: true},
		cli.Column{Name: "ACCURACY", Right: true}, cli.Column{Name: "AS FLOAT32", Right: true}, cli.Column{Name: "COPIED", Right: true})
	var wrong []error
	for _, v := range variants {
		for _, kind := range formats {
			path := filepath.Join(filepath.Dir(master), v.file(kind))
			got, err := v.try(master, path, kind, drawings)
			var refused *schema.LossError
			if errors.As(err, &refused) {
				continue // the format has no scales
			} else if err != nil {
				return err
			}
			wrong = append(wrong, v.check(path, got, want))
			copied := "none"
			if got.copied > 0 {
				copied = cli.Size(got.copied)
			}
			table.Row(filepath.Base(path), v.name, cli.Size(cli.FileSize(path)), fmt.Sprintf("%.2f %%", got.accuracy()),
				fmt.Sprintf("%d", got.same(want)), copied)
		}
	}
	if err := table.Write(out, 0); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nACCURACY is the share of digits read right, AS FLOAT32 how many are taken for the same digit as by\n"+
		"the trained network, COPIED what is decoded when a file is opened; all else is used where it is mapped.")
	return errors.Join(wrong...)
}

// try writes a variant, unless it is the master, and tests it.
func (v *variant) try(master, path, kind string, drawings []digits.Drawing) (*result, error) {
	if path != master {
		if _, err := convert.File(context.Background(), master, path, v.options(kind)); err != nil {
			return nil, err
		}
	}
	return test(path, drawings)
}

// check returns an error if the result of a file is out of tolerance.
func (v *variant) check(path string, got, want *result) error {
	if v.exact {
		for i := range got.said {
			if got.said[i] != want.said[i] {
				return fmt.Errorf("%s: another answer for drawing %d: %v, not %v", path, i, got.said[i], want.said[i])
			}
		}
	}
	if d := want.accuracy() - got.accuracy(); d > v.loss || d < -v.loss {
		return fmt.Errorf("%s: %.2f %% right, %.2f %% by the trained network", path, got.accuracy(), want.accuracy())
	}
	return nil
}

// test opens a model by mapping and predicts the drawings.
func test(path string, drawings []digits.Drawing) (*result, error) {
	m, err := format.Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	w, err := digits.Load(m)
	if err != nil {
		return nil, err
	}
	n, err := net.New(w)
	if err != nil {
		return nil, err
	}
	r := &result{copied: w.Copied, said: make([]digits.Probabilities, len(drawings))}
	if err := predict(m, n, drawings, r.said); err != nil {
		return nil, err
	}
	for i, d := range drawings {
		if r.said[i].Best() == d.Digit {
			r.right++
		}
	}
	return r, nil
}

// predict fills said, using all processors. Each goroutine uses m.Do against page faults.
func predict(m *format.Model, n *net.Network, drawings []digits.Drawing, said []digits.Probabilities) error {
	var group sync.WaitGroup
	errs := make([]error, runtime.GOMAXPROCS(0))
	for worker := range errs {
		group.Add(1)
		go func() {
			defer group.Done()
			errs[worker] = m.Guard(func() (err error) {
				for i := worker; i < len(drawings) && err == nil; i += len(errs) {
					said[i], err = n.Predict(&drawings[i].Image)
				}
				return err
			})
		}()
	}
	group.Wait()
	return errors.Join(errs...)
}
