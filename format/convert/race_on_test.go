//go:build race

package convert_test

// raceEnabled says that the race detector is on, which takes memory of its own.
const raceEnabled = true
