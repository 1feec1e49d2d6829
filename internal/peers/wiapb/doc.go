// Package wiapb is what protoc-gen-go makes of wia.proto.
package wiapb

//go:generate go run ./generate ../../../wia wia.pb.go
