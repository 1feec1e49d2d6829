package mag

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// What the metadata holds under "xxh64/" and the key of a tensor.
const (
	namedDigest = 1 // an int64: the digest of its data
	namedPlain  = 2 // something else, which is ordinary metadata
)

// isDigest reports whether a metadata record may be a digest: an int64 whose
// key begins with the prefix.
func isDigest(rec []byte) bool {
	return rec[0] == metadataInt64 && string(rec[metadataHead:min(len(rec), metadataHead+len(digestPrefix))]) == digestPrefix
}

// readMetadata sorts the metadata into digests and ordinary entries. Writers
// put digests in the order of the tensors, so each is first compared with the key
// of the tensor that is next; only others are looked up. Keys of digests need no
// search for duplicates, since those of tensors are unique.
func (f *parsed) readMetadata(b []byte, x *extent) error {
	next := 0
	if err := f.memory.Reserve(int64(x.plainLen)); err != nil {
		return wire.Error(formatName, "metadata", headerSize, err)
	}
	f.meta = make([]byte, 0, x.plainLen)
	for at := headerSize; at < x.metaEnd; {
		n := metadataSize(b, at)
		if n == 0 {
			return badMetadata(b, at, true)
		}
		rec := b[at : at+n : at+n]
		kind, reserved := rec[0], u32(rec, 0)>>8
		if reserved != 0 {
			return wire.Errorf(formatName, "metadata aux", int64(at), format.ErrCorrupt, "reserved bits are set: %#x", u32(rec, 0))
		}
		if kind != metadataInt64 && kind != metadataFloat64 {
			return wire.Errorf(formatName, "metadata type", int64(at), format.ErrUnsupported, "unknown type %d", kind)
		}
		key := rec[metadataHead:]
		i, ok := f.digestOf(key, next)
		switch {
		case ok && f.mark(i, kind):
			return wire.Errorf(formatName, "metadata key", int64(at+metadataHead), format.ErrCorrupt, "%q occurs twice", key)
		case ok && kind == metadataInt64:
			f.digests[i] = u64(rec, 4)
			next = i + 1
		default:
			if err := checkKey(key); err != nil {
				return wire.Error(formatName, "metadata key", int64(at+metadataHead), err)
			}
			f.meta = append(f.meta, rec...)
			f.entries++
		}
		at += n
	}
	return f.checkUnique(b, x)
}

// digestOf returns the tensor whose digest would have this key. next is a guess.
func (f *parsed) digestOf(key []byte, next int) (i int, ok bool) {
	if len(key) <= len(digestPrefix) || string(key[:len(digestPrefix)]) != digestPrefix {
		return 0, false
	}
	name := key[len(digestPrefix):]
	if next < f.index.Len() && string(name) == f.index.Name(next) {
		return next, true
	}
	return f.index.LookupBytes(name)
}

// mark notes that the digest key of tensor i is taken, and whether it was before.
func (f *parsed) mark(i int, kind byte) (before bool) {
	if n := f.index.Len(); f.digests == nil {
		f.digests = make([]uint64, n+(n+perWord-1)/perWord)
	}
	word, shift := f.named(i)
	before = *word>>shift&namedBits != 0
	named := uint64(namedPlain)
	if kind == metadataInt64 {
		named = namedDigest
	}
	*word = *word&^(namedBits<<shift) | named<<shift
	return before
}

// Two bits a tensor say what the metadata holds under its digest key.
const (
	perWord   = 32
	namedBits = 3
)

// named returns where these bits of tensor i are.
func (f *parsed) named(i int) (word *uint64, shift int) {
	return &f.digests[f.index.Len()+i/perWord], 2 * (i % perWord)
}

// checkUnique refuses ordinary metadata with equal keys.
func (f *parsed) checkUnique(b []byte, x *extent) error {
	if f.entries < 2 {
		return nil
	}
	set := newKeySet(f.entries, func(pos int) []byte {
		return f.meta[pos+metadataHead : pos+metadataHead+int(u32(f.meta, pos+12))]
	})
	for pos := 0; pos < len(f.meta); {
		key := set.at(pos)
		if !set.add(pos) {
			return wire.Errorf(formatName, "metadata key", lastKey(b[:x.metaEnd], key), format.ErrCorrupt, "%q occurs twice", key)
		}
		pos += metadataHead + len(key)
	}
	return nil
}

// lastKey returns the offset of the last metadata record with that key. It is
// for error messages: records were copied out of their place.
func lastKey(b, key []byte) int64 {
	last := int64(-1)
	for at := headerSize; at < len(b); {
		n := metadataSize(b, at)
		if n == 0 {
			break
		}
		if string(b[at+metadataHead:at+n]) == string(key) {
			last = int64(at + metadataHead)
		}
		at += n
	}
	return last
}

// Metadata implements driver.Parsed.
func (f *parsed) Metadata() (driver.Metadata, error) {
	if f.entries == 0 {
		return nil, nil
	}
	keys := string(f.meta) // one allocation that all keys share
	m := make(driver.Metadata, 0, f.entries)
	for at := 0; at < len(f.meta); {
		payload, end := u64(f.meta, at+4), at+metadataHead+int(u32(f.meta, at+12))
		e := driver.Entry{Key: keys[at+metadataHead : end], Value: int64(payload)}
		if f.meta[at] == metadataFloat64 {
			e.Value = math.Float64frombits(payload)
		}
		m = append(m, e)
		at = end
	}
	return m, nil
}

// hasDigest reports whether the file holds the digest of tensor i.
func (f *parsed) hasDigest(i int) bool {
	if f.digests == nil {
		return false
	}
	word, shift := f.named(i)
	return *word>>shift&namedBits == namedDigest
}

// hasDigest reports whether the metadata key of a tensor's digest, digestPrefix and its
// name, is not too long.
func hasDigest(name string) bool { return len(digestPrefix)+len(name) <= maxKey }

func plural(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
