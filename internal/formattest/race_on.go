//go:build race

package formattest

// raceEnabled tells that allocation counts mean nothing.
const raceEnabled = true
