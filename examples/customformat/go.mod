module example.com/flat

go 1.24.0

require github.com/weightmap/weightmap v0.0.0

replace github.com/weightmap/weightmap => ../..
