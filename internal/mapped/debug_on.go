//go:build weightmap_debug

package mapped

const debugBuild = true
