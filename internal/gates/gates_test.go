package gates

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/expect"
)

const module = "github.com/weightmap/weightmap/"

// gate is a thing that is done in one place.
type gate struct {
	name string
	// imports are packages, with those below them, that nothing else may import.
	imports []string
	// uses lists functions of packages that nothing else may mention.
	uses map[string][]string
	// calls are names of methods that nothing else may call: "Name", or "X.Name" for the field or variable X of any value.
	calls []string
	// loops are names of methods that nothing else may call in a loop.
	loops []string
	// only, if not nil, are the directories that the gate is about; otherwise it is about all.
	only []string
	// may lists who does it all the same, and why: directories (with a slash at the end) and files.
	may map[string]string
	// advice is what to do instead.
	advice string
	// planted are files that do it, with what is found in them.
	planted []planted
}

// planted is a file in a directory with a second way.
type planted struct {
	imports, body string
	found         []string
}

// programs are the places that are no part of the library.
var programs = map[string]string{
	"examples/":          "programs",
	"internal/api/":      "sources of this module",
	"internal/arrows/":   "sources of this module",
	"internal/mutate/":   "sources of this module",
	"internal/bench/":    "benchmarks",
	"internal/floor/":    "benchmarks: what they are compared with",
	"internal/peers/":    "other libraries",
	"internal/corpus/":   "tests",
	"internal/expect/":   "tests",
	"internal/testhost/": "tests",
	"format/formattest/": "tests",
}

var gates = []gate{
	{
		name: "open",
		uses: map[string][]string{
			"os":                       {"Open", "OpenFile", "ReadFile", "OpenRoot", "OpenInRoot", "DirFS", "CopyFS"},
			"syscall":                  {"Open", "Openat"},
			"golang.org/x/sys/unix":    {"Open", "Openat", "Openat2"},
			"golang.org/x/exp/mmap":    {"Open"},
			"io/ioutil":                {"ReadFile"},
			"golang.org/x/sys/windows": {"Open", "CreateFile"},
		},
		may: map[string]string{
			"internal/disk/":   "the gate: the rule of links, and files that are written",
			"internal/source/": "the file that the user names, and the pages of the process",
			"format/signing/":  "bundles and the files that they sign, until the engine opens them",
		},
		advice: "open files of models through internal/disk",
		planted: []planted{
			{`"os"`, `var f = os.OpenFile; os.Open(""); os.Stat("")`, []string{"uses os.OpenFile", "uses os.Open"}},
			{`m "golang.org/x/exp/mmap"`, `m.Open(""); x.m.Close()`, []string{"uses mmap.Open"}},
			{`"syscall"`, `syscall.Read(0, nil); x.os.ReadFile()`, nil},
		},
	},
	{
		name:    "map",
		imports: []string{"golang.org/x/exp/mmap"},
		uses: map[string][]string{
			"syscall":                  {"Mmap", "Munmap", "Madvise", "Mprotect", "Mlock"},
			"golang.org/x/sys/unix":    {"Mmap", "MmapPtr", "Munmap", "Madvise", "Mprotect", "Mlock"},
			"golang.org/x/sys/windows": {"MapViewOfFile", "CreateFileMapping"},
		},
		may:    map[string]string{"internal/source/": "the gate"},
		advice: "get a Region of internal/source",
		planted: []planted{
			{`"golang.org/x/exp/mmap"`, `mmap.Open("")`, []string{"imports golang.org/x/exp/mmap"}},
			{`"syscall"`, `syscall.Mmap(0, 0, 0, 0, 0)`, []string{"uses syscall.Mmap"}},
		},
	},
	{
		name:  "read",
		calls: []string{"ReadAtContext", "Reopen", "Populate"},
		loops: []string{"ReadAt", "Pread"},
		may: map[string]string{
			"internal/pass/":          "the gate",
			"internal/source/":        "what it reads",
			"tensor/reader.go":        "readers of tensor.FromReaderAt",
			"format/remote/reader.go": "a reader, whose ReadAt has no context",
			"format/create.go":        "asks views for their errors, and reads nothing",
			"format/reader.go":        "what readers of programs can do, for internal/source",
		},
		advice: "read ranges with internal/pass",
		planted: []planted{
			{``, `for at < end { r.ReadAtContext(ctx, b, at) }`, []string{"calls ReadAtContext"}},
			{``, `f, err := region.Reopen(); region.Populate(0, n)`, []string{"calls Reopen", "calls Populate"}},
			{``, `for off < end { v.ReadAt(b, off) }`, []string{"loops over ReadAt"}},
			{``, `for range n { if _, err := v.ReadAt(b, off); err != nil { for { v.ReadAt(b, off) } } }`, []string{"loops over ReadAt", "loops over ReadAt"}},
			{``, `v.ReadAt(b, off); for range n { }; region.Slice(0, n)`, nil},
		},
	},
	{
		name: "inflate",
		imports: []string{
			"compress", "github.com/klauspost/compress", "github.com/pierrec/lz4", "github.com/andybalholm/brotli",
			"github.com/dsnet/compress",
		},
		calls: []string{"DecodeInto", "DecodeTo", "Codec.NewReader"},
		may: map[string]string{
			"internal/codec/": "the gate",
			"mle/brotli/":     "a compressor: TestCompressorsOnly",
		},
		advice: "decompress with internal/codec",
		planted: []planted{
			{`"compress/zlib"`, `zlib.NewReader(nil)`, []string{"imports compress/zlib"}},
			{`"github.com/klauspost/compress/zstd"`, ``, []string{"imports github.com/klauspost/compress/zstd"}},
			{`"` + module + `internal/codec/gzip"`, `gzip.Codec.NewReader()`, []string{"calls Codec.NewReader"}},
			{`"io"`, `z.DecodeTo(io.Discard, b, 5); z.DecodeInto(b, b)`, []string{"calls DecodeTo", "calls DecodeInto"}},
		},
	},
	{
		name:    "sum",
		imports: []string{"hash/crc32", "hash/crc64", "hash/adler32", "hash/fnv", "hash/maphash", "crypto/sha256", "crypto/sha512", "crypto/sha1", "crypto/md5", "github.com/cespare/xxhash"},
		may: map[string]string{
			"internal/checksum/":             "the gate: checksums that files declare",
			"internal/pass/record.go":        "the gate: what was parsed",
			"internal/source/sealed.go":      "the gate: what was signed",
			"tensor/checksum.go":             "computes: CRC-32 and Adler-32",
			"tensor/view.go":                 "computes: View.Digest",
			"internal/target/":               "computes what a writer records",
			"wia/":                           "computes what a writer records; the digests that a signature covers",
			"mle/sign.go":                    "computes what a writer records",
			"mle/signature.go":               "the digest that a signature covers",
			"format/writer.go":               "names of shards",
			"format/writeshards.go":          "names of shards",
			"internal/disk/":                 "names of parts",
			"format/digest/":                 "computes: the digest of a model",
			"format/convert/":                "compares what a conversion wrote with what it has read: Options.Verify",
			"format/signing/":                "signatures of files",
			"format/gguf/register.go":        "links hashes for names with digests",
			"format/onnx/register.go":        "links hashes for names with digests",
			"format/safetensors/register.go": "links hashes for names with digests",
			"format/torch/register.go":       "links hashes for names with digests",
			"format/npy/register.go":         "links hashes for names with digests",
			"format/driver/index.go":         "the table of names",
			"internal/keys/":                 "fingerprints of keys",
			"internal/onnxgraph/kinds.go":    "tables",
		},
		advice: "declare the checksum in Parsed.Sums, and the engine compares it",
		planted: []planted{
			{`"hash/crc32"`, `crc32.ChecksumIEEE(b)`, []string{"imports hash/crc32"}},
			{`"github.com/cespare/xxhash/v2"`, ``, []string{"imports github.com/cespare/xxhash/v2"}},
			{`"hash"`, `var h hash.Hash`, nil},
		},
	},
	{
		name: "publish",
		uses: map[string][]string{
			"os": {
				"Rename", "Link", "Symlink", "Remove", "RemoveAll", "Create", "CreateTemp", "WriteFile", "Mkdir", "MkdirAll",
				"MkdirTemp", "Truncate", "Chmod", "Chtimes", "Chown",
			},
			"syscall":               {"Rename", "Link", "Unlink", "Renameat"},
			"golang.org/x/sys/unix": {"Rename", "Renameat", "Renameat2", "Link", "Linkat", "Unlink", "Unlinkat"},
		},
		may:    map[string]string{"internal/disk/": "the gate: each change asks a hook, with which tests make calls fail"},
		advice: "change the disk through internal/disk",
		planted: []planted{
			{`"os"`, `os.Rename(a, b); os.CreateTemp("", "")`, []string{"uses os.Rename", "uses os.CreateTemp"}},
			{`sys "golang.org/x/sys/unix"`, `sys.Renameat2(0, a, 0, b, 0)`, []string{"uses unix.Renameat2"}},
			{`"os"`, `os.Stat(a); w.Create(a)`, nil},
		},
	},
	{
		name: "below",
		imports: []string{
			module + "format", module + "mag", module + "mle", module + "mobi", module + "tsr", module + "wia",
			module + "internal/wire", module + "internal/target", module + "internal/checksum",
		},
		only: []string{
			"tensor/", "internal/pass/", "internal/source/", "internal/disk/", "internal/memory/", "internal/fault/", "internal/work/",
			"internal/stripes/", "internal/vector/",
		},
		may: map[string]string{
			"internal/source/": "package wire says how large a buffer may be",
		},
		advice: "imports point down: what knows formats and models is above",
		planted: []planted{
			{`"` + module + `format/driver"`, ``, []string{"imports " + module + "format/driver"}},
			{`"` + module + `internal/fault"`, ``, nil},
		},
	},
}

// finds returns what a file does that only the gate may do.
func (g *gate) finds(file *ast.File) (found []string) {
	packages := map[string]string{} // paths by the names in the file
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		packages[name] = imported
		isListed := func(p string) bool { return imported == p || strings.HasPrefix(imported, p+"/") }
		if slices.ContainsFunc(g.imports, isListed) {
			found = append(found, "imports "+imported)
		}
	}
	found = append(found, g.inLoops(file)...)
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, isIdent := s.X.(*ast.Ident)
		if isIdent && slices.Contains(g.uses[packages[pkg.Name]], s.Sel.Name) {
			found = append(found, "uses "+path.Base(packages[pkg.Name])+"."+s.Sel.Name)
		}
		name := s.Sel.Name
		of, isField := s.X.(*ast.SelectorExpr)
		if isField && slices.Contains(g.calls, of.Sel.Name+"."+name) {
			name = of.Sel.Name + "." + name
		}
		if slices.Contains(g.calls, name) {
			found = append(found, "calls "+name)
		}
		return true
	})
	return found
}

// inLoops returns what a file does in loops that only the gate may do.
func (g *gate) inLoops(file *ast.File) (found []string) {
	seen := map[*ast.SelectorExpr]bool{} // in several loops
	calls := func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if ok && !seen[s] && slices.Contains(g.loops, s.Sel.Name) {
			seen[s] = true
			found = append(found, "loops over "+s.Sel.Name)
		}
		return true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch loop := n.(type) {
		case *ast.ForStmt:
			ast.Inspect(loop.Body, calls)
		case *ast.RangeStmt:
			ast.Inspect(loop.Body, calls)
		}
		return true
	})
	return found
}

// place returns the entry of a list of places that a file is in, or "".
func place(list map[string]string, name string) string {
	for p := range list {
		if name == p || strings.HasSuffix(p, "/") && strings.HasPrefix(name, p) {
			return p
		}
	}
	return ""
}

// isAbout reports whether the gate is about a file.
func (g *gate) isAbout(name string) bool {
	in := func(dir string) bool { return strings.HasPrefix(name, dir) }
	return g.only == nil && place(programs, name) == "" || slices.ContainsFunc(g.only, in)
}

// sources parses all files of the module but tests, by their names with slashes.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	root := filepath.Join("..", "..")
	files := map[string]*ast.File{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if e.IsDir() {
			if e.Name() == "testdata" || name != "." && e.Name()[0] == '.' {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files[name], err = parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		return err
	})
	expect.OK(t, err)
	if len(files) < 100 {
		t.Fatalf("only %d files", len(files))
	}
	return files
}

// TestGates: each thing is done in one place, and those that do it elsewhere say why.
func TestGates(t *testing.T) {
	files := sources(t)
	for i := range gates {
		g := &gates[i]
		t.Run(g.name, func(t *testing.T) {
			used := map[string]bool{}
			for name, file := range files {
				if !g.isAbout(name) {
					continue
				}
				found := g.finds(file)
				if len(found) == 0 {
					continue
				}
				p := place(g.may, name)
				used[p] = true
				if p == "" {
					t.Errorf("%s %q: %s", name, found, g.advice)
				}
			}
			for p, why := range g.may {
				if !used[p] {
					t.Errorf("%s (%s) does nothing of it: remove it from the list", p, why)
				}
			}
		})
	}
}

// TestGatesFind plants a second way for each gate.
func TestGatesFind(t *testing.T) {
	for i := range gates {
		g := &gates[i]
		if len(g.planted) < 2 {
			t.Errorf("%s: nothing is planted", g.name)
		}
		for _, p := range g.planted {
			text := "package p\n\nfunc f() { " + p.body + " }\n"
			if p.imports != "" {
				text = strings.Replace(text, "\n\n", "\n\nimport "+p.imports+"\n\n", 1)
			}
			file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
			expect.OK(t, err)
			if d := cmp.Diff(p.found, g.finds(file)); d != "" {
				t.Errorf("%s: %s (-want +got)\n%s", g.name, text, d)
			}
		}
	}
}

// compressorsOnly are packages that import a codec to compress, with all that they use of it.
var compressorsOnly = map[string][]string{"mle/brotli/": {"brotli.NewWriterLevel"}}

// uses lists what a file uses of package brotli.
func uses(file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, _ := s.X.(*ast.Ident)
		if pkg != nil && pkg.Name == "brotli" {
			found = append(found, "brotli."+s.Sel.Name)
		}
		return true
	})
	return found
}

// TestCompressorsOnly: a package that may import a codec to compress does not decompress with it.
func TestCompressorsOnly(t *testing.T) {
	seen := 0
	for name, file := range sources(t) {
		allowed, ok := compressorsOnly[path.Dir(name)+"/"]
		if !ok {
			continue
		}
		for _, use := range uses(file) {
			seen++
			if !slices.Contains(allowed, use) {
				t.Errorf("%s uses %s", name, use)
			}
		}
	}
	if seen == 0 {
		t.Error("nothing compresses")
	}
	planted, err := parser.ParseFile(token.NewFileSet(), "", "package p\n\nvar r = brotli.NewReader(nil)\n", 0)
	expect.OK(t, err)
	expect.Equal(t, []string{"brotli.NewReader"}, uses(planted))
}
