package signing

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

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
	files  map[string][]part
}

// part is a file that the statement lists, or a range of one.
type part struct {
	from, to int64 // to is -1 until the size of the file is known
	sum      digest

	there bool // of the first part of a file: the tree has the file
}

func (p *part) size() int64 { return p.to - p.from }

// nameOf returns the name of a part of a file in the statement.
func (s *statement) nameOf(file string, p *part) string {
	if s.shard == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, p.from, p.to)
}

// names returns the names of the files, sorted.
func (s *statement) names() []string { return slices.Sorted(maps.Keys(s.files)) }

// single reports whether the statement is of one file of any name: some signers write "." for it.
func (s *statement) single() bool { return s.files["."] != nil }

// find returns the parts of a file.
func (s *statement) find(name string) []part {
	if s.single() {
		name = "."
	}
	return s.files[name]
}

// parseStatement parses the payload of a bundle. Also with an error, it tells the version.
func parseStatement(payload []byte) (*statement, error) {
	o := parseObject(payload, "statement.")
	o.is("_type", statementType)
	s := &statement{files: map[string][]part{}}
	if kind, _ := o.values.Get("predicateType"); kind == predicateV0 {
		s.old = true
		s.parseFiles(o.objects("subject"))
		return s, *o.err
	}
	o.is("predicateType", predicate)
	p := o.object("predicate")
	s.parseSerialization(p.object("serialization"))
	s.parseFiles(p.objects("resources"))
	subject := o.only("subject")
	if s.name = get[string](subject, "name"); s.name == "" {
		subject.fail("name", tensor.ErrCorrupt, "it is empty")
	}
	d := subject.object("digest")
	if root := sum(d, hashName); root != s.root {
		d.fail(hashName, tensor.ErrChecksum, "%x, but that of the listed files is %x", root, s.root)
	}
	return s, *o.err
}

// parseSerialization parses the settings with which the files were listed.
func (s *statement) parseSerialization(o object) {
	o.is("hash_type", hashName)
	s.links = get[bool](o, "allow_symlinks")
	switch method := get[string](o, "method"); {
	case method == "shards":
		if s.shard = get[int64](o, "shard_size"); s.shard <= 0 {
			o.fail("shard_size", tensor.ErrCorrupt, "%d", s.shard)
		}
	case method != "files":
		o.fail("method", tensor.ErrUnsupported, "%.100q", method)
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

// parsePart parses the name of a file or a range.
func (s *statement) parsePart(name string) (file string, p part, ok bool) {
	if s.shard == 0 {
		return name, part{to: -1}, true
	}
	i := strings.LastIndexByte(name, ':')
	j := strings.LastIndexByte(name[:max(i, 0)], ':')
	if j < 0 {
		return "", p, false
	}
	file = name[:j]
	p.from, _ = strconv.ParseInt(name[j+1:i], 10, 64)
	p.to, _ = strconv.ParseInt(name[i+1:], 10, 64)
	ok = s.nameOf(file, &p) == name && p.from >= 0 && p.from%s.shard == 0 && p.size() > 0 && p.size() <= s.shard
	return file, p, ok
}

// parseFiles parses the list of files or ranges and computes the root digest.
func (s *statement) parseFiles(list []object) {
	all := sha256.New()
	for _, o := range list {
		name := get[string](o, "name")
		file, p, ok := s.parsePart(name)
		if !ok || !validName(file) && file != "." {
			o.fail("name", tensor.ErrCorrupt, "%.200q is no path below the model, or no range in steps of shard_size", name)
		}
		if s.old {
			p.sum = sum(o.object("digest"), hashName)
		} else {
			o.is("algorithm", hashName)
			p.sum = sum(o, "digest")
		}
		all.Write(p.sum[:])
		s.files[file] = append(s.files[file], p)
	}
	s.root = digest(all.Sum(nil))
	if s.single() && len(s.files) > 1 {
		list[0].fail("name", tensor.ErrCorrupt, "%q among other files", ".")
	}
	for _, name := range s.names() {
		parts := s.files[name]
		end := int64(0)
		slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.from, b.from) })
		for _, p := range parts {
			if p.from != end {
				list[0].fail("name", tensor.ErrCorrupt, "%.200q is listed twice, or with a gap or an overlap at byte %d", name, p.from)
			}
			end = p.to
		}
	}
}

// validName reports whether name is a clean relative path of a file.
func validName(name string) bool {
	return fs.ValidPath(name) && name != "." && strings.IndexByte(name, 0) < 0
}

// defaults lists paths that are never part of a model.
var defaults = []string{".git", ".gitattributes", ".github", ".gitignore"}

// addIgnored adds the path name to list.
func addIgnored(list []string, name string) ([]string, error) {
	clean := path.Clean(name)
	if !validName(clean) || strings.ContainsAny(name, "*?[") {
		return nil, fmt.Errorf("%.200q cannot be ignored: it is no plain path below the model", name)
	}
	return append(list, clean), nil
}

// marshal returns the JSON of the statement, the payload of a bundle.
func (s *statement) marshal() []byte {
	sums := map[string]digest{}
	for file, parts := range s.files {
		for _, p := range parts {
			sums[s.nameOf(file, &p)] = p.sum
		}
	}
	all := sha256.New()
	var resources []string
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		sum := sums[name]
		all.Write(sum[:])
		resources = append(resources, fmt.Sprintf(`{"name":%s,"digest":"%x","algorithm":"sha256"}`, quote(name), sum))
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
