// Package remote reads models that are behind HTTP ranges, or in anything else that hands
// out ranges of bytes.
//
//	m, err := remote.Open(ctx, "https://example.com/model.mag", nil)
//
// Nothing is downloaded but what is used: the structure when the model is opened, the bytes of
// a tensor when they are asked for, those of a row for View.Slice. For the type of
// one format there is its OpenReaderAt:
//
//	r, err := remote.NewReaderAt(ctx, url, nil)
//	...
//	f, err := mag.OpenReaderAt(r, r.Size(), nil)
//
// hf://ORG/NAME[@REV][/FILE] is a file on the Hugging Face Hub, or without FILE the first that there is of
// model.safetensors.index.json, model.safetensors, pytorch_model.bin.index.json, pytorch_model.bin and model.onnx. The
// environment has its endpoint (HF_ENDPOINT, https://huggingface.co) and a token (HF_TOKEN), which no other host is
// sent, not by a redirect either.
//
// # Versions
//
// An object that changes while it is open is ErrChanged: no call mixes bytes of two versions. The first
// answer says which version is read, by its strong ETag or, without one, its
// Last-Modified, if that is at least a second before the answer's Date. Each later request asks for that
// version (If-Range), and each answer has to name it and the same size. Objects with
// neither are ErrUnversioned unless Options.AllowUnversioned takes them. A server that sends other
// bytes with the same tag deceives this package; only checksums find that.
//
// # Failures
//
// A range that is cut short, reset, stalled or refused for now (408, 425, 429, 500, 502, 503, 504) is
// asked for again from where it ended, after a wait that doubles, or that the server
// asks for. Everything has an end (Options), after which there is an error, ErrUnavailable for one. What no
// attempt mends ends at once: a scheme that the client does not know (format.ErrOption), a certificate that is
// not trusted, a redirect that is not followed. An
// answer that is not precisely what was asked for is ErrAnswer. Errors of the reader and of its model have the URL, without
// user and query, as format.Error.Path. Closing the model ends
// requests that are running, and waits for no server.
//
// # Requests
//
// The first request fetches Options.Window bytes, which it keeps. It learns size and version on the way.
// mag, mle, tsr, safetensors, gguf and npy have their index in front: a model of some hundred tensors
// opens with that request, one whose index is larger than the window with one or two more.
// mobi, wia, onnx and npz scatter their structure between the data: they take a request for each
// tensor or two that is larger than a window, one after the other. What was read so is kept for
// verification, which looks at it again.
//
// From then on a read fetches what it asks for and nothing else. A large one is split into
// ranges that are fetched at the same time, straight into their destination. Selections that
// are not contiguous (a column) take a request for each run; fetching the whole tensor is faster then.
// Model.Load is the call for many tensors and slices: what is close to each other is one request, and
// Options.Parallel of them are under way at a time.
// Tensors are fetched each time they are used, unless format.Options.CacheBytes keeps them.
//
// # Limits
//
// Shards by an index, parts of a split model and external data are opened by their names next to the
// URL that was opened, with the same client, header and query, each at its own version. Names with slashes
// are format.ErrUnsupported. Objects of others take part that are a Directory.
// View.ReadIntoContext and Model.Verify end with their context; Options.Timeout bounds any read. mobi checks
// its footer, which covers every byte, before the first byte of a tensor is handed out: a row of
// such a model takes all of it, unless format.Options.Check is CheckStructure.
package remote
