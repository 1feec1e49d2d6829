package wire

import (
	"encoding/binary"
	"slices"
)

// Buffer appends little-endian fields. The zero Buffer is empty.
type Buffer struct{ b []byte }

// Grow makes room for n more bytes.
func (w *Buffer) Grow(n int) { w.b = slices.Grow(w.b, n) }

// Bytes returns the appended bytes. They are valid until the next append.
func (w *Buffer) Bytes() []byte { return w.b }

// Len returns the number of bytes appended.
func (w *Buffer) Len() int { return len(w.b) }

// U8 appends one byte.
func (w *Buffer) U8(v uint8) { w.b = append(w.b, v) }

// U16 appends two bytes.
func (w *Buffer) U16(v uint16) { w.b = binary.LittleEndian.AppendUint16(w.b, v) }

// U32 appends four bytes.
func (w *Buffer) U32(v uint32) { w.b = binary.LittleEndian.AppendUint32(w.b, v) }

// U64 appends eight bytes.
func (w *Buffer) U64(v uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, v) }

// I32 appends a two's complement integer of four bytes.
func (w *Buffer) I32(v int32) { w.U32(uint32(v)) }

// I64 appends a two's complement integer of eight bytes.
func (w *Buffer) I64(v int64) { w.U64(uint64(v)) }

// Raw appends bytes as they are.
func (w *Buffer) Raw(p []byte) { w.b = append(w.b, p...) }

// Str appends the bytes of a string, without length or terminator.
func (w *Buffer) Str(s string) { w.b = append(w.b, s...) }

// Zeros appends n zero bytes.
func (w *Buffer) Zeros(n int) { w.b = append(w.b, make([]byte, n)...) }

// Put32 overwrites the four bytes at position at.
func (w *Buffer) Put32(at int, v uint32) { binary.LittleEndian.PutUint32(w.b[at:], v) }

// AlignUp rounds n up to a multiple of to, a power of two.
func AlignUp(n, to int64) int64 { return (n + to - 1) &^ (to - 1) }
