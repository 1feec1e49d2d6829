package foreign

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// clue is what shows of which kind a file is.
type clue uint8

const (
	begins   clue = iota // it has these bytes at an offset
	says                 // it is a text that begins with this
	isNamed              // its name in lower case has this pattern
	archives             // it is a ZIP archive of an entry whose name without its directory has this pattern
	holds                // it is a directory of a file whose name has this pattern
	imports              // it is a pickle that names a class of this package
)

// What files are that no format reads, and the command or line of Python that helps.
const (
	unpack   = ": unpack it first"
	other    = ": open the model that belongs to it"
	download = "hf download ORG/NAME FILE"
	trusted  = "if you trust it, since loading it may run a program: "

	zeros      = "a file that begins with zeros, as a copy or a download leaves it that was never filled: copy or download it again"
	missing    = "what the Hub answers for a file or repository that is not there, not a model: check both names and download it again, with " + download
	gated      = "what the Hub answers without access to a model, not the model: ask for access on its page, then download it again, with HF_TOKEN set to your token: " + download
	failed     = "an error message of a server, not a model: download it again, with " + download
	xml        = "an XML file, such as the error message of a server or a description of a model: download the weights themselves"
	lfs        = "a Git LFS pointer, not the file it stands for: fetch that with \"git lfs pull\""
	xet        = "a Git Xet pointer, not the file it stands for: download that, with " + download
	piece      = "a piece of a file that was split: put the pieces together in their order, as with \"cat NAME.part* > NAME\", and open that"
	unfinished = "an unfinished download: continue it, as with " + download

	oldTar = "a tar file of PyTorch 0.1: " + trusted + `python -c "import torch; torch.save(torch.load('IN', weights_only=False), 'OUT.pt')"`
	export = `a program of torch.export: save its tensors with python -c "import torch; torch.save(dict(torch.export.load('IN.pt2').state_dict), 'OUT.pt')"`
	shards = "a checkpoint of torch.distributed: convert it with python -c \"from torch.distributed.checkpoint.format_utils import dcp_to_torch_save as f; f('DIR', 'OUT.pt')\""
	inside = "an archive with PyTorch files in it, as stable-baselines3 writes them: unpack it and open one of them, such as %.200s"
	serve  = "an archive of TorchServe: unpack it with unzip, and open the model in it"
	nemo   = "a NeMo archive: unpack it with tar -xf IN.nemo, and open model_weights.ckpt"
	paddle = `a PaddlePaddle checkpoint: save its arrays with python -c "import numpy, paddle; numpy.savez('OUT.npz', **paddle.load('IN', return_numpy=True))"`
	infer  = "a PaddlePaddle inference model: convert it with paddle2onnx --model_dir DIR --model_filename X.pdmodel --params_filename X.pdiparams --save_file OUT.onnx"

	hdf5   = "an HDF5 file, as Keras writes them: load it with h5py, and save it with safetensors.numpy.save_file"
	flow   = "a TensorFlow or TensorFlow Lite model: convert it with python -m tf2onnx.convert --saved-model DIR, --graphdef FILE or --tflite FILE, and --output OUT.onnx"
	flowed = "a TensorFlow checkpoint: save its arrays with python -c \"import numpy, tensorflow as tf; r = tf.train.load_checkpoint('PREFIX'); " +
		"numpy.savez('OUT.npz', **{k: r.get_tensor(k) for k in r.get_variable_to_shape_map()})\""
	orbax = "a checkpoint of Orbax: save its arrays with python -c \"import numpy, os, orbax.checkpoint as o; from flax.traverse_util import flatten_dict as f; " +
		"numpy.savez('OUT.npz', **f(o.PyTreeCheckpointer().restore(os.path.abspath('DIR')), sep='.'))\""
	flax = "a checkpoint of Flax: save its arrays with python -c \"import numpy; from flax.serialization import msgpack_restore as r; from flax.traverse_util import flatten_dict as f; " +
		"numpy.savez('OUT.npz', **f(r(open('IN', 'rb').read()), sep='.'))\""
	coreML = "a Core ML model: export the model it was made from to ONNX or safetensors"
	engine = "an engine of TensorRT, for one kind of GPU: open the ONNX file that it was built from"
	ollama = "a store of Ollama: open the file that \"ollama show --modelfile NAME\" prints after FROM"
	proto  = "an ONNX tensor, not a model: write it with numpy.save(OUT, onnx.numpy_helper.to_array(onnx.load_tensor(FILE)))"

	convertGGML = "convert it with llama.cpp's convert_llama_ggml_to_gguf.py --input IN --output OUT.gguf"
	ggml        = "an old GGML file without a version (ggml), from before GGUF: if it is of LLaMA, " + convertGGML + "; whisper.cpp reads its own as they are"
	ggmf        = "an old GGML file (ggmf), from before GGUF: " + convertGGML
	ggjt        = "an old GGML file (ggjt), from before GGUF: " + convertGGML
	ggla        = "an old GGML adapter (ggla), from before GGUF: convert the adapter that it was made from with llama.cpp's convert_lora_to_gguf.py --base DIR ADAPTER"
	session     = "a session that llama.cpp saved, not a model: open the GGUF file that it belongs to"
	swapped     = "a GGUF file with its bytes swapped: convert the model again with llama.cpp's convert_hf_to_gguf.py"

	arrays = `numpy.savez('OUT.npz', **{k: v for k, v in vars(joblib.load('IN')).items() if hasattr(v, 'shape')})"`
	joblib = `a joblib file, as scikit-learn's users write them, which is a program with arrays between its opcodes: save its arrays, ` + trusted + `python -c "import joblib, numpy; ` + arrays
	learn  = `a scikit-learn model in a Python pickle: convert it with skl2onnx.to_onnx, or save its arrays, ` + trusted + `python -c "import joblib, numpy; ` + arrays
	xgb    = "an XGBoost model in a Python pickle: save it with its save_model"
	lgbm   = "a LightGBM model in a Python pickle: save it with its save_model"
	cat    = "a CatBoost model in a Python pickle: save it with its save_model"
)

// torch is the magic number of files that torch.save wrote before it wrote archives.
const torch = "l\xfc\x9cF\xf9 j\xa8P\x19."

// manifests is the directory of a store of Ollama that names the blobs of each model.
const manifests = "manifests"

// kinds is the table of all files that are told apart. A word alone is a format of this module. The
// first that fits counts.
var kinds = [...]struct {
	clue
	pattern string
	at      int // offset of bytes
	is      string
}{
	{begins, "\x00\x00\x00{", 5, "safetensors"}, // the header length may look like a pickle
	{begins, "GGUF", 0, "gguf"},
	{begins, "\x93NUMPY", 0, "npy"},
	{begins, "TSR!", 0, "tsr"},
	{begins, "MAG!", 0, "mag"},
	{begins, "IBOM", 0, "mobi"},
	{begins, "MOBI", 0, "mobi"},
	{begins, "MLE\x00", 0, "mle"},
	{begins, "1AIW", 0, "wia"},
	{begins, "WIA1", 0, "wia"},
	{begins, torch, 4, "torch"},
	{begins, torch, 13, "torch"}, // after a FRAME opcode
	{begins, "\x89HDF\r\n\x1a\n", 0, hdf5},
	{begins, "TFL3", 4, flow},
	{begins, "lmgg", 0, ggml}, // "ggml" as a little-endian integer, and its successors
	{begins, "fmgg", 0, ggmf},
	{begins, "tjgg", 0, ggjt},
	{begins, "algg", 0, ggla},
	{begins, "nsgg", 0, session},
	{begins, "qsgg", 0, session},
	{begins, "FUGG", 0, swapped},
	{begins, "sys_info\x00", 0, oldTar},
	{begins, "model_config.yaml\x00", 0, nemo},
	{begins, "./model_config.yaml\x00", 0, nemo},
	{begins, "ustar", 257, "a tar archive" + unpack},
	{begins, "\x1f\x8b", 0, "compressed with gzip" + unpack},
	{begins, "\x28\xb5\x2f\xfd", 0, "compressed with zstd" + unpack},
	{begins, "\xfd7zXZ", 0, "compressed with xz" + unpack},
	{begins, "BZh", 0, "compressed with bzip2" + unpack},
	{begins, "7z\xbc\xaf\x27\x1c", 0, "a 7z archive" + unpack},
	{begins, "Rar!\x1a\x07", 0, "a RAR archive" + unpack},
	{begins, "ftrt", 0, engine},

	{says, "version https://git-lfs.", 0, lfs},
	{says, "-----BEGIN ", 0, "a key or certificate in PEM form" + other},
	{says, "# xet version", 0, xet},
	{says, "Entry not found", 0, missing},
	{says, "Repository not found", 0, missing},
	{says, "Access to model ", 0, gated},
	{says, "Access to this ", 0, gated},
	{says, "Invalid username or password", 0, gated},
	{says, "Invalid credentials", 0, gated},
	{says, `{"error":`, 0, failed},
	{says, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>", 0, failed},

	{isNamed, "*.part[0-9]*of[0-9]*", 0, piece},
	{isNamed, "*-split-[a-z]", 0, piece},
	{isNamed, "*.*.a[a-z]", 0, piece},
	{isNamed, "*.*.[0-9][0-9][0-9]", 0, piece},
	{isNamed, "*.incomplete", 0, unfinished},
	{isNamed, "*.crdownload", 0, unfinished},
	{isNamed, "*.part", 0, unfinished},
	{isNamed, "*.partial", 0, unfinished},
	{isNamed, "*-partial", 0, unfinished}, // of Ollama
	{isNamed, "*-partial-[0-9]*", 0, unfinished},
	{isNamed, "*.download", 0, unfinished},
	{isNamed, "*.aria2", 0, unfinished},
	{isNamed, "*.distcp", 0, shards},
	{isNamed, "*.nemo", 0, nemo},
	{isNamed, "*.pt2", 0, export},
	{isNamed, "*.pdparams", 0, paddle},
	{isNamed, "*.pdopt", 0, paddle},
	{isNamed, "*.pdiparams", 0, infer},
	{isNamed, "*.pdmodel", 0, infer},
	{isNamed, "*.joblib", 0, joblib},
	{isNamed, "*.msgpack", 0, flax},
	{isNamed, "manifest.ocdbt", 0, orbax},
	{isNamed, "*.data-[0-9]*-of-[0-9]*", 0, flowed},
	{isNamed, "*.ckpt*.index", 0, flowed},

	{archives, "data.pkl", 0, "torch"},
	{archives, "model.weights.h5", 0, hdf5},
	{archives, "archive_format", 0, export},
	{archives, "serialized_exported_program.json", 0, export},
	{archives, "MANIFEST.json", 0, serve},
	{archives, "*.pth", 0, inside},
	{archives, "*.pt", 0, inside},

	{holds, "saved_model.pb", 0, flow},
	{holds, "*.distcp", 0, shards},
	{holds, "_CHECKPOINT_METADATA", 0, orbax},
	{holds, "manifest.ocdbt", 0, orbax},
	{holds, "*.data-[0-9]*-of-[0-9]*", 0, flowed},
	{holds, "model_config.yaml", 0, "an unpacked NeMo archive: open model_weights.ckpt in it"},

	{holds, manifests, 0, ollama}, // beside blobs

	{imports, "joblib", 0, joblib},
	{imports, "sklearn", 0, learn},
	{imports, "xgboost", 0, xgb},
	{imports, "lightgbm", 0, lgbm},
	{imports, "catboost", 0, cat},
}

// beginning returns what the first bytes of a file say it is: a format, a description, or "".
func beginning(head string) string {
	for _, k := range kinds {
		if k.clue == begins && len(head) >= k.at && strings.HasPrefix(head[k.at:], k.pattern) {
			return k.is
		}
	}
	return ""
}

// answer describes a text in the place of a model, or returns "".
func answer(head string) string {
	text := trimmed(head)
	for _, k := range kinds {
		if k.clue == says && strings.HasPrefix(text, k.pattern) {
			return k.is
		}
	}
	return ""
}

// matching returns what a name says by the patterns of one clue.
func matching(by clue, name string) string {
	for _, k := range kinds {
		if k.clue != by {
			continue
		}
		ok, _ := path.Match(k.pattern, name)
		if ok {
			return k.is
		}
	}
	return ""
}

// ByName describes a file that has not opened by what its name says, or returns "".
func ByName(file string) string {
	return matching(isNamed, strings.ToLower(base(strings.ReplaceAll(file, `\`, "/"))))
}

// Entry describes a ZIP archive that has an entry with this name, or returns "".
func Entry(name string) string {
	is := matching(archives, base(name))
	switch {
	case NoDriver(is) != nil:
		return Model(is)
	case is == inside:
		return fmt.Sprintf(inside, name)
	}
	return is
}

// Directory describes a directory of files, or returns "".
func Directory(dir string, files []string) string {
	if strings.HasSuffix(strings.TrimSuffix(dir, "/"), ".mlpackage") {
		return coreML
	}
	for _, file := range files {
		is := matching(holds, file)
		if is != "" && (file != manifests || slices.Contains(files, "blobs")) {
			return is
		}
	}
	return ""
}

// Pickle describes a pickle of a program that does not keep its model in tensors, or returns "".
// packages are the first elements of the modules that it names.
func Pickle(packages []string) string {
	for _, k := range kinds {
		if k.clue == imports && slices.Contains(packages, k.pattern) {
			return k.is
		}
	}
	return ""
}
