//go:build (amd64 || arm64) && !purego

package vector

// adlerBlock returns the sum of the bytes, and the sum of each byte times its distance
// from the end of p, which is 1 for the last. p has whole steps, up to a block.
//
//go:noescape
func adlerBlock(p []byte) (sum, moment uint64)

// The conversions take a multiple of lanes elements, up to a block. If stream is set they
// bypass the caches, and dst must begin at a cache line. The routines for arm64 ignore stream.

//go:noescape
func float16Block(dst []float32, src []byte, stream bool)

//go:noescape
func bfloat16Block(dst []float32, src []byte, stream bool)

//go:noescape
func linearBlock(dst []float32, src []byte, sign int32, scale float32, zero int32, stream bool)

// rowBlock takes one scale for each element. With a step of 1 it takes one zero point for
// each; with a step of 0 it uses the first lanes zero points for all.
//
//go:noescape
func rowBlock(dst []float32, src []byte, sign int32, scales []float32, zeros []int32, step int, stream bool)

//go:noescape
func float64Block(dst []float32, src []byte, stream bool)

//go:noescape
func int32Block(dst []float32, src []byte, stream bool)

//go:noescape
func linear16Block(dst []float32, src []byte, sign int32, scale float32, zero int32, stream bool)

//go:noescape
func toHalfBlock(dst []byte, src []float32)

//go:noescape
func toBrainBlock(dst []byte, src []float32)

// nibbleBlocks takes a block for each scale and minimum, up to Batch.
//
//go:noescape
func nibbleBlocks(dst []float32, src []byte, scales, mins []float32, n *Nibbles)

// scaledBlocks takes a block for each scale, up to Batch.
//
//go:noescape
func scaledBlocks(dst []float32, src []byte, stride int, scales []float32)

// rangeBlock returns the smallest and the largest of 0 and the numbers, whose count is a
// multiple of lanes.
//
//go:noescape
func rangeBlock(src []float32) (lo, hi float32, nan bool)

// rangeRowBlock takes a multiple of lanes numbers.
//
//go:noescape
func rangeRowBlock(src, lo, hi []float32) (finite bool)

//go:noescape
func quantizeBlock(dst []byte, src []float32, s *Steps)

//go:noescape
func quantizeRowBlock(dst []byte, src []float32, s []Steps)

// errorsBlock takes a multiple of sumLanes numbers, more than 0 and up to a quarter of a
// block. If not all are finite it changes nothing and returns false.
//
//go:noescape
func errorsBlock(e *Errors, numbers, stand []float32) (ok bool)

// q8Block takes whole blocks. It stops before a block whose scale may be too large.
//
//go:noescape
func q8Block(dst []byte, src []float32) (blocks int)

// groupBlocks takes a block for each of the scales, up to unpacked. floats is scratch.
//
//go:noescape
func groupBlocks(dst []float32, src []byte, scales []Scales, layout *Groups, floats *[32]float32)
