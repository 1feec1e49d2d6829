package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/directory"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/note"
	"github.com/weightmap/weightmap/internal/wire"
)

// isOffline reports whether the environment says that the Hub must not be asked.
func isOffline() bool {
	return slices.Contains([]string{"1", "ON", "YES", "TRUE"}, strings.ToUpper(os.Getenv("HF_HUB_OFFLINE")))
}

// hubCache returns the directory of the Hub's cache, or "".
func hubCache() string {
	dir := os.Getenv("HF_HUB_CACHE")
	if dir != "" {
		return dir
	}
	dir = os.Getenv("HF_HOME")
	if dir != "" {
		return filepath.Join(dir, "hub")
	}
	dir = os.Getenv("XDG_CACHE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".cache")
	}
	return filepath.Join(dir, "huggingface", "hub")
}

// cached is a repository in the cache.
type cached struct {
	h    *hub
	path string
}

// inCache returns the repository in the cache, whether it is there or not.
func (h *hub) inCache() *cached {
	cache := hubCache()
	if cache == "" {
		return &cached{h: h}
	}
	return &cached{h, filepath.Join(cache, "models--"+strings.ReplaceAll(h.repo, "/", "--"))}
}

// isThere reports whether the cache has snapshots of the repository.
func (c *cached) isThere() bool {
	if c.path == "" {
		return false
	}
	info, err := os.Stat(filepath.Join(c.path, "snapshots"))
	return err == nil && info.IsDir()
}

// commit returns the commit that the revision was when it was downloaded.
func (c *cached) commit() (string, error) {
	if isCommit(c.h.rev) {
		return c.h.rev, nil
	}
	dir := disk.OpenDir(c.path, "")
	defer dir.Close()
	f, _, err := dir.Open("refs/" + c.h.rev)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, directory.MostRevision))
	if err != nil {
		return "", err
	}
	commit := strings.TrimSpace(string(b))
	if !isHubName(commit) {
		return "", fmt.Errorf("%w: refs/%s in the cache has %.200q, which is no name of a commit", format.ErrCorrupt, c.h.rev, commit)
	}
	return commit, nil
}

// open opens the model in a snapshot. file is its file, "" for what the directory is opened by.
// remark is a note of the model, if it is not empty.
func (c *cached) open(ctx context.Context, commit, file, remark string, o *Options) (*format.Model, error) {
	open := format.Options{}
	if o.Open != nil {
		open = *o.Open
	}
	open.Context = ctx
	if remark != "" {
		open.Context = note.With(ctx, remark)
	}
	return format.Open(filepath.Join(c.path, "snapshots", commit, filepath.FromSlash(file)), &open)
}

// openHub opens a model of the Hub: from the cache if that has its commit, else from the Hub. If
// that cannot be reached, the cache is used with a note.
func openHub(ctx context.Context, address string, o *Options) (*format.Model, error) {
	h, err := parseHub(address)
	if err != nil {
		return nil, err
	}
	_, err = hubToken()
	if err != nil {
		return nil, err
	}
	c := h.inCache()
	if isOffline() {
		return c.offline(ctx, "HF_HUB_OFFLINE is set", ErrUnavailable, o)
	}
	if !c.isThere() {
		return h.openReader(ctx, nil, o)
	}
	if isCommit(h.rev) {
		m, err := c.open(ctx, h.rev, h.file, "", o)
		if isMissing(err) {
			return h.openReader(ctx, nil, o)
		}
		return m, err
	}
	list, err := h.ask(ctx, o)
	if errors.Is(err, ErrUnavailable) {
		return c.offline(ctx, "the Hub cannot be reached", err, o)
	}
	if err != nil {
		return nil, wire.Place(err, "", h.String(), "")
	}
	file := h.file
	if file == "" {
		file, err = list.choose(o)
	}
	if err != nil {
		return nil, wire.Place(err, "", h.String(), "")
	}
	m, err := c.open(ctx, list.commit, file, "", o)
	if isMissing(err) {
		return h.openReader(ctx, list, o)
	}
	return m, err
}

// isMissing reports whether a model could not be opened since the cache does not have all its
// files.
func isMissing(err error) bool {
	var u *directory.Undecided
	return errors.Is(err, fs.ErrNotExist) || errors.As(err, &u)
}

// offline opens the model in the cache, as it was when it was downloaded. why says why the Hub is
// not asked, and failed is the error if there is none in the cache.
func (c *cached) offline(ctx context.Context, why string, failed error, o *Options) (*format.Model, error) {
	commit, err := c.commit()
	if err == nil {
		note := fmt.Sprintf("%s: this is the commit %s of %s, from the cache", why, commit, c.h.repo)
		m, opening := c.open(ctx, commit, c.h.file, note, o)
		if opening == nil || !isMissing(opening) {
			return m, opening
		}
		err = opening
	}
	if !isMissing(err) {
		return nil, wire.Place(err, "", c.h.String(), "")
	}
	err = fmt.Errorf("%w: %s, and the cache does not have it: %w; download it with hf download %s", failed, why, err, c.h.repo)
	return nil, wire.Place(err, "", c.h.String(), "")
}
