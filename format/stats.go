package format

import (
	"github.com/weightmap/weightmap/internal/memory"
)

// Stats is a report on an open model. Sizes are in bytes. After Close every field is zero except
// Resident, which is -1.
type Stats struct {
	// Path is Model.Path.
	Path string
	// FileSize is the size of all files of the model.
	FileSize int64
	// Files lists the files, in the order of Model.Files, also for a model that was not opened by
	// path.
	Files []FileStats
	// HeaderSize is the number of bytes of the model's own file that describe the tensors, from its
	// beginning, and DataOffset the offset at which the data of tensors begins in it. Alignment is
	// what all offsets of tensors are multiples of, as the file says. Each is 0 for a file that has
	// no such thing, such as the index of shards, or data that is compressed.
	HeaderSize, DataOffset, Alignment int64
	// Mapped is the part of FileSize that is mapped; external data that was not used yet is not.
	// Heap is the part in memory: bytes of the caller, and files that are private (Options.Private)
	// or that the system cannot map.
	Mapped, Heap int64
	// OnDemand is the part that is read on demand: through an io.ReaderAt, or from files too
	// large to map.
	OnDemand int64
	// Resident is the part of Mapped and Heap that is in the physical memory of the process, which
	// Evict releases; -1 if the system does not tell. Pages that only the page cache holds do not
	// count.
	Resident int64
	// Locked is the part that is locked in physical memory (Options.Lock).
	Locked int64
	// Kept is the size of copies of tensors: decompressed, decrypted and misaligned ones that were
	// used, and the cache (Options.CacheBytes).
	Kept int64
	// ZeroCopy is the number of tensors that are viewed without a copy.
	ZeroCopy int
	// Copies counts the other tensors by reason: "compressed", "encrypted", "misaligned", "byte
	// order", "behind a reader", "read on demand", "decoded".
	Copies map[string]int
	// Lent reports whether a raw slice was returned: the garbage collector then no longer unmaps
	// the model.
	Lent bool
	// Verified is the number of tensor checksums that were compared, by Verify or before a first
	// use.
	Verified int64
}

// FileStats is a file of a model. The index in Stats.Files is tensor.Info.File.
type FileStats struct {
	Path string // as in errors: "" for bytes, the names of a reader's siblings, or of files of an fs.FS
	Size int64  // -1 if the file is missing, or behind a reader and not opened yet
}

// Stats returns the memory that the model uses, and how many tensors are zero-copy.
func (m *Model) Stats() Stats {
	m = m.opened()
	s := Stats{Path: m.Path(), Kept: m.cache.size(), Verified: m.sums.Load(), Copies: map[string]int{}}
	if m.main.Enter() != nil {
		s.Resident = -1
		return s
	}
	defer m.main.Leave()
	for _, f := range m.spaces.files {
		size := f.statSize()
		s.Files = append(s.Files, FileStats{f.path(), size})
		s.FileSize += max(0, size)
		r := f.region.Load()
		if r == nil {
			continue
		}
		s.Lent = s.Lent || r.Exposed()
		s.Locked += r.Locked()
		switch {
		case r.Mapped():
			s.Mapped += r.Size()
		case r.InMemory():
			s.Heap += r.Size()
		default:
			s.OnDemand += r.Size()
		}
		if n, err := r.Advise(memory.Resident, 0, r.Size()); err != nil || n < 0 || s.Resident < 0 {
			s.Resident = -1
		} else {
			s.Resident += n
		}
	}
	s.HeaderSize = m.parsed.HeaderSize
	s.DataOffset = m.dataOffset()
	s.Alignment = m.parsed.Alignment
	for i := range m.index.Len() {
		if why := m.copied(i); why != "" {
			s.Copies[why]++
		} else {
			s.ZeroCopy++
		}
	}
	return s
}

// dataOffset returns the offset of the first data in the model's own file, 0 if there is none.
func (m *Model) dataOffset() int64 {
	if m.parsed.DataOffset > 0 {
		return m.parsed.DataOffset
	}
	first := int64(0)
	for i := range m.index.Len() {
		space, off, _ := m.index.Place(i)
		if space == 0 && off > 0 && (first == 0 || off < first) {
			first = off
		}
	}
	return first
}

// copied returns the reason why tensor i must be copied, or "".
func (m *Model) copied(i int) string {
	d := m.index.DType(i)
	space, off, size := m.index.Place(i)
	r := m.spaces.files[space].region.Load() // nil until it is opened
	at := uintptr(off)
	if b := m.main.Bytes(); space == 0 && b != nil {
		at += memory.Address(b)
	}
	switch {
	case m.index.Compression(i) != "":
		return "compressed"
	case m.index.Loaded(i) && m.parsed.NeedsKey:
		return "encrypted"
	case m.index.Loaded(i):
		return "decoded"
	case r != nil && r.OnDemand():
		return "read on demand"
	case r != nil && !r.InMemory():
		return "behind a reader"
	case !memory.LittleEndian && d.Size() > 1:
		return "byte order"
	case size > 0 && at%uintptr(wordSize(d)) != 0:
		return "misaligned"
	}
	return ""
}
