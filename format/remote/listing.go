package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/directory"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

const (
	mostListing = 32 << 20 // bytes of what the Hub says of a repository
	mostDepth   = 64
)

// listing is what the Hub says of a revision of a repository.
type listing struct {
	h      *hub
	commit string
	names  []string // of its files, sorted
}

// ask asks the Hub which commit a revision is and which files it has.
func (h *hub) ask(ctx context.Context, o *Options) (*listing, error) {
	c, err := o.checked()
	if err != nil {
		return nil, err
	}
	object, err := h.object(h.endpoint+"/api/models/"+h.repo+"/revision/"+url.PathEscape(h.rev), &c)
	if err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		b, err := object.getAll(ctx, mostListing, &c)
		if err == nil {
			return h.parse(b)
		}
		if err := c.pause(ctx, err, tries); err != nil {
			return nil, explainAccess(err)
		}
	}
}

// getAll makes one request for all of an object without a version, of at most most bytes.
func (h *httpObject) getAll(ctx context.Context, most int64, o *Options) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(o.Timeout, o.Stall), errStalled)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "", nil)
	if err != nil {
		return nil, err
	}
	target := *h.url
	req.URL = &target
	req.Header = h.header.Clone()
	e := &exchange{object: h, urls: []*url.URL{h.url}}
	client := *h.client
	client.CheckRedirect = e.checkRedirect
	resp, err := client.Do(req)
	if err != nil {
		return nil, e.unsent(err, resp != nil)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, (*reply)(resp).refusal(Version{})
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return nil, &Temporary{Err: heard(err)}
	}
	if int64(len(b)) > most {
		return nil, nonsense("more than %d bytes", most)
	}
	return b, nil
}

// parse parses the answer of the Hub.
func (h *hub) parse(b []byte) (*listing, error) {
	l := &listing{h: h}
	memory := &driver.Memory{}
	s := jsonmeta.NewScanner(b, jsonmeta.Options{MaxDepth: mostDepth, Memory: memory, Stored: int64(len(b))})
	err := s.Object(func(key []byte, _ int) error {
		switch string(key) {
		case "sha":
			text, err := s.Text()
			l.commit = string(text)
			return err
		case "siblings":
			return s.Array(func(int) error { return s.Object(func(key []byte, _ int) error { return l.sibling(&s, key) }) })
		}
		return s.Skip()
	})
	if err != nil {
		return nil, nonsense("the Hub's list of files: %v", err)
	}
	if !isCommit(l.commit) {
		return nil, nonsense("the Hub names no commit")
	}
	slices.Sort(l.names)
	l.names = slices.Compact(l.names)
	return l, nil
}

// sibling adds a file of the repository.
func (l *listing) sibling(s *jsonmeta.Scanner, key []byte) error {
	if string(key) != "rfilename" {
		return s.Skip()
	}
	text, err := s.Text()
	if err == nil && isHubPath(string(text)) {
		l.names = append(l.names, string(text))
	}
	return err
}

// entries returns what is in a directory of the repository, "" for the top.
func (l *listing) entries(dir string) (entries []driver.DirEntry) {
	for _, path := range l.names {
		below, ok := strings.CutPrefix(path, dir)
		if !ok {
			continue
		}
		name, _, isInside := strings.Cut(below, "/")
		e := driver.DirEntry{Name: name, Regular: !isInside, Dir: isInside}
		if len(entries) == 0 || entries[len(entries)-1] != e {
			entries = append(entries, e)
		}
	}
	return entries
}

// choose returns the file that opens the model, as format.Open does in a directory.
func (l *listing) choose(o *Options) (string, error) {
	wanted := ""
	if o != nil && o.Open != nil && o.Open.Format != nil {
		wanted = o.Open.Format.Driver().Describe().Name
	}
	rule := directory.Rule{Wanted: wanted, Format: formatOf, IsDirectory: func(string) bool { return false }}
	choice, err := rule.Choose(l.entries(""))
	if err != nil {
		return "", l.inRepository(err, &rule)
	}
	if choice.File == "" && choice.Parts == nil {
		return "", fmt.Errorf("%w: the repository is a model of format %s in a directory: download it, with hf download %s, and open its directory", format.ErrUnsupported, choice.Format, l.h.repo)
	}
	if choice.File == "" {
		return "", fmt.Errorf("%w: the repository has %d parts of a model and no index: download it, with hf download %s, and open its directory", format.ErrUnsupported, len(choice.Parts), l.h.repo)
	}
	return choice.File, nil
}

// inRepository returns the error of a choice with the addresses that open the models.
func (l *listing) inRepository(err error, rule *directory.Rule) error {
	var u *directory.Undecided
	if !errors.As(err, &u) || len(u.Names) == 0 {
		return err
	}
	var addresses []string
	for i, name := range u.Names {
		at := *l.h
		at.file = name
		if !slices.Contains(l.names, name) { // it is a directory
			choice, err := rule.Choose(l.entries(name + "/"))
			if err != nil || choice.File == "" {
				if i == 0 {
					return u // the text suggests it
				}
				continue
			}
			at.file += "/" + choice.File
		}
		addresses = append(addresses, at.String())
	}
	return &format.ChoiceError{Names: addresses, Err: u.Named("hf:// address", addresses)}
}

// formatOf returns the format of files with the ending of name, linked or not, or "".
func formatOf(name string) string {
	f, err := format.ByExtension(name)
	if err == nil {
		return f.Driver().Describe().Name
	}
	return foreign.ByEnding(name)
}

// isCommit reports whether a revision is the whole name of a commit.
func isCommit(rev string) bool {
	return len(rev) == 40 && strings.Trim(rev, "0123456789abcdef") == ""
}
