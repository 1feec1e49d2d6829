package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
)

// part is a file of a model beside the one that opens it.
type part struct {
	*File
	placed  string      // its path, "" while it has only its hidden name
	info    fs.FileInfo // of the file, once it is placed
	isMoved bool        // it has no hidden name any more: there are no links here
}

// linkParts gives the parts names that no file has, and returns them.
func (m *Model) linkParts(old *oldModel) ([]string, error) {
	const most = 100
	for try := range most {
		generation := ""
		if try > 0 || old.info != nil || m.Name(0, "") == "" {
			generation = m.generation(old, try)
		}
		names, err := m.linkAs(generation)
		if err == nil && generation == "" && (m.isMarked(m.List) || !m.arePlaced()) {
			err = fs.ErrExist // another writer removes files of these names
		}
		if err == nil {
			return names, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		m.withdraw()
	}
	return nil, fmt.Errorf("%w: %s", fs.ErrExist, m.at(m.Name(0, m.generation(old, most))))
}

// generation returns digits that depend on the old index and on the data.
func (m *Model) generation(old *oldModel, try int) string {
	b := binary.LittleEndian.AppendUint64(nil, old.hash)
	b = binary.LittleEndian.AppendUint64(b, m.Contents)
	b = binary.LittleEndian.AppendUint64(b, uint64(try))
	return fmt.Sprintf("%016x", xxhash.Sum64(b))
}

func (m *Model) linkAs(generation string) ([]string, error) {
	m.arePlain = generation == ""
	names := make([]string, 0, len(m.parts))
	for i, p := range m.parts {
		name := m.Name(i, generation)
		if err := p.place(m.at(name)); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// arePlaced reports whether all parts still have the names that they were given.
func (m *Model) arePlaced() bool {
	return !slices.ContainsFunc(m.parts, func(p *part) bool { return checkSame(p.placed, p.info) != nil })
}

// refreshed is how old a part may be when it gets its name. Other writers remove parts that are a
// day old and that no index names.
const refreshed = abandoned / 24

// place gives the part a name that no file has.
func (p *part) place(path string) error {
	if time.Since(p.completed) > refreshed {
		if err := touch(p.Name()); err != nil {
			return err
		}
		p.completed = time.Now()
	}
	p.info = lstat(p.Name())
	err := makeLink(p.Name(), path)
	if err == nil {
		p.placed = path
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	// There are no links here: an empty file takes the name first.
	taken, err := create(path, 0o666)
	if err != nil {
		return err
	}
	if err := taken.close(); err != nil {
		_ = Remove(path)
		return err
	}
	if err := Rename(p.Name(), path); err != nil {
		_ = Remove(path)
		return err
	}
	p.placed = path
	p.isMoved = true
	return nil
}

// withdraw takes the names of the parts back. Plain ones may be those of another writer by now: see
// mark.go.
func (m *Model) withdraw() {
	isPlaced := slices.ContainsFunc(m.parts, func(p *part) bool { return p != nil && p.placed != "" })
	if isPlaced && m.arePlain {
		unmark, err := m.mark(m.List)
		if err != nil {
			return // the names stay
		}
		defer unmark()
	}
	withdraw(m.parts)
}

func withdraw(parts []*part) {
	for _, p := range parts {
		if p == nil || p.placed == "" {
			continue
		}
		if !p.isMoved {
			_ = removeSame(p.placed, p.info)
		} else if checkSame(p.placed, p.info) == nil {
			_ = Rename(p.placed, p.Name())
		}
		p.placed = ""
		p.isMoved = false
	}
}

// abort removes parts that are not in place.
func abort(parts []*part) {
	for _, p := range parts {
		if p != nil {
			p.Abort()
		}
	}
}

// forget removes the hidden name of a part that is in place.
func (p *part) forget() {
	p.isUnnamed = true
	if !p.isMoved {
		_ = Remove(p.Name())
	}
}

// syncParts makes the names of the parts durable, and those of the directories that were created
// for them.
func (m *Model) syncParts(names []string) error {
	if m.NoSync || len(names) == 0 {
		return nil
	}
	synced := map[string]bool{}
	for _, name := range names {
		dir := filepath.Dir(m.at(name))
		if synced[dir] {
			continue
		}
		synced[dir] = true
		if err := SyncDir(dir); err != nil {
			return err
		}
	}
	for _, made := range m.made {
		dir := filepath.Dir(made)
		if synced[dir] {
			continue
		}
		synced[dir] = true
		if err := SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}
