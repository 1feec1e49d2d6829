//go:build race

package formattest

// raceEnabled tells that allocation counts mean nothing.
const raceEnabled = true

// thin is the distance between the bytes that are damaged. What one goroutine
// does alone shows no races, and takes ten times as long here.
const thin = 7
