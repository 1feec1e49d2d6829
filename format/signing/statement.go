package signing

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	if err == nil {
		err = o.is("_type", statementType)
	}
	if err != nil {
		return nil, err
	}
	s := &statement{}
	if kind, err := get[string](o, "predicateType"); err == nil && kind == predicateV0 {
		s.old = true
		err = s.parseOld(o)
		return s, err
	}
	if err := o.is("predicateType", predicate); err != nil {
		return nil, err
	}
	p, err := o.object("predicate")
	if err == nil {
		err = s.parseSerialization(p)
	}
	if err == nil {
		err = s.parseResources(p)
	}
	if err == nil {
		err = s.parseSubject(o)
	}
	return s, err
}

// parseSubject compares the root digest, which was computed.
func (s *statement) parseSubject(o object) error {
	list, err := o.objects("subject")
	if err == nil && len(list) != 1 {
		err = fail(o.name("subject"), tensor.ErrCorrupt, "%d subjects, not one", len(list))
	}
	if err != nil {
		return err
	}
	if s.name, err = get[string](list[0], "name"); err == nil && s.name == "" {
		err = fail(list[0].name("name"), tensor.ErrCorrupt, "it is empty")
	}
	if err != nil {
		return err
	}
	d, err := list[0].object("digest")
	if err != nil {
		return err
	}
	root, err := sum(d, hashName)
	if err == nil && root != s.root {
		err = fail(d.name(hashName), driver.ErrChecksum, "%x, but that of the listed files is %x", root, s.root)
	}
	return err
}

// parseSerialization reads how the files were listed.
func (s *statement) parseSerialization(p object) error {
	o, err := p.object("serialization")
	if err != nil {
		return err
	}
	if err := o.is("hash_type", hashName); err != nil {
		return err
	}
	if s.links, err = get[bool](o, "allow_symlinks"); err != nil {
		return err
	}
	method, err := get[string](o, "method")
	switch {
	case err != nil:
		return err
	case method == "shards":
		size, err := get[json.Number](o, "shard_size")
		if err != nil {
			return err
		}
		if s.shard, err = strconv.ParseInt(size.String(), 10, 64); err != nil || s.shard <= 0 {
			return fail(o.name("shard_size"), tensor.ErrCorrupt, "%.100s", size)
		}
	case method != "files":
		return fail(o.name("method"), driver.ErrUnsupported, "%.100q", method)
	case o.has("shard_size"):
		return fail(o.name("shard_size"), tensor.ErrCorrupt, "the method is %q", method)
	}
	if !o.has("ignore_paths") {
		return nil
	}
	list, err := get[[]any](o, "ignore_paths")
	for _, v := range list {
		name, ok := v.(string)
		if !ok {
			return fail(o.name("ignore_paths"), tensor.ErrCorrupt, "it has the wrong JSON type")
		}
		if s.ignore, err = addIgnored(s.ignore, name); err != nil {
			return fail(o.name("ignore_paths"), tensor.ErrCorrupt, "%w", err)
		}
	}
	return err
}

// parseResources reads the list of files and computes the root digest.
func (s *statement) parseResources(p object) error {
	list, err := p.objects("resources")
	if err == nil && len(list) == 0 {
		err = fail(p.name("resources"), tensor.ErrCorrupt, "no file is listed")
	}
	if err != nil {
		return err
	}
	l, all := lister{s: s, size: s.shard}, sha256.New()
	for _, o := range list {
		name, err := get[string](o, "name")
		if err != nil {
			return err
		}
		if err := o.is("algorithm", hashName); err != nil {
			return err
		}
		d, err := sum(o, "digest")
		if err == nil {
			err = l.add(o.name("name"), name, d)
		}
		if err != nil {
			return err
		}
		all.Write(d[:])
	}
	s.root = digest(all.Sum(nil))
	return l.done(p.name("resources"))
}

// parseOld reads a statement of version 0.2, whose subjects are the files.
func (s *statement) parseOld(o object) error {
	list, err := o.objects("subject")
	if err == nil && len(list) == 0 {
		err = fail(o.name("subject"), tensor.ErrCorrupt, "no file is listed")
	}
	if err != nil {
		return err
	}
	l, all := lister{s: s}, sha256.New()
	for _, e := range list {
		name, err := get[string](e, "name")
		if err != nil {
			return err
		}
		if e.has("annotations") {
			a, err := e.object("annotations")
			if err == nil && a.has("actual_hash_algorithm") {
				err = a.is("actual_hash_algorithm", "file-sha256")
			}
			if err != nil {
				return err
			}
		}
		sums, err := e.object("digest")
		if err != nil {
			return err
		}
		d, err := sum(sums, hashName)
		if err == nil {
			err = l.add(e.name("name"), name, d)
		}
		if err != nil {
			return err
		}
		all.Write(d[:])
	}
	s.root = digest(all.Sum(nil))
	return l.done(o.name("subject"))
}

// sum reads a SHA-256 in lower-case hexadecimal.
func sum(o object, key string) (d digest, err error) {
	text, err := get[string](o, key)
	if err != nil {
		return d, err
	}
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(d) || hex.EncodeToString(b) != text {
		return d, fail(o.name(key), tensor.ErrCorrupt, "%.100q is no SHA-256", text)
	}
	return digest(b), nil
}

// lister collects the files of a statement.
type lister struct {
	s      *statement
	size   int64 // of ranges
	ranges []part
	names  map[string]bool
}

// part is a range of a file.
type part struct {
	name     string
	from, to int64
	sum      digest
}

// add adds a resource.
func (l *lister) add(field, name string, d digest) error {
	p := part{name: name, from: 0, to: -1, sum: d}
	if l.size > 0 {
		var ok bool
		if p, ok = splitName(name, d); !ok || p.from%l.size != 0 || p.to <= p.from || p.to-p.from > l.size {
			return fail(field, tensor.ErrCorrupt, "%.200q is no range of a file in steps of %d", name, l.size)
		}
	}
	if !validName(p.name) && p.name != "." {
		return fail(field, tensor.ErrCorrupt, "%.200q is no path below the model", name)
	}
	if l.names == nil {
		l.names = map[string]bool{}
	}
	if l.names[name] {
		return fail(field, tensor.ErrCorrupt, "%.200q is listed twice", name)
	}
	l.names[name] = true
	l.ranges = append(l.ranges, p)
	return nil
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

// done puts ranges together to files.
func (l *lister) done(field string) error {
	slices.SortFunc(l.ranges, func(a, b part) int {
		if c := strings.Compare(a.name, b.name); c != 0 || a.from == b.from {
			return c
		}
		if a.from < b.from {
			return -1
		}
		return 1
	})
	for _, p := range l.ranges {
		n := len(l.s.files)
		if n == 0 || l.s.files[n-1].name != p.name {
			if p.from != 0 {
				return fail(field, tensor.ErrCorrupt, "%.200q is listed from byte %d only", p.name, p.from)
			}
			l.s.files = append(l.s.files, signed{p.name, p.to, []digest{p.sum}})
			continue
		}
		f := &l.s.files[n-1]
		if p.from != f.size || f.size%l.size != 0 {
			return fail(field, tensor.ErrCorrupt, "%.200q is listed with a gap or an overlap at byte %d", p.name, f.size)
		}
		f.size, f.sums = p.to, append(f.sums, p.sum)
	}
	if len(l.s.files) > 1 && l.s.files[0].name == "." {
		return fail(field, tensor.ErrCorrupt, "%q among other files", ".")
	}
	return nil
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
		return nil, &ignoreError{name}
	}
	if slices.Contains(list, clean) {
		return list, nil
	}
	return append(list, clean), nil
}

// ignoreError is about a path that cannot be left out.
type ignoreError struct{ name string }

func (e *ignoreError) Error() string {
	return strconv.Quote(e.name[:min(len(e.name), 200)]) + " cannot be ignored: it is no plain path below the model"
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
