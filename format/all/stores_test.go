package all_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

const (
	revision = "0123456789abcdef0123456789abcdef01234567"
	repo     = "models--org--name/"
	snapshot = repo + "snapshots/" + revision + "/"
)

// hubStore is a repository in the Hub's cache, with a model in two shards and its configuration.
func hubStore() map[string]string {
	list := index("a", "model-00001-of-00002.safetensors", "b", "model-00002-of-00002.safetensors")
	files := map[string]string{repo + "refs/main": revision}
	for name, content := range map[string]string{"model.safetensors.index.json": list, "config.json": "{}"} {
		files[repo+"blobs/"+gitOf(content)] = content
		files[snapshot+name] = "->../../blobs/" + gitOf(content)
	}
	for name, content := range map[string]string{"model-00001-of-00002.safetensors": safe("a"), "model-00002-of-00002.safetensors": safe("b")} {
		files[repo+"blobs/"+sha256Of(content)] = content
		files[snapshot+name] = "->../../blobs/" + sha256Of(content)
	}
	return files
}

// trainerStore is a checkpoint of a Trainer with a model in one file.
func trainerStore() map[string]string {
	return map[string]string{
		"checkpoint-500/model.safetensors": safe("a", "b"), "checkpoint-500/config.json": "{}", "checkpoint-500/optimizer.pt": pickled("o"), "checkpoint-500/scheduler.pt": pickled("s"),
		"checkpoint-500/rng_state.pth": pickled("r"), "checkpoint-500/rng_state_1.pth": pickled("r"), "checkpoint-500/scaler.pt": pickled("s"), "checkpoint-500/trainer_state.json": "{}", "checkpoint-500/training_args.bin": pickled("t"),
		"checkpoint-500/tokenizer.json": "{}", "checkpoint-500/tokenizer.model": "\x0a\x05", "runs/events.out.tfevents.1": "x",
	}
}

// diffusersStore is a pipeline of diffusers.
func diffusersStore() map[string]string {
	return map[string]string{
		"model_index.json": "{}", "scheduler/scheduler_config.json": "{}", "tokenizer/vocab.json": "{}",
		"unet/config.json": "{}", "unet/diffusion_pytorch_model.safetensors.index.json": index("a", "diffusion_pytorch_model-00001-of-00002.safetensors", "b", "diffusion_pytorch_model-00002-of-00002.safetensors"),
		"unet/diffusion_pytorch_model-00001-of-00002.safetensors": safe("a"), "unet/diffusion_pytorch_model-00002-of-00002.safetensors": safe("b"),
		"vae/config.json": "{}", "vae/diffusion_pytorch_model.safetensors": safe("a", "b"), "text_encoder/model.safetensors": safe("a", "b"),
	}
}

// ollamaStore is a store of Ollama, with a model that is one GGUF file.
func ollamaStore() map[string]string {
	model := split(0, 1)
	return map[string]string{"blobs/sha256-" + sha256Of(model): model, "blobs/sha256-" + sha256Of("{}"): "{}",
		"manifests/registry.ollama.ai/library/m/latest": fmt.Sprintf(`{"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:%s"}]}`, sha256Of(model))}
}

// TestStores opens models where other programs keep them, and refuses each store that is broken in one way: the error names
// the file and says what to do, and no model opens with a part of its tensors.
func TestStores(t *testing.T) {
	testhost.NeedLinks(t)
	const (
		gone   = "" // the content of a file that is removed
		trains = "checkpoint-500"
		shard2 = "model-00002-of-00002.safetensors"
		part2  = "unet/diffusion_pytorch_model-00002-of-00002.safetensors"
	)
	list := index("a", "model-00001-of-00002.safetensors", "b", shard2)
	blob1, blob2, blobList := repo+"blobs/"+sha256Of(safe("a")), repo+"blobs/"+sha256Of(safe("b")), repo+"blobs/"+gitOf(list)
	model := "blobs/sha256-" + sha256Of(split(0, 1))
	flipped := func(content string) string { return content[:len(content)-1] + "\x08" }
	for _, tt := range []struct {
		name   string
		store  map[string]string
		change map[string]string
		open   string
		err    error    // nil if it opens with its two tensors, or the GGUF file with none
		says   []string // in the error
		verify bool     // it opens, and Verify fails
	}{
		{name: "a Hub cache", store: hubStore(), open: repo},
		{name: "a snapshot", store: hubStore(), open: snapshot},
		{name: "a Hub cache without refs", store: hubStore(), change: map[string]string{repo + "refs/main": gone}, open: repo},
		{name: "a missing blob", store: hubStore(), change: map[string]string{blob2: gone}, open: repo, err: fs.ErrNotExist, says: []string{shard2, "is a link to", sha256Of(safe("b")), "download"}},
		{name: "a missing blob of the index", store: hubStore(), change: map[string]string{blobList: gone}, open: repo, err: fs.ErrNotExist, says: []string{"model.safetensors.index.json", "is a link to", gitOf(list), "download"}},
		{name: "a dangling link", store: hubStore(), change: map[string]string{snapshot + shard2: "->../../blobs/none"}, open: repo, err: fs.ErrNotExist, says: []string{shard2, "is a link to", "../../blobs/none", "download"}},
		{name: "half a download", store: hubStore(), change: map[string]string{blob2: gone, blob2 + ".incomplete": safe("b")[:40]}, open: repo, err: fs.ErrNotExist, says: []string{shard2, "is a link to", "download"}},
		{name: "half a download, opened", store: hubStore(), change: map[string]string{blob2 + ".incomplete": safe("b")[:40]}, open: blob2 + ".incomplete", err: format.ErrUnknownFormat, says: []string{"unfinished download", "hf download"}},
		{name: "a missing shard", store: hubStore(), change: map[string]string{snapshot + shard2: gone}, open: repo, err: format.ErrNotFound, says: []string{shard2, "download"}},
		{name: "a missing index", store: hubStore(), change: map[string]string{snapshot + "model.safetensors.index.json": gone}, open: repo}, // all shards are there
		{name: "a missing index and shard", store: hubStore(), change: map[string]string{snapshot + "model.safetensors.index.json": gone, snapshot + shard2: gone}, open: repo, err: format.ErrUnsupported, says: []string{"only a part of a model", shard2 + " is not there: get it"}},
		{name: "a link out of the cache", store: hubStore(), change: map[string]string{snapshot + shard2: "->../../../outside", "outside": safe("b")}, open: repo, err: format.ErrUnsupported, says: []string{shard2, "../../../outside", "Options.Root"}},
		{name: "a link to another repository", store: hubStore(), change: map[string]string{snapshot + shard2: "->../../../models--x--y/blobs/b", "models--x--y/blobs/b": safe("b")}, open: repo, err: format.ErrUnsupported, says: []string{shard2, "models--x--y", "Options.Root"}},
		{name: "refs of another commit", store: hubStore(), change: map[string]string{repo + "refs/main": strings.Repeat("f", 40)}, open: repo, err: fs.ErrNotExist, says: []string{"refs/main", strings.Repeat("f", 40), "download it again"}},
		{name: "refs of a path", store: hubStore(), change: map[string]string{repo + "refs/main": "../snapshots/" + revision}, open: repo, err: format.ErrCorrupt, says: []string{"refs/main", "no name of a snapshot"}},
		{name: "two snapshots without refs", store: hubStore(), change: map[string]string{repo + "refs/main": gone, repo + "snapshots/ffff/config.json": "{}"}, open: repo, err: format.ErrUnsupported, says: []string{"several snapshots", "open one by its name, such as snapshots/" + revision}},
		{name: "an index of a shard that is not there", store: hubStore(), change: map[string]string{snapshot + "model.safetensors.index.json": index("a", "model-00001-of-00002.safetensors", "b", shard2, "c", "model-00003-of-00003.safetensors")}, open: repo, err: format.ErrNotFound, says: []string{"model-00003-of-00003.safetensors", "download"}},
		{name: "an index of a tensor that is not there", store: hubStore(), change: map[string]string{snapshot + "model.safetensors.index.json": index("a", "model-00001-of-00002.safetensors", "b", shard2, "c", shard2)}, open: repo, err: format.ErrCorrupt, says: []string{shard2, `"c"`, "download"}},
		{name: "a shard of another model", store: hubStore(), change: map[string]string{snapshot + shard2: "->../../blobs/" + sha256Of(safe("a"))}, open: repo, err: format.ErrCorrupt, says: []string{shard2, `"b"`, "download"}},
		{name: "a shard that is cut", store: hubStore(), change: map[string]string{blob2: safe("b")[:len(safe("b"))-1]}, open: repo, err: format.ErrTruncated, says: []string{shard2}},
		{name: "a shard that is an answer", store: hubStore(), change: map[string]string{blob2: "Entry not found"}, open: repo, err: format.ErrUnknownFormat, says: []string{shard2, "what the Hub answers", "download it again"}},
		{name: "a wrong digest of a shard", store: hubStore(), change: map[string]string{blob1: flipped(safe("a"))}, open: repo, verify: true, err: format.ErrChecksum, says: []string{"model-00001-of-00002.safetensors", sha256Of(safe("a")), "download the file again"}},
		{name: "a wrong digest of the index", store: hubStore(), change: map[string]string{blobList: list + " "}, open: repo, verify: true, err: format.ErrChecksum, says: []string{"model.safetensors.index.json", gitOf(list), "download the file again"}},

		{name: "a Trainer checkpoint", store: trainerStore(), open: trains},
		// ../shared/cases/reports/trainer_checkpoint
		{name: "a Trainer checkpoint of an adapter", store: trainerStore(), change: map[string]string{trains + "/model.safetensors": gone, trains + "/adapter_model.safetensors": safe("a", "b"), trains + "/adapter_config.json": "{}"}, open: trains},
		{name: "a Trainer's directory", store: trainerStore(), open: "", err: format.ErrUnknownFormat, says: []string{"open the model in one of its directories, such as checkpoint-500"}},
		{name: "a Trainer checkpoint without its model", store: trainerStore(), change: map[string]string{trains + "/model.safetensors": gone}, open: trains, err: format.ErrUnknownFormat, says: []string{"the directory has no model", "optimizer.pt"}},
		{name: "a Trainer checkpoint with another model", store: trainerStore(), change: map[string]string{trains + "/model.safetensors": gone, trains + "/a.safetensors": safe("a"), trains + "/b.safetensors": safe("b")}, open: trains, err: format.ErrUnsupported, says: []string{`["a.safetensors" "b.safetensors"]`, "open one by its name, such as a.safetensors"}},
		{name: "a Trainer checkpoint of one shard", store: trainerStore(), change: map[string]string{trains + "/model.safetensors": gone, trains + "/" + shard2: safe("b")}, open: trains, err: format.ErrUnsupported, says: []string{"only a part of a model: model-00001-of-00002.safetensors is not there"}},
		{name: "a Trainer checkpoint that was not filled", store: trainerStore(), change: map[string]string{trains + "/model.safetensors": strings.Repeat("\x00", 100)}, open: trains, err: format.ErrUnknownFormat, says: []string{"model.safetensors", "begins with zeros", "copy or download it again"}},
		{name: "a Trainer checkpoint of torch.distributed", store: trainerStore(), change: map[string]string{trains + "/model.safetensors": gone, trains + "/__0_0.distcp": "x"}, open: trains, err: format.ErrUnknownFormat, says: []string{"a checkpoint of torch.distributed", "python -c"}},

		{name: "a part of diffusers", store: diffusersStore(), open: "unet"},
		{name: "a file of diffusers", store: diffusersStore(), open: "vae"},
		{name: "diffusers", store: diffusersStore(), open: "", err: format.ErrUnknownFormat, says: []string{"open the model in one of its directories, such as text_encoder"}},
		{name: "diffusers without a shard", store: diffusersStore(), change: map[string]string{part2: gone}, open: "unet", err: format.ErrNotFound, says: []string{filepath.Base(part2), "download"}},
		{name: "diffusers without index and shard", store: diffusersStore(), change: map[string]string{part2: gone, "unet/diffusion_pytorch_model.safetensors.index.json": gone}, open: "unet", err: format.ErrUnsupported, says: []string{filepath.Base(part2) + " is not there: get it"}},
		{name: "diffusers with a Git LFS pointer", store: diffusersStore(), change: map[string]string{part2: "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"}, open: "unet", err: format.ErrUnknownFormat, says: []string{filepath.Base(part2), "Git LFS pointer", "git lfs pull"}},
		{name: "diffusers whose index leads out", store: diffusersStore(), change: map[string]string{"unet/diffusion_pytorch_model.safetensors.index.json": index("a", "../vae/diffusion_pytorch_model.safetensors")}, open: "unet", err: format.ErrCorrupt, says: []string{"../vae/diffusion_pytorch_model.safetensors", "no file below the directory"}},
		{name: "diffusers in two precisions", store: diffusersStore(), change: map[string]string{"vae/diffusion_pytorch_model.safetensors": gone, "vae/a.fp16.safetensors": safe("a"), "vae/b.fp32.safetensors": safe("b")}, open: "vae", err: format.ErrUnsupported, says: []string{"several models", "a.fp16.safetensors"}},

		{name: "a blob of Ollama", store: ollamaStore(), open: model},
		{name: "Ollama", store: ollamaStore(), open: "", err: format.ErrUnknownFormat, says: []string{"a store of Ollama", "ollama show --modelfile NAME"}},
		{name: "a blob of Ollama that is no model", store: ollamaStore(), open: "blobs/sha256-" + sha256Of("{}"), err: format.ErrUnknownFormat, says: []string{sha256Of("{}")}},
		{name: "a blob of Ollama that is cut", store: ollamaStore(), change: map[string]string{model: split(0, 1)[:40]}, open: model, err: format.ErrTruncated, says: []string{sha256Of(split(0, 1))}},
		{name: "a missing blob of Ollama", store: ollamaStore(), change: map[string]string{model: gone}, open: model, err: fs.ErrNotExist, says: []string{sha256Of(split(0, 1))}},
		{name: "half a blob of Ollama", store: ollamaStore(), change: map[string]string{model: gone, model + "-partial": split(0, 1)[:40]}, open: model + "-partial", err: format.ErrUnknownFormat, says: []string{"unfinished download"}},
		{name: "a blob of Ollama with another digest", store: ollamaStore(), change: map[string]string{model: split(0, 0)}, open: model, verify: true, err: format.ErrChecksum, says: []string{sha256Of(split(0, 1)), "download the file again"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := maps.Clone(tt.store)
			for name, content := range tt.change {
				if content == gone {
					delete(files, name)
				} else {
					files[name] = content
				}
			}
			dir := lay(t, t.TempDir(), files)
			m, err := format.Open(filepath.Join(dir, filepath.FromSlash(tt.open)), nil)
			if err == nil {
				defer m.Close()
				_, err = m.Verify(t.Context(), nil)
				if tt.verify != (err != nil) {
					t.Errorf("Verify: %v", err)
				}
				if tt.err != nil && !tt.verify {
					t.Fatalf("it opens, with %d tensors", m.Len())
				}
				if m.Format() != "gguf" {
					expect.Equal(t, 2, m.Len())
				}
			}
			if tt.err == nil {
				expect.OK(t, err)
				return
			}
			if !errors.Is(err, tt.err) {
				t.Fatalf("%v, want %v", err, tt.err)
			}
			for _, says := range tt.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%v\nlacks %s", err, says)
				}
			}
		})
	}
}
