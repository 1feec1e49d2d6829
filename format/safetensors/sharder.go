package safetensors

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsontext"
	"github.com/weightmap/weightmap/internal/shards"
)

// indexEnd is what the name of an index ends with, behind that of the file that it stands for.
const indexEnd = ".index.json"

// Shards implements driver.Sharder, with names and an index as the Hub has them. Every shard
// has all metadata.
func (fileFormat) Shards(path string, parts []*driver.Plan) (*driver.Shards, error) {
	path = strings.TrimSuffix(path, indexEnd) // the model that an index opens
	s := &driver.Shards{Paths: []string{path}, Old: oldShards(path)}
	if len(parts) == 1 {
		return s, nil
	}
	s.Index, s.Paths = path+indexEnd, nil
	stem, end := strings.TrimSuffix(path, extensions[0]), extensions[0]
	total, names := int64(0), jsontext.Writer{}
	for i, p := range parts {
		shard := fmt.Sprintf("%s-%05d-of-%05d%s", stem, i+1, len(parts), end)
		s.Paths = append(s.Paths, shard)
		for k, name := range namesOf(p) {
			if len(names.B) > 0 {
				names.Raw(",")
			}
			names.Raw("\n    ")
			names.Text(name)
			names.Raw(": ")
			names.Text(filepath.Base(shard))
			total += p.Tensors[k].Size
		}
	}
	text, err := names.Done()
	if err != nil {
		return nil, fmt.Errorf("%w: the name of a file or a tensor: %w", format.ErrPlan, err)
	}
	s.Text = fmt.Appendf(nil, "{\n  \"metadata\": {\n    \"total_size\": %d\n  },\n  \"weight_map\": {%s\n  }\n}\n", total, text)
	return s, nil
}

// oldShards lists the index of a model at path, and those files that it names which look like
// shards of the model.
func oldShards(path string) []string {
	index := path + indexEnd
	st, err := os.Stat(index)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxHeader {
		return nil
	}
	b, err := os.ReadFile(index)
	if err != nil {
		return nil
	}
	w, err := shards.Parse(formatName, b, driver.MaxTensors)
	if err != nil {
		return nil
	}
	old := []string{index}
	dir := strings.TrimSuffix(path, filepath.Base(path)) // as the new paths begin
	for _, name := range w.Shards {
		if isShard(name, filepath.Base(path)) {
			old = append(old, dir+name)
		}
	}
	return old
}

// isShard reports whether name is that of a shard of a model: "m-00001-of-00002.safetensors"
// for "m.safetensors".
func isShard(name, model string) bool {
	rest, ok1 := strings.CutPrefix(name, strings.TrimSuffix(model, extensions[0])+"-")
	rest, ok2 := strings.CutSuffix(rest, extensions[0])
	no, count, ok3 := strings.Cut(rest, "-of-")
	return ok1 && ok2 && ok3 && len(no) == 5 && len(count) == 5 && strings.Trim(no+count, "0123456789") == ""
}
