//go:build !purego

package vector

// Every processor of this architecture has the instructions.
const haveIntegers, haveHalf = true, true
