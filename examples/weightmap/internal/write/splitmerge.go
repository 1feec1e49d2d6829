package write

import (
	"context"
	"io"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
)

// Split is the command split.
var Split = &modelfile.Command{Tool: cli.Tool{
	Name: "weightmap split", Args: "[-max-shard SIZE] [options of convert] IN OUT",
	About: "Write a model as several files (safetensors, GGUF).",
	Details: "split is convert with -max-shard, 5GB by default. For OUT model.safetensors it writes\n" +
		"model-00001-of-00003.safetensors and so on and model.safetensors.index.json; open the latter.\n" +
		"For OUT model.gguf, open the first part, model-00001-of-00003.gguf. An existing model at OUT is\n" +
		"replaced. A model that fits into one file becomes one file.\n",
	Example: "weightmap split -max-shard 2GB model.safetensors out/model.safetensors",
}, Run: splitFile}

// Merge is the command merge.
var Merge = &modelfile.Command{Tool: cli.Tool{
	Name: "weightmap merge", Args: "[options of convert] IN OUT",
	About: "Write a model of several files as one.",
	Details: "merge is convert for IN the index of a model, model.safetensors.index.json, its directory, or a part\n" +
		"of a split GGUF, model-00001-of-00003.gguf. The parts are not removed.\n",
	Example: "weightmap merge model.safetensors.index.json model.safetensors",
}, Run: mergeFile}

// splitFile is convert with a size limit for shards.
func splitFile(ctx context.Context, c *cli.Tool, args []string, out, errs io.Writer) error {
	return convertWith(ctx, c, &convertFlags{usualShard: 5e9}, args, out, errs)
}

// mergeFile is convert without a size limit.
func mergeFile(ctx context.Context, c *cli.Tool, args []string, out, errs io.Writer) error {
	return convertWith(ctx, c, &convertFlags{whole: true}, args, out, errs)
}
