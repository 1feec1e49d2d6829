package wire

import "encoding/binary"

// Buffer is a byte slice to which little-endian fields are appended.
type Buffer []byte

// U8 appends one byte.
func (w *Buffer) U8(v uint8) { *w = append(*w, v) }

// U16 appends two bytes.
func (w *Buffer) U16(v uint16) { *w = binary.LittleEndian.AppendUint16(*w, v) }

// U32 appends four bytes.
func (w *Buffer) U32(v uint32) { *w = binary.LittleEndian.AppendUint32(*w, v) }

// U64 appends eight bytes.
func (w *Buffer) U64(v uint64) { *w = binary.LittleEndian.AppendUint64(*w, v) }

// I32 appends a two's complement integer of four bytes.
func (w *Buffer) I32(v int32) { w.U32(uint32(v)) }

// I64 appends a two's complement integer of eight bytes.
func (w *Buffer) I64(v int64) { w.U64(uint64(v)) }

// I64s appends integers of eight bytes.
func (w *Buffer) I64s(list []int64) {
	for _, v := range list {
		w.I64(v)
	}
}

// Raw appends bytes as they are.
func (w *Buffer) Raw(p []byte) { *w = append(*w, p...) }

// Str appends the bytes of a string, without length or terminator.
func (w *Buffer) Str(s string) { *w = append(*w, s...) }

// Zeros appends n zero bytes.
func (w *Buffer) Zeros(n int) { *w = append(*w, make([]byte, n)...) }

// AlignUp rounds n up to a multiple of to, a power of two.
func AlignUp(n, to int64) int64 { return (n + to - 1) &^ (to - 1) }
