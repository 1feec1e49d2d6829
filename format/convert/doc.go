// Package convert converts models between formats.
//
//	report, err := convert.File("model.safetensors", "model.mag", nil)
//
// The target's format is that of its file name, or Options.To. Formats must be
// registered: this package links none.
//
// # What is kept
//
// A conversion keeps everything, or writes nothing. Tensors keep their names, dtypes, shapes and bits; metadata,
// quantization and graph are converted. What the target has no place for is refused with a format.LossError
// that lists all of it. With Options.Lossy what a model does not need is left out and reported, a tensor
// whose dtype the target lacks gets one that holds the same values, and a scalar the shape [1]
// where there are none. Other dtypes and shapes are refused even then; Options.DType and Options.Quantize
// change dtypes.
//
// MOBI numbers tensors and stores quantization parameters with the operators of a graph. Names, and parameters that no
// operator has room for, are stored in an operator that other readers skip. Report.Kept lists them,
// and converting back restores them. In TSR a name that cannot be a file name is lost.
//
// A model with metadata, an int8 tensor with its scale, and a graph with a named node loses between formats:
//
//	from \ to   mobi mag  tsr  mle  wia  safetensors gguf npz  onnx
//	mobi        all  mqg  mqg  q    all  cqg         qg   mqg  c
//	mag         all  all  all  all  all  all         all  all  all
//	tsr         all  all  all  all  all  all         all  all  all
//	mle         mn   mg   mg   all  all  g           g    mg   all
//	wia         mln  mqg  mqg  ql   all  qg          qg   mqg  all
//	safetensors m    m    m    all  all  all         all  m    all
//	gguf        m    m    m    all  all  all         all  m    all
//	npz         all  all  all  all  all  all         all  all  all
//	onnx        mln  msg  mg   ql   all  cg          mg   mg   all
//
// where "all" is kept, or stored for converting back. Else the conversion is refused with the complete list, and Options.Lossy leaves
// out or changes m metadata, c values written with another type, q parameters of quantization, s scalars, which get
// the shape [1], g the graph, l labels (names of nodes and dims), n names of tensors that no operator consumes.
//
// Options.Storage sets compression, signature, encryption and the like, and
// Options.Format for what one format alone has.
//
// # Operators
//
// The graphs of onnx and wia are in ONNX's operators, those of mobi and mle in their own, and
// those of other modules' formats in what driver.Vocabulary says. Between two vocabularies a
// graph is translated: each node becomes one of ONNX's operators, version 17, in one of its forms, and that
// the target's operator with the same meaning. These are the counterparts; a format's attributes
// follow its operator.
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
// Everywhere images are NCHW, the weights of convolutions OIHW, and the weights of Gemm with
// transB 1 have a row for each output. MOBI's and MLE's padding is that of either end.
//
// Some nodes are stated otherwise where the target has nothing closer: GlobalAveragePool as a
// pool of the image's size, auto_pad as pads, Gemm as MatMul or with a Transpose before it, so
// that weights stay bit for bit, and MatMul with a bias added to it as Gemm. A bias that must be
// there is one of zeros. Identity and Dropout, which do nothing to a trained model, are left
// out, and constants that are nodes become tensors. The tensor that tells Reshape its target shape is
// an attribute in MOBI and MLE; it comes and goes. So do nodes of DequantizeLinear, where
// the target has parameters of quantization, or has none. All this takes shapes, which are followed
// from the inputs on.
//
// Versions of ONNX's operators from 7 on are read, as the metadata entry "opsets" says. It goes where
// the target's operators have no versions, with "ir_version", and says 17 where they are ONNX's again.
//
// A node without a counterpart is refused as the loss "graph:nodes[3] (Erf)", with its name in the
// reason: other operators, attributes that the target has no place for (groups in MLE, pads that
// differ at the ends of an axis), shapes that would be broadcast, attributes of the source that
// nobody knows. Options.Lossy leaves out the graph then, as a whole. From a format to itself, and
// between onnx and wia, graphs stay as they are; format.Copy translates nothing.
//
// # Quantization
//
// Options.Quantize leaves tensors of rank 0 and 1, biases and the constants of normalizations as
// they are, by the graph where it uses them and by their names elsewhere, unless QuantizeOnly chooses
// them: a variance that becomes 0 ruins a network, and such tensors are small. Report.Stayed lists them. With OutputAxis
// each output of an operator has its own scale. TestNetworksSurvive has what that is worth: 0.4 % of the range of
// a network's outputs instead of 20 %. Report.Warnings name tensors that lose more than 1 % of their numbers to 0.
//
// Formats in ONNX's operators without parameters of quantization get nodes of DequantizeLinear, and
// MLE stores int8 with mle.WriteOptions.Quantized. GGUF has blocks: see gguf.Q8_0.
//
// Options.JoinScales makes one tensor of a weight and the scales that models keep in another tensor: see
// package tensor/quant.
//
// # Memory and files
//
// A tensor that is kept is written from the mapping. One that changes goes through
// in pieces of 64 Ki elements; up to four are converted at a time,
// two pieces ahead of the writer. Quantization reads a tensor twice,
// once for its parameters, which stand before the data in most formats. Pages of the mapping
// are evicted behind the reader (format.Model.Evict), on Linux and Android: so a
// conversion takes less than 64 MB of memory in all, however large the model.
//
// There are formats and options that need more. A percentile is taken of a whole tensor.
// Of what the source stores compressed one tensor at a time is in memory; an MLE file that is
// compressed or encrypted as a whole is decoded as a whole.
// MLE compresses with LZ4, and MLE and WIA encrypt, what is held in memory as a whole.
//
// The target appears whole, when everything is written, as format.Create does it. So a
// model can be converted onto its own file, and an error or cancellation leaves
// the old file as it was.
package convert
