//go:build !purego

package vector

// Every processor of this architecture has the instructions.
var haveIntegers, haveHalf = true, true
