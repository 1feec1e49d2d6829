//go:build weightmap_wia || (!weightmap_mobi && !weightmap_mag && !weightmap_tsr && !weightmap_mle && !weightmap_safetensors && !weightmap_gguf && !weightmap_npy && !weightmap_onnx)

package mobile

import (
	"encoding/json"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

// nameInside returns the name as wia has it: "name" within "model_info".
func nameInside(meta format.Metadata) string {
	v, _ := meta.Get("model_info")
	raw, _ := v.(json.RawMessage)
	info, err := jsonmeta.Parse(raw, jsonmeta.Options{})
	if err != nil {
		return ""
	}
	name, _ := info.Get("name")
	text, _ := name.(string)
	return text
}
