// Package corpus implements test corpora of small files that a format must accept or refuse, each
// with one defect or tolerance. A package's test code builds the files field by field. Copies in
// testdata/corpus, with an index of the expected results, serve fuzz targets, the tools, and
// readers in other languages. Only tests import this package.
package corpus

import (
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// Case is a model and the expected result of reading it.
type Case struct {
	Name string // a description: "checksum 0"

	// Bytes is the file. For a directory, Files has the files by slash-separated path, and Open is
	// the path to open; "" is the directory itself.
	Bytes []byte
	Files map[string][]byte
	Open  string
	// ByPath means that the model has several files, found by the name of the opened one, so it
	// cannot be opened from memory.
	ByPath bool

	Key     []byte           // decryption key
	Trusted crypto.PublicKey // the signature's trusted key

	// For a model that must be refused: the sentinel, and the fields of the error. Late means that
	// verification finds the defect, not opening. In is the base name of the file in the error if
	// it is not the opened one.
	Err    error
	Field  string
	Offset int64
	Late   bool
	In     string

	// For a model that must be accepted: Err is nil, and Notes are some of the model's notes.
	Version string
	Tensors []Tensor
	Notes   []string
}

// Refused returns a case of a file that does not open.
func Refused(name string, b []byte, err error, field string, offset int64) Case {
	return Case{Name: name, Bytes: b, Err: err, Field: field, Offset: offset}
}

// Late returns a case of a file that opens but does not verify.
func Late(name string, b []byte, err error, field string, offset int64) Case {
	return Case{Name: name, Bytes: b, Late: true, Err: err, Field: field, Offset: offset}
}

// WithKey returns the case with a decryption key.
func (c Case) WithKey(key []byte) Case {
	c.Key = key
	return c
}

// TrustedBy returns the case with a trusted key.
func (c Case) TrustedBy(key crypto.PublicKey) Case {
	c.Trusted = key
	return c
}

// Tensor is an expected tensor. In formats that name a tensor after its file, the name may be
// empty.
type Tensor struct {
	Name  string
	Type  string // a dtype or the name of an encoding
	Shape []int64
	Data  []byte // the result of View.Bytes
}

// Of returns a tensor of a plain dtype.
func Of(name string, d tensor.DType, data []byte, shape ...int64) Tensor {
	return Tensor{name, d.String(), shape, data}
}

// Suite is the corpus of a format.
type Suite struct {
	Format format.Format
	Ext    string // file extension: ".mag"
	// Alone is the name that formats derive from the file for an unnamed tensor.
	Alone string
	// Dir is the directory below testdata/corpus, for packages with several corpora.
	Dir   string
	Cases []Case
}

// Line is a case in the index: one JSON object per line.
type Line struct {
	Name  string `json:"name"`
	File  string `json:"file"`            // path to open, relative to the index
	Key   string `json:"key,omitempty"`   // hexadecimal
	Trust string `json:"trust,omitempty"` // PKIX DER of the trusted key, hexadecimal
	Want  string `json:"want"`            // "ok" or the name of a sentinel error in package format

	Stage  string `json:"stage,omitempty"` // "open" or "verify"
	Field  string `json:"field,omitempty"`
	Offset *int64 `json:"offset,omitempty"`
	In     string `json:"in,omitempty"` // the file that the error names, within the directory

	Version string  `json:"version,omitempty"`
	Tensors []Entry `json:"tensors,omitempty"`
	SHA256  string  `json:"sha256,omitempty"` // of the concatenated data of all tensors
}

// Entry is a tensor in a Line.
type Entry struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
}

// indexName is the file name of a corpus's index.
const indexName = "index.jsonl"

// largest is the size of the largest file that is committed. Larger cases are built and tested, but
// not stored.
const largest = 4 << 10

// files returns the files of a case by path in the corpus.
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

// target returns the path to open.
func (c *Case) target(ext string) string {
	if c.Files == nil {
		return slug(c.Name) + ext
	}
	return path.Join(slug(c.Name), c.Open)
}

// slug converts a case's name to a file name.
func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}

// head returns the index line of a case without the expected result.
func (s *Suite) head(c *Case) Line {
	return Line{Name: c.Name, File: c.target(s.Ext), Key: hex.EncodeToString(c.Key), Trust: hex.EncodeToString(der(c.Trusted)), Want: "ok"}
}

// line returns the index line of a case.
func (s *Suite) line(c *Case) Line {
	l := s.head(c)
	if c.Err != nil {
		l.Want = sentinel(c.Err)
		l.Stage = "open"
		l.Field = c.Field
		l.Offset = &c.Offset
		l.In = c.In
		if c.Late {
			l.Stage = "verify"
		}
		return l
	}
	l.Version = c.Version
	var data []byte
	for _, t := range c.Tensors {
		if t.Name == "" && s.Alone != "" {
			t.Name = strings.TrimSuffix(path.Base(l.File), s.Ext)
		}
		l.Tensors = append(l.Tensors, Entry{t.Name, t.Type, append([]int64{}, t.Shape...)})
		data = append(data, t.Data...)
	}
	l.SHA256 = fmt.Sprintf("%x", sha256.Sum256(data))
	return l
}

// sentinels are the errors that reading returns.
var sentinels = map[string]error{
	"ErrMagic": format.ErrMagic, "ErrVersion": format.ErrVersion, "ErrUnknownFormat": format.ErrUnknownFormat,
	"ErrChecksum": format.ErrChecksum, "ErrUnsupported": format.ErrUnsupported, "ErrSignature": format.ErrSignature,
	"ErrKey": format.ErrKey, "ErrTruncated": format.ErrTruncated, "ErrCorrupt": format.ErrCorrupt,
	"ErrLimit": format.ErrLimit, "ErrShape": format.ErrShape, "ErrNotFound": format.ErrNotFound,
}

func sentinel(err error) string {
	for name, s := range sentinels {
		if s == err {
			return name
		}
	}
	panic(fmt.Sprintf("no sentinel of reading: %v", err))
}
