//go:build race

package mobi

const raceEnabled = true
