//go:build !amd64 || purego

package vector

const haveXXH64 = false

// xxhBlock is not called.
func xxhBlock(*xxhWork, []byte) {}
