package cli

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestParse checks that options may be anywhere before "--".
func TestParse(t *testing.T) {
	t.Chdir(t.TempDir())
	expect.OK(t, os.WriteFile("-x", nil, 0o666))
	type outcome struct {
		N        int
		On       bool
		Text     string
		Size     ByteSize
		Operands []string
	}
	for _, tt := range []struct {
		name string
		args []string
		want outcome
		err  string
	}{
		{"nothing", nil, outcome{}, ""},
		{"before", []string{"-n", "3", "-on", "a", "b"}, outcome{N: 3, On: true, Operands: []string{"a", "b"}}, ""},
		{"between", []string{"a", "--n=3", "b"}, outcome{N: 3, Operands: []string{"a", "b"}}, ""},
		{"behind", []string{"a", "b", "-on=false", "--n", "-3"}, outcome{N: -3, Operands: []string{"a", "b"}}, ""},
		{"a switch takes no value", []string{"-on", "false"}, outcome{On: true, Operands: []string{"false"}}, ""},
		{"ended", []string{"a", "-on", "--", "-n", "--", "b"}, outcome{On: true, Operands: []string{"a", "-n", "--", "b"}}, ""},
		{"-- as a value", []string{"-text", "--", "-n", "3"}, outcome{Text: "--", N: 3}, ""},
		{"a dash and nothing", []string{"-", "", "-n", "1"}, outcome{N: 1, Operands: []string{"-", ""}}, ""},
		{"a value with =", []string{"-text=a=b"}, outcome{Text: "a=b"}, ""},
		{"sizes", []string{"-size", "1.5 GiB"}, outcome{Size: 3 << 29}, ""},
		{"decimal sizes", []string{"-size", "200MB"}, outcome{Size: 200_000_000}, ""},
		{"a file that looks like an option", []string{"-x"}, outcome{}, "unknown option -x; for the file -x, write ./-x"},
		{"misspelled", []string{"a", "-txet", "b"}, outcome{Operands: nil}, "unknown option -txet; did you mean --text?"},
		{"nothing like it", []string{"--frobnicate=3"}, outcome{}, "unknown option --frobnicate=3"},
		{"no value", []string{"a", "-n"}, outcome{}, "--n needs a value: N"},
		{"no number", []string{"-n", "many"}, outcome{}, `--n does not take "many": want a number`},
		{"no switch", []string{"-on=maybe"}, outcome{}, `--on does not take "maybe": want true or false`},
		{"no size", []string{"-size", "-3MB"}, outcome{}, `--size does not take "-3MB": ` + errSize.Error() + ""},
		{"more than there is", []string{"-size", "9999999999GB"}, outcome{}, `--size does not take "9999999999GB": ` + errSize.Error() + ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got outcome
			f := tool.Flags()
			f.IntVar(&got.N, "n", 0, "how many, `N`")
			f.BoolVar(&got.On, "on", false, "switch it on")
			f.StringVar(&got.Text, "text", "", "some `TEXT`")
			f.Var(&got.Size, "size", "a `SIZE`")
			text := ""
			err := tool.Parse(f, tt.args, &bytes.Buffer{})
			if err != nil {
				if text = err.Error(); !errors.Is(err, errUsage) {
					t.Error("not an error of the command line")
				}
				got = outcome{}
			} else if f.NArg() > 0 {
				got.Operands = f.Args()
			}
			expect.Equal(t, tt.want, got)
			expect.Equal(t, tt.err, text)
		})
	}
	if err := tool.Parse(tool.Flags(), []string{"a", "-h", "-whatever"}, &bytes.Buffer{}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("help behind an argument: %v", err)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"inspect", "verify", "convert", "diff", "cat", "set", "sign", "model.layers.0.weight", "model.layers.1.weight", "model.layers.0.bias"}
	for word, want := range map[string][]string{
		"isnpect":               {"inspect"},
		"sgin":                  {"sign"},
		"CAT":                   {"cat"},
		"st":                    {"set"},
		"frobnicate":            nil,
		"":                      nil,
		"model.layer.0.weight":  {"model.layers.0.weight", "model.layers.1.weight"},
		"0.weight":              {"model.layers.0.weight"},
		"bias":                  {"model.layers.0.bias"},
		"model.layers.0.weight": {"model.layers.0.weight", "model.layers.1.weight"},
	} {
		if diff := cmp.Diff(want, Nearest(word, names)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", word, diff)
		}
	}
}
