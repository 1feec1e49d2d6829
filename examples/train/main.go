// Command train makes a network that reads handwritten digits, in about a minute: it
// draws the digits itself, trains a small convolutional network with gomlx's pure-Go
// engine, writes the network in all five formats, whole and with fewer bits, opens each
// file by mapping, and says how well it does on drawings that training did not see.
//
//	cd examples/train && go run . [-dir DIR] [-save FILE] [-trained]
//
// The model that is committed, which the quickstart and examples/serve use, was made by
//
//	cd examples/train && go run . -save ../digits/testdata/digits.wia
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/digits"
	_ "github.com/weightmap/weightmap/format/all"
)

func main() { os.Exit(run(os.Args[1:], full, os.Stdout, os.Stderr)) }

// full is the training that made the committed model; held is the number of drawings to test it
// with.
var full = course{drawings: 16000, epochs: 4, held: 2000}

var tool = cli.Tool{
	Name: "train", Args: "[-dir DIR] [-save FILE] [-trained]",
	About:   "Train a network that reads digits, write it in all formats, and compare how well the files do.",
	Example: "train -dir models",
}

func run(args []string, c course, out, errs io.Writer) int {
	f := tool.Flags()
	dir := f.String("dir", "", "keep the files in `DIR`, which is made when it does not exist")
	save := f.String("save", "", "write the trained network to `FILE` too, as wia")
	trained := f.Bool("trained", false, "do not train, take the model that comes with the examples")
	err := tool.Parse(f, args, out)
	switch {
	case err != nil:
	case f.NArg() > 0:
		err = tool.Usagef("no arguments are known but options")
	case *trained && *save != "":
		err = tool.Usagef("nothing is trained that could be saved")
	default:
		err = all(c, *dir, *save, *trained, out)
	}
	return tool.Status(err, errs)
}

// all trains and compares. If dir is "", the files go to a temporary directory.
func all(c course, dir, save string, trained bool, out io.Writer) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "weightmap-train-"); err == nil {
			defer os.RemoveAll(dir)
		}
	} else {
		err = os.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return err
	}
	master := filepath.Join(dir, "digits.wia")
	if trained {
		err = os.WriteFile(master, digits.Trained(), 0o666)
	} else {
		err = learn(c, master, save, out)
	}
	if err != nil {
		return err
	}
	return compare(master, c.held, out)
}

// learn trains a network and writes it to path, and also to save if that is not "".
func learn(c course, path, save string, out io.Writer) error {
	fmt.Fprintf(out, "Training on %d drawings, %d times each.\n", c.drawings, c.epochs)
	start := time.Now()
	w, err := train(c, func(epoch int, loss float64) {
		fmt.Fprintf(out, "  epoch %d: mean loss %.4f, after %s\n", epoch, loss, time.Since(start).Round(100*time.Millisecond))
	})
	if err != nil {
		return err
	}
	if save != "" {
		if err := w.Save(save); err != nil {
			return err
		}
	}
	return w.Save(path)
}
