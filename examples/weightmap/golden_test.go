package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestEveryCommand: each explains itself on standard output, with an example of its own,
// and a wrong option is one line on standard error.
func TestEveryCommand(t *testing.T) {
	for _, c := range commands {
		name := strings.TrimPrefix(c.Name, "weightmap ")
		t.Run(name, func(t *testing.T) {
			for _, help := range []string{"-h", "-help", "--help"} {
				out, errs := tool(t, 0, name, help)
				contains(t, out, strings.TrimSpace("usage: "+c.Name+" "+c.Args)+"\n\n"+c.About+"\n", "\n  -help ", "\nexample:\n  "+c.Name)
				if errs != "" {
					t.Errorf("help on standard error: %q", errs)
				}
				for line := range strings.Lines(out) {
					if len(line) > 161 {
						t.Errorf("a line of %d characters: %s", len(line), line)
					}
				}
			}
			wrong := [][]string{{"-no-such-option"}}
			if c.Args != "" && c != helpCommand {
				wrong = append(wrong, nil) // no arguments
			}
			for _, args := range wrong {
				out, errs := tool(t, 2, append([]string{name}, args...)...)
				if out != "" || strings.Count(errs, "\n") != 1 || !strings.HasSuffix(errs, strings.TrimSpace("; usage: "+c.Name+" "+c.Args)+"\n") {
					t.Errorf("%q: %q, %q", args, out, errs)
				}
			}
		})
	}
}

// TestGolden: what each command prints, all of it.
func TestGolden(t *testing.T) {
	testhost.NeedMaps(t)
	t.Chdir(t.TempDir())
	copyTo := func(from, to string) {
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, b, 0o666)
		}
		expect.OK(t, err)
	}
	copyTo(model(t, "mag", "m.mag"), "m.mag")
	copyTo(waves(t, "net.wia", convnet()), "net.wia")
	put(t, "", "w.safetensors", format.Plan{}, matrix("w"))
	for _, tt := range []struct {
		args   string
		status int
		want   string // standard output and error
	}{
		{"inspect m.mag", 0, `
m.mag: mag 1, 2 tensors, 384 bytes
  epoch = 7
  loss = 0.25

NAME    DTYPE    SHAPE  SIZE  OFFSET  STORED
w       float32  [2,2]  16 B   0x100  zero-copy
labels  int32    [1]     4 B   0x140  zero-copy

2 tensors, 5 parameters, 20 B: float32 16 B, int32 4 B
`},
		{"inspect -stats -filter w m.mag", 0, `
m.mag: mag 1, 2 tensors, 384 bytes
  epoch = 7
  loss = 0.25

NAME  DTYPE    SHAPE  SIZE  MIN  MAX  MEAN  ZEROS  OFFSET  STORED
w     float32  [2,2]  16 B    1    4   2.5      0   0x100  zero-copy

1 of 2 tensors, 4 parameters, 16 B: float32 16 B
`},
		{"inspect net.wia", 0, `
net.wia: wia 1.0, 4 tensors, 10.2 kB
  author = "Ada"

NAME         DTYPE    SHAPE         SIZE  OFFSET  STORED
conv.weight  float32  [16,3,5,5]  4.8 kB   0x280  zero-copy
conv.bias    float32  [16]          64 B  0x1580  zero-copy
fc.weight    int8     [40,100]    4.0 kB  0x1600  zero-copy
fc.bias      float32  [100]        400 B  0x25c0  zero-copy

4 tensors, 5,316 parameters, 9.3 kB: float32 5.3 kB, int8 4.0 kB

graph net, 5 nodes
  input  x float32[1,3,8,8]
  output y float32[]
  Conv(x, conv.weight, conv.bias) -> a
  Relu(a) -> b
  Relu(b) -> c
  Add(c, a) -> d
  Gemm(d, fc.weight, fc.bias) -> y
`},
		{"inspect -json -stats -sha256 w.safetensors", 0, `
{
 "path": "w.safetensors",
 "format": "safetensors",
 "version": "1",
 "file_size": 88,
 "metadata": {},
 "tensors": [
  {
   "name": "w",
   "dtype": "float32",
   "shape": [
    2,
    2
   ],
   "offset": 72,
   "bytes": 16,
   "stored_bytes": 16,
   "compression": "",
   "zero_copy": true,
   "sha256": "ad73b9acd6e4a74b2f5bb5386658ce3bb146cd040a1867646ab3b973fb6632b1",
   "stats": {
    "min": 1,
    "max": 4,
    "mean": 2.5,
    "zeros": 0,
    "nan": 0,
    "infinite": 0
   }
  }
 ],
 "graph": null,
 "signature": null,
 "notes": []
}
`},
		{"inspect -json m.mag w.safetensors", 0, `
{"path":"m.mag","format":"mag","version":"1","file_size":384,"metadata":{"epoch":7,"loss":0.25},"tensors":[{"name":"w","dtype":"float32","shape":[2,2],"offset":256,"bytes":16,"stored_bytes":16,"compression":"","zero_copy":true},{"name":"labels","dtype":"int32","shape":[1],"offset":320,"bytes":4,"stored_bytes":4,"compression":"","zero_copy":true}],"graph":null,"signature":null,"notes":[]}
{"path":"w.safetensors","format":"safetensors","version":"1","file_size":88,"metadata":{},"tensors":[{"name":"w","dtype":"float32","shape":[2,2],"offset":72,"bytes":16,"stored_bytes":16,"compression":"","zero_copy":true}],"graph":null,"signature":null,"notes":[]}
`},
		{"verify -v m.mag w.safetensors", 0, `
m.mag: ok (mag 1, 2 tensors, 384 bytes)
  header and records: crc32c
  data of 2 tensors: xxh64
w.safetensors: ok, but nothing covers the header or the data of 1 tensor (safetensors 1, 1 tensor, 88 bytes)
  header: no checksum
  data of 1 tensor: no checksum
`},
		{"diff m.mag w.safetensors", 1, `
A  m.mag: mag 1, 2 tensors, 384 bytes
B  w.safetensors: safetensors 1, 1 tensor, 88 bytes

NAME    DIFFERS    A         B
labels  only in A  int32[1]

metadata
  - epoch = 7
  - loss = 0.25

1 tensor differs; the metadata differs
`},
		{"cat -as csv -slice 1 m.mag w", 0, `
3
4
`},
		{"set m.mag n.mag epoch=8", 0, `
n.mag: written (mag, 2 entries)
`},
		{"diff m.mag n.mag", 1, `
A  m.mag: mag 1, 2 tensors, 384 bytes
B  n.mag: mag 1, 2 tensors, 384 bytes

metadata
  - epoch = 7
  + epoch = 8

the metadata differs
`},
		{"convert -lossy m.mag o.safetensors", 0, `
weightmap: accepted: metadata "epoch": the format has strings, one takes the place of int64
weightmap: accepted: metadata "loss": the format has strings, one takes the place of float64
o.safetensors: written (safetensors, 188 bytes)
`},
		{"convert net.wia o.safetensors", 1, `
weightmap: graph would be lost: the format holds no graph
weightmap: nothing is written: safetensors has no place for 1 thing
try: weightmap convert -lossy net.wia o.safetensors
`},
	} {
		if !memory.LittleEndian {
			tt.want = swapped(tt.want)
		}
		var out bytes.Buffer
		if status := run(t.Context(), strings.Fields(tt.args), &out, &out); status != tt.status {
			t.Errorf("%s: status %d, not %d", tt.args, status, tt.status)
		}
		if diff := cmp.Diff(tt.want, "\n"+out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, diff)
		}
	}
}

// swapped is what is printed on a big-endian host, which has no elements of several bytes
// as they are in the file.
func swapped(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if !strings.Contains(line, " int8 ") {
			lines[i] = strings.Replace(line, "zero-copy", "by copy", 1)
		}
	}
	objects := strings.SplitAfter(strings.Join(lines, ""), "}")
	for i, object := range objects {
		if !strings.Contains(object, `"int8"`) {
			objects[i] = strings.NewReplacer(`"zero_copy": true`, `"zero_copy": false`, `"zero_copy":true`, `"zero_copy":false`).Replace(object)
		}
	}
	return strings.Join(objects, "")
}
