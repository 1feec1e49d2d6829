//go:build (!amd64 && !arm64) || purego

package vector

var haveIntegers, haveHalf = false, false

// Stubs; without vector instructions they are never called.

func adlerBlock([]byte) (sum, moment uint64) { return 0, 0 }

func float16Block([]float32, []byte, bool) {}

func bfloat16Block([]float32, []byte, bool) {}

func linearBlock([]float32, []byte, int32, float32, int32, bool) {}

func rowBlock([]float32, []byte, int32, []float32, []int32, int, bool) {}

func float64Block([]float32, []byte, bool) {}

func int32Block([]float32, []byte, bool) {}

func linear16Block([]float32, []byte, int32, float32, int32, bool) {}

func toHalfBlock([]byte, []float32) {}

func toBrainBlock([]byte, []float32) {}

func nibbleBlocks([]float32, []byte, []float32, []float32, *Nibbles) {}

func scaledBlocks([]float32, []byte, int, []float32) {}

func rangeBlock([]float32) (lo, hi float32, nan bool) { return 0, 0, false }

func rangeRowBlock(src, lo, hi []float32) (finite bool) { return false }

func quantizeBlock([]byte, []float32, *Steps) {}

func quantizeRowBlock([]byte, []float32, []Steps) {}

func errorsBlock(*Errors, []float32, []float32) (ok bool) { return false }

func q8Block([]byte, []float32) (blocks int) { return 0 }

func groupBlocks([]float32, []byte, []Scales, *Groups, *[32]float32) {}
