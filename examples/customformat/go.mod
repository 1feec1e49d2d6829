module example.com/flat

go 1.24.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/weightmap/weightmap v0.0.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	golang.org/x/exp v0.0.0-20260112195511-716be5621a96 // indirect
	golang.org/x/sys v0.41.0 // indirect
)

replace github.com/weightmap/weightmap => ../..
