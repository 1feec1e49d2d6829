package signing

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

const (
	statementType = "https://in-toto.io/Statement/v1"
	predicate     = "https://model_signing/signature/v1.0"
	predicateV0   = "https://model_signing/Digests/v0.1"
	hashName      = "sha256"
)

// digest is a SHA-256.
type digest = [sha256.Size]byte

// statement is what a bundle says of a model.
type statement struct {
	name   string // of the model
	root   digest
	old    bool  // of version 0.2
	shard  int64 // the size of ranges; 0 where files are hashed as a whole
	links  bool
	ignore []string
	files  []signed // in order of their names
}

// signed is a file that is listed.
type signed struct {
	name string
	size int64 // -1 where that is not known
	sums []digest
}

// span returns range i of a file.
func (s *statement) span(f *signed, i int) (off, size int64) {
	if s.shard == 0 {
		return 0, f.size
	}
	off = int64(i) * s.shard
	return off, min(s.shard, f.size-off)
}

// parseStatement parses the payload of a bundle.
func parseStatement(payload []byte) (*statement, error) {
	o, err := parseObject(payload, "statement")
	if err != nil {
		return nil, err
	}
	o.is("_type", statementType)
	s := &statement{}
	if s.old = o.values["predicateType"] == predicateV0; s.old {
		s.parseOld(o)
		return s, *o.err
	}
	o.is("predicateType", predicate)
	p := o.object("predicate")
	s.parseSerialization(p.object("serialization"))
	s.parseResources(p)
	s.parseSubject(o.oneObject("subject"))
	return s, *o.err
}

// parseSubject compares the root digest, which was computed.
func (s *statement) parseSubject(o object) {
	if s.name = get[string](o, "name"); s.name == "" {
		o.fail("name", tensor.ErrCorrupt, "it is empty")
	}
	d := o.object("digest")
	if root := sum(d, hashName); root != s.root {
		d.fail(hashName, driver.ErrChecksum, "%x, but that of the listed files is %x", root, s.root)
	}
}

// parseSerialization reads how the files were listed.
func (s *statement) parseSerialization(o object) {
	o.is("hash_type", hashName)
	s.links = get[bool](o, "allow_symlinks")
	switch method := get[string](o, "method"); {
	case method == "shards":
		size := get[json.Number](o, "shard_size")
		var err error
		if s.shard, err = strconv.ParseInt(size.String(), 10, 64); err != nil || s.shard <= 0 {
			o.fail("shard_size", tensor.ErrCorrupt, "%.100s", size)
		}
	case method != "files":
		o.fail("method", driver.ErrUnsupported, "%.100q", method)
	case o.has("shard_size"):
		o.fail("shard_size", tensor.ErrCorrupt, "the method is %q", method)
	}
	if !o.has("ignore_paths") {
		return
	}
	for _, v := range get[[]any](o, "ignore_paths") {
		name, ok := v.(string)
		if !ok {
			o.fail("ignore_paths", tensor.ErrCorrupt, "it has the wrong JSON type")
		}
		var err error
		if s.ignore, err = addIgnored(s.ignore, name); err != nil {
			o.fail("ignore_paths", tensor.ErrCorrupt, "%w", err)
		}
	}
}

// parseResources reads the list of files and computes the root digest.
func (s *statement) parseResources(p object) {
	l, all := lister{s: s, size: s.shard}, sha256.New()
	for _, o := range p.someObjects("resources", "no file is listed") {
		name := get[string](o, "name")
		o.is("algorithm", hashName)
		d := sum(o, "digest")
		l.add(o, name, d)
		all.Write(d[:])
	}
	s.root = digest(all.Sum(nil))
	l.done(p, "resources")
}

// parseOld reads a statement of version 0.2, whose subjects are the files.
func (s *statement) parseOld(o object) {
	l, all := lister{s: s}, sha256.New()
	for _, e := range o.someObjects("subject", "no file is listed") {
		name := get[string](e, "name")
		if e.has("annotations") {
			if a := e.object("annotations"); a.has("actual_hash_algorithm") {
				a.is("actual_hash_algorithm", "file-sha256")
			}
		}
		d := sum(e.object("digest"), hashName)
		l.add(e, name, d)
		all.Write(d[:])
	}
	s.root = digest(all.Sum(nil))
	l.done(o, "subject")
}

// sum reads a SHA-256 in lower-case hexadecimal.
func sum(o object, key string) (d digest) {
	text := get[string](o, key)
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(d) || hex.EncodeToString(b) != text {
		o.fail(key, tensor.ErrCorrupt, "%.100q is no SHA-256", text)
		return d
	}
	return digest(b)
}

// lister collects the files of a statement.
type lister struct {
	s      *statement
	size   int64 // of ranges
	ranges []part
}

// part is a range of a file.
type part struct {
	name     string
	from, to int64
	sum      digest
}

// add adds a resource.
func (l *lister) add(o object, name string, d digest) {
	p := part{name: name, from: 0, to: -1, sum: d}
	if l.size > 0 {
		var ok bool
		if p, ok = splitName(name, d); !ok || p.from%l.size != 0 || p.to <= p.from || p.to-p.from > l.size {
			o.fail("name", tensor.ErrCorrupt, "%.200q is no range of a file in steps of %d", name, l.size)
		}
	}
	if !validName(p.name) && p.name != "." {
		o.fail("name", tensor.ErrCorrupt, "%.200q is no path below the model", name)
	}
	l.ranges = append(l.ranges, p)
}

// splitName splits the name of a range at its last two colons.
func splitName(name string, d digest) (part, bool) {
	rest, to, ok1 := cutNumber(name)
	rest, from, ok2 := cutNumber(rest)
	return part{rest, from, to, d}, ok1 && ok2
}

// cutNumber takes a decimal number, as it is written by machines, off the end of a name.
func cutNumber(s string) (rest string, n int64, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	n, err := strconv.ParseInt(s[i+1:], 10, 64)
	return s[:i], n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == s[i+1:]
}

// done puts ranges together to files, where no list has had an error.
func (l *lister) done(o object, key string) {
	if *o.err != nil {
		return
	}
	slices.SortFunc(l.ranges, func(a, b part) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.from, b.from))
	})
	last := &signed{}
	for _, p := range l.ranges {
		switch {
		case p.name != last.name && p.from != 0:
			o.fail(key, tensor.ErrCorrupt, "%.200q is listed from byte %d only", p.name, p.from)
		case p.name != last.name:
			l.s.files = append(l.s.files, signed{p.name, p.to, []digest{p.sum}})
			last = &l.s.files[len(l.s.files)-1]
		case l.size == 0:
			o.fail(key, tensor.ErrCorrupt, "%.200q is listed twice", p.name)
		case p.from != last.size || last.size%l.size != 0:
			o.fail(key, tensor.ErrCorrupt, "%.200q is listed with a gap or an overlap at byte %d", p.name, last.size)
		default:
			last.size, last.sums = p.to, append(last.sums, p.sum)
		}
	}
	if len(l.s.files) > 1 && l.s.files[0].name == "." {
		o.fail(key, tensor.ErrCorrupt, "%q among other files", ".")
	}
}

// validName reports whether a name is a clean path of a file below a directory.
func validName(name string) bool {
	return fs.ValidPath(name) && name != "." && strings.IndexByte(name, 0) < 0
}

// defaults are never part of a model.
var defaults = []string{".git", ".gitattributes", ".github", ".gitignore"}

// addIgnored adds a path below the root, unless it is in the list.
func addIgnored(list []string, name string) ([]string, error) {
	clean := path.Clean(name)
	if !validName(clean) || strings.ContainsAny(name, "*?[") {
		return nil, fmt.Errorf("%.200q cannot be ignored: it is no plain path below the model", name)
	}
	if slices.Contains(list, clean) {
		return list, nil
	}
	return append(list, clean), nil
}

// The statement as it is written.
type (
	statementJSON struct {
		Type          string        `json:"_type"`
		Subject       []subjectJSON `json:"subject"`
		PredicateType string        `json:"predicateType"`
		Predicate     predicateJSON `json:"predicate"`
	}
	subjectJSON struct {
		Name   string            `json:"name"`
		Digest map[string]string `json:"digest"`
	}
	predicateJSON struct {
		Resources     []resourceJSON    `json:"resources"`
		Serialization serializationJSON `json:"serialization"`
	}
	resourceJSON struct {
		Name      string `json:"name"`
		Digest    string `json:"digest"`
		Algorithm string `json:"algorithm"`
	}
	serializationJSON struct {
		Method    string   `json:"method"`
		HashType  string   `json:"hash_type"`
		ShardSize int64    `json:"shard_size,omitempty"`
		Links     bool     `json:"allow_symlinks"`
		Ignore    []string `json:"ignore_paths"`
	}
)

// marshal returns the payload of a bundle.
func (s *statement) marshal() ([]byte, error) {
	out := statementJSON{Type: statementType, PredicateType: predicate}
	z := &out.Predicate.Serialization
	*z = serializationJSON{"files", hashName, s.shard, s.links, s.ignore}
	if s.shard > 0 {
		z.Method = "shards"
	}
	list := []part{}
	for i := range s.files {
		f := &s.files[i]
		for k, d := range f.sums {
			name := f.name
			if s.shard > 0 {
				off, size := s.span(f, k)
				name += ":" + strconv.FormatInt(off, 10) + ":" + strconv.FormatInt(off+size, 10)
			}
			list = append(list, part{name: name, sum: d})
		}
	}
	slices.SortFunc(list, func(a, b part) int { return strings.Compare(a.name, b.name) })
	all := sha256.New()
	for _, p := range list {
		all.Write(p.sum[:])
		out.Predicate.Resources = append(out.Predicate.Resources, resourceJSON{p.name, hex.EncodeToString(p.sum[:]), hashName})
	}
	s.root = digest(all.Sum(nil))
	out.Subject = []subjectJSON{{s.name, map[string]string{hashName: hex.EncodeToString(s.root[:])}}}
	return json.Marshal(out)
}
