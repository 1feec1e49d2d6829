package main

import "encoding/binary"

// buffer is a part of a file that is written, little-endian.
type buffer []byte

func (b *buffer) u8(x uint8)    { *b = append(*b, x) }
func (b *buffer) u16(x uint16)  { *b = binary.LittleEndian.AppendUint16(*b, x) }
func (b *buffer) u32(x uint32)  { *b = binary.LittleEndian.AppendUint32(*b, x) }
func (b *buffer) u64(x uint64)  { *b = binary.LittleEndian.AppendUint64(*b, x) }
func (b *buffer) raw(x []byte)  { *b = append(*b, x...) }
func (b *buffer) text(s string) { *b = append(*b, s...) }
func (b *buffer) zeros(n int)   { *b = append(*b, make([]byte, n)...) }
