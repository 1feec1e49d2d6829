// Package directory has the rule of which file of a directory opens the model in it.
package directory

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/shards"
	"github.com/weightmap/weightmap/tensor"
)

const (
	shardIndex = ".index.json"
	torchIndex = ".bin" + shardIndex
	torchShard = ".bin"
	ggufPart   = ".gguf"

	unpackedPickle = "data.pkl"
)

// usual are the files that open a model in a directory: the first that there is counts. The order
// crosses formats, and the format need not be linked: what a directory opens as must not depend on
// that.
var usual = [...]struct{ file, format string }{
	{"model.safetensors" + shardIndex, "safetensors"},
	{"model.safetensors", "safetensors"},
	{"pytorch_model" + torchIndex, "torch"},
	{"pytorch_model.bin", "torch"},
	{"adapter_model.safetensors", "safetensors"},
	{"adapter_model.bin", "torch"},
	{"diffusion_pytorch_model.safetensors" + shardIndex, "safetensors"},
	{"diffusion_pytorch_model.safetensors", "safetensors"},
}

// besides are patterns of names of files that tools leave beside a model.
var besides = [...]string{"optimizer.pt", "scheduler.pt", "rng_state*.pth", "scaler.pt", "training_args.bin", "tokenizer*", "*.json"}

// Rule is what the choice depends on beside the names.
type Rule struct {
	// Format returns the format of files with the ending of a name, or "".
	Format func(name string) string
	// Wanted is the format that the model must have, or "". Its models are files.
	Wanted string
	// IsDirectory reports whether the models of a format are directories.
	IsDirectory func(format string) bool
}

// Choice is what opens the model.
type Choice struct {
	Format string
	File   string   // the file that opens it, or ""
	Parts  []string // or its parts, all of which are there, without an index
	// If there is neither, all of the directory is the model.
}

// Choose returns what opens the model in a directory. The error is an *Undecided.
func (r *Rule) Choose(entries []driver.DirEntry) (Choice, error) {
	for _, u := range usual {
		isIt := func(e driver.DirEntry) bool { return e.Name == u.file }
		if slices.ContainsFunc(entries, isIt) && r.mayBe(u.format) {
			return Choice{Format: u.format, File: u.file}, nil
		}
	}
	var indexes, files []string
	ofDirectory := "" // a file of a model that is a directory
	for _, e := range entries {
		format := r.format(e.Name)
		switch {
		case !e.Regular && e.Err == nil:
		case strings.HasSuffix(e.Name, shardIndex):
			if r.mayBe(indexFormat(e.Name)) {
				indexes = append(indexes, e.Name)
			}
		case format == "" || !r.mayBe(format):
		case ofDirectory != "" && r.IsDirectory(format): // of which there may be thousands
		case isBeside(e.Name):
		case r.IsDirectory(format):
			ofDirectory = e.Name
		default:
			files = append(files, e.Name)
		}
	}
	if len(indexes) == 1 {
		return Choice{Format: indexFormat(indexes[0]), File: indexes[0]}, nil
	}
	files = r.withoutParts(files)
	if r.mayBe("torch") && isUnpacked(entries) {
		if len(indexes)+len(files) == 0 {
			return Choice{Format: "torch"}, nil
		}
		return Choice{}, r.undecided(append(append(indexes, files...), unpackedPickle), entries)
	}
	whole := wholes(files)
	switch {
	case len(whole) == 1:
		return Choice{Format: r.format(whole[0][0]), Parts: whole[0]}, nil
	case len(files) == 1 && shards.PartByName(files[0]).Count == 0, len(files) > 1 && areParts(files):
		return Choice{Format: r.format(files[0]), File: files[0]}, nil
	case ofDirectory != "":
		return Choice{Format: r.format(ofDirectory)}, nil
	}
	return Choice{}, r.undecided(append(indexes, files...), entries)
}

// mayBe reports whether a file of a format may be the model.
func (r *Rule) mayBe(format string) bool { return r.Wanted == "" || r.Wanted == format }

// format returns the format of a file by its name. Shards ending in .bin are PyTorch's.
func (r *Rule) format(name string) string {
	format := r.Format(name)
	if format == "" && path.Ext(name) == torchShard && shards.PartByName(name).Count > 0 {
		return "torch"
	}
	return format
}

// indexFormat returns the format of the files that an index of shards names.
func indexFormat(index string) string {
	if strings.HasSuffix(index, torchIndex) {
		return "torch"
	}
	return "safetensors"
}

// isUnpacked reports whether an archive of PyTorch was unpacked into a directory with these
// entries: a pickle and, beside it, what no other program calls so.
func isUnpacked(entries []driver.DirEntry) bool {
	hasPickle := false
	hasMore := false
	for _, e := range entries {
		switch e.Name {
		case unpackedPickle:
			hasPickle = !e.Dir
		case "version", "byteorder":
			hasMore = hasMore || !e.Dir
		case "data":
			hasMore = hasMore || e.Dir
		}
	}
	return hasPickle && hasMore
}

// isBeside reports whether name is that of a file that tools leave beside a model.
func isBeside(name string) bool {
	return slices.ContainsFunc(besides[:], func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

// withoutParts removes parts of a model that is there in one file: they are left from an older one,
// or they are not all there yet. The parts of a whole split GGUF model stay.
func (r *Rule) withoutParts(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(name string) bool {
		isOfFile := slices.Contains(files, shards.Stem(name)+path.Ext(name)) || slices.Contains(files, shards.InOneFile(name))
		if shards.PartByName(name).Count == 0 || !isOfFile {
			return false
		}
		return missingPart(files, name) != "" || path.Ext(name) != ggufPart
	})
}

// missingPart returns the first part that is not there of the model that a file is a part of by its
// name, or "".
func missingPart(files []string, name string) string {
	for _, part := range shards.NamesLike(name) {
		if !slices.Contains(files, part) {
			return part
		}
	}
	return ""
}

// wholes returns the models whose parts are all there, with the names of the parts. The first part
// of a split GGUF model opens all, so that it is none of these.
func wholes(files []string) (all [][]string) {
	for _, name := range files {
		if shards.PartByName(name).No == 1 && path.Ext(name) != ggufPart && missingPart(files, name) == "" {
			all = append(all, shards.NamesLike(name))
		}
	}
	return all
}

// areParts reports whether sorted names are those of the parts of one split GGUF model, from the
// first on.
func areParts(names []string) bool {
	const first = "-00001-of-"
	stem, tail, ok := strings.Cut(names[0], first)
	for _, name := range names {
		ok = ok && len(name) == len(names[0]) && strings.HasPrefix(name, stem+"-") && strings.HasSuffix(name, "-of-"+tail)
	}
	return ok && strings.HasSuffix(tail, ggufPart)
}

// Undecided is the error of a directory without a model, or with several.
type Undecided struct {
	// Names are those of what opens each of the models. The text suggests the first.
	Names []string
	text  string
	err   error
}

// Error implements error.
func (e *Undecided) Error() string { return e.err.Error() + ": " + e.text }

// Named returns the error for a place where files are opened by other names than in a directory,
// which are called what.
func (e *Undecided) Named(what string, names []string) *Undecided {
	text := strings.ReplaceAll(e.text, "such as "+e.Names[0], "such as "+names[0])
	text = strings.ReplaceAll(text, "the directory", "the repository")
	return &Undecided{names, strings.ReplaceAll(text, "by its name", "by its "+what), e.err}
}

// Unwrap returns driver.ErrUnsupported or driver.ErrUnknownFormat.
func (e *Undecided) Unwrap() error { return e.err }

// mostListed is the number of names that an error lists.
const mostListed = 12

// list lists some of the names.
func list(names []string) string {
	return foreign.Names(names[:min(mostListed, len(names))], len(names))
}

// undecided returns the error of a directory in which these files may be models.
func (r *Rule) undecided(models []string, entries []driver.DirEntry) error {
	if len(models) > 0 {
		lost := missingPart(models, models[0])
		same := func(name string) bool { return shards.Stem(name) == shards.Stem(models[0]) }
		if lost != "" && !slices.ContainsFunc(models, func(name string) bool { return !same(name) }) {
			text := fmt.Sprintf("the directory has only a part of a model: %s is not there: "+
				"get it, or open a part by its name, %s", lost, models[0])
			return &Undecided{models, text, tensor.ErrUnsupported}
		}
		isAlone := func(name string) bool { return name == unpackedPickle } // its directory is the model
		files := slices.DeleteFunc(slices.Clone(models), isAlone)
		text := fmt.Sprintf("the directory has several models: %s; open one by its name, such as %s",
			list(models), models[0])
		return &Undecided{files, text, tensor.ErrUnsupported}
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	text := "the directory has no model, only " + list(names)
	if len(names) == 0 {
		text = "the directory is empty"
	}
	e := &Undecided{text: text, err: tensor.ErrUnknownFormat}
	for _, entry := range entries {
		if entry.Dir && (isComponent(entry.Name) || strings.HasPrefix(entry.Name, "models--")) {
			e.Names = append(e.Names, entry.Name)
		}
	}
	if len(e.Names) > 0 {
		e.text += "; open the model in one of its directories, such as " + e.Names[0]
		return e
	}
	for _, entry := range entries {
		if entry.Regular && r.format(entry.Name) != "" {
			e.Names = append(e.Names, entry.Name)
		}
	}
	if len(e.Names) > 0 {
		e.text += "; open a file that is not the model by its name, such as " + e.Names[0]
	}
	return e
}

// components are patterns of the directories of a pipeline of diffusers, and of those in which a
// Trainer keeps checkpoints.
var components = [...]string{"unet", "transformer", "prior", "vae", "text_encoder*", "image_encoder", "controlnet", "decoder", "checkpoint-*"}

// isComponent reports whether a directory usually has one of several models.
func isComponent(name string) bool {
	return slices.ContainsFunc(components[:], func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}
