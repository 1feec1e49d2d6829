module example.com/flat

go 1.25.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/weightmap/weightmap v0.0.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	golang.org/x/exp v0.0.0-20260727155853-b88d891fe743 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/weightmap/weightmap => ../..
