// Package remote reads models behind HTTP range requests, or behind anything else that returns
// ranges of bytes.
//
//	m, err := remote.Open(ctx, "https://example.com/model.mag", nil)
//
// Only what is used is fetched: the structure when the model is opened, the bytes of a tensor when
// it is used, those of a row for View.Slice. The From of a format's package has what only that
// format has:
//
//	f, ok := mag.From(m)
//
// hf://ORG/NAME[@REV][/FILE] is a file on the Hugging Face Hub. Without FILE the Hub lists the
// files, and the one is opened that format.Open chooses in a directory; if there are several
// models, such as GGUF files of several sizes, the error names the address of one.
//
// Open takes the file from the cache of the Hub's programs if it is there: a REV that is a commit
// (40 hex digits) without a request, a branch after asking the Hub for its commit. If the Hub
// cannot be reached, or HF_HUB_OFFLINE is 1, a branch is what it was when it was downloaded, and a
// note says so. The cache is HF_HUB_CACHE, or hub in HF_HOME, or huggingface/hub in XDG_CACHE_HOME
// or ~/.cache; nothing is written to it. The environment variable HF_ENDPOINT replaces
// https://huggingface.co; it is a URL without user, query and fragment. HF_TOKEN has a token, which
// is sent to that origin only.
//
// # Credentials
//
// Options.Header, the user of a URL and HF_TOKEN go to one origin: the scheme, host and port of the
// address. Ports 80 and 443 are the same whether written or not, and so are capital letters and
// spellings of an IPv6 address; a subdomain and a host with a dot at its end are others. From the
// first redirect to another origin on, a request has none of the fields of Options.Header, no
// Referer, and no cookies but those of Client.Jar, even if another redirect leads back. The next
// range starts at the address again, with credentials; shards and external data follow the same
// rule. Redirects from https to http, and to any other scheme, are ErrAnswer.
//
// Errors show neither user nor query, no header, and nothing that a server says but its status and
// the host of a redirect. If the error of a transport has a part of the credentials, its text is
// not shown. The package logs nothing; net/http logs bytes that a server sends without a request.
//
// # Versions
//
// If an object changes while it is open, reads fail with ErrChanged: no call mixes bytes of two
// versions. The version is the strong ETag of the first answer or, without one, its Last-Modified
// if that is at least a second before its Date. Each later request requires that version
// (If-Range), and each answer must have it and the same size. Objects with neither are
// ErrUnversioned, unless Options.AllowUnversioned is set. If a server sends other bytes with the
// same tag, only checksums tell.
//
// # Failures
//
// A range that is cut short, reset, stalled or refused with 408, 425, 429, 500, 502, 503 or 504 is
// requested again from where it ended, after a wait that doubles or that the server demands. When
// attempts or time run out (Options) the error is ErrUnavailable. Errors that no attempt can mend
// end a read at once: an unknown scheme (format.ErrOption), an untrusted certificate, a redirect
// that is not followed. An answer that does not match the request is ErrAnswer. The Path of errors
// is the URL without user and query. Close of the model cancels running requests and never blocks
// on the network.
//
// # Requests
//
// The first request fetches Options.Window bytes, which stay in memory, and the size and version of
// the object. mag, mle, tsr, safetensors, gguf and npy have their index in front: models of some
// hundred tensors open with that request, larger ones with one or two more. mobi, wia, onnx and npz
// have their structure between the data: they need one request for each tensor or two that is
// larger than the window, one after the other. What was fetched for the structure stays in memory
// for Model.Verify.
//
// After opening, a read fetches exactly its bytes. A large read is split into ranges that are
// fetched in parallel, straight into the destination. A selection that is not contiguous (a column)
// takes a request for each run; fetching the whole tensor is then faster. For many tensors and
// slices use Model.Load: it merges neighbors into one request and has Options.Parallel requests
// under way at a time. Each use of a tensor fetches it, unless format.Options.CacheBytes keeps it.
//
// # Limits
//
// Shards, parts of a split model and external data are fetched by their names next to the URL, with
// the same client, header and query, each with its own version. Names with slashes are
// format.ErrUnsupported. An Object that is a Directory has such files as well. View.ReadIntoContext
// and Model.Verify end with their context; Options.Timeout limits any read. mobi verifies its
// footer, which covers every byte, before the first use of a tensor: a row of such a model fetches
// all of it, unless format.Options.Check is CheckStructure.
package remote
