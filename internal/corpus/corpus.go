// Package corpus keeps the small files that tell what a format accepts and what
// it refuses: one defect, or one tolerance, each. A package's test code makes
// them field by field; the copies in its testdata/corpus, with an index that
// says what is expected of each, serve fuzz targets, the tools, and readers of
// these formats that are not written in Go. Tests alone use it.
package corpus

import (
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// Case is one model and what is expected of it.
type Case struct {
	Name string // in words: "checksum 0"

	// Bytes is the file, or Files are those of a directory, by their slash-separated
	// paths in it, of which Open is opened; "" is the directory itself.
	Bytes []byte
	Files map[string][]byte
	Open  string
	// ByPath is for models of several files that are found by the name of the one
	// that is opened: from memory there is no name.
	ByPath bool

	Key     []byte           // decrypts it
	Trusted crypto.PublicKey // must have signed it

	// A model that is to be refused: by which sentinel, and what the error
	// names. Verification finds it when Late is set, opening otherwise. In is the
	// base name of the file the error is in, when that is not the one opened.
	Err    error
	Field  string
	Offset int64
	Late   bool
	In     string

	// A model that is to be accepted: Err is nil. Notes are among what the model
	// notes of itself.
	Version string
	Tensors []Tensor
	Notes   []string
}

// Late is a file that opens and does not verify.
func Late(name string, b []byte, err error, field string, offset int64) Case {
	return Case{Name: name, Bytes: b, Late: true, Err: err, Field: field, Offset: offset}
}

// WithKey is the case of who has the key.
func (c Case) WithKey(key []byte) Case {
	c.Key = key
	return c
}

// TrustedBy is the case of who trusts that key.
func (c Case) TrustedBy(key crypto.PublicKey) Case {
	c.Trusted = key
	return c
}

// Tensor is what a good model holds. An empty name is the file's own, in formats
// that know such.
type Tensor struct {
	Name  string
	Type  string // a dtype, or the name of an encoding
	Shape []int64
	Data  []byte // as View.Bytes returns it
}

// Of is a tensor of a plain dtype.
func Of(name string, d tensor.DType, data []byte, shape ...int64) Tensor {
	return Tensor{name, d.String(), shape, data}
}

// Suite is the corpus of a format.
type Suite struct {
	Codec format.Codec
	Ext   string // of files: ".mag"
	// Alone is what the only tensor of a file is called that has no name,
	// in formats that name it after the file.
	Alone string
	// Dir is the corpus's own directory in testdata/corpus, where a package has several.
	Dir   string
	Cases []Case
}

// Line is what the index says of a case, one JSON object on a line.
type Line struct {
	Name  string `json:"name"`
	File  string `json:"file"`            // to open, in the directory of the index
	Key   string `json:"key,omitempty"`   // hexadecimal
	Trust string `json:"trust,omitempty"` // PKIX DER of the trusted key, hexadecimal
	Want  string `json:"want"`            // "ok" or the name of a sentinel of package format

	Stage  string `json:"stage,omitempty"` // "open" or "verify"
	Field  string `json:"field,omitempty"`
	Offset *int64 `json:"offset,omitempty"`
	In     string `json:"in,omitempty"` // file of the directory that the error names

	Version string  `json:"version,omitempty"`
	Tensors []Entry `json:"tensors,omitempty"`
	SHA256  string  `json:"sha256,omitempty"` // of the data of all tensors, one after the other
}

// Entry is a tensor in a Line.
type Entry struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
}

// IndexName is the name of the index in a corpus.
const IndexName = "index.jsonl"

// largest is the size of the largest file that is committed; larger cases are
// made and tested, but stay out of the directory.
const largest = 4 << 10

// files returns the files of a case by their paths in the corpus.
func (c *Case) files(ext string) map[string][]byte {
	name := slug(c.Name)
	if c.Files == nil {
		return map[string][]byte{name + ext: c.Bytes}
	}
	all := make(map[string][]byte, len(c.Files))
	for f, b := range c.Files {
		all[path.Join(name, f)] = b
	}
	return all
}

// target is the path of what is opened.
func (c *Case) target(ext string) string {
	if c.Files == nil {
		return slug(c.Name) + ext
	}
	return path.Join(slug(c.Name), c.Open)
}

func (c *Case) committed(ext string) bool {
	n := 0
	for _, b := range c.files(ext) {
		n += len(b)
	}
	return n <= largest
}

// slug makes a file name of a case's name.
func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}

// line describes the case.
func (s *Suite) line(c *Case) Line {
	l := Line{Name: c.Name, File: c.target(s.Ext), Key: hex.EncodeToString(c.Key), Trust: hex.EncodeToString(der(c.Trusted)), Want: "ok"}
	if c.Err != nil {
		l.Want, l.Stage, l.Field, l.Offset, l.In = sentinel(c.Err), "open", c.Field, &c.Offset, c.In
		if c.Late {
			l.Stage = "verify"
		}
		return l
	}
	l.Version = c.Version
	sum := sha256.New()
	for _, t := range c.Tensors {
		if t.Name == "" && s.Alone != "" {
			t.Name = strings.TrimSuffix(path.Base(l.File), s.Ext)
		}
		l.Tensors = append(l.Tensors, Entry{t.Name, t.Type, append([]int64{}, t.Shape...)})
		sum.Write(t.Data)
	}
	l.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return l
}

// sentinels are those that reading answers.
var sentinels = map[string]error{
	"ErrMagic": format.ErrMagic, "ErrVersion": format.ErrVersion, "ErrUnknownFormat": format.ErrUnknownFormat,
	"ErrChecksum": format.ErrChecksum, "ErrUnsupported": format.ErrUnsupported, "ErrSignature": format.ErrSignature,
	"ErrKey": format.ErrKey, "ErrTruncated": format.ErrTruncated, "ErrCorrupt": format.ErrCorrupt,
	"ErrLimit": format.ErrLimit, "ErrShape": format.ErrShape, "ErrNotFound": format.ErrNotFound,
}

// Sentinel returns the error of that name in an index.
func Sentinel(name string) error { return sentinels[name] }

func sentinel(err error) string {
	for name, s := range sentinels {
		if s == err {
			return name
		}
	}
	panic(fmt.Sprintf("no sentinel of reading: %v", err))
}

// sorted returns the keys of m in order.
func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
