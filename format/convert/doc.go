// Package convert converts models between formats.
//
//	report, err := convert.File(ctx, "model.safetensors", "model.mag", nil)
//
// The target's format is that of Options.Write or, if there is none, of its file name extension.
// This package links no format: import those that are read and written.
//
// # Losses
//
// By default a conversion loses nothing or fails. Tensors keep their names, dtypes, shapes and
// bits; metadata, quantization and graph are converted. If the target cannot represent parts of the
// model, the conversion returns a schema.LossError that lists them all. With Options.Lossy it
// leaves out and reports parts that the model does not need, changes a dtype that the target lacks
// to one that holds the same values, and changes scalars to shape [1] if the target has no scalars.
// It still refuses other dtypes and shapes; use Options.DType and Options.Quantize to change
// dtypes.
//
// MOBI numbers its tensors and stores quantization parameters with the operators of a graph. Names,
// and parameters that fit no operator, are stored in an operator that other readers skip.
// Report.Kept lists them, and converting back restores them. In TSR a name that cannot be a file
// name is lost.
//
// This table shows what a model with metadata, an int8 tensor with its scale, and a graph with a
// named node loses:
//
//	from \ to   mobi mag  tsr  mle  wia  safetensors gguf npz  onnx
//	mobi        all  qg   mqg  q    all  qg          qg   mqg  all
//	mag         all  all  all  all  all  all         all  all  all
//	tsr         all  all  all  all  all  all         all  all  all
//	mle         mn   mg   mg   all  all  g           g    mg   all
//	wia         mln  mqg  mqg  ql   all  qg          qg   mqg  all
//	safetensors m    m    m    all  all  all         all  m    all
//	gguf        m    m    m    all  all  all         all  m    all
//	npz         all  all  all  all  all  all         all  all  all
//	onnx        mln  msg  mg   ql   all  g           g    mg   all
//
// "all" means that everything is kept, or stored for converting back. Otherwise the conversion is
// refused, and Options.Lossy leaves out or changes: m metadata; c metadata values, written with
// another type; q quantization parameters; s scalars, written with shape [1]; g the graph; l labels
// (names of nodes and dims); n names of tensors that no operator uses.
//
// Options.Write sets the format with the options that only it has, compression, signature,
// encryption and similar options.
//
// # Operators
//
// The graphs of onnx and wia use ONNX's operators, and those of mobi and mle use their own. A
// conversion between two vocabularies translates each node to an operator of ONNX, version 17, and
// from there to the target's operator with the same meaning. This table lists the counterparts,
// with the format's attributes after its operator:
//
//	Add                 mle   Add              inputs of one shape
//	Add                 mobi  Add              inputs of one shape
//	AveragePool         mle   AvgPool2D        kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, count_include_pad
//	AveragePool         mobi  AvgPool2D        kernel_size, stride, padding, count_include_pad
//	BatchNormalization  mle   BatchNorm        eps
//	BatchNormalization  mobi  BatchNorm        epsilon
//	Concat              mle   Concat           axis
//	Concat              mobi  Concat           axis or dim
//	Conv                mle   Conv2D           stride_h, stride_w, pad_h, pad_w, has a bias
//	Conv                mobi  DepthwiseConv2D  kernel_size, stride, padding, dilation, as many groups as channels
//	Conv                mobi  Conv2D           kernel_size, stride, padding, dilation, groups
//	Div                 mobi  Divide           inputs of one shape
//	Dropout             mle   Dropout
//	Flatten             mle   Flatten          axis
//	Flatten             mobi  Flatten          axis
//	Gemm                mle   Linear           transB is 1, has a bias, 2 dims
//	Gemm                mobi  FullyConnected   transB is 1, flattens its input
//	LayerNormalization  mle   LayerNorm        eps, has a bias
//	MatMul              mle   MatMul           2 dims
//	MatMul              mobi  MatMul           2 dims
//	MaxPool             mle   MaxPool2D        kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w
//	MaxPool             mobi  MaxPool2D        kernel_size, stride, padding
//	Mul                 mle   Mul              inputs of one shape
//	Mul                 mobi  Multiply         inputs of one shape
//	Relu                mle   ReLU
//	Relu                mobi  Relu
//	Reshape             mle   Reshape          shape
//	Reshape             mobi  Reshape          shape
//	Sigmoid             mobi  Sigmoid
//	Softmax             mle   Softmax          2 dims
//	Softmax             mobi  Softmax          axis
//	Sub                 mobi  Subtract         inputs of one shape
//	Tanh                mobi  Tanh
//	Transpose           mle   Transpose        perm
//	Transpose           mobi  Transpose        perm
//
// Images are NCHW, the weights of convolutions OIHW, and the weights of Gemm with
// transB 1 have a row for each output. Padding in MOBI and MLE applies to both ends of an axis.
//
// If the target lacks an operator, some nodes are rewritten: GlobalAveragePool as a pool of the
// image's size, auto_pad as pads, Gemm as MatMul or with a Transpose before it, so that weights
// stay bit for bit, and MatMul with an Add of a bias as Gemm. A required bias that is missing
// becomes a tensor of zeros. Identity and Dropout, which have no effect on inference, are left out,
// and Constant nodes become tensors. The shape input of Reshape is an attribute in MOBI and MLE,
// and is converted both ways. DequantizeLinear nodes become quantization parameters if the target
// has them, and the reverse if it does not. These rewrites need shapes, which are inferred from the
// graph's inputs.
//
// Graphs may use ONNX's operators from version 7 on, given by the metadata entry "opsets". A
// conversion to operators without versions removes that entry and "ir_version"; a conversion to
// ONNX's operators sets 17. Where the target has no graph, or where these entries have the values
// that ONNX files get by default, they are not written and are no loss.
//
// A node without a counterpart is refused as the loss "graph:nodes[3] (Erf)", with the node's name
// in the reason. This applies to other operators, to attributes that the target lacks (groups in
// MLE, different pads at the ends of an axis), to shapes that would be broadcast, and to unknown
// attributes of the source. With Options.Lossy the whole graph is left out. Conversions from a
// format to itself, and between onnx and wia, keep graphs unchanged; format.Writer.WriteModel
// translates nothing.
//
// Docs (schema.Doc) follow the tensors, nodes and values that they are about. A node that is
// translated keeps its doc, but the attributes of the target are others, without docs.
//
// # Quantization
//
// Unless QuantizeOnly chooses them, Options.Quantize does not change tensors of rank 0 and 1,
// biases and the constants of normalizations: they are small, and a variance that becomes 0 ruins a
// network. The graph tells which tensors these are, or their names if the graph does not use them.
// Report.Stayed lists them. With OutputAxis each output of an operator has its own scale: the error
// is 0.4 % of the range of a network's outputs instead of 20 % (TestNetworksSurvive).
// Report.Warnings names tensors that lost more than usual.
//
// Formats that use ONNX's operators and have no quantization parameters get DequantizeLinear nodes.
// MLE stores int8 with mle.Format.Quantized, and GGUF stores blocks: see gguf.Q8_0.
//
// Options.JoinScales combines a weight and its scales, which models store in another tensor, into
// one tensor: see package tensor/quant. Packed weights that are not joined are copied as they are,
// and Report.Packed says which. GGUF and formats with operators refuse them (ErrUnsupported), since
// their programs would take the packed bytes for numbers.
//
// # Memory and files
//
// An unchanged tensor is read and written in pieces of 256 KiB. A tensor that changes is converted in
// pieces of 64 Ki elements; several tensors are converted concurrently, two pieces ahead of the
// writer.
// Quantization reads a tensor twice, the first time for its parameters, which precede the data in
// most formats. On Linux and Android pages of the mapping are evicted after they were read
// (format.Model.Evict), so that a conversion takes less than 64 MB of memory, however large the
// model.
//
// Some formats and options need more. Compressed tensors of the source are decoded one at a time;
// an MLE file that is compressed or encrypted as a whole is decoded as a whole. MLE with LZ4, and
// MLE and WIA with encryption, hold the data to compress or encrypt in memory.
//
// As with format.Create, the target appears when it is complete. A model can therefore be converted
// onto its own file, and an error or cancellation leaves the old file untouched. Only
// Options.Verify runs when the new file is in place.
package convert
