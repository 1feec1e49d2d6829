package inspect

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format/schema"
)

// withoutArrays replaces each array in metadata by the type of its elements (string, number,
// boolean, array, object, null, mixed) and its length.
func withoutArrays(meta schema.Metadata) (schema.Metadata, error) {
	var all schema.Metadata
	for _, e := range meta {
		text, err := cli.JSON(schema.Metadata{{Value: e.Value}}) // handles NaN
		if err != nil {
			return nil, err
		}
		text = strings.TrimSuffix(strings.TrimPrefix(text, `{"":`), "}")
		if text[0] == '[' {
			var elements []json.RawMessage
			if err := json.Unmarshal([]byte(text), &elements); err != nil {
				return nil, err
			}
			e.Value = json.RawMessage(fmt.Sprintf(`{"type":%q,"length":%d}`, kindOf(elements),
				len(elements)))
		}
		all = append(all, e)
	}
	return all, nil
}

// kindOf returns the common type of all elements.
func kindOf(elements []json.RawMessage) (kind string) {
	kinds := map[byte]string{'"': "string", '[': "array", '{': "object", 't': "boolean",
		'f': "boolean", 'n': "null"}
	for i, e := range elements {
		k, ok := kinds[e[0]]
		if !ok {
			k = "number"
		}
		if i > 0 && k != kind {
			return "mixed"
		}
		kind = k
	}
	return kind
}
