package safetensors

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
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
	total, names := int64(0), []byte(nil)
	for i, p := range parts {
		shard := fmt.Sprintf("%s-%05d-of-%05d%s", stem, i+1, len(parts), end)
		s.Paths = append(s.Paths, shard)
		file, err := jsonmeta.AppendText(nil, filepath.Base(shard))
		if err != nil {
			return nil, fmt.Errorf("%w: the name of the file: %w", format.ErrPlan, err)
		}
		for k, name := range namesOf(p) {
			if len(names) > 0 {
				names = append(names, ',')
			}
			names, _ = jsonmeta.AppendText(append(names, "\n    "...), name) // the engine has looked at it
			names = append(append(names, ": "...), file...)
			total += p.Tensors[k].Size
		}
	}
	s.Text = append(s.Text, "{\n  \"metadata\": {\n    \"total_size\": "+strconv.FormatInt(total, 10)+"\n  },\n  \"weight_map\": {"...)
	s.Text = append(append(s.Text, names...), "\n  }\n}\n"...)
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
	w, err := shards.Parse(formatName, b, format.DefaultMaxTensors)
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
