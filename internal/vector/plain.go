//go:build (!amd64 && !arm64) || purego

package vector

// Without instructions of its own the processor leaves everything to the twins.

func adlerVector([]byte) (sum, moment uint64, ok bool) { return 0, 0, false }

func float16Vector([]float32, []byte, bool) (done int) { return 0 }

func bfloat16Vector([]float32, []byte, bool) (done int) { return 0 }

func linearVector([]float32, []byte, Kind, float32, int32, bool) (done int) { return 0 }

func rowVector([]float32, []byte, Kind, []float32, []int32, int, bool) bool { return false }
