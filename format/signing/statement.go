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

// statement is the signed content of a bundle.
type statement struct {
	name   string // name of the model
	root   digest
	old    bool  // version 0.2
	shard  int64 // size of a range in bytes; 0 if whole files are hashed
	links  bool
	ignore []string
	files  []signed // sorted by name
}

// signed is a file that the statement lists.
type signed struct {
	name string
	size int64 // -1 if unknown
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

// parseSubject parses the subject and compares its root digest with the computed one.
func (s *statement) parseSubject(o object) {
	if s.name = get[string](o, "name"); s.name == "" {
		o.fail("name", tensor.ErrCorrupt, "it is empty")
	}
	d := o.object("digest")
	if root := sum(d, hashName); root != s.root {
		d.fail(hashName, driver.ErrChecksum, "%x, but that of the listed files is %x", root, s.root)
	}
}

// parseSerialization parses the settings with which the files were listed.
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
		name, _ := v.(string)
		var err error
		if s.ignore, err = addIgnored(s.ignore, name); err != nil {
			o.fail("ignore_paths", tensor.ErrCorrupt, "%w", err)
		}
	}
}

// parseResources parses the list of files.
func (s *statement) parseResources(p object) {
	s.parseFiles(p, "resources", func(o object) digest {
		o.is("algorithm", hashName)
		return sum(o, "digest")
	})
}

// parseOld parses a statement of version 0.2, which lists the files as subjects.
func (s *statement) parseOld(o object) {
	s.parseFiles(o, "subject", func(o object) digest {
		if o.has("annotations") {
			if a := o.object("annotations"); a.has("actual_hash_algorithm") {
				a.is("actual_hash_algorithm", "file-sha256")
			}
		}
		return sum(o.object("digest"), hashName)
	})
}

// sum parses a SHA-256 in lower-case hexadecimal.
func sum(o object, key string) (d digest) {
	text := get[string](o, key)
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(d) || hex.EncodeToString(b) != text {
		o.fail(key, tensor.ErrCorrupt, "%.100q is no SHA-256", text)
		return d
	}
	return digest(b)
}

// part is a range of a file.
type part struct {
	name     string
	from, to int64
	sum      digest
}

// parseFiles parses a list of files or ranges and computes the root digest.
func (s *statement) parseFiles(in object, key string, digestOf func(object) digest) {
	var parts []part
	all := sha256.New()
	for _, o := range in.someObjects(key, "no file is listed") {
		name := get[string](o, "name")
		p, ok := part{name: name, to: -1}, true
		if s.shard > 0 {
			p, ok = splitName(name)
			ok = ok && p.from%s.shard == 0 && p.to > p.from && p.to-p.from <= s.shard
		}
		if !ok || !validName(p.name) && p.name != "." {
			o.fail("name", tensor.ErrCorrupt, "%.200q is no path below the model, or no range in steps of shard_size", name)
		}
		p.sum = digestOf(o)
		all.Write(p.sum[:])
		parts = append(parts, p)
	}
	s.root = digest(all.Sum(nil))
	if *in.err == nil {
		s.join(parts, in, key)
	}
}

// splitName splits the name of a range at its last two colons.
func splitName(name string) (part, bool) {
	rest, to, ok1 := cutNumber(name)
	rest, from, ok2 := cutNumber(rest)
	return part{name: rest, from: from, to: to}, ok1 && ok2
}

// cutNumber cuts a canonical decimal number off the end of s.
func cutNumber(s string) (rest string, n int64, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	n, err := strconv.ParseInt(s[i+1:], 10, 64)
	return s[:i], n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == s[i+1:]
}

// join combines the ranges of each file.
func (s *statement) join(parts []part, o object, key string) {
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.from, b.from))
	})
	last := &signed{}
	for _, p := range parts {
		switch {
		case p.name != last.name && p.from != 0:
			o.fail(key, tensor.ErrCorrupt, "%.200q is listed from byte %d only", p.name, p.from)
		case p.name != last.name:
			s.files = append(s.files, signed{p.name, p.to, []digest{p.sum}})
			last = &s.files[len(s.files)-1]
		case s.shard == 0:
			o.fail(key, tensor.ErrCorrupt, "%.200q is listed twice", p.name)
		case p.from != last.size:
			o.fail(key, tensor.ErrCorrupt, "%.200q is listed with a gap or an overlap at byte %d", p.name, last.size)
		default:
			last.size, last.sums = p.to, append(last.sums, p.sum)
		}
	}
	if len(s.files) > 1 && s.files[0].name == "." {
		o.fail(key, tensor.ErrCorrupt, "%q among other files", ".")
	}
}

// validName reports whether name is a clean relative path of a file.
func validName(name string) bool {
	return fs.ValidPath(name) && name != "." && strings.IndexByte(name, 0) < 0
}

// defaults lists paths that are never part of a model.
var defaults = []string{".git", ".gitattributes", ".github", ".gitignore"}

// addIgnored adds the path name to list unless it is there.
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

// marshal returns the JSON of the statement, the payload of a bundle.
func (s *statement) marshal() []byte {
	var list []part
	for i := range s.files {
		f := &s.files[i]
		for k, d := range f.sums {
			name := f.name
			if s.shard > 0 {
				off, size := s.span(f, k)
				name = fmt.Sprintf("%s:%d:%d", name, off, off+size)
			}
			list = append(list, part{name: name, sum: d})
		}
	}
	slices.SortFunc(list, func(a, b part) int { return strings.Compare(a.name, b.name) })
	all := sha256.New()
	var resources []string
	for _, p := range list {
		all.Write(p.sum[:])
		resources = append(resources, fmt.Sprintf(`{"name":%s,"digest":"%x","algorithm":"sha256"}`, quote(p.name), p.sum))
	}
	s.root = digest(all.Sum(nil))
	method := `"files","hash_type":"sha256"`
	if s.shard > 0 {
		method = fmt.Sprintf(`"shards","hash_type":"sha256","shard_size":%d`, s.shard)
	}
	return fmt.Appendf(nil, `{"_type":"%s","subject":[{"name":%s,"digest":{"sha256":"%x"}}],"predicateType":"%s",`+
		`"predicate":{"resources":[%s],"serialization":{"method":%s,"allow_symlinks":%t,"ignore_paths":%s}}}`,
		statementType, quote(s.name), s.root, predicate, strings.Join(resources, ","), method, s.links, quote(s.ignore))
}

// quote returns the JSON of a string or a list of strings.
func quote(v any) []byte {
	b, _ := json.Marshal(v) // cannot fail for these types
	return b
}
