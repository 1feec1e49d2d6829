package gguf

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Shards implements driver.Sharder, with names and metadata as gguf-split has them: the first
// part has those of the model, and all say which part they are.
func (fileFormat) Shards(path string, parts []*driver.Plan) (*driver.Shards, error) {
	if len(parts) == 1 {
		return &driver.Shards{Paths: []string{path}}, nil
	}
	s := &driver.Shards{}
	meta := slices.DeleteFunc(parts[0].Metadata, func(e driver.Entry) bool { return isSplitKey(e.Key) })
	total := 0
	for _, p := range parts {
		meta = withQuantVersion(meta, p.Tensors)
		total += len(p.Tensors)
	}
	stem := strings.TrimSuffix(path, extension)
	if base, _, count, ok := splitPath(path); ok { // it replaces the model that path is a part of
		stem = strings.TrimSuffix(path, filepath.Base(path)) + base
		s.Old = partPaths(stem, int(count))
	}
	s.Paths = partPaths(stem, len(parts))
	s.Old = append(s.Old, s.Paths...) // of a model of as many parts
	for i, p := range parts {
		p.Metadata = append(slices.Clip(meta), driver.Entry{Key: keySplitNo, Value: uint16(i)},
			driver.Entry{Key: keySplitCount, Value: uint16(len(parts))}, driver.Entry{Key: keySplitTensors, Value: int32(total)})
		meta = nil
	}
	return s, nil
}

// partPaths lists the files of a split model.
func partPaths(stem string, count int) (paths []string) {
	for i := range count {
		paths = append(paths, fmt.Sprintf("%s-%05d-of-%05d%s", stem, i+1, count, extension))
	}
	return paths
}

// withQuantVersion adds the version of the blocks where there are some and the metadata do not say.
func withQuantVersion(meta driver.Metadata, tensors []tensor.Info) driver.Metadata {
	if _, has := meta.Get(keyQuantVersion); has || !slices.ContainsFunc(tensors, func(t tensor.Info) bool { return t.Encoding == q8_0 }) {
		return meta
	}
	return append(slices.Clip(meta), driver.Entry{Key: keyQuantVersion, Value: uint32(2)})
}
