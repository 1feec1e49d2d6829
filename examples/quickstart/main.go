// Command quickstart demonstrates weightmap: it draws a digit, maps the model of a small
// network, and recognizes the digit without copying the weights. Then it writes the network
// in every format, opens and verifies each file, and recognizes the digit again.
//
//	go run ./examples/quickstart [-digit N] [-seed N] [-dir DIR]
//
// With -dir the files remain in DIR, for example to inspect them with examples/weightmap. The
// directory is created if necessary. The network was trained by examples/train; its
// computation is in examples/digits/forward.go.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/digits"
	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

var tool = cli.Tool{
	Name: "quickstart", Args: "[-digit N] [-seed N] [-dir DIR]",
	About:   "Draw a digit, read it with a network mapped from a file, and write that network in every format.",
	Example: "quickstart -digit 3 -dir models",
}

func run(args []string, out, errs io.Writer) int {
	f := tool.Flags()
	digit := f.Int("digit", 4, "draw `N`, 0 to 9")
	seed := f.Uint64("seed", 18, "draw it in the hand of number `N`")
	dir := f.String("dir", "", "keep the files in `DIR`, which is made when it does not exist")
	err := tool.Parse(f, args, out)
	switch {
	case err != nil:
	case f.NArg() > 0:
		err = tool.Usagef("no arguments are known but options")
	case *digit < 0 || *digit >= digits.Classes:
		err = tool.Usagef("%d is no digit", *digit)
	default:
		image := digits.Draw(*digit, *seed)
		err = show(out, &image, *dir)
	}
	return tool.Status(err, errs)
}

// show prints the image, the prediction, and a line for each format. If dir is "", the files go to
// a temporary directory.
func show(out io.Writer, image *digits.Image, dir string) (err error) {
	where := dir
	if dir == "" {
		if where, err = os.MkdirTemp("", "weightmap-quickstart-"); err == nil {
			defer os.RemoveAll(where)
		}
	} else {
		err = os.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return err
	}
	model := filepath.Join(where, files[0].name)
	if err := os.WriteFile(model, digits.Trained(), 0o666); err != nil {
		return err
	}
	said, err := read(model, image)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "The network reads this drawing as %d.\n\n", said.Best())
	width := cli.Width(out)
	if err := picture(out, image, &said, width); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if err := table(out, where, image, width); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nOpening reads names and shapes only; weights are paged in when they are touched.")
	if dir != "" {
		fmt.Fprintf(out, "To look at the files: go run ./examples/weightmap inspect %s\n", cli.Printable(model))
	}
	return nil
}

// read opens a model by mapping and predicts the digit of an image.
func read(path string, image *digits.Image) (said digits.Probabilities, err error) {
	m, err := format.Open(path, nil)
	if err != nil {
		return said, err
	}
	defer m.Close()
	w, err := digits.Load(m) // the weights are slices of the mapping
	if err != nil {
		return said, err
	}
	return w.Predict(image), nil
}
