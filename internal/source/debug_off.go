//go:build !weightmap_debug

package source

const debugBuild = false
